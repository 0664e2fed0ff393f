from __future__ import annotations

import pytest

from homellm.domain.evidence import LogSummary
from homellm.health.exits import diagnose_exit

from . import logs

NOTHING = LogSummary()
MIB = 1024 * 1024


def diagnose(name: str, exit_code: int, **more: object):  # type: ignore[no-untyped-def]
    summary = logs.read(logs.data(name))
    return diagnose_exit(exit_code, oom_killed=False, summary=summary, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("c-badpath", "model-missing"),
        ("d-trunc", "model-corrupt"),
        ("e-unknownflag", "flag-unknown"),
        ("k-oom-vk2", "out-of-memory"),
        ("b11669-nodevice", "no-gpu"),
        ("b11669-port", "port-in-use"),
        ("b11669-envbad", "setting-invalid"),
        ("b11669-fa-req", "flash-attn-required"),
        ("b11669-lfm2-arr", "blob-incompatible"),
        ("b11669-arch", "arch-unknown"),
        ("b11669-empty", "not-gguf"),
    ],
)
def test_exit_1_has_the_reason_that_stands_in_the_log(name: str, id: str) -> None:
    problem = diagnose(name, 1)
    assert problem.id == id
    assert problem.message in logs.data(name).decode("utf-8", "replace")
    assert problem.hint


def test_a_server_built_for_another_cpu_dies_without_a_word() -> None:
    problem = diagnose("sigill-b10434", 132, image="me/llama:amx")
    assert problem.id == "cpu-unsupported"
    assert "SIGILL" in problem.message
    assert "me/llama:amx" in problem.message
    assert "ghcr.io/ggml-org/llama.cpp:server" in problem.hint


def test_the_limit_is_named_when_the_engine_killed_for_memory() -> None:
    summary = logs.read(logs.data("b11669-cpuoom"))
    problem = diagnose_exit(137, oom_killed=True, summary=summary, memory_limit_bytes=300 * MIB)
    assert problem.id == "out-of-memory"
    assert "300 MiB" in problem.message
    assert "loading" in problem.message
    assert problem.hint


def test_what_was_asked_for_so_far_is_told_beside_the_limit() -> None:
    summary = logs.read(logs.data("v11669-a-lv4"))  # 92.10 weights, 135.00 cache, 16.68 buffers
    problem = diagnose_exit(137, oom_killed=True, summary=summary, memory_limit_bytes=200 * MIB)
    assert "244 MiB" in problem.message


def test_memory_counts_before_what_the_log_says() -> None:
    summary = logs.read(logs.data("c-badpath"))
    assert diagnose_exit(137, oom_killed=True, summary=summary).id == "out-of-memory"


@pytest.mark.parametrize(
    ("exit_code", "id", "word"),
    [
        (137, "killed", "SIGKILL"),
        (139, "server-crashed", "SIGSEGV"),
        (134, "server-crashed", "SIGABRT"),
        (135, "server-crashed", "SIGBUS"),
        (127, "no-server-in-image", "not found"),
        (126, "no-server-in-image", "cannot be executed"),
        (0, "stopped", "exit 0"),
        (143, "stopped", "exit 143"),
        (130, "stopped", "exit 130"),
        (1, "exited", "exit 1"),
        (77, "exited", "exit 77"),
    ],
)
def test_without_a_word_in_the_log_the_exit_code_tells(exit_code: int, id: str, word: str) -> None:
    problem = diagnose_exit(exit_code, oom_killed=False, summary=NOTHING, image="some/image")
    assert problem.id == id
    assert word in problem.message
    assert problem.hint


def test_a_warning_is_no_reason() -> None:
    assert diagnose("j-mlock-fail", 1).id == "exited"


def test_it_tells_whether_it_served_before() -> None:
    assert "while serving" in diagnose("v11669-a", 139).message
    assert "while loading" in diagnose_exit(139, oom_killed=False, summary=NOTHING).message


@pytest.mark.parametrize(
    ("line", "id", "subject"),
    [
        ("Error: open /root/.ollama/id_ed25519: read-only file system", "store-read-only", "/root/.ollama/id_ed25519"),
        (
            "Error: could not create directory mkdir /usr/share/ollama: read-only file system",
            "store-read-only",
            "/usr/share/ollama",
        ),
        (
            "Error: rename /m/blobs/sha256:04c /m/blobs/sha256-04c: read-only file system",
            "store-read-only",
            "/m/blobs/sha256:04c",
        ),
        ("Error: mkdir /mnt/raid_disk/ollama: permission denied", "store-denied", "/mnt/raid_disk/ollama"),
        ("Error: open /root/.ollama/id_ed25519: no space left on device", "store-full", ""),
    ],
)
def test_an_ollama_that_cannot_write_its_store_says_so_last(line: str, id: str, subject: str) -> None:
    said = f"Couldn't find '/root/.ollama/id_ed25519'. Generating new private key.\n{line}\n"
    problem = diagnose_exit(1, oom_killed=False, summary=logs.read(said.encode()))
    assert (problem.id, problem.message) == (id, line)
    assert subject in problem.hint
    assert "store" in problem.hint
