"""What homellm remembers of an Ollama server: loads and proofs of this run, models it made, and how the ladder went.

The record is a small file inside the server's container. Loads and proofs count for the run they were seen in; outcomes
of the ladder as long as their key matches, whatever run it is (design rule 4). The copy in the labels of a model's
successor leads. For a server that is not ours they live in the state folder, without loads and proofs: nobody tells
when such a server began its run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from homellm.deploy.gates import failed_gates
from homellm.deploy.job import Job
from homellm.deploy.record import PATH, plain
from homellm.deploy.session import Ports
from homellm.domain.evidence import Load
from homellm.domain.names import LABEL_OUTCOMES
from homellm.domain.ollama import MadeFrom
from homellm.domain.reports import ModelReport
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import Container
from homellm.errors import HomellmError
from homellm.planning.ladder import Key, Outcome
from homellm.planning.ladder_record import dump_outcomes, read_outcomes

_LOAD = TypeAdapter(Load)
_FILE = TypeAdapter(MadeFrom)


@dataclass(frozen=True, slots=True)
class Proof:
    """How a model that Ollama serves was judged last: the state, the gates that failed, and when (RFC 3339).

    `declared` is the declaration (planning.declared) that it was held against, empty where that was not kept.
    """

    state: State
    gates: tuple[Verdict, ...] = ()
    seen_at: str = ""
    declared: str = ""


_PROOF = TypeAdapter(Proof)


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """`loads` by model, `made` the names that homellm made in the store, `outcomes` and `proofs` by model.

    Of a name that was made from a file `made` has that file as it was; None for others, and until it is made. A model
    that has moved has neither load nor proof here. `own_declared` is the declaration that the server's container is
    known to be made as, besides that of its label.
    """

    loads: Mapping[str, Load] = field(default_factory=dict)
    made: Mapping[str, MadeFrom | None] = field(default_factory=dict)
    outcomes: Mapping[str, tuple[Outcome, ...]] = field(default_factory=dict)
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    own_declared: str = ""


def read_server_record(container: Container | None, url: str, ports: Ports) -> ServerRecord:
    """The record of a server; an empty one where there is none or it is damaged."""
    try:
        raw = ports.engine.get_file(container.id, PATH) if container else ports.state.get(url)
        data = json.loads(raw) if raw else {}
    except (HomellmError, ValueError, RecursionError):
        return ServerRecord()
    if not isinstance(data, dict):
        return ServerRecord()
    same_run = container is not None and data.get("started_at") == container.started_at
    return ServerRecord(
        loads=_read_each(_LOAD, data.get("loads")) if same_run else {},
        made=_made(data.get("made")),
        outcomes={str(k): read_outcomes(str(v)) for k, v in _mapping(data.get("outcomes")).items()},
        proofs=_read_each(_PROOF, data.get("proofs")) if same_run else {},
        own_declared=str(data.get("own_declared") or ""),
    )


def has_server_record(container: Container, ports: Ports) -> bool:
    """Whether a server's container has a record at all."""
    try:
        return bool(ports.engine.get_file(container.id, PATH))
    except HomellmError:
        return False


def write_server_record(container: Container | None, url: str, record: ServerRecord, ports: Ports) -> None:
    """Keep a record; where nothing can be kept the next `up` asks again."""
    data = {
        "started_at": container.started_at if container else "",
        "loads": {name: asdict(load) for name, load in record.loads.items()},
        "made": {name: asdict(file) if file else None for name, file in record.made.items()},
        "outcomes": {name: dump_outcomes(outcomes) for name, outcomes in record.outcomes.items()},
        "proofs": {name: plain(proof) for name, proof in record.proofs.items()},
        "own_declared": record.own_declared,
    }
    text = json.dumps(data).encode()
    try:
        if container is None:
            ports.state.put(url, text)
        else:
            ports.engine.put_file(container.id, PATH, text)
    except HomellmError:
        return


def update_server_record(
    container: Container | None, url: str, job: Job, change: Callable[[ServerRecord], ServerRecord]
) -> ServerRecord:
    """Change a server's record as it is now, and give it: models of one server keep theirs in one file."""
    lock = job.turns.take(f"record of {url}", job.scope)
    try:
        record = change(read_server_record(container, url, job.ports))
        write_server_record(container, url, record, job.ports)
    finally:
        lock.release()
    return record


def note_proof(
    report: ModelReport, loads: Mapping[str, Load], declared: str, container: Container | None, url: str, job: Job
) -> None:
    """Keep how a model that Ollama serves was judged, and by which load, for the run that `container` is in.

    One that was proved, and is so again by the same load for the same declaration, costs the engine nothing.
    """
    model, gates = report.name, failed_gates(report.checks)
    proof = Proof(report.state, gates, job.ports.clock.now().isoformat(timespec="seconds"), declared)
    known = read_server_record(container, url, job.ports)
    before, mine = known.proofs.get(model), loads.get(model)
    proved = before is not None and before.state is proof.state is State.VERIFIED and before.declared == declared
    if proved and known.loads.get(model) == mine:
        return

    def with_proof(record: ServerRecord) -> ServerRecord:
        seen = {**record.loads, **({model: mine} if mine is not None else {})}
        return replace(record, loads=seen, proofs={**record.proofs, model: proof})

    update_server_record(container, url, job, with_proof)


def forget_proof(model: str, container: Container | None, url: str, job: Job) -> None:
    """A model has moved: what Ollama did with it is not what serves it any more."""
    record = read_server_record(container, url, job.ports)
    if model not in record.loads and model not in record.proofs:
        return

    def without(kept: ServerRecord) -> ServerRecord:
        loads = {name: load for name, load in kept.loads.items() if name != model}
        proofs = {name: proof for name, proof in kept.proofs.items() if name != model}
        return replace(kept, loads=loads, proofs=proofs)

    update_server_record(container, url, job, without)


def outcomes_of(
    model: str, serving: Container | None, record: ServerRecord, key: Key | None = None
) -> tuple[Outcome, ...]:
    """How the ladder of a model went: from the labels of `serving`, what it moved to, and from its server's record.

    With a key those that hold for it: labels cannot change, so a successor that outlived a new version of Ollama still
    has the outcomes of the old one, and the record the new ones. Without one what was found last.
    """
    labelled = read_outcomes(serving.label(LABEL_OUTCOMES)) if serving is not None else ()
    recorded = record.outcomes.get(model, ())
    if key is None:
        moved = any(outcome.served for outcome in recorded if outcome.rung != "ollama")
        return recorded if moved or not labelled else labelled
    holds = [tuple(outcome for outcome in found if outcome.key == key) for found in (labelled, recorded)]
    return holds[0] or holds[1]


_Entry = TypeVar("_Entry")


def _read_each(kind: TypeAdapter[_Entry], value: object) -> dict[str, _Entry]:
    """The entries by name; what is damaged is left out."""
    found: dict[str, _Entry] = {}
    for name, entry in _mapping(value).items():
        try:
            found[name] = kind.validate_python(entry)
        except ValidationError:
            continue
    return found


def _made(value: object) -> dict[str, MadeFrom | None]:
    if isinstance(value, list):  # as it was before files were kept
        return {name: None for name in value if isinstance(name, str)}
    found: dict[str, MadeFrom | None] = {}
    for name, entry in _mapping(value).items():
        try:
            found[name] = _FILE.validate_python(entry)
        except ValidationError:
            found[name] = None
    return found


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
