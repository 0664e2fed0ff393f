"""A removal that the engine cannot end: asked for again a few times, and told with what is left and what to type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.adapters.docker_errors import translate
from homellm.adapters.docker_removal import WAITS_S, insist
from homellm.domain.world import Container
from homellm.errors import EngineRefused, NotRemoved

ID = "f" * 64
#: As Engine 20.10 answered, with HTTP 500, for a container that was writing its log.
BUSY = f"unable to remove filesystem for {ID}: unlinkat /var/lib/docker/containers/{ID}: directory not empty"
IN_PROGRESS = f"removal of container {ID} is already in progress"
RUNNING = f"You cannot remove a running container {ID}. Stop the container before attempting removal or force remove"
GONE = f"No such container: {ID}"
DEAD = Container(ID, "nuc-lfm.next", "sha256:1", "server", "dead")


class Removing:
    """An engine whose answers to a removal are these texts, one after the other, then success."""

    def __init__(self, *answers: str, left: Container | None = DEAD) -> None:
        self.answers = list(answers)
        self.left = left
        self.done: list[str] = []

    def remove(self, ref: str) -> None:
        self.done.append(f"remove {ref[:12]}")
        if self.answers:
            raise translate(self.answers.pop(0), doing="remove")

    def await_removal(self, ref: str) -> None:
        self.done.append("await")

    def find(self, ref: str) -> Container | None:
        return self.left

    def sleep(self, wait_s: float) -> None:
        self.done.append(f"sleep {wait_s:g}")

    def run(self) -> list[str]:
        insist("nuc-lfm.next", self.remove, self.await_removal, self.find, self.sleep)
        return self.done


def test_once_is_enough_where_nothing_is_in_the_way():
    assert Removing().run() == ["remove nuc-lfm.next"]


def test_what_is_left_is_removed_by_its_id_after_a_moment():
    assert Removing(BUSY).run() == ["remove nuc-lfm.next", "sleep 0.1", f"remove {ID[:12]}"]
    assert Removing(BUSY, BUSY, BUSY).run()[-2:] == ["sleep 1", f"remove {ID[:12]}"]


def test_after_the_last_try_it_says_what_is_left_and_what_to_type():
    engine = Removing(*[BUSY] * (len(WAITS_S) + 1))
    with pytest.raises(NotRemoved) as caught:
        engine.run()
    (problem,) = caught.value.problems
    assert (problem.id, caught.value.original) == ("not-removed", BUSY)
    assert f"unlinkat /var/lib/docker/containers/{ID}: directory not empty" in problem.message
    assert "left of nuc-lfm.next is dead" in problem.message
    assert "docker rm nuc-lfm.next" in problem.hint
    assert [step for step in engine.done if step.startswith("sleep")] == [f"sleep {wait_s:g}" for wait_s in WAITS_S]


def test_the_removal_of_somebody_else_is_waited_for_and_ended_where_it_stuck():
    assert Removing(IN_PROGRESS).run() == ["remove nuc-lfm.next", "await", f"remove {ID[:12]}"]
    assert Removing(IN_PROGRESS, GONE).run()[-1] == f"remove {ID[:12]}"
    with pytest.raises(EngineRefused) as caught:
        Removing(*[IN_PROGRESS] * (len(WAITS_S) + 1)).run()
    assert caught.value.problems[0].id == "being-removed"


@pytest.mark.parametrize("left", [None, replace(DEAD, id="e" * 64, status="created")], ids=["nobody", "a-new-one"])
@pytest.mark.parametrize("answer", [BUSY, IN_PROGRESS])
def test_who_bears_the_name_by_then_is_left_alone(answer, left):
    assert Removing(answer, left=left).run().count("remove nuc-lfm.next") == 1
    assert not any(ID[:12] in step or "e" * 12 in step for step in Removing(answer, left=left).run())


def test_one_that_is_gone_is_done():
    assert Removing(GONE).run() == ["remove nuc-lfm.next"]
    assert Removing(BUSY, GONE).run()[-1] == f"remove {ID[:12]}"


def test_any_other_refusal_is_told_at_once():
    engine = Removing(RUNNING)
    with pytest.raises(EngineRefused) as caught:
        engine.run()
    assert (caught.value.problems[0].id, engine.done) == ("still-running", ["remove nuc-lfm.next"])
