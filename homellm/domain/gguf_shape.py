"""From a header as it stands to the shape of the model: keys looked up by architecture, tensors summed by place.

Which keys there are and what they mean when absent: `llama_model_base::load_hparams` in llama.cpp (build 11669).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from homellm.domain.gguf import Experts, GgufHeader, RawHeader, StateSpace, Tensor, TensorBytes, Value, Window

#: More blocks than any llama.cpp takes (LLAMA_MAX_LAYERS is 512): beyond it the number is a lie.
MAX_LAYERS = 1024

_BLOCK = re.compile(r"blk\.(\d{1,6})\.")
_DENSE = (".ffn_up.weight", ".ffn_gate_up.weight")
_INPUT = ("token_embd.", "position_embd.", "token_types.", "per_layer_token_embd.")


class ShapeError(ValueError):
    """A key has a value that no model can have; the text says which."""


class _Keys:
    """Looks keys of one architecture up, with the type and range that they must have."""

    def __init__(self, values: Mapping[str, Value], architecture: str) -> None:
        self._values = values
        self._prefix = architecture

    def number(self, key: str, default: int = 0) -> int:
        """A whole number from 0 up, `default` when the key is absent; the largest of an array."""
        value = self._values.get(f"{self._prefix}.{key}")
        if value is None:
            return default
        return max((_whole(key, item) for item in _items(key, value)), default=default)

    def per_layer(self, key: str, layers: int, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """One number a layer: the file has one for all, or an array (its last number stands for what it lacks)."""
        value = self._values.get(f"{self._prefix}.{key}")
        if value is None:
            return default
        items = tuple(_whole(key, item) for item in _items(key, value))
        if not items:
            return default
        return (items + (items[-1],) * layers)[:layers]

    def pattern(self, key: str) -> tuple[bool, ...] | int | None:
        """Truth values a layer, or one number, or None when the key is absent."""
        value = self._values.get(f"{self._prefix}.{key}")
        if value is None:
            return None
        if isinstance(value, tuple):
            return tuple(bool(item) for item in value)
        return _whole(key, value)


def _items(key: str, value: Value) -> tuple[int | float | bool, ...]:
    if isinstance(value, str):
        raise ShapeError(f"{key} is a text and not a number")
    return value if isinstance(value, tuple) else (value,)


def _whole(key: str, value: Value) -> int:
    if isinstance(value, str | tuple) or value != value or value < 0 or value >= 2**63:  # noqa: PLR0124 (not a number)
        raise ShapeError(f"{key} has the impossible value {str(value)[:40]}")
    return int(value)


def header_of(raw: RawHeader) -> GgufHeader:
    """The shape of the model. Raises ShapeError for values that no model can have."""
    architecture = raw.values.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise ShapeError("general.architecture is absent")
    keys = _Keys(raw.values, architecture)
    layers = keys.number("block_count")
    if layers > MAX_LAYERS:
        raise ShapeError(f"block_count is {layers}; no model has more than {MAX_LAYERS} blocks")
    heads = keys.per_layer("attention.head_count", layers)
    embedding = keys.number("embedding_length")
    head_size = embedding // heads[0] if heads and heads[0] else 0
    key_length = keys.number("attention.key_length", head_size)
    value_length = keys.number("attention.value_length", head_size)
    recurrent = keys.pattern("attention.recurrent_layers")
    name = raw.values.get("general.name", "")
    template = raw.values.get("tokenizer.chat_template")
    return GgufHeader(
        architecture=architecture,
        version=raw.version,
        name=name if isinstance(name, str) else "",
        layers=layers,
        nextn_layers=min(keys.number("nextn_predict_layers"), layers),
        context_length=keys.number("context_length"),
        embedding=embedding,
        feed_forward=keys.per_layer("feed_forward_length", layers, (0,) * layers),
        heads=heads,
        kv_heads=keys.per_layer("attention.head_count_kv", layers, heads),
        key_length=key_length,
        value_length=value_length,
        key_length_swa=keys.number("attention.key_length_swa", key_length),
        value_length_swa=keys.number("attention.value_length_swa", value_length),
        mla=keys.number("attention.key_length_mla") > 0 and keys.number("attention.value_length_mla") > 0,
        window=Window(keys.number("attention.sliding_window"), keys.pattern("attention.sliding_window_pattern")),
        shared_kv_layers=min(keys.number("attention.shared_kv_layers"), layers),
        full_attention_interval=keys.number("full_attention_interval"),
        recurrent_layers=recurrent if isinstance(recurrent, tuple) else None,
        state_space=_state_space(keys),
        experts=_experts(keys, raw.tensors),
        vocabulary=_vocabulary(raw, keys),
        template=template if isinstance(template, str) else None,
        split_index=split_of(raw)[0],
        split_count=split_of(raw)[1],
        tensors=len(raw.tensors),
        tensor_bytes=tensor_bytes(raw.tensors),
        bytes_by_type=_by_type(raw.tensors),
    )


def _state_space(keys: _Keys) -> StateSpace:
    return StateSpace(
        conv_kernel=keys.number("ssm.conv_kernel"),
        inner_size=keys.number("ssm.inner_size"),
        state_size=keys.number("ssm.state_size"),
        group_count=keys.number("ssm.group_count"),
        time_step_rank=keys.number("ssm.time_step_rank"),
        shortconv_cache=keys.number("shortconv.l_cache"),
        wkv_head_size=keys.number("wkv.head_size"),
        token_shift_count=keys.number("token_shift_count", 2),
        kda_head_dim=keys.number("kda.head_dim"),
    )


def _experts(keys: _Keys, tensors: tuple[Tensor, ...]) -> Experts:
    count = keys.number("expert_count")
    return Experts(
        count=count,
        used=keys.number("expert_used_count"),
        feed_forward=keys.number("expert_feed_forward_length"),
        shared_feed_forward=keys.number("expert_shared_feed_forward_length"),
        dense=not count or any(tensor.name.endswith(_DENSE) for tensor in tensors),
    )


def _vocabulary(raw: RawHeader, keys: _Keys) -> int:
    tokens = raw.lengths.get("tokenizer.ggml.tokens", 0) or keys.number("vocab_size")
    if tokens:
        return tokens
    embedding = next((tensor for tensor in raw.tensors if tensor.name == "token_embd.weight"), None)
    return embedding.dims[-1] if embedding and embedding.dims else 0


def split_of(raw: RawHeader) -> tuple[int, int]:
    """Which part this file is, from 0, and how many there are; (0, 1) for a whole model. Raises ShapeError.

    Only the first part has the keys of the model (llama.cpp's gguf-split).
    """
    index, count = (_whole(key, raw.values.get(key, default)) for key, default in (("split.no", 0), ("split.count", 1)))
    return index, max(count, 1)


def tensor_bytes(tensors: tuple[Tensor, ...]) -> TensorBytes:
    """Bytes by place. Raises ShapeError for a block number that no model has."""
    layers: dict[int, int] = {}
    inputs = outputs = experts = embedding = largest = 0
    has_output = False
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        if block:
            number = int(block.group(1))
            if number >= MAX_LAYERS:
                raise ShapeError(f"a tensor belongs to block {number}")
            layers[number] = layers.get(number, 0) + tensor.bytes
            experts += tensor.bytes if "_exps." in tensor.name else 0
            largest = max(largest, tensor.bytes)
        elif tensor.name.startswith(_INPUT):
            inputs += tensor.bytes
            embedding += tensor.bytes if tensor.name == "token_embd.weight" else 0
        else:
            outputs += tensor.bytes
            has_output = has_output or tensor.name == "output.weight"
    return TensorBytes(
        layers=tuple(layers.get(number, 0) for number in range(max(layers, default=-1) + 1)),
        input=inputs,
        output=outputs,
        experts=experts,
        tied_output=0 if has_output else embedding,
        largest=largest,
    )


def _by_type(tensors: tuple[Tensor, ...]) -> tuple[tuple[str, int], ...]:
    sums: dict[str, int] = {}
    for tensor in tensors:
        name = tensor.type.name if tensor.type else f"type {tensor.type_id}"
        sums[name] = sums.get(name, 0) + tensor.bytes
    return tuple(sorted(sums.items(), key=lambda item: -item[1]))
