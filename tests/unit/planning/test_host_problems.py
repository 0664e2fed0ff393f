"""Problems of host and engine, model by model, before anything is created."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.stack import Gpu, Model, Place, Source, Stack
from homellm.domain.world import UNLIMITED, EngineInfo, Host, HostGpu, Listener
from homellm.errors import ExitCode, Problem
from homellm.planning.host_problems import host_problems
from homellm.planning.mlock import mlock_problem
from tests.fakes.hosts import linux_host

ENGINE = EngineInfo(
    id="E", version="27.1.1", root_dir="/var/lib/docker", cpus=8, memory_bytes=1, log_driver="json-file"
)
ROOTLESS = replace(ENGINE, security=("name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"))
IRIS = HostGpu(
    pci="0000:00:02.0",
    id="8086:9a49",
    vendor="intel",
    driver="i915",
    render_node="renderD128",
    render_gid=993,
    drm_node="renderD128",
)
HOST = Host(readable=True, gpus=(IRIS,), online_cpus=(0, 1), listeners=())
MODEL = Model(
    name="m",
    source=Source("gguf", "", Path("/srv/models/m.gguf")),
    image="x",
    places={
        "": Place("/s.yaml", 9, 3, "  m:"),
        "mlock": Place("/s.yaml", 11, 5, "    mlock: true"),
        "port": Place("/s.yaml", 12, 5, "    port: 11434"),
        "gpu": Place("/s.yaml", 13, 5, "    gpu: iris"),
        "source": Place("/s.yaml", 10, 5, "    source: gguf:/srv/models/m.gguf"),
    },
)
LOCKED = replace(MODEL, mlock=True)
VULKAN = Gpu("iris", "vulkan", pci="0000:00:02.0", place=Place("/s.yaml", 4, 3, "  iris:"))


def stack(*models: Model, gpus: tuple[Gpu, ...] = ()) -> Stack:
    return Stack(name="nuc", file=Path("/s.yaml"), models=models, gpus=gpus)


def only(problems: tuple[Problem, ...], id: str) -> Problem:
    (problem,) = problems
    assert problem.id == id
    assert problem.model == "m"
    assert problem.hint
    return problem


def test_a_plain_host_has_no_problem() -> None:
    on_gpu = replace(LOCKED, gpu="iris", port=11434)
    assert host_problems(stack(on_gpu, gpus=(VULKAN,)), HOST, ENGINE) == ()


@pytest.mark.parametrize(
    ("name", "api", "id"),
    [
        ("wsl2", "vulkan", "wsl2-no-vulkan"),
        ("no-gpu", "vulkan", "no-gpu"),
        ("unprivileged-lxc", "vulkan", "no-render-node"),
        ("arc-without-driver", "vulkan", "gpu-no-driver"),
        ("iris-nuc", "cuda", "no-gpu"),
        ("intel-nvidia-laptop", "vulkan", "gpu-ambiguous"),
    ],
)
def test_gpus_are_judged_for_each_model_that_uses_one(tmp_path: Path, name: str, api: str, id: str) -> None:
    gpu = Gpu("iris", "cuda" if api == "cuda" else "vulkan", auto=True, place=VULKAN.place)
    host = linux_host(name, tmp_path).snapshot()
    models = (replace(MODEL, name="a", gpu="iris"), replace(MODEL, name="b", gpu="iris"), replace(MODEL, name="cpu"))
    problems = host_problems(stack(*models, gpus=(gpu,)), host, ENGINE)
    assert [(problem.model, problem.id) for problem in problems] == [("a", id), ("b", id)]
    assert {problem.line for problem in problems} == {4}
    assert {problem.exit_code for problem in problems} == {ExitCode.REFUSED}


def test_a_gpu_that_no_model_uses_is_no_problem() -> None:
    assert host_problems(stack(MODEL, gpus=(replace(VULKAN, pci="0000:99:00.0"),)), HOST, ENGINE) == ()


def test_docker_desktop_has_no_gpu() -> None:
    desktop = replace(ENGINE, os="Docker Desktop")
    problem = only(
        host_problems(stack(replace(MODEL, gpu="iris"), gpus=(VULKAN,)), HOST, desktop), "docker-desktop-gpu"
    )
    assert problem.exit_code is ExitCode.REFUSED


@pytest.mark.parametrize(
    ("host", "engine", "where"),
    [
        (HOST, ROOTLESS, "rootless"),
        (HOST, replace(ENGINE, security=("name=userns",)), "userns-remap"),
        (replace(HOST, lxc=True, unprivileged=True), ENGINE, "LXC"),
    ],
)
def test_mlock_where_the_capability_has_no_effect(host: Host, engine: EngineInfo, where: str) -> None:
    limited = replace(host, memlock_bytes=8 * 1024**2)
    problem = only(host_problems(stack(LOCKED), limited, engine), "mlock-capped")
    assert where in problem.message
    assert "8 MiB" in problem.message
    assert "mlock: false" in problem.hint
    assert (problem.line, problem.exit_code) == (11, ExitCode.REFUSED)
    assert problem.excerpt is not None
    assert "mlock: true" in problem.excerpt
    assert host_problems(stack(MODEL), limited, engine) == ()
    assert host_problems(stack(LOCKED), replace(host, memlock_bytes=UNLIMITED), engine) == ()
    unknown = only(host_problems(stack(LOCKED), replace(host, memlock_bytes=None), engine), "mlock-capped")
    assert unknown.exit_code is ExitCode.OK


def test_mlock_with_a_limit_between_is_decided_by_the_weights() -> None:
    host = replace(HOST, memlock_bytes=1024**3)
    only(host_problems(stack(LOCKED), host, ROOTLESS), "mlock-capped")
    assert mlock_problem(LOCKED, host, ROOTLESS, weights_bytes=1024**3) is None
    too_large = mlock_problem(LOCKED, host, ROOTLESS, weights_bytes=1024**3 + 1)
    assert too_large is not None
    assert too_large.exit_code is ExitCode.REFUSED


def test_mlock_needs_no_limit_with_the_capability() -> None:
    assert host_problems(stack(LOCKED), replace(HOST, memlock_bytes=65536), ENGINE) == ()


@pytest.mark.parametrize(
    ("host", "engine"),
    [
        (Host(), replace(ENGINE, local=False)),
        (replace(HOST, contained=True), ENGINE),
        (HOST, replace(ENGINE, os="Docker Desktop")),
    ],
)
def test_mlock_that_cannot_be_proved_is_advice(host: Host, engine: EngineInfo) -> None:
    problem = only(host_problems(stack(LOCKED), host, engine), "mlock-unseen")
    assert problem.exit_code is ExitCode.OK


OLLAMA = Listener("127.0.0.1", 11434, pid=812, process="ollama", user="ollama", unit="ollama.service")


def test_a_port_that_a_service_holds_names_it_and_how_to_stop_it() -> None:
    host = replace(HOST, listeners=(OLLAMA,))
    problem = only(host_problems(stack(replace(MODEL, port=11434)), host, ENGINE), "port-taken")
    assert "ollama (pid 812, ollama.service)" in problem.message
    assert "127.0.0.1" in problem.message
    assert "systemctl disable --now ollama.service" in problem.hint
    assert "another port" in problem.hint
    assert (problem.line, problem.exit_code) == (12, ExitCode.REFUSED)


@pytest.mark.parametrize(
    ("bind", "address", "taken"),
    [
        ("127.0.0.1", "0.0.0.0", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "::", True),
        ("192.168.1.10", "127.0.0.1", False),
        ("127.0.0.1", "::1", False),
    ],
)
def test_a_port_collides_by_address(bind: str, address: str, taken: bool) -> None:
    host = replace(HOST, listeners=(replace(OLLAMA, address=address, unit=None),))
    problems = host_problems(stack(replace(MODEL, port=11434, bind=bind)), host, ENGINE)
    assert bool(problems) is taken
    if taken:
        assert "sudo kill 812" in problems[0].hint


@pytest.mark.parametrize("process", ["docker-proxy", "dockerd", None])
def test_ports_of_containers_and_of_unknown_holders_are_the_planners(process: str | None) -> None:
    host = replace(HOST, listeners=(Listener("127.0.0.1", 11434, pid=None, process=process),))
    assert host_problems(stack(replace(MODEL, port=11434)), host, ENGINE) == ()


def test_another_port_and_unknown_ports_are_no_problem() -> None:
    with_port = replace(MODEL, port=11435)
    assert host_problems(stack(with_port), replace(HOST, listeners=(OLLAMA,)), ENGINE) == ()
    assert host_problems(stack(with_port), replace(HOST, listeners=None), ENGINE) == ()
    assert host_problems(stack(MODEL), replace(HOST, listeners=(OLLAMA,)), ENGINE) == ()


def test_the_snap_of_docker_sees_only_some_folders() -> None:
    snap = replace(ENGINE, root_dir="/var/snap/docker/common/var-lib-docker")
    problem = only(host_problems(stack(MODEL), HOST, snap), "snap-docker")
    assert "/srv/models" in problem.message
    assert problem.exit_code is ExitCode.OK
    at_home = replace(MODEL, source=Source("gguf", "", Path("/home/ann/m.gguf")))
    assert host_problems(stack(at_home), HOST, snap) == ()


def test_selinux_is_told_of_only_where_host_and_daemon_enforce_it() -> None:
    labels = replace(ENGINE, security=("name=seccomp,profile=builtin", "name=selinux"))
    enforcing = replace(HOST, selinux=True)
    problem = only(host_problems(stack(MODEL), enforcing, labels), "selinux-label")
    assert "chcon -Rt container_file_t /srv/models" in problem.hint
    assert problem.exit_code is ExitCode.OK
    assert host_problems(stack(MODEL), HOST, labels) == ()
    assert host_problems(stack(MODEL), enforcing, ENGINE) == ()
