"""The dialects of real builds, asked of their images, and the argv of them tried on the real server."""

from pathlib import Path

import docker
import pytest

from homellm.domain.dialect import Dialect
from homellm.domain.stack import KvCacheType, Model, Source, Stack
from homellm.domain.world import EngineInfo, Host, World
from homellm.runners.dialect import parse_dialect
from homellm.runners.llama_server import build
from tests.engine.support.removal import remove_by_force
from tests.engine.support.wait import wait_for


def ask(api: docker.APIClient, image: str, name: str, question: str) -> str:
    """What `docker run --rm IMAGE --help` would print."""
    made = api.create_container(image, [question], name=name, host_config=api.create_host_config(network_mode="none"))
    try:
        api.start(made["Id"])
        api.wait(made["Id"])
        return api.logs(made["Id"]).decode()
    finally:
        remove_by_force(api, made["Id"])


def asked(api: docker.APIClient, image: str, prefix: str) -> Dialect:
    return parse_dialect(ask(api, image, f"{prefix}-v", "--version"), ask(api, image, f"{prefix}-h", "--help"))


def built(image: str, dialect: Dialect, **changes):
    model = Model(name="m", source=Source("gguf", "", Path("/srv/m.gguf")), image=image, **changes)
    engine = EngineInfo("id", "20.10", "/var/lib/docker", 2, 8 << 30, "json-file")
    return build(model, Stack("s", Path("/s.yaml"), (model,)), World(engine, Host(), dialects={image: dialect}))


@pytest.mark.parametrize(
    ("fixture", "build_known", "locks"),
    [
        ("llama_image", True, ("--load-mode", "mlock")),
        ("b10434_image", False, ("--load-mode", "mlock")),
        ("early_2025_image", True, ("--mlock",)),
    ],
)
def test_mlock_in_the_words_of_each_image(docker_api, prefix, request, fixture, build_known, locks):
    image = request.getfixturevalue(fixture)
    dialect = asked(docker_api, image, prefix)
    assert (dialect.build is not None) == build_known
    argv = built(image, dialect, mlock=True).spec.argv
    position = argv.index(locks[0])
    assert argv[position : position + len(locks)] == locks
    assert dialect.has("--reasoning-preserve") == (fixture != "early_2025_image")
    reasoning = built(image, dialect, reasoning_preserve=True)
    assert bool(reasoning.problems) == (fixture == "early_2025_image")


def test_the_real_server_takes_every_argument_that_is_made(docker_api, llama_image, smollm2, tmp_path, prefix):
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages[0].content }}")
    dialect = asked(docker_api, llama_image, prefix)
    made = built(
        llama_image,
        dialect,
        parallel=3,
        ctx=256,
        batch=256,
        ubatch=128,
        gpu_layers="all",
        flash_attention="on",
        kv_cache_type=KvCacheType("q8_0", "q8_0"),
        kv_unified=True,
        swa_full=True,
        cache_reuse=64,
        reasoning_preserve=True,
        jinja=True,
        mlock=True,
        sleep_idle_s=900,
        cpuset="0",
        chat_template_file=template,
        extra_args=("--temp", "0.5", "--no-warmup"),
    )
    argv = [word.replace("/models/m.gguf", f"/models/{smollm2.name}") for word in made.spec.argv]
    binds = {
        str(smollm2.parent): {"bind": "/models", "mode": "ro"},
        str(tmp_path): {"bind": "/templates", "mode": "ro"},
    }
    host_config = docker_api.create_host_config(binds=binds, network_mode="none", cap_add=list(made.spec.cap_add))
    container = docker_api.create_container(llama_image, argv, name=f"{prefix}-real", host_config=host_config)["Id"]
    docker_api.start(container)

    def log() -> str:
        return docker_api.logs(container).decode(errors="replace")

    def settled() -> bool:
        return "listening on" in log() or not docker_api.inspect_container(container)["State"]["Running"]

    wait_for(settled, "the server listens or ends", 120)
    said = log()
    assert "listening on http://0.0.0.0:8080" in said, said[-2000:]
    assert "n_slots = 3" in said
    assert "n_threads = 1 " in said
    assert "load_mode = mlock" in said
    assert "K (q8_0)" in said  # printed at the level that shows the evidence, and not at the default one
    remove_by_force(docker_api, container)
