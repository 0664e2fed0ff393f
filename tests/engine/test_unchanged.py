"""The short cut of `up`: taken when nothing has changed, and never when anything has.

Whether it was taken is told by what the process loaded, never by time.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from homellm.adapters.docker_parse import engine_info
from homellm.adapters.lock import StackLock
from tests.engine.support.cli import Cli, Result
from tests.engine.support.ports import free_port
from tests.engine.support.removal import remove_by_force
from tests.fakes.gguf_bytes import llama
from tests.fakes.hub_server import hub_server

#: Has Python tell on stderr what it loads (docs of the command line, PYTHONPROFILEIMPORTTIME).
TELLS_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}
LOADED = re.compile(r"^import time:.*\| +(\S+)\n", re.MULTILINE)
HEAVY = {"docker", "pydantic", "ruamel", "typer", "rich", "httpx", "requests", "jinja2"}


@dataclass
class Bench:
    """A stack of one instant server on a name of its image and a way to the engine that a test can change."""

    cli: Cli
    api: docker.APIClient
    prefix: str
    port: int
    model: Path
    way: Path
    write: Callable[..., Path]
    image: str

    @property
    def container(self) -> str:
        return f"{self.prefix}-m"

    def declare(self, **keys: Any) -> None:
        base = {"source": f"gguf:{self.model}", "image": self.image, "parallel": 2, "port": self.port}
        self.write({"m": base | {"env": {"A": "${A_VALUE:-a}"}} | keys})

    def up(self, *arguments: str, **env: str) -> Result:
        return self.cli("up", *arguments, env=env)

    def pid(self) -> int:
        return int(self.api.inspect_container(self.container)["State"]["Pid"])


@pytest.fixture
def bench(
    cli: Cli,
    docker_api: docker.APIClient,
    prefix: str,
    stack_file: Callable[..., Path],
    make_instant: Callable[..., str],
    tmp_path: Path,
) -> Iterator[Bench]:
    way, model = tmp_path / "docker.sock", tmp_path / "models" / "m.gguf"
    model.parent.mkdir()
    model.write_bytes(llama().whole())
    way.symlink_to("/var/run/docker.sock")
    cli.env |= {**TELLS_IMPORTS, "DOCKER_HOST": f"unix://{way}"}
    image = f"{prefix}:serves"
    docker_api.tag(make_instant(), *image.split(":"), force=True)
    made = Bench(cli, docker_api, prefix, free_port(), model, way, stack_file, image)
    made.declare()
    yield made
    cli("down", env={"DOCKER_HOST": "unix:///var/run/docker.sock"})
    docker_api.remove_image(image, noprune=True)


def loaded(result: Result) -> set[str]:
    return {name.partition(".")[0] for name in LOADED.findall(result.stderr)}


def said(result: Result) -> tuple[int, str, str]:
    """What people and programs get of it."""
    return result.code, result.stdout, LOADED.sub("", result.stderr).partition("\n")[2]


def is_short(result: Result) -> bool:
    """Whether the short cut was taken to its end; a half of it would have loaded the rest as well."""
    assert "homellm" in loaded(result), result
    return not HEAVY & loaded(result)


@pytest.mark.parametrize("form", [(), ("--format", "json")])
def test_the_second_up_is_short_and_says_what_the_ordinary_way_says(bench: Bench, form: tuple[str, ...]) -> None:
    first = bench.up(*form)
    assert first.code == 0, first
    assert not is_short(first)
    second, ordinary = bench.up(*form), bench.up(*form, HOMELLM_NO_SHORT_CUT="1")
    assert is_short(second)
    assert not is_short(ordinary)
    assert said(second) == said(ordinary)
    assert second.code == 0
    third, fourth = bench.up(*form, HOMELLM_WHATEVER="x"), bench.up(*form, HOMELLM_WHATEVER="x")
    assert not is_short(third)
    assert is_short(fourth)
    assert said(third) == said(fourth) == said(second)


def restart(bench: Bench) -> None:
    bench.api.restart(bench.container, timeout=0)


def stop(bench: Bench) -> None:
    bench.api.stop(bench.container, timeout=2)


def kill(bench: Bench) -> None:
    bench.api.kill(bench.container)


def pause(bench: Bench) -> None:
    bench.api.pause(bench.container)


def remove(bench: Bench) -> None:
    remove_by_force(bench.api, bench.container)


def update_cpus(bench: Bench) -> None:
    bench.api.update_container(bench.container, cpuset_cpus="0")


def update_policy(bench: Bench) -> None:
    bench.api.update_container(bench.container, restart_policy={"Name": "no"})


def rename(bench: Bench) -> None:
    bench.api.rename(bench.container, f"{bench.prefix}-other")


def disconnect(bench: Bench) -> None:
    bench.api.disconnect_container_from_network(bench.container, f"homellm-{bench.prefix}")


def another_of_the_stack(bench: Bench) -> None:
    labels = {"homellm.stack": bench.prefix, "homellm.unit": "gone", "homellm.role": "serve"}
    bench.api.create_container(bench.image, name=f"{bench.prefix}-gone", labels=labels)


def touch(bench: Bench) -> None:
    os.utime(bench.model)


def replace_model(bench: Bench) -> None:
    other = bench.model.with_name("other")
    other.write_bytes(bench.model.read_bytes())
    other.replace(bench.model)


def cut_model(bench: Bench) -> None:
    bench.model.write_bytes(bench.model.read_bytes()[:40])


def edit_stack_file(bench: Bench) -> None:
    bench.declare(parallel=3)


def bind_to_one_cpu(bench: Bench) -> None:
    os.sched_setaffinity(bench.pid(), {0})


def look_by_hand(bench: Bench) -> None:
    assert bench.cli("check").code == 0


@pytest.mark.parametrize(
    "change",
    [
        restart,
        stop,
        kill,
        pause,
        remove,
        update_cpus,
        update_policy,
        rename,
        disconnect,
        another_of_the_stack,
        touch,
        replace_model,
        cut_model,
        edit_stack_file,
        bind_to_one_cpu,
        look_by_hand,
    ],
    ids=lambda change: change.__name__,
)
def test_a_change_leads_back_to_the_ordinary_way(bench: Bench, change: Callable[[Bench], None]) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    change(bench)
    after = bench.up()
    assert not is_short(after)
    # Without its network a container has no address, and nothing reaches it by its published port either.
    expected = {pause: 4, cut_model: 4, disconnect: 4, update_cpus: 5}.get(change, 0)
    assert after.code == expected, after


def test_a_variable_of_the_stack_file_counts(bench: Bench) -> None:
    assert bench.up(A_VALUE="one").code == 0
    assert is_short(bench.up(A_VALUE="one"))
    other = bench.up(A_VALUE="two")
    assert not is_short(other)
    assert "env.A changed" in other.stdout
    assert is_short(bench.up(A_VALUE="two"))


def test_a_tag_that_moved_is_seen(bench: Bench, make_instant: Callable[..., str]) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    bench.api.tag(make_instant(env={"INSTANT_SAY": "moved"}), *bench.image.split(":"), force=True)
    moved = bench.up()
    assert not is_short(moved)
    assert f"the content of the image {bench.image} changed" in moved.stdout


def test_a_server_that_hangs_is_told_by_the_ordinary_way(bench: Bench) -> None:
    limits = ("--stall-timeout", "8")
    assert bench.up(*limits).code == 0
    assert is_short(bench.up(*limits))
    os.kill(bench.pid(), signal.SIGSTOP)
    try:
        hung = bench.up(*limits)
        ordinary = bench.up(*limits, HOMELLM_NO_SHORT_CUT="1")
    finally:
        os.kill(bench.pid(), signal.SIGCONT)
    assert not is_short(hung)
    assert hung.code == ordinary.code == 4, hung
    assert not is_short(bench.up(*limits)), "what was kept before the failure must be gone"
    assert is_short(bench.up(*limits))


def test_another_server_on_its_port_is_none(bench: Bench) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    stop(bench)
    with socket.create_server(("127.0.0.1", bench.port)):
        taken = bench.up()
    assert not is_short(taken)
    assert taken.code == 4, taken
    assert str(bench.port) in taken.stdout


def test_a_daemon_that_is_away_is_told_by_the_ordinary_way(bench: Bench) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    bench.way.unlink()
    away = bench.up()
    assert not is_short(away)
    assert away.code == 3, away
    bench.way.symlink_to("/var/run/docker.sock")
    assert bench.up().code == 0


def test_somebody_who_has_the_lock_is_respected(bench: Bench) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    info = engine_info(bench.api.info(), address="unix:///var/run/docker.sock")
    with StackLock(info, bench.prefix):
        locked = bench.up()
    assert not is_short(locked)
    assert locked.code == 4, locked
    assert f"process {os.getpid()}" in locked.stderr


def test_a_key_is_asked_with_and_not_kept(bench: Bench) -> None:
    secret = "s3cret-of-the-test"
    bench.declare(api_key="${KEY}")
    assert bench.up(KEY=secret).code == 0
    short = bench.up(KEY=secret)
    assert is_short(short)
    assert short.code == 0
    kept = list((bench.cli.folder / "xdg_cache_home" / "homellm" / "unchanged").iterdir())
    assert kept
    assert all(secret not in file.read_text() for file in kept)
    assert not is_short(bench.up(KEY="another"))


def test_a_damaged_witness_is_none(bench: Bench) -> None:
    assert bench.up().code == 0
    assert is_short(bench.up())
    (kept,) = (bench.cli.folder / "xdg_cache_home" / "homellm" / "unchanged").iterdir()
    kept.write_text('{"format": 1, "subject"')
    after = bench.up()
    assert (after.code, is_short(after)) == (0, False)
    assert is_short(bench.up())


def test_a_real_server_is_confirmed_by_what_it_answers(bench: Bench, llama_image: str, smollm2: Path) -> None:
    """With locked weights, a cpuset of its own and a key: all that verdicts rest on /proc and a header for."""
    bench.declare(
        source=f"gguf:{smollm2}", image=llama_image, parallel=3, ctx=2048, mlock=True, cpuset="0", api_key="${KEY}"
    )
    first = bench.up(KEY="k")
    assert first.code == 0, first
    second, ordinary = bench.up(KEY="k"), bench.up(KEY="k", HOMELLM_NO_SHORT_CUT="1")
    assert is_short(second)
    assert said(second) == said(ordinary)
    assert "3 × 2048" in second.stdout
    bench.api.restart(bench.container, timeout=10)
    assert not is_short(bench.up(KEY="k"))


def test_a_model_of_a_hub_is_one_of_files_once_it_is_here(bench: Bench) -> None:
    with hub_server() as hub:
        hub.add("test/tiny", {"tiny-Q8_0.gguf": bench.model})
        bench.cli.env["HF_ENDPOINT"] = hub.endpoint
        bench.declare(source="hf:test/tiny:Q8_0")
        assert bench.up().code == 0
    assert not is_short(bench.up()), "what came while it ran is looked at once more"
    assert is_short(bench.up())
    (branch,) = (bench.cli.folder / "xdg_cache_home").glob("huggingface/hub/models--test--tiny/refs/main")
    branch.write_text("b" * 40)
    assert not is_short(bench.up())


def test_models_that_are_named_are_looked_at_alone(bench: Bench) -> None:
    bench.write(
        {name: {"source": f"gguf:{bench.model}", "image": bench.image, "port": free_port()} for name in ("m", "n")}
    )
    assert bench.up().code == 0
    assert bench.up("m").code == 0
    assert is_short(bench.up("m"))
    bench.api.restart(f"{bench.prefix}-n", timeout=0)
    assert not is_short(bench.up())
