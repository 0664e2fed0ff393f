"""What a log told, for people and for programs. Pure: a summary in, text or a document out."""

from __future__ import annotations

from homellm.domain.evidence import Load, LogSummary, MemoryRow
from homellm.domain.signals import Signal
from homellm.report import words
from homellm.report.json_report import Document
from homellm.report.layout import clean, clean_lines, columns, flat, hang

_CPU = "cpu"
#: The level from which today's builds print devices, layers and buffers.
_EVIDENCE_LEVEL = 4
#: So many characters of a blob's name tell it apart from others, as Ollama itself prints it.
_BLOB = len("sha256-") + 12


def explain_document(summary: LogSummary) -> Document:
    """The documented keys; null where the log does not tell. An Ollama server's log has three more."""
    document: Document = {
        "ready": summary.ready if summary.known else None,
        "slots": summary.slots,
        "ctx_per_slot": summary.ctx_per_slot,
        "kv_unified": summary.kv_unified,
        "device": summary.device,
        "layers_offloaded": summary.layers_offloaded,
        "slots_used": summary.slots_used if summary.known else None,
        "memory": [_row(row) for row in summary.memory] or None,
        "problems": [{"id": p.id, "line": p.line, "hint": p.hint} for p in summary.problems],
    }
    if summary.server is not None:
        document |= {
            "server": summary.server,
            "version": summary.version,
            "loads": [_load(load) for load in summary.loads],
        }
    return document


def _row(row: MemoryRow) -> Document:
    return {
        "device": row.device,
        "total_mib": row.total_mib,
        "free_mib": row.free_mib,
        "self_mib": row.self_mib,
        "model_mib": row.model_mib,
        "context_mib": row.context_mib,
        "compute_mib": row.compute_mib,
        "unaccounted_mib": row.unaccounted_mib,
    }


def _load(load: Load) -> Document:
    return {
        "blob": load.blob,
        "slots": load.slots,
        "ctx_per_slot": load.ctx_per_slot,
        "ready": load.ready,
        "refused": load.refused,
        "device": load.device,
    }


def explain_text(summary: LogSummary, *, width: int | None = None) -> str:
    """A few sentences on what happened, the memory table, and each problem with what to do."""
    if not summary.known:
        text = "No line of this log is one of a llama-server or an Ollama server."
        return "\n".join(hang(words.UNKNOWN, [text], width=width)) + "\n"
    worst_first = sorted(summary.problems, key=lambda problem: not problem.fatal)
    blocks = [
        hang(words.PASS if summary.ready else words.FAIL, _story(summary), width=width),
        _loads_table(summary.loads, width),
        _memory_table(summary.memory, width),
        *([_problem(problem, width) for problem in worst_first] or [["No problem is in this log."]]),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _story(summary: LogSummary) -> list[str]:
    model = f"Model: {clean(summary.model_path)}" if summary.model_path and summary.server is None else ""
    told = [_opening(summary), model, _slots(summary), _device(summary), _use(summary)]
    return [sentence for sentence in told if sentence]


def _opening(summary: LogSummary) -> str:
    if summary.server is not None:
        name = f"Ollama {clean(summary.version or '')}".strip()
        if not summary.loads:
            return f"{name} loaded no model."
        last = "it is ready" if summary.ready else "it did not become ready"
        return f"{name} made {words.plural(len(summary.loads), 'load')}; of the last one: {last}."
    name = f"llama-server {clean(summary.build or '')}".strip()
    return f"{name} became ready." if summary.ready else f"{name} did not become ready."


def _slots(summary: LogSummary) -> str:
    if summary.slots is None:
        return ""
    slots, ctx = words.plural(summary.slots, "slot"), summary.ctx_per_slot
    if ctx is None:
        return f"It has {slots}."
    if summary.kv_unified and summary.slots > 1:
        return f"It has {slots} that share one pool of {summary.pool_tokens or ctx} tokens."
    return f"It has {slots} of {ctx} tokens{' each' if summary.slots > 1 else ''}."


def _device(summary: LogSummary) -> str:
    if summary.device is None:
        if not summary.ready:
            return ""
        low = summary.verbosity is not None and summary.verbosity < _EVIDENCE_LEVEL
        more = f"; with -lv {_EVIDENCE_LEVEL} it would" if low and summary.server is None else ""
        return f"The log does not tell which device it runs on{more}."
    if summary.device == _CPU:
        if not summary.ready:
            asked = any(problem.id == "no-gpu" for problem in summary.problems)
            return "It found no GPU to run on." if asked else ""
        claimed = ": no layer is on a GPU, whatever it says of offloading" if summary.layers_offloaded else ""
        return f"It runs on the CPU{claimed}."
    layers = f", {summary.layers_offloaded.replace('/', ' of ')} layers" if summary.layers_offloaded else ""
    return f"It runs on {clean(summary.device)}{layers}."


def _use(summary: LogSummary) -> str:
    if not summary.slots_used:
        return ""
    of = f" of {summary.slots}" if summary.slots else ""
    return f"{summary.slots_used}{of} {'slot' if summary.slots_used == 1 and not of else 'slots'} served requests."


def _loads_table(loads: tuple[Load, ...], width: int | None) -> list[str]:
    if not loads:
        return []
    rows = [["load", "slots", "ctx", "device", ""], *map(_load_row, loads)]
    return flat(columns(rows, right=frozenset({1, 2}), width=width))


def _load_row(load: Load) -> list[str]:
    mark = words.PASS if load.ready else words.FAIL
    note = f"one slot only: {clean(load.refused)}" if load.refused else ""
    numbers = [words.native(load.slots), words.native(load.ctx_per_slot)]
    return [f"{mark} {clean(load.blob or '')[:_BLOB]}", *numbers, clean(load.device or words.NONE), note]


def _memory_table(memory: tuple[MemoryRow, ...], width: int | None) -> list[str]:
    if not memory:
        return []
    rows = [["memory in MiB", "total", "free", "used", "model", "context", "compute"]]
    for row in memory:
        numbers = (row.total_mib, row.free_mib, row.self_mib, row.model_mib, row.context_mib, row.compute_mib)
        rows.append([clean(row.device), *("" if number is None else str(number) for number in numbers)])
    return flat(columns(rows, right=frozenset(range(1, 7)), width=width))


def _problem(problem: Signal, width: int | None) -> list[str]:
    count = problem.facts.get("count")
    times = f", {count} times" if isinstance(count, int) and count > 1 else ""
    lines = [clean(problem.line), *clean_lines(problem.hint)]
    return [
        f"{words.FAIL if problem.fatal else words.WARN} {problem.id}{times}",
        *hang("", lines, width=width, indent=4),
    ]
