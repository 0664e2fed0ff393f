"""Rates and times left, from bytes and moments that are given."""

import pytest

from homellm.domain.events import Progress
from homellm.report import words
from homellm.report.pace import Pace, Paces
from homellm.report.plain import progress_text

MIB = 1024**2


def paces(*news: tuple[float, int], total: int | None = 1000 * MIB) -> list[Pace | None]:
    """What is told after each news: (second, bytes)."""
    seen = Paces()
    return [seen.of(Progress("m", "pulling", done_bytes=done, total_bytes=total), at) for at, done in news]


def test_rate_and_time_left():
    assert paces((0, 0), (2, 20 * MIB))[-1] == Pace(10 * MIB, 98)


def test_the_first_second_tells_nothing():
    assert paces((0, 0), (0.9, 50 * MIB)) == [None, None]


def test_what_was_there_before_counts_for_nothing():
    assert paces((0, 900 * MIB), (5, 910 * MIB))[-1] == Pace(2 * MIB, 45)


def test_a_line_that_has_become_slow_is_noticed():
    news = [(second, min(second, 20) * 10 * MIB + max(second - 20, 0) * MIB) for second in range(41)]
    last = paces(*news)[-1]
    assert last is not None
    assert last.bytes_per_s == MIB


def test_a_line_that_stands_still_has_no_end():
    assert paces((0, MIB), (5, MIB))[-1] == Pace(0)


def test_bytes_thrown_away_begin_anew():
    assert paces((0, 500 * MIB), (5, 600 * MIB), (6, 0), (8, 10 * MIB))[-1] == Pace(5 * MIB, 198)


def test_without_a_total_there_is_no_end():
    assert paces((0, 0), (2, 2 * MIB), total=None)[-1] == Pace(MIB)


def test_transfers_are_told_apart():
    seen = Paces()
    image = Progress("m", "pulling", done_bytes=0, total_bytes=100, what="image")
    file = Progress("m", "pulling", done_bytes=50, total_bytes=100, what="file")
    assert [seen.of(image, 0), seen.of(file, 1), seen.of(image, 2)] == [None, None, Pace(0)]


def test_nothing_is_told_of_a_phase_without_bytes():
    assert Paces().of(Progress("m", "loading"), 0) is None


def test_in_words():
    event = Progress("m", "pulling", "tiny-Q8_0.gguf", done_bytes=340 * MIB, total_bytes=1000 * MIB)
    assert progress_text(event, Pace(11.25 * MIB, 58.7)) == (
        "pulling 34 % of 1000 MiB, 11.2 MiB/s, 59 s left, tiny-Q8_0.gguf"
    )
    assert progress_text(event, Pace(0)) == "pulling 34 % of 1000 MiB, 0 bytes/s, tiny-Q8_0.gguf"
    assert progress_text(event) == "pulling 34 % of 1000 MiB, tiny-Q8_0.gguf"


def test_of_bytes_nothing_is_said_where_none_are_known():
    event = Progress("m", "pulling", "the registry does not answer. Try 2 of 3", done_bytes=0, total_bytes=0)
    assert progress_text(event, Pace(0)) == "pulling, the registry does not answer. Try 2 of 3"
    assert progress_text(Progress("m", "pulling", "parsing GGUF", done_bytes=0)) == "pulling, parsing GGUF"
    assert progress_text(Progress("m", "pulling", done_bytes=0, total_bytes=1024)) == "pulling 0 % of 1 KiB"


@pytest.mark.parametrize(
    ("amount_s", "text"),
    [(0.2, "1 s"), (35.4, "35 s"), (89, "89 s"), (90, "2 min"), (700, "12 min"), (5300, "88 min"), (7500, "2 h 5 min")],
)
def test_time_left_is_no_finer_than_it_can_be_known(amount_s, text):
    assert words.left(amount_s) == text
