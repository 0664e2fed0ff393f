"""Gather evidence of a running container from every witness: API, process, log, record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from homellm.deploy.follow import since
from homellm.deploy.loaded_files import see_files
from homellm.deploy.published import Found, find, settled
from homellm.deploy.record import Record, read_record
from homellm.deploy.session import Ports
from homellm.deploy.token import ASKING, Answer, Tell, answered, ask_patiently
from homellm.deploy.witness import OK, Slots, ask_props, ask_slots, ask_token, ask_tool_call, claims_tools
from homellm.domain.evidence import Chat, Evidence, LogSummary, Props
from homellm.domain.stack import SERVER_PORT, Gpu, Model, OllamaServer
from homellm.domain.world import Container, HostGpu, ModelFile, World
from homellm.errors import EngineRefused, HomellmError, Problem
from homellm.gpu import resolve
from homellm.health.checks import judges_template
from homellm.health.merge import merge, reaches_back
from homellm.health.reader import LogReader
from homellm.planning.units import policy_to_restore
from homellm.ports import Engine, HttpReply, Stream
from homellm.runners.recognise import recognise
from homellm.sizing import UnknownType, estimate_model

#: One token of a large model on a slow machine takes this long at most; a server that hangs is told from a slow one.
TOKEN_S = 120.0
#: /slots is answered between two steps of the server's work; a long prompt on a slow machine makes long ones.
SLOTS_S = 20.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What a container is held against: the model, where its weights stand inside, and facts of file and host.

    `local` tells that the engine's machine is this one, whose files can be looked at. `declared` is the declaration as
    a text (planning.declared), empty where the container is not held against the stack file.
    """

    model: Model
    expected_path: str
    weights_bytes: int | None = None
    gpu: HostGpu | None = None
    reckoned_bytes: int | None = None
    local: bool = False
    declared: str = ""
    bridges: frozenset[str] = frozenset()


def subject_of(model: Model, expected_path: str, gpu: Gpu | None, world: World, declared: str = "") -> Subject:
    """The subject for a model in this world."""
    file = world.model_files.get(str(model.source.path)) if model.source.path else None
    resolved = resolve(gpu, world.host) if gpu is not None else None
    return Subject(
        model=model,
        expected_path=expected_path,
        weights_bytes=file.weights_bytes if file else None,
        gpu=None if isinstance(resolved, Problem) else resolved,
        reckoned_bytes=_reckoned(model, file),
        local=world.engine.local,
        declared=declared,
        bridges=world.host.bridges,
    )


def _reckoned(model: Model, file: ModelFile | None) -> int | None:
    """What the model is to take on all devices, where it is reckoned exactly and the server decides nothing itself."""
    if file is None or file.header is None or model.gpu_layers == "auto" or model.mmproj is not None:
        return None
    try:
        estimate = estimate_model(file.header, model)
    except UnknownType:
        return None
    return estimate.total_bytes if estimate.exact else None


def subject_of_container(container: Container, model: Model, ports: Ports, *, local: bool) -> Subject:
    """A container held against its own argv: what a predecessor is proved by after an undo.

    Only what argv tells is asked: the alias, the weights' path, slots and context; with the key that it was given, and
    where it is published.
    """
    served = recognise(container.args, environment(container, ports.engine))
    published = next(iter(container.published(SERVER_PORT)), None)
    own = Model(
        name=served.alias or model.name,
        source=model.source,
        image=container.image,
        parallel=served.parallel or model.parallel,
        ctx=served.ctx or model.ctx,
        api_key=served.api_key,
        embedding=served.embedding,
        port=published[1] if published else None,
        bind=published[0] if published else "127.0.0.1",
        # What somebody has put on it since is no fault of its coming back.
        restart=policy_to_restore(container, "no"),
        memory_bytes=container.memory_bytes or None,
        cpu_shares=container.cpu_shares or None,
        cpuset=container.cpuset or None,
    )
    return Subject(model=own, expected_path=served.model_path or "", local=local)


def environment(container: Container, engine: Engine) -> tuple[str, ...]:
    """The variables that a container was made with, as the engine writes them; read here and kept nowhere."""
    config = engine.inspect(container.id).get("Config")
    found = config.get("Env") if isinstance(config, dict) else None
    return tuple(map(str, found)) if isinstance(found, list) else ()


def own_key(container: Container, engine: Engine) -> str | None:
    """The key that a container's server asks for, whatever the stack file says by now; None where it asks for none.

    Of one that is gone meanwhile there is none either: it answers nobody.
    """
    if not container.has_key:
        return None
    try:
        key = recognise((), environment(container, engine)).api_key
    except EngineRefused:
        return None
    return key.reveal() if key is not None else None


def observe_ready(
    container: Container,
    subject: Subject,
    log: LogSummary,
    ports: Ports,
    *,
    ready_s: float | None,
    timeout_s: float,
    tell: Tell,
) -> Evidence:
    """Ask every live witness of a server that is ready, with one real request; `log` is what was read while waiting."""
    timeout_s = min(timeout_s, TOKEN_S)
    return _evidence(container, subject, log, ports, ready_s=ready_s, tell=tell, timeout_s=timeout_s)


def observe_now(container: Container, subject: Subject, ports: Ports, tell: Tell) -> Evidence:
    """Everything that can be seen of a container at any time: its whole log of this run, and one real request."""
    log, recorded = read_log(container, ports), frozenset[str]()
    record = read_record(container, ports)
    if record is not None:
        log, recorded = merge(log, record.log)  # rotation may have taken the lines of the load
    evidence = _evidence(container, subject, log, ports, ready_s=None, tell=tell, timeout_s=TOKEN_S, record=record)
    return replace(evidence, recorded=evidence.recorded | recorded)


def observe_quickly(container: Container, subject: Subject, record: Record, ports: Ports) -> Evidence:
    """The live witnesses alone, beside the record of this run: no log is read and no token is asked for."""
    log = LogSummary()
    return _evidence(container, subject, log, ports, ready_s=None, tell=None, timeout_s=TOKEN_S, record=record)


def read_log(container: Container, ports: Ports, *, until: str | None = None) -> LogSummary:
    """The summary of a container's log of its present run; an empty one when the engine keeps none.

    With `until`, a time in the engine's own text, that of the run which ended last before it.
    """
    begin = since(container) if until is None else None
    return _summary(lambda: ports.engine.logs(container.id, since=begin, follow=False, until=until))


def read_foreign_log(server: OllamaServer, ports: Ports) -> LogSummary:
    """The summary of the log of an Ollama that is not ours; an empty one where none was told or it cannot be read."""
    source = server.log_source
    return _summary(lambda: ports.ollamas.foreign_log(source)) if source is not None else LogSummary()


def _summary(open_log: Callable[[], Stream]) -> LogSummary:
    reader = LogReader()
    try:
        for frame in open_log():
            reader.feed(frame)
    except HomellmError:
        return reader.finish()  # what cannot be read is not known: the other witnesses decide
    return reader.finish()


def _evidence(
    container: Container,
    subject: Subject,
    log: LogSummary,
    ports: Ports,
    *,
    ready_s: float | None,
    tell: Tell | None,
    timeout_s: float,
    record: Record | None = None,
) -> Evidence:
    """What the live witnesses say; without `tell` no request is made."""
    model = subject.model
    found = Found("", HttpReply(0))
    if ready_s is not None:
        found = settled(container, ports)
    elif container.running:
        found = find(container, ports)
    url, reply = found.url, found.reply
    key = own_key(container, ports.engine) if url else None
    props = ask_props(url, ports.http, key) if url else None
    asked = _Requests(Answer(None))
    if url and tell is not None:
        asked = _request(url, model, key, ports, record, tell, props, timeout_s=timeout_s)
    return Evidence(
        container=container,
        url=url,
        reachable=bool(url),
        dead_port=found.dead,
        healthy=reply.status == OK if reply.status else None,
        props=props,
        chat=asked.chat.chat,
        tool_call=asked.tool_call,
        recorded=asked.recorded,
        busy=asked.chat.busy,
        proved=asked.chat.chat if answered(asked.chat.chat) else record.proved if record else None,
        log=log,
        log_from_start=reaches_back(log),
        process=ports.host.process(container),
        gpu=subject.gpu,
        weights_bytes=subject.weights_bytes,
        reckoned_bytes=subject.reckoned_bytes,
        ready_s=ready_s,
        bridges=subject.bridges,
        files=see_files(container, ports, local=subject.local, recorded=lambda: record.files if record else None),
    )


@dataclass(frozen=True, slots=True)
class _Requests:
    """The requests of one look; `recorded` has `chat` where an earlier one of this run stands for it."""

    chat: Answer
    tool_call: Chat | None = None
    recorded: frozenset[str] = frozenset()


def _request(
    url: str,
    model: Model,
    key: str | None,
    ports: Ports,
    record: Record | None,
    tell: Tell,
    props: Props | None,
    *,
    timeout_s: float,
) -> _Requests:
    """One token, and a tool call where the template claims that it can.

    A server all of whose slots serve others is known by what it answered earlier in this run, if it did.
    """

    def ask(request: Callable[[], Chat], what: str, *, proved: bool) -> Answer:
        return ask_patiently(request, look, tell, what, proved=proved)

    def look() -> Slots | None:
        slots = ask_slots(url, ports.http, key, SLOTS_S)
        return replace(slots, total=slots.total or (props.total_slots if props else None)) if slots else None

    proved, known = (record.proved, record.tool_call) if record is not None else (None, None)
    proved, known = (one if answered(one) else None for one in (proved, known))
    chat = ask(lambda: ask_token(url, model, ports.http, key, timeout_s), ASKING, proved=bool(proved))
    if chat.chat is None:
        return _Requests(replace(chat, chat=proved), known, frozenset({"chat"}))
    if not (answered(chat.chat) and judges_template(model) and claims_tools(props)):
        return _Requests(chat)
    call = ask(
        lambda: ask_tool_call(url, model, ports.http, key, timeout_s), "asking for one tool call", proved=bool(known)
    )
    return _Requests(chat, known if call.busy else call.chat)
