"""Weights that are symbolic links, as in Hugging Face's cache, are opened by a server in a container."""

from pathlib import Path

import pytest

from homellm.adapters.gguf_files import GgufFiles
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.world import EngineInfo, Host, World
from homellm.render.body import api_body
from homellm.runners.llama_server import build
from tests.engine.support.wait import wait_for


@pytest.mark.parametrize("kind", ["relative", "absolute", "twice"])
def test_a_server_follows_the_links(docker_api, instant_image, smollm2, tmp_path, prefix, kind):
    snapshot, blobs, hop = tmp_path / "snapshots" / "abc", tmp_path / "blobs", tmp_path / "hop"
    for folder in (snapshot, blobs, hop):
        folder.mkdir(parents=True)
    (blobs / "sha").hardlink_to(smollm2) if smollm2.stat().st_dev == tmp_path.stat().st_dev else (
        blobs / "sha"
    ).write_bytes(smollm2.read_bytes())
    weights = snapshot / "m.gguf"
    (hop / "m.gguf").symlink_to(blobs / "sha")
    weights.symlink_to({"relative": "../../blobs/sha", "absolute": blobs / "sha", "twice": "../../hop/m.gguf"}[kind])

    model = Model(name="m", source=Source("gguf", "", weights), image=instant_image, container_name=f"{prefix}-m")
    world = World(
        EngineInfo("id", "20.10", "/", 2, 8 << 30, "json-file"),
        Host(),
        model_files={str(weights): GgufFiles().look(weights)},
    )
    spec = build(model, Stack(prefix, Path("/s.yaml"), (model,)), world).spec
    docker_api.create_network(spec.networks[0].name)
    docker_api.create_container_from_config(api_body(spec, {}, restart="no"), spec.name)
    docker_api.start(spec.name)

    def settled() -> bool:
        log = docker_api.logs(spec.name).decode()
        return "listening on" in log or not docker_api.inspect_container(spec.name)["State"]["Running"]

    wait_for(settled, "the server listens or ends")
    assert "listening on" in docker_api.logs(spec.name).decode()
