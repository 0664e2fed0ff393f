"""Short ways to say what the engine holds and what is wanted."""

from pathlib import Path

from homellm.domain.names import LABEL_HASH, LABEL_RESTART, LABEL_ROLE, LABEL_STACK, LABEL_UNIT
from homellm.domain.spec import ContainerSpec
from homellm.domain.stack import Model, Source, Stack
from homellm.domain.world import Container, EngineInfo, Host, World
from homellm.planning.desired import Desired

NAME = "nuc-smol"
NEW, OLD = "hash-new", "hash-old"


def model(**changes):
    base = {"name": "smol", "source": Source("gguf", "", Path("/models/smol.gguf")), "image": "server"}
    return Model(**(base | changes))


def stack(*models):
    return Stack("nuc", Path("/home/me/homellm.yaml"), models or (model(),))


def container(name=NAME, digest=OLD, status="running", policy="unless-stopped", declared="unless-stopped", **more):
    labels = {
        LABEL_STACK: "nuc",
        LABEL_UNIT: "smol",
        LABEL_ROLE: "serve",
        LABEL_HASH: digest,
        LABEL_RESTART: declared,
    }
    return Container(
        id=f"id-{name}",
        name=name,
        image_id="sha256:1",
        image="server",
        status=status,
        labels=labels | more.pop("labels", {}),
        restart_policy=policy,
        **more,
    )


def desired(digest=NEW, **changes):
    return Desired("smol", ContainerSpec(NAME, "server"), digest, {}, **changes)


def world(**changes):
    engine = EngineInfo("id", "27.1", "/var/lib/docker", cpus=4, memory_bytes=8 << 30, log_driver="json-file")
    return World(**({"engine": engine, "host": Host(online_cpus=(0, 1, 2, 3))} | changes))
