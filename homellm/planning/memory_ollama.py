"""What is said of the memory that the models of an Ollama server need; nothing of it stops the server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from homellm.domain.places import problem_at
from homellm.domain.stack import OllamaServer, Stack
from homellm.domain.world import World
from homellm.errors import ExitCode, Problem
from homellm.planning.memory_members import One, candidates, fits_alone, not_known, of_llama_server, on_ollama, whole
from homellm.sizing import Place, places
from homellm.sizing.fit import MIB
from homellm.sizing.together import needs_together, places_together


def memory_advice(server: OllamaServer, stack: Stack, world: World, *, kept: bool = False) -> tuple[Problem, ...]:
    """Models that no machine like this holds, that are not in memory all at once, and of which nothing is known.

    A model that is alone too big fails in its own turn, by what Ollama says; all others only put each other out. Of a
    server that is `kept`, since it runs as declared, a store that cannot be read from here is not told every time.
    """
    if not server.ours:
        return ()
    alone = tuple(_too_big(one, server) for one in candidates(server, stack, world) if not fits_alone(one.member))
    together = _together(server, stack, world)
    return (*alone, *together, *_not_known(server, stack, world, kept=kept))


def _too_big(one: One, server: OllamaServer) -> Problem:
    (member,) = whole([one])
    there = places(needs_together([member]), member.machine)
    place = next((place for place in there if place.missing_bytes), there[0])
    return _advice(
        server,
        "does-not-fit",
        f"{one.model.name} needs {_mib(place.used_bytes)} of {place.name}, which has {_has(place)}",
        f"Ollama will not load it. homellm fit {one.model.name} tells what would fit.",
    )


def _together(server: OllamaServer, stack: Stack, world: World) -> tuple[Problem, ...]:
    """All that this server may load at once, with what else is to be in memory.

    Beside another model Ollama loads none that does not wholly fit on the GPU, though alone it would leave a part of it
    to the CPU (its FAQ, "How does Ollama handle concurrent requests?").
    """
    besides = [of_llama_server(one, None, stack, world) for one in stack.models]
    ones = [*(one for one in besides if one is not None), *on_ollama(None, stack, world)]
    mine = {one.model.name for one in ones if one.server == server.name}
    members = [replace(member, auto=member.auto and member.name not in mine) for member in whole(ones)]
    wanted = needs_together(members)
    used = {
        member.name: {place.name: place.used_bytes for place in places([need], member.machine)}
        for member, need in zip(members, wanted, strict=True)
    }
    for place in places_together(wanted, [member.machine for member in members]):
        here = [name for name in mine if used[name].get(place.name)]
        if place.missing_bytes and len(here) > 1:
            return (_in_turns(server, place, used, mine),)
    return ()


def _in_turns(server: OllamaServer, place: Place, used: Mapping[str, Mapping[str, int]], mine: set[str]) -> Problem:
    def told(names: Sequence[str]) -> str:
        return _listed([f"{name} {_mib(used[name][place.name])}" for name in names])

    there = [name for name in used if used[name].get(place.name)]
    others = [name for name in there if name not in mine]
    beside = f", beside {told(others)}" if others else ""
    return _advice(
        server,
        "fits-in-turns",
        f"the models that Ollama may have in memory at once need {told([n for n in there if n in mine])} of"
        f" {place.name}{beside}: together {_mib(place.used_bytes)}, and it has {_has(place)}",
        "Ollama then puts one out to load another, and each next request waits for that. Lower ctx or parallel, take a"
        " smaller quantization, or have fewer at once: max_loaded_models.",
    )


def _not_known(server: OllamaServer, stack: Stack, world: World, *, kept: bool) -> tuple[Problem, ...]:
    unknown = {
        name: file.reason
        for name, file in not_known(server, stack, world).items()
        if not (kept and file.state == "unreadable")
    }
    if not unknown:
        return ()
    told = _listed([f"{name} ({reason})" for name, reason in unknown.items()])
    return (
        _advice(server, "memory-unknown", f"how much memory is needed is not known, and not judged, of {told}", ""),
    )


def _advice(server: OllamaServer, id_: str, message: str, hint: str) -> Problem:
    return problem_at(server, "models", id=id_, message=message, hint=hint, exit_code=ExitCode.OK)


def _has(place: Place) -> str:
    kept = f", of which {_mib(place.target_bytes)} stay free" if place.target_bytes else ""
    return f"{_mib(place.free_bytes)}{kept}"


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _mib(count: int) -> str:
    return f"{count / MIB:.0f} MiB"
