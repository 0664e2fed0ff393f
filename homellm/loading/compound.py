"""Readers of values with parts of their own: paths, volumes, addresses, images, names, cache types."""

from __future__ import annotations

import ipaddress
import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from homellm.domain.addresses import plain_ipv4
from homellm.domain.stack import KvCacheType, Volume
from homellm.loading.paths import shorten
from homellm.loading.values import complain, filled, flag, listing, one_of, text, whole

#: Element types that llama-server's --cache-type-k takes (help of b10434 and of 0.7.0, build 11669).
KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")

#: More than any model has; a typing slip ends here.
MAX_LAYERS = 10_000
#: Longer names are refused: a container is named by two of them.
MAX_NAME = 100
MAX_IMAGE_NAME = 512

_HEX = "[0-9a-fA-F]"
_PCI = re.compile(rf"(?:({_HEX}{{4}}):)?({_HEX}{{2}}:{_HEX}{{2}}\.[0-7])")
_GPU_ID = re.compile(rf"{_HEX}{{4}}:{_HEX}{{4}}")
_VOLUME_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
#: What an HTTP header can carry behind `Bearer` (RFC 9110: visible characters of ASCII).
_KEY = re.compile(r"[\x21-\x7e]+")
_LOG_SIZE = re.compile(r"[1-9][0-9]{0,8}[kmgKMG]?")

# The grammar of image names, after the reference package of distribution.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)


@dataclass(frozen=True, slots=True)
class Folders:
    """What relative paths and `~` stand for."""

    base: Path
    home: str | None


def absolute(word: str, info: ValidationInfo) -> Path:
    """A path of the file made absolute: `~` is HOME, anything else is relative to the stack file's folder."""
    folders = info.context
    assert isinstance(folders, Folders)  # noqa: S101 - every validation is given them
    if "\0" in word:
        raise complain("wrong-value", "is a path with a NUL character in it")
    if word == "~" or word.startswith("~/"):
        if not folders.home:
            raise complain(
                "variable-unset", "begins with `~`, but the variable `HOME` is not set", "Write the whole path."
            )
        word = folders.home + word[1:]
    elif word.startswith("~"):
        raise complain(
            "wrong-value", f"is `{shorten(word)}`; `~` can only stand for your own home", "Write the whole path."
        )
    return Path(os.path.normpath(folders.base / word))


def path(value: Any, info: ValidationInfo) -> Path:
    """A path on the host."""
    return absolute(filled(value), info)


def volume(value: Any, info: ValidationInfo) -> Volume:
    """`SOURCE:TARGET[:ro]`; a source without a slash is a named volume."""
    word = filled(value).strip()
    if not word:
        return Volume("", "")
    where, _, rest = word.partition(":")
    inside, colon, mode = rest.partition(":")
    if not where or not inside.startswith("/"):
        raise complain(
            "wrong-value",
            f"is `{shorten(word)}`, which is no SOURCE:TARGET with an absolute target",
            "Write `./folder:/inside:ro` or `name:/inside`.",
        )
    if colon and mode not in ("ro", "rw"):
        raise complain("wrong-value", f"ends in `:{shorten(mode)}`; the mode must be ro or rw")
    target, read_only = os.path.normpath(inside), mode == "ro"
    if where.startswith(("/", ".", "~")):
        return Volume(str(absolute(where, info)), target, read_only)
    if not _VOLUME_NAME.fullmatch(where):
        raise complain(
            "wrong-value",
            f"is `{shorten(word)}`, whose source is neither a path nor a volume's name",
            f"For a folder write `./{shorten(word)}`.",
        )
    return Volume(where, target, read_only, named=True)


def bind(value: Any) -> str:
    """An IP address, without brackets; one of IPv4 that is mapped into IPv6 as that of IPv4, as Docker takes it."""
    word = filled(value).strip()
    try:
        return str(plain_ipv4(ipaddress.ip_address(_unscoped(word.removeprefix("[").removesuffix("]")))))
    except ValueError as error:
        hint = "Write 127.0.0.1 for this machine alone, 0.0.0.0 for every network."
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no IP address", hint) from error


def _unscoped(word: str) -> str:
    if "%" in word:
        raise ValueError("a zone cannot be published on")
    return word


def image(value: Any) -> str:
    """The name of an image, with a tag or digest."""
    word = filled(value).strip()
    if len(word) > MAX_IMAGE_NAME or not _IMAGE.fullmatch(word):
        lower = word.lower()
        hint = "Names of repositories are in lower case." if lower != word and _IMAGE.fullmatch(lower) else ""
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no name of an image", hint)
    return word


def name(value: Any) -> str:
    """A name that Docker takes for a container, network or volume."""
    word = filled(value)
    if not _NAME.fullmatch(word) or len(word) > MAX_NAME:
        raise complain(
            "wrong-value",
            f"is `{shorten(word)}`; it must be letters, digits, `_`, `.` and `-`, at most {MAX_NAME}, and begin with a "
            "letter or digit",
        )
    return word


def networks(value: Any) -> tuple[str, ...]:
    """Names of networks that exist: a list, or a mapping as Compose has it (`proxy: {external: true}`)."""
    if isinstance(value, list):
        return tuple(name(item) for item in value if item is not None)
    if not isinstance(value, dict):
        raise complain("wrong-type", "must be a list of networks", f"Write `[{shorten(text(value))}]`.")
    for options in value.values():
        if not isinstance(options, dict) or options.keys() - {"external"} or not flag(options.get("external", "true")):
            raise complain(
                "wrong-value",
                "may only name networks that exist: homellm makes the stack's own and no other",
                "Write `NAME: {external: true}`, or a list of names.",
            )
    return tuple(name(key) for key in value)


def kv_cache_type(value: Any) -> KvCacheType:
    """One type for K and V, or `{k: …, v: …}`; what is left out is f16."""
    one = one_of(*KV_TYPES, synonyms={"q8": "q8_0", "q4": "q4_0", "q5": "q5_0", "fp16": "f16", "fp32": "f32"})
    if not isinstance(value, Mapping):
        kind = one(value)
        return KvCacheType(kind, kind)
    unknown = [key for key in value if key not in ("k", "v")]
    if unknown:
        raise complain(
            "unknown-key", f"has the unknown key `{shorten(str(unknown[0]))}`; it must be {listing(('k', 'v'))}"
        )
    if not value:
        raise complain("wrong-value", "names no type", "Write `{k: q8_0, v: q8_0}`.")
    return KvCacheType(one(value.get("k", "f16")), one(value.get("v", "f16")))


def gpu_layers(value: Any) -> str | int:
    """`all`, `auto`, or a number of layers."""
    word = filled(value).strip()
    if word in ("all", "auto"):
        return word
    if word.lstrip("+-")[:1].isdigit():
        return whole(0, MAX_LAYERS)(word)
    raise complain("wrong-value", f"is `{shorten(word)}`; it must be all, auto, or a number of layers")


def pci(value: Any) -> str:
    """A PCI address in full (`0000:00:02.0`), or `auto`."""
    word = filled(value).strip()
    match = _PCI.fullmatch(word)
    if word == "auto":
        return word
    if match is None:
        hint = "Write it as `lspci -D` shows it, `0000:00:02.0`."
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no PCI address", hint)
    return f"{match[1] or '0000'}:{match[2]}".lower()


def gpu_id(value: Any) -> str:
    """Vendor and device in hex (`8086:9a49`), or `auto`."""
    word = filled(value).strip()
    if word == "auto" or _GPU_ID.fullmatch(word):
        return word.lower()
    hint = "Write it as `lspci -nn` shows it, `8086:9a49`."
    raise complain("wrong-value", f"is `{shorten(word)}`, which is no vendor:device in hex", hint)


def api_key(value: Any) -> str:
    """A key; the complaint never shows it."""
    word = text(value)
    if not word.strip():
        raise complain("wrong-value", "is empty: the server would ask for no key at all", "Give it one, or remove it.")
    if "," in word or not _KEY.fullmatch(word):
        reason = (
            "has a comma, a blank, a control character or one outside ASCII in it: the server would read something "
            "else, or no client could send it"
        )
        raise complain("wrong-value", reason, "Use letters, digits and `-_.`.")
    return word


def log_size(value: Any) -> str:
    """A size as the log driver reads it (`10m`)."""
    word = filled(value).strip()
    if not _LOG_SIZE.fullmatch(word):
        raise complain("wrong-value", f"is `{shorten(word)}`, which is no size such as 10m, 500k or 1g")
    return word.lower()
