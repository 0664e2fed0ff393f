"""How a verb starts: what it does not load, and what it does not do. Nothing is timed; this is what takes the time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def printed(code: str) -> str:
    """What Python prints that runs `code` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def loaded_by(*modules: str) -> set[str]:
    """The modules of homellm that come with these."""
    imports = "\n".join(f"import {module}" for module in modules)
    return set(printed(f"{imports}\nprint(*(n for n in sys.modules if n.startswith('homellm')))").split())


@pytest.mark.parametrize("verb", ["up", "preview", "check", "ps"])
def test_a_verb_loads_what_concerns_ollama_only_for_stacks_with_one(verb: str) -> None:
    loaded = loaded_by(f"homellm.deploy.{verb}", "homellm.deploy.converge", "homellm.loading.loader")
    assert "homellm.deploy.verify" in loaded
    assert not {name for name in loaded if name.startswith(("homellm.deploy.ollama_", "homellm.runners.ollama_"))}
    assert not loaded & {"homellm.planning.ladder", "homellm.domain.ollama"}


def test_what_proves_a_server_is_loaded_when_there_is_one_to_prove() -> None:
    """While the engine makes the network, on a first `up`."""
    loaded = loaded_by("homellm.deploy.up")
    assert "homellm.deploy.settle" in loaded
    assert not {name for name in loaded if name.startswith("homellm.health")}
    assert not loaded & {"homellm.deploy.converge", "homellm.deploy.verify"}


def test_the_collector_does_not_go_through_what_was_loaded() -> None:
    told = printed(
        "import atexit, gc\n"
        "from homellm.cli.main import run\n"
        "looks = lambda: sum(one['collections'] for one in gc.get_stats())\n"
        "before = looks()\n"
        "atexit.register(lambda: print(looks() - before, gc.get_freeze_count() > 0))\n"
        "sys.argv = ['homellm', 'up', '--help']\n"
        "run()\n"
    )
    assert told.splitlines()[-1] == "0 True"
