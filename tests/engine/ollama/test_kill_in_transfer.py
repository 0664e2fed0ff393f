"""homellm killed, or ended by Ctrl-C, in the middle of what it brings into an Ollama: the next `up` goes on."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.engine.support.ollama_stack import by_name, chat
from tests.engine.support.wait import wait_for

INTERRUPTED = 130
#: A share of the bytes, as `up` tells it into a file.
BEGUN = re.compile(r"pulling (2[5-9]|[3-9]\d) %")


@pytest.fixture
def weights(another_lfm2, tmp_path):
    """A file of several MiB that no store has yet."""
    return Path(shutil.copy(another_lfm2, tmp_path / "made.gguf"))


@pytest.fixture
def made(canary, weights):
    canary.declare("made", source=f"gguf:{weights}", parallel=1)  # which every Ollama gives it
    canary.file()
    return canary


def uploaded(file):
    """The blob that has this very file."""
    return f"sha256-{hashlib.sha256(file.read_bytes()).hexdigest()}"


def blobs(canary):
    return {path.name for path in (canary.store.models / "blobs").iterdir()}


def named_in_manifests(canary):
    """The blobs that models of the store are made of."""
    found = set()
    for path in (canary.store.models / "manifests").rglob("*"):
        if path.is_file():
            manifest = json.loads(path.read_text())
            found |= {row["digest"].replace(":", "-") for row in (*manifest["layers"], manifest["config"])}
    return found


def made_names(canary):
    return [row["name"] for row in canary.ask_ollama("/api/tags")["models"] if row["name"].startswith("made")]


def verified(canary, name):
    result = canary.up()
    assert result.code == 0, result
    model = by_name(result)[name]
    assert (model["state"], model["runner"], model["checks"]["slots"]["observed"]) == ("verified", "ollama", 1)
    assert chat(canary.port, name) == 200


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGINT", INTERRUPTED)])
def test_in_an_upload(made, weights, name, code):
    before = blobs(made)
    ended = made.cli.halted(f"upload:3:after:{name}", "up")
    assert ended.code == code, ended
    # Ollama lets go of what was cut: no blob of that digest, no model, and nothing unfinished beside it.
    wait_for(lambda: blobs(made) == before, "Ollama to let go of what it got", 60)
    assert uploaded(weights) not in before
    assert made_names(made) == []

    verified(made, "made")
    assert made_names(made) == ["made:latest"]
    # Beside what models are made of there is the upload alone, which Ollama prunes when it starts.
    assert blobs(made) - named_in_manifests(made) <= {uploaded(weights)}


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGINT", INTERRUPTED)])
def test_while_the_model_is_made_of_the_upload(made, weights, name, code):
    ended = made.cli.halted(f"line:1:before:{name}", "up")
    assert ended.code == code, ended
    verified(made, "made")
    assert made_names(made) == ["made:latest"]
    # Beside what models are made of there is the upload alone, which Ollama prunes when it starts.
    assert blobs(made) - named_in_manifests(made) <= {uploaded(weights)}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, INTERRUPTED)])
def test_in_a_pull(canary, ollama_registry, another_lfm2, number, code):
    name = ollama_registry.add("tiny:1", another_lfm2)
    ollama_registry.rate_bytes_s = 1_000_000
    canary.declare("tiny", source=f"ollama:{name}", pull="missing", parallel=1)
    canary.file()
    running = canary.cli.start("up")
    wait_for(lambda: BEGUN.search(running.stdout + running.stderr), "a quarter of the model to be there", 120)
    ollama_registry.rate_bytes_s = 20_000  # it lasts until it is cut
    running.signal(number)
    assert running.finish(120).code == code
    assert not any("tiny" in row["name"] for row in canary.ask_ollama("/api/tags")["models"])
    assert uploaded(another_lfm2) not in blobs(canary)

    asked = len(ollama_registry.requests)
    ollama_registry.rate_bytes_s = 0
    verified(canary, "tiny")
    ranges = [one.range for one in ollama_registry.requests[asked:] if "/data/" in one.path]
    assert any(not one.startswith("bytes=0-") for one in ranges if one), ranges  # it went on from where it was
    assert not [path for path in blobs(canary) if "partial" in path]
