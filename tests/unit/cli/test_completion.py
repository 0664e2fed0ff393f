"""What a shell is offered: verbs, options, stack files, models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from homellm.cli.completion import model_names, stack_files
from homellm.loading import load
from homellm.resources import stacks_root

STACK = """\
stack: nuc
defaults: {parallel: 2}
models:          # by the name that clients ask for
  # a comment
  lfm2.5:
    source: gguf:m.gguf
    env:
      NAME: x
  "qwen3:0.6b": {source: gguf:m.gguf}
  x-note: nothing
  embed: {source: gguf:m.gguf}

gpus:
  iris: {api: vulkan, auto: true}
"""


def complete(line: str, folder: Path, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HOMELLM_")},
        "_HOMELLM_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "homellm"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environ,
        cwd=folder,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "homellm.yaml").write_text(STACK)
    (tmp_path / "other.yml").write_text("stack: o\nmodels:\n    tiny:\n        source: gguf:m\n")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "stacks").mkdir()
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("homellm do", ["doctor", "down"]),
        ("homellm up --re", ["--remove-orphans", "--retry-ollama"]),
        ("homellm up ", ["lfm2.5", "qwen3:0.6b", "embed"]),
        ("homellm up e", ["embed"]),
        ("homellm up embed ", ["lfm2.5", "qwen3:0.6b"]),
        ("homellm logs -f l", ["lfm2.5"]),
        ("homellm -f other.yml check ", ["tiny"]),
        ("homellm check --file other.yml t", ["tiny"]),
        ("homellm check --file gone.yaml ", []),
        ("homellm render run e", ["embed"]),
        ("homellm render ", ["run", "compose"]),
        ("homellm up -f ", ["stacks/", "homellm.yaml", "other.yml"]),
        ("homellm --file o", ["other.yml"]),
        ("homellm endpoints --client h", ["hermes"]),
    ],
)
def test_a_shell_is_offered_what_may_stand_there(line: str, offered: list[str], folder: Path) -> None:
    found = complete(line, folder)
    if line == "homellm up --re":
        assert "--remove-orphans" in found
        assert all(option.startswith("--re") for option in found)
    else:
        assert found == offered if line != "homellm do" else sorted(found) == offered


def test_another_shell_too(folder: Path) -> None:
    assert "lfm2.5" in " ".join(complete("homellm up l", folder, "fish"))


@pytest.mark.parametrize("path", sorted(stacks_root().glob("*.yaml")), ids=lambda path: path.stem)
def test_names_of_models_are_those_that_the_loader_reads(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert model_names(text) == [model.name for model in load(path, text, {"HOME": "/home/eva"}).models]


@pytest.mark.parametrize("text", ["", "models: {a: 1}\n", "stack: s\n", "models:\n", "models:\n\tm: 1\n", "\0\0"])
def test_a_file_that_is_written_in_another_way_offers_nothing(text: str) -> None:
    assert model_names(text) == []


def test_folders_that_cannot_be_read_offer_nothing(folder: Path) -> None:
    assert stack_files(f"{folder}/none/") == []
    assert stack_files(f"{folder}/h") == [f"{folder}/homellm.yaml"]
    assert stack_files(f"{folder}/.") == [f"{folder}/.git/"]


WATCHED = """
import atexit, sys
heavy = {"docker", "homellm.loading", "ruamel", "httpx", "rich"}
atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))
from homellm.cli.entry import run
run()
"""


def test_nothing_heavy_is_loaded_for_it(folder: Path) -> None:
    environ = {**os.environ, "_HOMELLM_COMPLETE": "complete_bash", "COMP_WORDS": "homellm up ", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environ, cwd=folder)
    assert "lfm2.5" in done.stdout
    assert done.stderr.strip() == "[]"
