"""What one load of a model told: slots, context, device, buffers, and what its slots served."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from homellm.domain.evidence import MemoryRow
from homellm.domain.signals import Signal
from homellm.health.problems import Problems

#: Slots and rows beyond these are not kept: no server has them, a forged log may.
_MOST_SLOTS = 4096
_MOST_ROWS = 64
_MOST_BUFFERS = 64


class LoadState:
    """A fold of the signals of one load. Attributes are None until a line told."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self.ready = False
        self.failed = False
        self.problems = Problems()
        self.slots: int | None = None
        self.ctx: int | None = None
        self.kv_unified: bool | None = None
        self.context: dict[str, int | float | str] = {}
        self.buffers: dict[str, float] = {}
        self.compute: dict[str, float] = {}
        self.kv_mib: float | None = None
        self.recurrent_mib: float | None = None
        self.kv_types: tuple[str, str] | None = None
        self.flash: str | None = None
        self.offloaded: tuple[int, int] | None = None
        self.offload_line: Signal | None = None
        self.used: dict[str, Signal] = {}
        self.rows: list[MemoryRow] = []
        self.row_lines: list[Signal] = []
        self.threads: int | None = None
        self.cache_reused = False
        self.amx_not_ready = False
        self.last: Signal | None = None
        self.served: set[int] = set()
        self._pending: dict[int, int] = {}
        self._main_path: str | None = None
        self._foreign = False

    @property
    def slots_used(self) -> int:
        """How many different slots served, or are about to."""
        return len(self.served | self._pending.keys())

    def add(self, signal: Signal) -> None:
        """Take one signal; those that are not a load's are ignored."""
        self.last = signal
        take = _TAKES.get(signal.id)
        if take is not None:
            take(self, signal)

    def _meta(self, signal: Signal) -> None:
        """Every model file says where it lies; those of a draft or a projector are not the model's own."""
        path = str(signal.facts.get("path"))
        self._main_path = self._main_path or path
        self._foreign = path != self._main_path

    def _slots_line(self, signal: Signal) -> None:
        self.slots = _int(signal, "n_slots")
        self.ctx = _int(signal, "n_ctx") or self.ctx
        unified = signal.facts.get("kv_unified")
        self.kv_unified = unified if isinstance(unified, bool) else self.kv_unified

    def _slot_line(self, signal: Signal) -> None:
        self.ctx = self.ctx or _int(signal, "n_ctx")

    def _launch(self, signal: Signal) -> None:
        slot, task = _int(signal, "slot"), _int(signal, "task")
        if slot is not None and slot < _MOST_SLOTS:
            self._pending[slot] = task if task is not None else -1

    def _serve(self, signal: Signal) -> None:
        slot = _int(signal, "slot")
        if slot is not None and slot < _MOST_SLOTS and self._pending.pop(slot, None) is not None:
            self.served.add(slot)

    def _release(self, signal: Signal) -> None:
        if _int(signal, "tokens"):
            self._serve(signal)

    def _refuse(self, signal: Signal) -> None:
        """A prompt that was too long occupied a slot and was not served by it."""
        task = _int(signal, "task")
        self._pending = {slot: other for slot, other in self._pending.items() if other != task}

    def _tensors(self, _: Signal) -> None:
        if not self._foreign:
            self.buffers.clear()

    def _model_buffer(self, signal: Signal) -> None:
        if not self._foreign:
            _add(self.buffers, signal)

    def _context_begin(self, _: Signal) -> None:
        if not self._foreign:
            self.context.clear()
            self.compute.clear()
            self.kv_mib = self.recurrent_mib = None

    def _context(self, signal: Signal) -> None:
        if not self._foreign:
            self.context.update({key: value for key, value in signal.facts.items() if value is not None})

    def _compute(self, signal: Signal) -> None:
        if not self._foreign:
            _add(self.compute, signal)

    def _kv(self, signal: Signal) -> None:
        """Models with sliding windows have two caches, of one element type."""
        if not self._foreign:
            self.kv_mib = (self.kv_mib or 0.0) + _float(signal, "mib")
            self.kv_types = (str(signal.facts.get("k")), str(signal.facts.get("v")))

    def _recurrent(self, signal: Signal) -> None:
        if not self._foreign:
            self.recurrent_mib = (self.recurrent_mib or 0.0) + _float(signal, "mib")

    def _offload(self, signal: Signal) -> None:
        offloaded, total = _int(signal, "offloaded"), _int(signal, "total")
        if not self._foreign and offloaded is not None and total is not None:
            self.offloaded, self.offload_line = (offloaded, total), signal

    def _device(self, signal: Signal) -> None:
        if not self._foreign and len(self.used) < _MOST_BUFFERS:
            self.used[str(signal.facts.get("device"))] = signal

    def _flash(self, signal: Signal) -> None:
        if not self._foreign:
            self.flash = "on" if signal.facts.get("state") == "enabled" else "off"

    def _rows_begin(self, _: Signal) -> None:
        self.rows, self.row_lines = [], []

    def _row(self, signal: Signal) -> None:
        if len(self.rows) < _MOST_ROWS:
            keys = ("total", "free", "self", "model", "context", "compute", "unaccounted")
            numbers = {f"{key}_mib": _int(signal, key) for key in keys}
            self.row_lines.append(signal)
            self.rows.append(MemoryRow(device=str(signal.facts.get("device")), **numbers))

    def _threads(self, signal: Signal) -> None:
        self.threads = _int(signal, "n_threads")

    def _reused(self, _: Signal) -> None:
        self.cache_reused = True

    def _amx(self, _: Signal) -> None:
        self.amx_not_ready = True


_TAKES: dict[str, Callable[[LoadState, Signal], None]] = {
    "model-meta": LoadState._meta,
    "slots": LoadState._slots_line,
    "slot": LoadState._slot_line,
    "slot-launch": LoadState._launch,
    "slot-serving": LoadState._serve,
    "slot-release": LoadState._release,
    "request-refused": LoadState._refuse,
    "tensors-begin": LoadState._tensors,
    "model-buffer": LoadState._model_buffer,
    "context-begin": LoadState._context_begin,
    "context": LoadState._context,
    "compute-buffer": LoadState._compute,
    "kv": LoadState._kv,
    "recurrent": LoadState._recurrent,
    "offload": LoadState._offload,
    "device-used": LoadState._device,
    "flash-attention": LoadState._flash,
    "breakdown-begin": LoadState._rows_begin,
    "breakdown": LoadState._row,
    "threads": LoadState._threads,
    "cache-reused": LoadState._reused,
    "amx-not-ready": LoadState._amx,
}


def _add(buffers: dict[str, float], signal: Signal) -> None:
    """Sum what lies in buffers of one name: a split file is mapped piece by piece."""
    name = str(signal.facts.get("buffer"))
    if name in buffers or len(buffers) < _MOST_BUFFERS:
        buffers[name] = buffers.get(name, 0.0) + _float(signal, "mib")


def _int(signal: Signal, key: str) -> int | None:
    value = signal.facts.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(signal: Signal, key: str) -> float:
    return float(cast("float", signal.facts.get(key) or 0.0))
