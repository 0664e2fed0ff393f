"""The page of help that is printed without loading the command line is what the command line would print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from homellm.cli.help_page import HELP_PAGE
from scripts.help_page import page

ROOT = Path(__file__).parents[3]
ANEW = "make it anew: python -m scripts.help_page"


def run(*argv: str, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **more}
    return subprocess.run(
        [sys.executable, "-m", "homellm", *argv], capture_output=True, text=True, check=False, timeout=60, env=environ
    )


def told(text: str) -> tuple[set[str], dict[str, str]]:
    """Options, and verbs with what stands beside them: a version of the framework may lay them out otherwise."""
    verbs = re.findall(r"^  ([a-z]+)  +(\S.*)$", text, re.MULTILINE)
    return set(re.findall(r"--[a-z-]+", text)), dict(verbs)


def test_the_page_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options, verbs = told(page())
    assert len(verbs) > 10
    assert told(HELP_PAGE) == (options, verbs), ANEW


@pytest.mark.parametrize("argv", [(), ("-h",), ("--help",)])
def test_it_is_printed_for_nothing_and_for_help(argv: tuple[str, ...]) -> None:
    done = run(*argv)
    assert (done.returncode, done.stdout, done.stderr) == (0, HELP_PAGE, "")


def test_nothing_of_the_command_line_is_loaded_for_it() -> None:
    code = (
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nsys.argv = ['homellm', '--help']\n"
        "from homellm.cli.entry import run\nrun()\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('typer', 'dataclasses', 're')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stderr.strip(), done.stdout) == ("[]", HELP_PAGE)


def test_anything_else_is_the_command_lines() -> None:
    assert run("--help", "up").stdout == run("--help", "down").stdout
    assert run("up", "--help").stdout.startswith("Usage: homellm up")
    done = run("sweep")
    assert done.returncode == 2


def test_a_shell_that_asks_for_completion_gets_no_page() -> None:
    done = run(_HOMELLM_COMPLETE="complete_bash", COMP_WORDS="homellm do", COMP_CWORD="1")
    assert sorted(done.stdout.split()) == ["doctor", "down"]


@pytest.mark.parametrize("program", ["head -c 0", "true"])
def test_a_reader_that_has_gone_is_no_error(program: str) -> None:
    shell = f"{sys.executable} -m homellm --help 2>&1 1>&3 | cat; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"{{ {shell}; }} 3> >({program})"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


UNCHANGED = """
import sys
from homellm.cli import entry
sys.argv = ["homellm", "up"]
entry._unchanged = lambda: b"x" * 300_000
entry.run()
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("argv", [["-m", "homellm", "--help"], ["-c", UNCHANGED]])
def test_a_full_disk_is_told(argv: list[str], unbuffered: str) -> None:
    """Also where nothing is left in a buffer that a later flush would find."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr.count("No space left") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_file_that_may_not_grow_is_told(tmp_path: Path, unbuffered: str) -> None:
    shell = f"ulimit -f 100; exec {sys.executable} -c '{UNCHANGED}' > {tmp_path}/out"
    done = subprocess.run(
        ["bash", "-c", shell],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert (done.returncode, "File too large" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("module", ["homellm.cli.main", "typer", "homellm.unchanged.confirm"])
def test_ctrl_c_while_it_loads_is_told_in_a_word(module: str, tmp_path: Path) -> None:
    """The signal comes in the middle of the import of that module, once."""
    code = f"""
import importlib.abc, os, signal, sys

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["homellm", *sys.argv[1:]]
from homellm.cli.entry import run
run()
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for more, out, err in (((), "", "interrupted\n"), (("--format", "json"), '"id": "interrupted"', "")):
        argv = [sys.executable, "-c", code, "up", "--dry-run", *more]
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=environ)
        assert (ended.returncode, ended.stderr) == (130, err)
        assert out in ended.stdout
