"""Stacks with an Ollama of the tests: its store, its container, and what its log tells that it was asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.engine.support.ollama_stack import Canary, OllamaLog


@pytest.fixture
def canary(
    stack_file: Callable[..., Path],
    store_with: Callable[..., Any],
    ollama_image: str,
    llama_image: str,
    smollm2: Path,
    tiny_lfm2: Path,
    cli: Any,
) -> Canary:
    """Two models on one server: `smol`, a plain transformer, and `hybrid`, which gets one slot."""
    store = store_with({"smol": smollm2, "hybrid": tiny_lfm2})
    return Canary(stack_file, cli, store, ollama_image, llama_image)


@pytest.fixture
def ollama_log(docker_api: docker.APIClient, prefix: str) -> OllamaLog:
    """The log of the stack's Ollama server, read by docker-py."""
    return OllamaLog(docker_api, f"{prefix}-main")
