"""Models of one stack that are to have each other's ports, on a real engine, whose proxies hold them."""

from __future__ import annotations

import pytest

from tests.engine.support.asking import get
from tests.engine.support.ports import free_port


@pytest.fixture
def declare(stack_file, instant_image, tiny_lfm2):
    def write(**models):
        base = {"source": f"gguf:{tiny_lfm2}", "image": instant_image, "ctx": 512, "pull": "never"}
        return stack_file({name: base | keys for name, keys in models.items()})

    return write


@pytest.fixture
def three_ports():
    return [free_port() for _ in range(3)]


def serves(*ports):
    """The models behind these ports, each asked where clients find it."""
    return [get(port, "/props")["model_alias"] for port in ports]


def test_one_takes_the_port_that_the_other_leaves(cli, declare, three_ports):
    one, two, three = three_ports
    declare(a={"port": one}, b={"port": two})
    assert (first := cli("up")).code == 0, first
    declare(a={"port": two}, b={"port": three})
    assert (moved := cli("up")).code == 0, moved
    assert serves(two, three) == ["a", "b"]


def test_three_in_a_circle_move_in_one_up(cli, declare, three_ports):
    one, two, three = three_ports
    declare(a={"port": one}, b={"port": two}, c={"port": three})
    assert (first := cli("up")).code == 0, first
    declare(a={"port": two}, b={"port": three}, c={"port": one})
    assert (moved := cli("up")).code == 0, moved
    assert serves(one, two, three) == ["c", "a", "b"]


class TestSwap:
    """Two that are to have each other's ports, where something goes wrong in the middle."""

    @pytest.fixture
    def ports(self, three_ports):
        return three_ports[:2]

    @pytest.fixture
    def up(self, cli, declare, ports):
        """The two as they were, and the file that swaps them; `b` is further keys of b."""

        def run(**b):
            one, two = ports
            declare(a={"port": one}, b={"port": two})
            assert (first := cli("up")).code == 0, first
            declare(a={"port": two}, b={"port": one} | b)

        return run

    def policies(self, docker_api, prefix):
        shown = [docker_api.inspect_container(f"{prefix}-{name}") for name in "ab"]
        return [one["HostConfig"]["RestartPolicy"]["Name"] for one in shown]

    def test_one_that_fails_takes_both_back(self, cli, up, ports, make_instant, docker_api, prefix):
        up(image=make_instant(env={"INSTANT_EXIT": "1"}))
        failed = cli("up", "--format", "json")
        assert failed.code == 4, failed
        assert "held-back" in [error["id"] for error in failed.json["errors"] if error["model"] == "a"]
        assert serves(*ports) == ["a", "b"]
        assert self.policies(docker_api, prefix) == ["unless-stopped"] * 2

    @pytest.mark.parametrize("where", ["kill:2:after", "start:1:after", "start:2:before", "set_restart_policy:3:after"])
    def test_after_a_sigkill_the_next_up_moves_both(self, cli, up, ports, docker_api, prefix, where):
        up()
        assert cli.halted(f"{where}:SIGKILL", "up").code == -9
        assert (again := cli("up")).code == 0, again
        assert serves(*ports) == ["b", "a"]
        assert self.policies(docker_api, prefix) == ["unless-stopped"] * 2

    def test_after_a_sigkill_both_come_back_where_one_cannot_work(self, cli, up, ports, make_instant):
        up(image=make_instant(env={"INSTANT_EXIT": "1"}))
        assert cli.halted("start:2:before:SIGKILL", "up").code == -9
        assert (again := cli("up")).code == 4, again
        assert serves(*ports) == ["a", "b"]

    @pytest.mark.parametrize("where", ["create:2:after", "kill:2:before", "start:2:before"])
    def test_ctrl_c_brings_both_back(self, cli, up, ports, docker_api, prefix, where):
        up()
        assert (stopped := cli.halted(f"{where}:SIGINT", "up")).code == 130, stopped
        assert serves(*ports) == ["a", "b"]
        assert self.policies(docker_api, prefix) == ["unless-stopped"] * 2
