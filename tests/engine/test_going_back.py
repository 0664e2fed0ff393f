"""Predecessors that `up` keeps: how many, and that the commands of docs/cli.md bring one back by hand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.engine.support.asking import get
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def by_hand(name):
    """The commands of the documentation for a container of that name."""
    (block,) = re.findall(r"takes its place again by hand:\n\n```\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return block.replace("NAME", name)


def test_three_are_kept_and_one_comes_back_by_hand(cli, stack_file, docker_api, prefix, instant_image, tiny_lfm2):
    port, name = free_port(), f"{prefix}-m"

    def up(parallel):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "pull": "never"}
        stack_file({"m": base | {"port": port, "parallel": parallel}})
        result = cli("up", "--format", "json")
        assert result.code == 0, result
        return get(port, "/props")["total_slots"]

    assert [up(slots) for slots in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 5]
    kept = [f"{name}.prev-{n}" for n in (1, 2, 3)]
    assert leftovers(docker_api, prefix) == sorted([f"homellm-{prefix}", name, *kept])

    subprocess.run(["sh", "-c", by_hand(name)], check=True, capture_output=True, timeout=120)
    (found,) = cli("check", "--format", "json").json["models"]
    failed = {one["id"]: one["observed"] for one in found["checks"] if one["verdict"] == "fail"}
    assert failed["slots"] == 4
    assert "declaration" in failed
    assert docker_api.inspect_container(name)["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"

    assert up(5) == 5
    assert leftovers(docker_api, prefix) == sorted([f"homellm-{prefix}", name, *kept])
    assert cli("down").code == 0
    assert leftovers(docker_api, prefix) == []
