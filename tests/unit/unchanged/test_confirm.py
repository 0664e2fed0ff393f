"""Every single thing that a witness rests on: as it was, it is confirmed; changed, the ordinary way decides."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from homellm.adapters.docker_parse import engine_info
from homellm.adapters.lock import StackLock
from homellm.unchanged import call, files, look, machine
from tests.unit.unchanged.changes_far import FAR, Change
from tests.unit.unchanged.changes_near import NEAR
from tests.unit.unchanged.scene import KEY, PRINTED, Scene


def test_what_was_proved_and_is_unchanged_is_printed_again(scene: Scene) -> None:
    assert scene.confirm() is None, "before anything was proved"
    assert scene.keep()
    assert scene.confirm() == PRINTED
    assert scene.confirm() == PRINTED


@pytest.mark.parametrize("change", [*FAR, *NEAR], ids=lambda change: change.__name__)
def test_one_change_is_enough(scene: Scene, change: Change) -> None:
    assert scene.keep()
    assert scene.confirm() == PRINTED
    change(scene)
    assert scene.confirm() is None


def test_the_folder_counts(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.keep()
    monkeypatch.chdir(scene.folder)
    assert scene.confirm() is None


@pytest.mark.parametrize("name", ["geteuid", "getegid"])
def test_the_user_counts(scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert scene.keep()
    monkeypatch.setattr(os, name, lambda: 4711)
    assert scene.confirm() is None


def test_a_witness_of_another_user_is_none(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.keep()
    path = scene.kept
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    key = call.key(scene.argv, scene.environ, scene.stdout)
    path.rename(path.with_name(f"{key}.json"))
    assert scene.confirm() is None


@pytest.mark.parametrize(
    ("room", "name", "value"), [(files, "code_facts", ["other"]), (machine, "machine_facts", {"texts": "other"})]
)
def test_program_and_machine_count(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, room: object, name: str, value: object
) -> None:
    assert scene.keep()
    monkeypatch.setattr(room, name, lambda **_: value)
    assert scene.confirm() is None


@pytest.mark.parametrize(("gpu", "asked"), [("iris", True), (None, False)])
def test_gpus_of_the_machine_are_looked_at_for_a_model_that_uses_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, gpu: str | None, asked: bool
) -> None:
    scene.model = replace(scene.model, gpu=gpu)
    assert scene.keep()
    seen: list[bool] = []
    usual = machine.machine_facts

    def noticed(*, gpus: bool) -> dict[str, str]:
        seen.append(gpus)
        return usual(gpus=gpus)

    monkeypatch.setattr(machine, "machine_facts", noticed)
    assert scene.confirm() == PRINTED
    assert seen == [asked]


@pytest.mark.parametrize("change", ["cpus", "locked"])
def test_the_process_itself_counts(scene: Scene, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """What no inspect tells: another mask of CPUs, memory that is not locked any more."""
    assert scene.keep()
    told = look.servers._text
    line = {"cpus": ("Cpus_allowed_list:\t", "Cpus_allowed_list:\t7,"), "locked": ("VmLck:\t", "VmLck:\t9")}[change]
    monkeypatch.setattr(look.servers, "_text", lambda path: told(path).replace(*line))
    assert scene.confirm() is None


def test_the_cgroup_tells_whose_process_it_is(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.keep()
    told = look.servers._text
    monkeypatch.setattr(look.servers, "_text", lambda path: "0::/other\n" if path.endswith("/cgroup") else told(path))
    assert scene.confirm() is None


def test_the_lock_is_respected_and_given_back(scene: Scene) -> None:
    assert scene.keep()
    info = engine_info(scene.docs["info"], address="unix:///docker.sock")
    with StackLock(info, "nuc"):
        assert scene.confirm() is None
    assert scene.confirm() == PRINTED
    with StackLock(info, "nuc"):
        pass


def test_the_lock_is_held_while_it_looks(scene: Scene) -> None:
    assert scene.keep()
    info = engine_info(scene.docs["info"], address="unix:///docker.sock")
    seen: list[bool] = []
    usual = scene.engine.server.answer

    def answer(path: str, headers: object) -> object:
        lock = StackLock(info, "nuc")
        seen.append(lock._bind())
        lock.release()
        return usual(path, headers)

    scene.engine.server.answer = answer
    assert scene.confirm() == PRINTED
    assert seen
    assert not any(seen)


def test_a_server_with_a_key_is_asked_with_it(scene: Scene) -> None:
    scene.with_key()
    assert scene.keep()
    scene.asked_with = ""
    assert scene.confirm() == PRINTED
    assert scene.asked_with == f"Bearer {KEY}"
    assert KEY not in scene.kept.read_text()


def test_a_key_that_was_changed_in_between_is_refused_by_the_server(scene: Scene) -> None:
    scene.with_key()
    assert scene.keep()
    scene.docs["inspect"]["Config"]["Env"] = ["A=b", "LLAMA_API_KEY=another"]
    assert scene.confirm() is None


@contextmanager
def hanging(scene: Scene) -> Iterator[None]:
    """A server that takes connections and never answers, at the place of the scene's."""
    scene.server.close()
    with socket.create_server(("127.0.0.1", scene.port)):
        yield


def test_a_server_that_hangs_is_left_to_the_ordinary_way(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.keep()
    monkeypatch.setattr(look, "WAIT_S", 0.05)
    with hanging(scene):
        assert scene.confirm() is None
    scene.server.server = UnusedServer()


class UnusedServer:
    """Stands for one that is closed already."""

    def shutdown(self) -> None:
        pass

    def server_close(self) -> None:
        pass


def test_what_it_loads_is_little() -> None:
    """In a process of its own: nothing of the packages that homellm stands on, and of homellm itself only this room."""
    code = (
        "import sys; before = set(sys.modules); from homellm.unchanged import look;"
        "from homellm.unchanged.confirm import confirmed;"
        "confirmed(['up'], {'HOME': '/nonexistent'}, sys.stdout); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    tops = {name.partition(".")[0] for name in found}
    assert "homellm" in tops
    assert tops <= {"homellm"} | set(sys.stdlib_module_names)
    heavy = {"dataclasses", "pathlib", "typing", "http", "urllib", "email", "ssl", "inspect", "tempfile", "threading"}
    assert not heavy & tops
    ours = {name for name in found if name.startswith("homellm.") and not name.startswith("homellm.unchanged")}
    assert ours == {"homellm.domain", "homellm.domain.lock_name"}
