"""An Ollama server rendered, whole: it is a container like any other."""

from pathlib import Path

import pytest

from homellm.domain.world import EngineInfo, Host, HostGpu, World
from homellm.loading import load
from homellm.render.compose import render_compose
from homellm.render.run import render_run
from homellm.runners.ollama_server import build
from tests.unit.render.templates import COMPOSE, RUN

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
STACK = """\
stack: nuc
gpus:
  iris: {pci: "0000:00:02.0", api: vulkan}
defaults: {gpu: iris, cpuset: 0-3}
ollama:
  main: {port: 11434, store: ./ollama, keep_alive: -1, load_timeout: 10m}
models:
  lfm2.5: {source: "ollama:lfm2.5:2.6b", parallel: 3, ctx: 32768, flash_attention: on, port: 11435}
"""
IRIS = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe Graphics", "i915", True, "renderD128", 993)


def spec():
    stack = load(Path("/home/me/llm/homellm.yaml"), STACK, {})
    host = Host(readable=True, gpus=(IRIS,), online_cpus=tuple(range(8)))
    engine = EngineInfo("id", "27.1", "/var/lib/docker", 8, 8 << 30, log_driver="json-file")
    built = build(stack.ollama[0], stack.models_on(stack.ollama[0]), stack, World(engine, host))
    assert built.spec is not None, built.problems
    return built.spec


@pytest.mark.parametrize("name", ["ollama-run.sh", "ollama-compose.yaml"])
def test_golden(name):
    texts = {
        "ollama-run.sh": lambda: render_run((spec(),), RUN, title="nuc: 1 Ollama server"),
        "ollama-compose.yaml": lambda: render_compose((spec(),), COMPOSE, project="nuc", title="nuc: 1 Ollama server"),
    }
    assert texts[name]() == (GOLDEN / name).read_text()
