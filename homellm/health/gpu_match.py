"""Whether the device that a log names is the GPU that was declared: by its address, else by its names."""

from __future__ import annotations

import re

from homellm.domain.world import HostGpu

_VENDOR_WORDS = {
    "intel": frozenset(("intel", "iris", "arc", "uhd")),
    "amd": frozenset(("amd", "radeon", "radv", "ati")),
    "nvidia": frozenset(("nvidia", "geforce", "quadro", "tesla", "rtx", "gtx")),
}
#: Words of names that tell no two devices of a maker apart.
_COMMON = _VENDOR_WORDS["nvidia"] | {
    *("intel", "amd", "ati", "radeon", "radv", "corporation", "graphics", "gpu", "series", "the", "controller"),
    *("laptop", "mobile", "max", "q", "r", "tm", "gt1", "gt2", "gt3", "rx", "pro"),
}
#: What only cards have in their names (`RX 7900`, `Arc A770`, `DG2`); NVIDIA makes nothing else.
_CARD = re.compile(r"rx|instinct|[ab]\d{3}m?|dg[12]|bmg")
_WORD = re.compile(r"[a-z0-9]+")
_MODEL_DIGITS = 3


def is_declared(gpu: HostGpu, observed: str, pci: str | None) -> bool | None:
    """Whether `observed`, a device as a log names it, is that GPU; None when neither address nor name can tell.

    A machine has one integrated GPU of a maker at most, so that there the maker and the kind decide: drivers call the
    same chip by many names. Cards are told apart by their numbers, which are whole words: `A770` is not `770`.
    """
    if pci and gpu.pci:
        return _address(pci) == _address(gpu.pci)
    told = frozenset(_WORD.findall(observed.lower()))
    vendors = [vendor for vendor, words in _VENDOR_WORDS.items() if words & told]
    if not vendors:
        return None
    if gpu.vendor not in vendors:
        return False
    known = frozenset(_WORD.findall(gpu.name.lower()))
    if not known:
        return True  # no table of names on this host: the maker is right
    card = _is_card(gpu, known)
    if not card:
        return True if not _names_card(told) else False if gpu.integrated else _shared(known, told)
    return _same_number(known, told) if _numbers(known) and _numbers(told) else _shared(known, told)


def _is_card(gpu: HostGpu, known: frozenset[str]) -> bool:
    if gpu.vendor == "nvidia" or gpu.integrated is not None:
        return gpu.vendor == "nvidia" or gpu.integrated is False
    return _names_card(known)


def _names_card(words: frozenset[str]) -> bool:
    return any(map(_CARD.fullmatch, words))


def _numbers(words: frozenset[str]) -> frozenset[str]:
    """`3070`, `a770`, `780m`: what tells two cards of one series apart."""
    return frozenset(word for word in words if sum(map(str.isdigit, word)) >= _MODEL_DIGITS)


def _same_number(known: frozenset[str], told: frozenset[str]) -> bool:
    return bool(_numbers(known) & _numbers(told))


def _shared(known: frozenset[str], told: frozenset[str]) -> bool | None:
    """By a word that says something, a chip's name without the number behind it (`navi`, `navi31`)."""
    said = [{word.rstrip("0123456789") for word in words - _COMMON} - {""} for words in (known, told)]
    return True if said[0] & said[1] - _COMMON else None


def _address(pci: str) -> tuple[str, ...]:
    """A PCI address without the zeros that some write before its domain."""
    return tuple(part.lstrip("0") for part in re.split(r"[:.]", pci.lower()))


def same_address(one: str, other: str) -> bool:
    """Whether two PCI addresses name one place."""
    return _address(one) == _address(other)
