"""The last rung with a source on the hub: asked and pulled when the ladder comes to it, once, and never in vain."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import pytest

from homellm.adapters.gguf_files import GgufFiles
from homellm.deploy.check import check
from homellm.deploy.preview import plan
from homellm.deploy.pull import pull
from homellm.deploy.scope import Scope
from homellm.domain.events import Note, Progress, StepStarted
from homellm.domain.hub import parse_ref
from homellm.domain.stack import Source
from homellm.domain.steps import PullModel
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, PullFailed
from tests.engine.support.wait import wait_for
from tests.fakes.engine import Kill, Killed
from tests.fakes.gguf_bytes import llama
from tests.fakes.hub import COMMIT
from tests.fakes.ollama import stored
from tests.unit.deploy.lab import IMAGE, PORT
from tests.unit.deploy.ollama_lab import MODELS, MOVED, SERVER, OllamaLab, hybrid, lab_on, refusing

REPO, QUANT = "org/hybrid-GGUF", "org/hybrid-GGUF:Q8_0"
FILE = f"/cache/hub/{REPO}/{COMMIT}/hybrid-Q8_0.gguf"
SIZE = 4 * 1024**3
OTHER_COMMIT = "b" * 40
FEWEST_CALLS = 40


def on_hub(rung: str = "source") -> OllamaLab:
    lab = lab_on(rung)
    lab.hub.repos[REPO] = {"hybrid-Q8_0.gguf": SIZE}
    lab.ollamas.registry = MODELS
    lab.state.registry |= {ref: image for image in lab.state.images for ref in image.tags}
    return lab


def resorting(**changes):
    return hybrid(fallback_source=Source("hf", changes.pop("ref", QUANT)), image=IMAGE, **changes)


def only(report):
    (model,) = report.models
    return model


def mounted(lab: OllamaLab) -> str:
    return lab.state.by_name(MOVED).body["HostConfig"]["Mounts"][0]["Source"]


def brought(lab: OllamaLab) -> None:
    lab.hub.bring(lab.hub.resolve(parse_ref(QUANT)))
    lab.hub.asked.clear()


def told(lab: OllamaLab) -> list[str]:
    return [event.text for event in lab.events if isinstance(event, Note)]


class TestUp:
    def test_it_is_pulled_where_the_ladder_comes_to_it_and_serves(self):
        lab = on_hub()
        report = only(lab.up(resorting()))
        assert (report.state, report.fallback.rung, report.slots) == (State.VERIFIED, "source", 3)
        assert lab.hub.pulled == [QUANT]
        assert mounted(lab) == FILE.rpartition("/")[0]
        assert lab.state.names() == {SERVER: "running", MOVED: "running"}
        (step,) = [e.step for e in lab.events if isinstance(e, StepStarted) and isinstance(e.step, PullModel)]
        assert step == PullModel(
            target=f"hf:{QUANT}", model="hybrid", cause="the model is not here: 4.0 GiB", size_bytes=SIZE
        )

    def test_a_second_up_asks_nobody(self):
        lab = on_hub()
        first = only(lab.up(resorting()))
        lab.hub.asked.clear()
        lab.hub.away = True
        again = only(lab.up(resorting()))
        assert (again.state, again.fallback) == (State.VERIFIED, first.fallback)
        assert (lab.hub.asked, lab.made(), lab.loads()) == ([], [], ["hybrid:latest"])

    @pytest.mark.parametrize("rung", ["llama-server", "bundled"])
    def test_nothing_is_asked_where_an_earlier_rung_serves(self, rung):
        lab = on_hub(rung)
        assert only(lab.up(resorting())).fallback.rung == rung
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_the_model_that_ollama_gives_its_slots_asks_nothing(self):
        lab = on_hub()
        plain = resorting(name="plain", source=Source("ollama", "plain"))
        assert only(lab.up(plain)).runner == "ollama"
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_ollama_keeps_its_copy_while_something_is_pulled(self):
        """Nobody knows here whether both copies fit, so Ollama lets go of its own; not before the image is here."""
        lab = on_hub("llama-server")
        lab.state.images = [image for image in lab.state.images if IMAGE not in image.tags]
        api, at_pull = lab.ollamas.api("http://127.0.0.1:11434"), []

        def watch(call):
            if call.method == "pull":
                at_pull.append([one.name for one in api.loaded()])

        assert only(lab.up(resorting(), ports=lab.ports(before=watch))).fallback.rung == "llama-server"
        assert at_pull == [["registry.ollama.ai/library/hybrid:latest"]]
        assert api.loaded() == ()

    def test_with_its_files_here_it_works_offline(self):
        lab = on_hub()
        brought(lab)
        lab.hub.offline = True
        assert only(lab.up(resorting())).fallback.rung == "source"
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_two_models_of_one_source_bring_it_once(self):
        lab = on_hub()
        lab.ollamas.models = (*MODELS, stored("other", "c", "lfm2"))
        report = lab.up(resorting(), resorting(name="other", source=Source("ollama", "other"), port=None))
        assert [one.fallback.rung for one in report.models] == ["source", "source"]
        assert lab.hub.pulled == [QUANT]

    def test_what_was_deleted_from_the_cache_comes_back(self):
        lab = on_hub()
        lab.up(resorting())
        lab.hub.here.clear()
        again = only(lab.up(resorting()))
        assert (again.state, again.fallback.rung) == (State.VERIFIED, "source")
        assert lab.hub.pulled == [QUANT, QUANT]

    def test_pull_always_follows_the_branch(self):
        lab = on_hub()
        lab.up(resorting(pull="missing"))
        lab.hub.commit = OTHER_COMMIT
        report = only(lab.up(resorting(pull="always")))
        assert (report.state, report.fallback.rung) == (State.VERIFIED, "source")
        assert OTHER_COMMIT in mounted(lab)

    def test_a_repository_that_is_gone_fails_it_and_what_serves_serves_on(self):
        """As for a model's own source: who asks with every `up` is told, and keeps what runs."""
        lab = on_hub()
        lab.up(resorting())
        before = lab.state.by_name(MOVED).id
        lab.hub.repos.clear()
        report = only(lab.up(resorting(pull="always")))
        assert (report.state, report.container, report.fallback.rung) == (State.FAILED, MOVED, "source")
        assert report.problems[0].id == "repo-absent"
        assert lab.state.by_name(MOVED).id == before

    def test_a_long_pull_takes_nothing_of_the_time_to_start(self):
        lab = on_hub()
        pull_model = lab.hub.pull

        def slow(model):
            lab.state.clock.advance(3600)
            return pull_model(model)

        lab.hub.pull = slow
        assert only(lab.up(resorting())).state is State.VERIFIED

    def test_what_failed_on_that_file_is_not_tried_again_and_another_commit_is(self):
        lab = on_hub("ollama")
        report = only(lab.up(resorting()))
        assert (report.state, report.fallback.rung) == (State.DEGRADED, "ollama")
        assert lab.hub.pulled == [QUANT]
        lab.hub.asked.clear()
        assert only(lab.up(resorting())).state is State.DEGRADED
        assert (lab.made(), lab.hub.asked) == ([], [])
        lab.state.behave = refusing("llama-server", "bundled")
        lab.hub.commit = OTHER_COMMIT
        lab.hub.bring(lab.hub.resolve(parse_ref(QUANT)))
        assert only(lab.up(resorting())).fallback.rung == "source"


class TestWhatPasses:
    @pytest.mark.parametrize(
        ("fault", "problem", "hint"),
        [
            ("away", "cannot be asked: nobody answers", "Check the network. Then run homellm up again."),
            ("repo", "no repository org/none", "Check the name. Then run homellm up again."),
            ("broken", "it stopped", "Try later. Then run homellm up again."),
            ("full", "has 4.0 GiB free", "Then run homellm up again."),
            ("never", "pull is never", "Bring it: homellm pull hybrid. Then run homellm up again."),
        ],
    )
    def test_it_stays_on_ollama_and_is_tried_again(self, fault, problem, hint):
        lab, model = on_hub(), resorting()
        if fault == "away":
            lab.hub.away = True
        elif fault == "repo":
            model = resorting(ref="org/none:Q8_0")
        elif fault == "broken":
            lab.hub.fault = PullFailed("it stopped", id="hub-unreachable", hint="Try later.")
        elif fault == "full":
            lab.hub.free = SIZE - 1
        else:
            model = resorting(pull="never")
        for _ in range(2):
            report = only(lab.up(model))
            assert (report.state, report.runner, report.fallback.rung) == (State.DEGRADED, "ollama", "ollama")
            assert problem in report.notes[0]
            assert hint in report.notes[1]
            assert lab.state.names() == {SERVER: "running"}
        # Of the rungs before it each was tried in the first run alone.
        assert lab.made() == []
        lab.hub.away, lab.hub.fault, lab.hub.free = False, None, None
        report = only(lab.up(resorting()))
        assert (report.state, report.fallback.rung) == (State.VERIFIED, "source")

    def test_pull_never_asks_nobody_and_takes_what_is_here(self):
        lab = on_hub()
        lab.up(resorting(pull="never"))
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])
        brought(lab)
        assert only(lab.up(resorting(pull="never"))).fallback.rung == "source"
        assert lab.hub.asked == []

    def test_a_taken_port_ends_it_before_the_hub_is_asked(self):
        lab = on_hub()
        lab.state.listeners.add(("127.0.0.1", PORT))
        assert only(lab.up(resorting())).state is State.DEGRADED
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_what_is_known_to_stop_it_is_told_before_the_download(self, tmp_path):
        """The header on the hub tells of fewer tokens than are declared."""
        lab = on_hub()
        (tmp_path / "m.gguf").write_bytes(llama().whole())
        lab.hub.header = replace(GgufFiles().look(tmp_path / "m.gguf").header, context_length=256)
        report = only(lab.up(resorting()))
        assert report.state is State.DEGRADED
        assert "ctx 512 is more than the 256 tokens" in report.notes[0]
        assert report.notes[1].startswith("Set ctx: 256 or less")
        assert lab.hub.pulled == []

    def test_a_flag_that_was_wrong_is_remembered_only_with_the_file(self):
        """Without the file there is no container to hold it against: a mended declaration is tried."""
        lab = on_hub()
        assert only(lab.up(resorting(extra_args=("--no-such-flag",)))).state is State.DEGRADED
        assert lab.hub.pulled == []
        assert only(lab.up(resorting())).fallback.rung == "source"

    def test_what_no_memory_holds_is_refused_before_the_download(self, tmp_path):
        lab = on_hub()
        (tmp_path / "m.gguf").write_bytes(llama(layers=2, embedding=4096, heads=32, kv_heads=32).whole())
        header = GgufFiles().look(tmp_path / "m.gguf").header
        lab.hub.header = replace(header, context_length=2_000_000)
        lab.host.host = replace(lab.host.host, memory_bytes=1 << 30, available_bytes=1 << 30)
        report = only(lab.up(resorting(ctx=1_000_000)))
        assert report.state is State.DEGRADED
        assert "needs" in report.notes[0]
        assert lab.hub.pulled == []

    def test_ctrl_c_in_the_pull_is_remembered_by_nobody(self):
        lab = on_hub()
        lab.hub.hold = threading.Event()
        scope, reports = Scope(), []
        runner = threading.Thread(target=lambda: reports.append(lab.up(resorting(), scope=scope)), daemon=True)
        runner.start()
        pulling = lambda: [one for one in list(lab.events) if isinstance(one, Progress) and one.done_bytes]  # noqa: E731
        wait_for(pulling, "the pull is under way")
        scope.cancel()
        runner.join(60)
        assert not runner.is_alive()
        assert reports[0].exit_code is ExitCode.INTERRUPTED
        assert (lab.hub.here, lab.state.names()) == ({}, {SERVER: "running"})
        lab.hub.hold.set()
        report = only(lab.up(resorting()))
        assert (report.state, report.fallback.rung) == (State.VERIFIED, "source")
        assert [name for name in lab.made() if name.startswith(MOVED)] == [f"{MOVED}.next"]


def test_a_kill_at_any_call_costs_no_second_download():
    for n in itertools.count(1):
        lab = on_hub()
        try:
            lab.up(resorting(), kill=Kill(n, "after"))
        except Killed:
            report = only(lab.up(resorting()))
        else:
            break
        assert (report.state, report.fallback.rung, report.slots) == (State.VERIFIED, "source", 3), n
        assert lab.state.names() == {SERVER: "running", MOVED: "running"}, n
        assert lab.hub.pulled == [QUANT], n
    assert n > FEWEST_CALLS, f"only {n} calls were killed"


class TestOtherVerbs:
    def test_plan_asks_nobody_and_says_what_may_come(self):
        lab = on_hub()
        lab.up(hybrid(fallback="none"))
        lab.ollamas.version = "0.34.0"
        lab.server = replace(lab.server, keep_alive=300)
        report = plan(lab.stack(resorting()), (), lab.ports(), lab.options)
        assert f"and hf:{QUANT} is pulled if nothing reads Ollama's file" in report.steps[-1].cause
        assert [step for step in report.steps if isinstance(step, PullModel)] == []
        assert lab.hub.asked == []
        brought(lab)
        report = plan(lab.stack(resorting()), (), lab.ports(), lab.options)
        assert "is pulled" not in report.steps[-1].cause

    def test_pull_brings_it(self):
        lab = on_hub()
        report = pull(lab.stack(resorting()), (), lab.ports(), lab.options, Scope(), lab.events.append)
        assert lab.hub.pulled == [QUANT]
        assert only(report).notes == (f"hf:{QUANT} is here",)
        lab.hub.away = True
        assert only(lab.up(resorting())).fallback.rung == "source"

    def test_pull_tells_of_a_hub_that_is_away(self):
        lab = on_hub()
        lab.hub.away = True
        report = only(pull(lab.stack(resorting()), (), lab.ports(), lab.options, Scope(), lab.events.append))
        assert (report.state, report.problems[0].id) == (State.FAILED, "hub-unreachable")

    def test_pull_brings_none_that_is_forbidden(self):
        lab = on_hub()
        pull(lab.stack(resorting(fallback="none")), (), lab.ports(), lab.options, Scope(), lab.events.append)
        assert (lab.hub.asked, lab.hub.pulled) == ([], [])

    def test_check_looks_at_what_serves_and_asks_nobody(self):
        lab = on_hub()
        lab.up(resorting())
        lab.hub.asked.clear()
        report = only(check(lab.stack(resorting()), (), lab.ports(), lab.options, Scope(), lab.events.append))
        assert (report.state, report.fallback.rung) == (State.VERIFIED, "source")
        lab.hub.here.clear()
        report = only(check(lab.stack(resorting()), (), lab.ports(), lab.options, Scope(), lab.events.append))
        assert report.container == MOVED
        assert any(f"hf:{QUANT} is not here yet" in note for note in report.notes)
        assert lab.hub.asked == []
