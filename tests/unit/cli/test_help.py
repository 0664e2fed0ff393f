"""Help: complete, in order, and quick because nothing heavy is loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from homellm.cli.app import build
from homellm.cli.main import main
from homellm.cli.verbs import LATER, SECTIONS

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
    assert "--format" in out or name == "render"


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom homellm.cli.main import main\nmain(['--help'])\n"
        f"print([name for name in sys.modules if name.startswith({HEAVY!r})], file=sys.stderr)"
    )
    assert run("-c", code).stderr.strip() == "[]"
