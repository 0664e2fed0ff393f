"""CPUs, groups, ports and restarts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.domain.evidence import Evidence
from homellm.domain.secret import Secret
from homellm.health.checks.host import cpu_list, cpu_set

from .cases import CONTAINER, IRIS, MODEL, PROCESS, SEEN, check


def published(address: str) -> Evidence:
    return replace(SEEN, container=replace(CONTAINER, ports=((address, 18080, 8080),)))


def _keyed(*addresses: str) -> Evidence:
    ports = tuple((address, 18080, 8080) for address in addresses)
    return replace(SEEN, container=replace(CONTAINER, ports=ports, has_key=True))


class TestHost:
    @pytest.mark.parametrize(
        ("declared", "effective", "verdict"),
        [("0-3", "0-3", "pass"), ("0,1,2,3", "0-3", "pass"), ("0-2", "0-3", "fail")],
    )
    def test_cpus_are_those_of_the_process(self, declared: str, effective: str, verdict: str) -> None:
        seen = replace(SEEN, process=replace(PROCESS, cpus=effective))
        found = check("cpus", replace(MODEL, cpuset=declared), seen)
        assert (found.verdict, found.observed, found.source) == (verdict, effective, "process 4711")

    def test_cpus_without_a_process_are_unknown(self) -> None:
        assert check("cpus", replace(MODEL, cpuset="0"), replace(SEEN, process=None)).verdict == "unknown"

    @pytest.mark.parametrize(("text", "cpus"), [("0-3,8", {0, 1, 2, 3, 8}), ("2", {2}), ("", set()), ("0,1,1", {0, 1})])
    def test_a_list_of_cpus_is_a_set(self, text: str, cpus: set[int]) -> None:
        assert cpu_set(text) == cpus
        assert cpu_set(cpu_list(frozenset(cpus))) == cpus

    def test_the_shortest_list_of_cpus(self) -> None:
        assert cpu_list(frozenset({8, 0, 2, 1, 4, 5})) == "0-2,4-5,8"

    @pytest.mark.parametrize(
        ("address", "key", "verdict"),
        [
            ("127.0.0.1", False, "pass"),
            ("::1", False, "pass"),
            ("127.0.0.2", False, "pass"),
            ("192.168.1.5", False, "fail"),
            ("172.17.0.1", False, "fail"),
            ("100.64.0.7", False, "fail"),
            ("fd00::2", False, "fail"),
            ("192.168.1.5", True, "pass"),
            ("0.0.0.0", False, "fail"),
            ("", False, "fail"),
            ("::", False, "fail"),
            ("203.0.114.7", False, "fail"),
            ("0.0.0.0", True, "pass"),
        ],
    )
    def test_a_public_port_wants_a_key(self, address: str, key: bool, verdict: str) -> None:
        model = replace(MODEL, port=18080, bind=address, api_key=Secret("s3cret") if key else None)
        seen = replace(SEEN, container=replace(CONTAINER, ports=((address, 18080, 8080),), has_key=key))
        found = check("exposure", model, seen)
        assert (found.verdict, found.gate) == (verdict, False)
        assert "s3cret" not in f"{found.text}{found.hint}{found.observed}"

    @pytest.mark.parametrize(
        ("address", "where"), [("0.0.0.0", "this machine"), ("::", "this machine"), ("192.168.1.5", "192.168.1.5")]
    )
    def test_who_reaches_it_is_told(self, address: str, where: str) -> None:
        found = check("exposure", replace(MODEL, bind=address), published(address))
        assert found.hint.startswith(f"Everybody who reaches {where} can use the model. Set api_key, or bind:")

    def test_a_model_that_moved_from_ollama_can_have_no_key_as_it_is_declared(self) -> None:
        found = check("exposure", replace(MODEL, bind="10.0.0.2", runner="ollama"), published("10.0.0.2"))
        assert "or runner: llama-server and api_key" in found.hint

    def test_on_a_bridge_of_dockers_there_are_its_own_containers_alone(self) -> None:
        model, seen = replace(MODEL, bind="172.17.0.1"), published("172.17.0.1")
        found = check("exposure", model, replace(seen, bridges=frozenset({"172.17.0.1"})))
        assert (found.verdict, found.observed) == ("pass", "172.17.0.1")
        assert check("exposure", model, replace(seen, bridges=frozenset({"172.18.0.1"}))).verdict == "fail"
        assert check("exposure", model, seen).verdict == "fail"  # an engine elsewhere: whose it is is not known

    @pytest.mark.parametrize(("bind", "address"), [("0.0.0.0", "::"), ("::", "0.0.0.0"), ("::", "")])
    def test_every_address_of_one_family_is_not_that_of_the_other(self, bind: str, address: str) -> None:
        keyed = replace(MODEL, bind=bind, api_key=Secret("k"))
        assert check("exposure", keyed, _keyed(address)).verdict == "fail"
        assert check("exposure", keyed, _keyed(bind)).verdict == "pass"
        assert check("exposure", keyed, _keyed("0.0.0.0", "::")).verdict == "pass"  # an engine may add the other one

    def test_what_is_published_counts_and_not_what_is_declared(self) -> None:
        seen = replace(SEEN, container=replace(CONTAINER, ports=(("0.0.0.0", 18080, 8080),)))
        assert check("exposure", replace(MODEL, port=18080, bind="127.0.0.1"), seen).verdict == "fail"

    @pytest.mark.parametrize(
        ("declared", "has_key", "text"), [(True, False, "0.0.0.0, without a key"), (False, True, "0.0.0.0, with a key")]
    )
    def test_the_key_is_that_of_the_container(self, declared: bool, has_key: bool, text: str) -> None:
        model = replace(MODEL, bind="0.0.0.0", api_key=Secret("s3cret") if declared else None)
        seen = replace(SEEN, container=replace(CONTAINER, ports=(("0.0.0.0", 18080, 8080),), has_key=has_key))
        found = check("exposure", model, seen)
        assert (found.verdict, found.observed, found.text) == ("fail", "0.0.0.0", text)
        assert "homellm up applies it" in found.hint

    def test_another_address_than_the_declared_one_is_not_as_declared(self) -> None:
        found = check("exposure", replace(MODEL, bind="127.0.0.2"))
        assert (found.verdict, found.asked, found.observed) == ("fail", "127.0.0.2", "127.0.0.1")
        assert check("exposure", replace(MODEL, bind="[::1]"), published("::1")).verdict == "pass"
        assert check(
            "exposure", replace(MODEL, bind="0.0.0.0", api_key=Secret("k")), published("127.0.0.1")
        ).verdict == ("fail")

    def test_what_is_published_and_not_declared_any_more_has_its_rows(self) -> None:
        gone = replace(MODEL, port=None)
        port, exposure = check("port", gone, published("0.0.0.0")), check("exposure", gone, published("0.0.0.0"))
        assert (port.verdict, port.asked, port.observed) == ("fail", None, 18080)
        assert (exposure.verdict, exposure.asked, exposure.observed) == ("fail", None, "0.0.0.0")

    def test_the_port_is_the_published_one(self) -> None:
        assert check("port").verdict == "pass"
        moved = check("port", replace(MODEL, port=24402))
        assert (moved.verdict, moved.asked, moved.observed, moved.gate) == ("fail", 24402, 18080, False)
        none = check("port", evidence=replace(SEEN, container=replace(CONTAINER, ports=())))
        assert (none.verdict, none.observed, none.text) == ("fail", None, "none is published")

    @pytest.mark.parametrize(
        ("joined", "verdict", "observed"),
        [(("homellm-nuc", "web", "db"), "pass", "db, web"), (("homellm-nuc", "web"), "fail", "web"), ((), "fail", "")],
    )
    def test_networks_that_are_declared_are_joined(self, joined: tuple[str, ...], verdict: str, observed: str) -> None:
        seen = replace(SEEN, container=replace(CONTAINER, addresses=dict.fromkeys(joined, "172.17.0.9")))
        found = check("networks", replace(MODEL, networks=("web", "db")), seen)
        assert (found.asked, found.verdict, found.observed, found.gate) == ("db, web", verdict, observed, False)
        assert found.hint == ("" if verdict == "pass" else f"Join it: docker network connect db {CONTAINER.name}")

    @pytest.mark.parametrize(
        ("count", "status", "verdict"), [(0, "running", "pass"), (2, "running", "fail"), (0, "restarting", "fail")]
    )
    def test_restarts(self, count: int, status: str, verdict: str) -> None:
        seen = replace(SEEN, container=replace(CONTAINER, restart_count=count, status=status))
        assert check("restarts", evidence=seen).verdict == verdict

    def test_the_process_is_in_the_group_of_the_render_node(self) -> None:
        model, seen = replace(MODEL, gpu="iris"), replace(SEEN, gpu=IRIS)
        assert (check("groups", model, seen).asked, check("groups", model, seen).verdict) == (993, "pass")
        without = replace(seen, process=replace(PROCESS, groups=(0, 44)))
        assert (check("groups", model, without).observed, check("groups", model, without).verdict) == ("0, 44", "fail")


def test_a_cpuset_that_docker_update_changed_is_set_right_by_a_new_container() -> None:
    seen = replace(SEEN, process=replace(PROCESS, cpus="0"))
    verdict = check("cpus", replace(MODEL, cpuset="0-3"), seen)
    assert (verdict.verdict, verdict.observed) == ("fail", "0")
    assert "docker update" in verdict.hint
    assert "homellm up --force-recreate" in verdict.hint
