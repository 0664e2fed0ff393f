"""extra_args: as they are, and never one that the server would die of."""

import pytest

from homellm.domain.dialect import Dialect
from tests.unit.runners.build import argv, built, model, places


def ids(made):
    return [problem.id for problem in made.problems]


def test_they_end_the_argv_word_for_word():
    words = ("--temp", "0.6", "--no-warmup", "--control-vector-layer-range", "1", "9", "-n", "-1", "--seed", "-1")
    assert tuple(argv(model(extra_args=words))[-len(words) :]) == words


def test_a_value_that_looks_like_a_flag_is_a_value():
    assert ids(built(model(extra_args=("--reverse-prompt", "--stop")))) == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--cache-ram-size", "1"), "--cache-ram"),
        (("--temp=0.6",), "--temp 0.6"),
        (("stray",), "must follow a flag"),
        (("--draft-max", "3"), "--spec-draft-n-max"),  # its help says what to use in its place
    ],
)
def test_a_flag_that_the_build_does_not_take(words, hint):
    made = built(model(extra_args=words, places=places("extra_args")))
    assert ids(made) == ["flag-unknown"]
    assert hint in made.problems[0].hint
    assert made.problems[0].line == 1
    assert "example/llama:tag (0.7.0 (build 11669, commit Debian))" in made.problems[0].message


def test_every_wrong_flag_is_named_at_once():
    assert ids(built(model(extra_args=("--bogus", "1", "--temp", "1", "--false")))) == ["flag-unknown", "flag-unknown"]


def test_a_flag_without_its_value():
    made = built(model(extra_args=("--temp",)))
    assert ids(made) == ["flag-without-value"]


@pytest.mark.parametrize("word", ["-np", "--parallel", "--ctx_size", "--mlock", "-ngl", "--n-gpu-layers", "-lm"])
def test_what_a_key_owns_is_refused(word):
    made = built(model(extra_args=(word, "3")))
    assert "owned-by-key" in ids(made)
    assert made.problems[0].exit_code == 2


def test_underscores_are_read_as_the_server_reads_them():
    assert ids(built(model(extra_args=("--top_k", "40")))) == []


def test_what_a_build_calls_deprecated_is_passed_with_a_note():
    made = built(model(extra_args=("--defrag-thold", "0.1")))
    assert made.spec is not None
    assert [note for note in made.notes if "--defrag-thold" in note]


@pytest.mark.parametrize("known", [None, Dialect(assumed=True)])
def test_nobody_is_accused_by_an_assumed_dialect(known):
    made = built(model(extra_args=("--brand-new", "1")), known)
    assert made.spec is not None
    assert made.spec.argv[-2:] == ("--brand-new", "1")
    assert any("--brand-new" in note for note in made.notes)
    assert any("assumed" in note for note in made.notes)


@pytest.mark.parametrize(
    ("changes", "ours"),
    [
        ({"extra_args": ("-lv", "5")}, "--log-verbosity"),
        ({"extra_args": ("-v",)}, "--log-verbosity"),
        ({"env": {"LLAMA_ARG_LOG_VERBOSITY": "2"}}, "--log-verbosity"),
        ({"extra_args": ("--metrics",)}, "--metrics"),
        ({"env": {"LLAMA_ARG_ENDPOINT_METRICS": "0"}}, "--metrics"),
    ],
)
def test_what_the_user_says_about_the_log_or_the_metrics_is_not_said_twice(changes, ours):
    assert argv(model())[:-1].count(ours) + (argv(model())[-1] == ours) == 1
    assert argv(model(**changes)).count(ours) == changes.get("extra_args", ()).count(ours)
