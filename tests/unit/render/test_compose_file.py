"""The compose file means what the spec says, read by a YAML parser and by Compose's rule for `$`."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from homellm.domain.spec import Arg, EnvVar, NetworkAttachment
from homellm.render.compose import project_name, render_compose
from homellm.render.quoting import yaml_string
from tests.unit.render.specs import BARE, CUDA, SERVER
from tests.unit.render.templates import COMPOSE

#: What YAML can hold at all (its c-printable, and everything else escaped); a container's words hold no NUL.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
KEY = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)


def compose(*specs, **options):
    return render_compose(specs, COMPOSE, project="nuc", title="title", **options)


def parsed(text):
    return YAML(typ="safe", pure=True).load(text)


def undollar(text):
    """What Compose makes of a value without variables."""
    assert "$" not in text.replace("$$", "")
    return text.replace("$$", "$")


@given(TEXT)
def test_a_scalar_is_the_same_string_after_yaml(text):
    assert parsed(yaml_string(text)) == text
    assert "\n" not in yaml_string(text)


@pytest.mark.parametrize(
    "word", ["on", "Yes", "NO", "null", "~", "1", "1e3", "0x1", "1:30", "", " a", "a: b", "- a", "#"]
)
def test_what_yaml_reads_otherwise_is_quoted(word):
    assert yaml_string(word).startswith('"')
    assert parsed(yaml_string(word)) == word


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TEXT, st.none() | TEXT, TEXT), max_size=4), st.dictionaries(KEY, TEXT, max_size=4))
def test_every_argument_and_variable_comes_out_as_it_went_in(args, env):
    spec = replace(
        BARE, args=tuple(Arg(*arg) for arg in args), env=tuple(EnvVar(k, v) for k, v in env.items()), labels=env
    )
    service = parsed(compose(spec))["services"]["bare"]
    assert [undollar(word) for word in service.get("command", [])] == list(spec.argv)
    assert {k: undollar(v) for k, v in service.get("environment", {}).items()} == env
    assert {k: undollar(v) for k, v in service.get("labels", {}).items()} == env


def test_the_whole_service():
    document = parsed(compose(SERVER))
    service = document["services"]["nuc-lfm2.5"]
    assert service.pop("command") == list(SERVER.argv)
    assert service.pop("environment") == {
        "MESA_VK_DEVICE_SELECT": "8086:9a49!",
        "LLAMA_API_KEY": "${NUC_LFM2_5_LLAMA_API_KEY:?set it to the value of LLAMA_API_KEY}",
    }
    assert service == {
        "container_name": "nuc-lfm2.5",
        "image": "ghcr.io/ggml-org/llama.cpp:server-vulkan",
        "volumes": [
            {
                "type": "bind",
                "source": "/srv/models",
                "target": "/models",
                "read_only": True,
                "bind": {"create_host_path": False},
            },
            {"type": "volume", "source": "llm-cache", "target": "/root/.cache", "volume": {"nocopy": True}},
        ],
        "ports": [{"host_ip": "127.0.0.1", "published": "11435", "target": 8080}],
        "networks": {
            "homellm-nuc": {"priority": 1000, "aliases": ["lfm2.5"]},
            "open-webui": {"aliases": ["lfm2.5"]},
        },
        "devices": ["/dev/dri/renderD128:/dev/dri/renderD128"],
        "group_add": ["993"],
        "cpuset": "0-3",
        "cpu_shares": 2048,
        "mem_limit": 8589934592,
        "shm_size": 134217728,
        "cap_add": ["IPC_LOCK"],
        "logging": {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}},
        "healthcheck": {"start_period": "600s"},
        "stop_grace_period": "10s",
        "restart": "unless-stopped",
        "labels": {"com.example.owner": "me"},
    }
    assert document["networks"] == {
        "homellm-nuc": {"name": "homellm-nuc"},
        "open-webui": {"name": "open-webui", "external": True},
    }
    assert document["volumes"] == {"llm-cache": {"name": "llm-cache"}}


def test_gpus_entrypoint_and_policies():
    service = parsed(compose(CUDA))["services"]["nuc-embed"]
    assert service["entrypoint"] == ["/usr/lib/ollama/llama-server"]
    assert service["command"] == ["--offline", "--embedding"]
    assert service["devices"] == ["nvidia.com/gpu=GPU-7c5d"]
    assert service["deploy"]["resources"]["reservations"]["devices"] == [
        {"driver": "nvidia", "device_ids": ["GPU-5a3f", "GPU-6b4e"], "capabilities": ["gpu"]}
    ]
    assert service["restart"] == "no"
    assert service["stop_grace_period"] == "0s"
    assert service["healthcheck"] == {"start_period": "600s", "interval": "2500ms", "timeout": "3s", "retries": 4}


def test_every_argument_of_the_server_has_its_why_above_it():
    lines = [line.strip() for line in compose(SERVER).splitlines()]
    for arg in SERVER.args:
        assert lines[lines.index(f'- "{arg.flag}"') - 1] == f"# {arg.because}"


def test_a_secret_is_written_only_when_asked_for():
    assert "s3cr" not in compose(SERVER)
    shown = parsed(compose(SERVER, show_secrets=True))
    assert undollar(shown["services"]["nuc-lfm2.5"]["environment"]["LLAMA_API_KEY"]) == "s3cr$t 'key'"


def test_no_label_of_ours_is_rendered():
    assert "homellm." not in compose(SERVER, CUDA)


def test_a_network_that_one_model_makes_is_made_for_all():
    one = replace(BARE, networks=(NetworkAttachment("a", external=True),))
    two = replace(BARE, name="two", networks=(NetworkAttachment("a"),))
    assert parsed(compose(one, two))["networks"] == {"a": {"name": "a"}}
    assert parsed(compose(one))["services"]["bare"]["networks"] == {"a": {"priority": 1000}}


@pytest.mark.parametrize(
    ("stack", "project"), [("nuc", "nuc"), ("My.Stack", "my-stack"), ("_x", "x"), ("é", "homellm")]
)
def test_project_names_are_those_that_compose_takes(stack, project):
    assert project_name(stack) == project
