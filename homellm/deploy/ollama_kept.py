"""What homellm made in the store of a server of ours, kept apart from the server's container, which `down` removes.

Ollama writes a file anew, so that nothing of its store tells who made a model and of what. It is kept below
XDG_STATE_HOME by the store, with the digest of what was made: it counts only while the store has that very model under
the name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from pydantic import TypeAdapter, ValidationError

from homellm.deploy.job import Job
from homellm.deploy.session import Ports
from homellm.domain.ollama import MadeFrom
from homellm.domain.stack import OllamaServer

if TYPE_CHECKING:
    from homellm.deploy.ollama_reached import Reached

_FILE: TypeAdapter[MadeFrom | None] = TypeAdapter(MadeFrom | None)
Entries = dict[str, object]


def keep_made(name: str, digest: str, file: MadeFrom | None, reached: Reached, job: Job) -> None:
    """Keep that homellm made a name, the digest of its manifest and from which file; None for one made of a model."""
    key = _key(reached.server, job.ports)
    if reached.container is None or key is None:
        return  # the record of one that is not ours is in the state folder already
    entry = {"digest": digest, "file": _FILE.dump_python(file, mode="json")}
    _change(key, job, lambda entries: {**entries, name: entry})


def kept_made(reached: Reached, digest_of: Callable[[str], str], ports: Ports) -> dict[str, MadeFrom | None]:
    """The names that homellm made and that are still what it made, each with its file. `digest_of` asks the store."""
    key = _key(reached.server, ports)
    found: dict[str, MadeFrom | None] = {}
    for name, entry in _read(key, ports).items() if key is not None else ():
        if not isinstance(entry, dict) or not entry.get("digest") or digest_of(name) != entry["digest"]:
            continue
        try:
            found[name] = _FILE.validate_python(entry.get("file"))
        except ValidationError:
            continue
    return found


def _key(server: OllamaServer, ports: Ports) -> str | None:
    """A store's name among all that this user keeps: two engines may have volumes of one name."""
    store = server.store
    if store is None:
        return None
    return f"store {ports.engine.info().root_dir if store.named else ''}:{store.source}"


def _change(key: str, job: Job, change: Callable[[Entries], Entries]) -> None:
    lock = job.turns.take(key, job.scope)
    try:
        before = _read(key, job.ports)
        after = change(before)
        if after != before:
            job.ports.state.put(key, json.dumps(after).encode())
    finally:
        lock.release()


def _read(key: str, ports: Ports) -> Entries:
    raw = ports.state.get(key)
    try:
        data = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        return {}
    return cast("Entries", data) if isinstance(data, dict) else {}
