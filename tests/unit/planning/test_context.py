"""A context beyond the training is told before the server that works is stopped."""

import pytest

from homellm.domain.gguf import GgufHeader
from homellm.domain.world import ModelFile
from homellm.errors import ExitCode
from homellm.planning.context import ctx_note, ctx_problem
from tests.unit.planning.build import model, world


def here(trained):
    header = GgufHeader(architecture="llama", context_length=trained)
    file = ModelFile("/models/smol.gguf", "ok", header=header)
    return world(model_files={"/models/smol.gguf": file})


def test_more_than_it_was_trained_on():
    found = ctx_problem(model(ctx=16384), here(8192))
    assert found.id == "ctx-above-trained"
    assert "8192" in found.message
    assert "ctx: 8192" in found.hint


@pytest.mark.parametrize(("ctx", "trained"), [(8192, 8192), (4096, 8192), (16384, 0)])
def test_what_fits_or_nobody_can_tell(ctx, trained):
    assert ctx_problem(model(ctx=ctx), here(trained)) is None


def test_a_model_that_is_stretched_is_left_to_the_server():
    assert ctx_problem(model(ctx=16384, extra_args=("--rope-scaling", "yarn")), here(8192)) is None


def test_without_a_header():
    assert ctx_problem(model(ctx=16384), world()) is None


@pytest.mark.parametrize(
    ("ctx", "parallel", "given"), [(100, 3, 256), (1000, 3, 1024), (2048, 3, None), (4096, 1, None), (2000, 3, 2048)]
)
def test_a_context_that_the_server_rounds_up_is_told_once_where_it_stands(ctx, parallel, given):
    found = ctx_note(model(ctx=ctx, parallel=parallel))
    if given is None:
        assert found is None
        return
    assert (found.id, found.exit_code) == ("ctx-rounded", ExitCode.OK)
    assert found.message == f"ctx {ctx}: the server rounds up, so each slot has {given} tokens"


def test_of_a_pool_that_all_slots_share_nothing_is_said():
    assert ctx_note(model(ctx=100, parallel=3, kv_unified=True)) is None
