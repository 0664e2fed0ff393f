"""The entry point: read the command line, run the verb, and turn whatever ends it into an exit code."""

from __future__ import annotations

import gc
import sys

import typer

from homellm.cli.app import build
from homellm.cli.failures import tell_error, tell_fault, tell_interrupt, tell_usage
from homellm.cli.options import given_in
from homellm.cli.signals import Stopped, stopping
from homellm.cli.streams import finish
from homellm.cli.verbs import verb_in
from homellm.cli.wrong_words import in_our_words
from homellm.errors import ExitCode, HomellmError

#: The common root of all that the framework raises about a command line; of its kinds it exports this one alone.
_CommandLineError = typer.BadParameter.__mro__[2]


#: New objects until the garbage collector looks for cycles among them. A verb that only starts up makes half as many,
#: nearly all of them classes and functions that stay; a verb that runs for hours still gets its collections.
_COLLECT_EVERY = 200_000


def run() -> None:
    """`homellm`: the process.

    Loading is most of what a short verb does, and an eighth of that would be the collector's: it would go through all
    that was loaded again and again, and twice more at the end, to find nothing.
    """
    gc.set_threshold(_COLLECT_EVERY)
    code = finish(main(sys.argv[1:]))
    gc.freeze()  # what is left ends with the process: nobody need look through it once more
    sys.exit(code)


def main(argv: list[str]) -> int:
    """Run one command line; its exit code. Every error has been told when this returns."""
    try:
        with stopping():
            return int(build(verb_in(argv))(args=argv, prog_name="homellm", standalone_mode=False) or 0)
    except HomellmError as error:
        return tell_error(error, given_in(argv))
    except (Stopped, KeyboardInterrupt):
        return tell_interrupt(given_in(argv))
    except BrokenPipeError:
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - the last resort, told as what it is
        if isinstance(error, _CommandLineError):
            message = error.format_message()  # type: ignore[attr-defined]  # every one of them has it
            return tell_usage(in_our_words(message), _hint(verb_in(argv)), given_in(argv))
        return tell_fault(error, given_in(argv))


def _hint(verb: str | None) -> str:
    if verb is None:
        return "homellm --help lists the verbs, and each has its own --help."
    return f"homellm {verb} --help lists what {verb} takes."
