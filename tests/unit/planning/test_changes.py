"""What a plan names as the cause of a replacement."""

from __future__ import annotations

import pytest

from homellm.domain.names import LABEL_SECTION, LABEL_VERSION
from homellm.domain.secret import fingerprint
from homellm.domain.spec import Arg, ContainerSpec, EnvVar
from homellm.planning.changes import changes
from homellm.planning.declared import declared_label
from homellm.planning.desired import Desired
from tests.unit.loading.given import loaded
from tests.unit.planning.build import NAME, container

HEAD = "stack: nuc\nmodels:\n  smol:\n    source: gguf:/models/smol.gguf\n"


def section(keys: str) -> str:
    """The label of a model with these keys, as loading writes it."""
    return loaded(HEAD + "".join(f"    {line}\n" for line in keys.splitlines())).models[0].section


def named(before: str, after: str, *, image: str = "server", **more: object) -> str:
    args = tuple(Arg(word) for word in more.pop("argv", ()))  # type: ignore[arg-type,union-attr,var-annotated]
    spec = ContainerSpec(NAME, image, args=args)
    labels = {LABEL_SECTION: section(after), LABEL_VERSION: "0.2"}
    old = container(labels={LABEL_SECTION: section(before), LABEL_VERSION: str(more.pop("version", "0.2"))}, **more)
    return changes(old, Desired("smol", spec, "new", labels, image_id="sha256:1"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("ctx: 2048", "ctx: 4096", "ctx 2048 → 4096"),
        ("parallel: 2", "mlock: true", "mlock none → true, parallel 2 → none"),
        ("env:\n  A: one", "env:\n  A: two", "env changed"),
        ("extra_args:\n- --a", "extra_args:\n- --a\n- --b", "extra_args changed"),
        ("networks: [a]", "networks: [b]", "networks changed"),
        ("ctx: 1024\nparallel: 1", "parallel: 1\nctx: 1024\nbind: 0.0.0.0", "bind none → 0.0.0.0"),
        (
            "ctx: 1\nparallel: 1\nbatch: 1\nubatch: 1\nport: 80",
            "ctx: 2\nparallel: 2\nbatch: 2\nubatch: 2\nport: 81",
            "ctx 1 → 2, parallel 1 → 2, batch 1 → 2, ubatch 1 → 2 and 1 more",
        ),
    ],
)
def test_keys_of_the_section_with_both_values(before: str, after: str, said: str) -> None:
    assert named(before, after) == said


def test_a_secret_is_never_said() -> None:
    said = named("api_key: hunter2", "api_key: hunter3")
    assert "hunter" not in said
    assert "a secret" in said
    assert "hunter" not in named("ctx: 1", "ctx: 1\napi_key: hunter3")


def test_an_image_of_another_name_or_content() -> None:
    assert named("ctx: 1", "ctx: 1", image="other:2") == "image server → other:2"
    old = container(labels={LABEL_SECTION: section("ctx: 1")})
    labels = {LABEL_SECTION: section("ctx: 1")}
    said = changes(old, Desired("smol", ContainerSpec(NAME, "server"), "new", labels, image_id="sha256:2"))
    assert said == "the content of the image server changed"


def test_what_came_of_defaults_or_a_variable_is_told_by_what_the_server_was_given() -> None:
    old = ("--ctx-size", "6144", "--parallel", "3")
    assert named("port: 80", "port: 80", args=old, argv=("--ctx-size", "12288", "--parallel", "3")) == "ctx 2048 → 4096"


def test_of_other_arguments_the_names_are_told_and_no_values() -> None:
    old = ("--parallel", "3", "--threads", "4", "--api-key", "hunter2", "--mlock")
    new = ("--parallel", "3", "--threads", "4", "--api-key", "hunter3", "-ngl", "-1")
    said = named("port: 80", "port: 80", args=old, argv=new)
    assert said == "argument --api-key changed, argument -ngl changed, argument --mlock changed"


def test_what_cannot_be_told_is_said_in_general() -> None:
    assert named("ctx: 1", "ctx: 1") == "defaults, a variable, a secret, or what this machine has changed"
    assert named("ctx: 1", "ctx: 1", version="0.1").startswith("homellm 0.1 → 0.2 ")


def test_a_container_without_that_label_is_replaced_all_the_same() -> None:
    assert changes(container(), Desired("smol", None, "new", {})) != ""


def declared(before: str, after: str, top: str = "", *, top_before: str | None = None, **more: object) -> str:
    """The same of containers whose label has what was declared."""
    found = []
    for keys, head in ((before, top if top_before is None else top_before), (after, top)):
        stack = loaded(
            "stack: nuc\n" + head + HEAD.partition("\n")[2] + "".join(f"    {k}\n" for k in keys.splitlines())
        )
        labels = declared_label(stack.models[0], stack)
        found.append({**labels, LABEL_SECTION: stack.models[0].section, LABEL_VERSION: "0.2"})
        env = tuple(EnvVar(name, value) for name, value in stack.models[0].env.items())
    old = container(labels=found[0], **more)
    return changes(old, Desired("smol", ContainerSpec(NAME, "server", env=env), "new", found[1], image_id="sha256:1"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("ctx: 2048", "ctx: 4096", "ctx 2048 → 4096"),
        ("", "mlock: true\nparallel: 2", "mlock none → true, parallel 1 → 2"),
        ("memory: 4g", "memory: 6144m\nstop_grace: 1m", "memory 4.0 GiB → 6.0 GiB, stop_grace 10s → 60s"),
        ("env: {A: x, B: y}", "env: {A: x, B: z}", "env.B changed"),
        ("extra_args: [--a]", "extra_args: [--b]", "extra_args changed"),
        ("networks: [a]", "networks: [b, c]", "networks a → b, c"),
        ("parallel: 2\nctx: 512", "ctx: '512'\nparallel: 3", "parallel 2 → 3"),
        ("", "api_key: hunter2", "api_key none → <redacted>"),
    ],
)
def test_keys_of_the_declaration_with_what_they_mean(before: str, after: str, said: str) -> None:
    assert declared(before, after) == said


def test_what_came_of_defaults_is_told_with_both_values() -> None:
    assert declared("", "", "defaults: {ctx: 1024}\n", top_before="") == "ctx 4096 → 1024"


def test_another_secret_is_told_by_its_name() -> None:
    given = {"HF_TOKEN": fingerprint("hunter2")}
    assert declared("env: {HF_TOKEN: hunter2}", "env: {HF_TOKEN: hunter3}", variables=given) == "env.HF_TOKEN changed"
    same = declared("env: {HF_TOKEN: hunter2}", "env: {HF_TOKEN: hunter2}", variables=given)
    assert same == "what this machine has, or what the image can do, changed"


SERVER = "stack: nuc\nmodels:\n  a: {source: 'ollama:a', parallel: %d, ctx: %d}\n"


def test_a_server_of_ollama_names_what_its_models_ask_for() -> None:
    was, now = (loaded(SERVER % pair) for pair in ((3, 2048), (2, 4096)))
    old = container(labels={**declared_label(was.ollama[0], was), LABEL_SECTION: "", LABEL_VERSION: "0.2"})
    labels = {**declared_label(now.ollama[0], now), LABEL_SECTION: "", LABEL_VERSION: "0.2"}
    said = changes(old, Desired("main", ContainerSpec("nuc-main", "server"), "new", labels, image_id="sha256:1"))
    assert said == "ctx of its models 2048 → 4096, parallel of its models 3 → 2"


def test_so_it_does_of_one_that_an_older_homellm_made() -> None:
    given = {"OLLAMA_CONTEXT_LENGTH": fingerprint("2048"), "OLLAMA_NUM_PARALLEL": fingerprint("3")}
    env = (EnvVar("OLLAMA_CONTEXT_LENGTH", "4096"), EnvVar("OLLAMA_NUM_PARALLEL", "3"))
    old = container(labels={LABEL_VERSION: "0.2"}, variables=given)
    spec = ContainerSpec("nuc-main", "server", env=env)
    assert changes(old, Desired("main", spec, "new", {}, image_id="sha256:1")) == "ctx of its models changed"
