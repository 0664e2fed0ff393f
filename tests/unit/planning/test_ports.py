"""Who holds a port: containers as they publish it, programs of the host as they listen."""

import pytest

from homellm.domain.world import Host, Listener
from homellm.planning.ports import freed, port_problem, takes
from tests.unit.planning.build import NAME, model, world

PORT = 8081


def problem(bind, published, *listeners, own=()):
    return port_problem(model(port=PORT, bind=bind), own, published, Host(listeners=listeners))


@pytest.mark.parametrize(
    ("listens", "v6only", "bind", "expected"),
    [
        ("::", False, "::", True),
        ("::", False, "::1", True),
        ("::", False, "0.0.0.0", True),
        ("::", False, "127.0.0.1", True),
        ("::", True, "::", True),
        ("::", True, "::1", True),
        ("::", True, "0.0.0.0", False),
        ("::", True, "127.0.0.1", False),
        ("0.0.0.0", False, "::", False),
        ("0.0.0.0", False, "::1", False),
        ("0.0.0.0", False, "127.0.0.1", True),
        ("::1", False, "0.0.0.0", False),
        ("::1", False, "fd00::2", False),
        ("::1", False, "::", True),
    ],
)
def test_what_a_socket_of_the_host_takes(listens, v6only, bind, expected):
    """Each was tried: a listening program, and `docker run -p BIND:…` of Engine 20.10 beside it."""
    assert takes(Listener(listens, PORT, v6only=v6only), bind) is expected


@pytest.mark.parametrize("process", ["docker-proxy", None])
def test_what_docker_publishes_on_every_ipv6_address_leaves_ipv4_free(process):
    """Also where nobody could ask the kernel whether the proxy's socket takes IPv4: the engine's word counts."""
    listener = Listener("::", PORT, 9, process)
    assert problem("127.0.0.1", (("::", PORT, "open-webui"),), listener) is None
    assert problem("0.0.0.0", (("::", PORT, "open-webui"),), listener) is None
    assert "open-webui" in problem("::1", (("::", PORT, "open-webui"),), listener).message


def test_a_program_beside_a_container_on_the_same_port_is_found():
    held = problem("0.0.0.0", (("::", PORT, "open-webui"),), Listener("10.0.0.1", PORT, 7, "nginx"))
    assert held.message == f"port {PORT} on 10.0.0.1 is held by nginx (pid 7)"


def test_a_wider_address_than_the_own_container_has_may_meet_somebody_else():
    """It holds 127.0.0.1 already; what is asked now is every address, and another one is taken."""
    own = ("127.0.0.1", PORT, NAME)
    proxy = Listener("127.0.0.1", PORT, 9, "docker-proxy")
    assert problem("0.0.0.0", (own,), proxy, own=(NAME,)) is None
    assert "nginx" in problem("0.0.0.0", (own,), proxy, Listener("10.0.0.1", PORT, 7, "nginx"), own=(NAME,)).message
    other = ("10.0.0.1", PORT, "open-webui")
    assert "open-webui" in problem("0.0.0.0", (own, other), proxy, own=(NAME,)).message


def test_the_proxy_of_a_rootless_engine_listens_elsewhere_and_is_no_obstacle():
    listener = Listener("::", PORT, 9, "rootlesskit")
    own = ("0.0.0.0", PORT, NAME)
    assert problem("0.0.0.0", (own,), listener, own=(NAME,)) is None
    after = freed(world(published=(own,), host=Host(listeners=(listener,))), (own,))
    assert (after.published, after.host.listeners) == ((), ())


def test_a_proxy_of_an_engine_that_was_not_asked_is_not_spoken_of_and_hides_nobody():
    proxy, nginx = Listener("127.0.0.1", PORT, 9, "docker-proxy"), Listener("10.0.0.1", PORT, 7, "nginx")
    assert problem("0.0.0.0", None, proxy) is None
    assert problem("0.0.0.0", None, Listener("127.0.0.1", PORT)) is None
    assert "nginx" in problem("0.0.0.0", None, proxy, nginx).message


def test_a_proxy_of_another_engine_is_a_holder_like_any_other():
    assert "docker-proxy (pid 9)" in problem("127.0.0.1", (), Listener("127.0.0.1", PORT, 9, "docker-proxy")).message
