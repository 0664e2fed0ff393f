"""Stacks with an Ollama of the tests: its store, its container, and what its log tells that it was asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.engine.support.cache import made_once
from tests.engine.support.ollama_stack import Canary, OllamaLog
from tests.engine.support.sizing_models import Shape, write
from tests.engine.support.tiny_models import tiny_lfm2 as make_tiny_lfm2


@pytest.fixture
def canary(
    stack_file: Callable[..., Path],
    store_with: Callable[..., Any],
    ollama_image: str,
    llama_image: str,
    tiny_lfm2: Path,
    cli: Any,
) -> Canary:
    """A store of two models: `plain`, a tiny transformer of zeros, and `hybrid`, which gets one slot."""
    plain = made_once("plain-llama.gguf", lambda path: write(path, Shape("llama")))
    store = store_with({"plain": plain, "hybrid": tiny_lfm2})
    return Canary(stack_file, cli, store, ollama_image, llama_image)


@pytest.fixture
def ollama_log(docker_api: docker.APIClient, prefix: str) -> OllamaLog:
    """The log of the stack's Ollama server, read by docker-py."""
    return OllamaLog(docker_api, f"{prefix}-main")


@pytest.fixture
def another_lfm2(smollm2: Path) -> Path:
    """A hybrid that no store has yet, for pulls that really take something."""
    return make_tiny_lfm2(smollm2, name="another tiny lfm2")


@pytest.fixture
def ours(canary: Canary, ollama_format_lfm2: Path) -> Canary:
    """The hybrid as Ollama's own converter writes it: no llama-server but Ollama's reads it."""
    canary.store.add("hybrid", ollama_format_lfm2)
    canary.declare("hybrid", port=canary.moved_port)
    return canary


@pytest.fixture
def bare(ours: Canary, make_ollama: Callable[..., str]) -> Canary:
    """The same, and the llama-server of the Ollama image does not read it either when it is run by itself."""
    ours.image = make_ollama(env={"STANDIN_NO_COMPAT": "1"})
    ours.env = {"STANDIN_NO_COMPAT": ""}
    return ours
