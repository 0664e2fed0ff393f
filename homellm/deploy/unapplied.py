"""A container that was started from another declaration than the present one, and what that makes of its checks."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.names import LABEL_HASH, LABEL_SECTION
from homellm.domain.stack import OLLAMA_PORT, SERVER_PORT, Declared, Model
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container, World
from homellm.health.checks.host import same_addresses
from homellm.planning.desired import Desired

FILE_CHANGED = "The stack file changed since this container was started; homellm up applies it."
_NOT_KNOWN = "Whether it was started from the present stack file is not known"
#: Ends a sentence on a file that may be another one: who only looks reads none.
COMPARED_BY_UP = "homellm up compares them, and makes it anew where they differ."


def edited(declared: Declared, container: Container) -> bool:
    """Whether a container's part of the stack file changed since it was made, told without asking anything but inspect.

    By the section that its label keeps, and by what is published with which key, which `defaults` and variables may
    have changed. A change that makes no other container, of the order of keys say, counts too.
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
