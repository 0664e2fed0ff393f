"""What the header of a GGUF file tells: the shape of the model and the bytes of its weights, not the weights.

Source of the format: docs/gguf.md of ggml and ggml/src/gguf.cpp; of the keys: gguf-py/gguf/constants.py (build 11669).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from homellm.domain.ggml import GgmlType

#: A metadata value: a scalar, a text, or a short array of numbers. Long arrays and arrays of texts are only counted.
Value = int | float | bool | str | tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as the header describes it. `offset` counts from the start of the data, `type` None is unknown."""

    name: str
    dims: tuple[int, ...]
    type: GgmlType | None
    type_id: int
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RawHeader:
    """The header as it stands: keys with their values, lengths of the arrays that were not kept, tensors.

    `data_start` is where tensor data begins, `end_bytes` the size that the file must have at least.
    """

    version: int
    values: dict[str, Value]
    lengths: dict[str, int]
    tensors: tuple[Tensor, ...]
    data_start: int
    end_bytes: int


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """Bytes of weights by where llama.cpp puts them.

    `layers` are the repeating blocks (they go to the GPU one by one), `input` the token embedding and what else the
    input needs (always in host memory), `output` the output matrix and norms (last to go to the GPU).
    `experts` is the part of `layers` that belongs to routed experts, `largest` the largest single tensor of a block.
    `tied_output` is what a model without an output matrix keeps twice when the output goes to a GPU: its embedding.
    """

    layers: tuple[int, ...] = ()
    input: int = 0
    output: int = 0
    experts: int = 0
    tied_output: int = 0
    largest: int = 0

    @property
    def total(self) -> int:
        """All weights once, as they lie in the file."""
        return sum(self.layers) + self.input + self.output


@dataclass(frozen=True, slots=True)
class Window:
    """Sliding-window attention as the file has it.

    `size` in tokens, 0 without one. `pattern` says which layers have the window: one truth value a layer, or N for
    "every Nth layer attends to everything", or None when the architecture's own pattern holds.
    """

    size: int = 0
    pattern: tuple[bool, ...] | int | None = None


@dataclass(frozen=True, slots=True)
class StateSpace:
    """Sizes of recurrent layers (`ssm.*`, `shortconv.l_cache`, `wkv.*`, `kda.*`); 0 for what the file does not have."""

    conv_kernel: int = 0
    inner_size: int = 0
    state_size: int = 0
    group_count: int = 0
    time_step_rank: int = 0
    shortconv_cache: int = 0
    wkv_head_size: int = 0
    token_shift_count: int = 2
    kda_head_dim: int = 0


@dataclass(frozen=True, slots=True)
class Experts:
    """Mixture of experts; all 0 for a dense model. `used` is the largest number of experts for one token.

    `dense` tells whether any block has a feed-forward that is not routed.
    """

    count: int = 0
    used: int = 0
    feed_forward: int = 0
    shared_feed_forward: int = 0
    dense: bool = True


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A model's header in the field's words; every number is 0 where the file does not say.

    `layers` counts all blocks, `nextn_layers` those at the end that only predict further tokens. `heads`, `kv_heads`
    and `feed_forward` have one number a layer. `key_length` and `value_length` are the sizes of one head;
    `key_length_swa`, `value_length_swa` those in layers with a window. `mla` marks latent attention: keys alone are
    kept. `shared_kv_layers` at the end use the cache of earlier ones. `recurrent_layers` is given by few files.
    `part_bytes` are the sizes of the files that make up the model.
    """

    architecture: str
    version: int = 3
    name: str = ""
    layers: int = 0
    nextn_layers: int = 0
    context_length: int = 0
    embedding: int = 0
    feed_forward: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    kv_heads: tuple[int, ...] = ()
    key_length: int = 0
    value_length: int = 0
    key_length_swa: int = 0
    value_length_swa: int = 0
    mla: bool = False
    window: Window = field(default_factory=Window)
    shared_kv_layers: int = 0
    full_attention_interval: int = 0
    recurrent_layers: tuple[bool, ...] | None = None
    state_space: StateSpace = field(default_factory=StateSpace)
    experts: Experts = field(default_factory=Experts)
    vocabulary: int = 0
    template: str | None = None
    split_index: int = 0
    split_count: int = 1
    tensors: int = 0
    tensor_bytes: TensorBytes = field(default_factory=TensorBytes)
    bytes_by_type: tuple[tuple[str, int], ...] = ()

    @property
    def weights_bytes(self) -> int:
        """The sum of all tensors: what the server prints as `file size`, and what lies in memory after loading."""
        return self.tensor_bytes.total
