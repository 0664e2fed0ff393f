"""A tag that moved: what failed ran another image than what worked, under the same name."""

from __future__ import annotations

from homellm.deploy.session import Ports
from homellm.domain.spec import ContainerSpec
from homellm.domain.world import Container
from homellm.errors import HomellmError, Problem


def moved_image(worked: Container | None, spec: ContainerSpec | None, ports: Ports, unit: str) -> tuple[Problem, ...]:
    """That the image behind the declared name is not the one that `worked`, and how to keep that one.

    Nothing when nothing worked before, when it ran the same image, or when another name was declared.
    """
    if worked is None or spec is None or worked.image != spec.image:
        return ()
    try:
        now, then = ports.engine.find_image(spec.image), ports.engine.find_image(worked.image_id)
    except HomellmError:
        return ()
    if now is None or now.id == worked.image_id:
        return ()
    pin = then.digests[0] if then is not None and then.digests else worked.image_id
    return (
        Problem(
            id="image-moved",
            message=f"{spec.image} is another image by now than the one that {worked.name} runs",
            hint=f"Keep the one that worked: image: {pin}",
            model=unit,
        ),
    )
