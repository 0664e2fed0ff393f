"""`extra_args` and `env` that say again what a key says: the server would take the last one in silence."""

from __future__ import annotations

import re

from homellm.domain.settings import Setting, owner_of_env, owner_of_flag
from homellm.loading.findings import Findings
from homellm.loading.merge import MergedModel
from homellm.loading.paths import shorten

_GLUED_NUMBER = re.compile(r"(-[a-z]+)[0-9]+")
_INDEX = re.compile(r"[0-9]{1,3}!?")
_SECRET_FLAGS = {"--hf-token": "HF_TOKEN", "-hft": "HF_TOKEN"}
_HINTS = {
    "name": "The model's name in this file is what clients ask for; rename the model.",
    "port": "Inside its container the server always listens on 0.0.0.0:8080; `port` is the port published on the host.",
}


def check_extra_args(model: MergedModel, findings: Findings) -> None:
    """Note flags that a key owns, flags that hold a secret, and two words written as one."""
    for number, word in enumerate(model.values.get("extra_args") or []):
        if not word.startswith("-"):
            continue
        flag = _flag_of(word)
        mark = model.value_mark("extra_args", number)
        owner = _owner_of(flag)
        if owner is not None:
            message = f"`{shorten(flag)}` in `extra_args` is what the key `{owner.key}` says: {owner.because}"
            findings.add("owned-by-key", mark, message, _hint(owner), model.name)
        elif flag in _SECRET_FLAGS:
            message = f"`{flag}` in `extra_args` would show its secret to everybody who can list processes"
            name = _SECRET_FLAGS[flag]
            hint = f'Hand it over by its variable: `env: {{{name}: "${{{name}}}"}}`.'
            findings.add("secret-in-args", mark, message, hint, model.name)
        elif " " in word.strip().partition("=")[0]:
            first, _, rest = word.strip().partition(" ")
            message = f"`{shorten(word)}` in `extra_args` is one word to the server, blank and all"
            hint = f'Make it two items: `"{shorten(first)}", "{shorten(rest.strip())}"`.'
            findings.add("wrong-value", mark, message, hint, model.name)


def _flag_of(word: str) -> str:
    """The flag of `--ctx-size=4096`, `--ctx_size`, `--ctx-size 4096`; llama.cpp reads `_` in long flags as `-`."""
    flag = re.split(r"[=\s]", word.strip(), maxsplit=1)[0]
    return flag.replace("_", "-") if flag.startswith("--") else flag


def _owner_of(flag: str) -> Setting | None:
    glued = _GLUED_NUMBER.fullmatch(flag)
    return owner_of_flag(flag) or (owner_of_flag(glued[1]) if glued else None)


def _hint(owner: Setting) -> str:
    return _HINTS.get(owner.key, f"Use the key `{owner.key}` instead.")


def check_env(model: MergedModel, findings: Findings) -> None:
    """Note variables that a key owns, and the two that choose a Vulkan device behind homellm's back."""
    for name, value in (model.values.get("env") or {}).items():
        mark = model.mark("env", name)
        owner = owner_of_env(name)
        if not name or any(char in name for char in "=\0") or name != name.strip():
            findings.add("wrong-value", mark, f"`{shorten(name)}` in `env` is no name of a variable", "", model.name)
        elif name == "GGML_VK_VISIBLE_DEVICES":
            findings.add("vulkan-visible-devices", mark, *_VISIBLE_DEVICES, model.name)
        elif name == "MESA_VK_DEVICE_SELECT" and _INDEX.fullmatch(value.strip()):
            message = f"`MESA_VK_DEVICE_SELECT` is `{value.strip()}`, an index, but Mesa wants vendor:device in hex"
            hint = "Declare the GPU under `gpus:` and name it with `gpu:`; `lspci -nn` shows vendor:device."
            findings.add("mesa-index", mark, message, hint, model.name)
        elif owner is not None:
            message = f"`{name}` in `env` is what the key `{owner.key}` says: {owner.because}"
            findings.add("owned-by-key", mark, message, _hint(owner), model.name)


_VISIBLE_DEVICES = (
    "`GGML_VK_VISIBLE_DEVICES` in `env` counts devices by an index: 0 can make the CPU pass for a GPU, another "
    "number renumbers them, and one too high leaves the model on the CPU with a healthy server",
    "Declare the GPU under `gpus:` and name it with `gpu:`; it is then the only one in the container.",
)
