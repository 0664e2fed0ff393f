"""A container that was started from another declaration than the present one, and what that makes of its checks."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.names import LABEL_HASH
from homellm.domain.verdicts import Verdict
from homellm.domain.world import Container, World
from homellm.planning.desired import Desired

FILE_CHANGED = "The stack file changed since this container was started; homellm up applies it."


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
        return f"Whether it was started from the present stack file is not known: the image {image} is not here."
    if desired.spec is None:
        why = desired.problems[0].message if desired.problems else "it cannot be made from it"
        return f"Whether it was started from the present stack file is not known: {why}."
    if here.id != container.image_id:
        return f"The image {image} changed since this container was started; homellm up applies it."
    return FILE_CHANGED


def hold_off(verdicts: tuple[Verdict, ...], difference: str) -> tuple[Verdict, ...]:
    """Verdicts on a container that differs: what is declared and what is seen stay, but only `difference` is to blame.

    What was reckoned is reckoned for the present declaration, so it says nothing about this container.
    """
    return tuple(_held_off(verdict, difference) for verdict in verdicts) if difference else verdicts


def _held_off(verdict: Verdict, difference: str) -> Verdict:
    if verdict.id == "memory":
        return Verdict("memory", None, None, "not-applicable", verdict.source)
    return replace(verdict, hint=difference) if verdict.verdict == "fail" else verdict
