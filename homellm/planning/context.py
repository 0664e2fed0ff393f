"""A context beyond what the model was trained on: the server cuts it, so it is told before anything is stopped."""

from __future__ import annotations

from homellm.domain.places import problem_at
from homellm.domain.stack import Model
from homellm.domain.world import World
from homellm.errors import ExitCode, Problem
from homellm.sizing import demand_of

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


def ctx_note(model: Model) -> Problem | None:
    """That the server rounds the context of a slot up, as advice; None where it has what is declared.

    llama.cpp pads a context to 256 tokens before it is divided by the slots, and each slot's part again.
    """
    given = demand_of(model).slot_cells
    if given == model.ctx or model.kv_unified:
        return None
    return problem_at(
        model,
        "ctx",
        id="ctx-rounded",
        message=f"ctx {model.ctx}: the server rounds up, so each slot has {given} tokens",
        exit_code=ExitCode.OK,
    )
