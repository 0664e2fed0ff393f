"""Where the suite keeps what is slow to make and does not change: below the user's cache, by the recipe's hash."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(home) / "homellm-tests"
    root.mkdir(parents=True, exist_ok=True)
    return root


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The cached file of that name; `make` writes it elsewhere first, so that half a file is never found here."""
    target = cache_root() / name
    if not target.exists():
        work = Path(tempfile.mkdtemp(prefix=".making-", dir=cache_root()))
        try:
            make(work / name)
            (work / name).replace(target)
        finally:
            shutil.rmtree(work)
    return target
