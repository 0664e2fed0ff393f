"""The compute buffer: room for the intermediate results of one batch. An estimate, unlike the caches.

llama.cpp lays the whole graph out before it starts (ggml-alloc), and what it then needs is the peak over all layers.
The forms below are the peaks measured with build 11669 over some forty shapes of eight architectures (docs/sizing.md):
exact for plain, windowed and short-convolution layers and for experts, within a tenth for state-space layers. All are
counts of 32-bit floats for one token.
"""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.gguf import GgufHeader
from homellm.sizing.architectures import layers_of
from homellm.sizing.caches import window_cells
from homellm.sizing.demand import Demand

#: Copies of the residual stream that are alive at the peak: on the CPU, on a GPU, and on the host beside a GPU.
_STREAMS_CPU, _STREAMS_GPU, _STREAMS_HOST = 5, 4, 4
_FLOAT_BYTES = 4
#: Positions, token numbers, indices of cells and the like, a token.
_SMALL_INPUTS = 10


@dataclass(frozen=True, slots=True)
class Compute:
    """Bytes of the compute buffers: on the GPU (0 without one) and in host memory."""

    gpu: int
    host: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.gpu + self.host


def compute_buffers(header: GgufHeader, demand: Demand) -> Compute:
    """The compute buffers that a server with this demand will reserve."""
    tokens = demand.tokens_at_once
    masks = _mask_bytes(header, demand, tokens)
    inputs = masks + _SMALL_INPUTS * tokens * _FLOAT_BYTES
    logits = _logits_bytes(header, demand, tokens)
    if demand.gpu_layers is None:
        return Compute(0, inputs + max(_peak(header, demand, tokens, _STREAMS_CPU), logits))
    gpu = inputs + max(_peak(header, demand, tokens, _STREAMS_GPU), logits)
    if demand.gpu_layers <= header.layers:
        # prompts are computed on the GPU with weights of the host's layers copied over, two matrices at a time
        gpu += 2 * header.tensor_bytes.largest
    return Compute(gpu, inputs + _STREAMS_HOST * header.embedding * tokens * _FLOAT_BYTES)


def output_bytes(header: GgufHeader, demand: Demand) -> int:
    """The output buffer in host memory: the logits of one token a slot (`output_reserve`)."""
    return demand.parallel * header.vocabulary * _FLOAT_BYTES


def _mask_bytes(header: GgufHeader, demand: Demand, tokens: int) -> int:
    """One attention mask for each size of cache: half floats with flash attention, else floats."""
    layers = layers_of(header)
    cells = demand.cells if any(layer.key and not layer.windowed for layer in layers) else 0
    cells += window_cells(header, demand) if any(layer.windowed for layer in layers) else 0
    return cells * tokens * (2 if demand.flash_attention else _FLOAT_BYTES)


def _logits_bytes(header: GgufHeader, demand: Demand, tokens: int) -> int:
    outputs = tokens if demand.full_logits else min(demand.parallel, tokens)
    return header.vocabulary * outputs * _FLOAT_BYTES


def _peak(header: GgufHeader, demand: Demand, tokens: int, streams: int) -> int:
    stream = streams * header.embedding
    floats = max(
        stream + _dense(header),
        stream + _experts(header),
        _attention(header, demand, stream),
        stream + _state_space(header),
    )
    return (floats * tokens + _scan_states(header, demand)) * _FLOAT_BYTES


def _dense(header: GgufHeader) -> int:
    """Up, gate and their product. Some models of experts tell a width that no block of theirs has."""
    return 3 * max(header.feed_forward, default=0) if header.experts.dense else 0


def _attention(header: GgufHeader, demand: Demand, stream: int) -> int:
    """Queries before and after rotation and the result, keys and values twice.

    Without flash attention the products of all queries with all keys are written out.
    """
    queries = max(header.heads, default=0) * header.key_length
    keys = max(header.kv_heads, default=0) * header.key_length
    if demand.flash_attention or not keys:
        return header.embedding + 3 * queries + 2 * keys
    return stream + 2 * queries + max(header.heads) * demand.cells


def _experts(header: GgufHeader) -> int:
    """Up, gate and their product for each expert used; the way down lies beside them unless it fits in two of them."""
    experts = header.experts
    if not experts.count:
        return 0
    width = experts.feed_forward or max(header.feed_forward, default=0)
    down = experts.used * header.embedding if 2 * width < header.embedding else 0
    return 3 * experts.used * width + down


def _state_space(header: GgufHeader) -> int:
    space = header.state_space
    if not space.inner_size:
        return 0
    mixed = 2 * max(space.group_count, 1) * space.state_size
    return 5 * space.inner_size + 2 * mixed + space.time_step_rank


def _scan_states(header: GgufHeader, demand: Demand) -> int:
    """The scan returns the new state of each slot beside its results."""
    return header.state_space.state_size * header.state_space.inner_size * demand.parallel
