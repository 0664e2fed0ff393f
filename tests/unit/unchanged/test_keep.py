"""Kept is only what is proved to be what was judged."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from homellm.adapters import docker_parse
from homellm.domain.evidence import Evidence, Props
from homellm.domain.world import Process
from homellm.unchanged import files
from tests.unit.unchanged.changes_far import OTHER, listed
from tests.unit.unchanged.scene import PRINTED, Scene

#: The record of the recorded container, as its engine told.
WRITTEN = datetime(2026, 11, 30, 21, 15, 40, 846962, UTC)


def judged(scene: Scene, **more: Any) -> Evidence:
    """Evidence in which the container was another one in some field."""
    container = docker_parse.container(scene.docs["inspect"])
    return scene.evidence(container=replace(container, **more))


def props(**more: Any) -> Props:
    return replace(Props(2, 4096, "m0", "/models/m.gguf", "b11669", False, {"supports_tools": True}), **more)


def process(scene: Scene, **more: Any) -> Process:
    seen = scene.evidence().process
    assert seen is not None
    return replace(seen, **more)


EVIDENCE: dict[str, Callable[[Scene], Evidence]] = {
    "started anew since": lambda scene: judged(scene, started_at="2026-11-30T20:00:00Z"),
    "another process since": lambda scene: judged(scene, pid=1),
    "restarted since": lambda scene: judged(scene, restart_count=1),
    "limits updated since": lambda scene: judged(scene, memory_bytes=2**30),
    "in other networks since": lambda scene: judged(scene, addresses={}),
    "another container since": lambda scene: judged(scene, created_at="2026-11-30T20:00:00Z"),
    "not healthy": lambda scene: scene.evidence(healthy=False),
    "health unknown": lambda scene: scene.evidence(healthy=None),
    "without /props": lambda scene: scene.evidence(props=None),
    "without an address": lambda scene: scene.evidence(url=""),
    "without a container": lambda scene: scene.evidence(container=None),
    "other slots since": lambda scene: scene.evidence(props=props(total_slots=1)),
    "other ctx since": lambda scene: scene.evidence(props=props(n_ctx=1)),
    "other alias since": lambda scene: scene.evidence(props=props(model_alias="x")),
    "other weights since": lambda scene: scene.evidence(props=props(model_path="x")),
    "other build since": lambda scene: scene.evidence(props=props(build_info="x")),
    "asleep since": lambda scene: scene.evidence(props=props(sleeping=True)),
    "other template since": lambda scene: scene.evidence(props=props(template_caps={})),
    "other modalities since": lambda scene: scene.evidence(props=props(modalities=("vision",))),
    "other CPUs since": lambda scene: scene.evidence(process=process(scene, cpus="7")),
    "other locked memory since": lambda scene: scene.evidence(process=process(scene, locked_bytes=4096)),
    "other groups since": lambda scene: scene.evidence(process=process(scene, groups=(4711,))),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_what_was_judged_must_be_what_is_kept(scene: Scene, case: str) -> None:
    assert not scene.keep(proved=scene.proved(EVIDENCE[case](scene)))
    assert scene.confirm() is None


def test_a_process_that_could_not_be_read_is_not_asked_for(scene: Scene) -> None:
    scene.docs["inspect"]["State"]["Pid"] = 2**22 + 1  # beyond every process (proc(5), pid_max)
    assert scene.keep(proved=scene.proved(scene.evidence(process=None)))
    assert scene.confirm() == PRINTED


def test_a_commit_changes_name_and_policy_after_the_proof(scene: Scene) -> None:
    seen = judged(scene, name="nuc-m0.next", restart_policy="no", health="starting")
    assert scene.keep(proved=scene.proved(seen))
    assert scene.confirm() == PRINTED


@pytest.mark.parametrize(("name", "policy"), [("nuc-m0.next", "unless-stopped"), ("nuc-m0", "no")])
def test_a_commit_that_is_not_whole_is_not_kept(scene: Scene, name: str, policy: str) -> None:
    scene.docs["inspect"]["Name"] = f"/{name}"
    scene.docs["inspect"]["HostConfig"]["RestartPolicy"]["Name"] = policy
    assert not scene.keep()


def test_a_record_that_was_written_after_the_proof_is_not_its(scene: Scene) -> None:
    assert not scene.keep(proved=scene.proved(until=WRITTEN.replace(microsecond=846000)))
    assert scene.keep(proved=scene.proved(until=WRITTEN.replace(microsecond=847000)))


@pytest.mark.parametrize("record", [None, {"size": 1, "mode": 420, "mtime": "1970-01-01T00:00:00Z"}])
def test_without_a_record_of_which_a_later_one_can_be_told_nothing_is_kept(scene: Scene, record: object) -> None:
    scene.docs["record"] = record
    assert not scene.keep()


def test_an_engine_that_changed_meanwhile_is_not_kept(scene: Scene) -> None:
    usual = scene.engine.server.answer

    def answer(path: str, headers: Any) -> Any:
        scene.docs["info"]["LoggingDriver"] = "journald"
        return usual(path, headers)

    scene.engine.server.answer = answer
    assert not scene.keep()


def test_an_image_whose_name_moved_meanwhile_is_not_kept(scene: Scene) -> None:
    scene.docs["image"]["Id"] = "sha256:" + OTHER
    assert not scene.keep()


def test_a_probe_that_was_left_behind_is_not_kept(scene: Scene) -> None:
    listed(scene, Labels={"homellm.role": "probe"}, State="exited", Created=int(time.time()) - 90)
    assert not scene.keep()


@pytest.mark.parametrize(("state", "age_s"), [("running", 90), ("exited", 1)])
def test_a_question_that_somebody_asks_an_image_just_now_does_not_matter(scene: Scene, state: str, age_s: int) -> None:
    listed(scene, Labels={"homellm.role": "probe"}, State=state, Created=int(time.time()) - age_s)
    assert scene.keep()
    scene.docs["list"].pop()
    assert scene.confirm() == PRINTED


def test_a_port_that_another_publishes_too_is_not_kept(scene: Scene) -> None:
    listed(scene, Ports=[{"IP": "10.0.0.1", "PrivatePort": 1, "PublicPort": scene.port, "Type": "tcp"}])
    assert not scene.keep()


@pytest.mark.parametrize(("name", "unit"), [("/nuc-m0.next", "m0"), ("/nuc-old", "old")])
def test_a_successor_or_an_orphan_that_came_meanwhile_is_not_kept(scene: Scene, name: str, unit: str) -> None:
    listed(scene, Names=[name], Labels={"homellm.stack": "nuc", "homellm.unit": unit})
    assert not scene.keep()


def test_predecessors_are_kept_with_it(scene: Scene) -> None:
    listed(scene, Names=["/nuc-m0.prev-1"], State="exited", Labels={"homellm.stack": "nuc", "homellm.unit": "m0"})
    assert scene.keep()
    assert scene.confirm() == PRINTED
    scene.docs["list"].pop()
    assert scene.confirm() is None


def test_what_a_template_tells_besides_its_abilities_does_not_matter(scene: Scene) -> None:
    scene.props["chat_template_caps"] = {"supports_tools": True, "kind": "jinja"}
    assert scene.keep()
    assert scene.confirm() == PRINTED


def test_containers_of_others_do_not_matter(scene: Scene) -> None:
    assert scene.keep()
    listed(scene, Labels={"homellm.stack": "other"}, Ports=[{"PrivatePort": 1, "PublicPort": 1, "Type": "tcp"}])
    listed(scene, Ports=[{"PrivatePort": 1, "PublicPort": scene.port, "Type": "udp"}])
    assert scene.confirm() == PRINTED


def test_what_time_alone_changes_does_not_matter(scene: Scene) -> None:
    assert scene.keep()
    scene.docs["list"][0]["Status"] = "Up 3 hours (healthy)"
    scene.docs["inspect"]["State"]["Health"] = {"Status": "healthy", "FailingStreak": 0, "Log": []}
    scene.docs["info"] |= {"Containers": 7, "NGoroutines": 7, "SystemTime": "2027-01-01T00:00:00Z"}
    scene.environ |= {"SHLVL": "3", "SSH_CLIENT": "10.0.0.1 1 22", "XDG_SESSION_ID": "7", "OLDPWD": "/"}
    assert scene.confirm() == PRINTED


def touch(scene: Scene) -> None:
    os.utime(scene.model_file)


def lead_elsewhere(scene: Scene) -> None:
    """Behind a link there is another file, which is older than all of this."""
    scene.model_file.unlink()
    scene.model_file.symlink_to(scene.folder / "older.gguf")


def move_folder(scene: Scene) -> None:
    folder = scene.docker_config.parent
    folder.rename(folder.with_name("before"))
    folder.with_name("older").rename(folder)


@pytest.mark.parametrize("change", [touch, lead_elsewhere, move_folder])
def test_a_file_that_changed_while_it_was_read_is_not_kept(scene: Scene, change: Callable[[Scene], None]) -> None:
    """Nobody knows whether the old or the new one was judged."""
    (scene.folder / "older.gguf").write_bytes(b"GGUF")
    for name in ("docker", "older"):
        (scene.folder / name).mkdir()
        (scene.folder / name / "config.json").write_text("{}")
    begun, before = scene.begin(), scene.files()
    change(scene)
    assert not scene.keep(begun, files=before)
    assert scene.keep(begun)


def test_files_whose_file_system_has_a_coarse_clock_are_not_kept(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAT and some network shares: what is written within its second looks as it was."""
    inode = files.inode

    def in_seconds(path: str) -> list[str | int]:
        return [fact // 10**9 * 10**9 if isinstance(fact, int) and fact > 10**18 else fact for fact in inode(path)]

    assert scene.keep()
    monkeypatch.setattr(files, "inode", in_seconds)
    assert not scene.keep()


def test_a_stack_file_that_changed_while_it_was_read_is_not_kept(scene: Scene) -> None:
    begun = scene.begin()
    scene.file.write_text(scene.file.read_text() + "# more\n")
    assert not scene.keep(begun)
    assert scene.keep()


@pytest.mark.parametrize("which", [{"code": ["other"]}, {"machine": {"texts": "other"}}])
def test_a_program_or_machine_that_changed_meanwhile_is_not_kept(scene: Scene, which: dict[str, Any]) -> None:
    assert not scene.keep(replace(scene.begin(), **which))


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ({"pull": "always"}, False),
        ({"pull": "never"}, True),
        ({"sleep_idle_s": 60}, True),
        ({"gpu": "iris"}, True),
        ({"gpu": "iris", "sleep_idle_s": 60}, False),
        ({"runner": "ollama"}, False),
        ({"image": "a b"}, False),
        ({"restart": "always"}, False),
    ],
)
def test_what_a_look_cannot_stand_for_is_not_kept(scene: Scene, keys: dict[str, Any], kept: bool) -> None:
    scene.model = replace(scene.model, **keys)
    assert scene.keep() is kept


@pytest.mark.parametrize(
    ("address", "keyed", "kept"),
    [("172.17.0.1", False, False), ("172.17.0.1", True, True), ("127.0.0.53", False, True), ("::1", False, True)],
)
def test_without_a_key_on_a_bridge_of_docker_s_it_is_not_kept(
    scene: Scene, address: str, keyed: bool, kept: bool
) -> None:
    """`exposure` passed since only containers reach that address, which may become one of the LAN's."""
    scene.docs["inspect"]["NetworkSettings"]["Ports"]["8080/tcp"][0]["HostIp"] = address
    if keyed:
        scene.with_key()
    assert scene.keep() is kept


def test_an_engine_that_is_not_reached_by_a_socket_is_not_kept(scene: Scene) -> None:
    engine = docker_parse.engine_info(scene.docs["info"], address="tcp://10.0.0.1:2375")
    from homellm.domain.stack import Stack  # noqa: PLC0415
    from homellm.unchanged.keep import keep  # noqa: PLC0415

    stack = Stack("nuc", scene.file, (scene.model,))
    assert not keep(scene.begin(), scene.environ, stack, engine, (scene.proved(),), {}, PRINTED)
