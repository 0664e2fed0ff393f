"""Settings that only a real server can prove, each by its own witness; and those that are proved not to hold."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tests.engine.support.asking import get, post, status
from tests.engine.support.images import variant
from tests.engine.support.machines import SPARE_NODE, machine_with_nodes, node_on_this_machine
from tests.engine.support.ports import free_port
from tests.engine.support.removal import remove_by_force
from tests.engine.support.sweep import leftovers
from tests.engine.support.wait import wait_for

GPUS = {"gpus": {"iris": {"pci": "00:02.0", "api": "vulkan"}}}


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def declare(stack_file, llama_image, smollm2, port):
    def write(top=None, **keys):
        base = {"source": f"gguf:{smollm2}", "image": llama_image, "ctx": 512, "cpuset": "0", "port": port}
        declared = base | {"pull": "never"} | keys
        return stack_file({"smol": {key: value for key, value in declared.items() if value is not None}}, **(top or {}))

    return write


def only(result, code=0):
    assert result.code == code, result
    (model,) = result.json["models"]
    return model, {check["id"]: check for check in model["checks"]}


def up(cli, code=0):
    return only(cli("up", "--format", "json"), code)


def args(docker_api, prefix):
    return docker_api.inspect_container(f"{prefix}-smol")["Args"]


class TestMemoryLocks:
    def test_a_user_who_may_not_lock(self, cli, declare, docker_api, prefix, llama_image, smollm2):
        """IPC_LOCK is given and has no effect for a user other than root: the server warns and serves on, unlocked."""
        image = variant(docker_api, llama_image, "USER 1000")
        limit = docker_api.create_container(image, ["-c", "ulimit -l"], entrypoint=["/bin/sh"], name=f"{prefix}-limit")
        docker_api.start(limit)
        docker_api.wait(limit)
        said = docker_api.logs(limit).decode().strip()
        remove_by_force(docker_api, limit)
        may_lock = said == "unlimited" or int(said) * 1024 >= smollm2.stat().st_size

        declare(image=image, mlock=True)
        result = cli("up", "--format", "json")
        if may_lock:  # an engine whose containers may lock without the capability
            assert only(result)[1]["mlock"]["verdict"] == "pass"
            return
        model, checks = only(result, 4)
        assert (model["state"], model["container"]) == ("failed", None)
        assert (checks["mlock"]["verdict"], checks["mlock"]["asked"], checks["mlock"]["observed"]) == (
            "fail",
            True,
            False,
        )
        assert "IPC_LOCK" in checks["mlock"]["hint"]
        failed = docker_api.inspect_container(f"{prefix}-smol.failed")
        assert [name.removeprefix("CAP_") for name in failed["HostConfig"]["CapAdd"]] == ["IPC_LOCK"]
        assert "failed to mlock" in docker_api.logs(failed["Id"]).decode()
        assert failed["State"]["Running"] is False
        assert f"{prefix}-smol" not in leftovers(docker_api, prefix)

    def test_an_older_build_has_its_own_word(self, cli, declare, docker_api, prefix, early_2025_image):
        declare(image=early_2025_image, mlock=True)
        _, checks = up(cli)
        assert checks["mlock"]["verdict"] == "pass"
        assert "--mlock" in args(docker_api, prefix)
        assert "--load-mode" not in args(docker_api, prefix)


@pytest.fixture
def other_bridge(docker_api, prefix, run_id):
    """An address of this machine on a bridge of another name than those that the engine gives."""
    options = {"com.docker.network.bridge.name": f"hlt{run_id}"}
    made = docker_api.create_network(f"{prefix}-other", driver="bridge", options=options)
    return docker_api.inspect_network(made["Id"])["IPAM"]["Config"][0]["Gateway"].partition("/")[0]


class TestExposure:
    KEY = "sk-proof-5d1c0a7e"

    def test_a_port_for_everybody_wants_a_key(self, cli, declare, docker_api, prefix):
        declare(bind="0.0.0.0")
        model, checks = up(cli, 5)
        assert model["state"] == "degraded"
        assert (checks["exposure"]["verdict"], checks["exposure"]["observed"]) == ("fail", "0.0.0.0")
        assert docker_api.inspect_container(f"{prefix}-smol")["State"]["Running"] is True
        assert only(cli("up", "--format", "json"), 5)[0]["state"] == "degraded"

    def test_an_address_that_others_reach_wants_one_too(self, cli, declare, other_bridge):
        """A bridge of a name that is not Docker's stands for the LAN: whoever is on it is not known."""
        declare(bind=other_bridge)
        (advice,) = [one for one in cli("doctor", "--format", "json").json["advice"] if one["id"] == "exposure"]
        assert f"everybody who reaches {other_bridge} can use it" in advice["message"]
        for verb in ("up", "check"):
            model, checks = only(cli(verb, "--format", "json"), 5)
            assert (model["state"], checks["exposure"]["verdict"]) == ("degraded", "fail"), verb
            assert checks["exposure"]["hint"].startswith(f"Everybody who reaches {other_bridge} can use the model")
        declare(bind=other_bridge, api_key="${PROOF_KEY}")
        cli.env["PROOF_KEY"] = self.KEY
        assert only(cli("up", "--format", "json"))[0]["state"] == "verified"

    def test_on_dockers_bridge_there_are_containers_of_this_machine_alone(self, cli, declare, docker_api):
        (config, *_) = docker_api.inspect_network("bridge")["IPAM"]["Config"]
        declare(bind=config.get("Gateway") or str(next(ip_network(config["Subnet"]).hosts())))
        assert "exposure" not in [one["id"] for one in cli("doctor", "--format", "json").json["advice"]]
        for verb in ("up", "check"):
            model, checks = only(cli(verb, "--format", "json"))
            assert (model["state"], checks["exposure"]["verdict"]) == ("verified", "pass"), verb

    def test_the_key_is_used_and_told_to_nobody(self, cli, declare, docker_api, prefix, port, tmp_path):
        declare(bind="0.0.0.0", api_key="${PROOF_KEY}", env={"PROOF_TOKEN": self.KEY[::-1]})
        cli.env["PROOF_KEY"] = self.KEY
        said = [cli("up", "--format", "json")]
        model, checks = only(said[0])
        assert model["state"] == "verified"
        assert checks["api"]["verdict"] == "pass"
        assert status(port, "/props") == 401
        assert status(port, "/props", key=self.KEY) == 200

        verbs = ("up", "check", "ps", "plan", "config", "logs", "restart", "endpoints")
        said += [cli(*verb.split(), "--debug") for verb in verbs]
        said += [cli(verb, "--format", "json") for verb in ("check", "ps", "plan", "config", "restart")]
        said += [cli("render", kind) for kind in ("run", "compose")]
        inspected = docker_api.inspect_container(f"{prefix}-smol")
        record, _ = docker_api.get_archive(f"{prefix}-smol", "/.homellm.json")
        texts = {
            "output": "\n".join(map(str, said)),
            "labels": str(inspected["Config"]["Labels"]),
            "arguments": str([inspected["Path"], *inspected["Args"]]),
            "record": b"".join(record).decode(),
            "files": "".join(
                file.read_text(errors="replace") for file in (tmp_path / "xdg_cache_home").rglob("*") if file.is_file()
            ),
        }
        for secret in (self.KEY, self.KEY[::-1]):
            assert [where for where, text in texts.items() if secret in text] == []
            assert any(entry.endswith(f"={secret}") for entry in inspected["Config"]["Env"])

    def test_another_key_is_another_container(self, cli, declare, docker_api, prefix, port):
        declare(api_key=self.KEY)
        up(cli)
        first = docker_api.inspect_container(f"{prefix}-smol")["Id"]
        declare(api_key="sk-proof-another")
        up(cli)
        assert docker_api.inspect_container(f"{prefix}-smol")["Id"] != first
        assert status(port, "/props", key="sk-proof-another") == 200

    def test_what_ran_before_is_proved_with_its_own_key(self, cli, declare, instant_image, port):
        """A new key, and a server that cannot be: what comes back wants the old one."""
        declare(image=instant_image, parallel=2, api_key=self.KEY)
        up(cli)
        declare(image=instant_image, parallel=2, api_key="sk-proof-another", env={"INSTANT_SLOTS": "1"}, embedding=True)
        model, _ = up(cli, 4)
        assert model["container"] is not None
        assert "serves again, verified" in cli("up").stdout
        assert status(port, "/props", key=self.KEY) == 200


class TestSettings:
    def test_embeddings(self, cli, declare, docker_api, prefix, port):
        declare(embedding=True, extra_args=["--pooling", "mean"])
        model, checks = up(cli)
        assert (model["state"], checks["api"]["verdict"]) == ("verified", "pass")
        vector = post(port, "/v1/embeddings", {"model": "smol", "input": "hello"})["data"][0]["embedding"]
        assert len(vector) == 576  # SmolLM2's width
        assert {check["verdict"] for check in only(cli("check", "--format", "json"))[1].values()} == {"pass"}

    def test_one_pool_for_all_slots(self, cli, declare, docker_api, prefix, port):
        """The server then names the whole pool as the context of a slot; what a slot is sure of is its share."""
        declare(kv_unified=True, parallel=2, ctx=512)
        _, checks = up(cli)
        assert (checks["ctx"]["observed"], checks["ctx"]["verdict"]) == (512, "pass")
        assert get(port, "/props")["default_generation_settings"]["n_ctx"] == 1024
        assert "--kv-unified" in args(docker_api, prefix)

    def test_a_cache_of_small_elements(self, cli, declare, docker_api, prefix):
        declare(kv_cache_type={"k": "q8_0", "v": "q4_0"}, flash_attention="on")
        _, checks = up(cli)
        assert (checks["kv-cache"]["observed"], checks["kv-cache"]["source"]) == ("k q8_0, v q4_0", "log")
        assert (checks["flash-attention"]["observed"], checks["flash-attention"]["verdict"]) == ("on", "pass")
        log = docker_api.logs(f"{prefix}-smol").decode()
        assert "K (q8_0)" in log
        assert "V (q4_0)" in log

    def test_a_server_that_sleeps_is_healthy_and_wakes(self, cli, declare, docker_api, prefix, port):
        declare(sleep_idle="1s")
        up(cli)
        for verb in ("check", "up"):
            wait_for(lambda: get(port, "/props")["is_sleeping"], "the server to sleep")
            _, checks = only(cli(verb, "--format", "json"))
            assert {checks[gate]["verdict"] for gate in ("ready", "slots", "ctx", "api")} == {"pass"}
        assert "exiting sleeping state" in docker_api.logs(f"{prefix}-smol").decode()


class TestLavapipe:
    """Mesa's Vulkan driver on the CPU, which a real server takes for a GPU when it is told to."""

    def test_a_driver_on_the_cpu_is_no_gpu(self, cli, declare, docker_api, prefix, llama_image, tmp_path):
        image = variant(docker_api, llama_image, "ENV GGML_VK_VISIBLE_DEVICES=0")
        with node_on_this_machine():
            cli.env["HOMELLM_HOST_ROOT"] = str(machine_with_nodes("iris-nuc", tmp_path, node=SPARE_NODE).root)
            # One batch less and all CPUs: this driver computes every shader anew and is slow.
            declare(GPUS, image=image, gpu="iris", gpu_layers="all", cpuset=None, extra_args=["--no-warmup"])
            result = cli("up", "--format", "json", timeout_s=300)
            model, checks = only(result, 4)
        assert model["state"] == "failed"
        assert checks["device"]["verdict"] == "fail"
        assert "llvmpipe" in checks["device"]["observed"]
        log = docker_api.logs(f"{prefix}-smol.failed").decode()
        assert "listening on" in log  # it served: /health would have said 200
        assert "offloaded 31/31 layers to GPU" in log

    def test_without_a_gpu_the_server_does_not_even_start(self, cli, declare, docker_api, prefix, tmp_path):
        """`--device` makes a missing GPU an error at once, in words that name what to look at."""
        with node_on_this_machine():
            cli.env["HOMELLM_HOST_ROOT"] = str(machine_with_nodes("iris-nuc", tmp_path, node=SPARE_NODE).root)
            declare(GPUS, gpu="iris", gpu_layers="all")
            result = cli("up", "--format", "json")
        assert result.code == 4, result
        (error,) = result.json["errors"]
        assert error["id"] == "no-gpu"
