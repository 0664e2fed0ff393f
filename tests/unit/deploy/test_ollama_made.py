"""A model that Ollama has from a file: made once, and made anew when the file says something else."""

from __future__ import annotations

import itertools
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from homellm.deploy.check import check
from homellm.deploy.ollama_record import ServerRecord, read_server_record, write_server_record
from homellm.deploy.preview import plan
from homellm.deploy.scope import Scope
from homellm.domain.events import Note, StepStarted
from homellm.domain.ollama import MadeFrom
from homellm.domain.stack import Source
from homellm.domain.verdicts import State
from homellm.errors import ExitCode, OllamaFailed
from tests.fakes.engine import Kill, Killed
from tests.unit.deploy.ollama_lab import MOVED, SERVER, OllamaLab, hybrid

FILE = "/models/smol.gguf"
OTHER = "/models/other.gguf"
OLD, NEW, SAME_SIZE = b"old weights", b"newer weights", b"new weights"
DAY_NS = 86_400 * 10**9
FEWEST_CALLS = 10


def made_lab() -> OllamaLab:
    lab = OllamaLab()
    lab.ollamas.models, lab.ollamas.refused = (), frozenset()
    lab.files.contents |= {FILE: OLD, OTHER: NEW}
    return lab


def lab_of_parts() -> tuple[OllamaLab, list[str]]:
    """A model in two parts, of which the first is named."""
    lab, parts = made_lab(), [f"/models/big-{number:05}-of-00002.gguf" for number in (1, 2)]
    lab.files.contents |= {parts[0]: OLD, parts[1]: NEW}
    lab.files.states[parts[0]] = replace(lab.files.look(Path(parts[0])), parts=tuple(parts))
    return lab, parts


def of_file(path: str = FILE, **changes):
    return hybrid(**({"name": "smol", "source": Source("gguf", "", Path(path))} | changes))


def only(report):
    (model,) = report.models
    return model


def write(lab: OllamaLab, content: bytes, path: str = FILE) -> None:
    """Write a file anew, a day later."""
    lab.files.contents[path] = content
    lab.files.times_ns[path] = lab.files.times_ns.get(path, 0) + DAY_NS


def digest(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


def served(lab: OllamaLab) -> list[str]:
    """The manifests of what is in memory."""
    return [one.digest for one in lab.ollamas.api("http://127.0.0.1:11434").loaded()]


def of(content: bytes) -> list[str]:
    return [f"made{digest(content)[-60:]}"]


def kept_of(content: bytes, mtime_ns: int = 0) -> MadeFrom:
    """What is to be kept of a file that says this."""
    sha = sha256(content).hexdigest()
    return MadeFrom(FILE, len(content), mtime_ns, (sha,), (1, 1, 0), sha[:32])


def kept(lab: OllamaLab) -> MadeFrom | None:
    ports = lab.ports()
    container = ports.engine.find_container(SERVER)
    return read_server_record(container, "", ports).made["smol:latest"]


class TestUp:
    def test_it_is_uploaded_once(self):
        lab = made_lab()
        for _ in range(2):
            report = only(lab.up(of_file()))
            assert (report.state, report.runner) == (State.VERIFIED, "ollama")
        assert lab.ollamas.calls == [f"upload {digest(OLD)}", "create smol:latest"]
        assert (lab.files.hashed, served(lab)) == ([FILE], of(OLD))
        assert kept(lab) == kept_of(OLD)

    @pytest.mark.parametrize("content", [NEW, SAME_SIZE])
    def test_another_content_is_made_anew_and_the_old_one_leaves(self, content):
        lab = made_lab()
        lab.up(of_file())
        lab.ollamas.calls.clear()
        lab.files.hashed.clear()
        write(lab, content)
        for _ in range(2):
            assert only(lab.up(of_file())).state is State.VERIFIED
        assert lab.ollamas.calls == [
            f"upload {digest(content)}",
            "copy smol:latest smol:latest-homellm-old",
            "create smol:latest",
            "delete smol:latest-homellm-old",
        ]
        assert (lab.files.hashed, served(lab), lab.loads()) == ([FILE], of(content), ["smol:latest"] * 2)
        assert [model.name for model in lab.ollamas.models] == ["registry.ollama.ai/library/smol:latest"]

    def test_a_file_that_was_touched_alone_is_read_once(self):
        lab = made_lab()
        lab.up(of_file())
        write(lab, OLD)
        calls, loads = lab.ollamas.calls.copy(), lab.loads().copy()
        for _ in range(2):
            assert only(lab.up(of_file())).state is State.VERIFIED
        assert (lab.ollamas.calls, lab.loads(), lab.files.hashed) == (calls, loads, [FILE, FILE])
        assert kept(lab) == kept_of(OLD, DAY_NS)

    def test_one_of_the_same_size_and_date_that_was_touched_is_sampled(self):
        """chmod, a hard link, another disk and back."""
        lab = made_lab()
        lab.up(of_file())
        calls, loads = lab.ollamas.calls.copy(), lab.loads().copy()
        lab.files.inodes[FILE] = 7
        for _ in range(2):
            assert only(lab.up(of_file())).state is State.VERIFIED
        assert (lab.ollamas.calls, lab.loads(), lab.files.hashed) == (calls, loads, [FILE])

    def test_another_file_of_the_same_size_and_date_is_made_anew(self):
        """`cp -p`, `rsync -t`, `mv`."""
        lab = made_lab()
        lab.up(of_file())
        lab.files.contents[FILE] = SAME_SIZE
        lab.files.inodes[FILE] = 7
        for _ in range(2):
            assert only(lab.up(of_file())).state is State.VERIFIED
        assert (served(lab), lab.files.hashed) == (of(SAME_SIZE), [FILE, FILE])
        assert kept(lab) == replace(kept_of(SAME_SIZE), inode=(1, 7, 0))

    def test_one_that_an_older_homellm_made_is_read_once(self):
        """Of it neither an inode nor a sample was kept."""
        lab = made_lab()
        lab.up(of_file())
        ports = lab.ports()
        container = ports.engine.find_container(SERVER)
        record = read_server_record(container, "", ports)
        older = replace(kept_of(OLD), inode=(), sample="")
        write_server_record(container, "", replace(record, made={"smol:latest": older}), ports)
        for _ in range(2):
            assert only(lab.up(of_file())).state is State.VERIFIED
        assert (kept(lab), lab.files.hashed) == (kept_of(OLD), [FILE, FILE])
        assert lab.ollamas.calls == [f"upload {digest(OLD)}", "create smol:latest"]

    @pytest.mark.parametrize(("version", "takes"), [("0.24.0", False), ("0.30.0", True), ("0.0.0", True)])
    def test_a_split_one_is_not_given_to_an_ollama_that_does_not_merge_it(self, version, takes):
        """0.24.0 makes a layer of each part and loads the last one: nothing is uploaded for that."""
        lab, parts = lab_of_parts()
        lab.ollamas.version = version
        report = only(lab.up(of_file(parts[0])))
        assert report.state is (State.VERIFIED if takes else State.FAILED)
        assert len(lab.ollamas.created) == int(takes)
        if not takes:
            assert [problem.id for problem in report.problems] == ["model-split"]
            assert f"has 2 parts, and Ollama {version} takes models in one file alone" in report.problems[0].message
            assert lab.ollamas.calls == []

    def test_all_parts_of_a_split_one_are_uploaded_and_looked_at(self):
        lab, parts = lab_of_parts()
        lab.up(of_file(parts[0]))
        assert lab.ollamas.calls == [f"upload {digest(OLD)}", f"upload {digest(NEW)}", "create smol:latest"]
        assert lab.ollamas.created == [{Path(parts[0]).name: digest(OLD), Path(parts[1]).name: digest(NEW)}]
        assert kept(lab).digests == (sha256(OLD).hexdigest(), sha256(NEW).hexdigest())
        write(lab, SAME_SIZE, parts[1])
        lab.up(of_file(parts[0]))
        assert lab.ollamas.created[1:] == [{Path(parts[0]).name: digest(OLD), Path(parts[1]).name: digest(SAME_SIZE)}]

    def test_another_file_of_the_stack_file_is_another_model(self):
        lab = made_lab()
        lab.up(of_file())
        assert only(lab.up(of_file(OTHER))).state is State.VERIFIED
        assert served(lab) == of(NEW)

    def test_another_context_uploads_and_reads_nothing_that_is_known(self):
        lab = made_lab()
        lab.up(of_file(), of_file(OTHER, name="second", port=None))
        lab.files.hashed.clear()
        lab.up(of_file(ctx=1024), of_file(OTHER, name="second", port=None))
        assert lab.files.hashed == []

    def test_a_file_that_is_gone_changes_nothing(self):
        lab = made_lab()
        lab.up(of_file())
        del lab.files.contents[FILE]
        assert only(lab.up(of_file())).state is State.VERIFIED
        assert served(lab) == of(OLD)

    def test_one_that_is_not_there_is_told(self):
        report = only(made_lab().up(of_file("/models/none.gguf")))
        assert (report.state, report.problems[0].id) == (State.FAILED, "model-missing")

    @pytest.mark.parametrize("at", ["upload", "create"])
    def test_what_goes_wrong_leaves_what_is_served_and_is_tried_again(self, at):
        lab = made_lab()
        lab.up(of_file())
        write(lab, NEW)
        if at == "create":
            lab.ollamas.blobs.add(digest(NEW))
        lab.ollamas.cut = OllamaFailed("no space left on device")
        report = only(lab.up(of_file()))
        assert (report.state, report.problems[0].message) == (State.FAILED, "no space left on device")
        assert served(lab) == of(OLD)
        assert [model.digest for model in lab.ollamas.models] == of(OLD)
        assert only(lab.up(of_file())).state is State.VERIFIED
        assert served(lab) == of(NEW)

    def test_a_run_that_was_cut_off_after_it_was_made_makes_it_again(self):
        """Killed between Ollama's success and the note of it."""
        lab = made_lab()
        lab.up(of_file())
        ports = lab.ports()
        container = ports.engine.find_container(SERVER)
        record = read_server_record(container, "", ports)
        write_server_record(container, "", replace(record, made={"smol:latest": None}), ports)
        assert only(lab.up(of_file())).state is State.VERIFIED
        assert served(lab) == of(OLD)
        assert kept(lab) == kept_of(OLD)

    def test_a_copy_whose_name_comes_to_mean_a_file(self):
        lab = OllamaLab()
        lab.files.contents[FILE] = NEW
        lab.up(of_file(source=Source("ollama", "plain")))
        report = only(lab.up(of_file(fallback="none")))
        assert report.runner == "ollama"
        assert "create smol:latest" in lab.ollamas.calls

    def test_one_that_moved_is_started_on_the_new_file(self):
        """llama-server serves the file itself, and its container would be the very same."""
        lab = made_lab()
        lab.ollamas.refused = frozenset({"lfm2"})
        lab.state.add_image("x")
        first = only(lab.up(of_file()))
        assert (first.fallback.rung, lab.state.by_name("nuc-smol").body["HostConfig"]["Mounts"][0]["Source"]) == (
            "llama-server",
            "/models",
        )
        before = lab.state.by_name("nuc-smol").id
        assert only(lab.up(of_file())).state is State.VERIFIED
        assert lab.state.by_name("nuc-smol").id == before
        write(lab, NEW)
        for _ in range(2):
            assert only(lab.up(of_file())).fallback.rung == "llama-server"
            after = lab.state.by_name("nuc-smol").id
        assert after != before
        assert lab.made() == []
        told = [event.text for event in lab.events if isinstance(event, Note)]
        assert told.count(f"gguf:{FILE} is another file than the one that it was started on") == 1
        assert MOVED not in lab.state.names()

    @pytest.mark.parametrize(
        ("label", "cause"),
        [
            (True, "smol.gguf changed since the server loaded it"),
            (False, f"gguf:{FILE} is another file than the one that it was started on"),
        ],
        ids=["by the label of its files", "of an older homellm, by Ollama's digest"],
    )
    def test_the_step_that_makes_it_anew_says_why(self, label, cause):
        lab = made_lab()
        lab.ollamas.refused = frozenset({"lfm2"})
        lab.state.add_image("x")
        lab.up(of_file())
        if not label:
            del lab.state.by_name("nuc-smol").body["Labels"]["homellm.files"]
        write(lab, NEW)
        lab.events.clear()
        lab.up(of_file())
        steps = [event.step for event in lab.events if isinstance(event, StepStarted)]
        assert [step.cause for step in steps if step.kind == "create"] == [cause]


def test_a_kill_at_any_call_leaves_nothing_old():
    for n in itertools.count(1):
        lab = made_lab()
        lab.up(of_file())
        write(lab, NEW)
        try:
            lab.up(of_file(), kill=Kill(n, "after"))
        except Killed:
            report = only(lab.up(of_file()))
        else:
            break
        assert (report.state, served(lab)) == (State.VERIFIED, of(NEW)), n
        assert kept(lab).digests == (sha256(NEW).hexdigest(),), n
        assert [model.digest for model in lab.ollamas.models] == of(NEW), n
    assert n > FEWEST_CALLS, f"only {n} calls were killed"


def test_a_name_that_a_killed_run_left_for_the_old_model_goes():
    """Killed once the name meant the new one: the old one is still in memory, and leaves by its second name alone."""
    lab = made_lab()
    lab.up(of_file())
    write(lab, NEW)
    api = lab.ollamas.api("http://127.0.0.1:11434")
    api.copy("smol:latest", "smol:latest-homellm-old")
    list(api.upload(digest(NEW), Path(FILE)))
    list(api.create("smol:latest", files={"smol.gguf": digest(NEW)}))
    assert served(lab) == of(OLD)
    assert only(lab.up(of_file())).state is State.VERIFIED
    assert served(lab) == of(NEW)
    assert [model.digest for model in lab.ollamas.models] == of(NEW)


def declaration(report):
    return next(verdict.verdict for verdict in report.checks if verdict.id == "declaration")


class TestLooks:
    def check(self, lab: OllamaLab):
        return only(check(lab.stack(of_file()), (), lab.ports(), lab.options, Scope(), lab.events.append))

    def test_check_says_that_the_file_is_newer(self):
        lab = made_lab()
        lab.up(of_file())
        assert self.check(lab).notes == ()
        write(lab, SAME_SIZE)
        hashed = lab.files.hashed.copy()
        assert self.check(lab).notes == (
            f"{FILE} is newer than what Ollama serves; homellm up compares them, and makes it anew where they differ.",
        )
        report = self.check(lab)
        assert (report.exit_code, declaration(report)) == (ExitCode.OK, "unknown")  # nobody has read it
        assert lab.files.hashed == hashed
        lab.up(of_file())
        assert self.check(lab).notes == ()

    def test_check_knows_by_its_size_that_a_file_is_another_one(self):
        lab = made_lab()
        lab.up(of_file())
        write(lab, NEW)
        report = self.check(lab)
        told = f"{FILE} has not the size of the file that Ollama's model was made from; homellm up makes it anew."
        assert (report.notes, report.exit_code, declaration(report)) == ((told,), ExitCode.DEGRADED, "fail")

    def test_check_and_plan_know_one_of_the_same_size_and_date_by_its_sample(self):
        lab = made_lab()
        lab.up(of_file())
        lab.files.inodes[FILE] = 7
        assert (self.check(lab).notes, plan(lab.stack(of_file()), (), lab.ports(), lab.options).steps) == ((), ())
        lab.files.contents[FILE] = SAME_SIZE
        told = f"{FILE} is not the file that Ollama's model was made from; homellm up makes it anew."
        report = self.check(lab)
        assert (report.notes, report.exit_code, declaration(report)) == ((told,), ExitCode.DEGRADED, "fail")
        (step,) = plan(lab.stack(of_file()), (), lab.ports(), lab.options).steps
        assert step.cause.startswith(told)
        lab.up(of_file())
        assert self.check(lab).notes == ()

    def test_plan_says_what_will_be_done(self):
        lab = made_lab()
        lab.up(of_file())
        assert plan(lab.stack(of_file()), (), lab.ports(), lab.options).steps == ()
        write(lab, SAME_SIZE)
        (step,) = plan(lab.stack(of_file()), (), lab.ports(), lab.options).steps
        assert step.cause.startswith(f"{FILE} is newer than what Ollama serves")


def test_a_record_of_names_alone_is_read():
    lab = made_lab()
    ports = lab.ports()
    ports.state.put("http://x", b'{"made": ["smol:latest", 3]}')
    assert read_server_record(None, "http://x", ports).made == {"smol:latest": None}
    file = MadeFrom(FILE, 3, 4, ("ab", "cd"))
    write_server_record(None, "http://x", ServerRecord(made={"a": file, "b": None}), ports)
    assert read_server_record(None, "http://x", ports).made == {"a": file, "b": None}
    ports.state.put("http://x", b'{"made": {"a": {"path": 3}, "b": 7}}')
    assert read_server_record(None, "http://x", ports).made == {"a": None, "b": None}
