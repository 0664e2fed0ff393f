"""`homellm doctor` as it is typed: on machines that are folders, on an engine that is a fake, and without one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from homellm.adapters import docker_engine
from homellm.cli.main import main
from homellm.errors import EngineUnreachable
from tests.fakes.engine import FakeEngine
from tests.fakes.gguf_bytes import llama
from tests.fakes.hosts import make
from tests.fakes.state import FakeState

Doctor = Callable[..., tuple[int, dict[str, Any]]]


@dataclass
class Bench:
    """What a test sets up: the engine's state, and the machine below `root`."""

    state: FakeState
    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def machine(self, name: str, extra: str = "") -> None:
        tree = make(name, self.folder, extra)
        self.monkeypatch.setenv("HOMELLM_HOST_ROOT", str(tree.root))

    def engine(self, **changes: Any) -> None:
        self.state.info = replace(self.state.info, **changes)

    def run_container(self, name: str, image: str, env: Mapping[str, str] | None = None, **body: Any) -> None:
        if self.state.find_image(image) is None:
            self.state.add_image(image)
        pairs = [f"{key}={value}" for key, value in (env or {}).items()]
        engine = FakeEngine(self.state)
        engine.start(engine.create(name, {"Image": image, "Env": pairs, **body}).id)

    def stack(self, text: str) -> None:
        (self.folder / "m.gguf").write_bytes(llama().whole())
        Path("homellm.yaml").write_text(text, encoding="utf-8")

    def json(self, *argv: str) -> tuple[int, dict[str, Any]]:
        code = main(["doctor", "--format", "json", *argv])
        return code, json.loads(self.capsys.readouterr().out)

    def text(self, *argv: str) -> tuple[int, str]:
        code = main(["doctor", *argv])
        return code, self.capsys.readouterr().out


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    state = FakeState(cpus=8)
    state.info = replace(state.info, version="27.1.1")
    monkeypatch.setattr(docker_engine, "connect", lambda *_: FakeEngine(state))
    for name in ("HOMELLM_FILE", "DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Bench(state, tmp_path, capsys, monkeypatch)


MODEL = "stack: nuc\nmodels: {m: {source: gguf:m.gguf, image: x, %s}}\n"


def on(api: str, how: str = "auto") -> str:
    address = "auto: true" if how == "auto" else how
    return "stack: nuc\ngpus: {card: {api: %s, %s}}\nmodels: {m: {source: gguf:m.gguf, image: x, gpu: card}}\n" % (  # noqa: UP031 - braces
        api,
        address,
    )


#: Cases of people's reports that concern a host: machine, stack, the error's id, and words of message and hint.
STOPPING = {
    "wsl2": ("wsl2", on("vulkan"), "wsl2-no-vulkan", ("WSL2", "Vulkan cannot be passed", "api: cuda")),
    "wsl2 by ROCm": ("wsl2", on("rocm"), "wsl2-no-vulkan", ("ROCm cannot be passed",)),
    "nvidia-toolkit-missing": (
        "nvidia-without-toolkit",
        on("cuda"),
        "nvidia-toolkit-missing",
        ("NVIDIA GeForce RTX 3070", "0000:01:00.0", "apt install nvidia-container-toolkit", "nvidia-ctk runtime"),
    ),
    "no NVIDIA GPU at all": ("iris-nuc", on("cuda"), "no-gpu", ("no NVIDIA card", "Iris Xe", "api: vulkan")),
    "no-render-node": ("unprivileged-lxc", on("vulkan"), "no-render-node", ("LXC", "renderD128", "pct set", "Incus")),
    "no-render-node, in a virtual machine": (
        "virtual-machine",
        on("vulkan"),
        "no-gpu",
        ("virtual machine (QEMU/KVM)", "pass the GPU through"),
    ),
    "no-render-node, no driver": (
        "arc-without-driver",
        on("vulkan"),
        "gpu-no-driver",
        ("no driver", "modprobe i915", "modprobe xe"),
    ),
    "two-gpus-wrong-one": (
        "swapped-intel-and-arc",
        on("vulkan"),
        "gpu-ambiguous",
        ("0000:00:02.0", "renderD129", "0000:03:00.0", "renderD128", 'pci: "0000:00:02.0"'),
    ),
    "two equal cards": ("two-equal-amd", on("vulkan", 'id: "1002:744c"'), "gpu-ambiguous", ("0000:06:00.0",)),
    "a card that is gone": ("iris-nuc", on("vulkan", 'pci: "0000:99:00.0"'), "gpu-not-there", ("8086:9a49",)),
    "cpuset beyond the machine": ("iris-nuc", MODEL % 'cpuset: "6-9"', "cpus-unavailable", ("CPU 8, 9", "0-7")),
}


@pytest.mark.parametrize("case", STOPPING, ids=str)
def test_what_would_stop_the_stack_is_told_with_what_to_type(bench: Bench, case: str) -> None:
    machine, stack, expected, words = STOPPING[case]
    bench.machine(machine, "program bash\n")
    bench.stack(stack)
    code, said = bench.json()
    assert code == 4
    assert said["stack"] == "nuc"
    (error,) = said["errors"]
    assert (error["id"], error["model"]) == (expected, "m")
    assert (error["file"], bool(error["line"])) == ("homellm.yaml", True)
    for word in words:
        assert word in f"{error['message']} {error['hint']}"


def test_mesa_index_lists_the_gpus_of_this_host_as_vendor_and_device(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.stack('stack: nuc\nmodels: {m: {source: gguf:m.gguf, env: {MESA_VK_DEVICE_SELECT: "1"}}}\n')
    code, said = bench.json()
    assert code == 2
    (error,) = said["errors"]
    assert (error["id"], error["line"]) == ("mesa-index", 2)
    assert error["column"] == 1 + len("models: {m: {source: gguf:m.gguf, env: {")
    assert "8086:9a49" in error["hint"]
    assert [gpu["id"] for gpu in said["host"]["gpus"]] == ["8086:9a49"]
    assert main(["up"]) == 2
    assert "8086:9a49" in bench.capsys.readouterr().err


def test_a_port_that_ollama_of_the_system_holds(bench: Bench) -> None:
    bench.machine("iris-nuc", "listen 127.0.0.1:11434 inode=77\nprocess 812 ollama unit=ollama.service sockets=77\n")
    bench.stack(MODEL % "port: 11434")
    bench.state.add_image("x")
    code, said = bench.json()
    assert code == 4
    (error,) = said["errors"]
    assert error["id"] == "port-taken"
    assert "ollama (pid 812, ollama.service)" in error["message"]
    assert "systemctl disable --now ollama.service" in error["hint"]
    (advice,) = said["advice"]
    assert advice["id"] == "ollama-on-host"
    assert "ollama.service" in advice["message"]
    assert "url: http://127.0.0.1:11434, log_from: journal" in advice["hint"]


def test_an_ollama_of_the_system_is_advice_alone_and_none_when_it_is_declared(bench: Bench) -> None:
    bench.machine("iris-nuc", "listen 127.0.0.1:11434 inode=77\nprocess 812 ollama unit=ollama.service sockets=77\n")
    code, said = bench.json()
    assert (code, [one["id"] for one in said["advice"]], said["stack"]) == (0, ["ollama-on-host"], None)
    bench.engine(version="27.1.1")
    (bench.folder / "named.yaml").write_text(
        "stack: nuc\nollama: {main: {url: 'http://127.0.0.1:11434', log_from: journal}}\n"
        "models: {m: {source: ollama:smol}}\n"
    )
    _, said = bench.json("-f", "named.yaml")
    assert said["advice"] == []


def test_a_port_that_a_container_holds_names_the_container(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.run_container(
        "postgres",
        "postgres",
        ExposedPorts={"5432/tcp": {}},
        HostConfig={"PortBindings": {"5432/tcp": [{"HostIp": "0.0.0.0", "HostPort": "5432"}]}},
    )
    bench.stack(MODEL % "port: 5432")
    code, said = bench.json()
    (error,) = said["errors"]
    assert (code, error["id"]) == (4, "port-taken")
    assert "published by the container postgres" in error["message"]


def test_an_image_that_is_not_here_and_that_nobody_is_to_bring(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.stack(MODEL % "pull: never")
    code, said = bench.json()
    (error,) = said["errors"]
    assert (code, error["id"], error["model"], error["line"]) == (4, "no-such-image", "m", 2)
    assert error["message"] == "the image x is not here, and pull is never"
    assert error["hint"] == "Make it or bring it here (docker pull x), or set pull: missing."
    bench.state.add_image("x")
    assert bench.json()[0] == 0


def test_an_image_that_has_to_come_is_told(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.stack(MODEL % "parallel: 3")
    code, said = bench.json()
    (advice,) = said["advice"]
    assert (code, advice["id"], advice["hint"]) == (0, "image-to-come", "Try it: homellm pull")
    assert "the image x is not here" in advice["message"]
    bench.state.add_image("x")
    assert bench.json() == (0, said | {"advice": []})


def test_a_name_that_somebody_else_holds(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.run_container("ollama-webui", "other/image")
    bench.stack(MODEL % "container_name: ollama-webui")
    code, said = bench.json()
    (error,) = said["errors"]
    assert (code, error["id"]) == (4, "name-taken")
    assert "docker rm ollama-webui" in error["hint"]


@pytest.mark.parametrize(
    ("machine", "engine", "id", "words"),
    [
        ("unprivileged-lxc", {}, "mlock-capped", ("LXC", "64 MiB", "lxc.prlimit.memlock")),
        (
            "iris-nuc",
            {"security": ("name=rootless",)},
            "mlock-capped",
            ("rootless", "LimitMEMLOCK=infinity", "mlock: false"),
        ),
    ],
)
def test_memory_that_cannot_be_locked(
    bench: Bench, machine: str, engine: dict[str, Any], id: str, words: tuple[str, ...]
) -> None:
    limit = "process 300 containerd\nfile /proc/300/limits\n    | Max locked memory  67108864  67108864  bytes\n"
    bench.machine(machine, "" if machine == "unprivileged-lxc" else limit)
    bench.engine(**engine)
    bench.stack(MODEL % "mlock: true")
    _, said = bench.json()
    (found,) = [one for one in said["errors"] + said["advice"] if one["id"] == id]
    for word in words:
        assert word in f"{found['message']} {found['hint']}"


@pytest.mark.parametrize(
    ("engine", "id", "words"),
    [
        ({"root_dir": "/var/snap/docker/common/var-lib-docker"}, "snap-docker", ("snap", "/home")),
        ({"security": ("name=rootless",)}, "user-namespace", ("rootless", "IPC_LOCK", "group")),
        ({"security": ("name=userns",)}, "user-namespace", ("userns-remap",)),
        ({"os": "Docker Desktop"}, "docker-desktop", ("virtual machine", "docker context use default")),
        ({"log_driver": "none"}, "no-logs", ("no evidence", "daemon.json")),
    ],
)
def test_kinds_of_engine_are_advice_without_a_stack(
    bench: Bench, engine: dict[str, Any], id: str, words: tuple[str, ...]
) -> None:
    bench.machine("no-gpu")
    bench.engine(**engine)
    code, said = bench.json()
    assert code == 0
    (advice,) = said["advice"]
    assert advice["id"] == id
    for word in words:
        assert word in f"{advice['message']} {advice['hint']}"


def test_docker_desktop_stops_a_stack_with_a_gpu(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.engine(os="Docker Desktop")
    bench.stack(on("vulkan"))
    code, said = bench.json()
    assert code == 4
    assert "docker-desktop-gpu" in [error["id"] for error in said["errors"]]


def test_every_gpu_is_told_with_the_number_of_its_group_here(bench: Bench) -> None:
    bench.machine("amd-apu")
    code, said = bench.json()
    assert (code, said["advice"]) == (0, [])
    (gpu,) = said["host"]["gpus"]
    wanted = {"pci": "0000:04:00.0", "id": "1002:1638", "vendor": "amd", "integrated": True, "api": "vulkan"}
    assert {key: gpu[key] for key in wanted} == wanted
    assert gpu["usable"] is True
    # the group is the node's own, 105 on this machine; a file tree shows it where the test may give files away
    assert gpu["render_gid"] == (105 if os.geteuid() == 0 else os.getgid())


def test_gpus_that_no_container_can_use_are_advice_without_a_stack(bench: Bench) -> None:
    bench.machine("nvidia-without-toolkit", "program bash\n")
    code, said = bench.json()
    assert code == 0
    (gpu,) = said["host"]["gpus"]
    assert (gpu["api"], gpu["usable"], gpu["problem"]) == ("cuda", False, "nvidia-toolkit-missing")
    (advice,) = said["advice"]
    assert "nvidia-ctk runtime configure" in advice["hint"]


def test_wsl2_and_a_management_controller(bench: Bench) -> None:
    bench.machine("wsl2")
    _, said = bench.json()
    assert said["host"]["wsl2"] is True
    (gpu,) = said["host"]["gpus"]
    assert (gpu["vendor"], gpu["api"], gpu["usable"], gpu["pci"]) == ("nvidia", "cuda", True, None)
    assert [advice["id"] for advice in said["advice"]] == ["wsl2"]
    bench.machine("no-gpu")
    _, said = bench.json()
    assert [(gpu["api"], gpu["usable"]) for gpu in said["host"]["gpus"]] == [(None, False)]
    assert said["advice"] == []


# -- clients


def test_an_open_webui_is_found_and_its_jobs_are_counted(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.run_container("chat", "ghcr.io/open-webui/open-webui:main", {"ENABLE_TAGS_GENERATION": "False"})
    bench.run_container("db", "postgres", {"POSTGRES_PASSWORD": "x"})
    code, said = bench.json()
    assert code == 0
    (web_ui,) = said["web_uis"]
    assert web_ui["container"] == "chat"
    assert web_ui["persistent_config"] is True
    assert "ENABLE_TAGS_GENERATION" not in web_ui["jobs"]
    assert len(web_ui["jobs"]) == 5
    jobs, ignored = said["advice"]
    assert (jobs["id"], ignored["id"]) == ("web-ui-jobs", "webui-env-ignored")
    assert "takes a slot: titles, follow-up questions, autocompletion" in jobs["message"]
    assert "ENABLE_FOLLOW_UP_GENERATION=False" in jobs["hint"]
    assert "ENABLE_TITLE_GENERATION=False" not in jobs["hint"]
    assert "ENABLE_TAGS_GENERATION may change nothing" in ignored["message"]
    assert "ENABLE_PERSISTENT_CONFIG=False" in ignored["hint"]


def test_without_a_stack_file_and_without_an_engine_the_host_is_told(bench: Bench) -> None:
    bench.machine("intel-nvidia-laptop")
    error = EngineUnreachable("No Docker Engine is running here.", hint="Start it.", id="engine-not-running")
    bench.monkeypatch.setattr(docker_engine, "connect", _raising(error))
    code, said = bench.json()
    assert code == 3
    assert [one["id"] for one in said["errors"]] == ["engine-not-running"]
    assert (said["stack"], said["engine"], said["models"]) == (None, None, [])
    assert said["host"]["cpus"] == list(range(20))
    assert [gpu["pci"] for gpu in said["host"]["gpus"]] == ["0000:00:02.0", "0000:01:00.0"]


def test_without_an_engine_host_and_files_are_held_against_the_stack(bench: Bench) -> None:
    bench.machine("wsl2", "listen 127.0.0.1:9000 inode=5\nprocess 44 nginx sockets=5\n")
    error = EngineUnreachable("No Docker Engine is running here.", hint="Start it.", id="engine-not-running")
    bench.monkeypatch.setattr(docker_engine, "connect", _raising(error))
    bench.stack(
        "stack: nuc\ngpus: {card: {api: vulkan, auto: true}}\n"
        "models:\n  a: {source: gguf:gone.gguf, port: 9000}\n  b: {source: gguf:m.gguf, gpu: card}\n"
    )
    code, said = bench.json()
    assert code == 3
    assert [(one["id"], one["model"]) for one in said["errors"]] == [
        ("engine-not-running", None),
        ("model-missing", "a"),
        ("port-taken", "a"),
        ("wsl2-no-vulkan", "b"),
    ]


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("engine-permission", "usermod -aG docker"),
        ("engine-not-running", "systemctl start docker"),
        ("engine-elsewhere", "docker context use default"),
    ],
)
def test_why_no_engine_answers_is_told_in_three_ways(bench: Bench, id: str, words: str) -> None:
    bench.monkeypatch.setattr(docker_engine, "connect", _raising(EngineUnreachable("no", hint=words, id=id)))
    bench.machine("iris-nuc")
    code, out = bench.text()
    assert code == 3
    assert words in out
    assert "Iris Xe" in out


def test_a_stack_file_that_is_wrong_is_told_beside_the_host(bench: Bench) -> None:
    bench.machine("iris-nuc")
    bench.stack("stack: nuc\nmodels: {m: {source: gguf:m.gguf, paralel: 3}}\n")
    code, said = bench.json()
    assert (code, said["stack"]) == (2, None)
    (error,) = said["errors"]
    assert (error["line"], "parallel" in f"{error['message']} {error['hint']}") == (2, True)
    assert said["engine"]["version"] == "27.1.1"


def test_a_stack_file_that_was_named_has_to_be_there(bench: Bench) -> None:
    bench.machine("iris-nuc")
    code, said = bench.json("-f", "gone.yaml")
    assert (code, said["errors"][0]["id"]) == (2, "stack-file")


def test_a_table_for_people(bench: Bench) -> None:
    bench.machine("iris-nuc", "listen 127.0.0.1:11434 inode=77\nprocess 812 ollama unit=ollama.service sockets=77\n")
    bench.stack(MODEL % "parallel: 3")
    bench.state.add_image("x")
    code, out = bench.text()
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("– host     Linux · 8 CPUs · 31.1 GiB, 28.7 GiB available")
    assert lines[1].startswith("✔ GPU      Intel Iris Xe Graphics (0000:00:02.0, 8086:9a49, renderD128")
    assert lines[1].endswith("Vulkan, integrated")
    assert lines[2].startswith("✔ engine   Docker 27.1.1")
    assert lines[4].startswith("!  an Ollama runs on this host itself (ollama.service)")
    assert lines[-1] == "✔ Nothing stands in the way of nuc (1 model). Next: homellm up"


def _raising(error: Exception) -> Callable[..., object]:
    def connect(*_: object) -> object:
        raise error

    return connect
