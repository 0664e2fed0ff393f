"""`plan` of models that Ollama is to serve: it shows what `up` then does, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.preview import plan
from homellm.domain.stack import Source
from homellm.domain.steps import PullImage, PullModel, RemoveContainer, VerifyModel
from homellm.domain.verdicts import State
from tests.fakes.ollama import stored
from tests.unit.deploy.lab import IMAGE, PORT
from tests.unit.deploy.ollama_lab import MOVED, SERVER, declared, hybrid, lab_on

ASK = "Ollama loads it and its slots are counted; with fewer than 3 it moves to llama-server"


@pytest.fixture(params=["llama-server", "bundled"])
def lab(request):
    """A machine on which the hybrid has moved."""
    lab = lab_on(request.param)
    assert lab.up(declared(request.param)).models[0].fallback.rung == request.param
    return lab


def planned(lab, *models, options=None):
    calls, loads = list(lab.ollamas.calls), list(lab.loads())
    report = plan(lab.stack(*models), (), lab.ports(), options or lab.options)
    assert lab.made() == []
    assert (lab.ollamas.calls, lab.loads()) == (calls, loads)
    assert report.problems == ()
    return report


def test_what_has_moved_and_is_as_declared_needs_nothing(lab):
    assert planned(lab, hybrid()).steps == ()


def test_another_context_asks_ollama_and_up_does(lab):
    report = planned(lab, hybrid(ctx=256))
    *_, step = report.steps  # its context is that of the server as well, which is made anew first
    assert isinstance(step, VerifyModel)
    assert (step.target, report.changes) == (SERVER, True)
    assert step.cause == f"asked again, for 256 tokens a slot instead of 512: {ASK}"
    loads = len(lab.loads())
    assert lab.up(hybrid(ctx=256)).models[0].state is State.VERIFIED
    assert len(lab.loads()) > loads
    assert planned(lab, hybrid(ctx=256)).steps == ()


def test_a_model_that_is_made_with_a_context_of_its_own_says_so(lab):
    """Of the server's context another model decides, so that this one is derived."""
    others = (
        hybrid(name="plain", source=replace(hybrid().source, ref="plain"), port=None),
        hybrid(name="p2", port=None),
    )
    lab.up(hybrid(), *others)
    (step,) = planned(lab, hybrid(ctx=256), *others).steps
    assert step.cause.startswith(
        "hybrid:latest is made in Ollama (256 tokens a slot, and hybrid:latest alone would get 512"
    )
    assert step.cause.endswith(ASK)


def test_another_port_of_ollama_asks_nothing_of_what_has_moved(lab):
    lab.server = replace(lab.server, port=11500)
    report = planned(lab, hybrid())
    assert {step.model for step in report.steps} == {"main"}
    loads = len(lab.loads())
    assert lab.up(hybrid()).models[0].fallback.rung != "ollama"
    assert len(lab.loads()) == loads


def test_another_image_of_ollama_may_be_another_version(lab):
    lab.server = replace(lab.server, image="example/ollama:newer")
    *_, step = planned(lab, hybrid()).steps
    assert step.cause == f"{SERVER} gets another image: {ASK}"


def test_one_that_is_made_of_a_file_says_that_it_is_made_again():
    lab = lab_on("llama-server")
    lab.files.contents["/models/smol.gguf"] = b"weights"
    file = Source("gguf", "", Path("/models/smol.gguf"))
    others = (
        hybrid(name="plain", source=replace(hybrid().source, ref="plain"), port=None),
        hybrid(name="p2", port=None),
    )
    made = hybrid(name="smol", source=file, port=None)
    lab.up(made, *others)
    *_, step = planned(lab, replace(made, ctx=256), *others).steps
    assert step.model == "smol"
    assert step.cause.startswith(
        "smol:latest is made in Ollama (what Ollama has as smol:latest is not gguf:/models/smol.gguf"
    )


@pytest.mark.parametrize("change", ["version", "digest"])
def test_a_new_ollama_and_a_new_model_ask_again(lab, change):
    if change == "version":
        lab.ollamas.version = "0.34.0"
    else:
        lab.ollamas.models = (stored("hybrid", "c", "lfm2"), *lab.ollamas.models[1:])
    (step,) = planned(lab, hybrid()).steps
    told = {"version": "Ollama 0.34.0 instead of 0.33.0", "digest": "another model under that name"}[change]
    assert step.cause == f"asked again, for {told}: {ASK}"


def test_retry_ollama_is_seen(lab):
    (step,) = planned(lab, hybrid(), options=replace(lab.options, retry_ollama=True)).steps
    assert step.cause == f"asked again by --retry-ollama: {ASK}"


def test_fallback_none_takes_the_moved_server_away_and_up_does(lab):
    model = hybrid(fallback="none")
    trial, step = planned(lab, model).steps
    assert isinstance(trial, VerifyModel)
    assert trial.cause == "Ollama loads it and its slots are counted"
    assert isinstance(step, RemoveContainer)
    assert (step.target, step.cause) == (MOVED, "fallback: none keeps it on Ollama")
    lab.up(model)
    assert MOVED not in lab.state.names()
    assert planned(lab, model).steps == ()


def test_another_port_makes_the_moved_server_anew(lab):
    kinds = [step.title for step in planned(lab, hybrid(port=PORT + 1)).steps]
    assert f"create {MOVED}.next" in kinds
    assert lab.up(hybrid(port=PORT + 1)).models[0].state is State.VERIFIED
    assert planned(lab, hybrid(port=PORT + 1)).steps == ()


def test_an_image_that_a_move_may_need_is_told():
    lab = lab_on("llama-server")
    (*_, step) = planned(lab, hybrid(image="example/other:tag")).steps
    assert step.cause.endswith(f"{ASK}, whose image example/other:tag is pulled then")
    (*_, step) = planned(lab, hybrid(image=IMAGE)).steps
    assert step.cause.endswith(ASK)
    assert not [one for one in planned(lab, hybrid(image="example/other:tag")).steps if isinstance(one, PullImage)]


def test_a_model_that_ollama_has_not_is_pulled():
    lab = lab_on("llama-server")
    (*_, step) = planned(lab, hybrid()).steps
    assert step.cause.startswith("ollama:hybrid is brought if its store lacks it, then Ollama loads it")
    lab.up(hybrid())
    lab.ollamas.models = lab.ollamas.models[1:]
    (pull, step) = planned(lab, hybrid()).steps
    assert isinstance(pull, PullModel)
    assert (pull.target, pull.cause) == ("ollama:hybrid", f"it is not in the store of {SERVER}")
    assert isinstance(step, VerifyModel)


def test_the_summary_says_what_becomes_of_a_model(lab):
    def action(model):
        (found,) = (one.action for one in planned(lab, model).summaries if one.name == "hybrid")
        return found

    changes = ({}, {"ctx": 256}, {"fallback": "none"}, {"port": PORT + 1})
    assert [action(hybrid(**change)) for change in changes] == ["keep", "load", "move back", "replace"]


def test_a_server_that_follows_from_its_models_names_what_they_ask_for(lab):
    (of_server, _) = planned(lab, hybrid(ctx=256)).summaries
    assert (of_server.name, of_server.action, of_server.because) == ("main", "replace", "ctx of its models 512 → 256")


def test_a_move_that_fallback_none_kept_off_is_no_first_start():
    """Ollama serves it, with fewer slots than asked."""
    lab = lab_on("llama-server")
    assert lab.up(hybrid(fallback="none")).models[0].state is State.DEGRADED
    (_, summary) = planned(lab, hybrid()).summaries
    assert summary.because == "Ollama does not serve it as declared, so it moves to llama-server"
    assert lab.up(hybrid()).models[0].fallback.rung == "llama-server"


def test_a_model_that_may_not_be_pulled_is_a_problem_as_it_is_for_up():
    lab = lab_on("llama-server")
    lab.up(hybrid(), hybrid(name="plain", source=Source("ollama", "plain"), port=None))
    lab.ollamas.models = lab.ollamas.models[1:]
    stack = lab.stack(hybrid(pull="never"), hybrid(name="plain", source=Source("ollama", "plain"), port=None))
    report = plan(stack, (), lab.ports(), lab.options)
    assert [(problem.id, problem.model) for problem in report.problems] == [("model-absent", "hybrid")]
    assert report.problems[0].hint == "Set pull: missing: then homellm up brings it."
    assert not [step for step in report.steps if isinstance(step, PullModel)]
