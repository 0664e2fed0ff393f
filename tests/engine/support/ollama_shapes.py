"""What of a line or an answer must be the same on two Ollamas: everything but numbers, times, hashes and addresses."""

import json
import re
from collections.abc import Iterable
from typing import Any

_MASKS = (
    (re.compile(r"\d{4}[-/]\d\d[-/]\d\d(T| - | )[\d:.]+(Z|[+-][\d:]+)?"), "TIME"),
    (re.compile(r"\b(?:\d+h)?(?:\d+m)?[\d.]+(?:ns|µs|ms|s)\b"), "DURATION"),
    (re.compile(r"sha256[-:][0-9a-f]{64}"), "BLOB"),
    (re.compile(r"COPY\d+"), "COPY"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])"), "HASH"),
    (re.compile(r"ssh-ed25519 \S+"), "KEY"),
    # Names of models, with or without a registry before them.
    (re.compile(r"model=(?!/)\S+"), "model=NAME"),
    (re.compile(r"https?://[\w.:\[\]-]+:\d+"), "HOST"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+(:\d+)?\b"), "ADDRESS"),
    (re.compile(r"[\d.]+ (?:[KMGT]i?)?B\b"), "SIZE"),
    (re.compile(r"\d+\.\d+\.\d+(-rc\d+)?"), "VERSION"),
    (re.compile(r"[+-]?\d+(\.\d+)?"), "N"),
    (re.compile(r"[ \t]+"), " "),
)
_OWN = re.compile(r"time=|\[GIN|handle_|\d{4}/\d\d/\d\d |Couldn't find|Your new|ssh-|Error:")
#: Texts of an answer that are the same everywhere; all other texts are only texts.
CONSTANT = (
    "status",
    "done_reason",
    "object",
    "finish_reason",
    "role",
    "error",
    "type",
    "format",
    "owned_by",
    "message",
)


def line_shape(line: str) -> str:
    """A line with everything masked that differs between two runs."""
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.strip()


def own_lines(log: Iterable[str]) -> list[str]:
    """The lines that Ollama prints itself, without those of its llama-server."""
    return [line for line in log if _OWN.match(line)]


def answer_shape(answer: Any, key: str = "") -> Any:
    """Keys and types; constant texts as they are; of a list the distinct shapes of its rows."""
    if isinstance(answer, dict):
        return {name: answer_shape(value, name) for name, value in sorted(answer.items())}
    if isinstance(answer, list):
        shapes = [answer_shape(row, key) for row in answer]
        return [shape for index, shape in enumerate(shapes) if shape not in shapes[:index]]
    if isinstance(answer, str):
        return line_shape(answer) if key in CONSTANT else "text"
    if isinstance(answer, bool) or answer is None:
        return answer
    return "number"


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two shapes differ, one line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for key in sorted(ours.keys() | theirs.keys()):
            if key in ours and key in theirs:
                found += differences(ours[key], theirs[key], f"{path}.{key}")
            else:
                found.append(f"{path}.{key}: only {'ours' if key in ours else 'theirs'}")
        return found
    if ours == theirs:
        return []
    return [f"{path}: ours {json.dumps(ours)[:300]}, theirs {json.dumps(theirs)[:300]}"]
