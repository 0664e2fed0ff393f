"""Every recorded log against what a person reads in it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from homellm.domain.evidence import LogSummary, MemoryRow
from homellm.health.reader import LogReader
from homellm.report.explain import explain_document

from . import logs

LLVMPIPE = "Vulkan0 llvmpipe (LLVM 21.1.8, 256 bits)"


@dataclass(frozen=True)
class Told:
    """What a log tells. `problems` are in no order."""

    ready: bool = True
    slots: int | None = None
    ctx: int | None = None
    unified: bool | None = False
    device: str | None = None
    layers: str | None = None
    used: int = 0
    problems: str = ""
    memory_rows: int = 0


def failed(problems: str, device: str | None = None) -> Told:
    return Told(ready=False, unified=None, device=device, problems=problems)


EXPECTED: dict[str, Told] = {
    # b10434. Its load_tensors line claims 31/31 layers on a GPU that is not there.
    "a-noicd": Told(slots=3, ctx=2048, problems="flag-deprecated no-auth"),
    "a-noicd-lv4": Told(
        slots=3, ctx=2048, device="cpu", layers="0/31", problems="flag-deprecated no-auth", memory_rows=2
    ),
    "b-auto-lv4": Told(slots=4, ctx=8192, unified=True, device="cpu", layers="0/31", problems="no-auth", memory_rows=2),
    "c-badpath": failed("no-auth model-missing"),
    "d-trunc": failed("no-auth model-corrupt"),  # its last line is lost
    "e-unknownflag": failed("flag-unknown"),
    "f-bigctx-p3": Told(slots=3, ctx=8192, problems="no-auth ctx-capped"),
    "g-kvu": Told(slots=3, ctx=6144, unified=True, problems="no-auth"),
    "i-lavapipe-forced-lv4": Told(
        slots=1,
        ctx=2048,
        device="Vulkan0 llvmpipe (LLVM 15.0.6, 256 bits)",
        layers="31/31",
        problems="no-auth cpu-device",
        memory_rows=2,
    ),
    "j-mlock-fail": Told(slots=4, ctx=8192, unified=True, problems="flag-deprecated no-auth mlock-failed"),
    "k-oom-vk2": failed("no-auth out-of-memory"),
    "l-apikey": Told(slots=4, ctx=8192, unified=True, used=1),
    "o-gemma-swa-cr": Told(slots=2, ctx=4096, problems="no-auth cache-reuse-off"),
    "p-hybrid-lv4": Told(slots=2, ctx=4096, device="cpu", layers="0/7", used=1, problems="no-auth", memory_rows=1),
    "q-preserve-unsupported": Told(slots=1, ctx=1024, problems="no-auth reasoning-preserve-off"),
    "req-lv3": Told(slots=3, ctx=2048, used=3, problems="flag-deprecated no-auth"),
    "sigill-b10434": failed("no-auth cpu-unsupported"),
    # b11434
    "v11434-a": Told(slots=3, ctx=2048, device="cpu", problems="no-auth no-gpu"),
    "v11434-a-lv4": Told(slots=3, ctx=2048, device="cpu", problems="no-auth no-gpu", memory_rows=2),
    "v11434-a-mlockflag": failed("no-gpu flag-unknown", device="cpu"),
    "v11434-b-auto": Told(slots=4, ctx=8192, unified=True, problems="no-auth"),
    # b11669
    "v11669-a": Told(slots=3, ctx=2048, problems="no-auth"),
    "v11669-a-lv4": Told(slots=3, ctx=2048, device="cpu", problems="no-auth", memory_rows=1),
    "v11669-lavapipe": Told(
        slots=3, ctx=512, device=LLVMPIPE, layers="31/31", problems="no-auth cpu-device", memory_rows=2
    ),
    "v11669-mlock-nocap": Told(slots=3, ctx=2048, problems="no-auth mlock-failed"),
    "v11669-mlockflag": failed("flag-unknown"),
    "v11669-noport": Told(slots=3, ctx=2048, problems="no-auth"),
    "b11669-apikey": Told(slots=1, ctx=512),
    "b11669-arch": failed("no-auth arch-unknown"),
    "b11669-pooling": failed("no-auth server-crashed"),
    "b11669-mmproj-width": failed("no-auth projector-mismatch projector-broken"),
    "b11669-mmproj-kind": failed("no-auth projector-broken"),
    "b11669-mmproj-cut": failed("no-auth projector-broken"),
    "b11669-mmproj-none": failed("no-auth projector-broken"),
    "b11669-badvalue": failed("setting-invalid"),
    "b11669-badvalue2": failed("setting-invalid"),
    "b11669-badvalue3": failed("setting-invalid"),
    "b11669-busy": Told(slots=3, ctx=1024, used=3, problems="no-auth"),
    "b11669-colors": Told(slots=1, ctx=512, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-cpuoom": failed("no-auth"),  # killed: the exit code tells, the log does not
    "b11669-embedding-lv4": Told(slots=2, ctx=512, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-embedreq": Told(slots=2, ctx=512, used=2, problems="no-auth"),
    "b11669-empty": failed("no-auth not-gguf"),
    "b11669-envbad": failed("setting-invalid"),
    "b11669-envover": Told(slots=3, ctx=512, problems="no-auth"),
    "b11669-fa-req": failed("no-auth flash-attn-required"),
    "b11669-faoff": Told(slots=1, ctx=512, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-fit-abort": Told(slots=1, ctx=4096, problems="no-auth fit-aborted"),
    "b11669-fit-ctx-lv4": Told(
        slots=1,
        ctx=512,
        device=LLVMPIPE,
        layers="29/31",
        problems="no-auth ctx-shrunk cpu-device layers-partial",
        memory_rows=2,
    ),
    "b11669-fit-layers-lv4": Told(
        slots=1, ctx=4096, device=LLVMPIPE, layers="0/31", problems="no-auth cpu-device layers-partial", memory_rows=2
    ),
    "b11669-hybrid": Told(slots=2, ctx=8192, device="cpu", used=1, problems="no-auth prompt-cache-lost", memory_rows=1),
    "b11669-jsonl": Told(slots=2, ctx=1024, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-jsonl-lv4": Told(slots=2, ctx=1024, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-kvfull": Told(slots=4, ctx=1024, unified=True, used=4, problems="no-auth kv-exhausted"),
    "b11669-kvq8": Told(slots=1, ctx=512, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-lavapipe-jsonl": Told(
        slots=2, ctx=512, device=LLVMPIPE, layers="10/31", problems="no-auth cpu-device layers-partial", memory_rows=2
    ),
    "b11669-lavapipe-lv3": Told(slots=2, ctx=512, problems="no-auth"),
    "b11669-lavapipe-partial": Told(
        slots=2, ctx=512, device=LLVMPIPE, layers="10/31", problems="no-auth cpu-device layers-partial", memory_rows=2
    ),
    "b11669-level5-cut": Told(slots=2, ctx=512, device="cpu", used=1, problems="no-auth", memory_rows=1),
    "b11669-lfm2-arr": failed("no-auth blob-incompatible"),
    "b11669-lfm2-ollama": failed("no-auth blob-incompatible"),
    "b11669-lv4": Told(slots=3, ctx=2048, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-missing-jsonl": failed("no-auth model-missing"),
    "b11669-mlock-cap": Told(slots=1, ctx=1024, device="cpu", problems="no-auth", memory_rows=1),
    "b11669-mlock-nocap-jsonl": Told(slots=1, ctx=1024, device="cpu", problems="no-auth mlock-failed", memory_rows=1),
    "b11669-ngl-nogpu": Told(slots=2, ctx=512, device="cpu", problems="no-auth no-gpu"),
    "b11669-ngl-nogpu-lv4": Told(slots=2, ctx=512, device="cpu", problems="no-auth no-gpu", memory_rows=1),
    "b11669-nodevice": failed("no-gpu"),
    "b11669-nologts": Told(slots=1, ctx=512, problems="no-auth"),
    "b11669-noperm": failed("no-auth model-unreadable"),
    "b11669-noprefix": Told(slots=1, ctx=512, problems="no-auth"),
    "b11669-port": failed("no-auth port-in-use"),
    "b11669-preserve": Told(slots=1, ctx=512, problems="no-auth reasoning-preserve-off"),
    "b11669-restart": Told(slots=2, ctx=512, problems="no-auth"),
    "b11669-router": Told(slots=2, ctx=512, used=1, problems="no-auth model-corrupt"),
    "b11669-sleep": Told(slots=2, ctx=512, used=1, problems="no-auth"),
    "b11669-sleep-lv4": Told(slots=2, ctx=512, device="cpu", used=1, problems="no-auth", memory_rows=1),
    "b11669-text": failed("no-auth not-gguf"),
    "b11669-toolong": Told(slots=2, ctx=512, used=0, problems="no-auth"),
    "b11669-trunc-lv4": failed("no-auth model-corrupt", device="cpu"),
    "b11669-unknownflag": failed("flag-unknown"),
    "b11669-vkoom": failed("no-auth out-of-memory"),
    # Ollama
    "o-canary": Told(slots=1, ctx=2048, device="cpu", problems="parallel-refused", memory_rows=1),
    "o-compat": Told(slots=1, ctx=4096, device="cpu", used=1, problems="parallel-refused", memory_rows=1),
    "o-numctx": Told(slots=3, ctx=512, device="cpu", used=1, problems="ctx-forced", memory_rows=1),
    "o-unset": Told(slots=1, ctx=2048, device="cpu", memory_rows=1),
    "o-v0.24.0": Told(slots=1, ctx=4096, unified=None, device="cpu", layers="0/7", problems="parallel-refused"),
}


def told(summary: LogSummary) -> Told:
    return Told(
        ready=summary.ready,
        slots=summary.slots,
        ctx=summary.ctx_per_slot,
        unified=summary.kv_unified,
        device=summary.device,
        layers=summary.layers_offloaded,
        used=summary.slots_used,
        problems=" ".join(sorted(logs.problem_ids(summary))),
        memory_rows=len(summary.memory),
    )


def test_every_recorded_log_is_expected_something_of() -> None:
    assert set(EXPECTED) == set(logs.NAMES)


@pytest.mark.parametrize("name", logs.NAMES)
def test_a_recorded_log_tells_what_a_person_reads_in_it(name: str) -> None:
    expected = EXPECTED[name]
    seen = told(logs.read(logs.data(name)))
    assert seen == Told(**{**vars(expected), "problems": " ".join(sorted(expected.problems.split()))})


@pytest.mark.parametrize("name", logs.NAMES)
def test_every_problem_quotes_the_log_and_says_what_to_do(name: str) -> None:
    log = logs.data(name).decode("utf-8", "replace")
    for problem in logs.read(log).problems:
        assert problem.line in log or json.dumps(problem.line)[1:-1] in log
        assert problem.hint


@pytest.mark.parametrize("name", ["req-lv3", "a-noicd-lv4", "b11669-router", "o-canary", "b11669-kvfull", "k-oom-vk2"])
@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda line: b"2026-11-30T12:03:41.123456789Z " + line, id="docker logs -t"),
        pytest.param(lambda line: b"lfm2.5-1  | " + line, id="compose"),
        pytest.param(lambda line: b"Nov 30 12:03:41 nuc docker[4711]: " + line, id="journal"),
        pytest.param(lambda line: line + b"\r", id="windows"),
        pytest.param(lambda line: b"\x1b[2m" + line + b"\x1b[0m", id="colours"),
        pytest.param(
            lambda line: json.dumps({"log": line.decode() + "\n", "stream": "stderr"}).encode(), id="json-file"
        ),
    ],
)
def test_a_log_tells_the_same_whatever_it_came_through(name: str, wrap) -> None:  # type: ignore[no-untyped-def]
    log = logs.data(name)
    wrapped = b"\n".join(wrap(line) for line in log.split(b"\n"))
    assert explain_document(logs.read(wrapped)) == explain_document(logs.read(log))


@pytest.mark.parametrize("name", ["req-lv3", "v11669-lavapipe", "b11669-sleep-lv4"])
def test_a_log_without_the_servers_own_prefix_tells_the_same(name: str) -> None:
    lines = logs.data(name).split(b"\n")
    bare = b"\n".join(line[15:] if line[:1].isdigit() else line for line in lines)
    assert bare != logs.data(name)
    assert explain_document(logs.read(bare)) == explain_document(logs.read(logs.data(name)))


@pytest.mark.parametrize("name", ["req-lv3", "o-numctx", "b11669-jsonl-lv4"])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_log_tells_the_same_in_frames_of_any_size(name: str, size: int) -> None:
    log, reader = logs.data(name), LogReader()
    for begin in range(0, len(log), size):
        reader.feed(log[begin : begin + size])
    assert reader.finish() == logs.read(log)


def test_the_evidence_of_a_load_on_a_gpu() -> None:
    summary = logs.read(logs.data("v11669-lavapipe"))
    assert summary.build == "b11669"
    assert summary.verbosity == 4
    assert summary.model_path == "/m/smol.gguf"
    assert dict(summary.weights_mib) == {"CPU_Mapped": 28.69, "Vulkan0": 92.10}
    assert dict(summary.compute_mib) == {"Vulkan0": 14.04, "Vulkan_Host": 5.03}
    assert (summary.kv_mib, summary.kv_types, summary.recurrent_mib) == (33.75, ("f16", "f16"), None)
    assert (summary.batch, summary.ubatch, summary.threads, summary.pool_tokens) == (1536, 512, 2, 1536)
    assert summary.flash_attention == "on"
    assert summary.device_pci is None  # `unknown id`
    assert summary.memory == (
        MemoryRow("Vulkan0 (llvmpipe (LLVM 21.1.8, 256 bits))", 24105, 23221, 139, 92, 33, 14, 744),
        MemoryRow("Host", None, None, 33, 28, 0, 5, None),
    )


def test_the_evidence_of_a_hybrid() -> None:
    summary = logs.read(logs.data("p-hybrid-lv4"))
    assert (summary.kv_mib, summary.recurrent_mib) == (12.0, 0.01)
    assert summary.cache_reused


def test_what_the_flags_came_to() -> None:
    q8, off = logs.read(logs.data("b11669-kvq8")), logs.read(logs.data("b11669-faoff"))
    assert (q8.flash_attention, q8.kv_types) == ("on", ("q8_0", "q8_0"))
    assert (off.flash_attention, off.kv_types) == ("off", ("f16", "f16"))


def test_the_table_at_the_end_is_the_one_that_counts() -> None:
    """Fitting prints a table for each try; the server prints what it really took when it ends."""
    summary = logs.read(logs.data("b11669-fit-layers-lv4"))
    assert summary.memory[0].model_mib == 0
    assert summary.memory[1] == MemoryRow("Host", None, None, 190, 92, 90, 8, None)


def test_the_trial_loads_of_level_5_are_not_counted_twice() -> None:
    summary = logs.read(logs.data("b11669-level5-cut"))
    assert dict(summary.weights_mib) == {"CPU_Mapped": 92.10}
    assert summary.kv_mib == 22.5
