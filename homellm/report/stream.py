"""Where text goes: a stream that may be a terminal, may lack characters, and may be gone."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Mapping
from typing import TextIO

from homellm.report.encoding import fit
from homellm.report.words import FAIL, MARKS, NONE, PASS, UNKNOWN, WARN

#: ANSI colours of the marks; the rest of a line keeps the terminal's own.
MARK_COLOURS = {PASS: "32", FAIL: "31", WARN: "33", UNKNOWN: "33", NONE: "2"}
_MARK = re.compile(rf"^([{''.join(map(re.escape, MARKS))}])(?= )", re.MULTILINE)


def coloured(text: str) -> str:
    """`text` with the mark at the beginning of each line in its colour."""
    return _MARK.sub(lambda match: f"\x1b[{MARK_COLOURS[match[1]]}m{match[1]}\x1b[0m", text)


def wants_colour(stream: TextIO, environ: Mapping[str, str], *, no_color: bool) -> bool:
    """Whether marks are coloured: on a terminal that can, unless --no-color or NO_COLOR (no-color.org) say no."""
    return not no_color and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: TextIO) -> bool:
    """Whether people look at the stream; a closed one is none."""
    try:
        return stream.isatty()
    except ValueError:
        return False


class Output:
    """Text to a stream. Writing never raises: a reader that has gone must not end a deployment half way.

    `broken` tells that nobody reads any more, `failure` keeps another error of the stream (a full disk) for the end.
    """

    def __init__(self, stream: TextIO, *, colour: bool = False) -> None:
        self.stream = stream
        self.colour = colour
        self.broken = False
        self.failure: OSError | None = None

    def write(self, text: str) -> None:
        """Write and flush `text`, marks coloured, with what the stream cannot encode replaced."""
        self.write_raw(fit(coloured(text) if self.colour else text, self.stream.encoding))

    def write_now(self, text: str) -> None:
        """Write past the buffer: for a signal handler, which may have come in the middle of a write to this stream.

        Python forbids such a handler to write to the stream itself (`reentrant call inside BufferedWriter`).
        """
        try:
            descriptor = self.stream.fileno()
        except (OSError, ValueError):  # no file, so no buffer either
            self.write(text)
            return
        with contextlib.suppress(OSError):  # the next write finds out, and keeps, what is wrong
            os.write(descriptor, fit(text, self.stream.encoding).encode(self.stream.encoding, "replace"))

    def write_raw(self, text: str) -> None:
        """Write and flush `text` as it is."""
        if self.broken or self.failure:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except BrokenPipeError:
            self.broken = True
        except OSError as error:
            # A terminal that went away answers EIO; that is nobody reading, too.
            self.broken = error.errno == errno.EIO
            self.failure = None if self.broken else error
        except ValueError:  # the stream was closed
            self.broken = True
