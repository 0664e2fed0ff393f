"""A throwaway container that is asked one thing and removed, whatever happens. Written over the Engine port alone."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Mapping

from homellm.domain.names import LABEL_ROLE, ROLE_PROBE
from homellm.errors import ContainerGone, EngineRefused, NotRemoved
from homellm.ports import Engine, Json, ProbeResult

#: How long an image may take to answer. A first start from a slow disk takes seconds.
PROBE_TIMEOUT_S = 60.0
#: How much of its output is read; the longest help seen has 60 kB.
OUTPUT_LIMIT_BYTES = 1_000_000
_KILL_WAIT_S = 30.0


def run_probe(
    engine: Engine,
    image: str,
    args: tuple[str, ...],
    labels: Mapping[str, str],
    *,
    entrypoint: tuple[str, ...] | None = None,
    timeout_s: float = PROBE_TIMEOUT_S,
) -> ProbeResult:
    """Run `image` with `args`, without network, mounts and health check, and remove it in every case.

    `entrypoint` is another program of the image than its own. Raises EngineRefused when the image is not
    here, cannot be started, or has not ended after `timeout_s`.
    """
    name = f"homellm-probe-{secrets.token_hex(4)}"
    try:
        engine.create(name, _body(image, args, labels, entrypoint))
        engine.start(name)
        exit_code = engine.wait(name, timeout_s)
        if exit_code is None:
            raise EngineRefused(
                f"The image {image} was asked for {' '.join(args)} and has not answered within {timeout_s:g} s.",
                hint=f"See what it does: docker run --rm {image} {' '.join(args)}",
                id="probe-timeout",
            )
        output = _read(engine.logs(name, since=None, follow=False))
        return ProbeResult(exit_code, output.decode("utf-8", "replace"))
    finally:
        _discard(engine, name)


def _body(image: str, args: tuple[str, ...], labels: Mapping[str, str], entrypoint: tuple[str, ...] | None) -> Json:
    own_program = {} if entrypoint is None else {"Entrypoint": list(entrypoint)}
    return {
        **own_program,
        "Image": image,
        "Cmd": list(args),
        "Labels": {**labels, LABEL_ROLE: ROLE_PROBE},
        "Healthcheck": {"Test": ["NONE"]},
        "NetworkDisabled": True,
        "HostConfig": {
            "NetworkMode": "none",
            "RestartPolicy": {"Name": "no"},
            # The daemon's own driver may keep no log, and an image gone wild must not fill the disk.
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "4m", "max-file": "1"}},
        },
    }


def _read(frames: Iterable[bytes]) -> bytes:
    output = bytearray()
    for frame in frames:
        output += frame
        if len(output) >= OUTPUT_LIMIT_BYTES:
            break
    return bytes(output[:OUTPUT_LIMIT_BYTES])


def _discard(engine: Engine, name: str) -> None:
    """Remove the container, also one that still runs; one that was never made is fine."""
    try:
        engine.kill(name, "SIGKILL")
        engine.wait(name, _KILL_WAIT_S)
    except ContainerGone:
        return
    with contextlib.suppress(NotRemoved):  # it has answered; a later run sweeps away what is left of it
        engine.remove(name)
