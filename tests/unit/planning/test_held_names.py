"""A name that something else bears: whose it is, and a way out that stops nothing by surprise."""

import pytest

from homellm.planning.held_names import name_taken
from tests.unit.planning.build import container

NAME = "nuc-smol"


@pytest.mark.parametrize(
    ("status", "free"),
    [
        ("exited", f"docker rm -f {NAME}"),
        ("created", f"docker rm -f {NAME}"),
        ("running", f"docker stop {NAME} && docker rm {NAME}"),
        ("paused", f"docker stop {NAME} && docker rm {NAME}"),
        ("restarting", f"docker stop {NAME} && docker rm {NAME}"),
    ],
)
def test_one_that_runs_is_stopped_and_not_killed(status, free):
    problem = name_taken(container(NAME, status=status), "smol", "nuc")
    assert problem.hint == f"If nobody needs that container, remove it: {free}. Or set container_name for smol."


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        ("", "is taken by a container that homellm did not make (image server; it runs)"),
        ("tower", "is taken by a container of the stack tower (image server; it runs)"),
        ("nuc", "is taken by another container of this stack"),
    ],
)
def test_it_says_whose_it_is(stack, message):
    problem = name_taken(container(NAME, labels={"homellm.stack": stack}), "smol", "nuc")
    assert (problem.id, problem.model, problem.message) == ("name-taken", "smol", f"the name {NAME} {message}")
