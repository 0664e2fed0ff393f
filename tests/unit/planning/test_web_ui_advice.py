"""A running Open WebUI: how it is known, which jobs are on, and which addresses cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.domain.open_webui import JOBS, WebUi, web_ui_of
from homellm.domain.stack import Model, OllamaServer, Source, Stack
from homellm.planning.web_ui_advice import web_ui_advice

ALL_OFF = {job.variable: "False" for job in JOBS}
QUIET = ALL_OFF | {"ENABLE_PERSISTENT_CONFIG": "False"}
CHAT = Model("chat", Source("gguf", "", Path("/m.gguf")), "x", port=11435)
STACK = Stack("nuc", Path("/s.yaml"), (CHAT,), ollama=(OllamaServer("main", port=11434, bind="0.0.0.0"),))


@pytest.mark.parametrize(
    ("image", "env", "found"),
    [
        ("ghcr.io/open-webui/open-webui:main", {}, True),
        ("ghcr.io/open-webui/open-webui@sha256:" + "0" * 64, {}, True),
        ("registry.home:5000/open-webui", {}, True),
        ("chat:latest", {"WEBUI_SECRET_KEY": "x"}, True),
        ("chat:latest", {"OPENAI_API_BASE_URL": "x"}, False),
        ("ghcr.io/open-webui/pipelines:main", {}, False),
    ],
)
def test_how_it_is_known(image: str, env: dict[str, str], found: bool) -> None:
    assert (web_ui_of("c", image, env) is not None) is found


@pytest.mark.parametrize(
    ("value", "on"), [(None, True), ("True", True), ("true", True), ("False", False), ("0", False), ("1", False)]
)
def test_a_switch_is_read_as_it_reads_it(value: str | None, on: bool) -> None:
    env = {} if value is None else {"ENABLE_TITLE_GENERATION": value}
    assert ("titles" in [job.words for job in WebUi("c", env).jobs]) is on


def ids(env: dict[str, str], stack: Stack | None = STACK) -> list[str]:
    return [advice.id for advice in web_ui_advice(WebUi("chat-ui", env), stack)]


def test_titles_alone_are_worth_their_slot() -> None:
    assert ids(QUIET | {"ENABLE_TITLE_GENERATION": "True"}) == []
    assert ids({"ENABLE_PERSISTENT_CONFIG": "False"}) == ["web-ui-jobs"]


def test_jobs_that_go_to_another_model_name_it() -> None:
    (advice, *_) = web_ui_advice(WebUi("chat-ui", {"TASK_MODEL_EXTERNAL": "small"}), None)
    assert "on small" in advice.message


def test_the_database_beats_the_environment_unless_it_is_told_not_to() -> None:
    assert ids(ALL_OFF) == ["webui-env-ignored"]
    assert ids(QUIET) == []
    assert ids({}) == ["web-ui-jobs"], "nothing is switched off, so nothing can be ignored"


@pytest.mark.parametrize(
    ("url", "id"),
    [
        ("http://localhost:11435/v1", ["web-ui-localhost"]),
        ("http://127.0.0.1:9/v1", ["web-ui-localhost"]),
        ("http://host.docker.internal:11435/v1", ["web-ui-loopback"]),
        ("http://host.docker.internal:11434", []),
        ("http://host.docker.internal:5000/v1", []),
        ("http://chat:8080/v1", []),
        ("https://api.example/v1", []),
        ("http://host:no-port/v1", []),
    ],
)
def test_addresses_that_no_container_reaches(url: str, id: list[str]) -> None:
    assert ids(QUIET | {"OPENAI_API_BASE_URLS": f"https://other.example/v1;{url}"}) == id
    assert ids(QUIET | {"OLLAMA_BASE_URL": url}) == id


def test_without_a_stack_nobody_knows_what_is_published_where() -> None:
    assert ids(QUIET | {"OPENAI_API_BASE_URLS": "http://host.docker.internal:11435/v1"}, None) == []
