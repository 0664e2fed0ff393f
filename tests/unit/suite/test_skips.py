"""The rule of tests/conftest.py: a skipped test fails the run in CI, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RULE = Path(__file__).parents[2] / "conftest.py"


def run_suite(folder: Path, body: str, **env: str) -> subprocess.CompletedProcess:
    (folder / "conftest.py").write_text(RULE.read_text())
    (folder / "test_it.py").write_text(f"import pytest\n{body}\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | env
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


SKIP = "def test_a(): pytest.skip('no engine here')\ndef test_b(): pass"


def test_a_skip_fails_the_run_in_ci_and_is_named(tmp_path):
    done = run_suite(tmp_path, SKIP, CI="true")
    assert done.returncode == 1
    assert "skipped tests fail the run" in done.stdout
    assert "no engine here" in done.stdout


@pytest.mark.parametrize(("body", "env"), [(SKIP, {}), ("def test_b(): pass", {"CI": "true"})])
def test_without_ci_or_without_a_skip_nothing_changes(tmp_path, body, env):
    assert run_suite(tmp_path, body, **env).returncode == 0
