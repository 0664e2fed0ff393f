"""`homellm endpoints` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from homellm.adapters import lan
from homellm.cli import wiring
from homellm.cli.main import main
from homellm.domain.names import LABEL_ROLE, LABEL_STACK, LABEL_UNIT
from homellm.errors import EngineUnreachable
from tests.fakes.engine import FakeEngine
from tests.fakes.state import FakeState

STACK = """
stack: nuc
models:
  chat: {source: gguf:m.gguf, parallel: 2, ctx: 65536, port: 8000, bind: 0.0.0.0, api_key: s3cret}
  qwen: {source: ollama:qwen, port: 8001, parallel: 3}
  embed: {source: gguf:e.gguf, embedding: true}
ollama: {main: {port: 11434}}
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeState:
    found = FakeState()
    (tmp_path / "homellm.yaml").write_text(STACK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMELLM_FILE", raising=False)
    monkeypatch.setattr(wiring, "connect", lambda *_: SimpleNamespace(engine=FakeEngine(found)))
    monkeypatch.setattr(lan, "lan_addresses", lambda: ("192.168.1.10",))
    monkeypatch.setattr(lan, "bridge_addresses", frozenset)
    return found


def ask(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, dict[str, object]]:
    assert main(["endpoints", "--format", "json", *argv]) == 0
    return {model["name"]: model for model in json.loads(capsys.readouterr().out)["models"]}


def test_the_document(state: FakeState, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys)
    assert found["chat"]["openai"] == {
        "host": "http://127.0.0.1:8000/v1",
        "lan": "http://192.168.1.10:8000/v1",
        "container": "http://chat:8080/v1",
    }
    assert (found["chat"]["api_key"], found["chat"]["ctx_per_slot"]) == (True, 65536)
    assert found["qwen"]["ollama"] == {"host": "http://127.0.0.1:11434", "lan": None, "container": "http://main:11434"}
    assert set(found["embed"]["unreachable"]) == {"host", "lan"}  # type: ignore[call-overload]


def published(port: int, address: str = "127.0.0.1") -> dict[str, object]:
    """The part of a container's body that publishes the server's port."""
    bindings = {"8080/tcp": [{"HostIp": address, "HostPort": str(port)}]}
    return {"ExposedPorts": {"8080/tcp": {}}, "HostConfig": {"PortBindings": bindings}}


def test_what_runs_is_told_as_it_runs(state: FakeState, capsys: pytest.CaptureFixture[str]) -> None:
    """The file was edited since: another port, every address, another key, fewer slots."""
    state.add_image("x")
    engine = FakeEngine(state)
    body = {
        "Image": "x",
        "Cmd": ["/server", "--parallel", "3", "--ctx-size", "3072"],
        "Env": ["LLAMA_API_KEY=0lder"],
        "Labels": {LABEL_STACK: "nuc", LABEL_ROLE: "serve", LABEL_UNIT: "chat"},
        **published(24401),
    }
    engine.start(engine.create("nuc-chat", body).id)
    chat = ask(capsys)["chat"]
    assert (chat["running"], chat["slots"], chat["ctx_per_slot"], chat["api_key"]) == (True, 3, 1024, True)
    openai = {"host": "http://127.0.0.1:24401/v1", "lan": None, "container": "http://chat:8080/v1"}
    assert chat["openai"] == openai
    assert main(["endpoints", "chat"]) == 0
    assert "as declared" not in capsys.readouterr().out
    assert main(["endpoints", "--client", "open-webui", "--show-secrets", "chat"]) == 0
    assert "OPENAI_API_KEYS=0lder\n" in capsys.readouterr().out


def test_a_model_that_moved_is_told_by_what_runs(state: FakeState, capsys: pytest.CaptureFixture[str]) -> None:
    state.add_image("x")
    engine = FakeEngine(state)
    labels = {LABEL_STACK: "nuc", LABEL_ROLE: "serve"}
    made = engine.create("nuc-qwen", {"Image": "x", "Labels": {**labels, LABEL_UNIT: "qwen"}, **published(8001)})
    assert ask(capsys, "qwen")["qwen"]["runner"] == "ollama"
    engine.start(made.id)
    moved = ask(capsys, "qwen")["qwen"]
    assert (moved["runner"], moved["moved"]) == ("llama-server", True)
    assert moved["openai"]["host"] == "http://127.0.0.1:8001/v1"  # type: ignore[index]


def test_without_an_engine_the_declared_runner_counts(
    state: FakeState, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> object:
        raise EngineUnreachable("away")

    monkeypatch.setattr(wiring, "connect", away)
    found = ask(capsys)
    assert (found["qwen"]["runner"], found["qwen"]["running"]) == ("ollama", None)
    assert main(["endpoints"]) == 0
    assert "as declared: no engine answers\n" in capsys.readouterr().out


def test_a_table_for_people(state: FakeState, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["endpoints"]) == 0
    out = capsys.readouterr().out
    told = "chat   llama-server · 2 slots of 65536 tokens · asks for a key · as declared: it does not run\n"
    assert told in out
    assert "  in the LAN       http://192.168.1.10:8000/v1\n" in out
    assert "docker network connect homellm-nuc CONTAINER" in out
    assert "give embed a `port`" in out


def test_a_snippet_is_fit_for_a_file_and_its_warnings_are_seen(
    state: FakeState, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["endpoints", "--client", "open-webui"]) == 0
    seen = capsys.readouterr()
    assert "OPENAI_API_BASE_URLS=http://chat:8080/v1\n" in seen.out
    assert "s3cret" not in seen.out + seen.err
    assert seen.err == "note: put in the keys of chat, or use --show-secrets\n"
    assert main(["endpoints", "--client", "open-webui", "--show-secrets"]) == 0
    assert "OPENAI_API_KEYS=s3cret\n" in capsys.readouterr().out
    assert main(["endpoints", "--client", "hermes", "--format", "json", "qwen"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["client"] == "hermes"
    assert "context_length: 4096" in document["text"]
    assert "64,000" in document["notes"][0]


def test_hermes_needs_a_model_that_chats(state: FakeState, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["endpoints", "--client", "hermes", "embed"]) == 2
    assert "Name a model that chats" in capsys.readouterr().err
