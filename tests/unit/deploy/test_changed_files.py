"""A file that is replaced or rewritten under a server: noticed by `up`, `plan` and `check`, and never twice."""

import itertools
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from homellm.deploy.check import check
from homellm.deploy.loaded_files import loadable
from homellm.deploy.preview import plan
from homellm.deploy.ps import ps
from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.stack import Source, StoredFile, StoredFiles
from homellm.domain.steps import CreateContainer
from homellm.domain.verdicts import State
from homellm.domain.world import ModelFile
from homellm.errors import EngineRefused, ExitCode
from tests.fakes.behaviour import Behaviour
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.lab import NAME, Lab, good, good_lines, model

FILE = "/models/smol.gguf"
CHANGED = "smol.gguf changed since the server loaded it"
#: When the clock of a machine begins: 2026-11-30 12:00 UTC.
STARTED_NS = 1_796_040_000 * 10**9
CORRUPT = "0.00.024.695 E llama_model_load: error loading model: tensor 'a' data is not within the file bounds\n"


class Files(Lab):
    """A machine whose servers load what stands at FILE when they start. `loads` is what each of them loaded."""

    def __post_init__(self):
        super().__post_init__()
        self.loads: list[bytes] = []
        self.after_load = lambda: None
        self.state.behave = self.launched
        self.put(b"old")
        self.state.clock.advance(3600)

    def launched(self, image, args, env):
        content = self.files.contents[FILE]
        self.loads.append(content)
        self.after_load()
        if content == b"corrupt":
            lines = (*good_lines(args)[:2], (0.0, CORRUPT))
            return Behaviour(lines=lines, exit_at_s=0.0, exit_code=1)
        return good(image, args, env)

    def put(self, content, path=FILE):
        """Write a file now."""
        self.touch(path)
        self.files.contents[path] = content

    def touch(self, path=FILE):
        now_ns = round(self.state.clock.now().timestamp() * 10**9)
        self.files.times_ns[path] = self.files.changed_ns[path] = now_ns

    def wait(self):
        """Some time passes."""
        self.state.clock.advance(3600)

    def restarted(self):
        """`docker restart`."""
        self.engine.kill(NAME, "SIGTERM")
        self.engine.start(NAME)


@pytest.fixture
def lab():
    lab = Files()
    assert only(lab.up()).state is State.VERIFIED
    lab.wait()
    return lab


def only(report):
    (found,) = report.models
    return found


def checked(lab, ports=None):
    return only(check(lab.stack(), (), ports or lab.ports(), lab.options, Scope(), lambda _event: None))


def causes(lab):
    return [step.cause for step in plan(lab.stack(), (), lab.ports(), lab.options).steps if step.kind == "create"]


def kept(lab):
    """What the record of the container has of its files."""
    return json.loads(lab.state.by_name(NAME).files["/.homellm.json"])["files"]


def verdict(report):
    found = [one for one in report.checks if one.id == "files"]
    return found[0] if found else None


def rests(lab, loads):
    """Two more `up` change nothing."""
    for _ in range(2):
        report = only(lab.up())
        assert (report.state, report.changed, lab.loads) == (State.VERIFIED, False, loads)
    assert verdict(checked(lab)).verdict == "pass"


class TestNoticed:
    @pytest.mark.parametrize("content", [b"new", b"longer"], ids=["of one size", "of another size"])
    def test_a_new_file_is_loaded_once(self, lab, content):
        lab.put(content)
        assert causes(lab) == [CHANGED]
        lab.events.clear()
        report = only(lab.up())
        assert (report.state, report.changed) == (State.VERIFIED, True)
        made = [event.step for event in lab.events if isinstance(getattr(event, "step", None), CreateContainer)]
        assert {step.cause for step in made} == {CHANGED}
        assert lab.state.names() == {NAME: "running", f"{NAME}.prev-1": "exited"}
        rests(lab, [b"old", content])
        assert causes(lab) == []

    def test_a_touched_file_is_one_swap(self, lab):
        lab.touch()
        assert only(lab.up()).changed
        rests(lab, [b"old", b"old"])

    def test_what_leaves_the_content_alone_is_no_change(self, lab):
        """chmod, a hard link, another disk and back, a restored backup: the same size and date, another inode."""
        assert (verdict(only(lab.up())).text, lab.files.sampled) == ("untouched", [FILE])
        lab.files.changed_ns[FILE] += 10**15
        lab.files.inodes[FILE] = 7
        rests(lab, [b"old"])
        assert verdict(checked(lab)).text == "size, date and samples as loaded"
        assert causes(lab) == []

    @pytest.mark.parametrize("inode", [1, 7], ids=["written over it", "moved there"])
    def test_another_file_of_the_same_size_and_date(self, lab, inode):
        """`cp -p`, `rsync -t`, `mv`."""
        before = lab.files.times_ns[FILE]
        lab.put(b"new")
        lab.files.times_ns[FILE], lab.files.inodes[FILE] = before, inode
        assert verdict(checked(lab)).text == "smol.gguf: changed since it was loaded"
        assert causes(lab) == [CHANGED]
        assert only(lab.up()).changed
        rests(lab, [b"old", b"new"])
        assert verdict(checked(lab)).text == "untouched"

    def test_one_under_a_server_that_was_restarted_since(self, lab):
        lab.restarted()
        assert not only(lab.up()).changed
        lab.wait()
        before = lab.files.times_ns[FILE]
        lab.put(b"new")
        lab.files.times_ns[FILE] = before
        assert only(lab.up()).changed
        rests(lab, [b"old", b"old", b"new"])

    def test_a_container_of_an_older_homellm_knows_size_and_date_alone(self, lab):
        container = lab.state.by_name(NAME)
        container.body["Labels"]["homellm.files"] = json.dumps([[FILE, 3, STARTED_NS]])
        record = json.loads(container.files["/.homellm.json"])
        container.files["/.homellm.json"] = json.dumps(record | {"files": [[FILE, 3, STARTED_NS]]}).encode()
        lab.files.inodes[FILE] = 7
        assert verdict(checked(lab)).text == "size and date as loaded"
        rests(lab, [b"old"])

    def test_an_older_file_that_is_moved_there(self, lab):
        lab.put(b"new")
        lab.files.times_ns[FILE] = 1
        assert only(lab.up()).changed
        rests(lab, [b"old", b"new"])

    def test_one_that_comes_while_the_engine_waits_to_start_a_crashed_server_again(self, lab):
        """The pause grows to a minute: what was put right is served by the next `up`, not by the next try."""
        lab.put(b"corrupt")
        lab.state.crash(NAME, 1)
        while lab.state.by_name(NAME).restart_count < 5 or lab.state.by_name(NAME).status != "restarting":
            lab.state.clock.advance(0.05)
            lab.state.settle()
        assert only(lab.up()).state is State.FAILED
        lab.put(b"mended")
        assert plan(lab.stack(), (), lab.ports(), lab.options).steps[0].cause == CHANGED
        report = only(lab.up())
        assert (report.state, lab.loads[-1], lab.loads.count(b"mended")) == (State.VERIFIED, b"mended", 1)

    def test_check_tells_it(self, lab):
        lab.put(b"new")
        before = kept(lab)
        report = checked(lab)
        assert (report.state, report.exit_code) == (State.DEGRADED, ExitCode.DEGRADED)
        found = verdict(report)
        assert (found.asked, found.observed, found.verdict, found.gate) == (True, False, "fail", False)
        assert found.text == "smol.gguf: changed since it was loaded"
        assert "homellm up" in found.hint
        assert lab.loads == [b"old"]
        assert kept(lab) == before == [[FILE, 3, STARTED_NS, [1, 1, STARTED_NS], sha256(b"old").hexdigest()[:32]]]

    def test_check_after_check_goes_on_telling_it(self, lab):
        lab.put(b"new")
        for _ in range(3):
            assert checked(lab).state is State.DEGRADED
        only(lab.up())
        rests(lab, [b"old", b"new"])

    def test_one_part_of_a_split_model(self):
        parts = tuple(f"/models/m-0000{n}-of-00002.gguf" for n in (1, 2))
        split = model(source=Source("gguf", "", Path(parts[0])))
        lab = Files()
        lab.files.states[parts[0]] = ModelFile(parts[0], "ok", 9, 9, 9, "llama", parts=parts)
        for part in parts:
            lab.put(b"part", part)
        lab.wait()
        lab.up(split)
        lab.wait()
        assert not only(lab.up(split)).changed
        lab.put(b"trap", parts[1])
        steps = plan(lab.stack(split), (), lab.ports(), lab.options).steps
        assert steps[0].cause == "m-00002-of-00002.gguf changed since the server loaded it"
        assert [only(lab.up(split)).changed for _ in range(2)] == [True, False]

    @pytest.mark.parametrize("key", ["mmproj", "chat_template_file"])
    def test_other_files_of_a_server(self, key):
        lab, other = Files(), "/other/file"
        lab.files.states[other] = ModelFile(other, "ok", 3, 3, 3, "clip")
        with_other = model(**{key: Path(other)})
        lab.put(b"one", other)
        lab.wait()
        lab.up(with_other)
        lab.put(b"two", other)
        steps = plan(lab.stack(with_other), (), lab.ports(), lab.options).steps
        assert steps[0].cause == "file changed since the server loaded it"
        assert [only(lab.up(with_other)).changed for _ in range(2)] == [True, False]


class TestRestarted:
    def test_what_a_restart_loaded_is_not_loaded_again(self, lab):
        lab.put(b"new")
        lab.wait()
        lab.restarted()
        report = only(lab.up())
        assert (report.state, report.changed, verdict(report).verdict) == (State.VERIFIED, False, "pass")
        rests(lab, [b"old", b"new"])

    def test_by_homellm(self, lab):
        lab.put(b"new")
        restart(lab.stack(), (), lab.ports(), lab.options, Scope(), lambda _event: None)
        rests(lab, [b"old", b"new"])

    def test_a_daemon_that_restarted(self, lab):
        lab.put(b"new")
        lab.state.clock.advance(0.5)
        lab.state.daemon_restart()
        rests(lab, [b"old", b"new"])

    def test_a_file_that_came_after_a_restart_that_nobody_looked_at(self, lab):
        lab.restarted()
        lab.wait()
        lab.put(b"new")
        assert causes(lab) == [CHANGED]
        assert only(lab.up()).changed
        rests(lab, [b"old", b"old", b"new"])

    def test_a_file_that_came_after_one_that_was_looked_at(self, lab):
        lab.restarted()
        assert not only(lab.up()).changed
        lab.wait()
        lab.put(b"new")
        lab.files.changed_ns[FILE] = 0  # as where a file system tells no such time: the record leads
        assert only(lab.up()).changed
        rests(lab, [b"old", b"old", b"new"])

    def test_one_that_does_not_run_is_only_started(self, lab):
        lab.engine.kill(NAME, "SIGTERM")
        lab.put(b"new")
        lab.wait()
        assert causes(lab) == []
        assert only(lab.up()).state is State.VERIFIED
        assert list(lab.state.names()) == [NAME]
        rests(lab, [b"old", b"new"])


class TestWhileItLoads:
    def test_a_file_that_is_replaced_then_counts_as_changed(self):
        lab = Files()

        def replaced():
            lab.after_load = lambda: None
            lab.state.clock.advance(5)
            lab.put(b"new")

        lab.after_load = replaced
        report = only(lab.up())
        assert (report.state, verdict(report).verdict, lab.loads) == (State.DEGRADED, "fail", [b"old"])
        assert only(ps(lab.stack(), lab.ports())).state is State.DEGRADED
        assert only(lab.up()).changed
        rests(lab, [b"old", b"new"])

    def test_a_file_that_is_replaced_before_the_start_is_the_one_that_is_loaded(self):
        """While it waits in line for its device, say."""
        lab = Files()
        ports = lab.ports()
        create = ports.engine.create

        def replaced(name, body):
            made = create(name, body)
            lab.put(b"new")
            lab.state.clock.advance(10)
            return made

        ports.engine.create = replaced
        report = only(lab.up(ports=ports))
        assert (report.state, verdict(report).verdict) == (State.VERIFIED, "pass")
        rests(lab, [b"new"])


class TestUndo:
    def test_a_file_that_cannot_be_loaded(self, lab):
        """The old server is started again, and cannot load it either: what it had is gone from its path."""
        lab.put(b"corrupt")
        report = only(lab.up())
        assert (report.state, report.exit_code) == (State.FAILED, ExitCode.REFUSED)
        assert report.problems[0].id == "model-corrupt"
        again, now = report.notes
        assert again.startswith("The server that ran before was started again, but: ")
        assert now == (
            "smol.gguf changed since the server loaded it, and homellm keeps no older file:"
            " what was started again reads the one that stands there now."
        )
        assert lab.loads[:3] == [b"old", b"corrupt", b"corrupt"]
        lab.put(b"mended")
        lab.wait()
        assert only(lab.up()).state is State.VERIFIED
        assert lab.loads[-1] == b"mended"
        rests(lab, lab.loads.copy())

    def test_what_was_started_again_after_ctrl_c_serves_the_new_file(self, lab):
        lab.put(b"new")
        lab.wait()
        scope = Scope()

        def interrupted():
            lab.after_load = lambda: None
            scope.cancel()

        lab.after_load = interrupted
        report = only(lab.up(scope=scope))
        assert report.notes[0] == "The server that ran before serves again, verified."
        assert "reads the one that stands there now" in report.notes[1]
        assert list(lab.state.names()) == [NAME]
        rests(lab, [b"old", b"new", b"new"])


class TestUnknown:
    def test_a_file_that_is_gone_is_told_and_is_back_as_it_was(self, lab):
        content = lab.files.contents.pop(FILE)
        report = checked(lab)
        assert (verdict(report).verdict, verdict(report).text) == ("unknown", "smol.gguf: not there, or not to be seen")
        lab.files.contents[FILE] = content
        assert verdict(checked(lab)).verdict == "pass"
        rests(lab, [b"old"])

    def test_a_container_of_an_older_homellm(self, lab):
        del lab.state.by_name(NAME).body["Labels"]["homellm.files"]
        lab.put(b"new")
        report = only(lab.up())
        assert (report.state, report.changed, verdict(report)) == (State.VERIFIED, False, None)
        assert verdict(checked(lab)) is None

    def test_an_engine_elsewhere(self):
        lab = Files()
        lab.state.info = replace(lab.state.info, local=False)
        lab.up()
        assert "homellm.files" not in lab.state.by_name(NAME).labels
        lab.put(b"new")
        assert not only(lab.up()).changed

    def test_an_engine_that_is_now_reached_as_one_elsewhere(self, lab):
        lab.put(b"new")
        lab.state.info = replace(lab.state.info, local=False)
        report = only(lab.up())
        assert (report.changed, verdict(report)) == (False, None)

    def test_a_file_that_cannot_be_seen_any_more(self, lab):
        del lab.files.contents[FILE]
        report = only(lab.up())
        assert (report.changed, verdict(report).verdict) == (False, "unknown")

    def test_a_container_that_takes_no_record(self):
        lab = Files()
        ports = lab.ports()

        def refuse(ref, path, data):
            raise EngineRefused("container rootfs is marked read-only")

        ports.engine.put_file = refuse
        lab.up(ports=ports)
        lab.wait()
        lab.put(b"new")
        ports = lab.ports()
        ports.engine.put_file = refuse
        assert only(lab.up(ports=ports)).changed
        assert not only(lab.up(ports=ports)).changed
        assert lab.loads == [b"old", b"new"]

    def test_a_model_of_a_hub_or_of_a_store_is_bound_by_its_path(self, lab):
        info, stored = lab.ports().engine.info(), StoredFiles(StoredFile("/store/sha256-1"))
        hub = model(source=Source("hf", "org/repo:Q8_0", Path(FILE)))
        models = (hub, model(name="stored", stored=stored), model(name="own"))
        assert list(loadable(models, {}, info, lab.files)) == ["own"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_call_loads_the_new_file_and_then_rests(when):
    for n in itertools.count(1):
        lab = Files()
        lab.up()
        lab.wait()
        lab.put(b"new")
        try:
            lab.up(kill=Kill(n, when))
        except Killed:
            assert only(lab.up()).state is State.VERIFIED, n
        else:
            break
        assert lab.loads[-1] == b"new", n
        assert lab.loads.count(b"new") <= 2, n
        rests(lab, lab.loads.copy())
        assert [name for name, status in lab.state.names().items() if status == "running"] == [NAME]
    assert n > 20
