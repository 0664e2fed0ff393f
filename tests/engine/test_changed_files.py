"""A model's file that changes under a real server: noticed, loaded once, and told truly where it cannot be."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.engine.support.asking import get, status
from tests.engine.support.ports import free_port
from tests.engine.support.wait import wait_for

CHANGED = "m.gguf changed since the server loaded it"
#: Widths of the models' embeddings, by their makers.
TINY, SMOL = 64, 576


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def file(tmp_path, tiny_lfm2):
    """A model file of this test's own."""
    path = tmp_path / "models" / "m.gguf"
    path.parent.mkdir()
    shutil.copy(tiny_lfm2, path)
    return path


@pytest.fixture
def served(cli, stack_file, llama_image, file, port):
    """A real server of that file, verified."""
    stack_file(
        {"m": {"source": f"gguf:{file}", "image": llama_image, "ctx": 512, "port": port, "log": {"driver": "local"}}}
    )
    assert up(cli) == (0, True)


def put(path, other):
    """Another file takes the place: as `mv` does it, under a server that has the old one open."""
    beside = path.with_suffix(".new")
    shutil.copy(other, beside)
    beside.rename(path)


def up(cli):
    """Exit code, and whether there was anything to do."""
    steps = cli("plan", "--format", "json").json["steps"]
    result = cli("up", "--format", "json")
    return result.code, bool(steps)


def files_of(result):
    (model,) = result.json["models"]
    return next(check for check in model["checks"] if check["id"] == "files")


def row(result):
    """What `check` prints of the files."""
    (found,) = (" ".join(line.split()) for line in result.stdout.splitlines() if "files" in line.split())
    return found


def width(port):
    return get(port, "/v1/models")["data"][0]["meta"]["n_embd"]


@pytest.mark.usefixtures("served")
class TestARealServer:
    def test_a_replaced_file_is_loaded_once(self, cli, file, smollm2, port):
        assert (up(cli), width(port)) == ((0, False), TINY)
        put(file, smollm2)
        checked = cli("check", "--format", "json")
        assert (checked.code, files_of(checked)["verdict"], width(port)) == (5, "fail", TINY)
        assert "m.gguf: changed since it was loaded" in cli("check").stdout
        steps = cli("plan", "--format", "json").json["steps"]
        assert [step["cause"] for step in steps if step["kind"] == "create"] == [CHANGED]
        assert (up(cli), width(port)) == ((0, True), SMOL)
        assert up(cli) == (0, False)
        assert files_of(cli("check", "--format", "json"))["verdict"] == "pass"

    def test_what_a_restart_has_loaded_is_as_declared(self, cli, file, smollm2, port, docker_api, prefix):
        put(file, smollm2)
        docker_api.restart(f"{prefix}-m", timeout=10)
        wait_for(lambda: status(port, "/health") == 200, "the server to serve again")
        assert (up(cli), width(port)) == ((0, False), SMOL)
        assert files_of(cli("check", "--format", "json"))["verdict"] == "pass"
        file.touch()
        assert up(cli) == (0, True)
        assert up(cli) == (0, False)

    def test_a_file_that_cannot_be_loaded(self, cli, file, tiny_lfm2, ollama_format_lfm2, port):
        put(file, ollama_format_lfm2)
        result = cli("up")
        assert result.code == 4, result
        told = " ".join((result.stdout + result.stderr).split())
        assert "'token_embd_norm.weight' not found" in told
        assert "The server that ran before was started again, but: " in told
        assert f"{CHANGED}, and homellm keeps no older file" in told
        put(file, tiny_lfm2)
        assert cli("up").code == 0
        assert (up(cli), width(port)) == ((0, False), TINY)


def test_a_file_that_is_rewritten_in_its_place_and_one_that_is_touched(cli, stack_file, instant_image, file):
    stack_file({"m": {"source": f"gguf:{file}", "image": instant_image, "port": free_port()}})
    assert up(cli) == (0, True)
    assert up(cli) == (0, False)
    with file.open("r+b") as raw:
        raw.seek(-1, os.SEEK_END)
        last = raw.read(1)
        raw.seek(-1, os.SEEK_END)
        raw.write(bytes([last[0] ^ 1]))
    assert up(cli) == (0, True)
    assert up(cli) == (0, False)
    file.chmod(0o644)
    os.link(file, file.with_suffix(".second"))
    assert up(cli) == (0, False)
    os.utime(file, (1, 1))
    assert up(cli) == (0, True)
    assert up(cli) == (0, False)


def test_another_file_of_the_same_size_and_date_and_one_that_was_restored(cli, stack_file, instant_image, file):
    """`mv`, `cp -p` and `rsync -t` of another file; a backup that is put back, and rights that change."""
    stack_file({"m": {"source": f"gguf:{file}", "image": instant_image, "port": free_port()}})
    assert up(cli) == (0, True)
    assert row(cli("check")) == "✔ files as loaded untouched files"
    backup, other = file.with_suffix(".backup"), file.with_suffix(".other")
    shutil.copy2(file, backup)
    shutil.copy2(backup, other)
    backup.rename(file)
    file.chmod(0o600)
    assert row(cli("check")) == "✔ files as loaded size, date and samples as loaded files"
    assert up(cli) == (0, False)
    assert up(cli) == (0, False)
    dated = file.stat()
    with other.open("r+b") as raw:
        raw.seek(dated.st_size // 2)
        weights = raw.read()
        raw.seek(dated.st_size // 2)
        raw.write(bytes(byte ^ 1 for byte in weights))
    os.utime(other, ns=(dated.st_atime_ns, dated.st_mtime_ns))
    other.rename(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (dated.st_size, dated.st_mtime_ns)
    checked = cli("check", "--format", "json")
    assert (checked.code, files_of(checked)["verdict"]) == (5, "fail")
    assert up(cli) == (0, True)
    assert up(cli) == (0, False)
    assert row(cli("check")) == "✔ files as loaded untouched files"
