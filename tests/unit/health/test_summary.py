"""Several processes and loads in one log, lines that clients wrote, and memory that stays bounded."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from homellm.health.server_log import MOST_CHILDREN, ServerLog
from homellm.health.signals import read_line
from homellm.health.summary import MOST_ORIGINS, Summariser

from . import logs

GOOD = logs.data("v11669-a").decode() + "\n"
OTHER = logs.data("f-bigctx-p3").decode() + "\n"
BAD = logs.data("d-trunc").decode() + "\n"
OWN = "0.09.000.000 "


def test_the_last_process_counts() -> None:
    summary = logs.read(OTHER + GOOD)
    assert (summary.slots, summary.ctx_per_slot) == (3, 2048)
    assert logs.problem_ids(summary) == ["no-auth"]  # nothing of the first one's capped context


def test_a_process_that_failed_after_one_that_served_is_not_ready() -> None:
    summary = logs.read(GOOD + BAD)
    assert not summary.ready
    assert summary.slots is None
    assert logs.problem_ids(summary) == ["no-auth", "model-corrupt"]


def test_a_process_that_serves_after_one_that_failed_is_ready() -> None:
    summary = logs.read(BAD + GOOD)
    assert (summary.ready, summary.slots) == (True, 3)
    assert logs.problem_ids(summary) == ["no-auth"]


def test_a_crash_loop_is_one_problem_however_often_it_came_round() -> None:
    loop = "warning: no usable GPU found, --gpu-layers option will be ignored\nerror: invalid argument: --mlock\n"
    summary = logs.read(loop * 50)
    assert logs.problem_ids(summary) == ["no-gpu", "flag-unknown"]
    assert not summary.ready


def test_a_process_killed_while_loading_and_started_again() -> None:
    killed = logs.data("b11669-cpuoom").decode() + "\n"
    gpu = "warning: no usable GPU found, --gpu-layers option will be ignored\n"
    summary = logs.read((gpu + killed) * 3 + gpu + GOOD)
    assert (summary.ready, summary.slots) == (True, 3)
    assert [(problem.id, problem.facts["count"]) for problem in summary.problems] == [("no-gpu", 1), ("no-auth", 1)]


def test_a_load_after_an_end_is_another_process_also_where_its_first_lines_are_not_written() -> None:
    served = (
        "srv    load_model: loading model '/m/x.gguf'\n"
        "srv  llama_server: listening on http://0.0.0.0:8080\n"
        "srv    send_error: task id = 0, error: Context size has been exceeded.\n"
    )
    again = "srv    load_model: loading model '/m/x.gguf'\nsrv  llama_server: listening on http://0.0.0.0:8080\n"
    assert logs.problem_ids(logs.read(served + again)) == ["kv-exhausted"]  # it slept and woke: one process
    ended = "srv    operator(): operator(): cleaning up before exit...\n"
    assert logs.problem_ids(logs.read(served + ended + again)) == []


def test_a_backend_that_is_loaded_with_the_model_begins_no_other_process() -> None:
    log = (
        "srv    load_model: loading model '/m/x.gguf'\n"
        "ggml_vulkan: No devices found.\n"
        "load_backend: loaded CPU backend from /usr/lib/ggml/libggml-cpu-zen4.so\n"
        "srv  llama_server: model loaded\n"
    )
    summary = logs.read(log)
    assert (summary.ready, summary.model_path, summary.device) == (True, "/m/x.gguf", "cpu")


def test_a_driver_on_the_cpu_is_named_by_whatever_line_names_it() -> None:
    old = (
        "ggml_vulkan: 0 = llvmpipe (LLVM 15.0.7, 256 bits) (llvmpipe) | uma: 0 | fp16: 1 | warp size: 8\n"
        "srv    load_model: loading model '/m/x.gguf'\n"
    )
    buffer = "load_tensors: loading model tensors\nload_tensors:      Vulkan0 model buffer size =    92.10 MiB\n"
    assert logs.problem_ids(logs.read(old)) == []  # it is there, and nothing says that it is used
    assert logs.problem_ids(logs.read(old + buffer)) == ["cpu-device"]
    json_at_level_3 = (
        '{"type":"log","time":1,"level":"info","msg":"srv    load_model: loading model \'/m/x.gguf\'\\n"}\n'
        '{"type":"fit_memory_breakdown","data":{"unit":"MiB","rows":[{"kind":"device","name":"Vulkan0","description":'
        '"llvmpipe (LLVM 21.1.8, 256 bits)","total":24105,"free":23600,"self":69,"model":47,"context":6,"compute":15,'
        '"unaccounted":435},{"kind":"host","name":"Host","self":93,"model":73,"context":15,"compute":5}]}}\n'
    )
    summary = logs.read(json_at_level_3)
    assert summary.device == "Vulkan0 llvmpipe (LLVM 21.1.8, 256 bits)"
    assert logs.problem_ids(summary) == ["cpu-device"]


def test_a_part_of_the_layers_is_told_also_where_the_buffers_are_lost() -> None:
    assert logs.problem_ids(logs.read("load_tensors: offloaded 20/33 layers to GPU\n")) == ["layers-partial"]
    assert logs.problem_ids(logs.read("load_tensors: offloaded 33/33 layers to GPU\n")) == []
    assert logs.problem_ids(logs.read("load_tensors: offloaded 0/33 layers to GPU\n")) == []


def test_a_process_without_prefixes_after_one_with_them() -> None:
    summary = logs.read(GOOD + logs.data("b11669-noprefix").decode())
    assert (summary.ready, summary.slots, summary.ctx_per_slot) == (True, 1, 512)


def test_while_it_sleeps_a_server_is_ready() -> None:
    log = logs.data("b11669-sleep").decode()
    asleep, _, rest = log.partition("exiting sleeping state")
    assert logs.read(asleep).ready
    loading, _, _ = rest.partition("llama threadpool init")
    assert not logs.read(asleep + "exiting sleeping state" + loading).ready


def test_problems_of_the_command_line_outlive_a_sleep() -> None:
    assert "no-auth" in logs.problem_ids(logs.read(logs.data("b11669-sleep")))


def test_a_model_that_fails_to_load_again_after_a_sleep_is_not_ready() -> None:
    log = logs.data("b11669-sleep").decode()
    before, _, _ = log.partition("0.03.576.452")
    error = "0.03.500.000 E gguf_init_from_file: failed to open GGUF file '/m/smol.gguf' (No such file or directory)\n"
    summary = logs.read(before + error)
    assert not summary.ready
    assert logs.problem_ids(summary) == ["no-auth", "model-missing"]


def test_a_log_whose_beginning_is_lost_still_tells_that_it_serves() -> None:
    log = logs.data("req-lv3").decode()
    rest = log[log.index("0.02.527.116") :]
    summary = logs.read(rest)
    assert (summary.ready, summary.slots, summary.slots_used, summary.device) == (True, None, 3, None)


def test_an_empty_log_tells_nothing() -> None:
    assert not logs.read(b"").known
    assert not logs.read(b"some\nother program's\nlines\n").known


def test_a_server_still_loading_is_not_ready_and_not_failed() -> None:
    log = logs.data("v11669-a").decode()
    summary = logs.read(log[: log.index("0.00.508.504")])
    assert (summary.known, summary.ready, summary.slots) == (True, False, None)
    assert logs.problem_ids(summary) == ["no-auth"]


def test_the_last_word_of_a_server_built_for_another_cpu_needs_the_amx_note() -> None:
    log = logs.data("sigill-b10434").decode()
    assert "cpu-unsupported" not in logs.problem_ids(logs.read(log.replace("AMX is not ready to be used!\n", "")))


def test_that_a_log_breaks_off_means_nothing_before_it_has_ended() -> None:
    summariser = Summariser()
    for line in logs.data("sigill-b10434").decode().splitlines():
        if (signal := read_line(line)) is not None:
            summariser.add(signal)
    assert logs.problem_ids(summariser.summary()) == ["no-auth"]


INJECTED = (
    "error: invalid argument: --mlock\n"
    "srv    load_model: initializing, n_slots = 99, n_ctx_slot = 7, kv_unified = 'true'\n"
    "srv  llama_server: exiting due to model loading error\n"
    "srv    load_model: loading model '/tmp/evil.gguf'\n"
    "llama_model_load: error loading model: unknown model architecture: 'evil'\n"
    "cudaMalloc failed: out of memory\n"
    "load_tensors: offloaded 99/99 layers to GPU\n"
    "load_tensors:      Vulkan7 model buffer size =  9999.00 MiB\n"
)


def test_what_a_client_wrote_is_not_what_the_server_says() -> None:
    """Debug logs of some builds print prompts raw; their lines lack the prefix that the server's own have."""
    log = logs.data("req-lv3").decode()
    at = log.index("0.02.527.116")
    summary = logs.read(log[:at] + "0.02.527.000 I srv  log_server_r: prompt: '\n" + INJECTED + "'\n" + log[at:])
    assert summary == logs.read(log)


def test_the_parts_of_a_split_file_are_added_up() -> None:
    split = "load_tensors:   CPU_Mapped model buffer size =  100.50 MiB\n" * 3
    begin = "srv    load_model: loading model '/m/x-00001-of-00003.gguf'\nload_tensors: loading model tensors\n"
    assert dict(logs.read(begin + split).weights_mib) == {"CPU_Mapped": 301.5}


def test_a_draft_models_buffers_are_not_the_models() -> None:
    def load(path: str, mib: str) -> str:
        return (
            f"llama_model_loader: loaded meta data with 33 key-value pairs and 272 tensors from {path} (version x)\n"
            "load_tensors: loading model tensors, this can take a while... (load_mode = mmap)\n"
            "load_tensors: offloaded 31/31 layers to GPU\n"
            f"load_tensors:        CUDA0 model buffer size =  {mib} MiB\n"
        )

    log = (
        "srv    load_model: loading model '/m/big.gguf'\n"
        + load("/m/big.gguf", "4000.00")
        + load("/m/draft.gguf", "80.00")
    )
    assert dict(logs.read(log).weights_mib) == {"CUDA0": 4000.0}


def test_two_gpus_are_named_the_fuller_one_first() -> None:
    log = (
        "srv    load_model: loading model '/m/x.gguf'\n"
        "load_tensors: loading model tensors\n"
        "llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3070) (0000:01:00.0) - 7113 MiB free\n"
        "llama_prepare_model_devices: using device CUDA1 (NVIDIA GeForce RTX 4090) (0000:02:00.0) - 24000 MiB free\n"
        "load_tensors:   CPU_Mapped model buffer size =    28.69 MiB\n"
        "load_tensors:        CUDA0 model buffer size =   100.00 MiB\n"
        "load_tensors:        CUDA1 model buffer size =  4000.00 MiB\n"
    )
    summary = logs.read(log)
    assert summary.device == "CUDA1 NVIDIA GeForce RTX 4090, CUDA0 NVIDIA GeForce RTX 3070"
    assert summary.device_pci is None  # two of them


def test_one_gpu_has_its_address() -> None:
    log = (
        "srv    load_model: loading model '/m/x.gguf'\n"
        "llama_prepare_model_devices: using device Vulkan0 (Intel(R) Iris(R) Xe Graphics (TGL GT2)) (0000:00:02.0)"
        " - 15870 MiB free\n"
        "load_tensors: loading model tensors\n"
        "load_tensors:      Vulkan0 model buffer size =  1500.00 MiB\n"
    )
    summary = logs.read(log)
    assert summary.device == "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)"
    assert summary.device_pci == "0000:00:02.0"


def test_a_vulkan_backend_that_finds_nothing_is_no_problem_beside_a_cuda_gpu() -> None:
    log = (
        "ggml_cuda_init: found 1 CUDA devices:\n"
        "  Device 0: NVIDIA GeForce RTX 3070, compute capability 8.6, VMM: yes\n"
        "ggml_vulkan: No devices found.\n"
        "srv    load_model: loading model '/m/x.gguf'\n"
    )
    buffer = "load_tensors: loading model tensors\nload_tensors:        CUDA0 model buffer size =   100.00 MiB\n"
    assert logs.read(log).device is None  # a GPU is there, and nothing proves that it is used
    summary = logs.read(log + buffer)
    assert summary.device == "CUDA0 NVIDIA GeForce RTX 3070"
    assert logs.problem_ids(summary) == []


@pytest.mark.parametrize(
    ("before", "offloaded", "problems"),
    [
        ("", "", []),
        ("", "load_tensors: offloaded 0/31 layers to GPU\n", []),
        ("", "load_tensors: offloaded 31/31 layers to GPU\n", ["no-gpu"]),
        ("warning: no usable GPU found, --gpu-layers option will be ignored\n", "", ["no-gpu"]),
    ],
)
def test_finding_no_gpu_is_a_problem_only_where_one_was_asked_for(
    before: str, offloaded: str, problems: list[str]
) -> None:
    log = (
        f"{before}ggml_vulkan: No devices found.\n"
        "srv    load_model: loading model '/m/x.gguf'\n"
        f"load_tensors: loading model tensors\n{offloaded}"
        "load_tensors:   CPU_Mapped model buffer size =    92.10 MiB\n"
        "srv  llama_server: model loaded\n"
    )
    summary = logs.read(log)
    assert (summary.device, summary.found_no_gpu) == ("cpu", True)
    assert logs.problem_ids(summary) == problems


def test_a_loaded_backend_and_offloaded_layers_prove_nothing() -> None:
    log = (
        "load_backend: loaded Vulkan backend from /usr/lib/ggml/libggml-vulkan.so\n"
        "srv    load_model: loading model '/m/x.gguf'\n"
        "load_tensors: offloaded 31/31 layers to GPU\n"
    )
    assert logs.read(log).device is None


def test_logs_of_2024_and_2025_are_read() -> None:
    old = (
        "build: 6374 (unknown) with FreeBSD clang version 18.1.6 for x86_64-unknown-freebsd14.2\n"
        "system_info: n_threads = 4 (n_threads_batch = 4) / 8 | CPU : LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 |\n"
        "main: binding port with default address family\n"
        "main: HTTP server is listening, hostname: 192.168.5.3, port: 1444, http threads: 7\n"
        "main: loading model\n"
        "srv    load_model: loading model '/m/llama-2-7b-chat.Q4_K_M.gguf'\n"
    )
    assert not logs.read(old).ready  # its HTTP server listens before the model is loaded
    rest = (
        "llama_model_load_from_file_impl: using device Vulkan0 (NVIDIA GeForce RTX 2060) - 5380 MiB free\n"
        "load_tensors: loading model tensors, this can take a while... (mmap = true)\n"
        "load_tensors: offloaded 33/33 layers to GPU\n"
        "load_tensors:      Vulkan0 model buffer size =  3820.93 MiB\n"
        "load_tensors:   CPU_Mapped model buffer size =    70.31 MiB\n"
        "llama_init_from_model: n_batch       = 2048\n"
        "llama_init_from_model: KV self size  =  512.00 MiB, K (f16):  256.00 MiB, V (f16):  256.00 MiB\n"
        "srv          init: initializing slots, n_slots = 2\n"
        "slot         init: id  0 | task -1 | new slot n_ctx_slot = 2048\n"
        "slot         init: id  1 | task -1 | new slot n_ctx_slot = 2048\n"
        "main: model loaded\n"
        "main: server is listening on http://192.168.5.3:1444 - starting the main loop\n"
        "slot launch_slot_: id  1 | task 0 | processing task\n"
        "slot      release: id  1 | task 0 | stop processing: n_past = 20, truncated = 0\n"
    )
    summary = logs.read(old + rest)
    assert (summary.ready, summary.slots, summary.ctx_per_slot, summary.slots_used) == (True, 2, 2048, 1)
    assert (summary.device, summary.layers_offloaded) == ("Vulkan0 NVIDIA GeForce RTX 2060", "33/33")
    assert (summary.build, summary.batch, summary.kv_mib) == ("b6374", 2048, 512.0)

    oldest = (
        'INFO [                    main] build info | tid="1" timestamp=1723538705 build=3579 commit="fc4ca27b"\n'
        'INFO [                    init] initializing slots | tid="1" timestamp=1723514861 n_slots=4\n'
        'INFO [                    init] new slot | tid="1" timestamp=1723514861 id_slot=0 n_ctx_slot=2048\n'
        'INFO [                    main] model loaded | tid="1" timestamp=1723514861\n'
    )
    summary = logs.read(oldest)
    assert (summary.ready, summary.slots, summary.ctx_per_slot, summary.build) == (True, 4, 2048, "b3579")


def test_a_router_with_ever_new_children_stays_small() -> None:
    log = ServerLog()
    for number in range(10 * MOST_CHILDREN):
        for line in (
            f"srv          load: spawning server instance with name=model-{number} on port {10000 + number}",
            f"[{10000 + number}] 0.00.001.000 I srv    load_model: loading model '/m/{number}.gguf'",
            f"[{10000 + number}] 0.00.002.000 E gguf_init_from_reader: invalid magic characters: 'hell', expected",
        ):
            signal = read_line(line)
            assert signal is not None
            log.add(signal)
    assert len(log._children) <= MOST_CHILDREN
    assert logs.problem_ids(log.summary()) == ["not-gguf"]


def interleaved(**named: str) -> str:
    """The logs of several containers, line by line in turn, each behind its name."""
    columns = [[f"{name:10} | {line}\n" for line in log.splitlines()] for name, log in named.items()]
    return "".join(line for row in zip_longest(*columns, fillvalue="") for line in row)


def test_containers_whose_logs_come_together_are_told_apart() -> None:
    served, failed = logs.data("b11669-busy").decode(), logs.data("c-badpath").decode()
    summary = logs.read(interleaved(chat=served, embed=failed))  # embed loads last: it starts one line later
    assert not summary.ready
    assert logs.problem_ids(summary) == ["no-auth", "no-auth", "model-missing"]  # in the words of two builds
    summary = logs.read(interleaved(embed=failed) + interleaved(chat=served))
    assert (summary.ready, summary.slots, summary.slots_used) == (True, 3, 3)
    assert "model-missing" in logs.problem_ids(summary)


def test_slots_of_one_container_are_not_those_of_another() -> None:
    first = logs.data("req-lv3").decode()
    begun, _, _ = logs.data("b11669-busy").decode().partition("slot get_availabl")
    second = (
        begun.rpartition("\n")[0]
        + "\n"
        + "0.90.000.000 I slot launch_slot_: id  0 | task 0 | processing task, is_child = 0\n"
    )
    assert logs.read(interleaved(**{"llama-1": first}) + interleaved(**{"llama-2": second})).slots_used == 1


def test_an_ollama_beside_a_llama_server() -> None:
    log = interleaved(ollama=logs.data("o-canary").decode()) + interleaved(chat=GOOD)
    assert logs.read(log).server is None
    log = interleaved(chat=GOOD) + interleaved(ollama=logs.data("o-canary").decode())
    assert [load.slots for load in logs.read(log).loads] == [3, 1]


def test_ever_new_containers_stay_bounded() -> None:
    summariser = Summariser()
    for number in range(10 * MOST_ORIGINS):
        signal = read_line(f"c{number} | srv    load_model: loading model '/m/x.gguf'")
        assert signal is not None
        assert signal.origin == f"c{number}"
        summariser.add(signal)
    assert len(summariser._logs) == MOST_ORIGINS


def test_a_model_that_loads_again_replaces_what_was_wrong_with_it() -> None:
    spawn = "0.01.0{n}0.000 I srv          load: spawning server instance with name=smol on port {port}\n"
    begin = "[{port}] 0.00.001.000 I srv    load_model: loading model '/m/smol.gguf'\n"
    error = "[{port}] 0.00.002.000 E llama_model_load: error loading model: unknown model architecture: 'x'\n"
    ready = "[{port}] 0.00.003.000 I srv  llama_server: model loaded\n"
    first = (spawn + begin + error).format(n=1, port=40001)
    assert logs.problem_ids(logs.read(first)) == ["arch-unknown"]
    assert logs.problem_ids(logs.read(first + (spawn + begin + ready).format(n=2, port=40002))) == []


def test_problems_are_counted_and_kept_apart_by_what_they_concern() -> None:
    line = "srv    send_error: task id = {}, error: Context size has been exceeded.\n"
    flags = (
        "DEPRECATED: --mlock is deprecated. use --load-mode mlock instead\n"
        + "DEPRECATED: --defrag-thold is deprecated\n"
    )
    summary = logs.read(flags + "".join(line.format(number) for number in range(2000)))
    kept = [(problem.id, problem.facts.get("subject"), problem.facts["count"]) for problem in summary.problems]
    assert kept == [
        ("flag-deprecated", "--mlock", 1),
        ("flag-deprecated", "--defrag-thold", 1),
        ("kv-exhausted", None, 2000),
    ]


def test_a_flood_of_different_problems_is_bounded() -> None:
    flood = "".join(f"DEPRECATED: --flag-{number} is deprecated\n" for number in range(5000))
    summary = logs.read(flood)
    assert len(summary.problems) < 20
    assert sum(int(str(problem.facts["count"])) for problem in summary.problems) == 5000
