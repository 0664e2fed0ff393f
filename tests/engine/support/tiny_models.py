"""A tiny LFM2, a hybrid of short convolutions and attention: the architecture that Ollama refuses parallel slots.

Random weights of a fixed seed, and the tokenizer and chat template of SmolLM2. It talks nonsense and is real all the
same: llama-server loads it with as many slots as are asked. Tensors as llama.cpp asks for them (src/models/lfm2.cpp).
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np

from tests.engine.support.cache import made_once

ARCHITECTURE = "lfm2"
EMBEDDING, FEED_FORWARD, HEADS, HEAD_SIZE, CONV_CACHE, CONTEXT = 64, 128, 2, 32, 3, 131072
#: Heads of the key and value cache of each layer; 0 is a layer of short convolution.
KV_HEADS = [0, 0, 2, 0, 0, 2]
SEED = 20250117
RECIPE = [ARCHITECTURE, EMBEDDING, FEED_FORWARD, HEADS, HEAD_SIZE, CONV_CACHE, CONTEXT, KV_HEADS, SEED, "f16", 1]


#: The last norm as llama.cpp names it in LFM2, and as Ollama's own converter does.
LAST_NORM, LAST_NORM_OF_OLLAMA = "token_embd_norm.weight", "output_norm.weight"


def tiny_lfm2(
    tokenizer_from: Path, *, name: str = "tiny random lfm2", last_norm: str = LAST_NORM, embedding: bool = False
) -> Path:
    """The model's file; written now unless the cache has it. The tokenizer is copied from that GGUF.

    Another `name` gives another digest. With `LAST_NORM_OF_OLLAMA` it is a file as Ollama's store has it, which
    llama.cpp refuses and Ollama's own llama-server mends while loading. An `embedding` model says how it pools.
    """
    recipe = [RECIPE, tokenizer_from.stat().st_size, *([] if last_norm == LAST_NORM else [last_norm])]
    recipe += [] if name == "tiny random lfm2" else [name]
    recipe += ["pooling"] if embedding else []
    digest = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]
    return made_once(
        f"tiny-lfm2-{digest}.gguf", lambda path: write_lfm2(path, tokenizer_from, name, last_norm, embedding)
    )


def write_lfm2(path: Path, tokenizer_from: Path, name: str, last_norm: str, embedding: bool = False) -> None:
    source = gguf.GGUFReader(tokenizer_from)
    writer = gguf.GGUFWriter(path, ARCHITECTURE)
    writer.add_name(name)
    writer.add_block_count(len(KV_HEADS))
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_SIZE)
    writer.add_value_length(HEAD_SIZE)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e6)
    writer.add_shortconv_l_cache(CONV_CACHE)
    if embedding:
        writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    vocabulary = copy_tokenizer(source, writer)
    writer.add_vocab_size(vocabulary)
    for tensor_name, tensor in _tensors(vocabulary):
        writer.add_tensor(last_norm if tensor_name == LAST_NORM else tensor_name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def copy_tokenizer(source: gguf.GGUFReader, writer: gguf.GGUFWriter) -> int:
    """Give a model the tokenizer and the template of another one; how many tokens that has."""
    size = 0
    for name, field in source.fields.items():
        if not name.startswith("tokenizer."):
            continue
        item = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=item)
        if name == "tokenizer.ggml.tokens":
            size = len(field.data)
    return size


def _tensors(vocabulary: int) -> Iterator[tuple[str, np.ndarray]]:
    random = np.random.default_rng(SEED)

    def matrix(out: int, into: int, kind: type = np.float16) -> np.ndarray:
        return (random.standard_normal((out, into)) * into**-0.5).astype(kind)

    def ones(size: int) -> np.ndarray:
        return np.ones(size, dtype=np.float32)

    yield "token_embd.weight", matrix(vocabulary, EMBEDDING)
    yield LAST_NORM, ones(EMBEDDING)
    for layer, kv_heads in enumerate(KV_HEADS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm.weight", ones(EMBEDDING)
        yield f"{block}.ffn_norm.weight", ones(EMBEDDING)
        yield f"{block}.ffn_gate.weight", matrix(FEED_FORWARD, EMBEDDING)
        yield f"{block}.ffn_up.weight", matrix(FEED_FORWARD, EMBEDDING)
        yield f"{block}.ffn_down.weight", matrix(EMBEDDING, FEED_FORWARD)
        if kv_heads:
            yield f"{block}.attn_q.weight", matrix(HEADS * HEAD_SIZE, EMBEDDING)
            yield f"{block}.attn_k.weight", matrix(kv_heads * HEAD_SIZE, EMBEDDING)
            yield f"{block}.attn_v.weight", matrix(kv_heads * HEAD_SIZE, EMBEDDING)
            yield f"{block}.attn_output.weight", matrix(EMBEDDING, HEADS * HEAD_SIZE)
            yield f"{block}.attn_q_norm.weight", ones(HEAD_SIZE)
            yield f"{block}.attn_k_norm.weight", ones(HEAD_SIZE)
        else:
            yield f"{block}.shortconv.conv.weight", matrix(EMBEDDING, CONV_CACHE, np.float32)
            yield f"{block}.shortconv.in_proj.weight", matrix(3 * EMBEDDING, EMBEDDING)
            yield f"{block}.shortconv.out_proj.weight", matrix(EMBEDDING, EMBEDDING)
