"""The record: what a verification learned, kept as a small file inside the container (design rule 4).

It counts only for the run it was made in (the same StartedAt), and it is read only where live witnesses cannot tell:
a log loses its load lines by rotation, and a token need not be asked for at every `up`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import cast

from pydantic import TypeAdapter, ValidationError

from homellm.deploy.session import Ports
from homellm.domain.evidence import Chat, Evidence, LogSummary
from homellm.domain.names import LABEL_DECLARED
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import Container, FileState
from homellm.errors import HomellmError
from homellm.planning.loaded_files import as_rows, from_rows

NAME = ".homellm.json"
PATH = f"/{NAME}"
FORMAT = 1
_LOG = TypeAdapter(LogSummary)
_CHAT: TypeAdapter[Chat | None] = TypeAdapter(Chat | None)
_VERDICTS = TypeAdapter(tuple[Verdict, ...])


@dataclass(frozen=True, slots=True)
class Record:
    """What a record holds. `state` is what the verdicts meant when they were given.

    `files` are those that this run loaded, None where that was not known, or an older homellm wrote it. `proved` is the
    last request of this run that was answered, whatever came later (of an older homellm the last one). `seen_at` is
    when it was written (RFC 3339).
    """

    state: State
    verdicts: tuple[Verdict, ...]
    log: LogSummary
    chat: Chat | None
    tool_call: Chat | None = None
    files: tuple[FileState, ...] | None = None
    proved: Chat | None = None
    seen_at: str = ""


def write_record(
    ref: str, evidence: Evidence, verdicts: tuple[Verdict, ...], state: State, ports: Ports, declared: str = ""
) -> bool:
    """Keep what was learned; False when the container cannot take a file (a read-only root).

    `declared` is the declaration (planning.declared) that the container is known to be made as, empty where it is not;
    it is kept where the label does not say it already.
    """
    if evidence.container is None:
        return False
    data = {
        "format": FORMAT,
        "started_at": evidence.container.started_at,
        "state": state.value,
        "verdicts": plain(verdicts),
        "log": plain(evidence.log),
        "chat": plain(evidence.chat),
        "tool_call": plain(evidence.tool_call),
        "proved": plain(evidence.proved),
        "seen_at": ports.clock.now().isoformat(timespec="seconds"),
        "files": as_rows(evidence.files.loaded) if evidence.files is not None else None,
        "declared": declared if declared != evidence.container.label(LABEL_DECLARED) else "",
    }
    try:
        ports.engine.put_file(ref, PATH, json.dumps(data).encode())
    except HomellmError:
        return False
    return True


def plain(value: object) -> object:
    """A frozen value as JSON has it; pydantic reads it back, but cannot write read-only mappings."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


def read_record(container: Container, ports: Ports) -> Record | None:
    """The record of this very run of a container; None when there is none, it is of another run, or it is damaged."""
    data = _read(container, ports)
    return None if data is None or data.get("started_at") != container.started_at else _parse(data)


def recorded_declaration(container: Container, ports: Ports) -> str:
    """The declaration in a container's record, of whatever run: what it was made as does not change with its runs."""
    data = _read(container, ports)
    return str(data.get("declared") or "") if data is not None else ""


def keep_declaration(container: Container, declared: str, ports: Ports) -> None:
    """Keep that a container is made as is declared now, where its label tells that otherwise: a label cannot change.

    All else in the record stays as it is. Where nothing can be kept (a read-only root), the label alone counts.
    """
    if not declared or container.label(LABEL_DECLARED) == declared:
        return
    data = _read(container, ports)
    if data is None or data.get("declared") == declared:
        return
    try:
        ports.engine.put_file(container.id, PATH, json.dumps({**data, "declared": declared}).encode())
    except HomellmError:
        return


def _read(container: Container, ports: Ports) -> dict[str, object] | None:
    try:
        # The engine takes 30 ms for a file, and gives them out one after another.
        raw = ports.host.file_of(container, NAME)
        raw = ports.engine.get_file(container.id, PATH) if raw is None else raw
        data = json.loads(raw) if raw else None
    except (HomellmError, ValueError, RecursionError):
        return None
    return cast("dict[str, object]", data) if isinstance(data, dict) and data.get("format") == FORMAT else None


def _parse(data: dict[str, object]) -> Record | None:
    try:
        return Record(
            State(str(data.get("state"))),
            _VERDICTS.validate_python(data.get("verdicts")),
            _LOG.validate_python(data.get("log")),
            _CHAT.validate_python(data.get("chat")),
            _CHAT.validate_python(data.get("tool_call")),
            from_rows(data.get("files")),
            _CHAT.validate_python(data.get("proved") or data.get("chat")),
            str(data.get("seen_at") or ""),
        )
    except (ValidationError, ValueError):
        return None
