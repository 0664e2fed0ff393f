"""Bad input and bad luck on the real engine: one clear message, the right exit code, nothing lost, nothing left."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from docker.errors import APIError, NotFound

from tests.engine.support.ports import free_port
from tests.engine.support.removal import holding_folder, remove_by_force
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def gguf(tmp_path, tiny_lfm2):
    """A model file of this test's own, to be damaged."""
    path = tmp_path / "models" / "tiny.gguf"
    path.parent.mkdir()
    shutil.copy(tiny_lfm2, path)
    return path


@pytest.fixture
def declare(stack_file, instant_image, gguf):
    """Writes the stack of one model that the instant server serves; what is given replaces or adds keys."""

    def write(**keys):
        base = {"source": f"gguf:{gguf}", "image": instant_image, "parallel": 2, "ctx": 512, "pull": "never"}
        return stack_file({"m": base | keys})

    return write


def failure(result, code=4):
    """The one error of a verb that failed."""
    assert result.code == code, result
    assert len(result.json["errors"]) == 1, result
    return result.json["errors"][0]


def gate(result, code=4):
    """The checks of the one model that failed, by id."""
    assert result.code == code, result
    (model,) = result.json["models"]
    assert model["state"] == "failed"
    return {check["id"]: check for check in model["checks"]}


def up(cli, *arguments, **named):
    return cli("up", "--format", "json", *arguments, **named)


def test_the_instant_server_itself_is_verified(cli, declare):
    declare()
    assert up(cli).code == 0


class TestTheEngine:
    def test_none_running(self, cli, declare, tmp_path):
        declare()
        error = failure(up(cli, env={"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"}), 3)
        assert str(tmp_path / "nothing.sock") in error["message"]

    def test_no_permission_on_the_socket(self, cli, declare, tmp_path):
        """The socket exists and is not theirs: as who owns the checkout, without the powers of root over files."""
        path, owner = tmp_path / "docker.sock", ROOT.stat()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            path.chmod(0)
            declare()
            for folder in (tmp_path, *tmp_path.parents):
                if folder.stat().st_uid == os.getuid() and folder != folder.parent:
                    folder.chmod(folder.stat().st_mode | 0o055)
            ids = (f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups")
            cli.enter = ("setpriv", *ids, "--bounding-set=-dac_override,-dac_read_search")
            error = failure(up(cli, env={"DOCKER_HOST": f"unix://{path}", "HOME": "/nonexistent"}), 3)
        assert "permission" in error["message"].lower()
        assert "usermod -aG docker" in error["hint"]

    def test_a_context_that_is_not_there(self, cli, declare, tmp_path):
        declare()
        error = failure(up(cli, env={"DOCKER_CONTEXT": "elsewhere", "DOCKER_CONFIG": str(tmp_path)}), 3)
        assert "elsewhere" in error["message"]


class TestImagesAndFiles:
    def test_an_image_that_is_not_here_and_may_not_be_pulled(self, cli, declare, docker_api, prefix):
        declare(image="homellm-test-nowhere.invalid/none:1")
        error = failure(up(cli))
        assert "homellm-test-nowhere.invalid/none:1" in error["message"]
        assert leftovers(docker_api, prefix) == []

    def test_a_registry_out_of_reach(self, cli, declare, docker_api, prefix):
        """Three tries, then a clear end."""
        declare(image=f"127.0.0.1:{free_port()}/none:1", pull="missing")
        error = failure(up(cli))
        assert error["id"] in ("pull-failed", "registry-unreachable"), error
        assert leftovers(docker_api, prefix) == []

    @pytest.mark.parametrize(
        ("make", "id"),
        [
            (lambda path: path.unlink(), "model-missing"),
            (lambda path: path.write_bytes(b"<!DOCTYPE html><title>Sign in</title>"), "not-gguf"),
        ],
        ids=["missing", "html"],
    )
    def test_a_model_file_that_is_none(self, cli, declare, docker_api, prefix, gguf, make, id):
        declare()
        make(gguf)
        error = failure(up(cli))
        assert (error["id"], error["line"] is not None) == (id, True)
        assert str(gguf) in error["message"]
        assert leftovers(docker_api, prefix) == []

    def test_a_truncated_model(self, cli, declare, docker_api, prefix, smollm2, tmp_path):
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(smollm2.read_bytes()[:60_000_000])
        declare(source=f"gguf:{cut}")
        error = failure(up(cli))
        assert error["id"] == "model-corrupt"
        assert "60 of 98 MB" in error["message"]
        assert leftovers(docker_api, prefix) == []

    def test_an_argument_that_the_server_refuses_at_its_start(self, cli, declare, docker_api, prefix, make_instant):
        """An image whose help lists a flag that it then refuses, as images do that lie."""
        declare(image=make_instant(env={"INSTANT_SAY": "'error: invalid argument: --bogus'", "INSTANT_EXIT": "1"}))
        error = failure(up(cli))
        assert error["id"] == "flag-unknown"
        assert "--bogus" in error["message"]
        assert set(leftovers(docker_api, prefix)) == {f"{prefix}-m.failed", f"homellm-{prefix}"}

    def test_a_flag_that_the_image_does_not_have(self, cli, declare, docker_api, prefix):
        declare(extra_args=["--no-such-flag"])
        error = failure(up(cli))
        assert "--no-such-flag" in error["message"]
        assert leftovers(docker_api, prefix) == []

    def test_built_for_another_cpu(self, cli, declare, make_instant):
        declare(image=make_instant(env={"INSTANT_SIGILL": "1"}))
        error = failure(up(cli))
        assert error["id"] == "cpu-unsupported"
        assert "another CPU" in error["message"]
        assert "ghcr.io/ggml-org/llama.cpp" in error["hint"]


class TestPortsAndNames:
    @pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
    def test_a_port_that_a_process_holds(self, cli, declare, docker_api, prefix, address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as server:
            server.bind((address, 0))
            server.listen()
            port = server.getsockname()[1]
            declare(port=port, bind="::1" if ":" in address else "127.0.0.1")
            error = failure(up(cli))
        assert error["id"] == "port-taken"
        assert f"(pid {os.getpid()}" in error["message"]
        assert leftovers(docker_api, prefix) == []

    def test_a_port_that_a_container_holds(self, cli, declare, docker_api, prefix, llama_image):
        port = free_port()
        body = docker_api.create_host_config(port_bindings={8080: ("127.0.0.1", port)})
        foreign = docker_api.create_container(
            llama_image, entrypoint=["sleep", "600"], name=f"{prefix}-foreign", host_config=body, ports=[8080]
        )
        docker_api.start(foreign)
        declare(port=port)
        error = failure(up(cli))
        assert f"{prefix}-foreign" in error["message"]
        assert set(leftovers(docker_api, prefix)) == {f"{prefix}-foreign"}

    def test_a_name_that_somebody_elses_container_has(self, cli, declare, docker_api, prefix, instant_image):
        foreign = docker_api.create_container(instant_image, name=f"{prefix}-m")
        declare()
        error = failure(up(cli))
        assert error["id"] == "name-taken"
        assert docker_api.inspect_container(f"{prefix}-m")["Id"] == foreign["Id"]

    def test_a_cpuset_beyond_the_machine(self, cli, declare, docker_api, prefix):
        declare(cpuset="0-4095")
        error = failure(up(cli))
        assert error["id"] == "cpus-unavailable"
        assert leftovers(docker_api, prefix) == []


class TestWhileItLoads:
    def test_out_of_memory(self, cli, declare):
        declare(memory="64MiB", env={"INSTANT_ALLOCATE_MIB": "512"})
        error = failure(up(cli))
        assert error["id"] == "out-of-memory"
        assert "64" in error["message"]

    def test_wrong_slots(self, cli, declare):
        declare(env={"INSTANT_SLOTS": "1"})
        checks = gate(up(cli))
        assert (checks["slots"]["asked"], checks["slots"]["observed"]) == (2, 1)

    def test_wrong_context(self, cli, declare):
        declare(env={"INSTANT_CTX": "256"})
        checks = gate(up(cli))
        assert (checks["ctx"]["asked"], checks["ctx"]["observed"]) == (512, 256)

    def test_a_chat_that_fails(self, cli, declare):
        declare(env={"INSTANT_CHAT_STATUS": "500"})
        assert gate(up(cli))["api"]["verdict"] == "fail"

    def test_a_load_that_stalls(self, cli, declare, docker_api, prefix):
        declare(env={"INSTANT_READY_AFTER_S": "600"})
        error = failure(up(cli, "--stall-timeout", "2"))
        assert error["id"] == "stalled"
        assert set(leftovers(docker_api, prefix)) == {f"{prefix}-m.failed", f"homellm-{prefix}"}

    @pytest.mark.parametrize("knob", ["INSTANT_TALK_WHILE_LOADING", "INSTANT_GROW_WHILE_LOADING"])
    def test_a_slow_load_that_moves_is_no_stall(self, cli, declare, knob):
        """It moves every 50 ms, and the stall would be five seconds long: no machine is as slow as that."""
        declare(env={"INSTANT_READY_AFTER_S": "7", knob: "1"})
        assert up(cli, "--stall-timeout", "5").code == 0

    def test_the_wait_is_bounded_in_all(self, cli, declare):
        declare(env={"INSTANT_READY_AFTER_S": "600", "INSTANT_TALK_WHILE_LOADING": "1"})
        assert failure(up(cli, "--wait-timeout", "3"))["id"] == "timeout"

    def test_removed_by_hand(self, cli, declare, docker_api, prefix):
        declare()
        assert up(cli).code == 0
        declare(parallel=3, env={"INSTANT_READY_AFTER_S": "600", "INSTANT_TALK_WHILE_LOADING": "1"})
        running = cli.start("up", "--format", "json")
        wait_for_container(docker_api, f"{prefix}-m.next")
        remove_by_force(docker_api, f"{prefix}-m.next")
        error = failure(running.finish())
        assert error["id"] == "container-gone"
        assert docker_api.inspect_container(f"{prefix}-m")["State"]["Running"]
        assert set(leftovers(docker_api, prefix)) == {f"{prefix}-m", f"homellm-{prefix}"}

    def test_removed_by_hand_and_not_to_the_end(self, cli, declare, docker_api, prefix):
        """What is left is dead, and in the way of `up` alone until the engine lets go of it."""
        declare()
        assert up(cli).code == 0
        with holding_folder(docker_api, f"{prefix}-m"):
            with pytest.raises(APIError, match="unable to remove filesystem"):
                docker_api.remove_container(f"{prefix}-m", force=True)
            assert cli("ps", "--format", "json").json["models"][0]["state"] == "absent"
            told = " ".join(cli("ps").stdout.split())
            assert f"The removal of {prefix}-m was begun and not ended: homellm up and homellm down end it." in told
            error = failure(up(cli))
            assert error["id"] == "not-removed"
            assert f"docker rm {prefix}-m" in error["hint"]
            assert failure(cli("down", "--format", "json"))["id"] == "not-removed"
        assert up(cli).code == 0
        assert set(leftovers(docker_api, prefix)) == {f"{prefix}-m", f"homellm-{prefix}"}


def wait_for_container(docker_api, name):
    """Until a container of that name runs; its inspect."""

    def running():
        try:
            found = docker_api.inspect_container(name)
        except NotFound:
            return None
        return found if found["State"]["Running"] else None

    return wait_for(running, f"{name} to run")


def test_a_crash_loop_later(cli, declare, docker_api, prefix):
    """It was verified; then it crashes again and again, which inspect calls running."""
    declare(env={"INSTANT_CRASH_AFTER_S": "2", "INSTANT_CRASH_CODE": "139"}, restart="always")
    up(cli)
    wait_for(lambda: docker_api.inspect_container(f"{prefix}-m")["RestartCount"] > 1, "a second restart")
    ps = cli("ps", "--format", "json")
    assert ps.json["models"][0]["state"] == "failed", ps
    check = cli("check", "--format", "json")
    assert check.code in (4, 5), check
    again = up(cli)
    assert again.code in (4, 5), again


def test_warnings_of_the_engine_are_told(cli, declare, docker_api, prefix, instant_image):
    """What this engine says when it is asked for the same limit by itself, homellm passes on, and nothing else."""
    limits = docker_api.create_host_config(mem_limit="64m")
    asked = docker_api.create_container(instant_image, name=f"{prefix}-asked", host_config=limits)
    declare(memory="64MiB")
    result = cli("up")
    assert result.code == 0, result
    told = [line for line in result.stdout.splitlines() if "the engine warns" in line]
    assert len(told) == len(asked["Warnings"] or ())
    assert all(any(warning in line for line in told) for warning in asked["Warnings"] or ())
