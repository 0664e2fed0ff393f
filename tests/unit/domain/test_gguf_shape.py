"""Keys of the header and what they mean, architecture by architecture."""

from __future__ import annotations

import pytest

from homellm.domain.ggml import type_of_id
from homellm.domain.gguf import RawHeader, Tensor, Value, Window
from homellm.domain.gguf_shape import ShapeError, header_of, tensor_bytes


def raw(values: dict[str, Value], tensors: tuple[Tensor, ...] = (), lengths: dict[str, int] | None = None) -> RawHeader:
    return RawHeader(3, values, lengths or {}, tensors, 0, 0)


def tensor(name: str, size: int) -> Tensor:
    return Tensor(name, (size,), type_of_id(24), 24, 0, size)


QWEN: dict[str, Value] = {
    "general.architecture": "qwen2",
    "general.name": "Qwen2.5 7B Instruct",
    "qwen2.block_count": 28,
    "qwen2.context_length": 32768,
    "qwen2.embedding_length": 3584,
    "qwen2.feed_forward_length": 18944,
    "qwen2.attention.head_count": 28,
    "qwen2.attention.head_count_kv": 4,
}


def test_a_plain_transformer() -> None:
    header = header_of(raw(QWEN, lengths={"tokenizer.ggml.tokens": 152064}))
    assert header.layers == 28
    assert header.heads == (28,) * 28
    assert header.kv_heads == (4,) * 28
    assert (header.key_length, header.value_length) == (128, 128)
    assert (header.key_length_swa, header.value_length_swa) == (128, 128)
    assert header.vocabulary == 152064
    assert header.window == Window(0, None)
    assert not header.mla


def test_without_kv_heads_every_head_has_its_own() -> None:
    values = {key: value for key, value in QWEN.items() if "head_count_kv" not in key}
    assert header_of(raw(values)).kv_heads == (28,) * 28


def test_heads_by_layer_and_lengths_of_their_own() -> None:
    values = QWEN | {
        "qwen2.block_count": 4,
        "qwen2.attention.head_count_kv": (0, 8, 0, 8),
        "qwen2.attention.key_length": 256,
        "qwen2.attention.value_length_swa": 64,
    }
    header = header_of(raw(values))
    assert header.kv_heads == (0, 8, 0, 8)
    assert (header.key_length, header.key_length_swa) == (256, 256)
    assert (header.value_length, header.value_length_swa) == (128, 64)


def test_an_array_that_is_too_short_goes_on_with_its_last_number() -> None:
    header = header_of(raw(QWEN | {"qwen2.block_count": 4, "qwen2.attention.head_count_kv": (0, 8)}))
    assert header.kv_heads == (0, 8, 8, 8)


@pytest.mark.parametrize("pattern", [6, (True, True, False)])
def test_the_window(pattern: Value) -> None:
    values = QWEN | {"qwen2.attention.sliding_window": 1024, "qwen2.attention.sliding_window_pattern": pattern}
    assert header_of(raw(values)).window == Window(1024, pattern)  # type: ignore[arg-type]


def test_latent_attention_is_told_by_its_two_lengths() -> None:
    both: dict[str, Value] = {"qwen2.attention.key_length_mla": 192, "qwen2.attention.value_length_mla": 128}
    assert header_of(raw(QWEN | both)).mla
    assert not header_of(raw(QWEN | {"qwen2.attention.key_length_mla": 192})).mla


def test_the_vocabulary_without_a_tokenizer_is_that_of_the_embedding() -> None:
    embedding = Tensor("token_embd.weight", (64, 1000), type_of_id(0), 0, 0, 256_000)
    assert header_of(raw({"general.architecture": "x"}, (embedding,))).vocabulary == 1000
    assert header_of(raw({"general.architecture": "x", "x.vocab_size": 7}, (embedding,))).vocabulary == 7


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"general.architecture": ""},
        {"general.architecture": 7},
        QWEN | {"qwen2.block_count": 2**40},
        QWEN | {"qwen2.block_count": "28"},
        QWEN | {"qwen2.block_count": -1},
        QWEN | {"qwen2.attention.head_count": float("nan")},
        QWEN | {"qwen2.embedding_length": float("inf")},
        QWEN | {"split.count": "three"},
    ],
)
def test_values_that_no_model_has(values: dict[str, Value]) -> None:
    with pytest.raises(ShapeError):
        header_of(raw(values))


def test_tensors_by_place() -> None:
    sums = tensor_bytes(
        (
            tensor("token_embd.weight", 1000),
            tensor("per_layer_token_embd.weight", 500),
            tensor("token_embd_norm.weight", 1),
            tensor("output_norm.weight", 2),
            tensor("blk.0.attn_q.weight", 30),
            tensor("blk.2.ffn_gate_exps.weight", 400),
            tensor("blk.2.ffn_gate_inp.weight", 4),
        )
    )
    assert sums.layers == (30, 0, 404)
    assert (sums.input, sums.output, sums.experts, sums.tied_output) == (1500, 3, 400, 1000)
    assert sums.total == 1937


def test_a_model_with_an_output_matrix_does_not_use_the_embedding_for_it() -> None:
    sums = tensor_bytes((tensor("token_embd.weight", 1000), tensor("output.weight", 900)))
    assert (sums.input, sums.output, sums.tied_output) == (1000, 900, 0)


def test_a_block_number_beyond_all_models_is_a_lie() -> None:
    with pytest.raises(ShapeError):
        tensor_bytes((tensor("blk.99999.attn_q.weight", 30),))
