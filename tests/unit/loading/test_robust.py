"""Nothing but StackFileError ever comes out, whatever goes in, and soon."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from homellm.errors import StackFileError
from homellm.loading import load
from homellm.loading.keys import ModelKeys
from tests.unit.loading.given import ENVIRON, FILE, problems_of


def load_or_complain(text: str) -> None:
    """Load; every problem must have a message and a place inside the text."""
    try:
        load(FILE, text, ENVIRON)
    except StackFileError as error:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for problem in error.problems:
            assert problem.message
            assert problem.excerpt
            assert problem.line is not None
            assert 1 <= problem.line <= len(lines)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
@example("\x00")
@example('"\\U00110000')
@example("? ")
@example("a: &a\n  <<: *a\n")
@example("\ud800")
def test_any_text(text: str) -> None:
    load_or_complain(text)


BLOCKS = [
    "stack: s\n",
    "models:\n",
    "  a:\n",
    "    source: gguf:a\n",
    "gpus:\n",
    "defaults:\n",
    "env: ",
    "log: ",
    "x-y: ",
]
FLOW = ["{", "}", "[", "]", ", ", ": ", "? ", "- ", "  ", "    ", "\n", "\t"]
NODES = ["&a ", "*a", "<<: ", "!!str ", "!", "|\n", ">-\n", "|", "'", '"', "#", "---\n", "...\n", "%YAML 1.2\n"]
WORDS = ["${A}", "${SLOTS}", "${", "$$", "on", "null", "~", "010", "1_0", "9:9"]
PIECES = st.sampled_from([*BLOCKS, *FLOW, *NODES, *WORDS, *(f"    {key}: " for key in ModelKeys.model_fields)])


@settings(max_examples=250, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_made_of_yaml(text: str) -> None:
    load_or_complain(text)


SCALARS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12) | st.sampled_from(
    ["0", "-1", "1e400", "a:b"]
)
VALUES = st.recursive(
    SCALARS.map(lambda text: "'" + text.replace("'", "''") + "'"),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(["k", "v", "driver", "a", "external"]), inner, max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        )
    ),
    max_leaves=5,
)


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(st.sampled_from(list(ModelKeys.model_fields)), VALUES, max_size=4), VALUES)
def test_any_value_of_any_key(keys: dict[str, str], gpu: str) -> None:
    lines = "".join(f"    {key}: {value}\n" for key, value in keys.items())
    load_or_complain(f"stack: s\ngpus: {{g: {gpu}}}\nmodels:\n  a:\n    x: 1\n{lines}")


def timed(text: str) -> set[str]:
    """The ids of the problems of a text, which must be found in no time: without care it would take years."""
    begin = time.perf_counter()
    ids = {problem.id for problem in problems_of(text)}
    assert time.perf_counter() - begin < 60
    return ids


def laughs(levels: int, width: int = 9) -> str:
    """Aliases of aliases: `width` to the power of `levels` words."""
    first = "x-0: &a0 [" + ", ".join(["lol"] * width) + "]\n"
    return first + "".join(f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]\n" for n in range(1, levels))


def test_a_billion_laughs_end_soon() -> None:
    assert timed(laughs(12) + "stack: s\nmodels: {a: {source: gguf:a, extra_args: *a11}}\n") == {"too-large"}


def test_a_billion_laughs_in_free_keys_cost_nothing() -> None:
    assert load(FILE, laughs(12) + "stack: s\nmodels: {a: {source: gguf:a}}\n", {}).name == "s"


def test_merges_of_merges_end_soon() -> None:
    first = "x-0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(200)) + "}\n"
    rest = "".join(f"x-{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 20)}]}}\n" for n in range(1, 60))
    assert timed(first + rest + "stack: s\nmodels: {a: {source: gguf:a}}\n") == {"too-large"}


@pytest.mark.parametrize(
    ("begin", "ids"),
    [("[", {"nesting"}), ("{a: ", {"nesting"}), ("- ", {"nesting"}), ("? ", {"nesting"}), ("!a ", {"yaml-syntax"})],
)
def test_deep_nesting_ends_soon(begin: str, ids: set[str]) -> None:
    assert timed(begin * 20_000) == ids


def test_nesting_by_aliases_ends_soon() -> None:
    text = "x-0: &a0 [[[[[[[[[[v]]]]]]]]]]\n" + "".join(f"x-{n}: &a{n} [[[[[*a{n - 1}]]]]]\n" for n in range(1, 400))
    assert timed(text + "stack: s\nmodels: {a: {source: gguf:a, extra_args: *a399}}\n") == {"too-large"}


def test_long_words_end_soon() -> None:
    long = "a" * 100_000
    key = "a" * 1000
    assert timed(f"stack: s\nmodels: {{a: {{source: gguf:a, image: {long}, {key}: 1}}}}\n") == {
        "wrong-value",
        "unknown-key",
    }
    assert timed(f"stack: s\nmodels: {{a: {{source: gguf:a, bind: {'9' * 200_000}}}}}\n") == {"wrong-value"}


def test_hundreds_of_models_take_no_time() -> None:
    models = "".join(f"  m{n}: {{source: gguf:a, port: {1000 + n}, ubatch: 9999}}\n" for n in range(300))
    assert timed(f"stack: s\nmodels:\n{models}") == {"contradiction"}
