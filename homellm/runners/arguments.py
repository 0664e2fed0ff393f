"""The argv of a llama-server, in a calm and stable order, each argument with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from homellm.domain.dialect import Dialect
from homellm.domain.places import problem_at
from homellm.domain.settings import setting
from homellm.domain.spec import Arg
from homellm.domain.stack import SERVER_PORT, Model
from homellm.errors import Problem
from homellm.runners.dialect import listed_values
from homellm.runners.extra_args import check_extra_args, speaks_of
from homellm.runners.spelling import Spelled, Unsupported, evidence_verbosity, spell, spell_flag

#: What `all` layers is on a build that knows no such word: more layers than any model has.
ALL_LAYERS = "999"
_METRICS = "--metrics"


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a model's files stand inside the container; None for a file that it does not have."""

    model: str
    mmproj: str | None = None
    chat_template: str | None = None
    adapters: tuple[str, ...] = ()


@dataclass(slots=True)
class _Arguments:
    """The argv while it grows."""

    model: Model
    dialect: Dialect
    build: str
    args: list[Arg] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, key: str, spelled: Spelled) -> None:
        """Add an argument, or the problem that the build cannot honour the declared key."""
        if isinstance(spelled, Arg):
            self.args.append(spelled)
        elif isinstance(spelled, Unsupported):
            self.problems.append(
                problem_at(
                    self.model,
                    key,
                    id="setting-unsupported",
                    message=f"{self.build} cannot honour `{key}`: its help has {spelled.reason}",
                    hint=f"Choose another image for {self.model.name}, or drop `{key}`.",
                )
            )

    def key(self, key: str, value: str | bool | int | None, because: str = "") -> None:
        """Add the argument of a key that was given."""
        if value is not None:
            said = value if isinstance(value, bool) else str(value)
            self.take(key, spell(setting(key), said, self.dialect, because=because))


@dataclass(frozen=True, slots=True)
class Argv:
    """The finished argv."""

    args: tuple[Arg, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def arguments(model: Model, dialect: Dialect, paths: Paths, *, build: str, device: Arg | None = None) -> Argv:
    """Every argument of the server that `model` declares, as this build spells it.

    `build` names image and build for messages; `device` is the argument that picks the declared GPU, if the build
    has one.
    """
    said = _Arguments(model, dialect, build)
    _identity(said, paths)
    _observability(said)
    said.key("batch", model.batch)
    said.key("ubatch", model.ubatch)
    _gpu_layers(said)
    if device is not None:
        said.args.append(device)
    _attention_and_cache(said)
    _templates(said, paths)
    said.key("mlock", model.mlock or None)
    said.key("sleep_idle", model.sleep_idle_s)
    said.key("embedding", model.embedding or None)
    extra = check_extra_args(model, dialect, build)
    return Argv((*said.args, *extra.args), (*said.problems, *extra.problems), (*said.notes, *extra.notes))


def _identity(said: _Arguments, paths: Paths) -> None:
    model = said.model
    said.key("source", paths.model)
    said.key("name", model.name)
    said.key("parallel", model.parallel)
    said.key("ctx", model.ctx * model.parallel, _ctx_reason(model))
    said.args.append(
        Arg("--host", "0.0.0.0", "every interface of the container; `bind` decides what the host publishes")
    )
    said.args.append(
        Arg("--port", str(SERVER_PORT), "fixed inside the container: the image's health check asks it there")
    )
    if model.cpuset is not None:
        count = len(cpus(model.cpuset))
        said.key("cpuset", count, f"the {count} CPUs of {model.cpuset}: a cpuset alone does not change the threads")


def _ctx_reason(model: Model) -> str:
    if model.parallel == 1:
        return f"{model.ctx} tokens for the one slot"
    if model.kv_unified:
        return f"{model.parallel} slots × {model.ctx} tokens, in one pool that all slots share"
    return f"{model.parallel} slots × {model.ctx} tokens: the server divides this number by its slots"


def _observability(said: _Arguments) -> None:
    if said.dialect.has(_METRICS) and not speaks_of(said.model, said.dialect, _METRICS):
        said.args.append(Arg(_METRICS, None, "counters of tokens and requests at /metrics"))
    verbosity = evidence_verbosity(said.dialect)
    if verbosity is not None and not any(
        speaks_of(said.model, said.dialect, flag) for flag in (verbosity.flag, "--verbose")
    ):
        said.args.append(verbosity)


def _gpu_layers(said: _Arguments) -> None:
    layers = said.model.gpu_layers
    name = next((form.flag for form in setting("gpu_layers").forms if said.dialect.has(form.flag)), None)
    words = listed_values(said.dialect.flags[name]) if name else frozenset()
    fits_by_itself = "auto" in words or said.dialect.has("--fit")
    if layers == "all":
        said.key("gpu_layers", "all" if "all" in words else ALL_LAYERS, "every layer on the GPU")
    elif layers == "auto" and "auto" in words:
        said.key("gpu_layers", "auto", "as many layers on the GPU as its free memory holds")
    elif layers == "auto" and not fits_by_itself:
        said.take("gpu_layers", Unsupported("neither the word `auto` nor a fit to free memory"))
    elif isinstance(layers, int):
        said.key("gpu_layers", layers)
    elif layers is None and said.model.gpu is not None and not fits_by_itself:
        said.key("gpu_layers", ALL_LAYERS, "a GPU is declared, and this build keeps every layer on the CPU unless told")


def _attention_and_cache(said: _Arguments) -> None:
    model = said.model
    said.key("flash_attention", model.flash_attention)
    if model.kv_cache_type is not None:
        because = setting("kv_cache_type").because
        for part, kind in (("k", model.kv_cache_type.k), ("v", model.kv_cache_type.v)):
            said.take(
                "kv_cache_type",
                spell_flag(f"--cache-type-{part}", kind, said.dialect, f"{because}, {part.upper()} half"),
            )
    said.key("kv_unified", model.kv_unified)
    said.key("swa_full", model.swa_full)
    said.key("cache_reuse", model.cache_reuse)


def _templates(said: _Arguments, paths: Paths) -> None:
    said.key("reasoning_preserve", said.model.reasoning_preserve)
    # Before the template: older builds take a template of one's own only after --jinja.
    said.key("jinja", said.model.jinja)
    said.key("mmproj", paths.mmproj)
    for path in paths.adapters:
        said.take("source", spell_flag("--lora", path, said.dialect, "an adapter that belongs to the model"))
    said.key("chat_template_file", paths.chat_template)


def cpus(cpuset: str) -> tuple[int, ...]:
    """The CPUs of a list as Docker writes it (`0-3,8`), each once, ascending. Raises ValueError for anything else."""
    return tuple(sorted(set(_cpu_numbers(cpuset))))


def _cpu_numbers(cpuset: str) -> Iterator[int]:
    for part in cpuset.split(","):
        first, dash, last = part.strip().partition("-")
        yield from range(int(first), int(last if dash else first) + 1)
