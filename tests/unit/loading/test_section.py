"""The section of a model: its own part of the file, before `${}`, without secrets, and readable again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homellm.domain.secret import Secret
from homellm.loading.compose import compose
from homellm.loading.findings import Findings
from homellm.loading.nodes import Entry, Mapping, Mark, Scalar, Sequence
from homellm.loading.section import model_section
from tests.unit.loading.given import loaded, model_with


def test_a_section_is_the_models_own_part_without_comments_and_with_its_variables() -> None:
    model = model_with(
        "parallel: ${SLOTS}   # three\nx-note: free\nenv:\n  A: ${SLOTS:-2}\n  B: on\n"
        "extra_args: [--seed, '7']\nlog: {}",
        top="defaults: {ctx: 2048}\n",
    )
    assert model.section == (
        "smol:\n"
        "  source: gguf:smol.gguf\n"
        "  parallel: ${SLOTS}\n"
        "  env:\n"
        "    A: ${SLOTS:-2}\n"
        "    B: on\n"
        "  extra_args:\n"
        "  - --seed\n"
        "  - 7\n"
        "  log: {}\n"
    )


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ("api_key: hunter2", 'api_key: "<redacted>"'),
        ("api_key: ${KEY:-hunter2}", 'api_key: "<redacted>"'),
        ("api_key: ${KEY}", "api_key: ${KEY}"),
        ("env: {HF_TOKEN: hunter2}", 'HF_TOKEN: "<redacted>"'),
        ("env: {DB_PASSWORD: hunter2, A: b}", 'DB_PASSWORD: "<redacted>"'),
        ("env: {OPENAI_API_KEY: $KEY}", "OPENAI_API_KEY: $KEY"),
        ("env: [MY_SECRET=hunter2]", '- "MY_SECRET=<redacted>"'),
        ("env: ['MY_SECRET=${KEY}']", "MY_SECRET=${KEY}"),
        ("env: {TOKENIZERS_PARALLELISM: yes}", "TOKENIZERS_PARALLELISM: yes"),
    ],
)
def test_literal_secrets_are_redacted_and_variables_are_not(keys: str, kept: str) -> None:
    section = model_with(keys).section
    assert kept in section
    assert "hunter2" not in section


def test_a_secret_that_an_alias_brings_is_redacted() -> None:
    model = model_with("env: {<<: *env}\napi_key: *key", top="x-e: &env {A_TOKEN: hunter2}\nx-k: &key hunter2\n")
    assert model.env == {"A_TOKEN": Secret("hunter2")}
    assert "hunter2" not in model.section
    assert all("hunter2" not in place.excerpt for place in model.places.values())


def test_a_section_declares_the_same_model_again() -> None:
    top = "x-base: &base {ctx: 512, env: {A: '1', B: \"2: 3\"}}\n"
    keys = "<<: *base\nparallel: 3\nvolumes: ['./a b:/c']\nkv_cache_type: {k: q8_0, v: q8_0}\nport: null"
    model = model_with(keys, top=top)
    again = loaded("stack: home\nmodels:\n" + "".join(f"  {line}\n" for line in model.section.splitlines())).models[0]
    assert again == model


def _plain(node: Any) -> Any:
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return {entry.key: _plain(entry.value) for entry in node.entries}


TEXTS = st.text(max_size=30).filter(lambda text: text.isprintable() or text.isascii()) | st.sampled_from(
    [
        "",
        "~",
        "null",
        "- a",
        "a: b",
        "a #b",
        "---",
        "...",
        "'",
        '"',
        "\\",
        "\n",
        "a\n\nb",
        " a ",
        "\t",
        "%a",
        "@",
        "0x1",
        "?",
    ]
)
TREES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3)
)


def _node(tree: Any, mark: Mark = Mark(1, 1)) -> Any:  # noqa: B008
    if isinstance(tree, str):
        return Scalar(tree, plain=False, mark=mark)
    if isinstance(tree, list):
        return Sequence(tuple(_node(item) for item in tree), mark)
    return Mapping(tuple(Entry(key, mark, _node(value)) for key, value in tree.items()), mark)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["env", "labels", "y"]), TREES, min_size=1))
def test_any_text_reads_back_from_its_section(tree: dict[str, Any]) -> None:
    section = model_section(_node({"m": tree}), "m")
    findings = Findings()
    assert _plain(compose(section, findings)) == {"m": tree}
    assert not findings
