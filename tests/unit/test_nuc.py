"""The command line that the NUC's owner pasted together, against the stack that declares it.

Every option and flag of the old line is accounted for below, one by one: kept with the same meaning, or put right. A
word of it that nobody accounts for fails the test.
"""

import shlex
from pathlib import Path

import pytest

from homellm.domain.dialect import Dialect
from homellm.domain.spec import HealthCheck
from homellm.domain.world import EngineInfo, Image, World
from homellm.loading.loader import load
from homellm.resources import stacks_root
from homellm.runners.dialect import value_words
from homellm.runners.llama_server import build
from tests.fakes.hosts import linux_host
from tests.unit.runners.build import dialect

OLD_LINE = Path(__file__).parents[1] / "fixtures" / "nuc-run.txt"
STACK = stacks_root() / "nuc-lfm2.yaml"
IMAGE = "ghcr.io/ggml-org/llama.cpp:server-vulkan"
BLOB = "sha256-02a8b7e17487d326e46d68ce0ba24211e1b80a14c4cd0597fa73c1cd697f52ed"

#: The short docker options of the old line, and those that take no value.
DOCKER_NAMES = {"-d": "--detach", "-p": "--publish", "-v": "--volume", "-e": "--env"}


def old_line() -> tuple[dict[str, list[str]], str, list[str]]:
    """The old line as docker options, image and server arguments."""
    words = shlex.split(OLD_LINE.read_text().replace("\\\n", " "))
    assert words[:3] == ["docker", "run", "-d"]
    options: dict[str, list[str]] = {"--detach": [""]}
    position = 3
    while words[position].startswith("-"):
        name = DOCKER_NAMES.get(words[position], words[position])
        options.setdefault(name, []).append(words[position + 1])
        position += 2
    return options, words[position], words[position + 1 :]


def by_meaning(argv: list[str], known: Dialect) -> dict[str, str | None]:
    """Flags by their first long spelling, so that `-c` and `--ctx-size` are one."""
    found: dict[str, str | None] = {}
    words = list(argv)
    while words:
        flag = known.flags[words.pop(0)]
        found[next(name for name in flag.names if name.startswith("--"))] = words.pop(0) if value_words(flag) else None
    return found


@pytest.fixture
def made(tmp_path):
    return make(tmp_path, "b11669")


def make(tmp_path, build_name):
    """The stack's container on the NUC, with the official image's health check."""
    stack = load(STACK, STACK.read_text(), {})
    (model,) = stack.models
    world = World(
        engine=EngineInfo("id", "27.1", "/var/lib/docker", cpus=8, memory_bytes=32 << 30, log_driver="json-file"),
        host=linux_host("iris-nuc", tmp_path).snapshot(),
        images={IMAGE: Image("sha256:1", (IMAGE,), health_check=HealthCheck(("CMD", "curl", "-f", "x"), 0))},
        dialects={IMAGE: dialect(build_name)},
    )
    result = build(model, stack, world)
    assert result.problems == ()
    return result


def test_no_server_flag_is_lost(made):
    _, _, argv = old_line()
    # b10434 still knows --mlock; the new argv is read as the newest build reads it.
    old, new = by_meaning(argv, dialect("b10434")), by_meaning(list(made.spec.argv), dialect("b11669"))
    put_right = {"--model", "--gpu-layers", "--mlock"}
    assert put_right <= set(old)
    for flag in set(old) - put_right:
        assert new[flag] == old[flag], flag
    assert set(old) - put_right == {
        *("--alias", "--parallel", "--ctx-size", "--flash-attn", "--ubatch-size", "--batch-size", "--cache-reuse"),
        *("--reasoning-preserve", "--jinja", "--host", "--port"),
    }
    for word in ("--jinja", "--reasoning-preserve"):  # and not their `--no-` forms
        assert word in argv
        assert word in made.spec.argv
    assert old["--model"] == f"/blobs/{BLOB}"
    assert new["--model"] == f"/models/{BLOB}"
    assert (old["--gpu-layers"], new["--gpu-layers"]) == ("99", "all")


def test_no_docker_option_is_lost(made):
    options, image, _ = old_line()
    spec = made.spec
    assert options.pop("--detach") == [""]
    assert options.pop("--restart") == [spec.restart]
    assert options.pop("--name") == [spec.name]
    assert options.pop("--cpuset-cpus") == [spec.cpuset]
    assert options.pop("--cpu-shares") == [str(spec.cpu_shares)]
    assert image == spec.image
    assert options.pop("--volume") == [f"{spec.mounts[0].source}:/blobs:ro"]
    assert spec.mounts[0].read_only
    (port,) = spec.ports
    assert options.pop("--publish") == [f"{port.host_port}:{port.container_port}"]
    # These four are there in another form: the tests below.
    assert set(options) == {"--device", "--group-add", "--env"}


def test_memory_is_really_locked(made):
    """--mlock is an invalid argument on today's builds, and without the capability it locked nothing on older ones."""
    assert "--mlock" not in made.spec.argv
    assert by_meaning(list(made.spec.argv), dialect("b11669"))["--load-mode"] == "mlock"
    assert made.spec.cap_add == ("IPC_LOCK",)


def test_the_flag_follows_the_image(tmp_path):
    old_build = by_meaning(list(make(tmp_path, "b10434").spec.argv), dialect("b10434"))
    assert old_build["--load-mode"] == "mlock"


def test_the_port_is_not_public_without_a_key(made):
    options, _, argv = old_line()
    assert options["--publish"] == ["11435:8080"]  # on every address
    assert "--api-key" not in argv
    assert [port.host_ip for port in made.spec.ports] == ["127.0.0.1"]


def test_one_node_and_the_group_of_this_host(made):
    options, _, _ = old_line()
    assert options["--device"] == ["/dev/dri:/dev/dri"]  # every GPU of the machine
    assert options["--group-add"] == ["992"]  # the group of some other machine
    assert [device.host for device in made.spec.devices] == ["/dev/dri/renderD128"]
    assert made.spec.group_add == (993,)  # what the described NUC's node belongs to
    assert "992" not in STACK.read_text()


def test_the_gpu_is_selected_and_not_merely_moved_to_the_front(made):
    options, _, _ = old_line()
    assert options["--env"] == ["GGML_VK_VISIBLE_DEVICES=0", "MESA_VK_DEVICE_SELECT=8086:9a49"]
    assert {variable.name: variable.value for variable in made.spec.env} == {"MESA_VK_DEVICE_SELECT": "8086:9a49!"}
    assert by_meaning(list(made.spec.argv), dialect("b11669"))["--device"] == "Vulkan0"


def test_what_the_old_line_left_to_chance(made):
    spec = made.spec
    assert by_meaning(list(spec.argv), dialect("b11669"))["--threads"] == "4"
    assert spec.log.options == {"max-size": "10m", "max-file": "3"}
    assert spec.health_check.start_period_s == 600
    assert spec.networks[0].name == "homellm-nuc"
    assert all(arg.because for arg in spec.args)


def test_a_build_of_early_2025_is_told_what_it_cannot_do(tmp_path):
    with pytest.raises(AssertionError, match="reasoning_preserve"):
        make(tmp_path, "early-2025")
