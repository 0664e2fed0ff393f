"""The reckoning held against what the real llama-server says of its own memory, architecture by architecture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import docker
import pytest

from homellm.adapters.gguf_files import GgufFiles
from homellm.domain.gguf import GgufHeader
from homellm.sizing import Demand, needs
from tests.engine.support.measure import measure
from tests.engine.support.sizing_models import CASES, Case, write

MIB = 1024 * 1024


def header_of(path: Path) -> GgufHeader:
    file = GgufFiles().look(path)
    assert file.state == "ok", file.reason
    assert file.header is not None
    return file.header


def demand_of(case: Case) -> Demand:
    """The same flags as the server's, read independently of any runner."""
    given = dict(zip(case.arguments[::2], case.arguments[1::2], strict=False))
    demand = Demand(
        ctx=case.ctx,
        parallel=case.parallel,
        batch=int(given.get("-b", 2048)),
        ubatch=int(given.get("-ub", 512)),
        key_type=given.get("-ctk", "f16"),
        value_type=given.get("-ctv", "f16"),
        flash_attention=given.get("-fa") != "off",
    )
    unified, full = "--kv-unified" in case.arguments, "--swa-full" in case.arguments
    return replace(demand, kv_unified=unified, swa_full=full)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_model_takes_what_was_reckoned(
    case: Case, docker_api: docker.APIClient, llama_image: str, prefix: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    write(path, case.shape)
    arguments = ["-c", str(case.ctx * case.parallel), "-np", str(case.parallel), *case.arguments]
    seen = measure(docker_api, llama_image, f"{prefix}-sizing", path, arguments)
    need = needs(header_of(path), demand_of(case))
    assert seen.slots == case.parallel
    assert need.weights_bytes / MIB == pytest.approx(seen.model, abs=0.01)
    assert need.host.kv / MIB == pytest.approx(seen.kv, abs=0.01)
    assert need.host.recurrent / MIB == pytest.approx(seen.recurrent, abs=0.01)
    assert need.host.output / MIB == pytest.approx(seen.output, abs=0.01)
    assert need.compute_bytes / MIB == pytest.approx(seen.compute, rel=0.1)
    assert need.total / MIB == pytest.approx(seen.breakdown, rel=0.05)


def test_a_real_model_takes_what_was_reckoned(
    docker_api: docker.APIClient, llama_image: str, prefix: str, smollm2: Path
) -> None:
    seen = measure(docker_api, llama_image, f"{prefix}-sizing", smollm2, ["-c", "6144", "-np", "3"])
    need = needs(header_of(smollm2), Demand(ctx=2048, parallel=3))
    assert need.host.kv / MIB == pytest.approx(seen.kv, abs=0.01)
    # processors with AMX keep a second copy of some weights in a form of their own, beside the mapped file
    assert need.weights_bytes / MIB == pytest.approx(92.10, abs=0.01)
    assert need.compute_bytes / MIB == pytest.approx(seen.compute, rel=0.1)


def test_a_hybrid_made_by_the_gguf_package_takes_what_was_reckoned(
    docker_api: docker.APIClient, llama_image: str, prefix: str, tiny_lfm2: Path
) -> None:
    seen = measure(docker_api, llama_image, f"{prefix}-sizing", tiny_lfm2, ["-c", "98304", "-np", "3"])
    need = needs(header_of(tiny_lfm2), Demand(ctx=32768, parallel=3))
    assert need.weights_bytes / MIB == pytest.approx(seen.model, abs=0.01)
    assert need.host.kv / MIB == pytest.approx(seen.kv, abs=0.01)
    assert need.host.recurrent / MIB == pytest.approx(seen.recurrent, abs=0.01)
    assert need.total / MIB == pytest.approx(seen.breakdown, rel=0.05)
