"""Models that are not here, by range requests to a server of this test's own."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from homellm.adapters.gguf_remote import CHUNK_BYTES, RemoteFiles, RemoteUnreadable
from homellm.domain.secret import Secret
from tests.fakes.gguf_bytes import Gguf, T, llama

LARGE = Gguf({**llama().meta, "x": ["y" * 40] * 100_000}, [T("output.weight", (64, 4096))])


@dataclass
class Site:
    """What the server has, how it behaves, and what it was asked."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    tells_size: bool = True
    seen: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0


class Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        site = self.site
        site.seen.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
        path = self.path.partition("?")[0]
        if path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path not in site.files:
            self.send_error(404)
            return
        self._send(site.files[path])

    def _send(self, data: bytes) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.site.ranges:
            first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            if first >= len(data):
                self.send_error(416)
                return
            self.send_response(206)
            total = len(data) if self.site.tells_size else "*"
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
            data = data[first : last + 1]
        else:
            self.send_response(200)
        if self.site.tells_size or self.site.ranges:
            self.send_header("Content-Length", str(len(data)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.write(data)
            self.site.sent += len(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    what = Site()
    handler = type("Bound", (Handler,), {"site": what})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        what.url = f"http://127.0.0.1:{server.server_port}"
        yield what
        server.shutdown()
        thread.join()


def test_a_header_is_read_by_ranges_and_the_weights_are_not(site: Site) -> None:
    weights = Gguf(llama().meta, [T("output.weight", (1024, 8192))])
    site.files["/m.gguf"] = weights.whole()
    with RemoteFiles() as files:
        file = files.look(f"{site.url}/m.gguf")
    assert (file.state, file.architecture) == ("ok", "llama")
    assert file.size_bytes == len(site.files["/m.gguf"]) > 32 * 1024 * 1024
    assert file.weights_bytes == 1024 * 8192 * 4
    assert site.sent <= CHUNK_BYTES


def test_a_large_header_takes_several_ranges(site: Site) -> None:
    site.files["/m.gguf"] = LARGE.whole()
    with RemoteFiles() as files:
        file = files.look(f"{site.url}/m.gguf")
    assert file.state == "ok"
    assert len(LARGE.header()) > 2 * CHUNK_BYTES
    assert len(site.seen) > 2
    assert all(request["range"].startswith("bytes=") for request in site.seen)


@pytest.mark.parametrize("tells_size", [True, False])
def test_a_server_that_ignores_ranges_is_read_from_the_start(site: Site, tells_size: bool) -> None:
    site.files["/m.gguf"] = LARGE.whole()
    site.ranges, site.tells_size = False, tells_size
    with RemoteFiles() as files:
        file = files.look(f"{site.url}/m.gguf")
    assert file.state == "ok"
    assert file.header is not None
    assert file.size_bytes == (len(LARGE.whole()) if tells_size else 0)


def test_a_size_that_is_not_told_is_no_cut(site: Site) -> None:
    site.files["/m.gguf"] = llama().whole()
    site.tells_size = False
    with RemoteFiles() as files:
        file = files.look(f"{site.url}/m.gguf")
    assert (file.state, file.size_bytes) == ("ok", 0)


def test_a_file_cut_short(site: Site) -> None:
    site.files["/m.gguf"] = llama().whole()[:-200]
    with RemoteFiles() as files:
        assert files.look(f"{site.url}/m.gguf").state == "truncated"


@pytest.mark.parametrize(("data", "words"), [(b"<!DOCTYPE html><html>", "HTML page"), (b"", "empty")])
def test_what_is_no_model(site: Site, data: bytes, words: str) -> None:
    site.files["/m.gguf"] = data
    with RemoteFiles() as files:
        file = files.look(f"{site.url}/m.gguf")
    assert file.state == "not-gguf"
    assert words in file.reason


def test_a_header_that_lies(site: Site) -> None:
    site.files["/m.gguf"] = Gguf().header(tensor_count=2**60)
    with RemoteFiles() as files:
        assert "claims" in files.look(f"{site.url}/m.gguf").reason


def test_redirects_are_followed_and_the_token_stays_with_the_first_host(site: Site) -> None:
    site.files["/blob"] = llama().whole()
    site.redirects["/m.gguf"] = site.url.replace("127.0.0.1", "localhost") + "/blob"
    with RemoteFiles(token=Secret("hf_hidden")) as files:
        assert files.look(f"{site.url}/m.gguf").state == "ok"
    asked = {request["path"]: request.get("authorization") for request in site.seen}
    assert asked == {"/m.gguf": "Bearer hf_hidden", "/blob": None}


def test_redirects_in_a_circle(site: Site) -> None:
    site.redirects["/m.gguf"] = f"{site.url}/m.gguf"
    with RemoteFiles() as files, pytest.raises(RemoteUnreadable, match="cannot be read"):
        files.look(f"{site.url}/m.gguf")


def test_the_parts_of_a_split_model(site: Site) -> None:
    whole = llama(layers=2)
    for number in range(2):
        tensors = [t for t in whole.tensors if (number == 0) == (not t.name.startswith("blk.1."))]
        split = {"split.no": number, "split.count": 2}
        meta = {**whole.meta, **split} if number == 0 else split
        site.files[f"/r/m-{number + 1:05}-of-00002.gguf"] = Gguf(meta, tensors).whole()
    url = f"{site.url}/r/m-00001-of-00002.gguf?download=true"
    with RemoteFiles() as files:
        file = files.look(url)
        assert file.state == "ok"
        assert file.weights_bytes == sum(tensor.bytes for tensor in whole.tensors)
        assert file.size_bytes == sum(map(len, site.files.values()))
        assert "name the first one" in files.look(url.replace("00001-of", "00002-of")).reason
        del site.files["/r/m-00002-of-00002.gguf"]
        with pytest.raises(RemoteUnreadable, match=r"00002-of-00002\.gguf.* answers 404"):
            files.look(url)


def test_not_found(site: Site) -> None:
    with RemoteFiles() as files, pytest.raises(RemoteUnreadable, match="404") as caught:
        files.look(f"{site.url}/none.gguf")
    assert "upper and lower case" in caught.value.hint


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/m.gguf", "ftp://127.0.0.1/m.gguf", "m.gguf"])
def test_addresses_where_nobody_answers(url: str) -> None:
    with RemoteFiles() as files, pytest.raises(RemoteUnreadable, match="cannot be read"):
        files.look(url)


def test_a_server_that_trickles_is_given_up(site: Site) -> None:
    site.files["/m.gguf"] = LARGE.whole()
    clock = itertools.count(0, 30)
    with (
        RemoteFiles(monotonic=lambda: float(next(clock))) as files,
        pytest.raises(RemoteUnreadable, match="too slowly"),
    ):
        files.look(f"{site.url}/m.gguf")
