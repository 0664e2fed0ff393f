"""The process: the first help at once, an `up` that finds all unchanged nearly so, everything else by the command line.

The framework of the command line takes longer to load than this page to print, and the page is what people meet first.
"""

from __future__ import annotations

import os
import sys

from homellm.cli.help_page import HELP_PAGE

#: Command lines that ask for nothing but the page.
_HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])
#: Set where a shell asks what could come next (see Typer's documentation of completion).
_COMPLETION = "_HOMELLM_COMPLETE"


def run() -> None:
    """`homellm`: the process."""
    try:
        _run()
    except KeyboardInterrupt:  # while it loads; what a verb does is interrupted in ways of its own
        _interrupted()


def _run() -> None:
    if sys.argv[1:] in _HELP and _COMPLETION not in os.environ and sys.stdout is not None:
        _print(HELP_PAGE)
        return
    unchanged = _unchanged()
    if unchanged is not None:
        _print(unchanged)
        return
    from homellm.cli.main import run as run_verb

    run_verb()


def _unchanged() -> bytes | None:
    """What an `up` prints that finds everything as an earlier one has left it; None for all else."""
    if "up" not in sys.argv:
        return None
    from homellm.unchanged.confirm import confirmed

    return confirmed(sys.argv[1:], os.environ, sys.stdout)


def _interrupted() -> None:
    """Tell that, in whatever of homellm can be loaded anew; a second Ctrl-C has nothing to add."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from homellm.cli.failures import tell_interrupt
    from homellm.cli.options import given_in
    from homellm.cli.streams import finish

    sys.exit(finish(tell_interrupt(given_in(sys.argv[1:]))))


def _print(text: str | bytes) -> None:
    try:
        if isinstance(text, str):
            sys.stdout.write(text)
        else:
            _write(text)
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        from homellm.cli.streams import unwritten

        sys.exit(unwritten(error))  # tells a reader that has gone from a disk that is full


def _write(data: bytes) -> None:
    """All of it: without a buffer (python -u) a write may take a part and say so."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
