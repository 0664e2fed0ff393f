"""Which Debian mirror the apt of this host uses, read from its own source lists (sources.list(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AptSource:
    """One apt source: where it lies, its suites and components."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]


def parse_list(text: str) -> Iterator[AptSource]:
    """The sources of a one-line style file: `deb [option=value …] URI SUITE COMPONENT…`."""
    for raw in text.splitlines():
        line = re.sub(r"\[[^\]]*\]", "", raw.split("#", 1)[0])
        match line.split():
            case ["deb", uri, suite, *components]:
                yield AptSource((uri,), (suite,), tuple(components))


def parse_deb822(text: str) -> Iterator[AptSource]:
    """The sources of a deb822 style file: stanzas of `Field: values`, continued by indented lines."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        folded = re.sub(r"\n[ \t]+", " ", stanza)
        fields = {
            name.strip().lower(): value.split()
            for name, _, value in (row.partition(":") for row in folded.splitlines())
        }
        if "deb" in fields.get("types", []) and fields.get("enabled") != ["no"]:
            yield AptSource(
                tuple(fields.get("uris", ())), tuple(fields.get("suites", ())), tuple(fields.get("components", ()))
            )


def host_mirror(etc: Path = Path("/etc")) -> str | None:
    """The mirror of this Debian, or None: not a Debian, or none that debootstrap can use (http, https, file)."""
    release = _os_release(etc / "os-release")
    if release.get("ID") != "debian":
        return None
    suites = {release.get("VERSION_CODENAME", ""), "stable", "testing", "unstable", "sid"} - {""}
    for source in _sources(etc / "apt"):
        # The main archive of this release: neither security updates nor a third party's repository.
        if "main" in source.components and suites.intersection(source.suites):
            for uri in source.uris:
                if uri.split(":", 1)[0] in ("http", "https", "file") and "security" not in uri:
                    return uri.rstrip("/")
    return None


def _sources(apt: Path) -> Iterator[AptSource]:
    listed = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    for path in filter(Path.is_file, listed):
        yield from parse_list(path.read_text(encoding="utf-8", errors="replace"))
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        yield from parse_deb822(path.read_text(encoding="utf-8", errors="replace"))


def _os_release(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    rows = (line.partition("=") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: value.strip("\"'") for name, _, value in rows}
