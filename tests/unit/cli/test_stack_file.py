"""Which stack file, and how it is read."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from homellm.cli.stack_file import LIMIT_BYTES, locate, read
from homellm.errors import ExitCode, Problem, StackFileError


def refused(path: Path) -> Problem:
    with pytest.raises(StackFileError) as caught:
        read(path)
    assert caught.value.exit_code is ExitCode.USAGE
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    assert problem.hint
    return problem


def test_the_option_then_the_environment_then_the_folder() -> None:
    environ = {"HOMELLM_FILE": "env.yaml"}
    assert locate(Path("option.yaml"), environ) == Path("option.yaml")
    assert locate(None, environ) == Path("env.yaml")
    assert locate(None, {"HOMELLM_FILE": ""}) == Path("homellm.yaml")
    assert locate(None, {}) == Path("homellm.yaml")


def test_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_bytes(b"\xef\xbb\xbfstack: \xc3\xa9\r\n")
    assert read(path) == "stack: é\r\n"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    problem = refused(tmp_path / "none.yaml")
    assert problem.message == "there is no such file"
    assert "HOMELLM_FILE" in problem.hint
    # What it says to type works: it names an example that is there.
    program, example, target = shlex.split(problem.hint.splitlines()[-1])
    assert (program, target) == ("cp", str(tmp_path / "none.yaml"))
    assert Path(example).read_text(encoding="utf-8").startswith("# yaml-language-server")


def test_a_folder(tmp_path: Path) -> None:
    assert "folder" in refused(tmp_path).message


def test_a_path_through_a_file_and_one_that_no_system_takes(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in refused(tmp_path / "file" / "homellm.yaml").message
    assert refused(Path("a\0b")).message


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may read everything, and tests run as root too: the refusal is made.
    monkeypatch.setattr(Path, "open", denied)
    assert "may not be read" in refused(tmp_path / "homellm.yaml").message


def test_what_is_not_utf8_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_bytes(b"stack: nuc\nmodels: \xff\n")
    problem = refused(path)
    assert (problem.line, problem.column) == (2, 9)
    assert "UTF-8" in problem.message


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "homellm.yaml"
    path.write_bytes(b"#" * LIMIT_BYTES)
    assert len(read(path)) == LIMIT_BYTES
    os.truncate(path, 10**12)  # sparse: reading it whole would need a terabyte
    assert "1 MiB" in refused(path).message
