"""From a stack file's models to the answers: whose header, which memory, and what cannot be reckoned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.deploy.fit import Asked, fit, fit_file
from homellm.domain.ollama import StoredModel
from homellm.domain.stack import Gpu, KvCacheType, Model, OllamaServer, Source, Stack, Volume
from homellm.domain.world import Host, HostGpu, ModelFile
from homellm.errors import ExitCode
from homellm.sizing import Demand, Device
from homellm.sizing.answer import FitReport
from tests.fakes.hub import FakeHub
from tests.unit.sizing.headers import MIB, QWEN25_7B, SMOLLM2_135M

GIB = 1024 * MIB
NODE = {"render_node": "renderD128", "render_gid": 993, "render_mode": 0o660}
SILENT = HostGpu("0000:03:00.0", "1002:73bf", "amd", "Radeon RX 6800", "amdgpu", False, **NODE)  # type: ignore[arg-type]
CARD = replace(SILENT, memory_bytes=16 * GIB, used_bytes=2 * GIB)
IRIS = HostGpu("0000:00:02.0", "8086:9a49", "intel", "Iris Xe", "i915", True, **NODE)  # type: ignore[arg-type]
HOST = Host(readable=True, gpus=(CARD,), memory_bytes=32 * GIB, available_bytes=24 * GIB)


class Files:
    """Model files by path; any other is missing."""

    def __init__(self, **headers: object) -> None:
        self.headers = {f"/{name}.gguf": header for name, header in headers.items()}

    def look(self, path: Path) -> ModelFile:
        header = self.headers.get(str(path))
        if header is None:
            return ModelFile(str(path), "missing", reason="it does not exist")
        return ModelFile(str(path), "ok", weights_bytes=header.weights_bytes, header=header)  # type: ignore[attr-defined,arg-type]


FILES = Files(qwen=QWEN25_7B, smol=SMOLLM2_135M)


def model(name: str, **keys: object) -> Model:
    keys.setdefault("source", Source("gguf", f"/{name}.gguf", Path(f"/{name}.gguf")))
    return Model(name, image="image", **keys)  # type: ignore[arg-type]


def reckon(*models: Model, host: Host = HOST, asked: Asked | None = None, **stack: object) -> FitReport:
    made = Stack("nuc", Path("/srv/homellm.yaml"), models, (Gpu("card", "vulkan", auto=True),), **stack)  # type: ignore[arg-type]
    return fit(made, (), FILES, host, lambda _: None, asked or Asked())


def test_a_model_without_a_gpu_is_held_against_the_system_memory() -> None:
    report = reckon(model("qwen", ctx=4096, parallel=3))
    (found,) = report.models
    assert [(place.name, place.free_bytes, place.total_bytes) for place in found.places] == [
        ("system memory", 24 * GIB, 32 * GIB)
    ]
    assert report.exit_code is ExitCode.OK


def test_a_model_on_a_card_is_held_against_what_is_free_of_it() -> None:
    (found,) = reckon(model("qwen", gpu="card")).models
    card, memory = found.places
    assert (card.name, card.free_bytes, card.total_bytes) == ("AMD Radeon RX 6800 (0000:03:00.0)", 14 * GIB, 16 * GIB)
    assert memory.used_bytes == found.needs.host.total


def test_an_integrated_gpu_is_counted_in_the_system_memory() -> None:
    host = Host(readable=True, gpus=(IRIS,), memory_bytes=32 * GIB, available_bytes=24 * GIB)
    report = reckon(model("qwen", gpu="card"), host=host)
    (place,) = report.models[0].places
    assert place.used_bytes == report.models[0].needs.total
    assert "takes its memory from the machine's" in report.notes[0]


def test_a_card_whose_memory_nobody_tells_is_not_judged_unless_it_is_given() -> None:
    silent = Host(readable=True, gpus=(SILENT,), available_bytes=24 * GIB)
    report = reckon(model("qwen", gpu="card"), host=silent)
    assert [place.name for place in report.models[0].places] == ["system memory"]
    assert "give --memory" in report.notes[0]
    given = Asked(device=Device("GPU", 7113 * MIB, 8191 * MIB))
    (found,) = reckon(model("qwen", gpu="card", ctx=4096), host=silent, asked=given).models
    assert found.slots_fit == 7


def test_a_gpu_that_is_not_there_is_said_and_the_rest_is_reckoned() -> None:
    report = reckon(model("qwen", gpu="card"), host=Host(readable=True, available_bytes=24 * GIB))
    assert "is not judged" in report.notes[0]
    assert [place.name for place in report.models[0].places] == ["system memory"]


def test_an_unknown_host_judges_nothing() -> None:
    report = reckon(model("qwen"), host=Host())
    assert report.models[0].places == ()
    assert "give --memory" in report.notes[0]


def test_what_is_asked_takes_the_place_of_what_is_declared() -> None:
    asked = Asked(parallel=5, ctx=1024, slots=range(1, 3), fit_target_bytes=0)
    (found,) = reckon(model("qwen", ctx=4096, parallel=3), asked=asked).models
    assert (found.demand.parallel, found.demand.ctx) == (5, 1024)
    assert [row.parallel for row in found.rows] == [1, 2]
    assert found.places[0].target_bytes == 0


def test_a_missing_file_is_a_problem_and_stops_no_other_model() -> None:
    report = reckon(model("gone"), model("smol"))
    assert [found.name for found in report.models] == ["smol"]
    assert [(problem.id, problem.model) for problem in report.problems] == [("model-unreadable", "gone")]
    assert report.exit_code is ExitCode.REFUSED


def test_a_cache_type_that_the_model_cannot_have_is_a_problem() -> None:
    report = reckon(model("qwen", kv_cache_type=KvCacheType("q8_0", "q9")), model("smol"))
    assert [found.name for found in report.models] == ["smol"]
    assert "q9 is no type of a KV cache" in report.problems[0].message


def test_weights_that_are_not_here_yet_are_a_problem() -> None:
    report = reckon(model("far", source=Source("hf", "org/repo:Q4_K_M")))
    assert report.problems[0].id == "model-absent"
    assert "--file https://" in report.problems[0].hint


def test_weights_of_a_hub_are_reckoned_by_their_header_there() -> None:
    far = model("far", source=Source("hf", "org/qwen-GGUF:Q4_K_M"), ctx=4096, parallel=3)
    hub = FakeHub({"org/qwen-GGUF": {"qwen-Q4_K_M.gguf": 4 * GIB}}, header=QWEN25_7B)
    stack = Stack("nuc", Path("/s"), (far, model("qwen", ctx=4096, parallel=3)))
    report = fit(stack, (), FILES, HOST, lambda _: None, Asked(), hub)
    assert report.problems == ()
    assert report.models[0].weights_bytes == report.models[1].weights_bytes
    assert hub.pulled == []


def test_a_hub_without_that_model_is_told() -> None:
    far = model("far", source=Source("hf", "org/none"))
    report = fit(Stack("nuc", Path("/s"), (far,)), (), FILES, HOST, lambda _: None, Asked(), FakeHub())
    assert [(problem.id, problem.model) for problem in report.problems] == [("repo-absent", "far")]


def test_only_the_named_models_are_reckoned() -> None:
    stack = Stack("nuc", Path("/s"), (model("qwen"), model("smol")))
    report = fit(stack, ("smol",), FILES, HOST, lambda _: None, Asked())
    assert [found.name for found in report.models] == ["smol"]


class Store:
    """An Ollama store with one model."""

    def find(self, name: str) -> StoredModel:
        if name != "smol:135m":
            return StoredModel(name, "absent", reason=f"{name} is not in the store")
        return StoredModel(name, "ok", blob="smol.gguf", projectors=("qwen.gguf",))


@pytest.mark.parametrize(("ref", "found"), [("smol:135m", True), ("other", False)])
def test_a_model_of_an_ollama_store_is_read_from_its_blob(ref: str, found: bool) -> None:
    served = model("m", source=Source("ollama", ref), runner="ollama", server="main")
    server = OllamaServer("main", store=Volume("/", "/"), gpu="card", kv_cache_type="q8_0", gpu_overhead_bytes=GIB)
    stack = Stack("nuc", Path("/s"), (served,), (Gpu("card", "vulkan", auto=True),), (server,))
    report = fit(stack, (), FILES, HOST, lambda _: (Store(), Path("/")), Asked())  # type: ignore[arg-type,return-value]
    if not found:
        assert report.problems[0].message == "other is not in the store"
        return
    (answered,) = report.models
    assert answered.weights_bytes == SMOLLM2_135M.weights_bytes
    assert answered.demand.key_type == "q8_0"
    assert answered.needs.gpu.projector == QWEN25_7B.weights_bytes
    # what Ollama is told to leave free is not offered
    assert answered.places[0].free_bytes == 13 * GIB


def test_a_store_that_cannot_be_read_is_a_problem() -> None:
    served = model("m", source=Source("ollama", "x"), runner="ollama", server="main")
    report = reckon(served, ollama=(OllamaServer("main"),))
    assert report.problems[0].id == "store-unreadable"


def test_room_for_the_prompt_cache_is_mentioned_where_there_is_none() -> None:
    tight = Host(readable=True, available_bytes=8 * GIB)
    assert any("8192 MiB of earlier prompts" in note for note in reckon(model("qwen"), host=tight).notes)
    assert not reckon(model("smol")).notes


def test_a_file_without_a_stack() -> None:
    file = FILES.look(Path("/qwen.gguf"))
    given = Asked(device=Device("GPU", 7113 * MIB, 8191 * MIB))
    (found,) = fit_file(file, Demand(ctx=4096, parallel=3), HOST, given).models
    assert (found.name, found.slots_fit, found.fits) == ("qwen.gguf", 7, True)
    (here,) = fit_file(file, Demand(ctx=4096), HOST, Asked()).models
    assert [place.name for place in here.places] == ["system memory"]


def test_a_file_that_is_no_model() -> None:
    report = fit_file(FILES.look(Path("/none.gguf")), Demand(), HOST, Asked())
    assert report.exit_code is ExitCode.REFUSED
    assert "/none.gguf cannot be reckoned: it does not exist" in report.problems[0].message


def test_a_file_cut_short_is_reckoned_all_the_same_and_told() -> None:
    cut = ModelFile("/q.gguf", "truncated", reason="it has 1 bytes of the 2", header=QWEN25_7B)
    report = fit_file(cut, Demand(), HOST, Asked())
    assert report.models
    assert "cut short" in report.notes[0]
