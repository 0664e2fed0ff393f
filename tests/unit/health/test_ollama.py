"""Ollama's logs of every age: newest with a llama-server inside, its own engine, its older runners."""

# ruff: noqa: E501 - lines of logs, as they stand

from __future__ import annotations

import pytest

from homellm.domain.evidence import Load

from . import logs

SMOL = "sha256-941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5"
LFM2 = "sha256-f70ecc7666f947304050d2e486eabdffa766a9fed5e43f262e815ff2eda44239"
STAMP = "time=2026-11-30T10:13:37.068Z level=INFO source=x.go:1 "
WARN = "time=2026-11-30T10:13:37.068Z level=WARN source=x.go:1 "


def blob(letter: str) -> str:
    return "sha256-" + letter * 64


def start(letter: str, ctx: int, slots: int) -> str:
    path = f"/root/.ollama/models/blobs/{blob(letter)}"
    return f'{STAMP}msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model {path} --port 1 -c {ctx} -np {slots}"\n'


def slots(number: int, ctx: int) -> str:
    return f"srv    load_model: initializing, n_slots = {number}, n_ctx_slot = {ctx}, kv_unified = 'false'\n"


STARTED = f'{STAMP}msg="llama-server started in 0.50 seconds"\n'
CONFIG = f'{STAMP}msg="server config" env="map[OLLAMA_NUM_PARALLEL:3 OLLAMA_ORIGINS:[x]]"\n'
REFUSED = f'{WARN}msg="model architecture does not currently support parallel requests" architecture=lfm2\n'


def test_two_models_the_hybrid_was_refused() -> None:
    summary = logs.read(logs.data("o-canary"))
    assert (summary.server, summary.version) == ("ollama", "0.33.0-rc2")
    assert summary.loads == (
        Load(SMOL, slots=3, ctx_per_slot=2048, ready=True, refused=None, device="cpu"),
        Load(LFM2, slots=1, ctx_per_slot=2048, ready=True, refused="lfm2", device="cpu"),
    )
    assert [(p.id, p.facts["subject"]) for p in summary.problems] == [("parallel-refused", "lfm2")]


def test_one_slot_that_nobody_refused_is_no_refusal() -> None:
    summary = logs.read(logs.data("o-unset"))
    assert [(load.slots, load.refused) for load in summary.loads] == [(1, None), (1, None)]
    assert summary.problems == ()


def test_a_load_that_a_client_forced_is_named() -> None:
    summary = logs.read(logs.data("o-numctx"))
    assert [(load.blob, load.slots, load.ctx_per_slot) for load in summary.loads] == [(SMOL, 3, 2048), (SMOL, 3, 512)]
    (forced,) = summary.problems
    assert (forced.id, forced.facts["usual"], forced.facts["forced"]) == ("ctx-forced", 2048, 512)
    assert "-c 1536" in forced.line


@pytest.mark.parametrize(
    ("libdirs", "found"),
    [(["ollama,cuda_v13"], "cuda_v13"), (["ollama"], None), (["ollama,cuda_v13", "ollama,vulkan"], None)],
)
def test_the_folder_of_the_gpus_libraries_is_that_of_every_load(libdirs: list[str], found: str | None) -> None:
    """Two GPUs with libraries of their own: nobody knows which of them a load is for."""
    gpus = "".join(
        f'{STAMP}msg="inference compute" id=GPU-{n} filter_id="" library=CUDA compute=8.6 name=CUDA{n}'
        f' description="NVIDIA GeForce RTX 3070" libdirs={dirs} driver=13.0 pci_id=0000:0{n}:00.0 type=discrete'
        ' total="8.0 GiB" available="7.6 GiB"\n'
        for n, dirs in enumerate(libdirs)
    )
    summary = logs.read(f"{gpus}{start('a', 512, 1)}{start('b', 512, 1)}")
    assert [load.gpu_libraries for load in summary.loads] == [found, found]


def test_before_0_30_the_commit_tells_slots_and_context() -> None:
    summary = logs.read(logs.data("o-v0.24.0"))
    assert summary.version == "0.24.0"
    assert [(load.slots, load.ctx_per_slot, load.refused, load.ready) for load in summary.loads] == [
        (3, 1024, None, True),
        (1, 4096, "lfm2", True),
    ]


def test_0_5_13_has_its_slots_in_the_context_of_its_runner() -> None:
    log = (
        f'{STAMP}msg="Listening on [::]:11434 (version 0.5.13)"\n'
        f'{STAMP}msg="starting llama server" cmd="/usr/bin/ollama runner --model /root/.ollama/models/blobs/{blob("a")}'
        ' --ctx-size 3072 --batch-size 512 --threads 2 --parallel 3 --port 37099"\n'
        "llama_init_from_model: n_seq_max     = 3\n"
        "llama_init_from_model: n_ctx_per_seq = 1024\n"
        f'{STAMP}msg="llama runner started in 0.25 seconds"\n'
    )
    assert logs.read(log).loads == (Load(blob("a"), slots=3, ctx_per_slot=1024, ready=True),)


def test_a_runner_that_says_nothing_has_the_slots_it_was_started_with_once_it_runs() -> None:
    log = (
        f'{STAMP}msg="starting llama server" cmd="/tmp/ollama/ollama_llama_server --model /blobs/{blob("a")} --ctx-size 8192'
        ' --parallel 4 --port 1"\n'
    )
    assert logs.read(log).slots is None
    ended = logs.read(log + f'{STAMP}msg="llama runner started in 1.50 seconds"\n')
    assert (ended.slots, ended.ready) == (4, True)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        (REFUSED, "lfm2"),
        (f'{WARN}msg="mllama doesn\'t support parallel requests yet"\n', "mllama"),
        (f'{WARN}msg="mllama does not currently support parallel requests"\n', "mllama"),
        (f'{WARN}msg="multimodal models don\'t support parallel requests yet"\n', "multimodal"),
    ],
)
def test_the_refusal_belongs_to_the_next_load_in_every_wording(line: str, refused: str) -> None:
    log = start("a", 6144, 3) + slots(3, 2048) + STARTED + line + start("b", 2048, 1) + slots(1, 2048) + STARTED
    assert [load.refused for load in logs.read(log).loads] == [None, refused]


def test_a_variable_that_was_replaced_is_no_refusal() -> None:
    log = f'{WARN}msg="invalid environment variable, using default" key=OLLAMA_NUM_PARALLEL value=abc default=1\n'
    summary = logs.read(log + start("a", 2048, 1) + slots(1, 2048) + STARTED)
    assert [(p.id, p.facts["value"]) for p in summary.problems] == [("setting-invalid", "abc")]
    assert summary.loads[0].refused is None


def test_an_integrated_gpu_that_was_dropped_leaves_the_cpu() -> None:
    log = (
        f'{STAMP}msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan name=Vulkan0 '
        'description="Intel(R) Iris(R) Xe Graphics (TGL GT2)" pci_id=0000:00:02.0\n'
        f'{STAMP}msg="inference compute" id=cpu library=cpu name=cpu description=cpu total="23.5 GiB"\n'
    )
    summary = logs.read(log + start("a", 2048, 1) + slots(1, 2048) + STARTED)
    assert logs.problem_ids(summary) == ["igpu-dropped"]
    assert "OLLAMA_IGPU_ENABLE=1" in summary.problems[0].hint
    assert summary.device == "cpu"


def test_a_gpu_has_the_name_that_ollama_found_it_under() -> None:
    log = (
        f'{STAMP}msg="inference compute" id=0 library=CUDA name=CUDA0 description="NVIDIA GeForce RTX 3070" total="8.0 GiB"\n'
        f'{STAMP}msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine --model /b/{blob("a")} --port 1"\n'
        f'{STAMP}msg="model weights" device=CUDA0 size="4.1 GiB"\n'
        f'{STAMP}msg="model weights" device=CPU size="92.1 MiB"\n'
    )
    assert logs.read(log).device == "CUDA0 NVIDIA GeForce RTX 3070"


@pytest.mark.parametrize(
    ("error", "id"),
    [
        ("llama-server process has terminated: signal: killed", "out-of-memory"),
        ("llama runner process has terminated with exit code -1", "out-of-memory"),
        ("llama-server process has terminated: signal: illegal instruction", "cpu-unsupported"),
        (
            "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'x'",
            "arch-unknown",
        ),
        ("timed out waiting for llama-server to start - progress 0.00 - ", "load-timeout"),
        ("model requires more system memory (164.0 GiB) than is available (13.0 GiB)", "model-too-large"),
        ('tensor \\"blk.1.ffn_up.weight\\" offset+size (123) exceeds file size (100)', "model-corrupt"),
    ],
)
def test_a_load_that_failed_says_why(error: str, id: str) -> None:
    log = start("a", 2048, 1) + f'{STAMP}msg="Load failed" model=/b/{blob("a")} error="{error}"\n'
    summary = logs.read(log)
    assert logs.problem_ids(summary) == [id]
    assert (summary.ready, summary.loads[0].ready) == (False, False)


def test_a_child_that_fails_is_told_once_with_its_own_words() -> None:
    child = "llama_model_load: error loading model: unknown model architecture: 'x'\n"
    error = "llama-server process has terminated: exit status 1: error loading model: unknown model architecture: 'x'"
    log = start("a", 2048, 1) + child + f'{STAMP}msg="Load failed" error="{error}"\n'
    assert logs.problem_ids(logs.read(log)) == ["arch-unknown"]


def test_the_load_of_one_model_says_nothing_of_anothers() -> None:
    bad = start("a", 2048, 1) + "llama_model_load: error loading model: unknown model architecture: 'x'\n"
    summary = logs.read(bad + start("b", 2048, 1) + slots(1, 2048) + STARTED)
    assert [load.ready for load in summary.loads] == [False, True]
    assert logs.problem_ids(summary) == ["arch-unknown"]
    again = logs.read(bad + start("a", 2048, 1) + slots(1, 2048) + STARTED)
    assert logs.problem_ids(again) == []


def test_ollamas_own_crash_is_told() -> None:
    summary = logs.read(
        CONFIG + "panic: interface conversion: interface {} is nil, not string\n\ngoroutine 1 [running]:\n"
    )
    assert logs.problem_ids(summary) == ["server-crashed"]


def test_a_file_that_a_runner_of_0_24_cannot_read_is_no_crash_of_ollama() -> None:
    """Its runner ends every failed load by a panic; what it could not read stands before that."""
    log = (logs.OLLAMA / "0.24" / "dies.log").read_text()
    summary = logs.read(log)
    assert logs.problem_ids(summary) == ["blob-incompatible"]
    assert "This Ollama cannot read the file" in summary.problems[0].hint
    assert [load.ready for load in summary.loads] == [False]
    bare = "".join(f"{line}\n" for line in log.splitlines() if "tensor" not in line)
    assert (logs.problem_ids(logs.read(bare)), logs.read(bare).loads[0].ready) == ([], False)


def test_a_runner_of_0_24_that_memory_ended() -> None:
    """Its own engine has no word for it but the exit code that Go gives a signal."""
    summary = logs.read((logs.OLLAMA / "0.24" / "killed.log").read_bytes())
    assert (logs.problem_ids(summary), summary.loads[0].ready) == (["out-of-memory"], False)


@pytest.mark.parametrize("age", ["0.24", "0.33"])
def test_a_load_that_ended_before_its_runner_leaves_the_one_before_alone(age: str) -> None:
    """Ollama looks into the file itself first: here into one that is cut short, while others are served."""
    log = (logs.OLLAMA / age / "scenario.log").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(log) if "failed to load model metadata" in line)
    before, after = logs.read("".join(log[:at])), logs.read("".join(log[: at + 1]))
    assert set(logs.problem_ids(after)) - set(logs.problem_ids(before)) == {"model-corrupt"}
    assert after.loads == before.loads
    assert after.loads[-1].ready


def test_what_ollama_says_of_a_file_without_a_reason_is_no_problem() -> None:
    """So said 0.24.0 of one part of a split model; llama.cpp's own line before it tells why."""
    served = CONFIG + start("a", 2048, 1) + slots(1, 2048) + STARTED
    vague = f'{STAMP}msg="failed to create server" model=b:latest error="unable to load model: /b"\n'
    summary = logs.read(served + vague)
    assert (logs.problem_ids(summary), [load.ready for load in summary.loads]) == ([], [True])


def test_what_the_last_load_died_of_comes_last() -> None:
    """Whoever was just told that a load failed looks there for the reason."""
    unknown = "llama_model_load: error loading model: unknown model architecture: 'x'\n"
    corrupt = "llama_model_load: error loading model: tensor 'a' data is not within the file bounds\n"
    bad = start("a", 2048, 1) + unknown + start("b", 2048, 1) + corrupt
    assert logs.problem_ids(logs.read(bad)) == ["arch-unknown", "model-corrupt"]
    assert logs.problem_ids(logs.read(bad + start("a", 2048, 1) + unknown)) == ["model-corrupt", "arch-unknown"]
    more = bad + start("a", 2048, 1) + unknown + start("c", 2048, 1)
    assert logs.problem_ids(logs.read(more)) == ["model-corrupt", "arch-unknown"]


def test_a_restart_of_the_server_forgets_problems_and_keeps_the_loads() -> None:
    first = CONFIG + REFUSED + start("a", 2048, 1) + slots(1, 2048) + STARTED
    summary = logs.read(first + CONFIG + start("b", 6144, 3) + slots(3, 2048) + STARTED)
    assert logs.problem_ids(summary) == []
    assert [(load.slots, load.refused) for load in summary.loads] == [(1, "lfm2"), (3, None)]


def test_a_server_that_loaded_nothing() -> None:
    summary = logs.read(CONFIG + f'{STAMP}msg="Listening on [::]:11434 (version 0.33.0)"\n')
    assert (summary.known, summary.server, summary.version, summary.loads) == (True, "ollama", "0.33.0", ())
    assert not summary.ready


def test_a_driver_that_does_not_fit_is_seen_while_ollama_looks_for_gpus() -> None:
    line = "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version\n"
    assert logs.problem_ids(logs.read(CONFIG + line)) == ["driver-mismatch"]


def test_ever_new_loads_stay_bounded() -> None:
    log = "".join(start("ab"[number % 2], 2048, 1) + slots(1, 2048) + STARTED for number in range(600))
    assert len(logs.read(log).loads) <= 257


def test_the_journals_form_is_read_too() -> None:
    log = "".join(f"Nov 30 10:13:37 nuc ollama[812]: {line}\n" for line in logs.data("o-canary").decode().splitlines())
    assert logs.read(log).loads == logs.read(logs.data("o-canary")).loads
