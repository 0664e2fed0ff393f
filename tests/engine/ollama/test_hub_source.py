"""The last rung from a hub: pulled when the ladder comes to it, over cuts and kills, while Ollama serves on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.support.ollama_stack import SLOTS, by_name, chat
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for
from tests.fakes.hub_server import COMMIT, HubServer, hub_server

REPO, FILE = "test/hybrid-GGUF", "hybrid-F32.gguf"


@pytest.fixture
def hub(tiny_lfm2: Path) -> Iterator[HubServer]:
    """The hybrid as llama.cpp's converter writes it, beside a projector that is no model."""
    with hub_server() as server:
        server.add(REPO, {FILE: tiny_lfm2, "mmproj-hybrid-F32.gguf": b"GGUF" * 1024})
        yield server


@pytest.fixture
def declare(cli, hub):
    """Declares the hybrid of a canary with that source, and points homellm to the hub."""
    cli.env["HF_ENDPOINT"] = hub.endpoint

    def to(canary, **keys):
        canary.declare("hybrid", fallback_source=f"hf:{REPO}", pull="missing", **keys)
        canary.file()
        return canary

    return to


def only(result):
    (model,) = by_name(result).values()
    return model


def cached(cli) -> Path:
    return cli.folder / "xdg_cache_home" / "huggingface" / "hub" / "models--test--hybrid-GGUF"


def whole(cli) -> list[str]:
    """What looks whole in the cache: blobs without an unfinished name, and links to them."""
    blobs = [path.name for path in cached(cli).glob("blobs/*") if not path.name.endswith(".incomplete")]
    return blobs + [path.name for path in cached(cli).glob("snapshots/*/*")]


def moved(result, docker_api, prefix):
    """The model serves from the hub's file, and nothing else was left."""
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"], model["fallback"]["rung"]) == ("verified", "llama-server", "source")
    assert model["checks"]["slots"]["observed"] == SLOTS
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]
    return docker_api.inspect_container(f"{prefix}-hybrid")


def test_what_no_build_reads_is_served_from_the_hub(bare, declare, cli, hub, docker_api, prefix, ollama_log):
    declare(bare)
    planned = cli("plan")
    assert f"hf:{REPO} is pulled if nothing reads Ollama's file" in planned.stdout, planned
    assert hub.asked == []

    table = cli("up")
    assert table.code == 0, table
    assert f"pull hf:{REPO}" in table.stdout + table.stderr, table
    container = moved(bare.up(), docker_api, prefix)
    folder = cached(cli) / "snapshots" / COMMIT
    assert str(folder) in {mount["Source"] for mount in container["Mounts"]}
    assert sorted(path.name for path in folder.iterdir()) == [FILE]
    assert chat(bare.moved_port, "hybrid") == 200
    ours = (f"/api/models/{REPO}/revision/main", f"/{REPO}/resolve/{COMMIT}/{FILE}", f"/storage/{REPO}/{FILE}")
    assert {one.path for one in hub.asked} == set(ours)

    hub.close()
    loads = ollama_log.loads()
    again = moved(bare.up(), docker_api, prefix)
    assert (again["Id"], ollama_log.loads()) == (container["Id"], loads)
    check = cli("check", "--format", "json", env={"HF_HUB_OFFLINE": "1"})
    assert (check.code, only(check)["state"]) == (0, "verified"), check
    anew = bare.up("--force-recreate")
    assert (anew.code, only(anew)["state"], only(anew)["fallback"]["rung"]) == (0, "verified", "source"), anew
    assert docker_api.inspect_container(f"{prefix}-hybrid")["Id"] != container["Id"]


def test_a_hub_that_is_away_is_no_answer_for_ever(bare, declare, cli, hub, docker_api, prefix):
    declare(bare)
    cli.env["HF_ENDPOINT"] = away = f"http://127.0.0.1:{free_port()}"
    result = cli("up")
    assert result.code == 5, result
    assert f"source: the model hub {away} cannot be asked" in result.stdout
    assert "Then run homellm up again." in result.stdout
    assert chat(bare.port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]
    cli.env["HF_ENDPOINT"] = hub.endpoint
    moved(bare.up(), docker_api, prefix)


def test_nobody_is_asked_where_an_earlier_rung_serves_but_by_pull(ours, declare, cli, hub, tiny_lfm2):
    declare(ours)
    result = ours.up()
    assert (result.code, only(result)["fallback"]["rung"]) == (0, "bundled"), result
    assert hub.asked == []
    pulled = cli("pull")
    assert pulled.code == 0, pulled
    assert (cached(cli) / "snapshots" / COMMIT / FILE).read_bytes() == tiny_lfm2.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_a_pull_that_was_cut_off_is_gone_on_from(
    bare, declare, cli, hub, docker_api, prefix, ollama_log, tiny_lfm2, number
):
    declare(bare)
    hub.hold = threading.Event()
    running = cli.start("up")
    assert hub.holding.wait(120), running.stdout + running.stderr
    begun = next(iter(cached(cli).glob("blobs/*.incomplete")))
    half = tiny_lfm2.stat().st_size // 2
    wait_for(lambda: begun.stat().st_size == half, "half of the model is here")
    assert chat(bare.port, "hybrid") == 200  # by Ollama, as long as it takes
    running.signal(number)
    result = running.finish()
    assert result.code == (130 if number == signal.SIGINT else -signal.SIGKILL), result
    assert (whole(cli), begun.stat().st_size) == ([], half)
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]

    hub.hold.set()
    hub.hold = None
    hub.asked.clear()
    loads = ollama_log.loads()
    moved(bare.up(), docker_api, prefix)
    assert ollama_log.loads() == loads  # what was refused, and what no build reads, is known
    assert [one.range for one in hub.downloads() if one.range is None or one.range.endswith("-")] == [f"bytes={half}-"]
    assert chat(bare.moved_port, "hybrid") == 200
