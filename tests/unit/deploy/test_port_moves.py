"""Ports that pass from one model of a stack to another: by order where there is one, else with a way out."""

from dataclasses import replace

import pytest

from homellm.deploy.preview import plan
from homellm.domain.steps import StartContainer
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from tests.unit.deploy.lab import NAME, Lab, bad, model
from tests.unit.deploy.ollama_lab import OllamaLab, hybrid


def trio(a, b, c=8083, **more):
    """Three models on these ports."""
    return tuple(model(name=name, port=port, **more) for name, port in (("a", a), ("b", b), ("c", c)))


def states(report):
    return {one.name: one.state for one in report.models}


def problems(report):
    return {one.name: [(p.id, p.hint) for p in one.problems] for one in report.models if one.problems}


ALL_WELL = dict.fromkeys("abc", State.VERIFIED)


@pytest.mark.parametrize(
    "ports",
    [(8082, 8092, 8083), (8082, 8083, 8093), (8083, 8081, 8093)],
    ids=["a after b", "a after b after c", "b after a after c"],
)
def test_who_leaves_a_port_goes_before_who_is_to_have_it(ports):
    lab = Lab()
    lab.up(*trio(8081, 8082))
    planned = plan(lab.stack(*trio(*ports)), (), lab.ports(), lab.options)
    assert planned.problems == ()
    report = lab.up(*trio(*ports))
    assert (states(report), report.exit_code) == (ALL_WELL, ExitCode.OK)
    held = {port: lab.state.by_name(f"nuc-{name}").running for name, port in zip("abc", ports, strict=True)}
    assert held == dict.fromkeys(ports, True)
    assert all(not one.changed for one in lab.up(*trio(*ports)).models)


def test_the_plan_shows_them_in_that_order():
    lab = Lab()
    lab.up(*trio(8081, 8082))
    steps = plan(lab.stack(*trio(8082, 8083, 8093)), (), lab.ports(), lab.options).steps
    assert [step.model for step in steps if isinstance(step, StartContainer)] == ["c", "b", "a"]


def test_one_that_stays_where_it_is_because_it_failed_keeps_its_port_and_the_other_says_so():
    lab = Lab(behave=bad)
    lab.up(*trio(8081, 8082))
    report = lab.up(model(name="a", port=8082), model(name="b", port=8092, parallel=3), model(name="c", port=8083))
    assert states(report) == {"a": State.FAILED, "b": State.FAILED, "c": State.VERIFIED}
    assert problems(report)["a"] == [("port-taken", "b is declared on another port now and moves first: homellm up b")]
    assert {lab.state.by_name(f"nuc-{name}").status for name in "abc"} == {"running"}


def test_an_up_of_one_alone_says_who_has_to_move_first():
    lab = Lab()
    lab.up(*trio(8081, 8082))
    changed = trio(8082, 8092)
    assert problems(lab.up(*changed, only=("a",))) == {
        "a": [("port-taken", "b is declared on another port now and moves first: homellm up b")]
    }
    assert lab.up(*changed, only=("b",)).exit_code is ExitCode.OK
    assert lab.up(*changed, only=("a",)).exit_code is ExitCode.OK


def test_a_model_that_is_to_have_the_port_of_an_ollama_server_comes_after_it():
    lab, asked = OllamaLab(), hybrid(parallel=1, fallback="none")
    lab.up(asked)
    lab.server = replace(lab.server, port=11444)
    assert lab.up(asked, model(port=11434)).exit_code is ExitCode.OK


def test_a_model_that_was_renamed_is_told_how_its_orphan_leaves_the_port():
    lab = Lab()
    lab.up()
    report = lab.up(model(name="new"))
    ((fault, hint),) = problems(report)["new"]
    assert fault == "port-taken"
    assert hint == (
        "Its model is not in the stack file any more: homellm up --remove-orphans removes it first. "
        "Or give new another port."
    )
    assert lab.state.by_name(NAME).running


class TestServers:
    """A server of Ollama and models that pass ports to each other; the hybrid stays on the server."""

    ON_OLLAMA = hybrid(parallel=1, fallback="none", port=None)

    def lab(self, *models, port=11434):
        lab = OllamaLab()
        lab.server = replace(lab.server, port=port)
        assert lab.up(self.ON_OLLAMA, *models).exit_code is ExitCode.OK
        return lab

    def published(self, lab, name):
        return {at for bindings in lab.state.by_name(name).ports.values() for _, at in bindings}

    def test_a_server_takes_the_port_that_a_model_leaves(self):
        lab = self.lab(model(name="x", port=8081))
        lab.server = replace(lab.server, port=8081)
        changed = (self.ON_OLLAMA, model(name="x", port=8091))
        planned = plan(lab.stack(*changed), (), lab.ports(), lab.options)
        assert planned.problems == ()
        assert [s.target for s in planned.steps if isinstance(s, StartContainer)] == ["nuc-x.next", "nuc-main.next"]
        report = lab.up(*changed)
        assert (states(report), report.exit_code) == (dict.fromkeys(("hybrid", "x"), State.VERIFIED), ExitCode.OK)
        assert (self.published(lab, "nuc-main"), self.published(lab, "nuc-x")) == ({8081}, {8091})
        assert all(not one.changed for one in lab.up(*changed).models)

    def test_a_chain_from_model_to_server_to_model(self):
        lab = self.lab(model(name="x", port=8081), model(name="y", port=8082))
        lab.server = replace(lab.server, port=8081)
        changed = (self.ON_OLLAMA, model(name="x", port=8091), model(name="y", port=11434))
        assert lab.up(*changed).exit_code is ExitCode.OK
        assert [self.published(lab, f"nuc-{name}") for name in ("x", "main", "y")] == [{8091}, {8081}, {11434}]

    @pytest.mark.parametrize("stopped", ["x", "main"])
    def test_a_server_and_a_model_that_swap_are_told_the_way_out_and_it_works(self, stopped):
        lab = self.lab(model(name="x", port=8081))
        lab.server = replace(lab.server, port=8081)
        swapped = (self.ON_OLLAMA, model(name="x", port=11434))
        told = problems(lab.up(*swapped))
        assert told["x"] == [
            (
                "port-taken",
                "x and main wait for each other's port, so neither can move first. Stop one of them, then both move: "
                "docker stop nuc-main && homellm up",
            )
        ]
        assert told["hybrid"][0][1].endswith("docker stop nuc-x && homellm up")
        assert lab.state.by_name("nuc-main").running
        assert lab.state.by_name("nuc-x").running
        lab.engine.kill(f"nuc-{stopped}", "SIGKILL")
        lab.engine.wait(f"nuc-{stopped}", 10)
        report = lab.up(*swapped)
        assert (states(report), report.exit_code) == (dict.fromkeys(("hybrid", "x"), State.VERIFIED), ExitCode.OK)
        assert (self.published(lab, "nuc-main"), self.published(lab, "nuc-x")) == ({8081}, {11434})

    def test_an_up_of_the_server_alone_says_who_has_to_move_first(self):
        lab = self.lab(model(name="x", port=8081))
        lab.server = replace(lab.server, port=8081)
        changed = (self.ON_OLLAMA, model(name="x", port=8091))
        told = problems(lab.up(*changed, only=("hybrid",)))
        assert told["hybrid"][0] == (
            "port-taken",
            "x is declared on another port now and moves first: homellm up x",
        )
        assert lab.up(*changed, only=("x",)).exit_code is ExitCode.OK
        assert lab.up(*changed, only=("hybrid",)).exit_code is ExitCode.OK
