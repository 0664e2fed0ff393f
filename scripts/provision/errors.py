"""The one way in which provisioning fails: what happened, and what to type next."""

from __future__ import annotations

import sys
from collections.abc import Callable


class ProvisionError(Exception):
    """Something that is needed cannot be had; `hint` is what to type or change next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def report(message: str) -> None:
    """Progress goes to stderr: stdout carries results only."""
    print(message, file=sys.stderr, flush=True)


def run_main(main: Callable[[], None]) -> None:
    """Run a script's main; end with exit 1 and two plain lines on a ProvisionError, with 130 on Ctrl-C."""
    try:
        main()
    except ProvisionError as error:
        report(f"failed: {error}\n  next: {error.hint}")
        sys.exit(1)
    except KeyboardInterrupt:
        report("interrupted; nothing half-made was left behind")
        sys.exit(130)
