"""What somebody changes on a container that runs (`docker update`) is noticed by all who look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.scope import Scope
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.lab import NAME, Lab, bad, model
from tests.unit.deploy.ollama_lab import MOVED, SERVER, OllamaLab, hybrid

GIB = 1024**3
LIMITS = [{"Memory": GIB}, {"CpusetCpus": "0"}, {"NanoCpus": 1_500_000_000}, {"CpuShares": 2}]


def update(lab, name=NAME, policy=None, **limits):
    """What `docker update` does."""
    container = lab.state.by_name(name)
    container.body = {**container.body, "HostConfig": {**container.body["HostConfig"], **limits}}
    container.policy = policy or container.policy


def listed(lab, *models):
    (report,) = ps(lab.stack(*models), lab.ports()).models
    return report


def checked(lab, *models):
    (report,) = check(lab.stack(*models), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    return report


def failed(report):
    return {verdict.id for verdict in report.checks if verdict.verdict == "fail"}


@pytest.fixture
def lab():
    lab = Lab()
    assert lab.up().models[0].state is State.VERIFIED
    return lab


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
def test_a_limit_that_nobody_declared(lab, limits):
    update(lab, **limits)
    for report in (listed(lab), checked(lab), lab.up().models[0]):
        assert (report.state, report.exit_code, failed(report)) == (State.DEGRADED, ExitCode.DEGRADED, {"limits"})
    assert listed(lab).notes == ()  # a table tells what failed, and the hint
    (verdict,) = listed(lab).checks
    assert "docker update" in verdict.hint
    assert "homellm up --force-recreate" in verdict.hint


def test_making_it_anew_takes_the_limit_off(lab):
    update(lab, Memory=GIB)
    options = lab.options.__class__(engine_return_s=0.0, force_recreate=True)
    assert lab.up(options=options).models[0].state is State.VERIFIED
    assert (listed(lab).state, failed(checked(lab))) == (State.VERIFIED, set())


def test_the_restart_policy_is_told_and_up_sets_it(lab):
    update(lab, policy="no")
    for report in (listed(lab), checked(lab)):
        assert (report.state, report.exit_code, failed(report)) == (
            State.DEGRADED,
            ExitCode.DEGRADED,
            {"restart-policy"},
        )
    assert lab.up().models[0].state is State.VERIFIED
    assert lab.state.by_name(NAME).policy == "unless-stopped"
    assert (listed(lab).state, failed(checked(lab))) == (State.VERIFIED, set())


def test_an_edited_restart_policy_is_told_until_it_is_set(lab):
    edited = model(restart="always")
    assert (listed(lab, edited).state, failed(listed(lab, edited))) == (State.DEGRADED, {"restart-policy"})
    assert failed(checked(lab, edited)) == {"restart-policy"}
    assert lab.up(edited).models[0].state is State.VERIFIED
    assert listed(lab, edited).state is State.VERIFIED


def test_an_edited_limit_is_told_as_an_edit_and_not_as_somebody_s_work(lab):
    report = listed(lab, model(memory_bytes=GIB))
    assert (report.state, report.edited, failed(report)) == (State.UNVERIFIED, True, set())


def test_a_swap_that_is_under_way_is_nobody_s_change(lab):
    with pytest.raises(Killed):
        lab.up(model(ctx=512), kill=Kill(1, "after", frozenset({"set_restart_policy"})))
    assert lab.state.by_name(NAME).policy == "no"
    assert failed(listed(lab)) == set()
    assert "restart-policy" not in failed(checked(lab))


def test_what_comes_back_after_a_failed_swap_is_proved_with_what_was_put_on_it(lab):
    update(lab, Memory=GIB)
    lab.state.behave = bad
    report = lab.up(model(parallel=3)).models[0]
    assert (report.state, report.notes) == (State.FAILED, ("The server that ran before serves again, verified.",))


def test_one_that_was_disconnected_from_its_network_publishes_nothing_any_more(lab):
    """What `docker network disconnect` does: the port goes with the network that published it."""
    container = lab.state.by_name(NAME)
    container.networks.clear()
    container.ports = {}
    shown, found = listed(lab), checked(lab)
    assert (shown.state, shown.exit_code, failed(shown)) == (State.DEGRADED, ExitCode.DEGRADED, {"port", "networks"})
    assert (found.exit_code, failed(found)) == (ExitCode.REFUSED, {"port", "networks"})


def test_one_that_was_connected_again_by_hand_has_lost_its_name_in_the_network(lab):
    """What `docker network disconnect` and `connect` leave: an address, and no name for other containers."""
    container = lab.state.by_name(NAME)
    (network,) = container.networks
    container.networks[network] = replace(container.networks[network], aliases=("86c6b2f408a7",))
    for report in (listed(lab), checked(lab), lab.up().models[0]):
        assert (report.state, failed(report)) == (State.DEGRADED, {"networks"})
    (verdict,) = listed(lab).checks
    assert verdict.text == f"{network}, in {network} without its name smol"
    assert "--force-recreate" in verdict.hint


def test_a_further_network_that_it_was_disconnected_from():
    lab, asked = Lab(), model(networks=("lan",))
    lab.state.networks["lan"] = lab.state.networks["bridge"]
    assert lab.up(asked).models[0].state is State.VERIFIED
    del lab.state.by_name(NAME).networks["lan"]
    for report in (listed(lab, asked), checked(lab, asked)):
        assert (report.state, failed(report)) == (State.DEGRADED, {"networks"})


class TestOnOllama:
    @pytest.fixture
    def served(self):
        lab = OllamaLab()
        assert lab.up(hybrid(parallel=1, fallback="none")).models[0].state is State.VERIFIED
        return lab

    @pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
    def test_a_limit_of_its_server(self, served, limits):
        asked = hybrid(parallel=1, fallback="none", memory_bytes=7, cpuset="0-1")  # those of its successor
        served.up(asked)
        update(served, SERVER, **limits)
        for report in (listed(served, asked), checked(served, asked), served.up(asked).models[0]):
            assert (report.state, failed(report)) == (State.DEGRADED, {"limits"})

    def test_the_restart_policy_of_its_server(self, served):
        asked = hybrid(parallel=1, fallback="none")
        update(served, SERVER, policy="always")
        for report in (listed(served, asked), checked(served, asked)):
            assert (report.state, failed(report)) == (State.DEGRADED, {"restart-policy"})
        assert served.up(asked).models[0].state is State.VERIFIED
        assert listed(served, asked).state is State.VERIFIED

    def test_its_server_was_disconnected_from_its_network(self, served):
        asked = hybrid(parallel=1, fallback="none")
        container = served.state.by_name(SERVER)
        container.networks.clear()
        container.ports = {}
        assert (listed(served, asked).state, failed(listed(served, asked))) == (
            State.DEGRADED,
            {"port", "networks"},
        )

    def test_of_one_that_has_moved_its_own_count(self):
        lab = OllamaLab()
        lab.up(hybrid())
        update(lab, MOVED, Memory=GIB)
        for report in (listed(lab, hybrid()), checked(lab, hybrid())):
            assert (report.state, failed(report)) == (State.DEGRADED, {"limits"})
