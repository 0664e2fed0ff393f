"""Which layers of a model keep what: keys and values of the whole context, of a window, or a state of fixed size.

Source: `load_arch_hparams` of each architecture (src/models/*.cpp) and `llama_model::create_memory`
(src/llama-model.cpp) of llama.cpp, build 11669. An architecture that is not named here is a plain transformer.
"""

from __future__ import annotations

from dataclasses import dataclass

from homellm.domain.gguf import GgufHeader, StateSpace

#: Every layer is recurrent, none attends.
RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
#: Recurrent where a layer has no kv heads.
HYBRID = frozenset({"jamba", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "kimi-linear", "kimi-k3", "bailingmoe3"})
#: Recurrent but for every Nth layer; N when the file does not say.
INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "minimax-01": 8}
#: No cache at all: encoders and models that write by diffusion.
NO_CACHE = frozenset(
    {
        *(
            "bert",
            "jina-bert-v2",
            "jina-bert-v3",
            "nomic-bert",
            "nomic-bert-moe",
            "neo-bert",
            "eurobert",
            "modern-bert",
        ),
        *("gemma-embedding", "t5encoder", "wavtokenizer-dec", "dream", "llada", "llada-moe", "rnd1", "clip"),
    }
)
#: Keep further caches (indexers, compressed keys) that are not reckoned here: their figures are lower bounds.
PARTLY_KNOWN = frozenset(
    {
        *("deepseek32", "deepseek4", "glm-dsa", "glm5-next", "dots3note", "minimax-m3", "hy_v4", "qwen4exp"),
        *("t5", "dflash"),
    }
)


@dataclass(frozen=True, slots=True)
class WindowRule:
    """How an architecture spreads its window: all but every `period`th layer, or all but the first of each `period`.

    `always` when it has one whatever the file says; `size` overrules the file, `default` stands in for it.
    """

    period: int
    dense_first: bool = False
    always: bool = False
    size: int = 0
    default: int = 0


#: A period of 0: every attention layer has the window, or the file must have a pattern layer by layer.
WINDOWS = {
    "afmoe": WindowRule(4),
    "cohere2": WindowRule(4, always=True),
    "cohere2moe": WindowRule(4, dense_first=True, always=True),
    "exaone-moe": WindowRule(4, always=True, default=128),
    "exaone4": WindowRule(4, default=4096),
    "gemma2": WindowRule(2, always=True, default=4096),
    "gemma3": WindowRule(6),
    "gemma3n": WindowRule(5, always=True),
    "gemma4": WindowRule(0, always=True),
    "gpt-oss": WindowRule(2, always=True),
    "granite_swa": WindowRule(0, always=True),
    "laguna": WindowRule(4, dense_first=True),
    "lfm2": WindowRule(0),
    "llama4": WindowRule(4, always=True, size=8192),
    "maple": WindowRule(0, always=True),
    "mellum": WindowRule(4),
    "mimo2": WindowRule(0, always=True),
    "muse-glimmer": WindowRule(4, always=True),
    "olmo2": WindowRule(4),
    "plamo3": WindowRule(8),
    "smallthinker": WindowRule(4, dense_first=True, size=4096),
    "spark2_5": WindowRule(0, always=True),
    "step35": WindowRule(0, always=True),
}
#: EXAONE 4 has a window only in its model of 64 layers (32B).
_EXAONE4_LAYERS = 64
#: These convolve their inner size alone and do not read `ssm.group_count`, even where a file has it.
_WITHOUT_GROUPS = frozenset({"mamba", "jamba"})
#: Gemma 3n keeps keys and values in its first 20 layers, the others use theirs.
_GEMMA3N_KV_LAYERS = 20


@dataclass(frozen=True, slots=True)
class Layer:
    """What one block keeps. `key` and `value` are numbers of elements a token, 0 without attention.

    `windowed` tells whether they are kept for the window only. `state` is the number of 32-bit elements a sequence.
    """

    key: int = 0
    value: int = 0
    windowed: bool = False
    state: int = 0


def is_exact(header: GgufHeader) -> bool:
    """Whether everything that the architecture keeps is known here."""
    return header.architecture not in PARTLY_KNOWN


def window_size(header: GgufHeader) -> int:
    """Tokens of the sliding window that llama.cpp uses for this model; 0 when all layers see the whole context."""
    rule = WINDOWS.get(header.architecture)
    if rule is None or (header.architecture == "exaone4" and header.layers != _EXAONE4_LAYERS):
        return 0
    if not (header.window.size or rule.always or rule.default):
        return 0
    return rule.size or header.window.size or rule.default


def layers_of(header: GgufHeader) -> tuple[Layer, ...]:
    """What each block keeps, in order; blocks that only predict further tokens keep nothing in a server's slots."""
    if header.architecture in NO_CACHE:
        return (Layer(),) * header.layers
    trunk = header.layers - header.nextn_layers
    return tuple(_layer(header, number) if number < trunk else Layer() for number in range(header.layers))


def _layer(header: GgufHeader, number: int) -> Layer:
    recurs = _recurs(header, number)
    state = state_elements(header) if recurs else 0
    if not _attends(header, number, recurs):
        return Layer(state=state)
    windowed = _windowed(header, number)
    heads = header.kv_heads[number] if number < len(header.kv_heads) else 0
    key = header.key_length_swa if windowed else header.key_length
    value = header.value_length_swa if windowed else header.value_length
    return Layer(heads * key, 0 if header.mla else heads * value, windowed, state)


def _recurs(header: GgufHeader, number: int) -> bool:
    name = header.architecture
    if name in RECURRENT or name == "falcon-h1":
        return True
    without_heads = number < len(header.kv_heads) and header.kv_heads[number] == 0
    if name in HYBRID:
        return without_heads
    if name in ("nemotron_h", "nemotron_h_moe"):
        return without_heads and header.feed_forward[number] == 0
    if name in INTERVAL or name == "qwen4exp":
        if header.recurrent_layers is not None and number < len(header.recurrent_layers):
            return header.recurrent_layers[number]
        interval = header.full_attention_interval or INTERVAL.get(name, 4)
        return (number + 1) % interval != 0
    return False


def _attends(header: GgufHeader, number: int, recurs: bool) -> bool:
    if recurs and header.architecture != "falcon-h1":
        return False
    if header.architecture in ("nemotron_h", "nemotron_h_moe") and header.feed_forward[number]:
        return False
    if header.architecture == "gemma3n":
        return number < _GEMMA3N_KV_LAYERS
    return number < header.layers - header.shared_kv_layers


def _windowed(header: GgufHeader, number: int) -> bool:
    if not window_size(header):
        return False
    rule = WINDOWS[header.architecture]
    pattern = header.window.pattern
    if isinstance(pattern, tuple):
        return number < len(pattern) and pattern[number]
    period = rule.period if pattern is None else pattern
    if period == 0:
        return header.architecture == "lfm2"
    return number % period != 0 if rule.dense_first else number % period < period - 1


def state_elements(header: GgufHeader) -> int:
    """32-bit elements that a recurrent layer keeps for a sequence (`n_embd_r` + `n_embd_s`, llama-hparams.cpp)."""
    space = header.state_space
    return _convolution_elements(header, space) + _memory_elements(header, space)


def _convolution_elements(header: GgufHeader, space: StateSpace) -> int:
    if space.wkv_head_size:
        return space.token_shift_count * header.embedding
    if space.shortconv_cache:
        return header.embedding * (space.shortconv_cache - 1)
    if space.kda_head_dim:
        kernel = space.conv_kernel - 1 if space.conv_kernel else 3
        return 3 * kernel * _first(header.heads) * space.kda_head_dim
    groups = 0 if header.architecture in _WITHOUT_GROUPS else space.group_count
    return max(space.conv_kernel - 1, 0) * (space.inner_size + 2 * groups * space.state_size)


def _memory_elements(header: GgufHeader, space: StateSpace) -> int:
    if space.wkv_head_size:
        return header.embedding * space.wkv_head_size
    if space.kda_head_dim:
        return space.kda_head_dim**2 * _first(header.heads)
    if header.architecture == "minimax-01":
        return header.key_length**2 * _first(header.heads)
    return space.state_size * space.inner_size


def _first(numbers: tuple[int, ...]) -> int:
    return numbers[0] if numbers else 0
