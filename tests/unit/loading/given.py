"""Stack files for tests: `‸` in a text stands right before a place that must be complained about."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from homellm.domain.stack import Model, Stack
from homellm.errors import ExitCode, Problem, StackFileError
from homellm.loading import load

FILE = Path("/srv/llm/homellm.yaml")
ENVIRON = {"HOME": "/home/eva", "SLOTS": "3", "EMPTY": "", "KEY": "sk-from-outside"}
MARK = "‸"


def loaded(text: str, environ: Mapping[str, str] = ENVIRON) -> Stack:
    """The stack of a right file."""
    return load(FILE, text, environ)


def model_with(keys: str, *, top: str = "") -> Model:
    """The one model of a stack, with these lines of keys (not indented)."""
    stack = loaded(stack_with(keys, top=top))
    assert len(stack.models) == 1
    return stack.models[0]


def stack_with(keys: str, *, top: str = "") -> str:
    """A stack file with one model `smol`."""
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    source = "" if "source:" in keys else "    source: gguf:smol.gguf\n"
    return f"stack: home\n{top}models:\n  smol:\n{source}{lines}"


def problems_of(text: str, environ: Mapping[str, str] = ENVIRON) -> tuple[Problem, ...]:
    """All that is wrong with a file."""
    with pytest.raises(StackFileError) as caught:
        load(FILE, text, environ)
    assert caught.value.exit_code == ExitCode.USAGE
    assert all(problem.exit_code == ExitCode.USAGE for problem in caught.value.problems)
    assert all(problem.file == str(FILE) for problem in caught.value.problems)
    return caught.value.problems


def marked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and the line and column of each."""
    places: list[tuple[int, int]] = []
    while MARK in text:
        before, _, after = text.partition(MARK)
        places.append((before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1))
        text = before + after
    return text, places


def complaint(text: str, environ: Mapping[str, str] = ENVIRON) -> Problem:
    """The only problem of a file, which must stand where the file has its one mark."""
    plain, places = marked(text)
    found = problems_of(plain, environ)
    assert [(problem.line, problem.column) for problem in found] == places, found
    assert len(found) == 1, found
    return found[0]
