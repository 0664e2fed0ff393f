"""What the reckoning says beside what a real llama-server says, for models of the sizes that people run.

    python benchmarks/sizing.py IMAGE [NAME…]

IMAGE is an image of llama-server with a CPU backend; NAME picks models. The models are zeros in sparse files, so they
cost no disk, and the servers do not compute with them. Prints the table of docs/sizing.md. A context that the
machine's memory does not hold is made smaller: caches are allocated, though never written.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import docker

sys.path.insert(0, str(Path(__file__).parent.parent))

from homellm.adapters.gguf_files import GgufFiles
from homellm.sizing import Demand, needs
from tests.engine.support.measure import measure
from tests.engine.support.sizing_models import REAL, Case, write

MIB = 1024 * 1024


def main() -> None:
    image, *names = sys.argv[1:]
    api = docker.from_env(timeout=600).api
    print("| model | slots × context | weights | KV cache | state | compute | total | difference |")
    print("|---|---|---|---|---|---|---|---|")
    for case in REAL:
        if names and case.name not in names:
            continue
        print(row(api, image, case), flush=True)


def row(api: docker.APIClient, image: str, case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write(path, case.shape)
        header = GgufFiles().look(path).header
        assert header is not None
        # without repacking, so that no weight is read
        arguments = ["-c", str(case.ctx * case.parallel), "-np", str(case.parallel), "-nr", *case.arguments]
        seen = measure(api, image, "homellm-test-sizing", path, arguments)
    need = needs(header, Demand(ctx=case.ctx, parallel=case.parallel))
    total = seen.model + seen.kv + seen.recurrent + seen.compute + seen.output
    pairs = (
        (need.weights_bytes, seen.model),
        (need.host.kv, seen.kv),
        (need.host.recurrent, seen.recurrent),
        (need.compute_bytes, seen.compute),
        (need.total, total),
    )
    cells = [f"{asked / MIB:.2f} / {found:.2f}" if found else "–" for asked, found in pairs]
    difference = f"{100 * (need.total / MIB / total - 1):+.2f} %"
    return "| " + " | ".join((case.name, f"{case.parallel} × {case.ctx}", *cells, difference)) + " |"


if __name__ == "__main__":
    main()
