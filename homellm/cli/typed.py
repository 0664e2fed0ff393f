"""How commands in messages are to be typed, as this command line was."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from homellm.cli.stack_file import locate

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.report.commands import Commands


def commands(given: Common, environ: Mapping[str, str] = os.environ) -> Commands:
    """Commands name the stack file that was given by option, unless they would find the same one without it."""
    from homellm.report.commands import Commands

    named = given.file
    return Commands(str(named) if named is not None and named != locate(None, environ) else None)
