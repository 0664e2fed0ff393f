"""A built wheel carries templates and stacks, and an installed homellm finds them without a checkout."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=ROOT)
    (built,) = out.glob("homellm-*.whl")
    return built


def test_the_wheel_holds_every_template_and_stack(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for folder in ("templates", "stacks") for path in (ROOT / folder).rglob("*") if path.is_file()]
    expected = {f"homellm/_{path.relative_to(ROOT)}" for path in files}
    assert "homellm/_stacks/quickstart.yaml" in expected
    assert expected - names == set()


def test_an_installed_homellm_finds_them_away_from_the_checkout(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel, cwd=tmp_path)
    show = "from homellm.resources import *; print(template_root()); print(stacks_root())"
    roots = [Path(line) for line in run(python, "-I", "-c", show, cwd=tmp_path).splitlines()]
    assert [root.name for root in roots] == ["_templates", "_stacks"]
    assert all(root.is_dir() and root.is_relative_to(tmp_path) for root in roots)
