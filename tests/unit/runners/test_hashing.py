"""The hash tells two containers apart by what decides them, and by nothing else."""

from dataclasses import dataclass, fields, replace

import pytest

from homellm.domain.secret import Secret
from homellm.domain.spec import (
    Arg,
    ContainerSpec,
    Device,
    EnvVar,
    GpuRequest,
    HealthCheck,
    LogConfig,
    Mount,
    NetworkAttachment,
    PublishedPort,
)
from homellm.runners.hashing import spec_hash

SPEC = ContainerSpec("nuc-smol", "img", args=(Arg("--parallel", "3", "why"),), env=(EnvVar("K", Secret("one"), "why"),))

CHANGED = {
    "name": "nuc-other",
    "image": "img:2",
    "args": (Arg("--parallel", "4", "why"),),
    "entrypoint": ("/x",),
    "env": (EnvVar("K", Secret("two"), "why"),),
    "mounts": (Mount("bind", "/a", "/b"),),
    "ports": (PublishedPort("127.0.0.1", 1, 2),),
    "networks": (NetworkAttachment("n"),),
    "cpuset": "0",
    "cpu_shares": 2,
    "memory_bytes": 1,
    "shm_size_bytes": 1,
    "cap_add": ("IPC_LOCK",),
    "devices": (Device("/a", "/a"),),
    "group_add": (1,),
    "gpu_requests": (GpuRequest("nvidia", ("GPU-1",)),),
    "log": LogConfig("local"),
    "health_check": HealthCheck((), 600),
    "stop_grace_s": 11,
    "labels": {"a": "b"},
}


@pytest.mark.parametrize("name", sorted({f.name for f in fields(ContainerSpec)} - {"restart"}))
def test_every_field_counts(name):
    changed = replace(SPEC, **{name: CHANGED[name]})
    assert spec_hash(changed, "sha256:1") != spec_hash(SPEC, "sha256:1")


def test_the_image_counts_by_its_content():
    assert spec_hash(SPEC, "sha256:1") != spec_hash(SPEC, "sha256:2")


def test_reasons_and_the_restart_policy_do_not_count():
    same = replace(SPEC, args=(Arg("--parallel", "3", "other"),), restart="no")
    assert spec_hash(same, "sha256:1") == spec_hash(SPEC, "sha256:1")


def test_a_field_of_a_later_version_moves_no_hash_of_those_who_do_not_use_it():
    @dataclass(frozen=True)
    class Later(ContainerSpec):
        tmpfs: tuple[str, ...] = ()
        user: str | None = None

    later = Later(**{f.name: getattr(SPEC, f.name) for f in fields(ContainerSpec)})
    assert spec_hash(later, "sha256:1") == spec_hash(SPEC, "sha256:1")
    assert spec_hash(replace(later, user="1000"), "sha256:1") != spec_hash(SPEC, "sha256:1")


def test_it_is_the_same_in_every_process_and_release():
    """A hash that moved would start every container of every user anew."""
    assert spec_hash(SPEC, "sha256:1") == "1a484120f8e28f09ca997ad00010a2ce36d332b9d3d71b8df7b8661a2c4285e4"
