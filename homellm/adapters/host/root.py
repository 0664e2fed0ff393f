"""Files below a root, with every symlink resolved within it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

#: As many links as the kernel follows before it says ELOOP.
_MOST_LINKS = 40

Stat = Callable[[Path], os.stat_result]


class HostRoot:
    """Reads /sys, /proc, /dev and /etc of a machine below `path`, which is `/` or where that machine is mounted.

    Links are followed as the machine itself would follow them: an absolute one starts at the root again, and `..`
    never leaves it (openat2's RESOLVE_IN_ROOT). Nothing raises: what is absent or may not be read is None or empty.
    `stat` answers for a resolved path. `process_names` is kept here by processes.py: a root is made anew for each
    snapshot, and within one all names of processes are those of one moment.
    """

    def __init__(self, path: Path, stat: Stat = os.stat) -> None:
        self.path = path
        self._stat = stat
        self.process_names: dict[int, str] | None = None

    def anew(self) -> HostRoot:
        """The same root without anything that was kept."""
        return HostRoot(self.path, self._stat)

    def resolve(self, inside: str) -> str | None:
        """The path with all links followed, still as seen from the root (`/sys/devices/…`); None for a loop."""
        pending = [part for part in reversed(inside.split("/")) if part]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part in (".", ".."):
                del done[max(0, len(done) - (part == "..")) :]
                continue
            target = self._link("/".join([*done, part]))
            if target is None:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            if target.startswith("/"):
                done.clear()
            pending.extend(step for step in reversed(target.split("/")) if step)
        return "/" + "/".join(done)

    def _link(self, relative: str) -> str | None:
        try:
            return str((self.path / relative).readlink())
        except OSError:
            return None

    def real(self, inside: str) -> Path | None:
        """Where a file stands for this process; None for a loop of links. It need not exist."""
        resolved = self.resolve(inside)
        return None if resolved is None else self.path / resolved[1:]

    def target(self, inside: str) -> str | None:
        """The name at the end of a link (`i915` of `…/driver`); None when there is no such link."""
        real = self.real(inside)
        return real.name if real is not None and real.exists() else None

    def text(self, inside: str) -> str | None:
        """A file's text, without the white space at its ends; None when it is absent or may not be read."""
        data = self.data(inside)
        return None if data is None else data.decode("utf-8", "replace").strip()

    def data(self, inside: str, limit: int = -1) -> bytes | None:
        """A file's first `limit` bytes, all by default; None when it is absent or may not be read."""
        real = self.real(inside)
        if real is None:
            return None
        try:
            with real.open("rb") as file:
                return file.read(limit)
        except OSError:
            return None

    def number(self, inside: str, base: int = 10) -> int | None:
        """A file that holds one number; None when it does not."""
        text = self.text(inside)
        try:
            return None if text is None else int(text, base)
        except ValueError:
            return None

    def names(self, inside: str) -> tuple[str, ...]:
        """The entries of a directory in order; empty when it is absent or may not be read."""
        real = self.real(inside)
        try:
            return tuple(sorted(entry.name for entry in real.iterdir())) if real is not None else ()
        except OSError:
            return ()

    def exists(self, inside: str) -> bool:
        """Whether anything stands at that path after all links."""
        return self.status(inside) is not None

    def gid(self, inside: str) -> int | None:
        """The number of the group that owns what stands there; None when nothing does."""
        found = self.status(inside)
        return None if found is None else found.st_gid

    def status(self, inside: str) -> os.stat_result | None:
        """The kernel's answer to stat; None when nothing stands there."""
        real = self.real(inside)
        try:
            return None if real is None else self._stat(real)
        except OSError:
            return None
