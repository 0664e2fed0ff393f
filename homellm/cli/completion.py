"""What a shell can offer next: stack files, and the models of the one that is meant.

A shell asks at every press of a key, so a stack file is not loaded but looked at: names of models are the first words
of the lines below `models:`. A file that is written in another way offers nothing, and no error is ever shown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import typer

from homellm.cli.stack_file import locate, read
from homellm.errors import HomellmError

_SUFFIXES = (".yaml", ".yml")
_KEY = re.compile(r"""( +)(?:"([^"]+)"|'([^']+)'|([^\s#'"&*!|>%@`{\[][^#]*?))\s*:(?:\s|$)""")


def stack_files(incomplete: str) -> list[str]:
    """Folders and YAML files that begin so."""
    folder, _, start = incomplete.rpartition("/")
    try:
        entries = sorted(
            os.scandir(folder + "/" if folder or incomplete.startswith("/") else "."), key=lambda e: e.name
        )
    except OSError:
        return []
    prefix = incomplete[: len(incomplete) - len(start)]
    found = [entry for entry in entries if entry.name.startswith(start) and (start or not entry.name.startswith("."))]
    return [f"{prefix}{e.name}/" for e in found if e.is_dir()] + [
        f"{prefix}{e.name}" for e in found if e.name.endswith(_SUFFIXES) and not e.is_dir()
    ]


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """Models of the stack file that the words so far mean, but for those that stand there already."""
    named: dict[str, Any] = {**ctx.find_root().params, **ctx.params}
    given = ctx.params.get("file") or ctx.find_root().params.get("file")
    try:
        text = read(locate(Path(given) if given else None, os.environ))
    except HomellmError:
        return []
    there = named.get("models") or ()
    return [name for name in model_names(text) if name.startswith(incomplete) and name not in there]


def model_names(text: str) -> list[str]:
    """The keys one step below `models:` in a file that is written line by line."""
    lines = iter(text.splitlines())
    if not any(re.match(r"models\s*:\s*(#.*)?$", line) for line in lines):
        return []
    names: list[str] = []
    step = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" "):
            break
        key = _KEY.match(line)
        if key is None or (step and key[1] != step):
            continue
        step = key[1]
        names.append(key[2] or key[3] or key[4])
    return [name for name in names if not name.startswith("x-") and name != "<<"]
