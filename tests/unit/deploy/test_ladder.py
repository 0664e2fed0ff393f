"""The climb of one model on a fake engine: rungs, what is remembered, what is asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.ollama_models import Named
from homellm.deploy.ollama_record import ServerRecord
from homellm.deploy.ollama_successor import successor
from homellm.deploy.session import Options
from homellm.domain.names import LABEL_OUTCOMES
from homellm.domain.ollama import ShownModel
from homellm.domain.stack import Gpu, OllamaServer, Source
from homellm.domain.verdicts import State
from homellm.planning.ladder_record import read_outcomes
from tests.fakes.ollama import DIED, stored
from tests.unit.deploy.lab import IMAGE, PORT
from tests.unit.deploy.ollama_lab import (
    MODELS,
    MOVED,
    OLLAMA,
    SERVER,
    OllamaLab,
    declared,
    hybrid,
    lab_on,
    refusing,
)

RETRY = Options(engine_return_s=0.0, retry_ollama=True)


def only(report):
    (model,) = report.models
    return model


@pytest.mark.parametrize(("rung", "tries"), [("llama-server", 1), ("bundled", 2), ("source", 3), ("ollama", 3)])
def test_each_rung(rung, tries):
    lab = lab_on(rung)
    report = only(lab.up(declared(rung)))
    assert report.fallback.rung == rung
    assert report.state is (State.DEGRADED if rung == "ollama" else State.VERIFIED)
    assert lab.made().count(f"{MOVED}.next") == tries
    kept = {SERVER: "running"} | ({} if rung == "ollama" else {MOVED: "running"})
    assert lab.state.names() == kept
    # Nobody can tell here whether two copies fit: Ollama's makes room, and comes back where the model stays.
    loads = ["hybrid:latest"] * (2 if rung == "ollama" else 1)
    assert lab.loads() == loads

    again = only(lab.up(declared(rung)))
    assert (again.fallback, again.state, again.slots) == (report.fallback, report.state, report.slots)
    assert lab.made() == []
    assert lab.loads() == loads


def test_what_ollama_gives_stays_there():
    lab = OllamaLab()
    lab.behave = lab.state.behave = refusing()
    report = only(lab.up(hybrid(name="plain", source=Source("ollama", "plain"))))
    assert (report.state, report.runner, report.slots, report.fallback) == (State.VERIFIED, "ollama", 3, None)
    assert lab.state.names() == {SERVER: "running"}


def test_a_restart_of_all_asks_nothing_again():
    lab = lab_on("bundled")
    lab.up(declared("bundled"))
    lab.state.daemon_restart()
    assert only(lab.up(declared("bundled"))).fallback.rung == "bundled"
    assert lab.loads() == ["hybrid:latest"]


@pytest.mark.parametrize("change", ["version", "digest", "slots", "ctx", "retry"])
def test_what_asks_again_asks_once(change):
    lab, model, options = lab_on("llama-server"), hybrid(), None
    lab.up(model)
    if change == "version":
        lab.ollamas.version = "0.34.0"
    elif change == "digest":
        lab.ollamas.models = (stored("hybrid", "c", "lfm2"), MODELS[1])
    elif change == "slots":
        model = hybrid(parallel=2)
    elif change == "ctx":
        model = hybrid(ctx=1024)
    else:
        options = RETRY
    for given in (options, None, None):
        report = only(lab.up(model, options=given))
        assert (report.state, report.fallback.rung, report.slots) == (State.VERIFIED, "llama-server", model.parallel)
    assert len(lab.loads()) == 2


def test_an_up_that_asked_ollama_again_did_something():
    """Whatever came of it: "nothing to do" is told of a run that did nothing."""
    lab = lab_on("llama-server")
    told = [only(lab.up(hybrid(), options=options)).changed for options in (None, None, RETRY, None)]
    assert told == [True, False, True, False]


def test_the_slots_are_given_one_day():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    lab.ollamas.version, lab.ollamas.refused = "0.35.0", frozenset()
    report = only(lab.up(hybrid()))
    assert (report.state, report.runner, report.fallback) == (State.VERIFIED, "ollama", None)
    assert lab.state.names() == {SERVER: "running"}


def test_a_trial_that_failed_is_not_remembered():
    lab = lab_on("llama-server")
    lab.ollamas.dies = True
    for _ in range(2):
        report = only(lab.up(hybrid()))
        assert (report.state, report.fallback) == (State.FAILED, None)
        (problem,) = report.problems
        # The log's line says what Ollama answered, word by word: it is not told twice, and its meaning is the log's.
        assert problem.message == f"hybrid:latest could not be loaded: {DIED}"
        assert (problem.id, "Something killed the runner" in problem.hint) == ("out-of-memory", True)
    lab.ollamas.dies = False
    assert only(lab.up(hybrid())).state is State.VERIFIED


def test_a_new_version_that_cannot_load_leaves_what_serves():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    lab.ollamas.version, lab.ollamas.dies = "0.34.0", True
    report = only(lab.up(hybrid()))
    assert (report.state, report.container) == (State.FAILED, MOVED)
    assert lab.state.names() == {SERVER: "running", MOVED: "running"}


def test_a_port_that_is_taken_is_tried_again_when_it_is_free():
    lab = lab_on("llama-server")
    lab.state.listeners.add(("127.0.0.1", PORT))
    report = only(lab.up(hybrid()))
    assert (report.state, report.fallback.rung) == (State.DEGRADED, "ollama")
    assert lab.state.names() == {SERVER: "running"}
    lab.state.listeners.clear()
    assert only(lab.up(hybrid())).fallback.rung == "llama-server"


def test_another_image_is_another_trial():
    lab = lab_on("ollama")
    newer = lab.state.add_image("example/llama:newer")
    assert only(lab.up(hybrid())).fallback.rung == "ollama"
    lab.state.behave = refusing("bundled")
    assert only(lab.up(hybrid())).fallback.rung == "ollama"
    assert lab.made() == []
    assert only(lab.up(hybrid(image=newer.tags[0]))).fallback.rung == "llama-server"


def test_a_changed_declaration_that_the_rung_cannot_take_goes_on_to_the_next():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    lab.state.behave = refusing("llama-server")
    report = only(lab.up(hybrid(batch=256)))
    assert (report.state, report.fallback.rung) == (State.VERIFIED, "bundled")
    assert lab.state.by_name(MOVED).body["Image"] == OLLAMA


def test_none_brings_it_back_and_predict_asks_nothing():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    report = only(lab.up(hybrid(fallback="none")))
    assert (report.state, report.runner) == (State.DEGRADED, "ollama")
    assert lab.state.names() == {SERVER: "running"}
    fresh = lab_on("llama-server")
    for _ in range(2):
        moved = only(fresh.up(hybrid(fallback="predict")))
        assert (moved.state, moved.fallback.rung) == (State.VERIFIED, "llama-server")
    assert fresh.loads() == []
    assert "it was not asked" in moved.fallback.reason
    # Without `predict` nobody takes a prediction for a trial.
    fresh.up(hybrid())
    assert fresh.loads() == ["hybrid:latest"]


def test_a_swapped_server_hands_its_record_on():
    lab = lab_on("ollama")
    lab.up(hybrid())
    lab.server = replace(lab.server, keep_alive=300)
    report = only(lab.up(hybrid()))
    assert report.state is State.DEGRADED
    assert [name for name in lab.made() if name.startswith(MOVED)] == []


def test_a_shadow_is_let_go():
    lab = lab_on("llama-server")
    lab.up(hybrid())
    api = lab.ollamas.api("http://127.0.0.1:11434")
    api.take("hybrid")
    assert only(lab.up(hybrid())).state is State.VERIFIED
    assert api.loaded() == ()
    assert lab.state.by_name(MOVED).body["Image"] == IMAGE


def test_a_copy_that_takes_its_time_to_leave_is_no_shadow():
    lab = lab_on("llama-server")
    lab.ollamas.lingers = 2
    report = only(lab.up(hybrid()))
    assert report.state is State.VERIFIED
    assert {check.id: check.observed for check in report.checks}["shadow-load"] is False


def test_a_model_of_somebody_elses_server_is_not_altered_under_its_own_name():
    """Another context would be a num_ctx in the model that others use too; under a name of its own it is made."""
    lab = OllamaLab()
    lab.up(hybrid(fallback="none"))
    lab.server = OllamaServer("main", url="http://127.0.0.1:11434", store=lab.server.store)
    lab.ollamas.models = (replace(MODELS[0], params={"num_ctx": 512}), MODELS[1])
    loads = lab.loads().copy()
    (report,) = lab.up(hybrid(ctx=1024)).models
    assert report.problems[0].id == "name-in-store"
    assert "another name" in report.problems[0].hint
    assert lab.loads() == loads


def test_the_folder_of_a_store_is_seen_to_before_the_server_is_made():
    lab = OllamaLab()
    lab.up()
    assert lab.ollamas.folders == [Path("/srv/ollama")]


def test_a_download_that_fits_nowhere_is_given_up_at_once():
    """164 GiB asked of a machine with 13 GiB: four hours of download for nothing."""
    lab = OllamaLab()
    lab.ollamas.models = ()
    lab.ollamas.registry = (replace(MODELS[0], total_bytes=164 << 30),)
    lab.host.host = replace(lab.host.host, memory_bytes=13 << 30, available_bytes=12 << 30)
    (report,) = lab.up().models
    assert report.problems[0].id == "does-not-fit"
    assert "176.1 GB" in report.problems[0].message
    assert lab.ollamas.models == ()
    lab.up(options=Options(engine_return_s=0.0, fit=False))
    assert lab.ollamas.models == lab.ollamas.registry


COMPUTE = (
    'time=2026-11-30T10:13:35.100Z level=INFO source=types.go:32 msg="inference compute" id=GPU-5a3f1c2e filter_id=""'
    ' library=CUDA compute=8.6 name=CUDA0 description="NVIDIA GeForce RTX 3070" libdirs=ollama,cuda_v13 driver=13.0'
    ' pci_id=0000:01:00.0 type=discrete total="8.0 GiB" available="7.6 GiB"\n'
)


def test_the_gpu_libraries_that_ollama_found_are_remembered_with_the_trial():
    """Loads are remembered for one run of the server alone, and a restart must not make another container."""
    lab = lab_on("bundled")
    usual = lab.state.behave

    def with_gpu(image, args, env):
        found = usual(image, args, env)
        return replace(found, lines=(*found.lines, (0.0, COMPUTE))) if args == ("serve",) else found

    lab.state.behave = with_gpu
    lab.up(declared("bundled"))
    label = lab.state.by_name(MOVED).labels[LABEL_OUTCOMES]
    outcomes = read_outcomes(label)
    assert [one.gpu_libraries for one in outcomes if one.rung == "ollama"] == ["cuda_v13"]

    stack = replace(lab.stack(declared("bundled")), gpus=(Gpu("card", "cuda", auto=True),))
    named = Named("hybrid", MODELS[0], ShownModel(), ServerRecord())
    carried = successor(hybrid(gpu="card"), named, "bundled", stack, outcomes)
    assert carried.model.program.env["GGML_BACKEND_PATH"] == "/usr/lib/ollama/cuda_v13/libggml-cuda.so"
