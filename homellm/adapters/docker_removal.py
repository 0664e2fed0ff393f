"""A removal that the engine began and could not end is asked for again. Knows nothing of the client library.

The engine marks a container dead, releases its layer and deletes its folder. Where something is written there at that
moment (the container's log or its state), the deletion fails with HTTP 500, the container stays `dead`, with its name,
and all that the engine still does with it is another removal, which succeeds (daemon/delete.go; seen with 20.10).
"""

from __future__ import annotations

from collections.abc import Callable

from homellm.adapters import docker_error_rules as rules
from homellm.domain.world import Container
from homellm.errors import ContainerGone, EngineRefused, NotRemoved

#: Seconds before each further try: what writes there is done within moments, or holds on for good.
WAITS_S = (0.1, 0.4, 1.0)


def insist(
    ref: str,
    remove: Callable[[str], None],
    await_removal: Callable[[str], None],
    find: Callable[[str], Container | None],
    sleep: Callable[[float], None],
) -> None:
    """Remove a container by `remove`, again after each wait while the engine cannot end it; one that is gone is done.

    `await_removal` waits for a removal that somebody else has begun. Raises NotRemoved, which names what is left and
    what to type, when the last try failed too, and whatever else `remove` raises.
    """
    for wait_s in WAITS_S:
        try:
            remove(ref)
        except NotRemoved:
            sleep(wait_s)
        except ContainerGone:
            return
        except EngineRefused as error:
            if error.problems[0].id != rules.BEING_REMOVED:
                raise
            await_removal(ref)
        else:
            return
        left = find(ref)
        if left is None or not left.being_removed:
            return  # a name that means another container by now is not ours to remove
        ref = left.id
    try:
        remove(ref)
    except ContainerGone:
        return
    except NotRemoved as error:
        raise _left(ref, find(ref), error) from error


def _left(ref: str, left: Container | None, error: NotRemoved) -> NotRemoved:
    name = left.name if left is not None else ref
    return NotRemoved(
        f"{error.problems[0].message} What is left of {name} is dead: it serves nothing, and keeps its name.",
        hint=f"See to what holds it there, then: docker rm {name}. homellm up and down try it again as well.",
        original=error.original,
    )
