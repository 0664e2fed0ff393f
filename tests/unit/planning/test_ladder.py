"""The ladder over past outcomes: every state it can be in, and that it always comes to an end."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homellm.planning.ladder import FALLBACKS, Asked, End, Key, Outcome, Rung, next_rung
from homellm.planning.ladder_record import dump_outcomes, fallback_of, keep, read_outcomes

KEY = Key("0.33.0", "d" * 64, 3, 32768)
ASKED = Asked(KEY, family="lfm2")
#: Verbatim of a real 0.33.
LINE = (
    'level=WARN source=sched.go:509 msg="model architecture does not currently support parallel requests" '
    "architecture=lfm2"
)
REFUSED = Outcome("ollama", KEY, served=False, since="t0", slots=1, refused="lfm2", line=LINE)
WHY = "asked Ollama 0.33.0 for 3 slots, got 1: architecture lfm2 does not support parallel requests there"
# Not st.recursive: that reads the source of its argument, and warns of a file that was edited since it was imported.
RECORDS = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.lists(RECORDS)
        | st.dictionaries(st.sampled_from(["rung", "served", "key", "slots", "x"]), RECORDS)
    )
)


def failed(rung, problem="blob-incompatible", reason="wrong array length"):
    return Outcome(rung, KEY, served=False, problem=problem, reason=reason)


def served(rung):
    return Outcome(rung, KEY, served=True, since="t1", slots=3)


class TestTrial:
    def test_ollama_is_asked_first(self):
        step = next_rung(ASKED, ())
        assert step == Rung("ollama", "asked for 3 slots")

    def test_what_ollama_gives_is_taken(self):
        assert next_rung(ASKED, [served("ollama")]) == End("ollama", "verified")
        more = Outcome("ollama", KEY, served=True, slots=4)
        assert next_rung(ASKED, [more]) == End("ollama", "verified")

    def test_a_load_that_failed_is_no_refusal(self):
        end = next_rung(ASKED, [Outcome("ollama", KEY, served=False, problem="load-failed", reason="it died")])
        assert end == End(None, "failed", "it died", "homellm logs shows why.")

    def test_enough_slots_and_another_gate_that_failed_is_no_refusal(self):
        end = next_rung(ASKED, [Outcome("ollama", KEY, served=False, slots=3, reason="device: cpu")])
        assert isinstance(end, End)
        assert (end.rung, end.state, end.reason) == (None, "failed", "device: cpu")

    @pytest.mark.parametrize(
        "key",
        [replace(KEY, version="0.34.0"), replace(KEY, digest="e" * 64), replace(KEY, slots=2), replace(KEY, ctx=4096)],
    )
    def test_an_outcome_counts_for_its_own_key_alone(self, key):
        old = [replace(REFUSED, key=key), replace(served("llama-server"), key=key)]
        assert next_rung(ASKED, old) == Rung("ollama", "asked for 3 slots")


class TestRungs:
    def test_llama_server_comes_after_a_refusal(self):
        assert next_rung(ASKED, [REFUSED]) == Rung("llama-server", WHY)

    def test_it_serves_and_nothing_is_asked_again(self):
        assert next_rung(ASKED, [REFUSED, served("llama-server")]) == End("llama-server", "verified")

    def test_ollama_s_own_server_when_upstream_cannot_read_the_blob(self):
        step = next_rung(ASKED, [REFUSED, failed("llama-server")])
        assert isinstance(step, Rung)
        assert step.name == "bundled"

    def test_what_the_trial_foretold_is_not_tried(self):
        step = next_rung(ASKED, [replace(REFUSED, own_format=True)])
        assert isinstance(step, Rung)
        assert step.name == "bundled"
        assert step.skipped == (("llama-server", "the file is in Ollama's own format, which other builds refuse"),)

    def test_an_architecture_that_one_build_does_not_know_another_may(self):
        """cases: arch-unknown under llama-server goes on to Ollama's own server."""
        step = next_rung(ASKED, [REFUSED, failed("llama-server", "arch-unknown")])
        assert isinstance(step, Rung)
        assert step.name == "bundled"

    def test_a_declared_source_is_the_last(self):
        asked = replace(ASKED, has_source=True)
        step = next_rung(asked, [REFUSED, failed("llama-server"), failed("bundled")])
        assert isinstance(step, Rung)
        assert step.name == "source"
        assert next_rung(asked, [REFUSED, failed("llama-server"), failed("bundled"), served("source")]) == End(
            "source", "verified"
        )

    def test_without_one_it_stays_and_says_what_failed(self):
        end = next_rung(ASKED, [REFUSED, failed("llama-server"), failed("bundled", reason="died")])
        assert isinstance(end, End)
        assert (end.rung, end.state) == ("ollama", "degraded")
        assert end.reason == (
            "It stays on Ollama: llama-server: wrong array length; bundled: died; "
            "source: no fallback_source is declared."
        )
        assert "fallback_source" in end.hint

    def test_none_forbids_it(self):
        end = next_rung(replace(ASKED, policy="none"), [REFUSED])
        assert isinstance(end, End)
        assert (end.rung, end.state) == ("ollama", "degraded")
        assert "fallback: none" in end.reason

    @pytest.mark.parametrize(
        ("asked", "trial"),
        [(replace(ASKED, family="mllama"), REFUSED), (ASKED, replace(REFUSED, refused="mllama"))],
    )
    def test_what_no_build_loads_ends_at_once(self, asked, trial):
        end = next_rung(asked, [trial])
        assert isinstance(end, End)
        assert "no build of llama-server loads mllama" in end.reason

    def test_without_the_files_only_the_source_is_left(self):
        asked = replace(ASKED, has_files=False, no_files="it is a cloud model")
        end = next_rung(asked, [REFUSED])
        assert isinstance(end, End)
        assert "llama-server: it is a cloud model; bundled: it is a cloud model" in end.reason
        step = next_rung(replace(asked, has_source=True), [REFUSED])
        assert isinstance(step, Rung)
        assert step.name == "source"

    def test_an_image_that_is_not_ours_is_not_run(self):
        end = next_rung(replace(ASKED, has_bundled=False), [REFUSED, failed("llama-server")])
        assert isinstance(end, End)
        assert "bundled: the server is not homellm's" in end.reason

    @pytest.mark.parametrize(("version", "there"), [("0.24.0", False), ("0.30.0", True), ("0.0.0", True), ("x", True)])
    def test_an_old_image_has_no_server_to_run(self, version, there):
        key = replace(KEY, version=version)
        outcomes = [replace(REFUSED, key=key), replace(failed("llama-server"), key=key)]
        step = next_rung(replace(ASKED, key=key, has_source=True), outcomes)
        assert isinstance(step, Rung)
        assert step.name == ("bundled" if there else "source")

    def test_the_same_memory_is_not_tried_twice(self):
        """cases: child-killed-for-memory."""
        outcomes = [REFUSED, failed("llama-server", "out-of-memory", "killed")]
        end = next_rung(ASKED, outcomes)
        assert isinstance(end, End)
        assert "bundled: the same weights did not fit into memory: killed" in end.reason
        assert "Lower `ctx`" in end.hint
        step = next_rung(replace(ASKED, has_source=True), outcomes)
        assert isinstance(step, Rung)
        assert step.name == "source"

    @pytest.mark.parametrize(
        "problem", ["port-taken", "gpu-not-there", "nvidia-toolkit-missing", "disk-full", "stopped"]
    )
    def test_what_every_server_would_meet_ends_it(self, problem):
        end = next_rung(replace(ASKED, has_source=True), [REFUSED, failed("llama-server", problem, "held by nginx")])
        assert isinstance(end, End)
        assert "it would meet the same: held by nginx" in end.reason
        assert end.hint == "Put that right and run homellm up again."

    def test_an_image_that_cannot_be_had_goes_on_to_the_one_that_is_here(self):
        step = next_rung(ASKED, [REFUSED, failed("llama-server", "registry-unreachable")])
        assert isinstance(step, Rung)
        assert step.name == "bundled"

    def test_the_last_outcome_of_a_rung_counts(self):
        assert next_rung(ASKED, [REFUSED, failed("llama-server"), served("llama-server")]) == End(
            "llama-server", "verified"
        )
        assert next_rung(ASKED, [REFUSED, served("ollama")]) == End("ollama", "verified")


class TestWhatLasts:
    @pytest.mark.parametrize(
        ("problem", "lasts"),
        [
            ("arch-unknown", True),
            ("blob-incompatible", True),
            ("out-of-memory", True),
            ("gate-slots", True),
            ("port-taken", False),
            ("too-big", False),
            ("registry-unreachable", False),
            ("timeout", False),
            ("killed", False),
        ],
    )
    def test_a_failure_counts_later_where_it_cannot_pass(self, problem, lasts):
        assert failed("bundled", problem).lasts is lasts

    def test_what_served_and_what_was_counted_count_later(self):
        assert served("source").lasts
        assert REFUSED.lasts
        assert not Outcome("ollama", KEY, served=False, problem="load-failed").lasts

    def test_none_forbids_what_an_earlier_run_did(self):
        end = next_rung(replace(ASKED, policy="none"), [REFUSED, served("llama-server")])
        assert isinstance(end, End)
        assert (end.rung, end.state) == ("ollama", "degraded")


class TestReasons:
    def test_silence_is_not_called_a_refusal_of_an_architecture(self):
        trial = replace(REFUSED, refused=None, reason="OLLAMA_NUM_PARALLEL is not set there")
        step = next_rung(ASKED, [trial])
        assert step == Rung(
            "llama-server", "asked Ollama 0.33.0 for 3 slots, got 1: OLLAMA_NUM_PARALLEL is not set there"
        )

    def test_old_versions_refuse_every_projector(self):
        step = next_rung(ASKED, [replace(REFUSED, refused="multimodal")])
        assert isinstance(step, Rung)
        assert "models with a projector" in step.because


class TestPredict:
    ASKED = replace(ASKED, policy="predict")

    def test_a_family_on_the_list_is_not_tried(self):
        step = next_rung(self.ASKED, ())
        assert isinstance(step, Rung)
        assert step.name == "llama-server"
        assert step.because == "Ollama 0.33.0 is known to give lfm2 one slot; it was not asked"
        assert step.predicted is not None
        assert (step.predicted.rung, step.predicted.predicted, step.predicted.slots) == ("ollama", True, 1)

    def test_once_recorded_it_goes_on_like_a_refusal(self):
        step = next_rung(self.ASKED, ())
        assert isinstance(step, Rung)
        assert step.predicted is not None
        after = next_rung(self.ASKED, [step.predicted, failed("llama-server")])
        assert isinstance(after, Rung)
        assert after.name == "bundled"
        assert next_rung(self.ASKED, [step.predicted, served("llama-server")]) == End("llama-server", "verified")

    @pytest.mark.parametrize(
        ("family", "version"), [("llama", "0.33.0"), ("", "0.33.0"), ("lfm2", "0.12.6"), ("granitehybrid", "0.33.0")]
    )
    def test_any_other_is(self, family, version):
        asked = replace(self.ASKED, family=family, key=replace(KEY, version=version))
        assert next_rung(asked, ()) == Rung("ollama", "asked for 3 slots")

    def test_where_nothing_can_follow_it_says_so(self):
        end = next_rung(replace(self.ASKED, family="mllama"), ())
        assert isinstance(end, End)
        assert end.state == "degraded"


@pytest.mark.parametrize("results", list(product([True, False], repeat=4)))
@pytest.mark.parametrize("policy", ["llama-server", "none", "predict"])
@pytest.mark.parametrize("own_format", [True, False])
def test_nothing_loops_and_nothing_is_tried_twice(results, policy, own_format):
    """Whatever each rung does, the walk ends, within one trial of each."""
    asked = replace(ASKED, policy=policy, has_source=True)
    by_name = dict(zip(("ollama", *FALLBACKS), results, strict=True))
    outcomes: list[Outcome] = []
    tried: list[str] = []
    for _ in range(10):
        step = next_rung(asked, outcomes)
        if isinstance(step, End):
            break
        assert step.name not in tried
        tried.append(step.name)
        if step.predicted:
            outcomes.append(step.predicted)
        good = by_name[step.name]
        slots = (3 if good else 1) if step.name == "ollama" else None
        outcomes.append(
            Outcome(step.name, KEY, served=good, slots=slots, own_format=own_format, problem="" if good else "x")
        )
    else:
        pytest.fail("it does not end")
    assert isinstance(step, End)
    if step.rung in FALLBACKS:
        assert by_name[step.rung]


class TestRecord:
    ALL = (REFUSED, failed("llama-server"), served("bundled"))

    def test_it_reads_back(self):
        assert read_outcomes(dump_outcomes(self.ALL)) == self.ALL

    def test_it_is_small_and_one_line(self):
        text = dump_outcomes([replace(REFUSED, line="x" * 10_000)])
        assert len(text) < 1000
        assert "\n" not in text
        assert json.loads(dump_outcomes([served("bundled")])) == [
            {"rung": "bundled", "served": True, "key": ["0.33.0", "d" * 64, 3, 32768], "since": "t1", "slots": 3}
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "no json",
            "{}",
            "[1]",
            '[{"rung": "other", "served": true, "key": ["a", "b", 1, 2]}]',
            '[{"rung": "ollama", "served": 1, "key": ["a", "b", 1, 2]}]',
            '[{"rung": "ollama", "served": true, "key": ["a", "b", 1]}]',
            '[{"rung": "ollama", "served": true}]',
        ],
    )
    def test_what_is_no_outcome_is_left_out(self, text):
        assert read_outcomes(text) == ()

    @given(RECORDS)
    @settings(max_examples=100, deadline=None)
    def test_no_record_breaks_it(self, value):
        assert isinstance(read_outcomes(json.dumps(value)), tuple)

    def test_only_what_holds_for_the_same_key_is_kept(self):
        old = replace(REFUSED, key=replace(KEY, version="0.32.0"))
        assert keep([old, REFUSED, failed("llama-server")], served("llama-server")) == (REFUSED, served("llama-server"))


class TestReport:
    def test_of_a_model_that_moved(self):
        told = fallback_of(ASKED, (REFUSED, failed("llama-server"), served("bundled")))
        assert told is not None
        assert (told.from_runner, told.rung, told.since) == ("ollama", "bundled", "t1")
        assert (told.reason, told.line) == (WHY, LINE)

    def test_of_one_that_stays(self):
        told = fallback_of(ASKED, (REFUSED, failed("llama-server")))
        assert told is not None
        assert (told.rung, told.since) == ("ollama", "t0")

    @pytest.mark.parametrize("outcomes", [(), (served("ollama"),), (replace(REFUSED, key=replace(KEY, slots=9)),)])
    def test_of_one_that_was_not_refused(self, outcomes):
        assert fallback_of(ASKED, outcomes) is None
