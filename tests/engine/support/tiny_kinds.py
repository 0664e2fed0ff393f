"""Tiny models of kinds that a talking one does not show: one for embeddings, one that calls tools, and a projector.

All are real files of llama.cpp's formats, of a few MB: weights of a fixed seed, and SmolLM2's tokenizer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import gguf
import numpy as np

from tests.engine.support.cache import made_once
from tests.engine.support.tiny_models import copy_tokenizer

#: Width of everything here but of a projector's inside; the tiny LFM2 has the same.
WIDTH, HEADS, FEED_FORWARD = 64, 2, 128
SEED = 20261201
#: Counts up when a file is to be written otherwise.
VERSION = 1
#: What the caller writes, token by token; a token that stands twice is followed by what the grammar of the call allows.
CALL = ["\u010a", "<", "tool", "_", "call", ">", '{"', "name", '":', '\u0120"', "now", '",']
CALL += ['\u0120"', "arguments", '":', "\u0120{}", "}", "</", "tool", "_", "call", ">", "<|im_end|>"]

Tensors = Iterator[tuple[str, np.ndarray]]


def tiny_bert(tokenizer_from: Path) -> Path:
    """A BERT that turns a text of up to 512 tokens into a vector of 64 numbers, by their mean."""

    def write(writer: gguf.GGUFWriter, source: gguf.GGUFReader) -> Tensors:
        writer.add_block_count(2)
        writer.add_context_length(512)
        writer.add_embedding_length(WIDTH)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_layer_norm_eps(1e-12)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        tokens = copy_tokenizer(source, writer)
        writer.add_vocab_size(tokens)
        writer.add_token_type_count(2)
        return _bert_tensors(tokens)

    return _made("bert", tokenizer_from, write)


def tiny_caller(tokenizer_from: Path) -> Path:
    """A llama that knows nothing but how to call the tool `now`, in the form of `tests/engine/support/tools.jinja`.

    Its attention and feed-forward are zero, so that what comes next hangs on the last token alone.
    """

    def write(writer: gguf.GGUFWriter, source: gguf.GGUFReader) -> Tensors:
        writer.add_block_count(1)
        writer.add_context_length(2048)
        writer.add_embedding_length(WIDTH)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(HEADS)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_dimension_count(WIDTH // HEADS)
        tokens = copy_tokenizer(source, writer)
        writer.add_vocab_size(tokens)
        return _caller_tensors(source.fields["tokenizer.ggml.tokens"].contents())

    return _made("llama", tokenizer_from, write)


def tiny_projector(width: int = WIDTH, *, kind: str = "gemma3") -> Path:
    """A projector for images, in Gemma 3's form, for a model of that embedding width."""

    def write(writer: gguf.GGUFWriter, _source: object) -> Tensors:
        writer.add_bool("clip.has_vision_encoder", True)
        writer.add_bool("clip.use_gelu", True)
        writer.add_string("clip.projector_type", kind)
        numbers = {"image_size": 64, "patch_size": 16, "embedding_length": 32, "feed_forward_length": 64}
        numbers |= {"block_count": 2, "attention.head_count": HEADS, "projection_dim": width}
        for name, number in (numbers | {"projector.scale_factor": 2}).items():
            writer.add_uint32(f"clip.vision.{name}", number)
        writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
        writer.add_array("clip.vision.image_mean", [0.5] * 3)
        writer.add_array("clip.vision.image_std", [0.5] * 3)
        return _projector_tensors(width)

    return _made("clip", None, write, f"{width}-{kind}")


def _made(
    architecture: str,
    tokenizer_from: Path | None,
    write: Callable[[gguf.GGUFWriter, gguf.GGUFReader], Tensors],
    variant: str = "",
) -> Path:
    def to(path: Path) -> None:
        writer = gguf.GGUFWriter(path, architecture)
        writer.add_name(f"tiny {architecture}")
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
        for name, tensor in write(writer, gguf.GGUFReader(tokenizer_from) if tokenizer_from else None):
            writer.add_tensor(name, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    return made_once("-".join(filter(None, ("tiny", architecture, variant, f"v{VERSION}"))) + ".gguf", to)


def _matrices(kind: type = np.float16) -> Callable[..., np.ndarray]:
    random = np.random.default_rng(SEED)
    return lambda *shape: (random.standard_normal(shape) * shape[-1] ** -0.5).astype(kind)


def _flat(name: str, size: int) -> Tensors:
    """A norm that changes nothing, with its bias."""
    yield f"{name}.weight", np.ones(size, dtype=np.float32)
    yield f"{name}.bias", np.zeros(size, dtype=np.float32)


def _linear(name: str, matrix: np.ndarray) -> Tensors:
    yield f"{name}.weight", matrix
    yield f"{name}.bias", np.zeros(matrix.shape[0], dtype=np.float32)


def _bert_tensors(tokens: int) -> Tensors:
    matrix = _matrices()
    yield "token_embd.weight", matrix(tokens, WIDTH)
    yield "token_types.weight", matrix(2, WIDTH).astype(np.float32)
    yield "position_embd.weight", matrix(512, WIDTH).astype(np.float32)
    yield from _flat("token_embd_norm", WIDTH)
    for layer in range(2):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield from _linear(f"blk.{layer}.{part}", matrix(WIDTH, WIDTH))
        yield from _flat(f"blk.{layer}.attn_output_norm", WIDTH)
        yield from _linear(f"blk.{layer}.ffn_up", matrix(FEED_FORWARD, WIDTH))
        yield from _linear(f"blk.{layer}.ffn_down", matrix(WIDTH, FEED_FORWARD))
        yield from _flat(f"blk.{layer}.layer_output_norm", WIDTH)


def _caller_tensors(vocabulary: list[str]) -> Tensors:
    number = {token: index for index, token in enumerate(vocabulary)}
    embedding = np.random.default_rng(SEED).standard_normal((len(vocabulary), WIDTH)).astype(np.float32)
    output = np.zeros_like(embedding)
    for token, following in set(itertools.pairwise(CALL)):
        output[number[following]] += embedding[number[token]]
    yield "token_embd.weight", embedding.astype(np.float16)
    yield "output.weight", output.astype(np.float16)
    yield "output_norm.weight", np.ones(WIDTH, dtype=np.float32)
    for norm in ("attn_norm", "ffn_norm"):
        yield f"blk.0.{norm}.weight", np.ones(WIDTH, dtype=np.float32)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{part}.weight", np.zeros((WIDTH, WIDTH), dtype=np.float16)
    for part, shape in {
        "gate": (FEED_FORWARD, WIDTH),
        "up": (FEED_FORWARD, WIDTH),
        "down": (WIDTH, FEED_FORWARD),
    }.items():
        yield f"blk.0.ffn_{part}.weight", np.zeros(shape, dtype=np.float16)


def _projector_tensors(width: int) -> Tensors:
    matrix, inside = _matrices(np.float32), 32
    yield from _linear("v.patch_embd", matrix(inside, 3, 16, 16))
    yield "v.position_embd.weight", matrix(16, inside)
    for layer in range(2):
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            yield from _linear(f"v.blk.{layer}.{part}", matrix(inside, inside))
        yield from _linear(f"v.blk.{layer}.ffn_up", matrix(64, inside))
        yield from _linear(f"v.blk.{layer}.ffn_down", matrix(inside, 64))
        for norm in ("ln1", "ln2"):
            yield from _flat(f"v.blk.{layer}.{norm}", inside)
    yield from _flat("v.post_ln", inside)
    yield "mm.input_projection.weight", matrix(inside, width)
    yield "mm.soft_emb_norm.weight", np.ones(inside, dtype=np.float32)
