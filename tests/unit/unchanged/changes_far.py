"""Single changes of what engine and server say."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.unit.unchanged.scene import Scene

OTHER = "f" * 64
Change = Callable[[Scene], None]


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


def with_images(scene: Scene) -> None:
    scene.props["modalities"] = {"vision": True}


FAR: tuple[Change, ...] = (
    *(restarted, of_another_process, paused, ended_and_came_back, renamed, policy_set_to_no, cpus_updated),
    *(memory_updated, of_another_image, joined_a_network, address_changed, published_elsewhere, mount_changed, gone),
    *(record_written_again, record_of_another_size, record_gone, tag_moved),
    *(engine_of_another_version, engine_with_other_logs, engine_with_another_runtime, engine_rootless),
    *(engine_of_another_id, a_successor_beside_it, an_orphan_beside_it, a_probe_left_behind),
    *(its_port_published_by_another, engine_silent, engine_talks_nonsense, engine_away),
    *(
        not_healthy,
        other_slots,
        other_ctx,
        other_alias,
        other_weights,
        other_build,
        asleep,
        other_template,
        with_images,
    ),
)
