"""What a real llama-server says of its own memory, read from its log without homellm's help."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import docker

from tests.engine.support.removal import remove_by_force
from tests.engine.support.wait import wait_for

READY = b"listening on http://"
_BUFFER = re.compile(r"(\S+)\s+(model|KV|RS|compute|output) buffer size =\s*([\d.]+) MiB")
_HOST = re.compile(r"- Host +\| +(\d+) = +(\d+) \+ +(\d+) \+ +(\d+)")
_TOKENS = re.compile(r"new slot, n_ctx = (\d+)")


@dataclass(frozen=True)
class Measured:
    """MiB by kind of buffer, over all devices, and the row of the host in the memory breakdown, in whole MiB."""

    model: float
    kv: float
    recurrent: float
    compute: float
    output: float
    breakdown: int
    slots: int
    log: str


def measure(api: docker.APIClient, image: str, name: str, model: Path, arguments: Sequence[str]) -> Measured:
    """Load a model with the memory figures in the log, and take the container away again."""
    mount = docker.types.Mount("/m.gguf", str(model), type="bind", read_only=True)
    command = ["-m", "/m.gguf", "--host", "0.0.0.0", "--no-warmup", "-lv", "4", *arguments]
    config = api.create_host_config(mounts=[mount])
    container = api.create_container(image, command, name=name, host_config=config)["Id"]
    try:
        api.start(container)
        wait_for(lambda: READY in api.logs(container) or not _running(api, container), f"{model.name} to load", 120)
        text = api.logs(container).decode("utf-8", "replace")
        assert READY.decode() in text, text[-2000:]
        return _read(text)
    finally:
        remove_by_force(api, container)


def _running(api: docker.APIClient, container: str) -> bool:
    return bool(api.inspect_container(container)["State"]["Running"])


def _read(log: str) -> Measured:
    sums = dict.fromkeys(("model", "KV", "RS", "compute", "output"), 0.0)
    for found in _BUFFER.finditer(log):
        sums[found[2]] += float(found[3])
    host = _HOST.search(log)
    assert host is not None, log[-2000:]
    return Measured(
        model=sums["model"],
        kv=sums["KV"],
        recurrent=sums["RS"],
        compute=sums["compute"],
        output=sums["output"],
        breakdown=int(host[1]),
        slots=len(_TOKENS.findall(log)),
        log=log,
    )
