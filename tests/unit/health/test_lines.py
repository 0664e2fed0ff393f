from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from homellm.health.lines import LINE_LIMIT, Line, LineDecoder, LineSplitter, clean

SLOTS = "srv    load_model: initializing, n_slots = 3, n_ctx_slot = 2048, kv_unified = 'false'"
OWN = "0.00.508.504 I "


def split(*frames: bytes, limit: int = LINE_LIMIT) -> list[bytes]:
    splitter = LineSplitter(limit)
    lines = [line for frame in frames for line in splitter.feed(frame)]
    return lines + splitter.close()


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6), st.integers(1, 40))
@example(b"a\r\nb\rc\n\nd", [2, 3], 40)
@example(b"\r\n" * 3, [1, 3, 5], 40)
@example("Überlänge\n".encode(), [1, 9], 4)
def test_lines_do_not_depend_on_how_the_log_is_cut(log: bytes, cuts: list[int], limit: int) -> None:
    places = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    frames = [log[begin:end] for begin, end in pairwise(places)]
    assert split(*frames, limit=limit) == split(log, limit=limit)


def test_every_kind_of_line_end_ends_a_line() -> None:
    assert split(b"one\ntwo\r\nthree\rfour\n\nsix") == [b"one", b"two", b"three", b"four", b"", b"six"]


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    chunk = b"x" * LINE_LIMIT
    assert split(chunk, chunk, b"y\nnext\n") == [chunk, b"next"]


def test_a_line_without_end_takes_no_more_memory_than_the_limit() -> None:
    splitter = LineSplitter(limit=100)
    for _ in range(1000):
        assert splitter.feed(b"z" * 64) == []
    assert splitter.close() == [b"z" * 100]


def test_text_cut_inside_a_character_is_whole_again() -> None:
    decoder = LineDecoder()
    data = "Größe ✔\nweiter".encode()
    lines = [line for byte in data for line in decoder.feed(bytes([byte]))]
    assert lines + decoder.finish() == ["Größe ✔", "weiter"]


def test_what_is_no_utf8_is_replaced_and_never_an_error() -> None:
    assert LineDecoder().feed(b"\xff\xfe\x00\n") == ["\ufffd\ufffd\x00"]


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "2026-11-30T12:03:41.123456789Z ",
        "2026-11-30T12:03:41.123456+01:00 ",
        "nuc-lfm2.5-1  | ",
        "lfm2.5 | 2026-11-30T12:03:41.123456789Z ",
        "Nov 30 12:03:41 nuc docker[4711]: ",
        "Nov 30 12:03:41 nuc llama-server: ",
        "2026-11-30T12:03:41+0100 nuc llama-server[4711]: ",
        "2026-05-14 22:14:32.413 | ",
        "> ",
        "\x1b[36mlfm2.5-1  | \x1b[0m",
    ],
)
@pytest.mark.parametrize(
    ("own", "stamped"),
    [
        (OWN, True),
        ("", False),
        ("I ", True),
        ("\x1b[34m0.00.508.504\x1b[0m \x1b[32mI \x1b[0m", True),
        ("12.34.508.504 W ", True),
    ],
)
def test_prefixes_are_taken_off(prefix: str, own: str, stamped: bool) -> None:
    (line,) = clean(prefix + own + SLOTS)
    assert (line.text, line.stamped, line.source) == (SLOTS, stamped, "")


@pytest.mark.parametrize("name", ["nuc-lfm2.5-1", "qwen3:0.6b", "org/model", "a"])
def test_a_container_is_known_by_the_name_before_its_lines(name: str) -> None:
    assert clean(f"{name}   | {OWN}{SLOTS}") == (Line(SLOTS, stamped=True, origin=name),)
    assert clean(f"{name} | [39699] {OWN}{SLOTS}") == (Line(SLOTS, stamped=True, source="39699", origin=name),)


def test_the_memory_table_is_not_taken_for_a_containers_name() -> None:
    table = "common_memory_breakdown_print: |   - Host |    194 =    28 +     135 +      31 |"
    assert clean(OWN + table) == (Line(table, stamped=True),)
    assert clean(table) == (Line(table),)


def test_a_router_tells_its_children_by_port() -> None:
    assert clean(f"[39699] {OWN}{SLOTS}") == (Line(SLOTS, stamped=True, source="39699"),)


def test_an_empty_line_is_no_line() -> None:
    assert clean("") == clean("   ") == clean("2026-11-30T12:03:41.123456789Z ") == ()


def test_a_line_of_the_json_log_is_the_message_in_it() -> None:
    entry = {"type": "log", "time": 768338, "level": "info", "msg": SLOTS + "\n"}
    assert clean(json.dumps(entry)) == (Line(SLOTS, stamped=True),)


def test_a_message_of_several_lines_is_several_lines() -> None:
    entry = {"type": "log", "time": 1, "level": "warn", "msg": "warning: failed to mlock\nTry increasing\n"}
    assert clean(json.dumps(entry)) == (Line("warning: failed to mlock", stamped=True), Line("Try increasing"))


def test_the_json_log_of_2024_has_its_numbers_as_keys() -> None:
    entry = {"tid": "1", "timestamp": 2, "level": "INFO", "function": "init", "line": 702, "msg": "initializing slots"}
    assert clean(json.dumps(entry | {"n_slots": 4}))[0].text == "initializing slots | n_slots=4"


def test_the_engines_own_file_wraps_each_line_once_more() -> None:
    assert clean(json.dumps({"log": OWN + SLOTS + "\n", "stream": "stderr", "time": "x"})) == (
        Line(SLOTS, stamped=True),
    )
    inner = json.dumps({"type": "log", "time": 1, "level": "info", "msg": SLOTS + "\n"})
    assert clean(json.dumps({"log": inner, "stream": "stdout"})) == (Line(SLOTS, stamped=True),)


def test_the_journal_as_json_wraps_it_too() -> None:
    assert clean(json.dumps({"MESSAGE": OWN + SLOTS, "_PID": "4711"})) == (Line(SLOTS, stamped=True),)


def test_the_memory_table_of_the_json_log_is_the_table_of_the_plain_one() -> None:
    row = {"kind": "device", "name": "Vulkan0", "description": "Iris Xe", "total": 24105, "free": 23600}
    row |= {"self": 69, "model": 47, "context": 6, "compute": 15, "unaccounted": 435}
    entry = {"type": "fit_memory_breakdown", "data": {"unit": "MiB", "rows": [row]}}
    assert [line.text for line in clean(json.dumps(entry))][1] == (
        "common_memory_breakdown_print: |   - Vulkan0 (Iris Xe) | 24105 = 23600 + (69 = 47 + 6 + 15) + 435 |"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{not json",
        '{"a": 1}',
        "[1, 2]",
        '{"log": 3}',
        '{"type": "fit_memory_breakdown", "data": {"rows": [1, {"name": null}]}}',
        '{"type": "fit_memory_breakdown"}',
        "{" * 100_000,
        '{"a":' * 60_000,
    ],
)
def test_json_that_is_no_logs_is_no_error(text: str) -> None:
    assert isinstance(clean(text), tuple)


@given(st.text(max_size=300))
def test_cleaning_never_fails(text: str) -> None:
    assert all(line.text for line in clean(text))
