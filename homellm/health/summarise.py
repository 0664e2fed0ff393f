"""The state of a process and its last load as a frozen LogSummary."""

from __future__ import annotations

from types import MappingProxyType

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Signal
from homellm.health.load import LoadState
from homellm.health.process import ProcessState

#: How builds of different age write a context's `flash_attn`; `auto` says nothing.
_FLASH: dict[object, str] = {"enabled": "on", "disabled": "off", 1: "on", 0: "off"}


def summarise(process: ProcessState, problems: tuple[Signal, ...]) -> LogSummary:
    """The summary of a process and its last load."""
    load = process.load
    return LogSummary(
        ready=load.ready,
        slots=load.slots,
        ctx_per_slot=load.ctx,
        kv_unified=load.kv_unified,
        device=process.device,
        device_pci=process.device_pci,
        layers_offloaded=process.layers_offloaded,
        slots_used=load.slots_used,
        memory=tuple(load.rows),
        model_path=load.path,
        build=process.build,
        verbosity=process.verbosity,
        weights_mib=MappingProxyType(dict(load.buffers)),
        kv_mib=load.kv_mib,
        recurrent_mib=load.recurrent_mib,
        compute_mib=MappingProxyType(dict(load.compute)),
        threads=load.threads or process.threads,
        batch=_int(load, "n_batch"),
        ubatch=_int(load, "n_ubatch"),
        flash_attention=load.flash or _FLASH.get(load.context.get("flash_attn")),
        kv_types=load.kv_types,
        problems=problems,
        pool_tokens=_int(load, "n_ctx"),
        cache_reused=load.cache_reused,
        known=process.known,
        found_no_gpu=process.found_no_gpu,
    )


def _int(load: LoadState, key: str) -> int | None:
    value = load.context.get(key)
    return value if isinstance(value, int) else None
