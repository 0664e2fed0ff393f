"""The process: the first help at once, everything else by the command line.

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
    if sys.argv[1:] in _HELP and _COMPLETION not in os.environ and sys.stdout is not None:
        _print_help()
    else:
        from homellm.cli.main import run as run_verb

        run_verb()


def _print_help() -> None:
    try:
        sys.stdout.write(HELP_PAGE)
        sys.stdout.flush()
    except (OSError, ValueError):
        from homellm.cli.streams import finish

        sys.exit(finish(0))  # tells a reader that has gone from a disk that is full
