"""homellm in a process that sends itself a signal at one call of an adapter: `python halting.py WHERE ARGUMENTS…`.

WHERE is `METHOD:N:WHEN:SIGNAL`: at the N-th call of that method of the engine adapter, `before` or `after` its effect,
the process gets that signal. SIGKILL ends it there; SIGINT is Ctrl-C, and it goes on as homellm decides; after SIGSTOP
it stands still until SIGCONT. With HANG in the place of a signal that call alone never comes back, and `halted` is said
on stderr. Calls about probes, the throwaway containers that ask an image for its flags, are not counted.

Other adapters have these: `post` asks a llama-server, `upload` is told of each MiB that was sent to an Ollama (after
Ctrl-C no more is sent until homellm gives it up, as by a slow disk), and `line` of each line of a pull or a create.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

#: A guard against hanging: what is waited for comes as soon as Ctrl-C is heeded.
GIVEN_UP_S = 120


def adapter_of(method: str) -> tuple[type, str]:
    """The class of an adapter and its method that WHERE means."""
    from homellm.adapters.docker_engine import DockerEngine  # noqa: PLC0415 - after the arguments are read
    from homellm.adapters.http import HttpClient  # noqa: PLC0415
    from homellm.adapters.ollama_api import BlobCounter  # noqa: PLC0415
    from homellm.adapters.ollama_upload import Upload  # noqa: PLC0415

    others: dict[str, tuple[type, str]] = {
        "post": (HttpClient, "post"),
        "upload": (Upload, "_tell"),
        "line": (BlobCounter, "take"),
    }
    return others.get(method, (DockerEngine, method))


def halt_at(where: str) -> None:
    """Put the signal in place."""
    method, number, when, name = where.split(":")
    adapter, attribute = adapter_of(method)
    usual: Callable[..., Any] = getattr(adapter, attribute)
    count = itertools.count(1)

    def halting(self: Any, *arguments: Any, **named: Any) -> Any:
        probing = any(str(argument).startswith("homellm-probe-") for argument in arguments)
        due = not probing and next(count) == int(number)
        if due and when == "before":
            _halt(name)
        try:
            return usual(self, *arguments, **named)
        finally:
            if due and when == "after":
                _halt(name)
            if due and method == "upload":
                self._closed.wait(GIVEN_UP_S)

    setattr(adapter, attribute, halting)


def _halt(name: str) -> None:
    if name == "HANG":
        sys.stderr.write("halted\n")
        sys.stderr.flush()
        threading.Event().wait()
    os.kill(os.getpid(), getattr(signal, name))


if __name__ == "__main__":
    halt_at(sys.argv[1])
    sys.argv = ["homellm", *sys.argv[2:]]
    from homellm.cli.main import run

    run()
