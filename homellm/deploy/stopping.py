"""How a server is stopped (design rule 9)."""

from __future__ import annotations

from homellm.deploy.scope import Scope
from homellm.deploy.session import Ports
from homellm.deploy.witness import is_loading
from homellm.domain.world import Container
from homellm.errors import EngineRefused

#: A busy llama-server leaves at once on its second SIGTERM and hangs for the whole grace on one alone.
SECOND_SIGNAL_AFTER_S = 1.0
#: A killed process is gone at once, or once its memory is given back (locked weights, a GPU's); then the engine has to
#: notice, which on a loaded machine takes its time.
KILL_WAIT_S = 30.0
_SLICE_S = 0.5


def stop(ref: str, grace_s: float, ports: Ports, scope: Scope) -> None:
    """Stop a container; one that does not run, or is gone, is done.

    A server that is still loading ignores SIGTERM as PID 1, so it is killed, as is any server for a grace of 0. A
    cancelled scope cuts the grace short. Raises EngineRefused when it cannot be stopped at all.
    """
    container = ports.engine.find_container(ref)
    if container is None:
        return
    if grace_s > 0 and container.running and not _loading(container, ports) and _by_request(ref, grace_s, ports, scope):
        return
    ports.engine.kill(ref, "SIGKILL")
    if ports.engine.wait(ref, KILL_WAIT_S) is None:
        raise EngineRefused(
            f"{container.name} still runs after SIGKILL",
            hint=f"Look at it with docker inspect {container.name}; a process that hangs in the kernel needs a reboot.",
            id="will-not-stop",
        )


def _loading(container: Container, ports: Ports) -> bool:
    return is_loading(container, ports.http)


def _by_request(ref: str, grace_s: float, ports: Ports, scope: Scope) -> bool:
    """SIGTERM, again after a second, then the grace; whether it stopped."""
    ports.engine.kill(ref, "SIGTERM")
    if ports.engine.wait(ref, min(SECOND_SIGNAL_AFTER_S, grace_s)) is not None:
        return True
    ports.engine.kill(ref, "SIGTERM")
    deadline = ports.clock.monotonic() + grace_s
    while not scope.cancelled and (left := deadline - ports.clock.monotonic()) > 0:
        if ports.engine.wait(ref, min(_SLICE_S, left)) is not None:
            return True
    return False
