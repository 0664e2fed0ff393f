"""What is kept of the real Ollama in tests/fixtures, and how a log of another one is held against it."""

import itertools
from pathlib import Path

from tests.engine.support.ollama_shapes import line_shape, own_lines

FIXTURES = Path(__file__).parents[2] / "fixtures"
REAL, OLD, LOGS = FIXTURES / "ollama" / "0.33", FIXTURES / "ollama" / "0.24", FIXTURES / "logs"
SHARED = ("o-canary.log", "o-unset.log", "o-numctx.log", "o-compat.log")
#: Of each load, in this order, from the decision to the answer.
LOAD_LINES = (
    "does not currently support parallel",
    "disabling mmap",
    "using llama-server for model",
    "requested context size too large",
    "starting llama-server",
    "system memory",
    "loading model via",
    "start responding",
    "llama-server started",
    "template selection",
    "loaded runners",
)
FIRST = ("disabling mmap", "support parallel")


def shapes(*paths: Path) -> set[str]:
    """The shapes of Ollama's own lines in these logs."""
    return {shape for path in paths for shape in spoken(path.read_text())}


def recorded_shapes() -> set[str]:
    """Every shape of a line of Ollama's own in any recording of 0.33."""
    return shapes(*REAL.glob("*.log"), *(LOGS / name for name in SHARED))


def spoken(log: str) -> set[str]:
    """The shapes of Ollama's own lines in a log."""
    return {line_shape(line) for line in own_lines(log.splitlines())}


def loads(log: str) -> list[list[str]]:
    """The lines of each load, by shape, in order."""
    kept = [line_shape(line) for line in own_lines(log.splitlines()) if any(word in line for word in LOAD_LINES)]
    starts = [i for i, line in enumerate(kept) if any(word in line for word in FIRST)]
    starts = [i for i in starts if i == 0 or "support parallel" not in kept[i - 1]]
    return [kept[start:end] for start, end in itertools.pairwise([*starts, len(kept)])]


def commands(log: str) -> list[str]:
    """The llama-servers that were started, without the model's path and the port."""
    lines = [line.partition('cmd="')[2].rstrip('"') for line in log.splitlines() if "starting llama-server" in line]
    return [" ".join(line.partition("--host")[1:]) for line in lines]
