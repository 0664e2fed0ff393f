"""`${}` as Compose replaces it: the expected values were printed by `docker compose config` (Compose 5.6)."""

import pytest

from homellm.domain.secret import Secret
from homellm.loading.interpolate import holds_literal, interpolate
from tests.unit.loading.given import complaint, model_with, stack_with

ENVIRON = {"SET": "val", "EMPTY": "", "N": "3"}

COMPOSE = [
    ("$SET", "val"),
    ("${SET}", "val"),
    ("x${SET}y$N", "xvaly3"),
    ("$SET$SET", "valval"),
    ("$SET-x", "val-x"),
    ("$SETÉ", "valÉ"),
    ("${UNSET:-d}", "d"),
    ("${EMPTY:-d}", "d"),
    ("${SET:-d}", "val"),
    ("${EMPTY-d}", ""),
    ("${UNSET-d}", "d"),
    ("${UNSET:-}", ""),
    ("${UNSET-}", ""),
    ("${SET:+alt}", "alt"),
    ("${EMPTY:+alt}", ""),
    ("${EMPTY+alt}", "alt"),
    ("${UNSET+alt}", ""),
    ("${UNSET:+${NOPE:?bad}}", ""),
    ("${SET:+${N}}", "3"),
    ("${SET:?oops}", "val"),
    ("${EMPTY?oops}", ""),
    ("${SET?${NOPE}}", "val"),
    ("${UNSET:-${SET}}", "val"),
    ("${UNSET:-${UNSET2:-deep}}", "deep"),
    ("${UNSET:-a$SET}", "aval"),
    ("${SET:-$UNSET}", "val"),
    ("${SET:-${}}", "val"),
    ("${UNSET:-a:-b}", "a:-b"),
    ('${UNSET:-{"a":1}}', '{"a":1}'),
    ("${UNSET:-a{b}", "a{b"),
    ("${UNSET:-}}", "}"),
    ("${UNSET:-a}b}", "ab}"),
    ("${UNSET:-${SET}{}}", "val{}"),
    ("x{${SET}}", "x{val}"),
    ("{${SET}", "{val"),
    ("$$SET", "$SET"),
    ("$$$SET", "$val"),
    ("$${SET}", "${SET}"),
    ("${UNSET:-$${SET}}", "${SET}"),
    ("${UNSET:-$}", "$"),
    ("a$", "a$"),
    ("$1", "$1"),
    ("$-", "$-"),
    ("$É", "$É"),
    ("no dollar", "no dollar"),
]


@pytest.mark.parametrize(("text", "expected"), COMPOSE)
def test_what_compose_makes_of_it(text: str, expected: str) -> None:
    assert interpolate(text, ENVIRON) == expected


REFUSED = [
    ("${", "variable-syntax", "has a `${` without its `}`", "`$$` for a plain dollar"),
    ("${SET", "variable-syntax", "has a `${` without its `}`", ""),
    ("${}", "variable-syntax", "does not understand", "${NAME:-default}"),
    ("${ SET }", "variable-syntax", "does not understand", ""),
    ("${SET SET}", "variable-syntax", "does not understand", ""),
    ("${1A}", "variable-syntax", "does not understand", ""),
    ("${SET:x}", "variable-syntax", "does not understand", ""),
    ("${SET=x}", "variable-syntax", "does not understand", ""),
    ("${É-x}", "variable-syntax", "does not understand", ""),
    ("${UNSET:-${}}", "variable-syntax", "does not understand", ""),
    ("${UNSET:?oops}", "variable-unset", "needs the variable `UNSET`, which is not set: oops", "export UNSET="),
    ("${UNSET:?}", "variable-unset", "needs the variable `UNSET`, which is not set", ""),
    ("${EMPTY:?oops}", "variable-unset", "`EMPTY`", ""),
    ("${UNSET?oops}", "variable-unset", "which is not set: oops", ""),
    ("${UNSET:?need ${SET}}", "variable-unset", "which is not set: need val", ""),
    # Here Compose warns and goes on with an empty text.
    ("$UNSET", "variable-unset", "needs the variable `UNSET`, which is not set", "`${UNSET:-…}`"),
    ("${UNSET}", "variable-unset", "needs the variable `UNSET`", ""),
    ("${set}", "variable-unset", "needs the variable `set`", ""),
    ("${A:-" * 30 + "}" * 30, "variable-syntax", "defaults inside defaults", ""),
]


@pytest.mark.parametrize(("text", "id", "message", "hint"), REFUSED)
def test_what_is_refused_is_told_at_the_value(text: str, id: str, message: str, hint: str) -> None:
    problem = complaint(stack_with(f"container_name: ‸'{text}'"), ENVIRON)
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint


def test_types_are_read_after_replacing() -> None:
    model = model_with(
        "parallel: ${SLOTS}\nctx: '${CTX:-2048}'\nmlock: ${LOCK:-on}\nmemory: ${SLOTS}g\nport: 1143${SLOTS}\n"
        "extra_args: [--seed, '${SLOTS}']\nenv: ['A=${SLOTS}', 'B=$$SLOTS']"
    )
    assert (model.parallel, model.ctx, model.mlock) == (3, 2048, True)
    assert (model.memory_bytes, model.port) == (3 * 1024**3, 11433)
    assert model.extra_args == ("--seed", "3")
    assert model.env == {"A": "3", "B": "$SLOTS"}


def test_keys_and_free_keys_are_left_alone() -> None:
    model = model_with("x-note: ${NOPE\nenv: {$A: 1}", top="x-top: $NOPE\n")
    assert model.env == {"$A": "1"}


def test_what_a_variable_brings_is_no_yaml_and_is_not_replaced_again() -> None:
    assert interpolate("$A", {"A": "${B} [x] # y"}) == "${B} [x] # y"


def test_the_wrong_value_of_a_variable_is_told_at_its_use() -> None:
    problem = complaint(stack_with("parallel: ‸${WHO}"), {"WHO": "three"})
    assert "`parallel` in model `smol` is `three`, which is no whole number" in problem.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$KEY", False),
        ("${KEY}", False),
        ("${KEY:?set it}", False),
        ("${KEY:-sk-1}", True),
        ("sk-$KEY", True),
        ("sk", True),
        ("$$KEY", True),
    ],
)
def test_a_literal_is_told_from_a_variable(text: str, expected: bool) -> None:
    assert holds_literal(text) is expected


def test_an_api_key_from_a_variable_is_a_secret() -> None:
    model = model_with("api_key: ${KEY}")
    assert isinstance(model.api_key, Secret)
    assert model.api_key.reveal() == "sk-from-outside"
    assert "sk-from" not in repr(model)
