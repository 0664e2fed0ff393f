"""A model of a hub, from nothing to verified by the real llama-server, over cuts, kills, and with the hub gone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for
from tests.fakes.hub_server import COMMIT, HubServer, hub_server, sha256

REPO = "test/smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def hub(smollm2: Path) -> Iterator[HubServer]:
    """The real model as a repository of a hub on this machine."""
    with hub_server() as server:
        server.add(REPO, {"README.md": b"# SmolLM2", FILE: smollm2})
        yield server


@pytest.fixture
def declare(stack_file, llama_image, cli, hub):
    """Writes the stack of one model of that hub, and points homellm to it."""
    cli.env["HF_ENDPOINT"] = hub.endpoint
    port = free_port()

    def write(**keys):
        base = {"source": f"hf:{REPO}:Q4_1", "image": llama_image, "parallel": 2, "ctx": 1024, "port": port}
        return stack_file({"smol": base | keys})

    return write


def only(result):
    (model,) = result.json["models"]
    return model


def cached(cli) -> Path:
    return cli.folder / "xdg_cache_home" / "huggingface" / "hub" / "models--test--smollm2"


def whole(cli) -> list[str]:
    """What looks whole in the cache: blobs without an unfinished name, and links to them."""
    blobs = [path.name for path in cached(cli).glob("blobs/*") if not path.name.endswith(".incomplete")]
    return blobs + [path.name for path in cached(cli).glob("snapshots/*/*")]


def test_from_nothing_to_verified_and_offline_with_the_hub_gone(cli, declare, hub, docker_api, prefix, smollm2):
    declare()
    planned = cli("plan")
    assert f"pull hf:{REPO}:Q4_1" in planned.stdout, planned
    assert "the model is not here: 94 MiB" in planned.stdout, planned
    assert whole(cli) == []

    result = cli("up", "--format", "json")
    assert result.code == 0, result
    assert only(result)["state"] == "verified"
    # the engine itself says what is mounted, and the link in it leads to the very content that the hub has
    mounts = {mount["Source"] for mount in docker_api.inspect_container(f"{prefix}-smol")["Mounts"]}
    assert mounts == {str(cached(cli) / "snapshots" / COMMIT), str(cached(cli) / "blobs")}
    assert sha256((cached(cli) / "snapshots" / COMMIT / FILE).read_bytes()) == sha256(smollm2.read_bytes())
    ours = (f"/api/models/{REPO}/revision/main", f"/{REPO}/resolve/{COMMIT}/{FILE}", f"/storage/{REPO}/{FILE}")
    assert {one.path for one in hub.asked} == set(ours)  # and nobody is told who calls

    hub.close()
    again = cli("up", "--format", "json")
    assert (again.code, only(again)["state"]) == (0, "verified"), again
    anew = cli("up", "--force-recreate", "--format", "json")
    assert (anew.code, only(anew)["state"]) == (0, "verified"), anew
    assert only(anew)["ready_s"] is not None
    offline = cli("check", "--format", "json", env={"HF_HUB_OFFLINE": "1"})
    assert only(offline)["state"] == "verified", offline


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_what_was_cut_off_is_gone_on_from(cli, declare, hub, docker_api, prefix, instant_image, tiny_lfm2, number):
    hub.add(REPO, {"tiny-Q4_1.gguf": tiny_lfm2})
    declare(image=instant_image)
    hub.hold = threading.Event()
    running = cli.start("up")
    assert hub.holding.wait(60), running.stderr
    begun = next(iter(cached(cli).glob("blobs/*.incomplete")))
    half = tiny_lfm2.stat().st_size // 2
    wait_for(lambda: begun.stat().st_size == half, "half of the model is here")
    running.signal(number)  # the hub still holds back the rest: who waited for it would never end
    result = running.finish()
    assert result.code == (130 if number == signal.SIGINT else -signal.SIGKILL), result
    assert whole(cli) == []
    assert docker_api.containers(all=True, filters={"name": prefix}) == []
    assert begun.stat().st_size == half

    hub.hold.set()
    hub.hold = None
    hub.asked.clear()
    result = cli("up", "--format", "json")
    assert (result.code, only(result)["state"]) == (0, "verified"), result
    assert [one.range for one in hub.downloads() if one.range is None or one.range.endswith("-")] == [f"bytes={half}-"]


def test_pull_never_brings_nothing(cli, declare, hub):
    declare(pull="never")
    result = cli("up", "--format", "json")
    assert result.code == 4, result
    assert [error["id"] for error in result.json["errors"]] == ["model-absent"]
    assert hub.asked == []


def test_a_quant_that_is_not_there_names_those_that_are(cli, declare, hub):
    declare(source=f"hf:{REPO}:Q8_0")
    result = cli("up")
    assert result.code == 4, result
    assert f"{REPO} has no model of the quant Q8_0" in result.stdout
    assert f"hf:{REPO}:Q4_1" in result.stdout
