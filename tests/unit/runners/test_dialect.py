"""Real helps, read. What they must yield was listed by others: flags-*.txt, whose lines are cut after 60 characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.runners.dialect import (
    is_deprecated,
    is_removed,
    listed_values,
    nearest_flag,
    parse_dialect,
    says_default_off,
    value_words,
)
from homellm.runners.known_build import assumed_dialect
from tests.unit.runners.build import HELP, VERSIONS, dialect


def listed(name: str) -> list[tuple[str, str]]:
    """Names and variables of each flag, as the independent list has them."""
    lines = (HELP / f"flags-{name}.txt").read_text().splitlines()
    return [(names, env) for names, _, env in (line.rstrip().partition("  ") for line in lines)]


@pytest.mark.parametrize("name", ["b10434", "b11669"])
def test_every_flag_and_variable_of_a_real_help_is_found(name):
    entries = list(dict.fromkeys((flag.names, flag.env) for flag in dialect(name).flags.values()))
    expected = listed(name)
    assert len(entries) == len(expected)
    for (names, env), (known_names, known_env) in zip(entries, expected, strict=True):
        assert " ".join(names).startswith(known_names)
        assert not known_env or env == (known_env,)


def test_an_entry_of_several_lines_is_one_flag():
    flag = dialect("b11669").flags["--load-mode"]
    assert flag.names == ("-lm", "--load-mode")
    assert flag.env == ("LLAMA_ARG_LOAD_MODE",)
    assert flag.value == "MODE"
    assert flag.text.startswith("model loading mode (default: auto) - auto: mmap, unless")
    assert flag.text.endswith("- dio: use DirectIO if available")
    assert listed_values(flag) == {"auto", "none", "mmap", "mlock", "mmap+mlock", "dio"}


def test_a_description_may_begin_on_the_line_below_the_names():
    flag = dialect("b11669").flags["--reasoning-preserve"]
    assert flag.names == ("--reasoning-preserve", "--no-reasoning-preserve")
    assert flag.value is None
    assert flag.text.startswith("preserve reasoning trace")


@pytest.mark.parametrize(
    ("build", "flag", "value"),
    [
        ("b11669", "-a", "STRING"),
        ("b11669", "--flash-attn", "[on|off|auto]"),
        ("b11669", "--override-tensor", "<tensor name pattern>=<buffer type>,..."),
        ("b11669", "--hf-repo", "<user>/<model>[:quant]"),
        ("b11669", "--fit-target", "MiB0,MiB1,MiB2,..."),
        ("b11669", "--jinja", None),
        ("early-2025", "--flash-attn", None),
        ("early-2025", "--lora-scaled", "FNAME SCALE"),
    ],
)
def test_the_placeholder_tells_what_a_flag_takes(build, flag, value):
    assert dialect(build).flags[flag].value == value


def test_builds_differ_where_they_really_do():
    old, middle, new = dialect("early-2025"), dialect("b10434"), dialect("b11669")
    assert [build.has("--mlock") for build in (old, middle, new)] == [True, True, False]
    assert [build.has("--load-mode") for build in (old, middle, new)] == [False, True, True]
    assert [build.has("--reasoning-preserve") for build in (old, middle, new)] == [False, True, True]
    assert old.flags["--log-verbosity"].env == ("LLAMA_LOG_VERBOSITY",)
    assert new.flags["--log-verbosity"].env == ("LLAMA_ARG_LOG_VERBOSITY",)


def test_deprecated_is_known_and_removed_is_told_apart():
    middle = dialect("b10434").flags
    assert is_deprecated(middle["--mlock"])
    assert not is_removed(middle["--mlock"])
    assert is_deprecated(middle["--defrag-thold"])
    assert is_removed(middle["--draft-max"])
    assert not is_deprecated(middle["--reasoning-format"])  # its text names a value `deepseek-legacy`


@pytest.mark.parametrize(
    ("text", "version", "build"),
    [
        (VERSIONS["b11669"], "version: 0.7.0 (build 11669, commit Debian)", 11669),
        (VERSIONS["early-2025"], "version: 4567 (6171c9d2)", 4567),
        # Built from a tarball: the number means nothing.
        (VERSIONS["b10434"], "version: 0.1.0-dev (build 1, commit 7e4c0a9)", None),
        ("version: 0 (unknown)\n", "version: 0 (unknown)", None),
        ("version: unknown\n", "version: unknown", None),
        ("ggml_vulkan: No devices found.\nversion: 5000 (abc)\n", "version: 5000 (abc)", 5000),
        ("", "", None),
    ],
)
def test_version(text, version, build):
    read = parse_dialect(text, "")
    assert (read.version, read.build) == (version, build)


def test_lines_of_others_before_the_help_are_passed_over():
    noise = "ggml_vulkan: No devices found.\nload_backend: loaded CPU backend from /usr/lib/libggml-cpu-zen4.so\n"
    plain = dialect("b11669")
    assert parse_dialect("", noise + (HELP / "b11669.txt").read_text()).flags == plain.flags


def test_a_help_with_another_column_is_read_alike():
    narrow = (
        "-a, --alias STRING    the name\n                      (env: LLAMA_ARG_ALIAS)\n--jinja               use it\n"
    )
    read = parse_dialect("", narrow).flags
    assert (read["-a"].value, read["-a"].text, read["-a"].env) == ("STRING", "the name", ("LLAMA_ARG_ALIAS",))
    assert (read["--jinja"].value, read["--jinja"].text) == (None, "use it")


def test_what_is_no_help_has_no_flags():
    assert not parse_dialect("", "usage: nothing\n- a list\n-- \n----- common -----\n").flags


@given(st.text())
def test_any_text_is_read_without_an_error(text):
    parse_dialect(text, text)


def test_words_that_a_flag_takes():
    flags = dialect("b11669").flags
    assert value_words(flags["--jinja"]) == 0
    assert value_words(flags["--threads"]) == 1
    assert value_words(flags["--override-tensor"]) == 1
    assert value_words(flags["--control-vector-layer-range"]) == 2


def test_default_off_is_read_where_the_help_says_so():
    assert says_default_off(dialect("early-2025").flags["--jinja"])
    assert not says_default_off(dialect("b11669").flags["--jinja"])


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("--cache-reus", "--cache-reuse"),
        ("--gpu_layers", "--gpu-layers"),
        ("--no-such-flag-at-all", None),
        ("--no-such-flag", None),  # --no-escape is like it, and was not meant
        ("--draft-maxx", "--spec-draft-n-max"),  # and never --draft-max, which is gone
    ],
)
def test_nearest_flag(wrong, right):
    assert nearest_flag(wrong, dialect("b11669")) == right


def test_the_assumed_dialect_is_the_newest_known_build():
    assumed, real = assumed_dialect(), dialect("b11669")
    assert assumed.assumed
    assert assumed.build == real.build
    gone = {name for name, flag in real.flags.items() if is_removed(flag)}
    assert set(assumed.flags) == set(real.flags) - gone
    for name, flag in assumed.flags.items():
        assert (flag.value is None) == (real.flags[name].value is None), name
        assert listed_values(flag) <= listed_values(real.flags[name]) or name == "--spec-type", name
    for name in ("--load-mode", "--gpu-layers", "--cache-type-k", "--flash-attn", "--log-verbosity"):
        assert listed_values(assumed.flags[name]) == listed_values(real.flags[name])
