"""Every single thing that a witness rests on: as it was, it is confirmed; changed, the ordinary way decides."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from homellm.adapters.docker_parse import engine_info
from homellm.adapters.lock import StackLock
from homellm.unchanged import call, files, look, machine
from tests.unit.unchanged.scene import KEY, PRINTED, Scene

OTHER = "f" * 64


def test_what_was_proved_and_is_unchanged_is_printed_again(scene: Scene) -> None:
    assert scene.confirm() is None, "before anything was proved"
    assert scene.keep()
    assert scene.confirm() == PRINTED
    assert scene.confirm() == PRINTED


def inspect(scene: Scene, where: str, value: object) -> None:
    *way, last = where.split(".")
    doc = scene.docs["inspect"]
    for name in way:
        doc = doc[name]
    doc[last] = value


def listed(scene: Scene, **more: object) -> None:
    """One more container in the list."""
    other = {"Id": OTHER, "Names": ["/x"], "Labels": {}, "State": "running", "ImageID": "sha256:1", "Ports": []}
    scene.docs["list"].append(other | more)


def restarted(scene: Scene) -> None:
    inspect(scene, "State.StartedAt", "2026-11-30T22:15:40.75779834Z")


def of_another_process(scene: Scene) -> None:
    inspect(scene, "State.Pid", 1)


def paused(scene: Scene) -> None:
    inspect(scene, "State.Status", "paused")


def ended_and_came_back(scene: Scene) -> None:
    inspect(scene, "RestartCount", 1)


def renamed(scene: Scene) -> None:
    inspect(scene, "Name", "/nuc-other")


def policy_set_to_no(scene: Scene) -> None:
    inspect(scene, "HostConfig.RestartPolicy", {"Name": "no", "MaximumRetryCount": 0})


def cpus_updated(scene: Scene) -> None:
    inspect(scene, "HostConfig.CpusetCpus", "0")


def memory_updated(scene: Scene) -> None:
    inspect(scene, "HostConfig.Memory", 2**30)


def of_another_image(scene: Scene) -> None:
    inspect(scene, "Image", "sha256:" + OTHER)


def joined_a_network(scene: Scene) -> None:
    networks = scene.docs["inspect"]["NetworkSettings"]["Networks"]
    networks["other"] = dict(networks["homellm-nuc"])


def address_changed(scene: Scene) -> None:
    scene.docs["inspect"]["NetworkSettings"]["Networks"]["homellm-nuc"]["IPAddress"] = "192.168.176.3"


def published_elsewhere(scene: Scene) -> None:
    scene.docs["inspect"]["NetworkSettings"]["Ports"]["8080/tcp"][0]["HostIp"] = "0.0.0.0"


def mount_changed(scene: Scene) -> None:
    scene.docs["inspect"]["Mounts"][0]["RW"] = True


def gone(scene: Scene) -> None:
    inspect(scene, "Id", OTHER)


def record_written_again(scene: Scene) -> None:
    scene.docs["record"]["mtime"] = "2026-11-30T21:15:41.8469625Z"


def record_of_another_size(scene: Scene) -> None:
    scene.docs["record"]["size"] += 1


def record_gone(scene: Scene) -> None:
    scene.docs["record"] = None


def tag_moved(scene: Scene) -> None:
    scene.docs["image"]["Id"] = "sha256:" + OTHER


def engine_of_another_version(scene: Scene) -> None:
    scene.docs["info"]["ServerVersion"] = "27.1.1"


def engine_with_other_logs(scene: Scene) -> None:
    scene.docs["info"]["LoggingDriver"] = "journald"


def engine_with_another_runtime(scene: Scene) -> None:
    scene.docs["info"]["Runtimes"]["nvidia"] = {"path": "nvidia-container-runtime"}


def engine_rootless(scene: Scene) -> None:
    scene.docs["info"]["SecurityOptions"].append("name=rootless")


def engine_of_another_id(scene: Scene) -> None:
    scene.docs["info"]["ID"] = "other"


def a_successor_beside_it(scene: Scene) -> None:
    listed(scene, Names=["/nuc-m0.next"], Labels={"homellm.stack": "nuc", "homellm.unit": "m0"})


def an_orphan_beside_it(scene: Scene) -> None:
    listed(scene, Names=["/nuc-old"], State="exited", Labels={"homellm.stack": "nuc", "homellm.unit": "old"})


def a_probe_left_behind(scene: Scene) -> None:
    listed(scene, Labels={"homellm.role": "probe"}, State="exited", Created=int(time.time()) - 90)


def its_port_published_by_another(scene: Scene) -> None:
    listed(scene, Ports=[{"IP": "0.0.0.0", "PrivatePort": 1, "PublicPort": scene.port, "Type": "tcp"}])


def engine_silent(scene: Scene) -> None:
    scene.engine.server.answer = lambda *_: time.sleep(0.2) or (500, b"", {})


def engine_talks_nonsense(scene: Scene) -> None:
    scene.engine.server.answer = lambda *_: (200, b"[]", {})


def engine_away(scene: Scene) -> None:
    (scene.folder / "docker.sock").unlink()


def not_healthy(scene: Scene) -> None:
    scene.health = 503


def other_slots(scene: Scene) -> None:
    scene.props["total_slots"] = 1


def other_ctx(scene: Scene) -> None:
    scene.props["default_generation_settings"] = {"n_ctx": 2048}


def other_alias(scene: Scene) -> None:
    scene.props["model_alias"] = "somebody-else"


def other_weights(scene: Scene) -> None:
    scene.props["model_path"] = "/models/other.gguf"


def other_build(scene: Scene) -> None:
    scene.props["build_info"] = "b11700"


def asleep(scene: Scene) -> None:
    scene.props["is_sleeping"] = True


def other_template(scene: Scene) -> None:
    scene.props["chat_template_caps"] = {}


def model_touched(scene: Scene) -> None:
    os.utime(scene.model_file)


def model_replaced(scene: Scene) -> None:
    other = scene.model_file.with_name("other")
    other.write_bytes(scene.model_file.read_bytes())
    other.replace(scene.model_file)


def model_behind_a_link(scene: Scene) -> None:
    other = scene.model_file.with_name("other")
    scene.model_file.rename(other)
    scene.model_file.symlink_to(other)


def model_gone(scene: Scene) -> None:
    scene.model_file.unlink()


def docker_context_chosen(scene: Scene) -> None:
    scene.docker_config.parent.mkdir()
    scene.docker_config.write_text('{"currentContext": "elsewhere"}')


def stack_file_changed(scene: Scene) -> None:
    """In the same second, with the same size, and with its times set back."""
    before = scene.file.stat()
    scene.file.write_text(scene.file.read_text().replace("m.gguf", "n.gguf"))
    os.utime(scene.file, ns=(before.st_atime_ns, before.st_mtime_ns))


def stack_file_gone(scene: Scene) -> None:
    scene.file.unlink()


def variable_of_the_file(scene: Scene) -> None:
    scene.environ["A_VALUE"] = "b"


def variable_of_the_file_unset(scene: Scene) -> None:
    del scene.environ["A_VALUE"]


def another_engine_named(scene: Scene) -> None:
    scene.environ["DOCKER_HOST"] = "unix:///elsewhere.sock"


def without_colour(scene: Scene) -> None:
    scene.environ["NO_COLOR"] = "1"


def another_hub_cache(scene: Scene) -> None:
    scene.environ["HF_HOME"] = "/elsewhere"


def root_of_the_machine_named(scene: Scene) -> None:
    scene.environ["HOMELLM_HOST_ROOT"] = "/host"


def switched_off(scene: Scene) -> None:
    scene.environ["HOMELLM_NO_SHORT_CUT"] = "1"


def asked_for_json(scene: Scene) -> None:
    scene.argv = [*scene.argv, "--format", "json"]


def asked_for_one_model(scene: Scene) -> None:
    scene.argv = [*scene.argv, "m0"]


def told_in_another_encoding(scene: Scene) -> None:
    scene.stdout.encoding = "ascii"  # type: ignore[misc]


def told_to_nobody(scene: Scene) -> None:
    scene.stdout = None  # type: ignore[assignment]


def witness_cut(scene: Scene) -> None:
    data = scene.kept.read_bytes()
    scene.kept.write_bytes(data[: len(data) // 2])


def witness_of_another_format(scene: Scene) -> None:
    scene.kept.write_text(scene.kept.read_text().replace('"format": 1', '"format": 0'))


def witness_without_facts(scene: Scene) -> None:
    scene.kept.write_text('{"format": 1, "subject": {}, "facts": {}}')


def witness_open_to_others(scene: Scene) -> None:
    scene.kept.chmod(0o666)


def witness_huge(scene: Scene) -> None:
    with scene.kept.open("ab") as file:
        file.write(b" " * 2**20)


def witness_behind_a_link(scene: Scene) -> None:
    kept = scene.kept
    kept.rename(scene.folder / "moved")
    kept.symlink_to(scene.folder / "moved")


def witness_a_pipe(scene: Scene) -> None:
    kept = scene.kept
    kept.unlink()
    os.mkfifo(kept)


CHANGES: tuple[Callable[[Scene], None], ...] = (
    *(restarted, of_another_process, paused, ended_and_came_back, renamed, policy_set_to_no, cpus_updated),
    *(memory_updated, of_another_image, joined_a_network, address_changed, published_elsewhere, mount_changed, gone),
    *(record_written_again, record_of_another_size, record_gone, tag_moved),
    *(engine_of_another_version, engine_with_other_logs, engine_with_another_runtime, engine_rootless),
    *(engine_of_another_id, a_successor_beside_it, an_orphan_beside_it, a_probe_left_behind),
    *(its_port_published_by_another, engine_silent, engine_talks_nonsense, engine_away),
    *(not_healthy, other_slots, other_ctx, other_alias, other_weights, other_build, asleep, other_template),
    *(model_touched, model_replaced, model_behind_a_link, model_gone, docker_context_chosen),
    *(stack_file_changed, stack_file_gone, variable_of_the_file, variable_of_the_file_unset),
    *(another_engine_named, without_colour, another_hub_cache, root_of_the_machine_named, switched_off),
    *(asked_for_json, asked_for_one_model, told_in_another_encoding, told_to_nobody),
    *(witness_cut, witness_of_another_format, witness_without_facts, witness_open_to_others, witness_huge),
    *(witness_behind_a_link, witness_a_pipe),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_one_change_is_enough(scene: Scene, change: Callable[[Scene], None]) -> None:
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
    monkeypatch.setattr(room, name, lambda: value)
    assert scene.confirm() is None


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
    monkeypatch.setattr(look.servers, "_WAIT_S", 0.05)
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
        "import sys; before = set(sys.modules); from homellm.unchanged.confirm import confirmed;"
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
