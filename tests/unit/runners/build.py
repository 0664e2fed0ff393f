"""Short ways to say which model is declared and which world it meets."""

from pathlib import Path

from homellm.domain.dialect import Dialect
from homellm.domain.stack import Model, Place, Source, Stack
from homellm.domain.world import EngineInfo, Host, Image, World
from homellm.runners.dialect import parse_dialect
from homellm.runners.llama_server import build

HELP = Path(__file__).parents[2] / "fixtures" / "help"
IMAGE = "example/llama:tag"

VERSIONS = {
    "b11669": "version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU 16.2.0 for Linux x86_64\n",
    "b10434": "version: 0.1.0-dev (build 1, commit 7e4c0a9)\nbuilt with GNU 11.4.0 for Linux x86_64\n",
    "early-2025": "version: 4567 (6171c9d2)\nbuilt with cc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0\n",
}


def dialect(name: str) -> Dialect:
    return parse_dialect(VERSIONS[name], (HELP / f"{name}.txt").read_text())


def model(**changes) -> Model:
    base = {"name": "smol", "source": Source("gguf", "", Path("/srv/models/smol.gguf")), "image": IMAGE}
    return Model(**(base | changes))


def places(*keys: str) -> dict[str, Place]:
    """A place for each key: its line is its number in this call, counted from 1."""
    return {key: Place("/home/me/homellm.yaml", n, 5, f"    {key}: x") for n, key in enumerate(keys, 1)}


def world(
    build_name: str | Dialect | None = "b11669",
    *,
    log_driver="json-file",
    image=None,
    host=None,
    security=(),
    files=None,
) -> World:
    known = dialect(build_name) if isinstance(build_name, str) else build_name
    return World(
        engine=EngineInfo("id", "27.1", "/var/lib/docker", 8, 8 << 30, log_driver=log_driver),
        host=host or Host(readable=True, online_cpus=tuple(range(8))),
        images={IMAGE: image or Image("sha256:1", (IMAGE,))} if known else {},
        dialects={IMAGE: known} if known else {},
        model_files=files or {},
    )


def built(wanted: Model, build_name: str | Dialect | None = "b11669", **of_world):
    stack = Stack("nuc", Path("/home/me/homellm.yaml"), (wanted,))
    return build(wanted, stack, world(build_name, **of_world))


def argv(wanted: Model, build_name: str | Dialect | None = "b11669") -> list[str]:
    made = built(wanted, build_name)
    assert made.spec is not None, made.problems
    return list(made.spec.argv)


def value_of(words: list[str], flag: str) -> str | None:
    """The word after a flag; None where the flag is absent."""
    return words[words.index(flag) + 1] if flag in words else None
