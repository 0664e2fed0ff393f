"""Snippets for clients, read back as the client reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from ruamel.yaml import YAML

from homellm.domain.endpoints import ModelEndpoints, Way
from homellm.domain.open_webui import JOBS
from homellm.domain.secret import Secret
from homellm.render.clients import Snippet, hermes, open_webui
from tests.unit.render.templates import HERMES, OPEN_WEBUI

HOST, LAN = Way("http://127.0.0.1:11435"), Way(None, "published on 127.0.0.1 alone")
CHAT = ModelEndpoints(
    "lfm2.5", "llama-server", 3, 32768, HOST, LAN, Way("http://lfm2.5:8080"), "homellm-nuc", api_key=None
)
SECOND = replace(CHAT, name="on", ctx=65536, container=Way("http://on:8080"))
OLLAMA = replace(CHAT, name="qwen", runner="ollama", container=Way("http://main:11434"))
VECTORS = replace(CHAT, name="embed", embedding=True, container=Way("http://embed:8080"))


def webui(*found: ModelEndpoints, show_secrets: bool = False) -> tuple[dict[str, str], Snippet]:
    """The environment as `docker run --env-file` reads it: lines, without those that begin with #."""
    made = open_webui(found, OPEN_WEBUI, title="t", show_secrets=show_secrets)
    lines = [line for line in made.text.splitlines() if line and not line.startswith("#")]
    assert all("=" in line for line in lines)
    return dict(line.split("=", 1) for line in lines), made


def hermes_of(found: Sequence[ModelEndpoints]) -> tuple[dict[str, Any], Snippet]:
    made = hermes(found, HERMES, title="t")
    return YAML(typ="safe").load(made.text), made


def test_servers_are_lists_with_semicolons_and_their_keys_in_the_same_order() -> None:
    env, made = webui(CHAT, replace(SECOND, api_key=Secret("s;e")), OLLAMA, replace(OLLAMA, name="other"), VECTORS)
    assert env["OPENAI_API_BASE_URLS"] == "http://lfm2.5:8080/v1;http://on:8080/v1"
    assert env["OPENAI_API_KEYS"] == "none;KEY"
    assert env["OLLAMA_BASE_URLS"] == "http://main:11434"
    assert made.notes == ("put in the keys of on, or use --show-secrets",)
    assert "homellm-nuc" in made.text


def test_secrets_are_written_down_on_request_alone() -> None:
    keyed = replace(CHAT, api_key=Secret("s3cret"))
    env, made = webui(keyed)
    assert "s3cret" not in made.text
    env, made = webui(keyed, show_secrets=True)
    assert (env["OPENAI_API_KEYS"], made.notes) == ("s3cret", ())


def test_titles_are_on_and_all_other_jobs_are_off_whatever_its_database_says() -> None:
    env, made = webui(CHAT)
    assert {name: value for name, value in env.items() if name.endswith("_GENERATION")} == {
        "ENABLE_TITLE_GENERATION": "True",
        "ENABLE_TAGS_GENERATION": "False",
        "ENABLE_FOLLOW_UP_GENERATION": "False",
        "ENABLE_AUTOCOMPLETE_GENERATION": "False",
        "ENABLE_SEARCH_QUERY_GENERATION": "False",
        "ENABLE_RETRIEVAL_QUERY_GENERATION": "False",
    }
    assert len(JOBS) == 6
    assert env["ENABLE_PERSISTENT_CONFIG"] == "False"
    assert "WEBUI_SECRET_KEY" not in env, "an invented one would log everybody out at every new snippet"
    assert "#WEBUI_SECRET_KEY=" in made.text


def test_an_api_that_nobody_serves_is_switched_off() -> None:
    assert webui(CHAT)[0]["ENABLE_OLLAMA_API"] == "False"
    env, _ = webui(OLLAMA)
    assert (env["ENABLE_OPENAI_API"], env["ENABLE_OLLAMA_API"]) == ("False", "True")
    assert "OPENAI_API_BASE_URLS" not in env


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (
            VECTORS,
            {
                "RAG_EMBEDDING_ENGINE": "openai",
                "RAG_EMBEDDING_MODEL": "embed",
                "RAG_OPENAI_API_BASE_URL": "http://embed:8080/v1",
                "RAG_OPENAI_API_KEY": "none",
            },
        ),
        (
            replace(OLLAMA, embedding=True),
            {
                "RAG_EMBEDDING_ENGINE": "ollama",
                "RAG_EMBEDDING_MODEL": "qwen",
                "RAG_OLLAMA_BASE_URL": "http://main:11434",
            },
        ),
    ],
)
def test_embeddings_are_for_documents_and_not_for_chats(model: ModelEndpoints, wanted: dict[str, str]) -> None:
    env, _ = webui(CHAT, model)
    assert {name: value for name, value in env.items() if name.startswith("RAG_")} == wanted
    assert env["OPENAI_API_BASE_URLS"] == "http://lfm2.5:8080/v1"
    assert env["ENABLE_OLLAMA_API"] == "False"


def test_what_a_container_cannot_reach_is_left_out_and_named() -> None:
    env, made = webui(CHAT, replace(OLLAMA, container=Way(None, "listens on 127.0.0.1"), network=None))
    assert "OLLAMA_BASE_URLS" not in env
    assert made.notes == ("qwen is left out: listens on 127.0.0.1",)
    assert "# Note: qwen is left out" in made.text


def test_hermes_is_given_the_context_of_one_slot() -> None:
    document, made = hermes_of([SECOND])
    assert document == {
        "model": {
            "provider": "custom",
            "base_url": "http://127.0.0.1:11435/v1",
            "default": "on",
            "context_length": 65536,
        }
    }
    assert made.notes == ()


@pytest.mark.parametrize(("ctx", "warned"), [(63_999, True), (64_000, False), (32_768, True)])
def test_hermes_refuses_less_than_64000_tokens(ctx: int, warned: bool) -> None:
    document, made = hermes_of([replace(CHAT, ctx=ctx)])
    assert document["model"]["context_length"] == ctx
    assert any("64,000" in note and "ctx: 65536" in note for note in made.notes) is warned
    assert ("# Note: Hermes refuses" in made.text) is warned


def test_hermes_takes_the_first_model_that_chats_and_the_other_ones_are_named() -> None:
    document, made = hermes_of([VECTORS, SECOND, replace(SECOND, name="third")])
    assert document["model"]["default"] == "on"
    assert made.notes == ("this is on; name another one: third",)
    with pytest.raises(ValueError, match="no model here chats"):
        hermes_of([VECTORS])


def test_hermes_in_a_container_where_no_port_is_published() -> None:
    document, made = hermes_of([replace(SECOND, host=Way(None, "no port is published"))])
    assert document["model"]["base_url"] == "http://on:8080/v1"
    (inside,) = made.notes
    assert "homellm-nuc" in inside


def test_the_key_of_hermes_is_a_variable_of_its_own_file() -> None:
    keyed = replace(SECOND, api_key=Secret("s3: cret"))
    document, made = hermes_of([keyed])
    assert document["model"]["api_key"] == "${HOMELLM_API_KEY}"
    assert "HOMELLM_API_KEY=" in made.notes[0]
    shown = hermes([keyed], HERMES, title="t", show_secrets=True)
    assert YAML(typ="safe").load(shown.text)["model"]["api_key"] == "s3: cret"
    assert shown.notes == ()
