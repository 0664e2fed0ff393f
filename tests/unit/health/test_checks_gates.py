"""The gates that every server has to pass, by each witness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import Chat, LogSummary

from . import logs
from .cases import CONTAINER, MODEL, PROPS, SEEN, check, says


class TestReady:
    def test_health_is_the_first_witness(self) -> None:
        verdict = check("ready")
        assert (verdict.verdict, verdict.observed, verdict.source, verdict.gate) == ("pass", True, "/health", True)

    def test_health_that_says_no_beats_a_log_that_says_yes(self) -> None:
        seen = replace(SEEN, healthy=False, log=LogSummary(ready=True))
        assert check("ready", evidence=seen).verdict == "fail"

    def test_without_health_the_log_tells(self) -> None:
        verdict = check("ready", evidence=replace(SEEN, healthy=None, log=LogSummary(ready=True)))
        assert (verdict.verdict, verdict.source) == ("pass", "log")

    def test_a_log_that_does_not_say_ready_is_no_proof_that_it_is_not(self) -> None:
        assert check("ready", evidence=replace(SEEN, healthy=None)).verdict == "unknown"

    def test_a_container_that_does_not_run_is_not_ready_whatever_its_log_says(self) -> None:
        gone = replace(CONTAINER, status="restarting")
        seen = replace(SEEN, container=gone, healthy=None, log=LogSummary(ready=True))
        assert (check("ready", evidence=seen).verdict, check("ready", evidence=seen).source) == ("fail", "inspect")

    def test_a_server_that_sleeps_is_ready(self) -> None:
        seen = replace(SEEN, props=replace(PROPS, sleeping=True))
        assert (check("ready", evidence=seen).verdict, check("ready", evidence=seen).text) == (
            "pass",
            "asleep, wakes on request",
        )


class TestSlots:
    def test_props_come_before_the_log(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, log=LogSummary(slots=1)))
        assert (verdict.asked, verdict.observed, verdict.verdict, verdict.source) == (3, 3, "pass", "/props")

    def test_without_props_the_log_tells(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=None, log=LogSummary(slots=3)))
        assert (verdict.verdict, verdict.source) == ("pass", "log")

    @pytest.mark.parametrize("observed", [1, 2, 4])
    def test_fewer_and_more_fail_alike(self, observed: int) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=replace(PROPS, total_slots=observed)))
        assert (verdict.verdict, verdict.observed, verdict.gate) == ("fail", observed, True)

    def test_unseen_is_unknown(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=None))
        assert (verdict.verdict, verdict.observed) == ("unknown", None)


class TestCtx:
    @pytest.mark.parametrize(
        ("asked", "observed", "verdict"), [(1000, 1024, "pass"), (2048, 2048, "pass"), (57675, 2048, "fail")]
    )
    def test_padding_rounds_up_and_less_fails(self, asked: int, observed: int, verdict: str) -> None:
        found = check("ctx", replace(MODEL, ctx=asked), replace(SEEN, props=replace(PROPS, n_ctx=observed)))
        assert (found.asked, found.observed, found.verdict) == (asked, observed, verdict)

    def test_a_pool_is_shared_by_all_slots(self) -> None:
        """g-kvu: -c 6144 --parallel 3 --kv-unified tells n_ctx_slot = 6144."""
        log = logs.read(logs.data("g-kvu"))
        seen = replace(SEEN, props=replace(PROPS, n_ctx=6144), log=log)
        assert (check("ctx", evidence=seen).observed, check("ctx", evidence=seen).verdict) == (2048, "pass")
        assert check("ctx", replace(MODEL, ctx=4096), seen).verdict == "fail"

    def test_a_server_without_a_number_of_slots_gives_each_a_quarter(self) -> None:
        log = logs.read(logs.data("b-auto-lv4"))  # 4 slots, one pool of 8192
        seen = replace(SEEN, props=replace(PROPS, total_slots=4, n_ctx=8192), log=log)
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), seen).observed == 2048

    def test_a_pool_beyond_the_trained_length_is_as_large_as_its_cells(self) -> None:
        log = LogSummary(kv_unified=True, slots=4, ctx_per_slot=8192, pool_tokens=32768)
        seen = replace(SEEN, props=replace(PROPS, total_slots=4, n_ctx=8192), log=log)
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), seen).verdict == "pass"
        capped = replace(seen, log=says("ctx-capped", kv_unified=True, slots=4))
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), capped).verdict == "pass"

    def test_where_the_log_is_lost_the_declaration_says_that_it_is_a_pool(self) -> None:
        seen = replace(SEEN, props=replace(PROPS, n_ctx=6144))
        assert check("ctx", replace(MODEL, kv_unified=True), seen).observed == 2048

    def test_unseen_is_unknown(self) -> None:
        assert check("ctx", evidence=replace(SEEN, props=None)).verdict == "unknown"


class TestApi:
    def test_the_alias_the_file_and_a_token(self) -> None:
        verdict = check("api")
        assert (verdict.asked, verdict.observed, verdict.verdict, verdict.source, verdict.gate) == (
            "smol",
            "smol",
            "pass",
            "API",
            True,
        )

    def test_one_alias_of_several(self) -> None:
        assert check("api", evidence=replace(SEEN, props=replace(PROPS, model_alias="other,smol"))).verdict == "pass"

    def test_another_server_behind_the_port(self) -> None:
        verdict = check("api", evidence=replace(SEEN, props=replace(PROPS, model_alias="smol2")))
        assert (verdict.verdict, verdict.observed) == ("fail", "smol2")

    def test_another_file_under_the_same_name(self) -> None:
        verdict = check("api", evidence=replace(SEEN, props=replace(PROPS, model_path="/other.gguf")))
        assert verdict.verdict == "fail"
        assert "/other.gguf" in verdict.text
        assert (
            check("api", evidence=replace(SEEN, props=replace(PROPS, model_path="/other.gguf")), path="").verdict
            == "pass"
        )

    @pytest.mark.parametrize(
        "chat", [Chat(200, "smol", 0), Chat(200, "smol", None), Chat(500, error="Context size"), Chat(0)]
    )
    def test_no_token_fails(self, chat: Chat) -> None:
        assert check("api", evidence=replace(SEEN, chat=chat)).verdict == "fail"

    @pytest.mark.parametrize("lost", [{"reachable": False}, {"props": None}, {"chat": None}])
    def test_what_could_not_be_asked_is_unknown(self, lost: dict[str, object]) -> None:
        assert check("api", evidence=replace(SEEN, **lost)).verdict == "unknown"  # type: ignore[arg-type]

    def test_a_lost_network_is_named(self) -> None:
        labelled = replace(CONTAINER, labels={"homellm.stack": "nuc"}, addresses={"homellm-nuc": "172.18.0.2"})
        lost = replace(SEEN, reachable=False, props=None, chat=None)
        assert "homellm-nuc" not in check("api", evidence=replace(lost, container=labelled)).hint
        verdict = check("api", evidence=replace(lost, container=replace(labelled, addresses={})))
        assert verdict.verdict == "unknown"
        assert verdict.hint == (
            "nuc-smol is not in the network homellm-nuc any more, by which it is reached: somebody disconnected it or "
            "removed the network. Make it anew: homellm up --force-recreate"
        )


def test_a_dead_port_of_a_successor_is_told_by_the_name_that_it_gets() -> None:
    container = replace(CONTAINER, name="nuc-smol.next")
    seen = replace(SEEN, container=container, url="http://172.18.0.2:8080", dead_port="127.0.0.1:18080")
    verdict = check("api", evidence=seen)
    assert (verdict.verdict, verdict.gate) == ("fail", True)
    assert verdict.text == "answers inside Docker at 172.18.0.2:8080, and not at 127.0.0.1:18080"
    assert "docker restart nuc-smol. " in verdict.hint
