"""From a declared model to its needs, as `up` and `fit` ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from homellm.domain.gguf import GgufHeader
from homellm.domain.stack import Model
from homellm.sizing.architectures import is_exact
from homellm.sizing.demand import BATCH, UBATCH, Demand
from homellm.sizing.needs import Needs, Share, needs

#: More layers than any model has: all of them.
ALL_LAYERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a declared model will need, in bytes. `total_bytes` is on all devices together.

    `weights_bytes` are those of the file; with an embedding that is also the output, a GPU has a copy of it besides.
    `exact` is False when only the weights are known, or the architecture keeps more than is reckoned here: then the
    true need is larger. The compute buffer is an estimate in any case.
    """

    total_bytes: int
    weights_bytes: int
    kv_bytes_per_slot: int
    recurrent_bytes_per_slot: int
    compute_bytes: int
    exact: bool
    needs: Needs


def demand_of(model: Model) -> Demand:
    """What a declared model asks of its server; keys that are absent have llama-server's defaults."""
    kv = model.kv_cache_type
    return Demand(
        ctx=model.ctx,
        parallel=model.parallel,
        batch=model.batch or BATCH,
        ubatch=model.ubatch or UBATCH,
        key_type=kv.k if kv else "f16",
        value_type=kv.v if kv else "f16",
        flash_attention=model.flash_attention != "off",
        kv_unified=bool(model.kv_unified),
        swa_full=bool(model.swa_full),
        gpu_layers=_gpu_layers(model),
        mlock=model.mlock,
    )


def _gpu_layers(model: Model) -> int | None:
    if model.gpu is None:
        return None
    return model.gpu_layers if isinstance(model.gpu_layers, int) else ALL_LAYERS


def estimate_model(header_or_size: GgufHeader | int, model: Model, *, projector_bytes: int = 0) -> Estimate:
    """Reckon a declared model from its header, or, before there is one, from the bytes of its file alone.

    Raises caches.UnknownType for a cache type that ggml or this model does not have.
    """
    demand = replace(demand_of(model), projector_bytes=projector_bytes)
    if isinstance(header_or_size, int):
        on_gpu = demand.gpu_layers is not None
        share, none = Share(weights=header_or_size, projector=projector_bytes), Share()
        need = Needs(demand.parallel, demand.slot_cells, none if on_gpu else share, share if on_gpu else none)
        exact = False
    else:
        need = needs(header_or_size, demand)
        exact = is_exact(header_or_size)
    return Estimate(
        total_bytes=need.total,
        weights_bytes=header_or_size if isinstance(header_or_size, int) else header_or_size.weights_bytes,
        kv_bytes_per_slot=need.kv_bytes_per_slot,
        recurrent_bytes_per_slot=need.recurrent_bytes_per_slot,
        compute_bytes=need.compute_bytes,
        exact=exact,
        needs=need,
    )
