"""Each check against each witness: what passes, what fails, and what nobody could tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.evidence import Chat, Evidence, LogSummary, Props
from homellm.domain.secret import Secret
from homellm.domain.signals import Signal
from homellm.domain.stack import KvCacheType, Model, Source
from homellm.domain.verdicts import State, Verdict, judge
from homellm.domain.world import Container, HostGpu, Process
from homellm.health.checks import judge_all
from homellm.health.checks.host import cpu_list, cpu_set

from . import logs

MIB = 1024 * 1024
PATH = "/models/smol.gguf"
MODEL = Model(name="smol", source=Source("gguf", PATH, Path(PATH)), image="i", parallel=3, ctx=2048)
CONTAINER = Container(
    id="c",
    name="nuc-smol",
    image_id="sha256:1",
    image="i",
    status="running",
    pid=4711,
    ports=(("127.0.0.1", 18080, 8080),),
)
PROPS = Props(total_slots=3, n_ctx=2048, model_alias="smol", model_path=PATH)
PROCESS = Process(pid=4711, cpus="0-3", locked_bytes=0, resident_bytes=200 * MIB, groups=(0, 993))
IRIS = HostGpu(
    pci="0000:00:02.0",
    id="8086:9a49",
    vendor="intel",
    name="Iris Xe Graphics",
    render_node="renderD128",
    render_gid=993,
)
SEEN = Evidence(
    container=CONTAINER,
    url="http://127.0.0.1:18080",
    reachable=True,
    healthy=True,
    props=PROPS,
    chat=Chat(200, "smol", 1),
    process=PROCESS,
    weights_bytes=96_576_768,
)


def says(*ids: str, **facts: object) -> LogSummary:
    """A log with problems of these ids."""
    problems = tuple(Signal(name, name, problem=True, hint="h") for name in ids)
    return LogSummary(problems=problems, known=True, **facts)  # type: ignore[arg-type]


def check(name: str, model: Model = MODEL, evidence: Evidence = SEEN, path: str = PATH) -> Verdict:
    """The one verdict of that name."""
    (verdict,) = [v for v in judge_all(model, evidence, expected_path=path) if v.id == name]
    assert verdict.hint or verdict.verdict == "pass"
    return verdict


def checks(model: Model, evidence: Evidence = SEEN) -> dict[str, Verdict]:
    return {verdict.id: verdict for verdict in judge_all(model, evidence, expected_path=PATH)}


def test_gates_stand_first_and_what_is_not_declared_has_no_row() -> None:
    assert list(checks(MODEL)) == ["ready", "slots", "ctx", "api", "restarts", "memory"]
    assert [v.id for v in checks(MODEL).values() if v.gate] == ["ready", "slots", "ctx", "api"]


def test_everything_declared_has_its_row_in_the_order_of_the_table() -> None:
    model = replace(
        MODEL,
        gpu="iris",
        gpu_layers="all",
        mlock=True,
        cpuset="0-3",
        port=18080,
        cache_reuse=256,
        reasoning_preserve=True,
        jinja=True,
        flash_attention="on",
        kv_cache_type=KvCacheType("f16", "f16"),
        batch=2048,
        memory_bytes=4096 * MIB,
    )
    assert " ".join(checks(model, replace(SEEN, gpu=IRIS))) == (
        "ready slots ctx device api mlock cpus exposure restarts offload cache-reuse reasoning template "
        "flash-attention kv-cache batch groups limits memory"
    )


def test_without_any_witness_nothing_passes() -> None:
    model = replace(MODEL, gpu="iris", mlock=True, cpuset="0-3", port=1, cache_reuse=1, flash_attention="on", batch=1)
    verdicts = judge_all(model, Evidence(gpu=IRIS, weights_bytes=1))
    assert {verdict.verdict for verdict in verdicts} == {"unknown"}
    assert judge(verdicts) is State.FAILED


class TestReady:
    def test_health_is_the_first_witness(self) -> None:
        verdict = check("ready")
        assert (verdict.verdict, verdict.observed, verdict.source, verdict.gate) == ("pass", True, "/health", True)

    def test_health_that_says_no_beats_a_log_that_says_yes(self) -> None:
        seen = replace(SEEN, healthy=False, log=LogSummary(ready=True))
        assert check("ready", evidence=seen).verdict == "fail"

    def test_without_health_the_log_tells(self) -> None:
        verdict = check("ready", evidence=replace(SEEN, healthy=None, log=LogSummary(ready=True)))
        assert (verdict.verdict, verdict.source) == ("pass", "log")

    def test_a_log_that_does_not_say_ready_is_no_proof_that_it_is_not(self) -> None:
        assert check("ready", evidence=replace(SEEN, healthy=None)).verdict == "unknown"

    def test_a_container_that_does_not_run_is_not_ready_whatever_its_log_says(self) -> None:
        gone = replace(CONTAINER, status="restarting")
        seen = replace(SEEN, container=gone, healthy=None, log=LogSummary(ready=True))
        assert (check("ready", evidence=seen).verdict, check("ready", evidence=seen).source) == ("fail", "inspect")

    def test_a_server_that_sleeps_is_ready(self) -> None:
        seen = replace(SEEN, props=replace(PROPS, sleeping=True))
        assert (check("ready", evidence=seen).verdict, check("ready", evidence=seen).text) == (
            "pass",
            "asleep, wakes on request",
        )


class TestSlots:
    def test_props_come_before_the_log(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, log=LogSummary(slots=1)))
        assert (verdict.asked, verdict.observed, verdict.verdict, verdict.source) == (3, 3, "pass", "/props")

    def test_without_props_the_log_tells(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=None, log=LogSummary(slots=3)))
        assert (verdict.verdict, verdict.source) == ("pass", "log")

    @pytest.mark.parametrize("observed", [1, 2, 4])
    def test_fewer_and_more_fail_alike(self, observed: int) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=replace(PROPS, total_slots=observed)))
        assert (verdict.verdict, verdict.observed, verdict.gate) == ("fail", observed, True)

    def test_unseen_is_unknown(self) -> None:
        verdict = check("slots", evidence=replace(SEEN, props=None))
        assert (verdict.verdict, verdict.observed) == ("unknown", None)


class TestCtx:
    @pytest.mark.parametrize(
        ("asked", "observed", "verdict"), [(1000, 1024, "pass"), (2048, 2048, "pass"), (57675, 2048, "fail")]
    )
    def test_padding_rounds_up_and_less_fails(self, asked: int, observed: int, verdict: str) -> None:
        found = check("ctx", replace(MODEL, ctx=asked), replace(SEEN, props=replace(PROPS, n_ctx=observed)))
        assert (found.asked, found.observed, found.verdict) == (asked, observed, verdict)

    def test_a_pool_is_shared_by_all_slots(self) -> None:
        """g-kvu: -c 6144 --parallel 3 --kv-unified tells n_ctx_slot = 6144."""
        log = logs.read(logs.data("g-kvu"))
        seen = replace(SEEN, props=replace(PROPS, n_ctx=6144), log=log)
        assert (check("ctx", evidence=seen).observed, check("ctx", evidence=seen).verdict) == (2048, "pass")
        assert check("ctx", replace(MODEL, ctx=4096), seen).verdict == "fail"

    def test_a_server_without_a_number_of_slots_gives_each_a_quarter(self) -> None:
        log = logs.read(logs.data("b-auto-lv4"))  # 4 slots, one pool of 8192
        seen = replace(SEEN, props=replace(PROPS, total_slots=4, n_ctx=8192), log=log)
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), seen).observed == 2048

    def test_a_pool_beyond_the_trained_length_is_as_large_as_its_cells(self) -> None:
        log = LogSummary(kv_unified=True, slots=4, ctx_per_slot=8192, pool_tokens=32768)
        seen = replace(SEEN, props=replace(PROPS, total_slots=4, n_ctx=8192), log=log)
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), seen).verdict == "pass"
        capped = replace(seen, log=says("ctx-capped", kv_unified=True, slots=4))
        assert check("ctx", replace(MODEL, ctx=8192, parallel=4), capped).verdict == "pass"

    def test_where_the_log_is_lost_the_declaration_says_that_it_is_a_pool(self) -> None:
        seen = replace(SEEN, props=replace(PROPS, n_ctx=6144))
        assert check("ctx", replace(MODEL, kv_unified=True), seen).observed == 2048

    def test_unseen_is_unknown(self) -> None:
        assert check("ctx", evidence=replace(SEEN, props=None)).verdict == "unknown"


class TestDevice:
    ON_IRIS = LogSummary(device="Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", device_pci="0000:00:02.0")
    MODEL = replace(MODEL, gpu="iris")

    def device(self, log: LogSummary, gpu: HostGpu | None = IRIS) -> Verdict:
        return check("device", self.MODEL, replace(SEEN, log=log, gpu=gpu))

    def test_the_declared_gpu_by_its_address(self) -> None:
        verdict = self.device(self.ON_IRIS)
        assert (verdict.asked, verdict.verdict, verdict.source, verdict.gate) == ("iris", "pass", "log", True)
        assert verdict.observed == "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)"

    def test_another_address_fails_whatever_its_name(self) -> None:
        assert self.device(replace(self.ON_IRIS, device_pci="0000:03:00.0")).verdict == "fail"

    def test_an_address_with_a_longer_domain_is_the_same(self) -> None:
        assert self.device(replace(self.ON_IRIS, device_pci="00000000:00:02.0")).verdict == "pass"

    @pytest.mark.parametrize(
        ("gpu", "device", "verdict"),
        [
            (IRIS, "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", "pass"),
            (replace(IRIS, name=""), "Vulkan0 Intel(R) Iris(R) Xe Graphics (TGL GT2)", "pass"),
            (IRIS, "Vulkan0 NVIDIA GeForce RTX 3070", "fail"),
            (replace(IRIS, vendor="nvidia", name="NVIDIA GeForce RTX 3070"), "CUDA0 NVIDIA GeForce RTX 3070", "pass"),
            (
                replace(IRIS, vendor="nvidia", name="NVIDIA GeForce RTX 3070"),
                "CUDA0 NVIDIA GeForce RTX 4090",
                "unknown",
            ),
            (replace(IRIS, vendor="amd", name="Radeon 680M"), "Vulkan0 AMD Radeon 680M (RADV REMBRANDT)", "pass"),
            (IRIS, "Vulkan0", "unknown"),
            (None, "Vulkan0 Intel(R) Iris(R) Xe Graphics", "unknown"),
        ],
    )
    def test_without_an_address_names_are_compared_and_never_vulkan0(
        self, gpu: HostGpu | None, device: str, verdict: str
    ) -> None:
        assert self.device(LogSummary(device=device), gpu).verdict == verdict

    def test_llvmpipe_fails_although_all_layers_are_on_it(self) -> None:
        verdict = self.device(logs.read(logs.data("v11669-lavapipe")))
        assert verdict.verdict == "fail"
        assert "llvmpipe" in str(verdict.observed)

    @pytest.mark.parametrize("name", ["a-noicd-lv4", "v11434-a", "v11669-a-lv4"])
    def test_the_cpu_fails_although_the_log_may_claim_31_of_31_layers(self, name: str) -> None:
        verdict = self.device(logs.read(logs.data(name)))
        assert (verdict.verdict, verdict.observed) == ("fail", "cpu")

    def test_a_gpu_that_holds_no_weights_is_not_where_the_model_lies(self) -> None:
        log = replace(self.ON_IRIS, weights_mib={"CPU_Mapped": 92.1}, layers_offloaded="0/31")
        assert self.device(log).verdict == "fail"
        unloaded = replace(self.MODEL, gpu_layers=0)
        assert check("device", unloaded, replace(SEEN, log=log, gpu=IRIS)).verdict == "pass"

    def test_a_log_that_cannot_tell_is_unknown(self) -> None:
        assert self.device(logs.read(logs.data("b11669-lavapipe-lv3"))).verdict == "unknown"
        claims = "load_backend: loaded Vulkan backend from x\nload_tensors: offloaded 31/31 layers to GPU\n"
        assert self.device(logs.read(claims)).verdict == "unknown"

    def test_a_server_that_found_no_gpu_fails(self) -> None:
        assert self.device(logs.read(logs.data("b11669-nodevice"))).verdict == "fail"


class TestApi:
    def test_the_alias_the_file_and_a_token(self) -> None:
        verdict = check("api")
        assert (verdict.asked, verdict.observed, verdict.verdict, verdict.source, verdict.gate) == (
            "smol",
            "smol",
            "pass",
            "API",
            True,
        )

    def test_one_alias_of_several(self) -> None:
        assert check("api", evidence=replace(SEEN, props=replace(PROPS, model_alias="other,smol"))).verdict == "pass"

    def test_another_server_behind_the_port(self) -> None:
        verdict = check("api", evidence=replace(SEEN, props=replace(PROPS, model_alias="smol2")))
        assert (verdict.verdict, verdict.observed) == ("fail", "smol2")

    def test_another_file_under_the_same_name(self) -> None:
        verdict = check("api", evidence=replace(SEEN, props=replace(PROPS, model_path="/other.gguf")))
        assert verdict.verdict == "fail"
        assert "/other.gguf" in verdict.text
        assert (
            check("api", evidence=replace(SEEN, props=replace(PROPS, model_path="/other.gguf")), path="").verdict
            == "pass"
        )

    @pytest.mark.parametrize(
        "chat", [Chat(200, "smol", 0), Chat(200, "smol", None), Chat(500, error="Context size"), Chat(0)]
    )
    def test_no_token_fails(self, chat: Chat) -> None:
        assert check("api", evidence=replace(SEEN, chat=chat)).verdict == "fail"

    @pytest.mark.parametrize("lost", [{"reachable": False}, {"props": None}, {"chat": None}])
    def test_what_could_not_be_asked_is_unknown(self, lost: dict[str, object]) -> None:
        assert check("api", evidence=replace(SEEN, **lost)).verdict == "unknown"  # type: ignore[arg-type]


class TestMlock:
    MODEL = replace(MODEL, mlock=True)

    def mlock(self, locked: int, log: LogSummary | None = None, **more: object) -> Verdict:
        process = replace(PROCESS, locked_bytes=locked)
        return check("mlock", self.MODEL, replace(SEEN, process=process, log=log or LogSummary(), **more))  # type: ignore[arg-type]

    def test_all_of_the_weights(self) -> None:
        verdict = self.mlock(96_576_768)
        assert (verdict.verdict, verdict.source, verdict.gate) == ("pass", "process 4711", True)
        assert verdict.text == "92.1 MiB of 92.1 MiB locked"

    def test_95_percent_is_enough_and_less_is_failed_advice(self) -> None:
        assert self.mlock(round(96_576_768 * 0.951)).verdict == "pass"
        verdict = self.mlock(round(96_576_768 * 0.949))
        assert (verdict.verdict, verdict.gate) == ("fail", False)

    def test_a_repacked_buffer_stays_unlocked(self) -> None:
        """b10434 with the capability: 29 MiB locked, 95 MiB of weights in the AMX buffer were not."""
        verdict = self.mlock(29 * MIB, LogSummary(weights_mib={"AMX": 95.34, "CPU": 28.82}))
        assert (verdict.verdict, verdict.gate, verdict.text) == ("fail", False, "29.0 MiB of 124.2 MiB locked")

    def test_nothing_locked_fails_the_gate(self) -> None:
        verdict = self.mlock(0)
        assert (verdict.verdict, verdict.gate) == ("fail", True)
        assert "IPC_LOCK" in verdict.hint

    def test_the_warning_fails_the_gate_also_where_a_part_is_locked(self) -> None:
        verdict = self.mlock(20 * MIB, says("mlock-failed"))
        assert (verdict.verdict, verdict.gate) == ("fail", True)

    def test_without_the_process_only_the_warning_tells(self) -> None:
        seen = replace(SEEN, process=None)
        assert check("mlock", self.MODEL, seen).verdict == "unknown"
        assert check("mlock", self.MODEL, replace(seen, log=says("mlock-failed"))).verdict == "fail"

    def test_what_lies_on_a_gpu_need_not_be_locked(self) -> None:
        log = logs.read(logs.data("v11669-lavapipe"))  # 28.69 MiB in CPU_Mapped, 92.10 on Vulkan0
        verdict = check(
            "mlock",
            replace(self.MODEL, gpu="iris"),
            replace(SEEN, process=replace(PROCESS, locked_bytes=29 * MIB), log=log),
        )
        assert verdict.verdict == "pass"

    def test_with_a_gpu_and_a_lost_log_nobody_knows_how_much_there_is_to_lock(self) -> None:
        seen = replace(SEEN, process=replace(PROCESS, locked_bytes=29 * MIB))
        assert check("mlock", replace(self.MODEL, gpu="iris"), seen).verdict == "unknown"


class TestHost:
    @pytest.mark.parametrize(
        ("declared", "effective", "verdict"),
        [("0-3", "0-3", "pass"), ("0,1,2,3", "0-3", "pass"), ("0-2", "0-3", "fail")],
    )
    def test_cpus_are_those_of_the_process(self, declared: str, effective: str, verdict: str) -> None:
        seen = replace(SEEN, process=replace(PROCESS, cpus=effective))
        found = check("cpus", replace(MODEL, cpuset=declared), seen)
        assert (found.verdict, found.observed, found.source) == (verdict, effective, "process 4711")

    def test_cpus_without_a_process_are_unknown(self) -> None:
        assert check("cpus", replace(MODEL, cpuset="0"), replace(SEEN, process=None)).verdict == "unknown"

    @pytest.mark.parametrize(("text", "cpus"), [("0-3,8", {0, 1, 2, 3, 8}), ("2", {2}), ("", set()), ("0,1,1", {0, 1})])
    def test_a_list_of_cpus_is_a_set(self, text: str, cpus: set[int]) -> None:
        assert cpu_set(text) == cpus
        assert cpu_set(cpu_list(frozenset(cpus))) == cpus

    def test_the_shortest_list_of_cpus(self) -> None:
        assert cpu_list(frozenset({8, 0, 2, 1, 4, 5})) == "0-2,4-5,8"

    @pytest.mark.parametrize(
        ("address", "key", "verdict"),
        [
            ("127.0.0.1", False, "pass"),
            ("::1", False, "pass"),
            ("192.168.1.5", False, "pass"),
            ("0.0.0.0", False, "fail"),
            ("", False, "fail"),
            ("::", False, "fail"),
            ("203.0.114.7", False, "fail"),
            ("0.0.0.0", True, "pass"),
        ],
    )
    def test_a_public_port_wants_a_key(self, address: str, key: bool, verdict: str) -> None:
        model = replace(MODEL, port=18080, bind=address, api_key=Secret("s3cret") if key else None)
        seen = replace(SEEN, container=replace(CONTAINER, ports=((address, 18080, 8080),)))
        found = check("exposure", model, seen)
        assert (found.verdict, found.gate) == (verdict, False)
        assert "s3cret" not in f"{found.text}{found.hint}{found.observed}"

    def test_what_is_published_counts_and_not_what_is_declared(self) -> None:
        seen = replace(SEEN, container=replace(CONTAINER, ports=(("0.0.0.0", 18080, 8080),)))
        assert check("exposure", replace(MODEL, port=18080, bind="127.0.0.1"), seen).verdict == "fail"

    @pytest.mark.parametrize(
        ("count", "status", "verdict"), [(0, "running", "pass"), (2, "running", "fail"), (0, "restarting", "fail")]
    )
    def test_restarts(self, count: int, status: str, verdict: str) -> None:
        seen = replace(SEEN, container=replace(CONTAINER, restart_count=count, status=status))
        assert check("restarts", evidence=seen).verdict == verdict

    def test_the_process_is_in_the_group_of_the_render_node(self) -> None:
        model, seen = replace(MODEL, gpu="iris"), replace(SEEN, gpu=IRIS)
        assert (check("groups", model, seen).asked, check("groups", model, seen).verdict) == (993, "pass")
        without = replace(seen, process=replace(PROCESS, groups=(0, 44)))
        assert (check("groups", model, without).observed, check("groups", model, without).verdict) == ("0, 44", "fail")


class TestServing:
    def test_offload(self) -> None:
        seen = replace(SEEN, log=LogSummary(layers_offloaded="29/31"))
        for asked, verdict in (("all", "fail"), ("auto", "pass"), (20, "pass"), (99, "fail"), (29, "pass")):
            assert check("offload", replace(MODEL, gpu_layers=asked), seen).verdict == verdict  # type: ignore[arg-type]
        assert check("offload", replace(MODEL, gpu_layers="all")).verdict == "unknown"
        nothing = replace(SEEN, log=LogSummary(layers_offloaded="0/31"))
        assert check("offload", replace(MODEL, gpu_layers="auto"), nothing).verdict == "fail"
        assert check("offload", replace(MODEL, gpu_layers=0), nothing).verdict == "pass"

    def test_cache_reuse_passes_only_by_a_chunk_that_was_reused(self) -> None:
        model = replace(MODEL, cache_reuse=256)
        assert check("cache-reuse", model).verdict == "unknown"
        hybrid = replace(SEEN, log=logs.read(logs.data("p-hybrid-lv4")))
        assert check("cache-reuse", model, hybrid).verdict == "pass"
        gemma = check("cache-reuse", model, replace(SEEN, log=logs.read(logs.data("o-gemma-swa-cr"))))
        assert (gemma.verdict, gemma.text) == ("fail", "off: not supported by this context")
        lost = replace(SEEN, log=logs.read(logs.data("b11669-hybrid")))
        assert check("cache-reuse", model, lost).verdict == "fail"
        assert "cache-reuse" not in checks(replace(MODEL, cache_reuse=0))

    def test_reasoning_by_the_template_then_by_the_log(self) -> None:
        model = replace(MODEL, reasoning_preserve=True)
        can = replace(SEEN, props=replace(PROPS, template_caps={"supports_preserve_reasoning": True}))
        cannot = replace(SEEN, props=replace(PROPS, template_caps={"supports_preserve_reasoning": False}))
        assert (check("reasoning", model, can).verdict, check("reasoning", model, can).source) == ("pass", "/props")
        assert check("reasoning", model, cannot).verdict == "fail"
        log = replace(SEEN, log=logs.read(logs.data("q-preserve-unsupported")))
        assert (check("reasoning", model, log).verdict, check("reasoning", model, log).source) == ("fail", "log")
        assert check("reasoning", model).verdict == "unknown"

    def test_template_by_a_chat_and_a_tool_call(self) -> None:
        model = replace(MODEL, jinja=True)
        assert check("template", model).verdict == "pass"
        assert check("template", model, replace(SEEN, chat=Chat(500, error="template"))).verdict == "fail"
        assert check("template", model, replace(SEEN, chat=None)).verdict == "unknown"
        assert check("template", model, replace(SEEN, tool_call=Chat(500, error="no tools"))).verdict == "fail"
        assert check("template", model, replace(SEEN, tool_call=Chat(200))).verdict == "pass"
        assert "template" not in checks(replace(model, embedding=True))

    def test_flash_attention(self) -> None:
        on, off = (
            replace(SEEN, log=LogSummary(flash_attention="on")),
            replace(SEEN, log=LogSummary(flash_attention="off")),
        )
        assert check("flash-attention", replace(MODEL, flash_attention="on"), on).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="on"), off).verdict == "fail"
        assert check("flash-attention", replace(MODEL, flash_attention="off"), off).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="auto"), off).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="on")).verdict == "unknown"

    def test_kv_cache(self) -> None:
        model = replace(MODEL, kv_cache_type=KvCacheType("q8_0", "q8_0"))
        q8 = replace(SEEN, log=logs.read(logs.data("b11669-kvq8")))
        f16 = replace(SEEN, log=logs.read(logs.data("b11669-faoff")))
        assert (check("kv-cache", model, q8).asked, check("kv-cache", model, q8).verdict) == ("q8_0", "pass")
        assert (check("kv-cache", model, f16).observed, check("kv-cache", model, f16).verdict) == ("f16", "fail")
        mixed = replace(MODEL, kv_cache_type=KvCacheType("q8_0", "f16"))
        assert check("kv-cache", mixed, q8).asked == "k q8_0, v f16"
        assert check("kv-cache", model).verdict == "unknown"

    def test_batch_is_cut_to_the_whole_context_and_that_is_right(self) -> None:
        log = logs.read(logs.data("v11669-lavapipe"))  # -c 1536: n_batch 1536, n_ubatch 512
        seen = replace(SEEN, log=log)
        small = replace(MODEL, ctx=512, batch=2048, ubatch=512)
        assert (check("batch", small, seen).verdict, check("batch", small, seen).observed) == (
            "pass",
            "batch 1536, ubatch 512",
        )
        assert check("batch", replace(small, ubatch=1024), seen).verdict == "fail"
        assert check("batch", replace(MODEL, ctx=2048, batch=2048), seen).verdict == "fail"
        assert check("batch", small).verdict == "unknown"

    def test_embeddings_have_equal_batches(self) -> None:
        log = logs.read(logs.data("b11669-embedding-lv4"))  # n_batch = n_ubatch = 512
        model = replace(MODEL, embedding=True, batch=2048, ubatch=512)
        assert check("batch", model, replace(SEEN, log=log)).verdict == "pass"


class TestMemory:
    def test_limits_in_force(self) -> None:
        model = replace(MODEL, memory_bytes=300 * MIB)
        in_force = replace(SEEN, container=replace(CONTAINER, memory_bytes=300 * MIB))
        assert (check("limits", model, in_force).asked, check("limits", model, in_force).verdict) == (300 * MIB, "pass")
        assert (check("limits", model).observed, check("limits", model).verdict) == (0, "fail")

    def test_several_limits_are_told_by_name(self) -> None:
        model = replace(MODEL, memory_bytes=300 * MIB, cpu_shares=2048)
        seen = replace(SEEN, container=replace(CONTAINER, memory_bytes=300 * MIB, cpu_shares=0))
        verdict = check("limits", model, seen)
        assert (verdict.verdict, verdict.observed) == ("fail", f"memory {300 * MIB}, cpu_shares 0")

    def test_all_weights_are_in_buffers(self) -> None:
        seen = replace(SEEN, log=logs.read(logs.data("v11669-lavapipe")))
        verdict = check("memory", evidence=seen)
        assert (verdict.verdict, verdict.gate) == ("pass", False)
        assert verdict.text == "28.7 MiB in CPU_Mapped, 92.1 MiB in Vulkan0"
        half = replace(SEEN, log=LogSummary(weights_mib={"CPU": 40.0}))
        assert check("memory", evidence=half).verdict == "fail"
        assert check("memory").verdict == "unknown"


def test_failed_advice_degrades_and_a_failed_gate_fails() -> None:
    assert judge(judge_all(MODEL, SEEN, expected_path=PATH)) is State.VERIFIED
    restarted = replace(SEEN, container=replace(CONTAINER, restart_count=3))
    assert judge(judge_all(MODEL, restarted, expected_path=PATH)) is State.DEGRADED
    one_slot = replace(SEEN, props=replace(PROPS, total_slots=1))
    assert judge(judge_all(MODEL, one_slot, expected_path=PATH)) is State.FAILED
