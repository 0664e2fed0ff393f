"""Devices, groups, CPUs and locked memory of real containers: the effect, read by LinuxHost, not the echo of inspect.

The render node is a made one (`mknod c 226 128`) in a described machine's /dev, since the machine that runs the tests
need not have a GPU. The engine is given the path of the made node; inside the container it stands where it always
does.
"""

import os
import stat
from pathlib import Path

import pytest

from homellm.adapters.host import LinuxHost
from homellm.domain.stack import Gpu
from homellm.domain.world import Container, EngineInfo
from homellm.gpu import passthrough, resolve
from tests.engine.support.wait import wait_for
from tests.fakes.hosts import make

HOST = LinuxHost(Path("/"), local=True)
ENGINE = EngineInfo(id="", version="20.10", root_dir="", cpus=1, memory_bytes=1, log_driver="json-file")

#: Says what opening the node led to, then stays. With no driver behind it a permitted open ends in ENXIO.
OPEN_AND_STAY = "if (exec 3<>/dev/dri/$NODE); then echo opened; fi; exec sleep 600"


@pytest.fixture
def machine(tmp_path):
    """A described machine whose render nodes are real device nodes with the group of the description."""
    if os.geteuid() != 0:
        pytest.fail("device nodes can be made by root alone. Next: sudo scripts/test", pytrace=False)

    def made(name):
        tree = make(name, tmp_path)
        for gpu in LinuxHost(tree.root, local=True).snapshot().gpus:
            node = tree.path(f"/dev/dri/{gpu.render_node}")
            major, minor = map(int, gpu.render_number.split(":"))
            node.unlink()
            os.mknod(node, 0o660 | stat.S_IFCHR, os.makedev(major, minor))
            node.chmod(0o660)  # mknod heeds the umask
            os.chown(node, 0, gpu.render_gid)
        return tree

    return made


@pytest.fixture
def start(docker_api, prefix):
    """Starts a container by docker-py alone and tells it as the Engine port would."""

    def started(image, command, **more):
        host = {key: more.pop(key) for key in list(more) if key not in ("user", "entrypoint", "environment")}
        made = docker_api.create_container(
            image, command, name=f"{prefix}-device", host_config=docker_api.create_host_config(**host), **more
        )
        docker_api.start(made["Id"])
        said = docker_api.inspect_container(made["Id"])
        return Container(
            id=said["Id"],
            name=said["Name"].lstrip("/"),
            image_id=said["Image"],
            image=image,
            status=said["State"]["Status"],
            pid=said["State"]["Pid"],
        )

    return started


def passed(tree, gpu):
    card = resolve(gpu, LinuxHost(tree.root, local=True).snapshot())
    return passthrough(gpu, card, ENGINE)


def opened(docker_api, container):
    """What the container said about opening its node."""
    return wait_for(lambda: docker_api.logs(container.id).decode(), f"{container.name} to say what it opened")


def with_node(start, tree, given, image, **more):
    node = Path(given.devices[0].host).name
    devices = [f"{tree.path(device.host)}:{device.container}:rwm" for device in given.devices]
    return start(
        image,
        ["-c", OPEN_AND_STAY],
        entrypoint=["/bin/sh"],
        environment={"NODE": node},
        devices=devices,
        user="1000:1000",
        **more,
    )


@pytest.mark.parametrize(
    ("name", "pci", "node", "number", "group"),
    [
        ("iris-nuc", "0000:00:02.0", "renderD128", (226, 128), 993),
        ("swapped-intel-and-arc", "0000:00:02.0", "renderD129", (226, 129), 44),
        ("two-equal-amd", "0000:06:00.0", "renderD129", (226, 129), 992),
    ],
)
def test_the_one_node_and_its_group_reach_the_process(
    docker_api, machine, start, llama_image, name, pci, node, number, group
):
    tree = machine(name)
    given = passed(tree, Gpu("gpu", "vulkan", pci=pci))
    container = with_node(start, tree, given, llama_image, group_add=[str(gid) for gid in given.group_add])
    said = opened(docker_api, container)
    assert "denied" not in said
    assert "not permitted" not in said
    process = HOST.process(container)
    assert process is not None
    assert group in process.groups
    inside = Path(f"/proc/{container.pid}/root/dev/dri")
    assert [entry.name for entry in inside.iterdir()] == [node]
    found = (inside / node).stat()
    assert stat.S_ISCHR(found.st_mode)
    assert (os.major(found.st_rdev), os.minor(found.st_rdev)) == number
    assert found.st_gid == group


def test_without_the_group_the_node_is_denied(docker_api, machine, start, llama_image):
    """What the group is for; and that the test above could fail."""
    tree = machine("iris-nuc")
    container = with_node(start, tree, passed(tree, Gpu("gpu", "vulkan", auto=True)), llama_image)
    assert "Permission denied" in opened(docker_api, container)
    process = HOST.process(container)
    assert process is not None
    assert 993 not in process.groups


@pytest.fixture
def served(start, instant_image, smollm2):
    """A server that maps and locks its weights; ready at once."""

    def made(*arguments, **host):
        mount = {"Type": "bind", "Source": str(smollm2), "Target": "/m.gguf", "ReadOnly": True}
        return start(instant_image, ["-m", "/m.gguf", *arguments], mounts=[mount], **host)

    return made


def test_cpus_and_locked_memory_are_those_of_the_process(served, smollm2):
    container = served("--load-mode", "mlock", cpuset_cpus="0", cap_add=["IPC_LOCK"])
    # the kernel counts locked memory before it has read all of it in
    process = wait_for(
        lambda: (seen := HOST.process(container)) and 0 < seen.locked_bytes <= seen.resident_bytes and seen,
        "the weights to be locked and read in",
    )
    assert process.cpus == "0"
    assert process.locked_bytes >= smollm2.stat().st_size
    assert process.read_bytes is not None  # the tests run as root


def test_nothing_is_locked_when_nobody_asked(docker_api, served):
    container = served()
    wait_for(lambda: b"listening" in docker_api.logs(container.id), "the server to listen")
    process = HOST.process(container)
    assert process is not None
    assert process.locked_bytes == 0


def test_a_process_of_another_container_is_unknown(served):
    container = served()
    foreign = Container(id="f" * 64, name="x", image_id="", image="", status="running", pid=container.pid)
    own = Container(id=container.id, name="x", image_id="", image="", status="running", pid=os.getpid())
    assert HOST.process(container) is not None
    assert HOST.process(foreign) is None
    assert HOST.process(own) is None


def test_a_container_that_was_stopped_has_no_process(docker_api, served):
    container = served()
    docker_api.kill(container.id)
    docker_api.wait(container.id)
    assert HOST.process(container) is None


def test_a_port_inside_a_container_is_not_one_of_the_host(docker_api, served):
    container = served("--port", "8080")
    wait_for(lambda: b"listening" in docker_api.logs(container.id), "the server to listen")
    listeners = HOST.snapshot().listeners
    assert listeners is not None
    assert container.pid not in {listener.pid for listener in listeners}
