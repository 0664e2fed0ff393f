"""`config`: what it prints means the same as what it read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from homellm.cli.main import main
from homellm.domain.stack import Stack
from homellm.loading.loader import load
from homellm.report.config_text import config_document, config_text

STACKS = Path(__file__).parents[3] / "stacks"

TEXT = """
stack: nuc
gpus:
  iris: {pci: "0000:00:02.0", api: vulkan}
  card: {id: "10de:2484", api: cuda}
defaults:
  memory: 6GiB
  env: {HF_TOKEN: hidden-one, PLAIN: "costs $$5"}
models:
  lfm2.5:
    source: gguf:models/a b.gguf
    gpu: iris
    parallel: 3
    kv_cache_type: {k: q8_0, v: f16}
    flash_attention: on
    cpuset: "0"
    restart: "no"
    sleep_idle: 15m
    stop_grace: 1m
    api_key: hidden-two
    volumes: ["./data:/data:ro", "cache:/cache"]
    networks: [web]
    labels: {a.b: "yes"}
    log: {driver: local, max_size: 5m}
    extra_args: [--verbose-prompt, --ssl-key-file, hidden-three, --seed, "-1"]
  embed: {source: gguf:e.gguf, embedding: true, port: 11436, gpu: card, gpu_layers: 12}
"""


def meaning(stack: Stack) -> Stack:
    """The stack without what only tells where it was written."""
    return replace(
        stack,
        models=tuple(
            replace(model, section="", places={}, source=replace(model.source, ref="")) for model in stack.models
        ),
        gpus=tuple(replace(gpu, place=None) for gpu in stack.gpus),
        ollama=tuple(replace(server, section="", places={}, declared=True) for server in stack.ollama),
        variables=frozenset(),
    )


def test_it_means_the_same_as_the_file(tmp_path: Path) -> None:
    text = (
        TEXT.replace("    api_key: hidden-two\n", "")
        .replace("HF_TOKEN: hidden-one, ", "")
        .replace("--ssl-key-file, hidden-three, ", "")
    )
    stack = load(tmp_path / "homellm.yaml", text, {})
    printed = config_text(stack)
    assert meaning(load(tmp_path / "homellm.yaml", printed, {})) == meaning(stack)
    assert config_text(load(Path("/elsewhere/homellm.yaml"), printed, {})) == printed
    assert "costs $$5" in printed


OLLAMA = """\
stack: nuc
ollama:
  main:
    port: 11434
    store: ./ollama
    keep_alive: 1h30m
    load_timeout: 10m
    gpu_overhead: 512MiB
    llama_args: {cache_reuse: 256}
    origins: ["https://chat.example"]
  other: {url: "http://10.0.0.9:11434", log_from: "docker:ollama", keep_alive: 300, store: "volume:models"}
  third: {url: "http://10.0.0.8:11434", log_from: ./ollama.log}
models:
  a: {source: "ollama:lfm2.5:2.6b", server: main, fallback: predict, fallback_source: gguf:a.gguf}
  b: {source: "ollama:smol", server: other}
"""


@pytest.mark.parametrize("text", [OLLAMA, "stack: s\nmodels: {m: {source: ollama:m}}\n"])
def test_ollama_servers_mean_the_same(text: str, tmp_path: Path) -> None:
    stack = load(tmp_path / "homellm.yaml", text, {})
    printed = config_text(stack)
    again = load(tmp_path / "homellm.yaml", printed, {})
    assert meaning(again).ollama == meaning(stack).ollama
    assert [(m.server, m.fallback, m.runner) for m in again.models] == [
        (m.server, m.fallback, m.runner) for m in stack.models
    ]


@pytest.mark.parametrize("path", sorted(STACKS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_means_the_same_when_it_is_printed(path: Path) -> None:
    stack = load(path, path.read_text(encoding="utf-8"), {"HOME": "/home/user"})
    again = load(path, config_text(stack), {})
    assert [model.api_key is None for model in again.models] == [model.api_key is None for model in stack.models]
    assert without_keys(again) == without_keys(stack)


def without_keys(stack: Stack) -> Stack:
    """What it means but for the keys, which are never printed."""
    return replace(meaning(stack), models=tuple(replace(model, api_key=None) for model in meaning(stack).models))


def test_values_are_resolved(tmp_path: Path) -> None:
    document = config_document(load(tmp_path / "homellm.yaml", TEXT, {}))
    models = document["models"]
    assert isinstance(models, dict)
    lfm = models["lfm2.5"]
    assert lfm["source"] == f"gguf:{tmp_path}/models/a b.gguf"
    assert (lfm["memory"], lfm["sleep_idle"], lfm["stop_grace"]) == (6 * 1024**3, "900s", "60s")
    assert lfm["kv_cache_type"] == {"k": "q8_0", "v": "f16"}
    assert lfm["volumes"] == [f"{tmp_path}/data:/data:ro", "cache:/cache"]
    assert models["embed"]["image"] == "ghcr.io/ggml-org/llama.cpp:server-cuda"
    assert document["gpus"] == {
        "iris": {"api": "vulkan", "pci": "0000:00:02.0"},
        "card": {"api": "cuda", "id": "10de:2484"},
    }


@pytest.mark.parametrize("form", ["table", "json"])
def test_secrets_are_never_printed(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert main(["config", "-f", str(path), "--format", form]) == 0
    out = capsys.readouterr().out
    assert "hidden" not in out
    assert out.count("<redacted>") == 4  # one model has two of them by defaults, and two of its own


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_text("stack: s\nmodels: {m: {source: gguf:/m.gguf}}\n", encoding="utf-8")
    assert main(["--format", "json", "config", "-f", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["stack"], document["models"], document["errors"]) == ("s", [], [])
    assert document["config"]["models"]["m"]["source"] == "gguf:/m.gguf"


def test_a_wrong_file_is_told_with_all_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_text("stack: s\nmodels:\n  m: {source: gguf:/m.gguf, paralel: 3}\n  n: {port: 1}\n", encoding="utf-8")
    assert main(["config", "-f", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("error: ") >= 2
    assert f"{path}:3:" in err
    assert "parallel" in err
