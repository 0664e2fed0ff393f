"""A file read by who only looks at what runs: variables of what is not shown may be unset, all others may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.domain.stack import Stack
from homellm.errors import StackFileError
from homellm.loading import load

FILE = Path("/srv/homellm.yaml")
TEXT = """\
stack: nuc
defaults:
  env: {HF_TOKEN: "${HF_TOKEN}"}
ollama:
  main: {port: 11434, store: "${STORE}", env: ["OLLAMA_DEBUG=${DEBUG}"]}
models:
  chat:
    source: gguf:${MODELS}/chat.gguf
    image: ${IMAGE}
    api_key: ${KEY:?from the vault}
    ctx: ${CTX}
    extra_args: [--seed, "${SEED}"]
    labels: {a: "${LABEL}"}
    volumes: ["${MODELS}:/models:ro"]
    port: 8081
  plain: {source: "ollama:${NAME}", parallel: 3}
"""


def looked_at(text: str, **environ: str) -> Stack:
    return load(FILE, text, environ, looking=True)


def test_what_ps_shows_is_there_without_a_single_variable() -> None:
    chat, plain = looked_at(TEXT).models
    assert (chat.name, chat.runner, chat.port, chat.api_key, chat.env) == ("chat", "llama-server", 8081, None, {})
    assert (plain.name, plain.runner, plain.server, plain.parallel) == ("plain", "ollama", "main", 3)
    assert looked_at(TEXT).ollama[0].port == 11434


def test_who_starts_something_needs_them_all() -> None:
    with pytest.raises(StackFileError) as caught:
        load(FILE, TEXT, {})
    assert {problem.id for problem in caught.value.problems} == {"variable-unset"}
    assert len(caught.value.problems) == 11


@pytest.mark.parametrize("key", ["port", "bind", "parallel", "container_name", "runner"])
def test_what_is_shown_has_to_be_known(key: str) -> None:
    text = f'stack: nuc\nmodels:\n  chat: {{source: gguf:a.gguf, {key}: "${{X}}"}}\n'
    with pytest.raises(StackFileError) as caught:
        looked_at(text)
    assert [problem.id for problem in caught.value.problems] == ["variable-unset"]
    good = {"port": "8081", "bind": "127.0.0.1", "parallel": "2", "container_name": "c", "runner": "llama-server"}
    assert looked_at(text, X=good[key]).models[0].name == "chat"


def test_other_faults_are_faults_all_the_same() -> None:
    with pytest.raises(StackFileError) as caught:
        looked_at(TEXT.replace("ctx: ${CTX}", "ctxx: 3"))
    assert [problem.id for problem in caught.value.problems] == ["unknown-key"]
    with pytest.raises(StackFileError):
        looked_at("stack: nuc\nmodels:\n  chat: {source: '${SOURCE}'}\n")


def test_what_is_not_known_is_told_key_by_key() -> None:
    looked = looked_at(TEXT)
    chat, plain = looked.models
    known_to_none = {"source", "image", "api_key", "ctx", "extra_args", "labels.a", "volumes", "env.HF_TOKEN"}
    assert chat.unset == known_to_none
    assert plain.unset == {"source", "env.HF_TOKEN"}
    assert looked.ollama[0].unset == {"store", "env.OLLAMA_DEBUG"}
    values = {"HF_TOKEN": "t", "MODELS": "/m", "KEY": "k", "CTX": "512", "SEED": "1", "LABEL": "l", "NAME": "qwen"}
    known = looked_at(TEXT, **values, IMAGE="server", STORE="/srv", DEBUG="1")
    assert [model.unset for model in known.models] == [frozenset(), frozenset()]


def test_a_default_that_the_model_replaces_does_not_matter() -> None:
    text = 'stack: nuc\ndefaults: {ctx: "${X}", env: {A: "${A}", B: "${B}"}, mlock: "${M}"}\nmodels:\n'
    text += "  chat: {source: gguf:a.gguf, ctx: 512, mlock: null, env: {A: one}}\n"
    assert looked_at(text).models[0].unset == {"env.B"}


def test_a_gpu_of_which_a_variable_is_not_set_is_not_known() -> None:
    text = 'stack: nuc\ngpus: {card: {api: vulkan, pci: "${PCI}"}}\nmodels:\n'
    text += "  chat: {source: gguf:a.gguf, gpu: card}\n  small: {source: gguf:b.gguf}\n"
    assert [model.unset for model in looked_at(text).models] == [{"gpu"}, frozenset()]
    with pytest.raises(StackFileError) as caught:
        load(FILE, text, {})
    assert {problem.id for problem in caught.value.problems} == {"variable-unset"}
