"""What a run of a container loaded, by its label, its record and the times of its files."""

import json

import pytest

from homellm.domain.names import LABEL_FILES
from homellm.domain.world import NEVER, FileState
from homellm.planning.loaded_files import (
    as_rows,
    changed_since,
    differing,
    files_label,
    from_rows,
    likeness,
    loaded,
    made_for,
    weakest,
    with_samples,
)
from tests.unit.planning.build import container

SECOND_NS = 10**9
#: 2026-11-30 12:00 UTC, as `date -u -d 2026-11-30T12:00:00 +%s` tells it.
NOON_NS = 1_796_040_000 * SECOND_NS
NOON, TEN_BEFORE = "2026-11-30T12:00:00.000000000Z", "2026-11-30T11:50:00.123456789Z"
PATH = "/models/smol.gguf"
OLD = (FileState(PATH, 10, 1),)


def new(changed_s):
    """Another file, which came so many seconds after noon."""
    return (FileState(PATH, 20, 2, NOON_NS + round(changed_s * SECOND_NS)),)


def run(files=OLD, finished_at=NEVER):
    return container(labels=files_label(files), started_at=NOON, finished_at=finished_at)


class TestTheLabel:
    def test_comes_back_as_it_was(self):
        label = files_label((*OLD, FileState("/models/ö, [1].gguf", 0, 1_700_000_000_123_456_789, 5, (1, 2, 3), "ab")))
        row = ["/models/ö, [1].gguf", 0, 1_700_000_000_123_456_789, [1, 2, 3], "ab"]
        assert json.loads(label[LABEL_FILES])[1] == row
        first, second = made_for(container(labels=label))
        assert (first, first.inode, first.sample) == (OLD[0], (), "")
        assert [second.path, second.size_bytes, second.mtime_ns, list(second.inode), second.sample] == row

    def test_of_an_older_homellm_has_three_columns(self):
        (found,) = made_for(container(labels={LABEL_FILES: '[["/m", 10, 1]]'}))
        assert (found, found.inode, found.sample) == (FileState("/m", 10, 1), (), "")

    def test_is_left_out_where_nothing_is_known(self):
        assert files_label(()) == {}
        assert made_for(container()) is None

    @pytest.mark.parametrize(
        "text",
        ["", "{", "1", '{"a": 1}', '[["/m", 1]]', '[["/m", "1", 2]]', '[["/m", 1, 2, ["3"], ""]]', "[" * 10_000],
    )
    def test_that_somebody_damaged_tells_nothing(self, text):
        assert made_for(container(labels={LABEL_FILES: text})) is None

    def test_rows_of_a_record(self):
        assert from_rows(json.loads(json.dumps(as_rows(OLD)))) == OLD
        assert from_rows(None) is None


class TestLoaded:
    def test_the_record_of_this_run_leads(self):
        assert loaded(run(), new(-3600), OLD) == OLD

    def test_what_stood_there_before_the_run_was_loaded(self):
        assert loaded(run(), new(-2.001), None) == new(0)

    def test_what_came_at_the_moment_of_the_start_is_not_trusted(self):
        assert loaded(run(), new(-1.999), None) == OLD
        assert loaded(run(), new(60), None) == OLD

    def test_a_file_that_came_before_the_run_before_ended_was_loaded_by_the_next(self):
        """`mv new old && docker restart`: within a second."""
        ended = "2026-11-30T11:59:59.500000000Z"
        assert loaded(run(finished_at=ended), new(-0.6), None) == new(0)
        assert loaded(run(finished_at=ended), new(-0.4), None) == OLD

    def test_a_later_run_of_which_nothing_was_kept(self):
        """It may have loaded another file that stood there in between."""
        same = (FileState(PATH, 10, 1, NOON_NS + SECOND_NS),)
        assert loaded(run(finished_at=TEN_BEFORE), same, None) is None
        assert loaded(run(), same, None) == OLD

    def test_a_container_that_says_nothing(self):
        assert loaded(container(started_at=NOON), new(60), None) is None
        assert loaded(container(started_at=NOON), new(-60), None) == new(0)

    def test_a_time_that_is_none(self):
        assert loaded(container(labels=files_label(OLD), started_at="soon"), new(-60), None) == OLD


#: Device, inode and ctime of two files, and what samples of two contents are.
ONE, TWO, A, B = (1, 2, 3), (1, 2, 4), "aa", "bb"


class TestLikeness:
    @pytest.mark.parametrize(
        ("then", "now", "expected"),
        [
            ((ONE, A), (ONE, A), "untouched"),
            ((ONE, A), (ONE, ""), "untouched"),
            ((ONE, A), (TWO, A), "sampled"),
            ((ONE, A), (TWO, B), "other"),
            (((), A), ((), A), "sampled"),
            (((), A), ((), B), "other"),
            ((ONE, A), (TWO, ""), "dated"),
            ((ONE, ""), (TWO, A), "dated"),
            (((), ""), ((), ""), "dated"),
        ],
    )
    def test_of_one_size_and_date(self, then, now, expected):
        assert likeness(FileState(PATH, 10, 1, 0, *then), FileState(PATH, 10, 1, 9, *now)) == expected

    @pytest.mark.parametrize("other", [FileState(PATH, 11, 1, 0, ONE, A), FileState(PATH, 10, 2, 0, ONE, A)])
    def test_another_size_or_date_is_another_file(self, other):
        assert likeness(FileState(PATH, 10, 1, 0, ONE, A), other) == "other"
        assert likeness(None, other) == "other"

    def test_of_several_the_least_that_is_known(self):
        then = (FileState("/a", 1, 1, 0, ONE, A), FileState("/b", 1, 1, 0, ONE, A), FileState("/c", 1, 1))
        now = (FileState("/a", 1, 1, 0, ONE), FileState("/b", 1, 1, 0, TWO, A), FileState("/c", 1, 1, 0, TWO, A))
        assert [weakest(then[:n], now[:n]) for n in (1, 2, 3)] == ["untouched", "sampled", "dated"]
        assert weakest(then, (FileState("/a", 1, 1, 0, TWO, B), *now[1:])) == "other"

    def test_samples_are_taken_of_what_is_not_known_as_it_is(self):
        taken = []
        known = (FileState("/a", 1, 1, 0, ONE, A), FileState("/b", 1, 1, 0, ONE, A), FileState("/c", 1, 1, 0, (), A))
        now = (FileState("/a", 1, 1, 0, ONE), FileState("/b", 1, 1, 0, TWO), FileState("/c", 1, 1))
        found = with_samples(now, known, lambda path: taken.append(path) or B)
        assert [one.sample for one in found] == [A, B, B]
        assert taken == ["/b", "/c"]

    def test_a_swap_of_one_size_and_date_in_a_run_of_which_nothing_was_kept(self):
        then = (FileState(PATH, 10, 1, 0, ONE, A),)
        now = (FileState(PATH, 10, 1, NOON_NS + SECOND_NS, TWO, B),)
        assert loaded(run(then, finished_at=TEN_BEFORE), now, None) == then
        assert differing(loaded(run(then, finished_at=TEN_BEFORE), now, None), now) == (PATH,)


def test_files_that_differ():
    then = (FileState("/a", 1, 1), FileState("/b", 1, 1), FileState("/c", 1, 1, 5))
    now = (FileState("/a", 1, 2), FileState("/b", 2, 1), FileState("/c", 1, 1, 6))
    assert differing(then, now) == ("/a", "/b")


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("/m/a.gguf",), "a.gguf changed since the server loaded it"),
        (("/m/a.gguf", "/p/b.gguf"), "a.gguf and b.gguf changed since the server loaded them"),
        (("/a", "/b", "/c", "/d"), "a, b and 2 more changed since the server loaded them"),
    ],
)
def test_words(paths, words):
    assert changed_since(paths) == words
