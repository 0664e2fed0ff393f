"""Models of a hub: found or brought before they are started, refused before hours of download."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from homellm.adapters.gguf_files import GgufFiles
from homellm.deploy.preview import plan
from homellm.deploy.pull import pull
from homellm.deploy.pull_models import locate
from homellm.deploy.scope import Scope
from homellm.domain.events import Note, Progress, StepStarted
from homellm.domain.hub import parse_ref
from homellm.domain.stack import Model, Source
from homellm.domain.steps import PullModel
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, Interrupted, PullFailed
from tests.engine.support.wait import wait_for
from tests.fakes.gguf_bytes import llama
from tests.fakes.hub import COMMIT
from tests.unit.deploy.lab import IMAGE, NAME, Lab, model

REPO, QUANT = "org/tiny-GGUF", "org/tiny-GGUF:Q8_0"
FILE = f"/cache/hub/{REPO}/{COMMIT}/tiny-Q8_0.gguf"
SIZE = 4 * 1024**3
OTHER_COMMIT = "b" * 40


@pytest.fixture
def lab() -> Lab:
    made = Lab()
    made.state.registry[IMAGE] = made.state.add_image(IMAGE)
    made.hub.repos[REPO] = {"tiny-Q8_0.gguf": SIZE, "tiny-Q4_K_M.gguf": 2 * 1024**3}
    return made


def of_hub(ref: str = QUANT, **changes) -> Model:
    return model(source=Source("hf", ref), **changes)


def brought(lab: Lab, ref: str = QUANT) -> None:
    lab.hub.bring(lab.hub.resolve(parse_ref(ref)))
    lab.hub.asked.clear()


def mounted(lab: Lab) -> str:
    """The folder that the serving container has for its weights."""
    container = lab.state.by_name(NAME)
    assert container is not None
    return container.body["HostConfig"]["Mounts"][0]["Source"]


def ids(report) -> list[str]:
    return [problem.id for one in report.models for problem in one.problems]


class TestUp:
    def test_from_nothing_to_verified(self, lab):
        report = lab.up(of_hub())
        assert report.models[0].state is State.VERIFIED
        assert lab.hub.pulled == [QUANT]
        assert mounted(lab) == FILE.rpartition("/")[0]

    def test_the_pull_is_a_step_with_its_size(self, lab):
        lab.up(of_hub())
        step = next(event.step for event in lab.events if isinstance(event, StepStarted))
        assert step == PullModel(
            target=f"hf:{QUANT}", model="smol", cause="the model is not here: 4.0 GiB", size_bytes=SIZE
        )
        news = [event for event in lab.events if isinstance(event, Progress) and event.done_bytes is not None]
        assert [(one.done_bytes, one.total_bytes, one.what) for one in news] == [
            (SIZE // 2, SIZE, f"hf:{QUANT}"),
            (SIZE, SIZE, f"hf:{QUANT}"),
        ]

    def test_one_that_is_here_is_asked_of_nobody(self, lab):
        brought(lab)
        lab.hub.away = True
        assert lab.up(of_hub()).models[0].state is State.VERIFIED
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_what_runs_is_not_touched_by_a_commit_that_nobody_asked_for(self, lab):
        lab.up(of_hub())
        lab.hub.commit = OTHER_COMMIT
        assert not lab.up(of_hub()).models[0].changed

    def test_pull_always_follows_the_branch(self, lab):
        lab.up(of_hub())
        lab.hub.commit = OTHER_COMMIT
        report = lab.up(of_hub(pull="always"))
        assert report.models[0].changed
        assert OTHER_COMMIT in mounted(lab)

    def test_pull_always_with_the_hub_away_uses_what_is_here_and_says_so(self, lab):
        brought(lab)
        lab.hub.away = True
        report = lab.up(of_hub(pull="always"))
        assert report.models[0].state is State.VERIFIED
        notes = [event.text for event in lab.events if isinstance(event, Note) and event.warning]
        assert notes == ["the model hub http://hub cannot be asked: nobody answers. What is in /cache/hub is used."]

    def test_offline_takes_what_is_here(self, lab):
        brought(lab)
        lab.hub.offline = True
        assert lab.up(of_hub(REPO)).models[0].state is State.VERIFIED
        assert lab.hub.asked == []

    def test_pull_never(self, lab):
        report = lab.up(of_hub(pull="never"))
        assert ids(report) == ["model-absent"]
        assert report.models[0].problems[0].hint == "Bring it: homellm pull smol"
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])
        brought(lab)
        assert lab.up(of_hub(pull="never")).models[0].state is State.VERIFIED

    def test_the_hub_away_and_nothing_here(self, lab):
        lab.hub.away = True
        report = lab.up(of_hub())
        assert ids(report) == ["hub-unreachable"]
        assert report.exit_code is ExitCode.REFUSED

    def test_one_fault_does_not_stop_the_others(self, lab):
        report = lab.up(of_hub("org/none:Q8_0", name="bad", port=None), of_hub())
        assert [one.state for one in report.models] == [State.FAILED, State.VERIFIED]
        assert ids(report) == ["repo-absent"]

    def test_a_broken_pull_fails_its_model_and_what_ran_still_runs(self, lab):
        lab.up(model())
        lab.hub.fault = PullFailed("it stopped", id="hub-unreachable")
        report = lab.up(of_hub())
        assert ids(report) == ["hub-unreachable"]
        assert mounted(lab) == "/models"
        assert lab.state.by_name(NAME).running
        assert report.models[0].notes == (f"What ran before still serves: {NAME}.",)
        assert (report.models[0].container, report.models[0].endpoint) == (NAME, "http://127.0.0.1:8081/v1")

    def test_two_models_of_one_source_bring_it_once(self, lab):
        report = lab.up(of_hub(), of_hub(name="other", port=None, parallel=2))
        assert [one.state for one in report.models] == [State.VERIFIED, State.VERIFIED]
        assert lab.hub.pulled == [QUANT]

    def test_ctrl_c_gives_the_pull_up(self, lab):
        lab.hub.hold = threading.Event()
        scope = Scope()
        reports = []
        runner = threading.Thread(target=lambda: reports.append(lab.up(of_hub(), scope=scope)), daemon=True)
        runner.start()
        pulling = lambda: [one for one in list(lab.events) if isinstance(one, Progress) and one.done_bytes]  # noqa: E731
        wait_for(pulling, "the pull is under way")
        scope.cancel()
        runner.join(60)
        assert not runner.is_alive()
        assert reports[0].exit_code is ExitCode.INTERRUPTED
        assert lab.hub.here == {}
        assert lab.state.by_name(NAME) is None

    def test_ctrl_c_does_not_wait_for_a_hub_that_is_silent(self, lab):
        lab.hub.silent = threading.Event()
        scope = Scope()
        raised = []

        def run():
            try:
                lab.up(of_hub(), scope=scope)
            except Interrupted as error:
                raised.append(error)

        runner = threading.Thread(target=run, daemon=True)
        runner.start()
        wait_for(lambda: lab.hub.asked, "the hub is asked")
        scope.cancel()
        runner.join(60)
        lab.hub.silent.set()
        assert raised

    def test_a_remote_engine_cannot_be_given_files(self, lab):
        ports = lab.ports()
        info = replace(ports.engine.info(), local=False, address="ssh://nuc")
        ports.engine.info = lambda: info
        report = lab.up(of_hub(), ports=ports)
        assert ids(report) == ["hub-engine-remote"]
        assert "ssh://nuc" in report.models[0].problems[0].message


class TestRoom:
    def test_the_disk_is_too_small(self, lab):
        lab.hub.free = SIZE - 1
        lab.hub.held = [("org/old-GGUF", 20 * 1024**3), ("org/b", 5)]
        problem = lab.up(of_hub()).models[0].problems[0]
        assert problem.id == "disk-full"
        assert problem.message == "hf:org/tiny-GGUF:Q8_0 needs 4.0 GiB, and the disk of /cache/hub has 4.0 GiB free"
        assert "org/old-GGUF (20.0 GiB), org/b (5 bytes)" in problem.hint
        assert "rm -r /cache/hub/models--org--old-GGUF" in problem.hint
        assert lab.hub.pulled == []

    def test_what_is_here_already_needs_no_room(self, lab):
        lab.hub.free, lab.hub.begun[QUANT] = SIZE // 2, SIZE // 2
        assert lab.up(of_hub()).models[0].state is State.VERIFIED

    def test_room_for_one_of_two(self, lab):
        lab.hub.free = SIZE + 100
        report = lab.up(of_hub(), of_hub(f"{REPO}:Q4_K_M", name="other", port=None))
        assert [one.state for one in report.models] == [State.VERIFIED, State.FAILED]
        assert "has 4.0 GiB free, 4.0 GiB of it for what else is to be pulled" in report.models[1].problems[0].message

    def test_too_large_for_the_memory_is_refused_before_the_download(self, lab, tmp_path):
        (tmp_path / "m.gguf").write_bytes(llama(layers=2, embedding=4096, heads=32, kv_heads=32).whole())
        header = GgufFiles().look(tmp_path / "m.gguf").header
        lab.hub.header = replace(header, context_length=2_000_000)
        lab.host.host = replace(lab.host.host, memory_bytes=1 << 30, available_bytes=1 << 30)
        report = lab.up(of_hub(ctx=1_000_000))
        assert ids(report) == ["does-not-fit"]
        assert lab.hub.pulled == []
        insisting = lab.up(of_hub(ctx=1_000_000), options=replace(lab.options, fit=False))
        assert lab.hub.pulled == [QUANT]
        assert "does-not-fit" not in ids(insisting)


class TestPlan:
    def test_a_model_that_is_to_come(self, lab):
        report = plan(lab.stack(of_hub()), (), lab.ports(), lab.options)
        assert [step.title for step in report.steps][:2] == [f"pull hf:{QUANT}", "create-network homellm-nuc"]
        assert f"create {NAME}.next" in [step.title for step in report.steps]
        assert report.problems == ()
        assert lab.hub.pulled == []

    def test_one_that_cannot_be_had(self, lab):
        report = plan(lab.stack(of_hub("org/none:Q8_0")), (), lab.ports(), lab.options)
        assert [problem.id for problem in report.problems] == ["repo-absent"]
        assert report.steps == ()

    def test_nothing_to_do(self, lab):
        lab.up(of_hub())
        lab.hub.away = True
        assert plan(lab.stack(of_hub()), (), lab.ports(), lab.options).steps == ()


class TestPullVerb:
    def pull(self, lab: Lab, *models: Model):
        return pull(lab.stack(*models), (), lab.ports(), lab.options, Scope(), lab.events.append)

    def test_image_and_model(self, lab):
        report = self.pull(lab, of_hub())
        assert lab.hub.pulled == [QUANT]
        assert report.models[0].notes == ("its image and its model are here",)

    def test_the_hub_is_asked_also_for_what_is_here(self, lab):
        brought(lab)
        self.pull(lab, of_hub())
        assert (lab.hub.asked, lab.hub.pulled) == ([QUANT], [])
        lab.hub.commit = OTHER_COMMIT
        self.pull(lab, of_hub())
        assert lab.hub.pulled == [QUANT]

    def test_a_hub_that_is_away_is_told(self, lab):
        brought(lab)
        lab.hub.away = True
        assert ids(self.pull(lab, of_hub())) == ["hub-unreachable"]


def test_locate_asks_nobody(lab):
    stack = lab.stack(of_hub(), model(name="file"))
    assert locate(stack, lab.hub).models[0].source.path is None
    brought(lab)
    found = locate(stack, lab.hub)
    assert str(found.models[0].source.path) == FILE
    assert str(found.models[0].source) == f"hf:{QUANT}"
    assert found.models[1] == stack.models[1]
    assert lab.hub.asked == []
