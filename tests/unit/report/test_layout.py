"""Cells, columns and paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.report import words
from homellm.report.encoding import fit
from homellm.report.layout import cell_width, clean, columns, cut, flat, hang, pad, wrap


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("✔", 1), ("×", 1), ("🙂", 2), ("\u200bx", 1)],
)
def test_widths_as_terminals_draw_them(text: str, width: int) -> None:
    assert cell_width(text) == width
    assert cell_width(pad(text, 10)) == 10
    assert cell_width(pad(text, 10, right=True)) == 10


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert cell_width(cut(text, width)) <= width


@given(st.text())
def test_clean_text_is_one_printable_line(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in cleaned)


@given(st.text(alphabet="ab é日\t\n"), st.integers(min_value=1, max_value=30))
def test_wrapping_keeps_every_word_and_the_width(text: str, width: int) -> None:
    lines = wrap(text, width=width)
    assert [word for line in lines for word in line.split()] == text.split()
    assert all(cell_width(line) <= width or len(line.split()) == 1 for line in lines)


def test_columns_leave_out_what_is_empty_and_align_to_the_right() -> None:
    rows = [["a", "", "10 s"], ["bbb", "", "3 s"], ["c"]]
    assert flat(columns(rows, right=frozenset({2}))) == ["a     10 s", "bbb    3 s", "c"]
    assert columns([]) == []


def test_a_screen_too_narrow_for_a_row_stacks_the_cells() -> None:
    rows = [["✔ name", "llama-server", "3 × 2048", "http://127.0.0.1:1/v1"]]
    assert columns(rows, width=40) == [["✔ name", "    llama-server   3 × 2048", "    http://127.0.0.1:1/v1"]]


def test_paragraphs_hang_beside_their_name() -> None:
    assert hang("m", ["one two", "three"], width=None) == ["m  one two", "   three"]
    assert hang("a-very-long-name", ["one two three four"], width=30) == ["a-very-long-name", "    one two three four"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (False, "no"), (None, "–"), (3, "3"), (0.5, "0.5"), ("0-3", "0-3"), (32768, "32768")],
)
def test_native_values_in_words(value: str | int | float | bool | None, text: str) -> None:
    assert words.native(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (98362432, "93.8 MiB"), (1717986918, "1.6 GiB"), (2**50, "1024 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0.42, "0.4 s"), (3.04, "3 s"), (41.2, "41 s"), (599.4, "599 s"), (725, "12 min 5 s")]
)
def test_durations(amount: float, text: str) -> None:
    assert words.seconds(amount) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8", None])
def test_what_a_stream_cannot_encode_keeps_its_width(encoding: str | None) -> None:
    text = "✔ lfm2.5   3 × 32768 · 日本\n"
    fitted = fit(text, encoding)
    assert cell_width(fitted) == cell_width(text)
    assert fitted.encode(encoding or "utf-8")


def test_ascii_marks() -> None:
    assert fit("✔ ✘ ! ? – 3 × 2 · …", "ascii") == "+ x ! ? - 3 x 2 - ~"
    assert fit("file \udcff", "utf-8") == "file ?"
