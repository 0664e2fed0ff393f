"""What the environment asks of it: OLLAMA_* as Ollama reads them, STANDIN_* for tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from standin.words import FOREVER_S, parse_duration

#: The families that Ollama 0.33 gives one slot (server/sched.go), with `architecture` in the line.
REFUSED_0_33 = (
    "mllama qwen3vl qwen3vlmoe qwen35 qwen35moe qwen3next lfm2 lfm2moe nemotron_h nemotron_h_moe nemotron_h_omni"
)
VERSIONS = {"new": "0.33.0", "old": "0.24.0"}


@dataclass(frozen=True, slots=True)
class Invalid:
    """A variable that is no number: Ollama says so and takes the default."""

    key: str
    value: str
    default: int


@dataclass(frozen=True, slots=True)
class Settings:
    """OLLAMA_*. Times are seconds, `FOREVER_S` for ever. `invalid` are the variables that were replaced."""

    env: Mapping[str, str]
    host: tuple[str, int]
    models: Path
    home: Path
    parallel: int
    context_length: int
    max_loaded: int
    max_queue: int
    keep_alive_s: float
    load_timeout_s: float
    kv_cache_type: str
    flash_attention: bool | None
    igpu: bool
    invalid: tuple[Invalid, ...]

    def var(self, name: str) -> str:
        """A variable as Ollama reads it, without spaces and quotes around it."""
        return self.env.get(name, "").strip().strip("\"'")

    def is_invalid(self, name: str) -> Invalid | None:
        return next((found for found in self.invalid if found.key == name), None)


@dataclass(frozen=True, slots=True)
class Knobs:
    """STANDIN_*: what only a test wants. README.md says what each is for."""

    old: bool
    version: str
    refused: frozenset[str]
    load_delay_s: float
    dies: tuple[int, str] | None
    pull_bytes_s: float
    gpu: str


def read_settings(env: Mapping[str, str]) -> Settings:
    invalid: list[Invalid] = []

    def text(name: str) -> str:
        return env.get(name, "").strip().strip("\"'")

    def number(name: str, default: int) -> int:
        value = text(name)
        if value and not (value.isascii() and value.isdigit()):
            invalid.append(Invalid(name, value, default))
        return int(value) if value.isascii() and value.isdigit() else default

    def seconds(name: str, default: float) -> float:
        return read_seconds(text(name), default)

    home = Path(env.get("HOME", "/root"))
    keep_alive, load_timeout = seconds("OLLAMA_KEEP_ALIVE", 300.0), seconds("OLLAMA_LOAD_TIMEOUT", 300.0)
    return Settings(
        env=env,
        host=_host(text("OLLAMA_HOST")),
        models=Path(text("OLLAMA_MODELS") or home / ".ollama" / "models"),
        home=home,
        parallel=number("OLLAMA_NUM_PARALLEL", 1),
        context_length=number("OLLAMA_CONTEXT_LENGTH", 0),
        max_loaded=number("OLLAMA_MAX_LOADED_MODELS", 0),
        max_queue=number("OLLAMA_MAX_QUEUE", 512),
        keep_alive_s=FOREVER_S if keep_alive < 0 else keep_alive,
        load_timeout_s=FOREVER_S if load_timeout <= 0 else load_timeout,
        kv_cache_type=text("OLLAMA_KV_CACHE_TYPE"),
        flash_attention=_flag(text("OLLAMA_FLASH_ATTENTION")),
        igpu=_flag(text("OLLAMA_IGPU_ENABLE")) or False,
        invalid=tuple(invalid),
    )


def read_knobs(env: Mapping[str, str]) -> Knobs:
    old = env.get("STANDIN_AGE", "new") == "old"
    refused = set(env.get("STANDIN_REFUSE", REFUSED_0_33.replace(" ", ",")).split(",")) - {""}
    permitted = set(env.get("STANDIN_PERMIT", "").split(","))
    signal, _, family = env.get("STANDIN_DIE", "").partition(":")
    return Knobs(
        old=old,
        version=env.get("STANDIN_VERSION") or VERSIONS["old" if old else "new"],
        refused=frozenset() if "all" in permitted else frozenset(refused - permitted),
        load_delay_s=float(env.get("STANDIN_LOAD_DELAY_S") or 0),
        dies=(int(signal), family) if signal else None,
        pull_bytes_s=float(env.get("STANDIN_PULL_BYTES_S") or 0),
        gpu=env.get("STANDIN_GPU", ""),
    )


def read_seconds(value: str, default: float) -> float:
    """A duration or a number of seconds, as text."""
    found = parse_duration(value)
    if found is not None:
        return found
    return float(value) if value.lstrip("+-").isdigit() else default


def _flag(value: str) -> bool | None:
    """Go's ParseBool, and true for what it cannot read; None when unset."""
    return value.lower() not in ("0", "f", "false") if value else None


def _host(value: str) -> tuple[str, int]:
    rest = value.partition("://")[2] or value
    rest = rest.split("/")[0]
    host, mark, port = rest.rpartition(":")
    if not mark or not port.isdigit():
        return (rest.strip("[]") or "127.0.0.1", 11434)
    return (host.strip("[]"), int(port))
