"""The header of a model that is not here yet, by HTTP range requests: a few MiB instead of the whole file.

A server that ignores ranges is read from the start and left once the header is through; a header that is not among the
first bytes of the file does not exist.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

import httpx

from homellm.adapters.file_kinds import SNIFF_BYTES, kind_of
from homellm.adapters.gguf_files import MAX_PARTS, PART_NAME, merged
from homellm.adapters.gguf_header import MAX_HEADER_BYTES, HeaderError, NotGguf, read_header
from homellm.domain.gguf import GgufHeader, RawHeader
from homellm.domain.gguf_shape import ShapeError, header_of, split_of
from homellm.domain.secret import Secret
from homellm.domain.world import ModelFile
from homellm.errors import Refused

#: Bytes asked for at once. The headers of most models have 2 to 15 MiB, nearly all of it the vocabulary.
CHUNK_BYTES = 2 * 1024 * 1024
MAX_REDIRECTS = 5
#: The most seconds that one model may take: a server that trickles is given up.
TOTAL_S = 120.0
#: A size for a file whose server does not tell: larger than any.
_UNKNOWN = 2**62
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_PARTIAL, _OK, _NOT_SATISFIABLE = 206, 200, 416


class RemoteUnreadable(Refused):
    """The address does not answer with a file: nobody there, not found, not allowed."""

    default_id = "model-unreachable"


class RemoteFiles:
    """Looks at models by their https addresses, and keeps the connection for the parts of a split one.

    Use it as a context manager. `token` goes with the first request to each host that the addresses name, never to
    the hosts that those redirect to (httpx drops the header when the host changes).
    """

    def __init__(
        self, *, token: Secret | None = None, timeout_s: float = 20, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        headers = {"User-Agent": "homellm", "Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token.reveal()}"
        self._monotonic = monotonic
        self._client = httpx.Client(
            headers=headers, timeout=timeout_s, follow_redirects=True, max_redirects=MAX_REDIRECTS
        )

    def __enter__(self) -> RemoteFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def look(self, url: str) -> ModelFile:
        """What stands at an address; for the first part of a split model, all of it. Raises RemoteUnreadable."""
        begun = self._monotonic()
        source = self._source(url, begun)
        file = ModelFile(url, "not-gguf", size_bytes=source.known_size, parts=(url,))
        try:
            raw = read_header(source, grow=CHUNK_BYTES)
            if split_of(raw)[1] > 1:
                return self._split(file, url, raw, begun)
            return _told(file, raw.end_bytes, header_of(raw))
        except NotGguf:
            return replace(file, reason=f"it is {kind_of(source.read(0, min(SNIFF_BYTES, source.size)))}")
        except (HeaderError, ShapeError) as error:
            return replace(file, reason=str(error))

    def _source(self, url: str, begun: float) -> _Source:
        return _Source(self._client, url, lambda: self._monotonic() - begun > TOTAL_S)

    def _split(self, file: ModelFile, url: str, first: RawHeader, begun: float) -> ModelFile:
        index, count = split_of(first)
        address, mark, query = url.partition("?")
        base, _, name = address.rpartition("/")
        match = PART_NAME.fullmatch(name)
        if index or match is None or int(match["count"]) != count or count > MAX_PARTS:
            right = f"…-00001-of-{count:05}.gguf"
            return replace(file, reason=f"it is part {index + 1} of {count}; name the first one, {right}")
        names = [f"{match['prefix']}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
        urls = tuple(f"{base}/{part}{mark}{query}" for part in names)
        raws, size, needed = [first], file.size_bytes, first.end_bytes
        for number, other in enumerate(urls[1:], start=1):
            source = self._source(other, begun)
            raws.append(read_header(source, grow=CHUNK_BYTES))
            if split_of(raws[-1]) != (number, count):
                return replace(file, reason=f"{names[number]} is not part {number + 1} of this model")
            size, needed = size + source.known_size, needed + raws[-1].end_bytes
        return _told(replace(file, size_bytes=size, parts=urls), needed, merged(raws))


def _told(file: ModelFile, needed: int, header: GgufHeader) -> ModelFile:
    known = replace(
        file,
        needed_bytes=needed,
        weights_bytes=header.weights_bytes,
        architecture=header.architecture,
        header=header,
    )
    if file.size_bytes and needed > file.size_bytes:
        cut = f"it has {file.size_bytes} bytes of the {needed} that its header promises"
        return replace(known, state="truncated", reason=cut)
    return replace(known, state="ok")


class _Source:
    """A ByteSource over ranges of one address, for as long as `late` says no. Raises RemoteUnreadable."""

    def __init__(self, client: httpx.Client, url: str, late: Callable[[], bool]) -> None:
        self._client = client
        self._url = url
        self._late = late
        self._start = b""
        self.size = _UNKNOWN
        self._start = self._fetch(0, CHUNK_BYTES)

    @property
    def known_size(self) -> int:
        """The size, 0 where the server does not tell it."""
        return 0 if self.size == _UNKNOWN else self.size

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on; fewer only at the end of the file."""
        if offset + length <= len(self._start):
            return self._start[offset : offset + length]
        return self._fetch(offset, length)

    def _fetch(self, offset: int, length: int) -> bytes:
        wanted = {"Range": f"bytes={offset}-{offset + length - 1}"}
        try:
            with self._client.stream("GET", self._url, headers=wanted) as reply:
                return self._taken(reply, offset, length)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RemoteUnreadable(
                f"{self._url} cannot be read: {error or type(error).__name__}",
                hint="Check the address, and that this machine reaches it.",
            ) from error

    def _taken(self, reply: httpx.Response, offset: int, length: int) -> bytes:
        if reply.status_code == _NOT_SATISFIABLE and offset == 0:
            self.size = 0
            return b""
        if reply.status_code == _PARTIAL:
            self._check_range(reply, offset)
            return self._bounded(reply, length)
        if reply.status_code != _OK:
            raise RemoteUnreadable(
                f"{self._url} answers {reply.status_code} {reply.reason_phrase}".rstrip(), hint=_hint(reply.status_code)
            )
        # the whole file comes: keep it from the start, twice as much each time
        self.size = int(reply.headers.get("Content-Length") or 0) or _UNKNOWN
        self._start = self._bounded(reply, min(offset + max(length, offset), MAX_HEADER_BYTES))
        return self._start[offset : offset + length]

    def _check_range(self, reply: httpx.Response, offset: int) -> None:
        said = _RANGE.fullmatch(reply.headers.get("Content-Range", ""))
        if said is None or int(said[1]) != offset:
            raise RemoteUnreadable(f"{self._url} answers with another part than was asked for")
        self.size = _UNKNOWN if said[3] == "*" else int(said[3])

    def _bounded(self, reply: httpx.Response, length: int) -> bytes:
        """At most `length` bytes; the rest of the answer is left unread."""
        taken = bytearray()
        for piece in reply.iter_raw(64 * 1024):
            taken += piece
            if len(taken) >= length:
                break
            if self._late():
                raise RemoteUnreadable(f"{self._url} sends too slowly: no header after {TOTAL_S:.0f} s")
        return bytes(taken[:length])


def _hint(status: int) -> str:
    if status in (401, 403):
        return "The model may be gated: it needs a token."
    if status == 404:  # noqa: PLR2004 - the status that says it itself
        return "Check the address; names of files count upper and lower case."
    return "Try again later."
