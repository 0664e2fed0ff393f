"""Room for a second copy: by the numbers of a card of 8 GB and of memory that a GPU shares with the host."""

from __future__ import annotations

import pytest

from homellm.domain.ollama import LoadedModel
from homellm.planning.ladder_memory import room
from homellm.sizing.fit import Device, Machine
from homellm.sizing.needs import Needs, Share

MIB = 1024**2
#: qwen2.5:7b at seven slots of 4096: 5872 MiB on the card (facts of a real load), and some on the host.
QWEN = Needs(7, 4096, host=Share(compute=300 * MIB), gpu=Share(weights=4168 * MIB, kv=1568 * MIB, compute=136 * MIB))


def loaded(gpu: int, host: int = 0) -> LoadedModel:
    return LoadedModel("m", "d", size_bytes=(gpu + host) * MIB, vram_bytes=gpu * MIB)


def machine(gpu: int, host: int = 16_000, **more) -> Machine:
    return Machine(gpu=Device("RTX", gpu * MIB, 8192 * MIB), host=Device("memory", host * MIB), **more)


@pytest.mark.parametrize(
    ("free", "copy", "verdict"),
    [
        (7113, None, "both"),  # 5872 and the 1024 that are kept free
        (6896, None, "both"),
        (6895, None, "too-big"),
        (1500, loaded(5500), "unload-first"),
        (1500, loaded(5000), "too-big"),
        (7113, loaded(5500), "both"),
    ],
)
def test_a_card(free, copy, verdict):
    assert room(QWEN, machine(free), copy).verdict == verdict


def test_a_card_never_gets_more_than_it_has():
    assert room(QWEN, machine(3000), loaded(99_000)).verdict == "unload-first"
    assert room(Needs(1, 1, Share(), Share(weights=8000 * MIB)), machine(3000), loaded(99_000)).verdict == "too-big"


def test_memory_that_the_gpu_shares_is_the_hosts():
    shared = Machine(host=Device("memory", 2000 * MIB), shared=True)
    assert room(QWEN, shared, loaded(5500)).verdict == "unload-first"
    assert room(QWEN, shared, None).verdict == "too-big"


def test_what_is_short_is_told_with_both_numbers():
    short = room(QWEN, machine(2000), None)
    assert short.reason == "it needs 5.7 GiB of RTX, where 1.0 GiB are free for it"


def test_an_unknown_machine_is_treated_with_care():
    assert room(QWEN, Machine(), loaded(1)).verdict == "unload-first"


def test_the_limit_of_its_own_container_is_not_freed_by_ollama():
    limited = Machine(host=Device("memory", 20_000 * MIB), container_bytes=200 * MIB)
    assert room(QWEN, limited, loaded(0, 9000)).verdict == "too-big"
