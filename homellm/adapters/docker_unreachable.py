"""Why no engine answers: not there, not permitted, silent, or looked for in the wrong place. Each has its own words."""

from __future__ import annotations

import ssl

from homellm.adapters.docker_address import Address
from homellm.errors import EngineUnreachable, HomellmError, TooManyFiles, chain

_INSTALL = "https://docs.docker.com/engine/install/"
_START = f"Start it: sudo systemctl start docker (not installed yet? {_INSTALL})"


def unreachable(address: Address, error: BaseException, *, timeout_s: float) -> HomellmError:
    """The error for people, from what the client library raised when it called the engine at `address`.

    EngineUnreachable, unless it is this process that may open no connection.
    """
    if TooManyFiles.caused(error):
        return TooManyFiles()
    cause = _root(error)
    if isinstance(cause, PermissionError):
        return _not_permitted(address)
    if timed_out(error):
        return _silent(address, timeout_s)
    if isinstance(cause, ssl.SSLError):
        return EngineUnreachable(
            f"{_where(address)} does not take our TLS connection, or we do not take its certificate: {cause}.",
            hint="Look at DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or the certificates of the context.",
            id="engine-tls",
        )
    if address.origin:
        return _elsewhere(address, cause or error)
    return _not_running(address, cause)


def not_an_engine(address: Address, answer: str) -> EngineUnreachable:
    """Somebody answers, and not as a Docker Engine does."""
    return EngineUnreachable(
        f"{_where(address)} answers, but not as a Docker Engine that homellm can use: {answer}",
        hint="Does docker version work? Docker Engine 20.10 or newer is needed.",
        id="engine-odd-answer",
    )


def no_ssh_support(address: Address) -> EngineUnreachable:
    """The ssh part of the client library is not installed."""
    return EngineUnreachable(
        f"{_where(address)} is reached by ssh, for which a part of the Docker client is not installed.",
        hint="Install it beside homellm: pip install 'docker[ssh]'",
        id="engine-ssh",
    )


def _not_running(address: Address, cause: OSError | None) -> EngineUnreachable:
    socket = address.socket
    if isinstance(cause, FileNotFoundError | NotADirectoryError):
        why = f"there is no socket {socket}"
    elif isinstance(cause, ConnectionRefusedError):
        why = f"nobody listens on {socket}"
    else:
        why = f"the connection to {socket} breaks off" + (f" ({_words(cause)})" if cause else "")
    hint = _START
    if address.rootless:
        hint = f"A rootless engine of yours seems to run: export DOCKER_HOST=unix://{address.rootless}. Or: {hint}"
    return EngineUnreachable(f"No Docker Engine is running here: {why}.", hint=hint, id="engine-not-running")


def _not_permitted(address: Address) -> EngineUnreachable:
    place = address.socket or address.url
    chosen = f", which {address.origin} names" if address.origin else ""
    return EngineUnreachable(
        f"You are not allowed to use the Docker Engine: no permission on {place}{chosen}.",
        hint="Join its group and log in anew: sudo usermod -aG docker $USER. Or run this with sudo.",
        id="engine-permission",
    )


def _silent(address: Address, timeout_s: float) -> EngineUnreachable:
    return EngineUnreachable(
        f"{_where(address)} does not answer: nothing came within {timeout_s:g} s.",
        hint=f"{address.undo} goes back to this machine's engine."
        if address.origin
        else "Is it hung? sudo systemctl status docker; sudo journalctl -u docker -n 50",
        id="engine-silent",
    )


def _elsewhere(address: Address, cause: BaseException) -> EngineUnreachable:
    origin = address.origin[:1].upper() + address.origin[1:]
    return EngineUnreachable(
        f"{origin} points at {address.url}, where no engine answers: {_words(cause)}.",
        hint=f"{address.undo} goes back to this machine's engine; docker context ls shows all that are known.",
        id="engine-elsewhere",
    )


def _where(address: Address) -> str:
    named = f", which {address.origin} names," if address.origin else ""
    return f"The engine at {address.url}{named}"


def _words(error: BaseException | None) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip() or type(error).__name__


def _root(error: BaseException) -> OSError | None:
    """The operating system's own error at the bottom of what the layers of the client made of it."""
    return next((one for one in chain(error) if isinstance(one, OSError) and one.errno is not None), None)


def timed_out(error: BaseException) -> bool:
    """Whether a time limit is what ended a call."""
    # A full queue of a Unix socket that nobody accepts from shows as EAGAIN.
    return any(
        isinstance(one, TimeoutError | BlockingIOError)
        or type(one).__name__ in ("ReadTimeout", "ReadTimeoutError", "ConnectTimeout", "ConnectTimeoutError")
        or "Read timed out" in str(one)
        for one in chain(error)
    )
