"""Ports and networks, on the fake and on the real engine alike."""

from __future__ import annotations

from typing import Any

import pytest

from homellm.errors import EngineRefused
from tests.contract.lab import Bench
from tests.contract.programs import DEAF, MISSING, MISSING_PROGRAM, SERVER
from tests.contract.test_engine_contract import problem

PORT = 18125


def published(ip: str, port: int = PORT) -> dict[str, Any]:
    """Fields of a body that publish port 8080."""
    return {
        "ExposedPorts": {"8080/tcp": {}},
        "HostConfig": {"PortBindings": {"8080/tcp": [{"HostIp": ip, "HostPort": str(port)}]}},
    }


class TestStartRefused:
    """What the engine finds out only when a container is started; it stays, created, with the reason."""

    def refused(self, bench: Bench, **fields: Any) -> str:
        made = bench.create(SERVER, **fields)
        with pytest.raises(EngineRefused) as error:
            bench.engine.start(made.id)
        container = bench.engine.find_container(made.id)
        assert container
        assert container.status == "created"
        assert container.error == error.value.original
        assert container.exit_code != 0
        bench.engine.remove(made.id)
        assert bench.engine.find_container(made.id) is None
        return problem(error)

    def test_a_device_that_is_not_there(self, bench: Bench) -> None:
        device = {"PathOnHost": "/dev/homellm-test", "PathInContainer": "/dev/x", "CgroupPermissions": "rwm"}
        assert self.refused(bench, HostConfig={"Devices": [device]}) == "device-missing"

    def test_a_group_by_name(self, bench: Bench) -> None:
        assert self.refused(bench, HostConfig={"GroupAdd": ["homellm-test-group"]}) == "group-by-name"

    def test_a_program_that_is_not_there(self, bench: Bench) -> None:
        made = bench.engine.create(bench.name(), bench.body(MISSING, Entrypoint=[MISSING_PROGRAM]))
        with pytest.raises(EngineRefused, match=MISSING_PROGRAM) as error:
            bench.engine.start(made.id)
        assert problem(error) == "no-such-program"

    def test_a_network_that_is_not_there(self, bench: Bench) -> None:
        network = bench.name("net")
        made = bench.create(SERVER, HostConfig={"NetworkMode": network})
        with pytest.raises(EngineRefused, match=network) as error:
            bench.engine.start(made.id)
        assert problem(error) == "network-missing"
        bench.engine.create_network(network, bench.labels)
        bench.engine.start(made.id)

    def test_a_port_of_another_container_which_is_named(self, bench: Bench) -> None:
        holder = bench.name("holder")
        bench.start(DEAF, name=holder, **published("127.0.0.1"))
        for ip in ("127.0.0.1", "0.0.0.0", ""):
            waiting = bench.create(SERVER, **published(ip))  # no conflict when it is made
            with pytest.raises(EngineRefused, match=holder) as error:
                bench.engine.start(waiting.id)
            assert problem(error) == "port-taken"
            assert str(PORT) in str(error.value)
        bench.engine.kill(holder, "SIGKILL")
        bench.engine.wait(holder, 60)
        bench.engine.start(waiting.id)

    def test_a_port_of_a_program_of_the_host(self, bench: Bench) -> None:
        port = bench.lab.hold_port()
        for ip in ("127.0.0.1", "0.0.0.0"):
            waiting = bench.create(SERVER, **published(ip, port))
            with pytest.raises(EngineRefused, match=str(port)) as error:
                bench.engine.start(waiting.id)
            assert problem(error) == "port-taken"

    def test_a_container_that_ran_before_keeps_its_code_and_gets_the_reason(self, bench: Bench) -> None:
        ref = bench.start(DEAF, **published("127.0.0.1"))
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        bench.start(DEAF, **published("127.0.0.1"))
        with pytest.raises(EngineRefused):
            bench.engine.start(ref)
        container = bench.engine.find_container(ref)
        assert container
        assert (container.status, container.exit_code) == ("exited", 137)
        assert str(PORT) in container.error


class TestPorts:
    def test_ports_of_running_containers_are_listed(self, bench: Bench) -> None:
        def mine() -> set[tuple[str, int]]:
            return {(ip, port) for ip, port, holder in bench.engine.published_ports() if holder == name}

        name = bench.name()
        ref = bench.create(DEAF, name=name, **published("127.0.0.1")).id
        assert mine() == set()
        bench.engine.start(ref)
        assert mine() == {("127.0.0.1", PORT)}
        container = bench.engine.find_container(ref)
        assert container
        assert container.ports == (("127.0.0.1", PORT, 8080),)
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        assert mine() == set()

    def test_a_binding_of_a_port_that_is_not_exposed_publishes_nothing(self, bench: Bench) -> None:
        name = bench.name()
        bench.start(DEAF, name=name, HostConfig=published("127.0.0.1")["HostConfig"])
        assert name not in {holder for _, _, holder in bench.engine.published_ports()}


class TestNetworks:
    def test_one_is_made_once_found_by_its_whole_name_and_listed_by_label(self, bench: Bench) -> None:
        name = bench.name("net")
        assert bench.engine.find_network(name) is None
        bench.engine.create_network(name, {**bench.labels, "homellm.stack": "x"})
        bench.engine.create_network(f"{name}-more", bench.labels)
        network = bench.engine.find_network(name)
        assert network
        assert network.labels["homellm.stack"] == "x"
        bench.engine.create_network(name, bench.labels)  # one of that name is left alone
        assert bench.engine.find_network(name) == network
        assert bench.engine.find_network(name[:-1]) is None
        assert bench.engine.list_networks({**bench.labels, "homellm.stack": "x"}) == (network,)
        assert len(bench.engine.list_networks({**bench.labels})) == 2
        assert bench.engine.list_networks({**bench.labels, "homellm.absent": None}) == ()
        bench.engine.remove_network(name)
        assert bench.engine.find_network(name) is None
        bench.engine.remove_network(name)

    def test_a_container_joins_a_second_one_before_it_starts(self, bench: Bench) -> None:
        one, two = bench.name("net"), bench.name("net")
        for network in (one, two):
            bench.engine.create_network(network, bench.labels)
        ref = bench.create(
            DEAF,
            HostConfig={"NetworkMode": one},
            NetworkingConfig={"EndpointsConfig": {one: {"Aliases": ["first"]}}},
        ).id
        bench.engine.connect_network(two, ref, ("second",))
        bench.engine.start(ref)
        container = bench.engine.find_container(ref)
        assert container
        assert set(container.addresses) == {one, two}
        assert all(address.count(".") == 3 for address in container.addresses.values())
        joined: Any = bench.engine.inspect(ref)["NetworkSettings"]
        assert "first" in joined["Networks"][one]["Aliases"]
        assert "second" in joined["Networks"][two]["Aliases"]

        with pytest.raises(EngineRefused) as error:
            bench.engine.remove_network(two)
        assert problem(error) == "network-in-use"
        with pytest.raises(EngineRefused) as error:
            bench.engine.connect_network(two, ref, ())
        assert problem(error) == "already-connected"
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        bench.engine.remove_network(two)  # a stopped container does not hold it
        with pytest.raises(EngineRefused) as error:
            bench.engine.start(ref)
        assert problem(error) == "network-missing"
        bench.engine.create_network(two, bench.labels)  # another network, though of the same name
        with pytest.raises(EngineRefused) as error:
            bench.engine.start(ref)
        assert problem(error) == "network-missing"

    def test_one_that_is_not_there_is_told_at_once_or_at_the_start(self, bench: Bench) -> None:
        created, network = bench.create(DEAF).id, bench.name("net")
        bench.engine.connect_network(network, created, ())  # noted down for the start
        with pytest.raises(EngineRefused, match=network) as error:
            bench.engine.start(created)
        assert problem(error) == "network-missing"
        running = bench.start(DEAF)
        with pytest.raises(EngineRefused, match=network) as error:
            bench.engine.connect_network(network, running, ())
        assert problem(error) == "network-missing"
