"""What a model needs on each device: weights, caches, buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

from homellm.domain.gguf import GgufHeader
from homellm.sizing.caches import kv_bytes_by_layer, state_bytes_by_layer
from homellm.sizing.compute import compute_buffers, output_bytes
from homellm.sizing.demand import Demand


@dataclass(frozen=True, slots=True)
class Share:
    """What lies on one device, in bytes. `projector` is the weights of an mmproj; its own buffers are not reckoned."""

    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    compute: int = 0
    output: int = 0
    projector: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.kv + self.recurrent + self.compute + self.output + self.projector

    @property
    def unmapped(self) -> int:
        """What cannot be read again from the model file: the kernel can take back only weights that are mapped."""
        return self.total - self.weights - self.projector


@dataclass(frozen=True, slots=True)
class Needs:
    """What a model with a certain demand needs; `gpu` is empty when there is none."""

    parallel: int
    ctx: int
    host: Share
    gpu: Share = field(default_factory=Share)

    @property
    def weights_bytes(self) -> int:
        """Weights on both devices; more than the file has when the embedding is also the output matrix on a GPU."""
        return self.host.weights + self.gpu.weights

    @property
    def kv_bytes_per_slot(self) -> int:
        """Keys and values of one slot; of a shared pool, its part."""
        return (self.host.kv + self.gpu.kv) // self.parallel

    @property
    def recurrent_bytes_per_slot(self) -> int:
        """Recurrent state of one slot."""
        return (self.host.recurrent + self.gpu.recurrent) // self.parallel

    @property
    def compute_bytes(self) -> int:
        """Compute buffers on both devices."""
        return self.host.compute + self.gpu.compute

    @property
    def total(self) -> int:
        """All devices together."""
        return self.host.total + self.gpu.total


def needs(header: GgufHeader, demand: Demand) -> Needs:
    """Reckon a model. Raises caches.UnknownType for a cache type that this model or ggml does not have."""
    on_gpu = gpu_blocks(header, demand)
    kv = kv_bytes_by_layer(header, demand)
    state = state_bytes_by_layer(header, demand)
    compute = compute_buffers(header, demand)
    gpu_weights, host_weights = _weights(header, on_gpu)
    gpu_exists = demand.gpu_layers is not None
    host = Share(
        weights=host_weights,
        kv=sum(size for number, size in enumerate(kv) if number not in on_gpu),
        recurrent=sum(size for number, size in enumerate(state) if number not in on_gpu),
        compute=compute.host,
        output=output_bytes(header, demand),
        projector=0 if gpu_exists else demand.projector_bytes,
    )
    gpu = Share(
        weights=gpu_weights,
        kv=sum(kv) - host.kv,
        recurrent=sum(state) - host.recurrent,
        compute=compute.gpu,
        projector=demand.projector_bytes if gpu_exists else 0,
    )
    return Needs(demand.parallel, demand.slot_cells, host, gpu)


def gpu_blocks(header: GgufHeader, demand: Demand) -> range:
    """Which blocks go to the GPU; the number after the last block stands for the output.

    llama.cpp fills from the end: -ngl 1 is the output alone, -ngl 2 the last block too (`load_tensors`).
    """
    wanted = min(max(demand.gpu_layers or 0, 0), header.layers + 1)
    return range(header.layers + 1 - wanted, header.layers + 1)


def _weights(header: GgufHeader, on_gpu: range) -> tuple[int, int]:
    """Weights on the GPU and on the host. The input never leaves the host; a tied output is a copy on the GPU."""
    sums = header.tensor_bytes
    gpu = sum(size for number, size in enumerate(sums.layers) if number in on_gpu)
    host = sums.input + sum(sums.layers) - gpu
    if header.layers in on_gpu:
        return gpu + sums.output + sums.tied_output, host
    return gpu, host + sums.output
