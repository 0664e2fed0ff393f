"""Headers of models that people run, with the numbers of their published configurations."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.gguf import Experts, GgufHeader, StateSpace, TensorBytes, Window

MIB = 1024 * 1024


def plain(
    architecture: str,
    layers: int,
    embedding: int,
    heads: int,
    kv_heads: int | tuple[int, ...],
    head: int,
    feed_forward: int,
    vocabulary: int = 32000,
) -> GgufHeader:
    return GgufHeader(
        architecture=architecture,
        layers=layers,
        context_length=32768,
        embedding=embedding,
        feed_forward=(feed_forward,) * layers,
        heads=(heads,) * layers,
        kv_heads=kv_heads if isinstance(kv_heads, tuple) else (kv_heads,) * layers,
        key_length=head,
        value_length=head,
        key_length_swa=head,
        value_length_swa=head,
        vocabulary=vocabulary,
    )


#: Q4_K_M of 4.36 GiB: 4460 MiB, of which the embedding (292 MiB) stays on the host and 4168 go to the GPU.
QWEN25_7B = replace(
    plain("qwen2", 28, 3584, 28, 4, 128, 18944, 152064),
    tensor_bytes=TensorBytes(layers=(134 * MIB,) * 28, input=292 * MIB, output=416 * MIB, largest=53 * MIB),
)
#: The model that the recorded logs were made with.
SMOLLM2_135M = replace(
    plain("llama", 30, 576, 9, 3, 64, 1536, 49152),
    context_length=8192,
    tensor_bytes=TensorBytes(layers=(2216448,) * 30, input=30081024, output=2304, tied_output=30081024, largest=552960),
)
#: The hybrid of the log p-hybrid-lv4: short convolutions, attention in every second layer.
TINY_LFM2 = replace(
    plain("lfm2", 6, 256, 4, (0, 2, 0, 2, 0, 2), 64, 512, 49152), state_space=StateSpace(shortconv_cache=3)
)
GEMMA3_4B = replace(plain("gemma3", 34, 2560, 8, 4, 256, 10240, 262208), window=Window(1024))
DEEPSEEK_V2_LITE = replace(
    plain("deepseek2", 27, 2048, 16, 1, 576, 10944), mla=True, experts=Experts(64, 6, 1408, 2816, True)
)
MAMBA_2_8B = replace(
    GgufHeader("mamba", layers=64, embedding=2560, context_length=1048576, vocabulary=50280),
    feed_forward=(0,) * 64,
    heads=(0,) * 64,
    kv_heads=(0,) * 64,
    state_space=StateSpace(conv_kernel=4, inner_size=5120, state_size=16, time_step_rank=160),
)
