"""Keep what an `up` has proved, at its end, for the next one. Of the ordinary way: here the whole house may be used.

Kept is only what is proved to be what was judged. The look that is taken here comes after the ordinary one, and much
may happen in between; so what it sees must read, in the domain's words, like the evidence that the verdicts rest on,
and every file must be as it was before anything was read.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from homellm.adapters import docker_parse
from homellm.adapters.file_sample import COARSE_NS
from homellm.domain.addresses import is_loopback
from homellm.domain.evidence import Evidence
from homellm.domain.names import NEXT
from homellm.domain.stack import Model, Stack
from homellm.domain.world import Container, EngineInfo
from homellm.unchanged import call, store
from homellm.unchanged.engine import Seen
from homellm.unchanged.files import FileFacts, code_facts
from homellm.unchanged.look import far, near, stack_facts
from homellm.unchanged.machine import machine_facts

#: A name of an image that stands in a URL as it is: all that there are (reference grammar of distribution).
_IMAGE = re.compile(r"[\w./:@-]+", re.ASCII)
#: The engine writes the time of a file that has none as 1970: of such a record no later writing could be told.
_NO_TIME_S = 86400.0


@dataclass(frozen=True, slots=True)
class Begun:
    """What was there before anything was read: `path` is where this command line's witness is kept."""

    path: str
    code: list[str]
    machine: dict[str, str]
    file: list[Any]


@dataclass(frozen=True, slots=True)
class Proved:
    """A model, the evidence on which it is verified, the name of its container, and when that was over."""

    model: Model
    evidence: Evidence
    container: str
    until_ns: int


def begin(argv: list[str], environ: Mapping[str, str], stdout: TextIO | None, file: Path) -> Begun | None:
    """Begin an `up` of the ordinary way: forget what was kept for it. None for one of which nothing may be kept.

    `file` is the stack file, which is not read yet.
    """
    if stdout is None or not call.is_candidate(argv, environ):
        return None
    try:
        path = os.path.join(call.folder(environ), f"{call.key(argv, environ, stdout)}.json")
        store.forget(path)
        facts = stack_facts(str(file.absolute()))
        return Begun(path, code_facts(), machine_facts(), facts) if facts[-1] else None
    except (OSError, ValueError):
        return None


def keep(
    begun: Begun,
    environ: Mapping[str, str],
    stack: Stack,
    engine: EngineInfo,
    proved: tuple[Proved, ...],
    files: FileFacts,
    printed: bytes,
) -> bool:
    """Keep that all of `proved` is so, and what an `up` that finds it unchanged prints; whether it was kept.

    `files` are those that decide what a model is and which engine is asked, as they were before they were read. Raises
    what `far` raises.
    """
    plain = all(_IMAGE.fullmatch(one.model.image) for one in proved)
    if not plain or not engine.address.startswith("unix://") or not all(map(_is_sure, proved)) or _coarse(files):
        return False
    subject = _subject(stack, engine, proved, files)
    facts: dict[str, Any] = {"near": near(subject, environ)}
    facts["far"], seen = far(subject)
    before = {"code": begun.code, "file": begun.file, "files": files}
    untouched = all(facts["near"][name] == then for name, then in before.items())
    untouched &= facts["near"]["machine"].items() <= begun.machine.items()
    if not (untouched and _is_judged(seen, facts["far"], subject, engine, stack, proved)):
        return False
    store.write(begun.path, {"subject": subject, "facts": facts, "printed": base64.b64encode(printed).decode()})
    return True


def _coarse(files: FileFacts) -> bool:
    """Whether one stands on a file system whose times would not tell that it was written again."""
    times = (facts[-1] for facts in files.values())
    return any(isinstance(time_ns, int) and time_ns % COARSE_NS == 0 for time_ns in times)


def _is_sure(one: Proved) -> bool:
    """Whether all that a model's verdicts rest on is looked at again.

    Where a server may have let go of a GPU and taken it again, only its log and its open files tell where it lies now.
    """
    model, seen = one.model, one.evidence
    whole = seen.container is not None and seen.props is not None and seen.healthy is True and bool(seen.url)
    whole = whole and not _hangs_on_bridges(seen.container)
    reloads = model.sleep_idle_s is not None and model.gpu is not None
    return whole and not reloads and model.runner == "llama-server" and model.pull != "always"


def _hangs_on_bridges(container: Container | None) -> bool:
    """Whether a server that asks for no key is verified because its address is one of Docker's own bridges.

    Whose an address is may change while the container stays as it is, and a look at one costs too much here.
    """
    if container is None or container.has_key:
        return False
    return any(port and not is_loopback(ip) for ip, port, _ in container.ports)


def _subject(stack: Stack, engine: EngineInfo, proved: tuple[Proved, ...], files: FileFacts) -> dict[str, Any]:
    file = str(stack.file)
    return {
        "stack": stack.name,
        "file": file,
        "variables": sorted(stack.variables),
        "files": sorted(files),
        "socket": engine.address.removeprefix("unix://"),
        "engine": engine.id,
        "root": engine.root_dir,
        "gpus": any(one.model.gpu is not None for one in proved),
        "images": sorted({one.model.image for one in proved}),
        "served": [_served(one) for one in proved],
    }


def _served(one: Proved) -> dict[str, Any]:
    url, container = urlsplit(one.evidence.url), one.evidence.container
    return {
        "id": container.id if container is not None else "",
        "host": url.hostname,
        "port": url.port,
        "process": one.evidence.process is not None,
        "keyed": one.model.api_key is not None,
    }


def _is_judged(
    seen: Seen,
    facts: dict[str, Any],
    subject: dict[str, Any],
    engine: EngineInfo,
    stack: Stack,
    proved: tuple[Proved, ...],
) -> bool:
    """Whether what is seen now is what was judged: engine, images, containers, records, servers, processes."""
    if docker_parse.engine_info(seen.info, address=engine.address) != engine:
        return False
    if facts["engine"]["others"] or facts["engine"]["probes"] or not _is_settled(facts["engine"]["stack"], stack):
        return False
    return all(_is_same(one, served["id"], seen, facts) for one, served in zip(proved, subject["served"], strict=True))


def _is_settled(containers: list[Any], stack: Stack) -> bool:
    """Whether no successor is under way, and there is nothing of a model that the stack has not."""
    declared = {model.name for model in stack.models} | {server.name for server in stack.ollama}
    return all(unit in declared and not any(name.endswith(NEXT) for name in names) for _, names, unit, *_ in containers)


def _is_same(one: Proved, ref: str, seen: Seen, facts: dict[str, Any]) -> bool:
    judged, now = one.evidence.container, docker_parse.container(seen.inspected[ref])
    return (
        judged is not None
        and _bare(now) == _bare(judged)
        and (now.name, now.restart_policy) == (one.container, one.model.restart)
        and facts["engine"]["images"][one.model.image] == now.image_id
        and _was_written(seen.records[ref], one.until_ns)
        and _answers(facts["servers"][ref], one.evidence)
        and (one.evidence.process is None or _runs(facts["processes"][ref]["status"], one.evidence))
    )


def _bare(container: Container) -> Container:
    """Without what a commit changes after the proof; name and policy are held against what they are to be."""
    return replace(container, name="", restart_policy="no", health="")


def _was_written(record: dict[str, Any], until_ns: int) -> bool:
    """Whether the record is the one that was read or written for the verdicts, and a later one can be told from it."""
    if not record:
        return False
    written_s = datetime.fromisoformat(record["mtime"]).timestamp()
    return _NO_TIME_S < written_s <= until_ns / 1e9


def _answers(now: dict[str, Any], evidence: Evidence) -> bool:
    props, said = evidence.props, now["props"]
    if props is None or now["health"] != 200:  # noqa: PLR2004 - HTTP's own number
        return False
    caps = {name: able for name, able in (said["chat_template_caps"] or {}).items() if isinstance(able, bool)}
    able = tuple(sorted(name for name, is_able in (said["modalities"] or {}).items() if is_able is True))
    return (
        said["total_slots"] == props.total_slots
        and said["n_ctx"] == props.n_ctx
        and said["model_alias"] == props.model_alias
        and said["model_path"] == props.model_path
        and said["build_info"] == props.build_info
        and said["is_sleeping"] == props.sleeping
        and caps == dict(props.template_caps)
        and able == (props.modalities or ())
    )


def _runs(status: list[str], evidence: Evidence) -> bool:
    said = {name: value.strip() for name, _, value in (line.partition(":") for line in status)}
    process = evidence.process
    return process is not None and (
        said["Cpus_allowed_list"] == process.cpus
        and int(said["VmLck"].split()[0]) * 1024 == process.locked_bytes
        and tuple(map(int, said["Groups"].split())) == process.groups
    )
