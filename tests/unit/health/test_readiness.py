from __future__ import annotations

import pytest

from homellm.health.readiness import Readiness
from homellm.health.signals import read_line

from . import logs


def follow(log: str) -> list[str]:
    """The state after each line that meant anything, without repetitions."""
    readiness = Readiness()
    states = [readiness.state]
    for line in log.splitlines():
        if (signal := read_line(line)) is not None and readiness.add(signal) != states[-1]:
            states.append(readiness.state)
    return states


def last(log: str) -> Readiness:
    readiness = Readiness()
    for line in log.splitlines():
        if (signal := read_line(line)) is not None:
            readiness.add(signal)
    return readiness


@pytest.mark.parametrize("name", ["v11669-a", "a-noicd-lv4", "req-lv3", "b11669-jsonl", "b11669-noprefix"])
def test_a_good_start_is_loading_and_then_ready(name: str) -> None:
    assert follow(logs.data(name).decode()) == ["loading", "ready"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c-badpath", "model-missing"),
        ("d-trunc", "model-corrupt"),
        ("e-unknownflag", "flag-unknown"),
        ("k-oom-vk2", "out-of-memory"),
        ("v11434-a-mlockflag", "flag-unknown"),
        ("b11669-nodevice", "no-gpu"),
        ("b11669-badvalue", "setting-invalid"),
        ("b11669-fa-req", "flash-attn-required"),
        ("b11669-port", "port-in-use"),
        ("b11669-arch", "arch-unknown"),
        ("b11669-lfm2-ollama", "blob-incompatible"),
        ("b11669-noperm", "model-unreadable"),
        ("b11669-text", "not-gguf"),
        ("b11669-pooling", "server-crashed"),
        ("b11669-mmproj-width", "projector-mismatch"),
        ("b11669-mmproj-none", "projector-broken"),
    ],
)
def test_a_bad_start_fails_and_says_why(name: str, reason: str) -> None:
    log = logs.data(name).decode("utf-8", "replace")
    assert follow(log) == ["loading", "failed"]
    problem = last(log).reason
    assert problem is not None
    assert problem.id == reason
    assert problem.message in log
    assert problem.hint


@pytest.mark.parametrize(
    ("name", "says", "helps"),
    [
        (
            "b11669-pooling",
            "GGML_ASSERT(ggml_can_mul_mat(a, b)) failed",
            "a multiple of parallel, 1536 for three slots",
        ),
        ("b11669-mmproj-width", "(n_embd = 64) and mmproj (n_embd = 32)", "belongs to another model"),
        ("b11669-mmproj-kind", "unknown projector type: tomorrow", "is of a kind that this build does not know"),
        ("b11669-mmproj-cut", "failed to seek for tensor v.post_ln.bias", "is cut short"),
    ],
)
def test_the_line_with_the_reason_is_the_one_that_is_told(name: str, says: str, helps: str) -> None:
    problem = last(logs.data(name).decode()).reason
    assert problem is not None
    assert says in problem.message
    assert helps in problem.hint


def test_ready_comes_with_the_very_line_that_says_so() -> None:
    before, _, _ = logs.data("v11669-a").decode().partition("0.00.510.453")
    assert not last(before).ready
    assert last(before + "0.00.510.453 I srv  llama_server: model loaded\n").ready


def test_warnings_alone_fail_nothing() -> None:
    assert follow(logs.data("j-mlock-fail").decode()) == ["loading", "ready"]
    assert follow(logs.data("b11669-fit-abort").decode()) == ["loading", "ready"]


def test_memory_that_ran_short_for_a_moment_is_survived() -> None:
    begin = "srv    load_model: loading model '/m/x.gguf'\nggml_vulkan: Device memory allocation of size 1 failed.\n"
    assert not last(begin).failed
    assert last(begin + "srv  llama_server: model loaded\n").ready


def test_a_server_that_sleeps_is_ready_and_loads_again_when_it_wakes() -> None:
    assert follow(logs.data("b11669-sleep").decode()) == ["loading", "ready", "loading", "ready"]


def test_what_a_client_wrote_ends_no_server() -> None:
    log, _, _ = logs.data("req-lv3").decode().partition("0.47.252.192")  # before it is stopped
    injected = "error: invalid argument: --mlock\nsrv  llama_server: exiting due to model loading error\n"
    assert last(log + injected).ready


def test_a_start_after_a_crash_is_a_new_one() -> None:
    log = logs.data("d-trunc").decode() + "\n" + logs.data("v11669-a").decode()
    assert follow(log) == ["loading", "failed", "loading", "ready"]
