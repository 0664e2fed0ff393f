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
