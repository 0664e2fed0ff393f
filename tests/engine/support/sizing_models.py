"""Models of many architectures, small or as large as real ones, made to be measured and not to answer well.

Their weights are zeros in a sparse file, so that a model of any size costs no time and next to no disk. Shapes of the
tensors as llama.cpp asks for them in `load_arch_tensors` (src/models/*.cpp, build 11669).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.gguf_bytes import F16, F32, Q4_K, Gguf, Meta, T, padded


@dataclass(frozen=True)
class Shape:
    """The numbers that a model is made from. Layers with 0 kv heads are recurrent, where there are such."""

    architecture: str
    layers: int = 4
    embedding: int = 256
    feed_forward: int = 512
    heads: int = 4
    kv_heads: Sequence[int] | int = 2
    head_size: int = 64
    vocabulary: int = 4096
    context: int = 131072
    experts: int = 0
    experts_used: int = 0
    expert_feed_forward: int = 0
    window: int = 0
    conv_kernel: int = 4
    inner_size: int = 512
    state_size: int = 16
    group_count: int = 1
    time_step_rank: int = 16
    shortconv_cache: int = 3
    tied: bool = True
    type: int = F16
    extra: dict[str, Meta] = field(default_factory=dict)

    def kv(self, layer: int) -> int:
        return self.kv_heads if isinstance(self.kv_heads, int) else self.kv_heads[layer]


def write(path: Path, shape: Shape) -> Gguf:
    """Write the model and tell what is in it."""
    file = model(shape)
    head = file.header()
    with path.open("wb") as out:
        out.write(head)
        out.truncate(padded(len(head)) + file.data_bytes())
    return file


def model(shape: Shape) -> Gguf:
    """The model as a description."""
    layer = _LAYERS[shape.architecture]
    tensors = [T("token_embd.weight", (shape.embedding, shape.vocabulary), shape.type)]
    last_norm = "token_embd_norm.weight" if shape.architecture == "lfm2" else "output_norm.weight"
    tensors.append(T(last_norm, (shape.embedding,)))
    if not shape.tied:
        tensors.append(T("output.weight", (shape.embedding, shape.vocabulary), shape.type))
    for number in range(shape.layers):
        tensors += [T(f"blk.{number}.{t.name}", t.dims, t.type) for t in layer(shape, number)]
    return Gguf(_meta(shape), tensors)


def _meta(shape: Shape) -> dict[str, Meta]:
    a = shape.architecture
    meta: dict[str, Meta] = {
        "general.architecture": a,
        "general.name": f"zeros as {a}",
        f"{a}.block_count": shape.layers,
        f"{a}.context_length": shape.context,
        f"{a}.embedding_length": shape.embedding,
        f"{a}.feed_forward_length": shape.feed_forward,
        f"{a}.attention.layer_norm_rms_epsilon": 1e-6,
    }
    if a == "mamba":
        meta |= {f"{a}.attention.head_count": 0}
    else:
        kv = shape.kv_heads if isinstance(shape.kv_heads, int) else list(shape.kv_heads)
        meta |= {
            f"{a}.attention.head_count": shape.heads,
            f"{a}.attention.head_count_kv": kv,
            f"{a}.attention.key_length": shape.head_size,
            f"{a}.attention.value_length": shape.head_size,
            f"{a}.rope.dimension_count": shape.head_size,
            f"{a}.rope.freq_base": 10000.0,
        }
    if shape.window:
        meta |= {f"{a}.attention.sliding_window": shape.window}
    if shape.experts:
        meta |= {
            f"{a}.expert_count": shape.experts,
            f"{a}.expert_used_count": shape.experts_used,
            f"{a}.expert_feed_forward_length": shape.expert_feed_forward,
        }
    if a in ("mamba", "granitehybrid"):
        meta |= {
            f"{a}.ssm.conv_kernel": shape.conv_kernel,
            f"{a}.ssm.inner_size": shape.inner_size,
            f"{a}.ssm.state_size": shape.state_size,
            f"{a}.ssm.time_step_rank": shape.time_step_rank,
            f"{a}.ssm.group_count": shape.group_count,
        }
    if a == "lfm2":
        meta |= {f"{a}.shortconv.l_cache": shape.shortconv_cache}
    return meta | _tokenizer(shape.vocabulary) | shape.extra


def _tokenizer(size: int) -> dict[str, Meta]:
    """A SentencePiece vocabulary of any size: four marks, 256 bytes, and words that stand for nothing."""
    tokens = ["<unk>", "<s>", "</s>", "<|endoftext|>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3, 3] + [6] * 256
    tokens += [f"\u2581w{number}" for number in range(size - len(tokens))]
    kinds += [1] * (size - len(kinds))
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [-float(number) for number in range(size)],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def _attention(s: Shape, number: int) -> list[T]:
    kv = s.kv(number) * s.head_size
    return [
        T("attn_q.weight", (s.embedding, s.heads * s.head_size), s.type),
        T("attn_k.weight", (s.embedding, kv), s.type),
        T("attn_v.weight", (s.embedding, kv), s.type),
        T("attn_output.weight", (s.heads * s.head_size, s.embedding), s.type),
    ]


def _dense(s: Shape) -> list[T]:
    return [
        T("ffn_norm.weight", (s.embedding,)),
        T("ffn_gate.weight", (s.embedding, s.feed_forward), s.type),
        T("ffn_up.weight", (s.embedding, s.feed_forward), s.type),
        T("ffn_down.weight", (s.feed_forward, s.embedding), s.type),
    ]


def _routed(s: Shape) -> list[T]:
    wide = (s.embedding, s.expert_feed_forward, s.experts)
    return [
        T("ffn_norm.weight", (s.embedding,)),
        T("ffn_gate_inp.weight", (s.embedding, s.experts)),
        T("ffn_gate_exps.weight", wide, s.type),
        T("ffn_up_exps.weight", wide, s.type),
        T("ffn_down_exps.weight", (s.expert_feed_forward, s.embedding, s.experts), s.type),
    ]


def _norms(s: Shape) -> list[T]:
    return [T("attn_q_norm.weight", (s.head_size,)), T("attn_k_norm.weight", (s.head_size,))]


def _llama(s: Shape, number: int) -> list[T]:
    return [T("attn_norm.weight", (s.embedding,)), *_attention(s, number), *_dense(s)]


def _qwen2(s: Shape, number: int) -> list[T]:
    kv = s.kv(number) * s.head_size
    biases = [T("attn_q.bias", (s.heads * s.head_size,)), T("attn_k.bias", (kv,)), T("attn_v.bias", (kv,))]
    return [*_llama(s, number), *biases]


def _qwen3moe(s: Shape, number: int) -> list[T]:
    return [T("attn_norm.weight", (s.embedding,)), *_attention(s, number), *_norms(s), *_routed(s)]


def _gemma3(s: Shape, number: int) -> list[T]:
    after = [T("post_attention_norm.weight", (s.embedding,)), T("post_ffw_norm.weight", (s.embedding,))]
    return [*_llama(s, number), *_norms(s), *after]


def _phi3(s: Shape, number: int) -> list[T]:
    qkv = (s.heads + 2 * s.kv(number)) * s.head_size
    return [
        T("attn_norm.weight", (s.embedding,)),
        T("attn_qkv.weight", (s.embedding, qkv), s.type),
        T("attn_output.weight", (s.embedding, s.embedding), s.type),
        T("ffn_norm.weight", (s.embedding,)),
        T("ffn_up.weight", (s.embedding, 2 * s.feed_forward), s.type),
        T("ffn_down.weight", (s.feed_forward, s.embedding), s.type),
    ]


def _lfm2(s: Shape, number: int) -> list[T]:
    mixer = (
        [*_attention(s, number), *_norms(s)]
        if s.kv(number)
        else [
            T("shortconv.conv.weight", (s.shortconv_cache, s.embedding)),
            T("shortconv.in_proj.weight", (s.embedding, 3 * s.embedding), s.type),
            T("shortconv.out_proj.weight", (s.embedding, s.embedding), s.type),
        ]
    )
    return [T("attn_norm.weight", (s.embedding,)), *mixer, *_dense(s)]


def _mamba(s: Shape, number: int) -> list[T]:
    inner = s.inner_size
    return [
        T("attn_norm.weight", (s.embedding,)),
        T("ssm_in.weight", (s.embedding, 2 * inner), s.type),
        T("ssm_conv1d.weight", (s.conv_kernel, inner)),
        T("ssm_conv1d.bias", (inner,)),
        T("ssm_x.weight", (inner, s.time_step_rank + 2 * s.state_size), s.type),
        T("ssm_dt.weight", (s.time_step_rank, inner), F32),
        T("ssm_dt.bias", (inner,)),
        T("ssm_a", (s.state_size, inner)),
        T("ssm_d", (inner,)),
        T("ssm_out.weight", (inner, s.embedding), s.type),
    ]


def _granite_hybrid(s: Shape, number: int) -> list[T]:
    if s.kv(number):
        return _llama(s, number)
    inner, groups = s.inner_size, s.group_count * s.state_size
    mixer = [
        T("ssm_in.weight", (s.embedding, 2 * inner + 2 * groups + s.time_step_rank), s.type),
        T("ssm_conv1d.weight", (s.conv_kernel, inner + 2 * groups)),
        T("ssm_conv1d.bias", (inner + 2 * groups,)),
        T("ssm_dt.bias", (s.time_step_rank,)),
        T("ssm_a", (1, s.time_step_rank)),
        T("ssm_d", (1, s.time_step_rank)),
        T("ssm_norm.weight", (inner // s.group_count, s.group_count)),
        T("ssm_out.weight", (inner, s.embedding), s.type),
    ]
    return [T("attn_norm.weight", (s.embedding,)), *mixer, *_dense(s)]


_LAYERS = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen3moe": _qwen3moe,
    "gemma3": _gemma3,
    "phi3": _phi3,
    "lfm2": _lfm2,
    "mamba": _mamba,
    "granitehybrid": _granite_hybrid,
}


@dataclass(frozen=True)
class Case:
    """A model to measure, and what its server is asked."""

    name: str
    shape: Shape
    ctx: int = 4096
    parallel: int = 3
    arguments: tuple[str, ...] = ()


LLAMA = Shape("llama", layers=12, embedding=768, heads=12, kv_heads=4, feed_forward=2048, vocabulary=32000)
GEMMA3 = Shape(
    "gemma3",
    layers=12,
    embedding=640,
    heads=4,
    kv_heads=1,
    head_size=256,
    feed_forward=2048,
    vocabulary=32000,
    window=512,
)
LFM2 = Shape(
    "lfm2", layers=6, embedding=1024, heads=16, kv_heads=(0, 0, 8, 0, 0, 8), feed_forward=4608, vocabulary=32000
)
MAMBA = Shape("mamba", layers=12, embedding=768, inner_size=1536, state_size=16, time_step_rank=48, vocabulary=32000)

#: Measured in every run of the suite.
CASES = (
    Case("llama", LLAMA),
    Case("llama in one pool", LLAMA, arguments=("--kv-unified",)),
    Case("llama with q8_0 and q4_0", LLAMA, arguments=("-ctk", "q8_0", "-ctv", "q4_0")),
    Case("llama without flash attention", LLAMA, ctx=2048, parallel=2, arguments=("-fa", "off")),
    Case("llama with other batches", LLAMA, ctx=1000, arguments=("-b", "1024", "-ub", "256")),
    Case("gemma3", GEMMA3, ctx=8192),
    Case("gemma3 in one pool", GEMMA3, ctx=8192, arguments=("--kv-unified",)),
    Case("gemma3 whole", GEMMA3, ctx=8192, arguments=("--swa-full",)),
    Case("lfm2", LFM2, ctx=32768),
    Case("mamba", MAMBA),
)

#: Measured by hand (benchmarks/sizing.py) with the sizes of models that people run; docs/sizing.md has the figures.
REAL = (
    Case("qwen2 7b", Shape("qwen2", 28, 3584, 18944, 28, 4, 128, 152064, tied=False), parallel=7),
    Case(
        "qwen3moe 30b-a3b",
        Shape(
            *("qwen3moe", 48, 2048, 6144, 32, 4, 128, 151936),
            experts=128,
            experts_used=8,
            expert_feed_forward=768,
            tied=False,
            type=Q4_K,
        ),
    ),
    Case("gemma3 4b", Shape("gemma3", 34, 2560, 10240, 8, 4, 256, 262208, window=1024), ctx=32768),
    Case("phi3 mini", Shape("phi3", 32, 3072, 8192, 32, 32, 96, 32064, window=2047, tied=False), ctx=8192),
    Case(
        "granitehybrid h-micro",
        Shape(
            *("granitehybrid", 40, 2048, 8192, 32),
            tuple(8 if layer in (5, 15, 25, 35) else 0 for layer in range(40)),
            *(64, 100352),
            inner_size=4096,
            state_size=128,
            time_step_rank=64,
        ),
        ctx=32768,
    ),
    Case(
        "lfm2 2.6b",
        Shape(
            *("lfm2", 30, 2048, 10752, 32),
            tuple(8 if layer in (2, 5, 9, 12, 16, 19, 23, 26) else 0 for layer in range(30)),
            *(64, 65536),
        ),
        ctx=32768,
    ),
    Case("mamba 2.8b", Shape("mamba", 64, 2560, 0, vocabulary=50280, inner_size=5120, time_step_rank=160)),
    Case("llama 3.2 1b", Shape("llama", 16, 2048, 8192, 32, 8, 64, 128256), ctx=32768),
)
