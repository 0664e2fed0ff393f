"""Lines that tell where a model went: devices, buffers, layers, caches, the memory table."""

from __future__ import annotations

import re

from homellm.health.rules import Facts, Rule, fact, numbers, texts

#: The function that tells a context's parameters, by age.
_CONTEXT = ("llama_context", "llama_init_from_model", "llama_new_context_with_model")


def _used(match: re.Match[str]) -> Facts:
    facts = dict(texts(match))
    if match["pci"] == "unknown id":
        del facts["pci"]
    return facts


def _listed(match: re.Match[str]) -> Facts:
    """`0 = NAME` of ggml_vulkan and `Device 0: NAME` of CUDA under the names that buffers have."""
    facts = match.groupdict()
    if facts.get("index") is None:
        return texts(match)
    return {"device": f"{_FAMILY[facts['family']]}{facts['index']}", "name": facts["name"].strip()}


_FAMILY = {"ggml_vulkan": "Vulkan", "Device": "CUDA"}


def _context(match: re.Match[str]) -> Facts:
    value = numbers(match)["value"]
    return {match["key"]: value}


def _float(match: re.Match[str]) -> Facts:
    return {"buffer": match["buffer"], "mib": float(match["mib"])}


MEMORY_RULES: tuple[Rule, ...] = (
    fact(
        "device-used",
        "using device",
        r"using device (?P<device>\S+) \((?P<name>.*?)\)"
        r"(?: \((?P<pci>unknown id|[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\))? - \d+ MiB free",
        facts=_used,
    ),
    fact(
        "device-listed",
        "MiB free)",
        r"(?:common_param: +)?- (?P<device>\w+) *: (?P<name>.*) \(\d+ MiB, \d+ MiB free\)",
        facts=texts,
    ),
    fact(
        "device-listed",
        "ggml_vulkan: ",
        r"(?P<family>ggml_vulkan): (?P<index>\d+) = (?P<name>[^|]*?)(?: \([^()|]*\))? \|",
        facts=_listed,
    ),
    fact(
        "device-listed",
        "compute capability",
        r" *(?P<family>Device) (?P<index>\d+): (?P<name>.*?), compute capability",
        facts=_listed,
    ),
    fact(
        "tensors-begin",
        "loading model tensors",
        r"loading model tensors(?:.*\((?:load_mode|mmap) = (?P<load_mode>[^),]+))?",
        facts=texts,
    ),
    fact("offload", "layers to GPU", r"offloaded (?P<offloaded>\d+)/(?P<total>\d+) layers to GPU"),
    fact(
        "model-buffer",
        "model buffer size",
        r" *(?P<buffer>\S+) model buffer size *= *(?P<mib>\d+\.\d+) MiB",
        facts=_float,
    ),
    fact(
        "model-buffer",
        "buffer size",
        r"(?:llm_)?load_tensors: +(?P<buffer>\S+) buffer size *= *(?P<mib>\d+\.\d+) MiB",
        facts=_float,
    ),
    fact("kv-buffer", "KV buffer size", r" *(?P<buffer>\S+) KV buffer size *= *(?P<mib>\d+\.\d+) MiB", facts=_float),
    fact(
        "compute-buffer",
        "compute buffer size",
        r" *(?P<buffer>\S+) compute buffer size *= *(?P<mib>\d+\.\d+) MiB",
        facts=_float,
    ),
    fact("context-begin", "constructing llama_context"),
    *(
        fact(
            "context",
            f"{function}: ",
            function
            + r": (?P<key>n_seq_max|n_ctx(?:_seq|_per_seq)?|n_u?batch|flash_attn|kv_unified) *= (?P<value>\S+)",
            facts=_context,
        )
        for function in _CONTEXT
    ),
    fact(
        "kv",
        "K (",
        r"\w*kv_cache\w*: size = +(?P<mib>\d+\.\d+) MiB \( *\d+ cells,.*?K \((?P<k>\w+)\).*?V \((?P<v>\w+)\)",
    ),
    fact(
        "kv",
        "KV self size",
        r"\w+: KV self size += +(?P<mib>\d+\.\d+) MiB, K \((?P<k>\w+)\).*?V \((?P<v>\w+)\)",
    ),
    fact("recurrent", "llama_memory_recurrent: size", r"llama_memory_recurrent: size = +(?P<mib>\d+\.\d+) MiB"),
    fact(
        "flash-attention",
        "Flash Attention ",
        r"Flash Attention (?:was auto, set to )?(?P<state>enabled|disabled)",
        facts=texts,
    ),
    fact("swa-full-off", "swa_full is not supported by this model"),
    fact("breakdown-begin", "memory breakdown [MiB]", r"\| memory breakdown \[MiB\]"),
    fact(
        "breakdown",
        "common_memory_breakdown_print: |   - ",
        r"\|   - (?P<device>.+?) +\| +(?P<total>\d+) = (?P<free>\d+) \+ \( *(?P<self>\d+) = +(?P<model>\d+)"
        r" \+ +(?P<context>\d+) \+ +(?P<compute>\d+)\) \+ +(?P<unaccounted>-?\d+)",
    ),
    fact(
        "breakdown",
        "common_memory_breakdown_print: |   - ",
        r"\|   - (?P<device>.+?) +\| +(?P<self>\d+) = +(?P<model>\d+) \+ +(?P<context>\d+) \+ +(?P<compute>\d+)",
    ),
)
