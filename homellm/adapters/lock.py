"""One `up` at a time for each stack of an engine, on this machine.

The lock is an abstract Unix socket (unix(7)): it has no file that could be left behind, the kernel frees it with the
process that holds it however that ends, and SO_PEERCRED of a connection to it names that process. It holds across
users, within one network namespace.
"""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path
from types import TracebackType

from homellm.domain.lock_name import lock_name
from homellm.domain.world import EngineInfo
from homellm.errors import Locked

#: Connections that ask who holds the lock are never accepted; beyond this many the holder stays unnamed.
_BACKLOG = 128
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: struct ucred
_TRIES = 5


class StackLock:
    """The lock of one stack on one engine: a context manager; `acquire` and `release` do the same by hand.

    It is held as long as this object lives. `proc` is where the holder's command line is read.
    """

    def __init__(self, engine: EngineInfo, stack: str, *, proc: Path = Path("/proc")) -> None:
        self._stack = stack
        self._proc = proc
        self._address = f"\0{lock_name(engine.id, engine.root_dir, stack)}"
        self._socket: socket.socket | None = None

    @property
    def name(self) -> str:
        """The socket's name, as `ss -xl` shows it after an `@`."""
        return self._address[1:]

    def acquire(self) -> None:
        """Take the lock or raise Locked, which names the process that holds it. Never waits."""
        holder: int | None = None
        for _ in range(_TRIES):
            if self._bind():
                return
            try:
                holder = self._holder()
            except ConnectionRefusedError:
                continue  # it has ended between the two calls, or does not listen yet
            break
        raise Locked(
            f"Another homellm is at work on the stack {self._stack}: {self._describe(holder)}.",
            hint=f"Wait until it has ended, or end it: kill {holder}" if holder else "Wait until it has ended.",
        )

    def release(self) -> None:
        """Give the lock back; without it nothing happens."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> StackLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _bind(self) -> bool:
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            bound.bind(self._address)
            bound.listen(_BACKLOG)
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE:
                return False
            raise
        self._socket = bound
        return True

    def _holder(self) -> int | None:
        """The pid of the process that listens; None when it cannot be told. Raises ConnectionRefusedError."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.setblocking(False)
            try:
                asking.connect(self._address)
            except BlockingIOError:
                return None  # too many have asked already
            raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid: int = _CREDENTIALS.unpack(raw)[0]
            return pid or None  # 0: a process of another pid namespace

    def _describe(self, pid: int | None) -> str:
        if pid is None:
            return "its process cannot be told from here"
        try:
            words = (self._proc / str(pid) / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return f"process {pid}"
        line = " ".join(word.decode("utf-8", "replace") for word in words if word)
        return f"process {pid} ({line})" if line else f"process {pid}"
