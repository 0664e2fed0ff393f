"""Frames out of bytes, a stream that another thread ends, and small files as archives."""

from __future__ import annotations

import base64
import io
import json
import struct
import tarfile
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.adapters import docker_archive
from homellm.adapters.docker_streams import EngineStream, demultiplex


def frame(stream: int, payload: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(payload)) + payload


class TestDemultiplex:
    @given(
        st.lists(st.tuples(st.integers(1, 2), st.binary(min_size=1, max_size=50)), max_size=8),
        st.integers(1, 17),
    )
    def test_frames_come_out_wherever_the_bytes_were_cut(self, frames: list[tuple[int, bytes]], size: int) -> None:
        data = b"".join(frame(stream, payload) for stream, payload in frames)
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        assert list(demultiplex(chunks)) == [payload for _, payload in frames]

    def test_empty_frames_are_nothing(self) -> None:
        assert list(demultiplex([frame(1, b""), frame(2, b"x")])) == [b"x"]

    def test_a_frame_comes_as_soon_as_it_is_whole(self) -> None:
        def chunks() -> Iterator[bytes]:
            yield frame(1, b"one") + frame(1, b"two")[:5]
            raise AssertionError("read on although a frame was there")

        assert next(demultiplex(chunks())) == b"one"

    def test_what_came_of_a_cut_frame_is_kept(self) -> None:
        assert list(demultiplex([frame(1, b"one"), frame(1, b"last words")[:12]])) == [b"one", b"last"]
        assert list(demultiplex([frame(1, b"one"), frame(1, b"last")[:8]])) == [b"one"]


class Cut(Exception):
    """What reading a connection raises that was cut."""


class TestEngineStream:
    def test_close_from_another_thread_ends_it_and_cuts_once(self) -> None:
        cut, cuts = threading.Event(), []

        def frames() -> Iterator[bytes]:
            yield b"one"
            assert cut.wait(60)
            raise KeyError("whatever a library does then")

        def do_cut() -> None:
            cuts.append(1)
            cut.set()

        stream = EngineStream(frames(), do_cut, ended_by=(Cut,))
        reading = iter(stream)
        assert next(reading) == b"one"
        threading.Thread(target=stream.close).start()
        assert list(reading) == []
        stream.close()
        assert cuts == [1]

    def test_an_end_of_the_connection_is_an_end_of_the_stream(self) -> None:
        def frames() -> Iterator[bytes]:
            yield b"one"
            raise Cut

        assert list(EngineStream(frames(), lambda: None, ended_by=(Cut,))) == [b"one"]

    def test_a_fault_of_ours_is_not_hidden(self) -> None:
        def frames() -> Iterator[bytes]:
            yield b"one"
            raise KeyError("x")

        with pytest.raises(KeyError):
            list(EngineStream(frames(), lambda: None, ended_by=(Cut,)))

    def test_a_connection_that_is_gone_may_be_closed(self) -> None:
        def cut() -> None:
            raise OSError(107, "Transport endpoint is not connected")

        EngineStream(iter(()), cut, ended_by=()).close()


def tar(*entries: tuple[str, bytes | None]) -> bytes:
    """Files, and folders where there are no bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            if data is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data or b""))
    return buffer.getvalue()


class TestArchive:
    @pytest.mark.parametrize(
        ("path", "parts"),
        [("/.homellm.json", ("/", ".homellm.json")), ("/a/b", ("/a", "b")), ("/a/b/c", ("/a/b", "c"))],
    )
    def test_a_path_is_split(self, path: str, parts: tuple[str, str]) -> None:
        assert docker_archive.split(path) == parts

    @given(st.binary(max_size=3000))
    def test_a_file_comes_back(self, data: bytes) -> None:
        assert docker_archive.unpack(docker_archive.pack(".homellm.json", data)) == data

    def test_it_is_roots_and_readable_by_all(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(docker_archive.pack("f", b"x"))) as archive:
            entry = archive.getmembers()[0]
        assert (entry.name, entry.mode, entry.uid, entry.gid) == ("f", 0o644, 0, 0)

    def test_its_time_is_told_to_the_fraction(self) -> None:
        """By it a record that was written again in the same second can be told from the one before."""
        with tarfile.open(fileobj=io.BytesIO(docker_archive.pack("f", b"x", 1796073340.846962))) as archive:
            assert archive.getmembers()[0].mtime == pytest.approx(1796073340.846962, abs=1e-6)

    @pytest.mark.parametrize("data", [b"", b"no archive", tar(("folder", None)), tar(("f", b"x" * 600))[:700]])
    def test_what_is_no_whole_file_is_none(self, data: bytes) -> None:
        assert docker_archive.unpack(data) is None

    def test_a_folder_is_read_below_its_own_name(self) -> None:
        data = tar(("manifests", None), ("manifests/a", None), ("manifests/a/b", b"1"), ("manifests/c", b"2"))
        assert docker_archive.unpack_tree(data) == {"a/b": b"1", "c": b"2"}
        assert docker_archive.unpack_tree(tar(("./", None), ("./c", b"2"))) == {"c": b"2"}

    @pytest.mark.parametrize("data", [b"", b"no archive", tar(("f", b"x"))])
    def test_what_is_no_folder_is_none(self, data: bytes) -> None:
        assert docker_archive.unpack_tree(data) is None

    @pytest.mark.parametrize(
        ("stat", "size"),
        [
            ({"name": "f", "size": 7, "mode": 0o644}, 7),
            ({"name": "bin", "size": 4096, "mode": 2147484141}, None),  # a folder
            ({"name": "sh", "size": 7, "mode": 134218239}, None),  # a link
            ({"name": "sh"}, None),
        ],
    )
    def test_the_size_of_a_plain_file_alone(self, stat: dict[str, object], size: int | None) -> None:
        assert docker_archive.size(base64.b64encode(json.dumps(stat).encode()).decode()) == size

    def test_without_the_header_it_is_unknown(self) -> None:
        assert docker_archive.size("") is None
