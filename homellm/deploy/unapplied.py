"""A container that was started from another declaration than the present one, and what that makes of its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from homellm.domain.names import LABEL_DECLARED, LABEL_HASH, LABEL_SECTION
from homellm.domain.reports import ModelReport
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Declared, Model, Stack
from homellm.domain.verdicts import State, Verdict
from homellm.domain.world import Container, World
from homellm.health.checks.host import same_addresses
from homellm.planning.declared import (
    Declaration,
    changed_secrets,
    declaration,
    differing,
    read_declared,
    unset_of,
)
from homellm.planning.desired import Desired
from homellm.planning.units import Unit

FILE_CHANGED = "The stack file changed since this container was started; homellm up applies it."
_NOT_KNOWN = "Whether it was started from the present stack file is not known"
#: Ends a sentence on a file that may be another one: who only looks reads none.
COMPARED_BY_UP = "homellm up compares them, and makes it anew where they differ."


@dataclass(frozen=True, slots=True)
class Held:
    """A declaration held against what was kept of one that was applied.

    `edited` is None where that is not known: `why` then says what is missing, as a sentence.
    """

    edited: bool | None
    why: str = ""


def held(declared: Declared, stack: Stack, container: Container, recorded: Callable[[], str]) -> Held:
    """Whether the stack file says something else than what a container was made from, by nothing but inspect.

    By meaning, as its label keeps it. `recorded` gives what an `up` that found nothing to do has put beside it since,
    and is asked only where the label differs. Of secrets the values are compared too, where they are known here.
    """
    kept, other = read_declared(container.label(LABEL_DECLARED)), recorded
    if kept is None:
        kept, other = read_declared(recorded()), _nothing
    if kept is not None:
        found = _compared(declared, stack, kept, other)
    else:
        found = Held(True) if _words_changed(declared, container) else _known(unset_of(declared, stack))
    return replace(found, edited=True) if changed_secrets(declared, container) else found


def held_by_record(declared: Declared, stack: Stack, recorded: str) -> Held:
    """The same for what has no container of its own: a model on an Ollama server, by what its last load stood for."""
    kept = read_declared(recorded)
    if kept is None:
        why = f"Whether the stack file changed since it was loaded is not known: homellm up {declared.name} looks."
        return Held(None, why)
    return _compared(declared, stack, kept, _nothing)


def _nothing() -> str:
    return ""


def _compared(declared: Declared, stack: Stack, kept: Declaration, recorded: Callable[[], str]) -> Held:
    now, unset = declaration(declared, stack), unset_of(declared, stack)

    def alike() -> Iterator[bool]:
        yield not differing(kept, now, unset)
        other = read_declared(recorded())
        yield other is not None and not differing(other, now, unset)

    return _known(unset) if any(alike()) else Held(True)


def _known(unset: frozenset[str]) -> Held:
    """What differs in nothing that is known, as far as everything is."""
    if not unset:
        return Held(False)
    names = ", ".join(sorted(unset))
    return Held(None, f"Not compared with the stack file, since a variable in it is not set here: {names}.")


def _words_changed(declared: Declared, container: Container) -> bool:
    """The same of a container that an older homellm made and no `up` has looked at since, by the words of its section.

    And by what is published with which key. Another spelling counts as a change there; `defaults` and variables do not.
    """
    if container.label(LABEL_SECTION) != declared.section:
        return True
    published = container.published(SERVER_PORT if isinstance(declared, Model) else OLLAMA_PORT)
    if published and {port for _, port in published} != {declared.port}:
        return True
    if published and not same_addresses(declared.bind, {ip for ip, _ in published}):
        return True
    # Not the other way round: who only looks may lack the variable that the file has the key from.
    return isinstance(declared, Model) and declared.api_key is not None and not container.has_key


def told(report: ModelReport, *found: Held) -> ModelReport:
    """The report with whether the file changed since: what was verified then is not verified for what it says now.

    Nor is it where that is not known.
    """
    edited = any(one.edited for one in found) or (None if any(one.edited is None for one in found) else False)
    if edited is False:
        return replace(report, edited=False)
    state = State.UNVERIFIED if report.state is State.VERIFIED else report.state
    notes = (edited_note(report.name),) if edited else tuple(dict.fromkeys(one.why for one in found if one.why))
    return replace(report, state=state, edited=edited, notes=(*report.notes, *notes))


def is_settled(unit: Unit, declared: Declared) -> bool:
    """Whether what inspect tells of a unit can be held against its declaration: it runs, and no swap is under way.

    Nor is a key that it would be held against unknown here.
    """
    known = declared.unset.isdisjoint(("memory", "cpu_shares", "shm_size", "cpuset", "restart", "port", "networks"))
    return known and unit.current is not None and unit.current.running and unit.next is None


def drifted(report: ModelReport, verdicts: tuple[Verdict, ...]) -> ModelReport:
    """The report with what somebody changed on the running container, as inspect tells: it is not as it was verified.

    Where the file changed that may be the reason, and is told already.
    """
    if not verdicts or report.edited:
        return report
    state = State.DEGRADED if report.state is State.VERIFIED else report.state
    return replace(report, state=state, checks=(*report.checks, *verdicts))


def edited_note(name: str) -> str:
    """What is said of a container whose part of the file changed."""
    return f"The stack file changed since it was started: homellm plan {name} tells what homellm up would do."


def difference(container: Container, desired: Desired, image: str, world: World) -> str:
    """Why a container is not the one that is wanted now, in a sentence; empty when it is that one.

    `image` is the declared one: its content is a part of what is compared.
    """
    if desired.hash and container.label(LABEL_HASH) == desired.hash:
        return ""
    here = world.images.get(image)
    if container.image != image:
        return FILE_CHANGED
    if here is None:
        return f"{_NOT_KNOWN}: the image {image} is not here."
    if desired.spec is None:
        why = desired.problems[0].message if desired.problems else "it cannot be made from it"
        return f"{_NOT_KNOWN}: {why}."
    if here.id != container.image_id:
        return f"The image {image} changed since this container was started; homellm up applies it."
    return FILE_CHANGED


#: Checks whose hints tell a file that was not applied from one that is itself at fault.
_TELL_APART = ("port", "exposure")


def hold_off(verdicts: tuple[Verdict, ...], difference: str, model: str) -> tuple[Verdict, ...]:
    """Verdicts on a container that differs: what is declared and what is seen stay, but only `difference` is to blame.

    What was reckoned is reckoned for the present declaration, so it says nothing about this container. That it differs
    is a verdict too, the last one: what no other check sees is not as declared either.
    """
    if not difference:
        return verdicts
    return (*(_held_off(verdict, difference) for verdict in verdicts), _declaration(difference, model))


def _declaration(difference: str, model: str) -> Verdict:
    unknown = difference.startswith(_NOT_KNOWN) or difference.endswith(COMPARED_BY_UP)
    return Verdict(
        "declaration",
        True,
        None if unknown else False,
        "unknown" if unknown else "fail",
        "inspect",
        hint=f"homellm plan {model} tells what homellm up would change.",
        asked_text="the present one",
        text="" if unknown else "an earlier one",
    )


def _held_off(verdict: Verdict, difference: str) -> Verdict:
    if verdict.id == "memory":
        return Verdict("memory", None, None, "not-applicable", verdict.source)
    if verdict.verdict != "fail" or verdict.id in _TELL_APART:
        return verdict
    return replace(verdict, hint=difference)
