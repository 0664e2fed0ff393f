"""Where the hub is and where its cache is, by the same variables that all programs of Hugging Face read.

They are read here and not by huggingface_hub, which reads them once, while it is imported: a model that is in the
cache is found without that import. Source: docs of huggingface_hub, "Environment variables", and its constants.py.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from homellm.domain.secret import Secret

ENDPOINT = "https://huggingface.co"
_TRUE = ("1", "ON", "YES", "TRUE")


@dataclass(frozen=True, slots=True)
class HubSettings:
    """`endpoint` has no slash at its end; `cache` is the folder of `models--org--repo`; `offline` asks nobody."""

    endpoint: str
    cache: Path
    token: Secret | None = None
    offline: bool = False


def settings_of(environ: Mapping[str, str], home: Path) -> HubSettings:
    """The settings that these variables make; `home` stands for `~`."""

    def path(text: str) -> Path:
        return Path(os.path.expandvars(str(home) + text[1:] if text == "~" or text.startswith("~/") else text))

    cache_home = environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    hf_home = path(environ.get("HF_HOME") or f"{cache_home}/huggingface")
    cache = environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE")
    token_file = environ.get("HF_TOKEN_PATH")
    return HubSettings(
        endpoint=(environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/"),
        cache=(path(cache) if cache else hf_home / "hub").absolute(),  # the engine mounts no relative path
        token=_token(environ, path(token_file) if token_file else hf_home / "token"),
        offline=_is_true(environ.get("HF_HUB_OFFLINE") or environ.get("TRANSFORMERS_OFFLINE")),
    )


def _token(environ: Mapping[str, str], file: Path) -> Secret | None:
    """HF_TOKEN, else what `hf auth login` left, unless only an explicit one may be sent."""
    given = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN")
    if given is None and not _is_true(environ.get("HF_HUB_DISABLE_IMPLICIT_TOKEN")):
        try:
            given = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
    text = "".join((given or "").split())
    return Secret(text) if text else None


def _is_true(text: str | None) -> bool:
    return (text or "").upper() in _TRUE
