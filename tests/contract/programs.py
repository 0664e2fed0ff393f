"""Small programs, each as a shell script for the real engine and as the behaviour of a fake container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.fakes.behaviour import Behaviour


@dataclass(frozen=True)
class Program:
    """What runs in a container: `script` in busybox, `behaviour` in the fake."""

    script: str
    behaviour: Behaviour


#: Says `up` and leaves at SIGTERM, with 0.
SERVER = Program(
    "trap 'exit 0' TERM; echo up; sleep 1000 & wait",
    Behaviour(lines=((0.0, "up\n"),)),
)
#: Never listens to SIGTERM: process number 1 without a handler, as a llama-server that loads.
DEAF = Program(
    "echo loading; sleep 1000; echo never",
    Behaviour(lines=((0.0, "loading\n"),), ready_at_s=None),
)
#: Leaves at the second SIGTERM.
BUSY = Program(
    "n=0; trap 'n=$((n+1)); echo signal $n; [ $n -lt 2 ] || exit 1' TERM; echo up; while :; do sleep 1000 & wait; done",
    Behaviour(lines=((0.0, "up\n"),), term_signals=2, term_exit_code=1),
)
#: Two lines and an error soon: the engine may stamp the lines of a process that ends at once after its end.
QUICK = Program(
    "echo one; echo two; sleep 0.3; exit 3",
    Behaviour(lines=((0.0, "one\n"), (0.0, "two\n")), exit_at_s=0.31, exit_code=3),
)
#: One line, a pause, another line, and a good end.
SLOW = Program(
    "echo first; sleep 0.5; echo second",
    Behaviour(lines=((0.0, "first\n"), (0.5, "second\n")), exit_at_s=0.51),
)
#: Crashes soon.
CRASH = Program(
    "echo run; sleep 0.1; exit 3",
    Behaviour(lines=((0.0, "run\n"),), exit_at_s=0.1, exit_code=3),
)
#: Ignores SIGTERM and crashes by itself later: not before somebody has sent that.
STUBBORN = Program(
    "trap '' TERM; echo up; sleep 5; exit 5",
    Behaviour(lines=((0.0, "up\n"),), ready_at_s=None, exit_at_s=5.0, exit_code=5),
)
#: Takes memory until the kernel ends that, and lives on for a moment: at its very end the engine may miss the why.
HOG = Program(
    "echo eating; tail /dev/zero; code=$?; sleep 0.5; exit $code",
    Behaviour(lines=((0.0, "eating\n"),), exit_at_s=0.7, exit_code=137, oom_killed=True),
)
#: A program that the image does not have.
MISSING_PROGRAM = "/homellm-test-no-such-program"
MISSING = Program(
    "missing",
    Behaviour(
        start_error="failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
        f'container process: exec: "{MISSING_PROGRAM}": stat {MISSING_PROGRAM}: no such file or directory: unknown'
    ),
)

_ALL = (SERVER, DEAF, BUSY, QUICK, SLOW, CRASH, STUBBORN, HOG, MISSING)


def behave(image: str, args: tuple[str, ...], env: Mapping[str, str]) -> Behaviour:
    """The behaviour whose script stands in the arguments."""
    return next(program.behaviour for program in _ALL if program.script == args[-1])
