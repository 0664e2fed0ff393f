"""What `doctor` found, for people and for programs. Pure: a diagnosis in, text or a document out."""

from __future__ import annotations

from homellm.domain.diagnosis import CardState, Diagnosis
from homellm.domain.open_webui import WebUi
from homellm.domain.world import UNLIMITED, EngineInfo, Host
from homellm.errors import Problem
from homellm.gpu import describe, title
from homellm.report import words
from homellm.report.json_report import Document, error_document, problem_document
from homellm.report.layout import clean, clean_lines, columns, flat, hang
from homellm.report.problems import message_lines, problems_text
from homellm.report.tables import join_blocks

_APIS = {"cuda": "CUDA", "vulkan": "Vulkan", "rocm": "ROCm"}


def doctor_document(found: Diagnosis) -> Document:
    """The document: what would stop the stack as `errors`, what is worth knowing as `advice`, and what was seen."""
    return {
        **error_document(found.stack, found.stopping),
        "advice": [problem_document(problem) for problem in found.advice],
        "host": _host_document(found),
        "engine": _engine_document(found.engine) if found.engine is not None else None,
        "web_uis": [_web_ui_document(web_ui) for web_ui in found.web_uis],
    }


def _host_document(found: Diagnosis) -> Document:
    host = found.host
    return {
        "readable": host.readable,
        "wsl2": host.wsl2,
        "lxc": host.lxc,
        "unprivileged": host.unprivileged,
        "contained": host.contained,
        "hypervisor": host.hypervisor,
        "cpus": list(host.online_cpus),
        "performance_cpus": list(host.performance_cpus),
        "efficiency_cpus": list(host.efficiency_cpus),
        "memory_bytes": host.memory_bytes,
        "available_bytes": host.available_bytes,
        "memlock_bytes": None if host.memlock_bytes == UNLIMITED else host.memlock_bytes,
        "memlock_unlimited": host.memlock_bytes == UNLIMITED,
        "selinux": host.selinux,
        "nvidia_toolkit": host.nvidia_toolkit,
        "gpus": [_card_document(state) for state in found.cards],
    }


def _card_document(state: CardState) -> Document:
    card = state.card
    return {
        "pci": card.pci or None,
        "id": card.id or None,
        "vendor": card.vendor,
        "name": title(card),
        "driver": card.driver or None,
        "integrated": card.integrated,
        "render_node": card.render_node,
        "render_gid": card.render_gid,
        "memory_bytes": card.memory_bytes,
        "uuid": card.uuid,
        "api": state.api,
        "usable": state.usable,
        "problem": state.problem.id if state.problem is not None else None,
    }


def _engine_document(engine: EngineInfo) -> Document:
    return {
        "version": engine.version,
        "address": engine.address,
        "os": engine.os,
        "root_dir": engine.root_dir,
        "log_driver": engine.log_driver,
        "cpus": engine.cpus,
        "memory_bytes": engine.memory_bytes,
        "rootless": engine.rootless,
        "userns_remap": engine.userns_remap,
        "snap": engine.snap,
        "desktop": engine.desktop,
        "selinux": engine.selinux,
        "cdi": engine.cdi,
        "runtimes": list(engine.runtimes),
    }


def _web_ui_document(web_ui: WebUi) -> Document:
    return {
        "container": web_ui.container,
        "jobs": [job.variable for job in web_ui.jobs],
        "persistent_config": web_ui.persistent,
        "task_models": list(web_ui.task_models),
        "urls": list(web_ui.urls),
    }


def doctor_text(found: Diagnosis, *, width: int | None = None) -> str:
    """What was seen, a line for each thing, and below it what stands in the way and what is worth knowing."""
    rows = [[words.NONE, "host", *_host(found.host)], *_cards(found), *_engine(found.engine), *_web_uis(found.web_uis)]
    marked = [[f"{mark} {label}", *rest] for mark, label, *rest in rows]
    blocks = [flat(columns(marked, width=width))]
    stopping = _merged(found.stopping)
    if stopping:
        blocks.append(problems_text(stopping, width=width).splitlines())
    blocks += [_advice(problem, width) for problem in _merged(found.advice)]
    blocks.append([_verdict(found)])
    return join_blocks(blocks)


def _host(host: Host) -> list[str]:
    if not host.readable:
        return ["not known: the engine runs on another machine"]
    facts = [_kind(host)]
    if host.online_cpus:
        facts.append(_cpus(host))
    if host.memory_bytes is not None:
        free = f", {words.size(host.available_bytes)} available" if host.available_bytes is not None else ""
        facts.append(words.size(host.memory_bytes) + free)
    return [" · ".join(facts)]


def _kind(host: Host) -> str:
    if host.wsl2:
        return "WSL2"
    if host.contained:
        return "Linux, seen from inside a container"
    if host.lxc:
        return f"LXC container{', unprivileged' if host.unprivileged else ''}"
    return f"Linux in a virtual machine ({clean(host.hypervisor)})" if host.hypervisor else "Linux"


def _cpus(host: Host) -> str:
    count = words.plural(len(host.online_cpus), "CPU")
    if not host.performance_cpus or not host.efficiency_cpus:
        return count
    return f"{count}, {_ranges(host.performance_cpus)} fast, {_ranges(host.efficiency_cpus)} efficient"


def _ranges(numbers: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _cards(found: Diagnosis) -> list[list[str]]:
    if not found.cards:
        return [[words.NONE, "GPU", "none, models run on the CPU"]] if found.host.readable else []
    return [_card(state) for state in found.cards]


def _card(state: CardState) -> list[str]:
    card = state.card
    if state.api is None:
        return [words.NONE, "GPU", clean(describe(card)), "a display, not for models"]
    if state.problem is not None:
        return [words.WARN, "GPU", clean(describe(card)), f"not usable: {state.problem.id}"]
    kind = {True: "integrated", False: "card", None: ""}[card.integrated]
    memory = words.size(card.memory_bytes) if card.memory_bytes and not card.integrated else ""
    return [
        words.PASS,
        "GPU",
        clean(describe(card)),
        ", ".join(filter(None, (_APIS[state.api], kind, memory))),
    ]


def _engine(engine: EngineInfo | None) -> list[list[str]]:
    if engine is None:
        return [[words.FAIL, "engine", "none answers"]]
    kinds = (
        ("rootless", engine.rootless),
        ("userns-remap", engine.userns_remap),
        ("snap", engine.snap),
        ("Docker Desktop", engine.desktop),
        ("SELinux", engine.selinux),
    )
    facts = [f"Docker {clean(engine.version)}", *(name for name, is_so in kinds if is_so)]
    facts += [clean(engine.root_dir), f"logs by {clean(engine.log_driver)}"]
    return [[words.PASS, "engine", " · ".join(fact for fact in facts if fact)]]


def _web_uis(web_uis: tuple[WebUi, ...]) -> list[list[str]]:
    return [
        [
            words.NONE,
            "client",
            f"Open WebUI ({clean(web_ui.container)})",
            f"{words.plural(len(web_ui.jobs), 'background job')} on" if web_ui.jobs else "no background jobs",
        ]
        for web_ui in web_uis
    ]


def _merged(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Problems that say the same of several models as one: a GPU stands in the way of all that use it."""
    merged: dict[tuple[str, str, str], Problem] = {}
    for problem in problems:
        merged.setdefault((problem.id, problem.message, problem.hint), problem)
    return tuple(merged.values())


def _advice(problem: Problem, width: int | None) -> list[str]:
    where = f"{clean(problem.model)}: " if problem.model else ""
    first, *more = message_lines(problem)
    texts = [words.sentence(f"{where}{first}"), *more, *clean_lines(problem.hint)]
    return hang(words.WARN, texts, width=width)


def _verdict(found: Diagnosis) -> str:
    if found.stopping:
        return f"{words.FAIL} {words.plural(len(_merged(found.stopping)), 'thing')} to put right, then: homellm doctor"
    if found.stack is None:
        return f"{words.PASS} No stack file was looked at. Next: write homellm.yaml, or name one with --file."
    models = words.plural(found.models, "model")
    return f"{words.PASS} Nothing stands in the way of {clean(found.stack)} ({models}). Next: homellm up"
