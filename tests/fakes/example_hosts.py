"""The machine that each example in stacks/ is written for, by the names of tests/fakes/hosts.py."""

from __future__ import annotations

from collections.abc import Mapping

#: Every other example runs on any machine with eight CPUs.
EXAMPLE_HOSTS: Mapping[str, str] = {
    "nuc-lfm2": "iris-nuc",
    "nvidia-8gb": "intel-nvidia-laptop",
    "amd-apu": "amd-apu",
    "two-gpus": "swapped-intel-and-arc",
}
ANY_HOST = "iris-nuc"


def host_of(example: str) -> str:
    """The machine for an example, named without its ending."""
    return EXAMPLE_HOSTS.get(example, ANY_HOST)
