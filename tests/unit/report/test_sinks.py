"""The event sinks: plain lines for a pipe, redrawn lines for a terminal, and streams that are gone."""

from __future__ import annotations

import errno
import io
from dataclasses import replace

import pytest

from homellm.domain.events import (
    Event,
    ModelFinished,
    Note,
    Progress,
    StackFinished,
    StackOpened,
    StepFinished,
    StepStarted,
)
from homellm.domain.steps import CreateNetwork, PullImage, PullModel, StartContainer
from homellm.domain.verdicts import State
from homellm.report.plain import PlainSink
from homellm.report.stream import Output, coloured, wants_colour
from homellm.report.terminal import TerminalSink
from tests.unit.report.examples import CUT_SHORT, EMBED, MOVED, stack

NETWORK = CreateNetwork(target="homellm-nuc", cause="it is not there")
START = StartContainer(target="nuc-embed.next", cause="ctx changed", model="embed")
HAPPENINGS: tuple[Event, ...] = (
    StackOpened("nuc", ("lfm2.5", "embed"), ("Docker 27.1",)),
    StepStarted(NETWORK),
    StepFinished(NETWORK),
    Progress("lfm2.5", "pulling", done_bytes=0, total_bytes=1000),
    Progress("lfm2.5", "pulling", done_bytes=10, total_bytes=1000),
    Progress("lfm2.5", "pulling", done_bytes=600, total_bytes=1000),
    StepStarted(START),
    StepFinished(START),
    Progress("embed", "loading", "12 MiB read"),
    Progress("embed", "loading", "40 MiB read"),
    Note("a limit was discarded", model="embed", warning=True),
    ModelFinished(EMBED),
    ModelFinished(replace(CUT_SHORT)),
    StackFinished(stack(EMBED, CUT_SHORT)),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error
        self.tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise self.error


def test_plain_lines_tell_each_happening_once() -> None:
    stream = io.StringIO()
    sink = PlainSink(Output(stream))
    with sink:
        for event in HAPPENINGS:
            sink.emit(event)
        sink.interrupting("interrupted")
    assert stream.getvalue() == (
        "nuc  2 models · Docker 27.1\n"
        "create-network homellm-nuc: it is not there\n"
        "lfm2.5  pulling 0 % of 1000 bytes\n"
        "lfm2.5  pulling 60 % of 1000 bytes\n"
        "embed  start nuc-embed.next: ctx changed\n"
        "embed  loading, 12 MiB read\n"
        "embed  warning: a limit was discarded\n"
        "embed  verified, ready after 3 s\n"
        "lfm2.5  failed\n"
        "interrupted\n"
        "\n"
    )


def test_plain_happenings_are_set_apart_from_the_table_and_a_headline_alone_is_not() -> None:
    stream = io.StringIO()
    with PlainSink(Output(stream)) as sink:
        sink.emit(StackOpened("nuc", ("m",)))
    assert stream.getvalue() == "nuc  1 model\n"


def terminal_lines(*events: Event, width: int = 100, now: float = 12.0) -> list[str]:
    times = iter([0.0, now])
    sink = TerminalSink(Output(Terminal()), monotonic=lambda: next(times, now))
    for event in events:
        sink.emit(event)
    return sink.lines(width)


def test_a_terminal_shows_one_line_for_each_model() -> None:
    opened = StackOpened("nuc", ("lfm2.5", "embed"))
    lines = terminal_lines(opened, Progress("lfm2.5", "loading", "1.2 GiB read"))
    assert lines[0][1:] == " lfm2.5   loading, 1.2 GiB read   12 s"
    assert lines[1] == "  embed    waiting"


def test_a_finished_model_has_its_line_of_the_table_and_a_failed_one_its_first() -> None:
    failed = replace(CUT_SHORT, name="b", notes=())
    lines = terminal_lines(
        StackOpened("nuc", ("embed", "b", "long-name")), ModelFinished(EMBED), ModelFinished(failed), width=200
    )
    assert lines == [
        "✔ embed       llama-server   4 × 2048   Iris Xe, Vulkan   http://127.0.0.1:11436/v1   3 s",
        "✘ b           model file is cut short (98 of 1597 MB). Next: homellm pull lfm2.5",
        "  long-name   waiting",
    ]


def test_a_line_never_wraps_and_keeps_its_time() -> None:
    lines = terminal_lines(
        StackOpened("nuc", ("lfm2.5", "m")), Progress("lfm2.5", "loading", "x" * 99), ModelFinished(MOVED), width=40
    )
    assert [len(line) for line in lines] == [40, len("  m        waiting")]
    running = terminal_lines(StackOpened("nuc", ("m",)), Progress("m", "loading", "x" * 99), width=40)[0]
    assert len(running) == 40
    assert running.endswith("x…   12 s")


def test_steps_of_the_whole_stack_have_a_line_while_they_last() -> None:
    opened = StackOpened("nuc", ("m",))
    assert terminal_lines(opened, StepStarted(NETWORK))[0][1:] == " create-network homellm-nuc"
    assert len(terminal_lines(opened, StepStarted(NETWORK), StepFinished(NETWORK))) == 1


def test_the_screen_is_clean_and_the_cursor_back_when_the_sink_is_left() -> None:
    stream = Terminal()
    with TerminalSink(Output(stream)) as sink:
        for event in HAPPENINGS:
            sink.emit(event)
        sink.interrupting("interrupted, undoing")
    text = stream.getvalue()
    assert text.index("\x1b[?25l") < text.rindex("\x1b[?25h")
    assert "nuc  2 models · Docker 27.1" in text
    assert "embed  warning: a limit was discarded" in text
    assert "interrupted, undoing" in text
    assert text.endswith("\x1b[2K")  # the last redrawn line is erased


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(errno.EIO, "gone"), OSError(errno.ENOSPC, "full")])
def test_a_stream_that_fails_never_ends_a_deployment(error: OSError) -> None:
    stream = Broken(error)
    output = Output(stream)
    sink = PlainSink(output)
    for event in HAPPENINGS:
        sink.emit(event)
    assert stream.tries == 1
    assert output.broken == (error.errno != errno.ENOSPC)
    assert output.failure is (error if error.errno == errno.ENOSPC else None)


def test_a_terminal_that_goes_away_does_not_either() -> None:
    class Gone(Broken):
        def isatty(self) -> bool:
            return True

    output = Output(Gone(OSError(errno.EIO, "gone")))
    with TerminalSink(output) as sink:
        for event in HAPPENINGS:
            sink.emit(event)
    assert output.broken


def test_a_closed_stream_is_nobody_reading() -> None:
    stream = io.StringIO()
    stream.close()
    output = Output(stream)
    output.write("x")
    assert output.broken
    assert not wants_colour(stream, {}, no_color=False)


def test_only_marks_are_coloured() -> None:
    assert coloured("✔ a ✔\n✘ b\nplain\n") == "\x1b[32m✔\x1b[0m a ✔\n\x1b[31m✘\x1b[0m b\nplain\n"


def test_an_ascii_stream_gets_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Output(stream).write("✔ a   3 × 2\n")
    assert raw.getvalue() == b"+ a   3 x 2\n"


@pytest.mark.parametrize(
    ("environ", "no_color", "wanted"),
    [
        ({"TERM": "xterm"}, False, True),
        ({"TERM": "xterm"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_when_colours_are_wanted(environ: dict[str, str], no_color: bool, wanted: bool) -> None:
    assert wants_colour(Terminal(), environ, no_color=no_color) is wanted
    assert not wants_colour(io.StringIO(), environ, no_color=no_color)


def test_states_that_no_table_of_up_should_meet_are_still_told() -> None:
    stopped = replace(EMBED, state=State.STOPPED, ready_s=None)
    line = terminal_lines(StackOpened("nuc", ("embed",)), ModelFinished(stopped), width=200)[0]
    assert line.startswith("– embed")
    assert line.endswith("stopped")


MIB = 1024**2
IMAGE_NEWS = Progress("a", "pulling", "Downloading", 5 * MIB, 10 * MIB, "image:1")
FILE = PullModel(target="hf:o/r:Q8_0", model="a", cause="the model is not here: 100 MiB")


def test_plain_lines_tell_image_and_file_apart_with_their_rates() -> None:
    stream, moments = io.StringIO(), iter([0.0, 0.0, 4.0, 5.0])
    sink = PlainSink(Output(stream), monotonic=lambda: next(moments))
    for done in (0, 50):
        sink.emit(Progress("a", "pulling", "m.gguf", done * MIB, 100 * MIB, FILE.target))
        sink.emit(IMAGE_NEWS)
    assert stream.getvalue() == (
        "a  pulling 0 % of 100 MiB, m.gguf\n"
        "a  pulling 50 % of 10.0 MiB, Downloading\n"
        "a  pulling 50 % of 100 MiB, 12.5 MiB/s, 4 s left, m.gguf\n"
    )


def test_a_terminal_shows_image_and_file_in_one_line_until_each_is_here() -> None:
    now = [0.0]
    sink = TerminalSink(Output(Terminal()), monotonic=lambda: now[0])
    sink.emit(StackOpened("nuc", ("a",)))
    sink.emit(IMAGE_NEWS)
    for second in (0, 10):
        now[0] = second
        sink.emit(Progress("a", "pulling", "m.gguf", second * 5 * MIB, 100 * MIB, FILE.target))
    (line,) = sink.lines(200)
    assert "pulling 50 % of 10.0 MiB, Downloading · pulling 50 % of 100 MiB, 5.0 MiB/s, 10 s left, m.gguf" in line
    sink.emit(StepFinished(PullImage(target="image:1", model="a", cause="")))
    (line,) = sink.lines(200)
    assert "Downloading" not in line
    assert "pulling 50 % of 100 MiB" in line
    sink.emit(StepFinished(FILE))
    sink.emit(Progress("a", "loading"))
    (line,) = sink.lines(200)
    assert "loading" in line
    assert "pulling" not in line
