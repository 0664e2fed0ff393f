"""The KV cache and the recurrent state, byte by byte as llama.cpp allocates them.

Source: the constructors of llama_kv_cache, llama_kv_cache_iswa and llama_memory_recurrent (build 11669).
"""

from __future__ import annotations

from homellm.domain.ggml import type_of_name
from homellm.domain.gguf import GgufHeader
from homellm.sizing.architectures import Layer, layers_of, window_size
from homellm.sizing.demand import Demand, padded


class UnknownType(ValueError):
    """A cache type that ggml does not have, or one whose blocks do not divide the rows of this model."""


def window_cells(header: GgufHeader, demand: Demand) -> int:
    """Cells of one stream of the cache of layers with a window; those of the whole context when it is kept whole."""
    if demand.swa_full:
        return demand.cells
    sequences = demand.parallel if demand.kv_unified else 1
    return padded(min(demand.cells, window_size(header) * sequences + min(demand.ubatch, demand.batch)))


def kv_bytes_by_layer(header: GgufHeader, demand: Demand) -> tuple[int, ...]:
    """Bytes of keys and values of each block, all slots together. Raises UnknownType."""
    layers = layers_of(header)
    # without flash attention values lie transposed, as wide as the widest layer's (TAG_V_CACHE_VARIABLE)
    widest = 0 if demand.flash_attention else max((layer.value for layer in layers), default=0)
    windowed = window_cells(header, demand) * demand.streams
    whole = demand.cells * demand.streams
    return tuple(
        (windowed if layer.windowed else whole)
        * (_row(demand.key_type, layer.key) + _row(demand.value_type, _value(layer, widest)))
        for layer in layers
    )


def _value(layer: Layer, widest: int) -> int:
    return max(layer.value, widest) if layer.value else 0


def _row(type_name: str, elements: int) -> int:
    kind = type_of_name(type_name)
    if kind is None:
        raise UnknownType(f"{type_name} is no type of a KV cache")
    try:
        return kind.row_bytes(elements)
    except ValueError as error:
        raise UnknownType(f"this model's KV cache cannot be {type_name}: {error}") from error


def state_bytes_by_layer(header: GgufHeader, demand: Demand) -> tuple[int, ...]:
    """Bytes of recurrent state of each block, all slots together: 32-bit floats whatever the cache types are."""
    return tuple(layer.state * 4 * demand.parallel for layer in layers_of(header))
