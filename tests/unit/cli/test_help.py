"""Help: complete, in order, and quick because nothing heavy is loaded for it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from homellm.cli.app import build
from homellm.cli.examples import EXAMPLES
from homellm.cli.main import main
from homellm.cli.verbs import LATER, SECTIONS

ROOT = Path(__file__).parents[3]
HEAVY = ("docker", "pydantic", "ruamel", "rich", "jinja2", "httpx", "tenacity", "requests", "importlib.metadata")


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False, timeout=60)


def test_help_lists_every_verb_once_on_one_line_in_its_section() -> None:
    done = run("-m", "homellm", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    places = []
    for title, names in SECTIONS:
        assert f"{title}:" in lines
        for name in names:
            (place,) = [i for i, line in enumerate(lines) if line.startswith(f"  {name} ")]
            assert len(lines[place].split(None, 1)[1]) > 10
            assert not lines[place + 1].startswith("    "), "the text of a verb takes one line"
            places.append(place)
    assert places == sorted(places)
    assert "Other:" not in lines
    assert max(map(len, lines)) <= 80


def test_every_verb_of_the_sections_exists_and_none_is_called_missing() -> None:
    registered = {command.name or getattr(command.callback, "__name__", "") for command in build().registered_commands}
    registered |= {group.name or "" for group in build().registered_groups}
    listed = {name for _, names in SECTIONS for name in names}
    assert registered == listed
    assert not listed & LATER


@pytest.mark.parametrize("name", [name for _, names in SECTIONS for name in names])
def test_every_verb_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: homellm {name}")
    assert ("--format" in out) == (name != "logs")  # which has no JSON form


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom homellm.cli.main import main\nmain(['--help'])\n"
        f"print([name for name in sys.modules if name.startswith({HEAVY!r})], file=sys.stderr)"
    )
    assert run("-c", code).stderr.strip() == "[]"


def test_the_documentation_has_every_verb_and_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in (name for _, names in SECTIONS for name in names):
        if name == "version":
            continue
        assert re.search(rf"^### `homellm {name}[ `]", text, re.MULTILINE), name
        main([name, "--help"])
        for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE):
            assert option in text + (ROOT / "docs" / "render.md").read_text(encoding="utf-8"), f"{name} {option}"
    for name in LATER:
        assert name in text


def test_the_shell_completes_verbs_and_options() -> None:
    environ = {**os.environ, "_HOMELLM_COMPLETE": "complete_bash", "COMP_WORDS": "homellm re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from homellm.cli.main import run; run()"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environ,
    )
    assert sorted(done.stdout.split()) == ["render", "restart"]


def test_every_verb_ends_its_help_with_one_example_that_the_command_line_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(EXAMPLES) == {name for _, names in SECTIONS for name in names}
    for name, (command, purpose) in EXAMPLES.items():
        assert main([name, "--help"]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        assert lines[-2:] == [f"Example: {purpose}", command]
        words = shlex.split(command.rpartition("| ")[2].partition(" > ")[0])
        assert words[0] == "homellm"
        assert main([*words[1:], "--help"]) == 0, "its options are read before help is given"
        assert capsys.readouterr().out.startswith(f"Usage: homellm {name}")
