"""Each setting in the words of each build: the flag, or the reason why this build cannot."""

import pytest

from homellm.domain.dialect import Dialect, FlagHelp
from homellm.domain.settings import SETTINGS
from homellm.domain.spec import Arg
from homellm.domain.stack import KvCacheType
from homellm.runners.spelling import evidence_verbosity
from tests.unit.runners.build import argv, built, dialect, model, places, value_of

NEW, MIDDLE, OLD = "b11669", "b10434", "early-2025"


@pytest.mark.parametrize(
    ("build", "words"),
    [(NEW, ["--load-mode", "mlock"]), (MIDDLE, ["--load-mode", "mlock"]), (OLD, ["--mlock"])],
)
def test_mlock_is_what_the_build_calls_it_and_brings_the_capability(build, words):
    made = built(model(mlock=True), build)
    assert made.spec.cap_add == ("IPC_LOCK",)
    text = " ".join(made.spec.argv)
    assert " ".join(words) in text
    assert ("--mlock" in made.spec.argv) == (words == ["--mlock"])


def test_without_mlock_there_is_no_capability_and_no_load_mode():
    made = built(model())
    assert made.spec.cap_add == ()
    assert "--load-mode" not in made.spec.argv


@pytest.mark.parametrize(
    ("build", "value", "words"),
    [
        (NEW, "on", ["--flash-attn", "on"]),
        (NEW, "auto", ["--flash-attn", "auto"]),
        (NEW, "off", ["--flash-attn", "off"]),
        (OLD, "on", ["--flash-attn"]),
        (OLD, "off", []),
        (OLD, "auto", []),
    ],
)
def test_flash_attention(build, value, words):
    said = argv(model(flash_attention=value), build)
    start = said.index("--flash-attn") if "--flash-attn" in said else len(said)
    assert said[start : start + max(len(words), 1)] == words or said[start:] == words


@pytest.mark.parametrize(
    ("build", "value", "said"),
    [
        (NEW, "all", "all"),
        (OLD, "all", "999"),
        (NEW, "auto", "auto"),
        (NEW, 20, "20"),
        (NEW, 0, "0"),
        (OLD, 20, "20"),
        (NEW, None, None),
    ],
)
def test_gpu_layers(build, value, said):
    assert value_of(argv(model(gpu_layers=value), build), "--gpu-layers") == said


def test_auto_layers_on_a_build_without_the_word_and_without_a_fit_are_refused():
    """Left out, that build would keep every layer on the CPU."""
    made = built(model(gpu_layers="auto", places=places("gpu_layers")), OLD)
    assert made.spec is None
    assert [problem.id for problem in made.problems] == ["setting-unsupported"]


@pytest.mark.parametrize(
    ("build", "value", "words"),
    [
        (NEW, True, ["--jinja"]),
        (NEW, False, ["--no-jinja"]),
        (OLD, True, ["--jinja"]),
        (OLD, False, []),  # off by its own default, and no word to say so
        (NEW, None, []),
    ],
)
def test_jinja(build, value, words):
    assert [word for word in argv(model(jinja=value), build) if "jinja" in word] == words


def test_switches_of_the_cache():
    said = argv(model(kv_unified=True, swa_full=True, cache_reuse=256, kv_cache_type=KvCacheType("q8_0", "q4_0")))
    assert "--kv-unified" in said
    assert "--swa-full" in said
    assert value_of(said, "--cache-reuse") == "256"
    assert value_of(said, "--cache-type-k") == "q8_0"
    assert value_of(said, "--cache-type-v") == "q4_0"
    assert "--no-kv-unified" in argv(model(kv_unified=False))
    assert not [word for word in argv(model(kv_unified=False), OLD) if "unified" in word]


def test_a_setting_that_the_build_lacks_is_refused_with_place_build_and_image():
    wanted = model(reasoning_preserve=True, sleep_idle_s=900, places=places("", "reasoning_preserve", "sleep_idle"))
    made = built(wanted, OLD)
    assert made.spec is None
    first, second = made.problems
    assert (first.id, first.line, first.file) == ("setting-unsupported", 2, "/home/me/homellm.yaml")
    assert "example/llama:tag (4567 (6171c9d2))" in first.message
    assert "`reasoning_preserve`" in first.message
    assert "another image" in first.hint
    assert first.excerpt.endswith("^")
    assert (second.line, second.model) == (3, "smol")
    assert built(wanted, NEW).problems == ()


def test_a_value_that_the_help_does_not_list_is_refused():
    made = built(model(kv_cache_type=KvCacheType("q8_0", "q3_k")))
    assert [problem.id for problem in made.problems] == ["setting-unsupported"]
    assert "q5_1" in made.problems[0].message


def test_a_false_that_the_build_does_not_know_needs_no_word():
    assert argv(model(reasoning_preserve=False), OLD) == argv(model(), OLD)
    assert "--no-reasoning-preserve" in argv(model(reasoning_preserve=False), NEW)


LEVELS_THAT_END_IN_DEBUG_AT_4 = "Values: - 0: generic output - 1: error - 2: warning - 3: info - 4: debug (default: 3)"


@pytest.mark.parametrize(
    ("known", "level"),
    [
        (dialect(NEW), Arg("--log-verbosity", "4")),
        (dialect(MIDDLE), Arg("--log-verbosity", "4")),
        (dialect(OLD), None),
        (
            Dialect({"--verbosity": FlagHelp(("--verbosity",), (), "N", LEVELS_THAT_END_IN_DEBUG_AT_4)}),
            Arg("--verbosity", "3"),
        ),
        (Dialect(), None),
    ],
)
def test_the_highest_level_that_is_not_debug(known, level):
    found = evidence_verbosity(known)
    assert (found and found.words) == (level and level.words)


def test_every_flag_of_the_settings_table_is_known_to_a_real_build():
    """A spelling that no known help has would never be used, and nobody would notice."""
    known = set(dialect(NEW).flags) | set(dialect(MIDDLE).flags) | set(dialect(OLD).flags)
    spelled = {form.flag for row in SETTINGS for form in row.forms}
    assert spelled <= known
    owned = {flag for row in SETTINGS for flag in row.owned}
    assert owned <= known
