"""Names of GPUs by the machine's own copy of pci.ids, where it has one."""

from __future__ import annotations

import re

from homellm.adapters.host.root import HostRoot

#: Where Debian, Ubuntu and Arch, and where Fedora and SUSE keep it.
_FILES = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids")


class PciNames:
    """Looks names up; the file is read once, and only when a name is asked for."""

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._text: str | None = None

    def name(self, vendor: str, device: str) -> str:
        """The name of a device by its two numbers in hex, `Iris Xe Graphics`; empty when it is not known.

        A name that ends in brackets (`TigerLake-LP GT2 [Iris Xe Graphics]`) is the chip's; what stands in them is
        the one that people know.
        """
        section = re.search(rf"^{re.escape(vendor)}  .*\n((?:[\t#].*\n)*)", self._loaded(), re.MULTILINE)
        entry = section and re.search(rf"^\t{re.escape(device)}  (.*)$", section[1], re.MULTILINE)
        if not entry:
            return ""
        known = re.search(r"\[([^\[\]]+)\]\s*$", entry[1])
        return (known[1] if known else entry[1]).strip()

    def _loaded(self) -> str:
        if self._text is None:
            data = next(filter(None, map(self._root.data, _FILES)), b"")
            self._text = data.decode("utf-8", "replace")
        return self._text
