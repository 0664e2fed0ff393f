"""The ground that the engine tests stand on, tested itself: images, models, the private engine, the sweep."""

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import docker
import pytest

from tests.engine.support.images import HELP_TEXTS, instant_image
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers, sweep
from tests.engine.support.wait import wait_for

MODEL = "/m.gguf"


class Server:
    """A container made by docker-py alone, without homellm."""

    def __init__(self, api, image, name, model, arguments, *, env=None, port=None, network=None, **host):
        self.api, self.name, self.port = api, name, port or free_port()
        mount = docker.types.Mount(MODEL, str(model), type="bind", read_only=True)
        bindings = {8080: ("127.0.0.1", self.port)}
        endpoint = {"networking_config": api.create_networking_config({network: api.create_endpoint_config()})}
        self.id = api.create_container(
            image,
            ["-m", MODEL, "--host", "0.0.0.0", "--port", "8080", *arguments],
            name=name,
            environment=env,
            ports=[8080],
            host_config=api.create_host_config(mounts=[mount], port_bindings=bindings, **host),
            **(endpoint if network else {}),
        )["Id"]
        api.start(self.id)

    def get(self, path, body=None):
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(url, json.dumps(body).encode() if body else None, timeout=30) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except (urllib.error.URLError, ConnectionError) as error:
            return 0, str(error)

    def ready(self):
        wait_for(lambda: self.get("/health")[0] == 200, f"{self.name} to be ready; log: {self.log()}")
        return self

    def state(self):
        return self.api.inspect_container(self.id)["State"]

    def ended(self):
        wait_for(lambda: not self.state()["Running"], f"{self.name} to end")
        return self.state()["ExitCode"]

    def log(self):
        return self.api.logs(self.id).decode()


@pytest.fixture
def serve(docker_api, prefix, smollm2):
    names = iter(range(100))
    return lambda image, *arguments, **more: Server(
        docker_api, image, f"{prefix}-{next(names)}", more.pop("model", smollm2), arguments, **more
    )


def asked(image, *arguments):
    """What a throwaway container of the image says, without a network."""
    command = ["docker", "run", "--rm", "--network", "none", image, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_llama_image_loads_the_tiny_hybrid_with_three_slots(serve, llama_image, tiny_lfm2):
    server = serve(llama_image, "-np", "3", "-c", "98304", "--alias", "tiny", model=tiny_lfm2).ready()
    status, props = server.get("/props")
    assert status == 200
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (3, 32768)
    status, answer = server.get(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    )
    assert (status, answer["usage"]["completion_tokens"]) == (200, 3)


def test_the_instant_server_answers_as_it_was_told(serve, instant_image):
    server = serve(instant_image, "-np", "3", "-c", "3000", "--alias", "a").ready()
    # 3000 padded to 256 is 3072, a third of it 1024.
    props = server.get("/props")[1]
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (3, 1024)
    assert (props["model_alias"], props["model_path"]) == ("a", MODEL)
    assert server.get("/v1/models")[1]["data"][0]["id"] == "a"
    assert server.get("/v1/chat/completions", {"model": "a"})[1]["usage"]["completion_tokens"] == 1
    assert "initializing, n_slots = 3, n_ctx_slot = 1024, kv_unified = 'false'" in server.log()
    assert server.log().rstrip().endswith("listening on http://0.0.0.0:8080")
    server.api.stop(server.id, timeout=10)
    assert server.ended() == 0


def test_the_instant_server_speaks_the_dialect_of_its_image(instant_image, early_2025_image):
    assert asked(instant_image, "--help").stdout == (HELP_TEXTS / "b11669.txt").read_text()
    assert asked(early_2025_image, "--help").stdout == (HELP_TEXTS / "early-2025.txt").read_text()
    assert "build 11669" in asked(instant_image, "--version").stderr
    refused = asked(instant_image, "--mlock")
    assert (refused.returncode, refused.stderr) == (1, "error: invalid argument: --mlock\n")
    assert asked(early_2025_image, "-fa", "on").stderr == "error: invalid argument: on\n"


def test_the_old_build_tells_its_own_help(b10434_image):
    helped = asked(b10434_image, "--help")
    assert helped.returncode == 0
    assert "DEPRECATED in favor of `--load-mode`" in helped.stdout
    assert "version:" in asked(b10434_image, "--version").stderr


@pytest.mark.parametrize(
    ("env", "code"),
    [({"INSTANT_EXIT": "7"}, 7), ({"INSTANT_SIGILL": "1"}, 132), ({"INSTANT_ALLOCATE_MIB": "400"}, 137)],
)
def test_the_instant_server_fails_as_it_is_told(serve, instant_image, env, code):
    server = serve(instant_image, env=env, mem_limit="64m")
    assert server.ended() == code
    assert server.state()["OOMKilled"] is (code == 137)


def test_while_loading_it_is_503_and_ignores_sigterm_as_pid_1(serve, instant_image):
    server = serve(instant_image, env={"INSTANT_READY_AFTER_S": "600"})
    wait_for(lambda: server.get("/health")[0] == 503, "503 while loading")
    assert server.get("/health")[1]["error"]["message"] == "Loading model"
    server.api.kill(server.id, "SIGTERM")
    # The kernel drops a signal that PID 1 has no handler for at once: nothing is pending, and it still answers.
    assert server.get("/health")[0] == 503
    server.api.kill(server.id, "SIGKILL")
    assert server.ended() == 137


def test_a_busy_one_leaves_at_the_second_sigterm(serve, instant_image):
    server = serve(instant_image, env={"INSTANT_TERMS_NEEDED": "2"}).ready()
    server.api.kill(server.id, "SIGTERM")
    assert server.get("/health")[0] == 200
    server.api.kill(server.id, "SIGTERM")
    assert server.ended() == 1


def test_knobs_and_files_can_stand_in_the_image(docker_api, serve):
    recorded = "load_tensors:      Vulkan0 model buffer size =  1596.00 MiB\n"
    image = instant_image(docker_api, files={"/replay.log": recorded.encode()}, env={"INSTANT_REPLAY": "/replay.log"})
    assert recorded in serve(image).ready().log()


def test_an_image_can_carry_a_health_check(docker_api, serve):
    check = 'HEALTHCHECK --interval=1s CMD ["/llama-server", "--instant-probe", "8080"]'
    server = serve(instant_image(docker_api, changes=(check,)))
    wait_for(lambda: server.state()["Health"]["Status"] == "healthy", "the engine's own verdict healthy")


def test_locking_is_real(serve, instant_image, smollm2):
    def locked_kib(server):
        status = Path(f"/proc/{server.ready().state()['Pid']}/status").read_text()
        return int(status.split("VmLck:")[1].split()[0])

    asked_for = ("--load-mode", "mmap+mlock")
    assert locked_kib(serve(instant_image, *asked_for, cap_add=["IPC_LOCK"])) * 1024 >= smollm2.stat().st_size
    without = serve(instant_image, *asked_for)
    assert locked_kib(without) == 0
    assert "failed to mlock" in without.log()


def test_a_restart_of_the_private_engine_stops_its_containers_alone(
    private_engine, docker_api, serve, instant_image, smollm2
):
    outside = serve(instant_image).ready()
    inside = private_engine.api
    inside.create_network(f"{private_engine.name}-net")
    servers = {
        policy: Server(
            inside,
            instant_image,
            f"{private_engine.name}-{policy}",
            smollm2,
            (),
            network=f"{private_engine.name}-net",
            restart_policy={"Name": policy},
        ).id
        for policy in ("no", "unless-stopped")
    }
    private_engine.restart()
    again = private_engine.api
    assert again.inspect_container(servers["no"])["State"]["Status"] == "exited"
    wait_for(
        lambda: again.inspect_container(servers["unless-stopped"])["State"]["Running"], "the other one to run again"
    )
    assert outside.state()["Running"]
    assert leftovers(docker_api, f"{private_engine.name}-net") == []


def test_the_sweep_removes_this_tests_things_and_no_others(docker_api, prefix, run_id):
    mine, other = f"{prefix}-net", f"homellm-test-{run_id[::-1]}x-net"
    docker_api.create_network(mine)
    docker_api.create_network(other)
    try:
        sweep(docker_api, prefix)
        assert leftovers(docker_api, prefix) == []
        assert leftovers(docker_api, other) == [other]
    finally:
        docker_api.remove_network(other)
