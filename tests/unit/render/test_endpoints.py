"""Addresses of models: from the host, from the LAN, from a container, or the reason why there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.endpoints import ModelEndpoints
from homellm.domain.stack import Model, OllamaServer, Source, Stack
from homellm.render.endpoints import Machine, endpoints

CHAT = Model("LFM2.5:small", Source("gguf", "", Path("/m.gguf")), "x", parallel=3, ctx=32768, port=11435)
OLLAMA = replace(CHAT, name="qwen", source=Source("ollama", "qwen"), runner="ollama", server="main")
SERVER = OllamaServer("main", port=11434)


def only(
    model: Model, server: OllamaServer | None = None, *, lan: tuple[str, ...] = ("192.168.1.10",)
) -> ModelEndpoints:
    stack = Stack("my nuc", Path("/s.yaml"), (model,), ollama=(server,) if server else ())
    (found,) = endpoints(stack, stack.models, machine=Machine(lan, frozenset({"172.17.0.1"})))
    return found


def openai(one: ModelEndpoints) -> tuple[str | None, str | None, str | None]:
    return one.openai("host"), one.openai("lan"), one.openai("container")


INSIDE = "http://lfm2.5-small:8080/v1"


@pytest.mark.parametrize(
    ("bind", "host", "lan"),
    [
        ("0.0.0.0", "http://127.0.0.1:11435/v1", "http://192.168.1.10:11435/v1"),
        ("::", "http://[::1]:11435/v1", None),
        ("127.0.0.1", "http://127.0.0.1:11435/v1", None),
        ("127.0.0.2", "http://127.0.0.2:11435/v1", None),
        ("::1", "http://[::1]:11435/v1", None),
        ("192.168.1.10", "http://192.168.1.10:11435/v1", "http://192.168.1.10:11435/v1"),
        ("172.17.0.1", "http://172.17.0.1:11435/v1", None),
        ("fd00::7", "http://[fd00::7]:11435/v1", "http://[fd00::7]:11435/v1"),
    ],
)
def test_where_a_published_port_is_reached(bind: str, host: str, lan: str | None) -> None:
    found = only(replace(CHAT, bind=bind))
    assert openai(found) == (host, lan, INSIDE)
    assert found.network == "homellm-my-nuc"
    assert bool(found.lan.why) is (lan is None)


def test_a_dead_address_is_never_printed_but_its_reason_is() -> None:
    assert only(CHAT).lan.why == ("published on 127.0.0.1 alone: set `bind: 0.0.0.0` and an `api_key` for LFM2.5:small")
    assert only(OLLAMA, SERVER).lan.why == (
        "published on 127.0.0.1 alone: `bind: 0.0.0.0` for main opens it to everybody, as Ollama asks no one for a key"
    )
    unpublished = only(replace(CHAT, port=None))
    assert openai(unpublished) == (None, None, INSIDE)
    assert "give LFM2.5:small a `port`" in unpublished.host.why
    nowhere = only(replace(CHAT, bind="0.0.0.0"), lan=())
    assert openai(nowhere) == ("http://127.0.0.1:11435/v1", None, INSIDE)
    six = only(replace(CHAT, bind="0.0.0.0"), lan=("2001:db8::5",))
    assert six.openai("lan") is None
    assert "IPv4 alone" in six.lan.why
    four = only(replace(CHAT, bind="::"))
    assert four.openai("lan") is None
    assert "IPv6 alone, and this machine's address in the LAN is 192.168.1.10" in four.lan.why


@pytest.mark.parametrize(
    ("bind", "lan"), [("0.0.0.0", "http://192.168.1.10:11435/v1"), ("::", "http://[2001:db8::5]:11435/v1")]
)
def test_of_two_addresses_in_the_lan_it_is_that_of_the_published_family(bind: str, lan: str) -> None:
    assert only(replace(CHAT, bind=bind), lan=("192.168.1.10", "2001:db8::5")).openai("lan") == lan


def test_llama_server_has_no_address_in_the_style_of_ollama() -> None:
    assert [only(CHAT).ollama(place) for place in ("host", "lan", "container")] == [None, None, None]


def test_models_of_an_ollama_server_have_both_styles_at_the_servers_address() -> None:
    found = only(OLLAMA, replace(SERVER, bind="0.0.0.0"))
    assert openai(found) == (
        "http://127.0.0.1:11434/v1",
        "http://192.168.1.10:11434/v1",
        "http://main:11434/v1",
    )
    assert (found.ollama("lan"), found.ollama("container")) == ("http://192.168.1.10:11434", "http://main:11434")
    assert found.network == "homellm-my-nuc"


def test_a_model_that_has_moved_is_found_where_llama_server_serves_it() -> None:
    stack = Stack("nuc", Path("/s.yaml"), (OLLAMA,), ollama=(SERVER,))
    (found,) = endpoints(stack, stack.models, moved={"qwen"})
    assert (found.runner, found.moved) == ("llama-server", True)
    assert openai(found) == ("http://127.0.0.1:11435/v1", None, "http://qwen:8080/v1")
    assert found.ollama("container") is None


@pytest.mark.parametrize(
    ("url", "elsewhere"),
    [
        ("http://127.0.0.1:11434/", False),
        ("http://localhost:11434", False),
        ("http://[::1]:11434", False),
        ("http://nas.lan:11434", True),
        ("http://192.168.1.9:11434", True),
    ],
)
def test_an_ollama_that_is_not_ours_is_where_it_was_declared(url: str, elsewhere: bool) -> None:
    found = only(OLLAMA, OllamaServer("main", url=url))
    assert found.ollama("host") == url.rstrip("/")
    assert found.network is None
    assert [found.ollama(place) for place in ("lan", "container")] == [url.rstrip("/") if elsewhere else None] * 2
    assert ("OLLAMA_HOST" in found.container.why) is not elsewhere
