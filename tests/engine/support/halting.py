"""homellm in a process that sends itself a signal at one call of the engine: `python halting.py WHERE ARGUMENTS…`.

WHERE is `METHOD:N:WHEN:SIGNAL`: at the N-th call of that method of the engine adapter (`post`: of the one that asks
llama-servers), `before` or `after` its effect, the process gets that signal. SIGKILL ends it there; SIGINT is Ctrl-C,
and it goes on as homellm decides; after SIGSTOP it stands still until SIGCONT. Calls about probes, the throwaway
containers that ask an image for its flags, are not counted.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def halt_at(where: str) -> None:
    """Put the signal in place."""
    from homellm.adapters.docker_engine import DockerEngine  # noqa: PLC0415 - after the arguments are read
    from homellm.adapters.http import HttpClient  # noqa: PLC0415

    method, number, when, name = where.split(":")
    adapter: type = HttpClient if method == "post" else DockerEngine
    usual: Callable[..., Any] = getattr(adapter, method)
    count = itertools.count(1)

    def halting(self: object, *arguments: Any, **named: Any) -> Any:
        probing = any(str(argument).startswith("homellm-probe-") for argument in arguments)
        due = not probing and next(count) == int(number)
        if due and when == "before":
            os.kill(os.getpid(), getattr(signal, name))
        try:
            return usual(self, *arguments, **named)
        finally:
            if due and when == "after":
                os.kill(os.getpid(), getattr(signal, name))

    setattr(adapter, method, halting)


if __name__ == "__main__":
    halt_at(sys.argv[1])
    sys.argv = ["homellm", *sys.argv[2:]]
    from homellm.cli.main import run

    run()
