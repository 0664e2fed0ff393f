"""Hold what was kept of an `up` with nothing to do against what is now."""

from __future__ import annotations

import base64
import os
import socket

from homellm.domain.lock_name import lock_name
from homellm.unchanged import call, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

_BACKLOG = 128


def confirmed(argv: list[str], environ: Mapping[str, str], stdout: TextIO | None) -> bytes | None:
    """What `up` prints now, with exit code 0, where nothing of what an earlier one proved has changed.

    None where that is not proved, for whatever reason: then the ordinary way has to decide. Raises nothing.
    """
    if stdout is None or not call.is_candidate(argv, environ):
        return None
    try:
        witness = store.read(os.path.join(call.folder(environ), f"{call.key(argv, environ, stdout)}.json"))
        if witness is None or not _holds(witness["subject"], witness["facts"], environ):
            return None
        return base64.b64decode(witness["printed"])
    except Exception:  # noqa: BLE001 - also what cannot be foreseen is decided, and told, by the ordinary way
        return None


def _holds(subject: dict[str, Any], facts: dict[str, Any], environ: Mapping[str, str]) -> bool:
    from homellm.unchanged.look import far, near  # loaded where an earlier `up` has left something to look at

    if near(subject, environ) != facts["near"]:
        return False
    with _lock(subject):
        now, _ = far(subject)
    return bool(now == facts["far"])


def _lock(subject: dict[str, Any]) -> socket.socket:
    """The lock of the stack (adapters.lock), held until it is closed. Raises OSError when somebody has it."""
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        taken.bind("\0" + lock_name(subject["engine"], subject["root"], subject["stack"]))
        taken.listen(_BACKLOG)
    except OSError:
        taken.close()
        raise
    return taken
