"""`down` of a whole stack, and of some of its models."""

from __future__ import annotations

import pytest

from homellm.deploy.down import down
from homellm.deploy.scope import Scope
from homellm.domain.events import Note
from homellm.domain.stack import Source
from homellm.errors import UsageError
from tests.unit.deploy.lab import Lab, model

DECLARED = ("smol", "helper", "idle")


@pytest.fixture
def lab():
    """Two models that run, one of which was replaced, and one whose model left the file."""
    lab = Lab()
    helper = model(name="helper", port=8082, source=Source("gguf", "", model().source.path))
    gone = model(name="gone", port=8083)
    lab.up(model(), helper, gone)
    lab.up(model(parallel=2), helper)
    assert names(lab) == {"nuc-smol", "nuc-smol.prev-1", "nuc-helper", "nuc-gone"}
    return lab


def names(lab):
    return {container.name for container in lab.ports().engine.list_containers({})}


def taken_down(lab, *only):
    return down("nuc", lab.ports(), lab.options, Scope(), lab.events.append, only, DECLARED)


def networks(lab):
    return {network.name for network in lab.ports().engine.list_networks({})}


def test_all_of_it_with_its_network(lab):
    report = taken_down(lab)
    assert (names(lab), networks(lab)) == (set(), {"bridge"})
    assert "homellm-nuc" in report.removed


def test_one_model_with_what_is_kept_of_it_and_nothing_else(lab):
    report = taken_down(lab, "smol")
    assert report.removed == ("nuc-smol", "nuc-smol.prev-1")
    assert names(lab) == {"nuc-helper", "nuc-gone"}
    assert "homellm-nuc" in networks(lab)
    assert report.exit_code == 0


def test_a_model_that_left_the_file_can_be_named_too(lab):
    assert taken_down(lab, "gone").removed == ("nuc-gone",)


def test_a_declared_model_without_a_container_is_no_error(lab):
    report = taken_down(lab, "idle")
    assert (report.removed, report.exit_code) == ((), 0)
    notes = [event.text for event in lab.events if isinstance(event, Note)]
    assert notes[-1].startswith("there is no container of idle;")
    assert len(names(lab)) == 4


def test_a_name_that_nobody_knows_removes_nothing(lab):
    with pytest.raises(UsageError) as caught:
        taken_down(lab, "smol", "helpr")
    assert caught.value.problems[0].hint == "Did you mean helper?"
    assert len(names(lab)) == 4
