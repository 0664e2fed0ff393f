"""The container of the API body, of the rendered docker run and of the rendered compose file are one under inspect."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.secret import Secret
from homellm.domain.spec import (
    Arg,
    ContainerSpec,
    Device,
    EnvVar,
    GpuRequest,
    HealthCheck,
    LogConfig,
    Mount,
    NetworkAttachment,
    PublishedPort,
)
from homellm.domain.stack import Model
from homellm.domain.world import EngineInfo, Image, World
from homellm.loading.loader import load
from homellm.render.compare import differences
from homellm.resources import stacks_root
from homellm.runners.llama_server import build
from homellm.runners.ollama_server import build as build_server
from tests.engine.support.ports import free_port
from tests.engine.support.renderings import by_api, by_compose, by_script
from tests.fakes.example_hosts import host_of
from tests.fakes.hosts import linux_host
from tests.unit.runners.build import dialect

#: Words that a shell, a CSV reader, YAML or Compose would each take for something else.
NASTY = ("a b", "$HOME ${HOME} $$", '"q"', "'q'", "`id`", "\\n", "line\nline", "on", "1:30", "a,b=c", "#x", "é→🦙", "")


@pytest.fixture(scope="session")
def checked_image(make_instant):
    """An image with a health check of its own, as the official one has it."""
    return make_instant(changes=('HEALTHCHECK --interval=7s --retries=9 CMD ["/llama-server", "--version"]',))


@pytest.fixture
def other_network(docker_api, prefix):
    name = f"{prefix}-aaa"  # before the first one in the alphabet, by which Compose would choose
    docker_api.create_network(name)
    return name


@pytest.fixture
def full(prefix, checked_image, other_network, tmp_path):
    """A spec that uses every field that this engine can create without a GPU."""
    models = tmp_path / 'mo"d,els'
    models.mkdir()
    return ContainerSpec(
        name=f"{prefix}-all",
        image=checked_image,
        args=(
            *(Arg("--alias", word, f"because of {word}") for word in NASTY),
            Arg("--jinja", None, "a switch"),
        ),
        entrypoint=("/llama-server", "--offline"),
        env=(
            *(EnvVar(f"WORD_{n}", word, word) for n, word in enumerate(NASTY)),
            EnvVar("LLAMA_API_KEY", Secret("s3cr$t 'key'"), "a key"),
        ),
        mounts=(
            Mount("bind", str(models), "/models", because="the weights"),
            Mount("bind", str(tmp_path), "/rw", read_only=False),
            Mount("volume", f"{prefix}-cache", "/cache", read_only=False),
            Mount("volume", f"{prefix}-shared", "/shared", read_only=True),
        ),
        ports=(PublishedPort("127.0.0.1", 1, 8080), PublishedPort("::1", 2, 8080), PublishedPort("0.0.0.0", 3, 8081)),
        networks=(
            NetworkAttachment(f"{prefix}-net", ("smol", "smol-2")),
            NetworkAttachment(other_network, ("smol",), external=True),
        ),
        restart="on-failure",
        cpuset="0",
        cpu_shares=512,
        memory_bytes=256 << 20,
        shm_size_bytes=128 << 20,
        cap_add=("IPC_LOCK",),
        devices=(Device("/dev/dri/renderD250", "/dev/dri/renderD128"),),
        group_add=(993, 44),
        log=LogConfig("json-file", {"max-size": "10m", "max-file": "3"}),
        health_check=HealthCheck(("CMD", "/llama-server", "--version"), 600),
        stop_grace_s=25,
        labels={f"com.example.{n}": word for n, word in enumerate(NASTY)},
    )


def assert_equal(api, spec, folder, project, **options):
    """All three ways give one container; what inspect shows of it."""
    if spec.networks:
        api.create_network(spec.networks[0].name)
    mine = by_api(api, spec, **options)
    script = by_script(api, spec, folder, **options)
    compose = by_compose(api, spec, folder, project, **options)
    assert [str(found) for found in differences(mine, script)] == []
    assert [str(found) for found in differences(script, compose)] == []
    return mine


def test_every_field(docker_api, full, tmp_path, prefix):
    shown = assert_equal(docker_api, full, tmp_path, prefix)
    config, host = shown["Config"], shown["HostConfig"]
    assert [shown["Path"], *shown["Args"]] == ["/llama-server", "--offline", *full.argv]
    for n, word in enumerate(NASTY):
        assert f"WORD_{n}={word}" in config["Env"]
        assert config["Labels"][f"com.example.{n}"] == word
    assert "LLAMA_API_KEY=s3cr$t 'key'" in config["Env"]
    assert config["Healthcheck"] == {
        "Test": ["CMD", "/llama-server", "--version"],
        "Interval": 7_000_000_000,
        "Retries": 9,
        "StartPeriod": 600_000_000_000,
    }
    assert config["StopTimeout"] == 25
    assert not host["Binds"]
    assert host["NetworkMode"] == full.networks[0].name
    assert set(shown["NetworkSettings"]["Networks"]) == {network.name for network in full.networks}
    assert host["RestartPolicy"] == {"Name": "on-failure", "MaximumRetryCount": 0}
    assert (host["CpusetCpus"], host["CpuShares"]) == ("0", 512)
    assert (host["Memory"], host["ShmSize"]) == (256 << 20, 128 << 20)
    assert host["GroupAdd"] == ["993", "44"]
    assert [device["PathOnHost"] for device in host["Devices"]] == ["/dev/dri/renderD250"]
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "3"}}
    assert host["PortBindings"] == {
        "8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": "1"}, {"HostIp": "::1", "HostPort": "2"}],
        "8081/tcp": [{"HostIp": "0.0.0.0", "HostPort": "3"}],
    }
    assert {mount["Destination"]: mount["RW"] for mount in shown["Mounts"]} == {
        "/models": False,
        "/rw": True,
        "/cache": True,
        "/shared": False,
    }
    assert not host.get("Init")


def test_next_to_nothing(docker_api, instant_image, tmp_path, prefix):
    bare = ContainerSpec(name=f"{prefix}-bare", image=instant_image, networks=(NetworkAttachment(f"{prefix}-net"),))
    shown = assert_equal(docker_api, bare, tmp_path, prefix)
    assert not shown["HostConfig"]["PortBindings"]
    assert shown["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"


@pytest.mark.parametrize("policy", ["no", "always", "unless-stopped"])
@pytest.mark.parametrize("log", [LogConfig("local", {"max-size": "1m"}), LogConfig("none"), None])
def test_policies_and_log_drivers(docker_api, instant_image, tmp_path, prefix, policy, log):
    spec = ContainerSpec(
        name=f"{prefix}-policy",
        image=instant_image,
        networks=(NetworkAttachment(f"{prefix}-net"),),
        restart=policy,
        log=log,
        stop_grace_s=0,
    )
    shown = assert_equal(docker_api, spec, tmp_path, prefix)
    assert shown["HostConfig"]["RestartPolicy"]["Name"] == policy
    assert shown["Config"]["StopTimeout"] == 0


def test_gpus_by_uuid(docker_api, instant_image, tmp_path, prefix):
    spec = ContainerSpec(
        name=f"{prefix}-gpu",
        image=instant_image,
        networks=(NetworkAttachment(f"{prefix}-net"),),
        gpu_requests=(GpuRequest("nvidia", ("GPU-5a3f", "GPU-6b4e")),),
    )
    (request,) = assert_equal(docker_api, spec, tmp_path, prefix)["HostConfig"]["DeviceRequests"]
    assert (request["DeviceIDs"], request["Count"]) == (["GPU-5a3f", "GPU-6b4e"], 0)
    assert request["Capabilities"] == [["gpu"]]


def test_gpus_by_cdi(docker_api, instant_image, tmp_path, prefix):
    """Engine and docker client pass devices by CDI from 25 on; older clients refuse the name, so they make none."""
    spec = ContainerSpec(
        name=f"{prefix}-cdi",
        image=instant_image,
        networks=(NetworkAttachment(f"{prefix}-net"),),
        gpu_requests=(GpuRequest("cdi", ("nvidia.com/gpu=GPU-5a3f",)),),
    )
    docker_api.create_network(f"{prefix}-net")
    mine = by_api(docker_api, spec)
    compose = by_compose(docker_api, spec, tmp_path, prefix)
    assert [str(found) for found in differences(mine, compose)] == []
    assert mine["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] == ["nvidia.com/gpu=GPU-5a3f"]
    if client_major() >= 25:
        assert differences(mine, by_script(docker_api, spec, tmp_path)) == []


def client_major() -> int:
    done = subprocess.run(
        ["docker", "version", "-f", "{{.Client.Version}}"], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split(".")[0])


def test_started_and_running(docker_api, checked_image, other_network, tmp_path, prefix):
    """The script as it stands, with its create, connect and start, and Compose's `up`."""
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    spec = ContainerSpec(
        name=f"{prefix}-run",
        image=checked_image,
        args=(Arg("--model", "/models/x.gguf"), Arg("--host", "0.0.0.0"), Arg("--port", "8080")),
        mounts=(Mount("bind", str(tmp_path), "/models"),),
        ports=(PublishedPort("127.0.0.1", free_port(), 8080),),
        networks=(NetworkAttachment(f"{prefix}-net", ("m",)), NetworkAttachment(other_network, ("m",), external=True)),
        health_check=HealthCheck((), 600),
    )
    shown = assert_equal(docker_api, spec, tmp_path, prefix, start=True)
    assert shown["State"]["Running"]
    networks = shown["NetworkSettings"]["Networks"]
    assert all("m" in networks[network.name]["Aliases"] for network in spec.networks)
    assert all(networks[network.name]["IPAddress"] for network in spec.networks)


def test_one_network_is_one_docker_run(docker_api, instant_image, tmp_path, prefix):
    spec = ContainerSpec(
        name=f"{prefix}-one",
        image=instant_image,
        args=(Arg("--host", "0.0.0.0"), Arg("--port", "8080")),
        networks=(NetworkAttachment(f"{prefix}-net", ("m",)),),
    )
    # The network is not there yet: the script makes it.
    script = by_script(docker_api, spec, tmp_path, start=True)
    assert script["State"]["Running"]
    assert differences(by_api(docker_api, spec, start=True), script) == []


def test_a_missing_folder_is_an_error_and_appears_nowhere(docker_api, instant_image, tmp_path, prefix):
    gone = tmp_path / "gone"
    spec = ContainerSpec(
        name=f"{prefix}-gone",
        image=instant_image,
        networks=(NetworkAttachment(f"{prefix}-net"),),
        mounts=(Mount("bind", str(gone), "/models"),),
    )
    docker_api.create_network(f"{prefix}-net")
    with pytest.raises(Exception, match="does not exist"):
        by_api(docker_api, spec)
    with pytest.raises(AssertionError, match="does not exist"):
        by_script(docker_api, spec, tmp_path)
    with pytest.raises(AssertionError, match="does not exist"):
        by_compose(docker_api, spec, tmp_path, prefix)
    assert not gone.exists()


EXAMPLES = sorted(stacks_root().glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_every_example(docker_api, checked_image, tmp_path, prefix, example):
    """On the machine that it is written for, a tree of files; only names, folders and the image are this test's own."""
    for n, spec in enumerate(example_specs(docker_api, example, checked_image, tmp_path)):
        mine = replace(
            spec,
            name=f"{prefix}-{n}",
            mounts=tuple(
                replace(mount, source=str(tmp_path) if mount.kind == "bind" else f"{prefix}-{n}")
                for mount in spec.mounts
            ),
            networks=tuple(replace(network, name=f"{prefix}-{n}-{network.name}") for network in spec.networks),
        )
        assert_equal(docker_api, mine, tmp_path, prefix)


def example_specs(api, example: Path, image: str, tmp_path: Path) -> list[ContainerSpec]:
    stack = load(example, example.read_text(), {"HOMELLM_LLAMA_IMAGE": image, "HOMELLM_OLLAMA_IMAGE": image})
    info = api.info()
    world = World(
        engine=EngineInfo(info["ID"], "20.10", info["DockerRootDir"], 8, 8 << 30, info["LoggingDriver"]),
        host=linux_host(host_of(example.stem), tmp_path).snapshot(),
        images={image: Image(api.inspect_image(image)["Id"], (image,), health_check=HealthCheck(("CMD", "x"), 0))},
        dialects={image: dialect("b11669")},
    )
    own = [brought(model, tmp_path) for model in stack.models if model.runner == "llama-server"]
    built = [build(model, stack, world) for model in own]
    built += [build_server(server, stack.models_on(server), stack, world) for server in stack.ollama if server.ours]
    assert [made.problems for made in built if made.problems] == []
    return [replace(made.spec, cpuset="0") if made.spec.cpuset else made.spec for made in built]


def brought(model: Model, tmp_path: Path) -> Model:
    """A model of a hub as it is once its file has come: the container is made from the path."""
    if model.source.kind != "hf":
        return model
    return replace(model, source=replace(model.source, path=tmp_path / "hub.gguf"))


def test_the_docker_that_runs_the_scripts_is_real():
    docker = shutil.which("docker")
    assert docker is not None
    assert os.path.getsize(docker) > 1_000_000  # noqa: PTH202 - a program, not a stand-in
