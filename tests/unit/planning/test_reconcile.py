"""The plans of the swap, as text: every state that a cut can leave has one right way on."""

from dataclasses import replace

import pytest

from homellm.planning.reconcile import reconcile
from homellm.planning.units import sort_unit
from tests.unit.planning.build import NAME, NEW, OLD, container, desired


def plan(*containers, want=None, force=False):
    unit = sort_unit(NAME, "smol", containers)
    steps = reconcile(want or desired(), unit, anew="made anew on request" if force else "").steps
    return [step.title.replace(NAME, "X") for step in steps]


def undo(*containers, at, want=None):
    """Everything that is carried out when the step titled `at` has just failed, in order."""
    steps = reconcile(want or desired(), sort_unit(NAME, "smol", containers)).steps
    titles = [step.title.replace(NAME, "X") for step in steps]
    done = steps[: titles.index(at) + 1]
    return [back.title.replace(NAME, "X") for step in reversed(done) for back in step.undo]


FIRST = [
    "create X.next",
    "start X.next",
    "verify X.next",
    "set restart of X.next to unless-stopped",
    "rename X.next to X",
]
SWAP = [
    "create X.next",
    "set restart of X to no",
    "stop X",
    "start X.next",
    "verify X.next",
    "set restart of X.next to unless-stopped",
    "rename X to X.prev-1",
    "rename X.next to X",
]


def test_first_start():
    assert plan() == FIRST


def test_nothing_to_do():
    assert plan(container(digest=NEW)) == []


def test_force_makes_it_anew():
    assert plan(container(digest=NEW), force=True) == SWAP


class TestAFileThatChanged:
    """The very container that is wanted, which loaded another file than the one that stands at its path now."""

    WHY = "smol.gguf changed since the server loaded it"

    def steps(self, *containers, outdated):
        unit = replace(sort_unit(NAME, "smol", containers), outdated={f"id-{name}": self.WHY for name in outdated})
        return reconcile(desired(), unit).steps

    def titles(self, *containers, outdated):
        return [step.title.replace(NAME, "X") for step in self.steps(*containers, outdated=outdated)]

    def test_is_swapped_and_the_step_says_why(self):
        assert self.titles(container(digest=NEW), outdated=[NAME]) == SWAP
        assert self.steps(container(digest=NEW), outdated=[NAME])[0].cause == self.WHY

    def test_another_declaration_is_the_cause_where_there_is_one(self):
        assert self.steps(container(), outdated=[NAME])[0].cause == (
            "defaults, a variable, a secret, or what this machine has changed"
        )

    def test_a_successor_that_loaded_the_new_file_is_gone_on_with(self):
        successor = container(f"{NAME}.next", NEW, policy="no")
        assert self.titles(container(digest=NEW), successor, outdated=[NAME]) == [
            "set restart of X to no",
            "stop X",
            "verify X.next",
            "set restart of X.next to unless-stopped",
            "rename X to X.prev-1",
            "rename X.next to X",
        ]

    def test_a_successor_that_loaded_the_old_one_is_made_anew(self):
        successor = container(f"{NAME}.next", NEW, policy="no")
        titles = self.titles(container(), successor, outdated=[f"{NAME}.next"])
        assert titles == ["remove X.next", *SWAP]

    def test_a_commit_that_was_cut_off_is_finished_and_nothing_more(self):
        successor = container(f"{NAME}.next", NEW)
        titles = self.titles(container(digest=NEW), successor, outdated=[NAME])
        assert titles == ["rename X to X.prev-1", "rename X.next to X"]


def test_swap():
    assert plan(container()) == SWAP


def test_swap_with_declared_policy_no_sets_none():
    want = desired(restart="no")
    assert plan(container(policy="no", declared="no"), want=want) == [
        "create X.next",
        "stop X",
        "start X.next",
        "verify X.next",
        "rename X to X.prev-1",
        "rename X.next to X",
    ]


def test_predecessors_move_up_and_the_oldest_goes():
    kept = [container(f"{NAME}.prev-{n}", status="exited", policy="no") for n in (1, 2, 3)]
    assert plan(container(), *kept)[-5:] == [
        "remove X.prev-3",
        "rename X.prev-2 to X.prev-3",
        "rename X.prev-1 to X.prev-2",
        "rename X to X.prev-1",
        "rename X.next to X",
    ]


def test_a_gap_among_predecessors_is_used():
    kept = container(f"{NAME}.prev-2", status="exited", policy="no")
    assert plan(container(), kept)[-2:] == ["rename X to X.prev-1", "rename X.next to X"]


def test_success_removes_the_last_failure():
    failed = container(f"{NAME}.failed", status="exited", policy="no")
    assert plan(container(), failed)[-1] == "remove X.failed"


def test_undo_of_a_failed_verification_starts_the_old_one():
    assert undo(container(), at="verify X.next") == [
        "stop X.next",
        "rename X.next to X.failed",
        "start X",
        "set restart of X to unless-stopped",
        "remove X.next",
    ]


def test_undo_replaces_an_older_failure():
    failed = container(f"{NAME}.failed", status="exited", policy="no")
    assert undo(container(), failed, at="verify X.next")[:3] == [
        "stop X.next",
        "remove X.failed",
        "rename X.next to X.failed",
    ]


def test_undo_before_the_old_one_stopped_touches_only_the_successor():
    assert undo(container(), at="create X.next") == ["remove X.next"]


def test_undo_of_a_commit_that_failed_half_way():
    assert undo(container(), at="rename X to X.prev-1") == [
        "rename X.prev-1 to X",
        "set restart of X.next to no",
        "stop X.next",
        "rename X.next to X.failed",
        "start X",
        "set restart of X to unless-stopped",
        "remove X.next",
    ]


@pytest.mark.parametrize(
    ("has", "label", "wanted", "back"),
    [
        ("always", "unless-stopped", "always", "always"),  # a later `up` had changed it
        ("no", "unless-stopped", "no", "no"),
        ("no", "always", "unless-stopped", "always"),  # a swap that was cut off had taken it
    ],
)
def test_undo_gives_back_the_policy_that_it_had(has, label, wanted, back):
    old, want = container(policy=has, declared=label), desired(restart=wanted)
    assert undo(old, at="verify X.next", want=want)[-2] == f"set restart of X to {back}"


def test_a_stopped_one_of_the_same_hash_is_started_and_proved():
    assert plan(container(digest=NEW, status="exited")) == ["start X", "verify X"]
    assert undo(container(digest=NEW, status="exited"), at="verify X") == ["stop X"]


def test_a_policy_that_differs_is_a_step():
    assert plan(container(digest=NEW, policy="always")) == ["set restart of X to unless-stopped"]


def test_a_crash_loop_is_left_to_the_checks():
    assert plan(container(digest=NEW, status="restarting")) == []


CUT = {
    "after create": ([container(), container(f"{NAME}.next", NEW, "created", "no")], ["remove X.next", *SWAP]),
    "after policy": (
        [container(policy="no"), container(f"{NAME}.next", NEW, "created", "no")],
        ["remove X.next", "create X.next", "stop X", *SWAP[3:]],
    ),
    "after stop": (
        [container(policy="no", status="exited"), container(f"{NAME}.next", NEW, "created", "no")],
        ["remove X.next", "create X.next", *SWAP[3:]],
    ),
    "after start": (
        [container(policy="no", status="exited"), container(f"{NAME}.next", NEW, "running", "no")],
        SWAP[4:],
    ),
    "successor died since": (
        [container(policy="no", status="exited"), container(f"{NAME}.next", NEW, "exited", "no")],
        ["remove X.next", "create X.next", *SWAP[3:]],
    ),
    "after its policy": (
        [container(policy="no", status="exited"), container(f"{NAME}.next", NEW)],
        ["rename X to X.prev-1", "rename X.next to X"],
    ),
    "after the old one's renaming": (
        [container(f"{NAME}.prev-1", policy="no", status="exited"), container(f"{NAME}.next", NEW)],
        ["rename X.next to X"],
    ),
    "first start, after start": ([container(f"{NAME}.next", NEW, "running", "no")], FIRST[2:]),
    "first start, after policy": ([container(f"{NAME}.next", NEW)], ["rename X.next to X"]),
    "in the undo, after the failure was set aside": (
        [container(policy="no", status="exited"), container(f"{NAME}.failed", NEW, "exited", "no")],
        ["create X.next", *SWAP[3:], "remove X.failed"],
    ),
}


@pytest.mark.parametrize("cut", CUT)
def test_goes_on_after_a_cut(cut):
    containers, steps = CUT[cut]
    assert plan(*containers) == steps


@pytest.mark.parametrize("status", ["created", "running", "exited"])
def test_the_file_went_back_after_a_cut(status):
    """The old declaration again: the successor goes, the old one runs, nothing is made anew."""
    cut = [container(policy="no", status="exited"), container(f"{NAME}.next", NEW, status, "no")]
    assert plan(*cut, want=desired(OLD)) == [
        "remove X.next",
        "start X",
        "verify X",
        "set restart of X to unless-stopped",
    ]


def test_the_file_went_back_after_the_old_one_was_renamed():
    """The successor was verified: it takes the name first, so that something serves while the old spec is made."""
    cut = [container(f"{NAME}.prev-1", policy="no", status="exited"), container(f"{NAME}.next", NEW)]
    assert plan(*cut, want=desired(OLD)) == [
        "rename X.next to X",
        "create X.next",
        "set restart of X to no",
        "stop X",
        "start X.next",
        "verify X.next",
        "set restart of X.next to unless-stopped",
        "rename X.prev-1 to X.prev-2",
        "rename X to X.prev-1",
        "rename X.next to X",
    ]


def test_a_successor_that_died_after_the_old_one_was_renamed_gives_the_name_back():
    cut = [
        container(f"{NAME}.prev-1", policy="no", status="exited"),
        container(f"{NAME}.next", NEW, status="exited"),
    ]
    assert plan(*cut)[:3] == ["rename X.prev-1 to X", "remove X.next", "create X.next"]
    assert "start X" in undo(*cut, at="create X.next")


def test_a_second_failure_after_a_cut_still_brings_the_old_one_back():
    cut = [container(policy="no", status="exited")]
    assert undo(*cut, at="verify X.next") == [
        "stop X.next",
        "rename X.next to X.failed",
        "remove X.next",
        "start X",
        "set restart of X to unless-stopped",
    ]


def test_cut_after_policy_the_undo_restores_it():
    cut = [container(policy="no")]
    assert undo(*cut, at="verify X.next") == [
        "stop X.next",
        "rename X.next to X.failed",
        "start X",
        "set restart of X to unless-stopped",
        "remove X.next",
    ]


def test_a_container_that_a_person_stopped_is_not_started_by_an_undo():
    assert "start X" not in undo(container(status="exited"), at="verify X.next")


def test_a_renamed_unit_is_swapped_under_its_new_name():
    assert plan(container("older-name"))[-2:] == ["rename older-name to X.prev-1", "rename X.next to X"]
