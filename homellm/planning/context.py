"""A context beyond what the model was trained on: the server cuts it, so it is told before anything is stopped."""

from __future__ import annotations

from homellm.domain.places import problem_at
from homellm.domain.stack import Model
from homellm.domain.world import World
from homellm.errors import Problem

#: Flags by which people stretch a model beyond its training; then only the server can tell what it gives.
_STRETCHING = ("--rope", "--yarn", "--override-kv", "-c", "--grp")


def ctx_problem(model: Model, world: World) -> Problem | None:
    """What the header says against the declared context; None when it fits, or when nobody can tell.

    llama-server caps the context of a slot at the trained length ("the slot context … exceeds the training context of
    the model … - capping"), and the gate `ctx` would fail after the old server had been stopped.
    """
    file = world.model_files.get(str(model.source.path)) if model.source.path else None
    trained = file.header.context_length if file is not None and file.header is not None else 0
    if not trained or model.ctx <= trained or any(word.startswith(_STRETCHING) for word in model.extra_args):
        return None
    return problem_at(
        model,
        "ctx",
        id="ctx-above-trained",
        message=f"ctx {model.ctx} is more than the {trained} tokens that the model was trained on, and the server would"
        f" cut it to that",
        hint=f"Set ctx: {trained} or less; or stretch the model by its makers' RoPE settings in extra_args.",
    )
