"""Which engine is meant, from environments and made ~/.docker folders."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from homellm.adapters.docker_address import DEFAULT_URL, TlsFiles, resolve
from homellm.errors import EngineUnreachable, ExitCode
from tests.unit.adapters.docker_homes import write_config, write_context


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """~/.docker of the home `tmp_path`."""
    folder = tmp_path / ".docker"
    folder.mkdir()
    return folder


def test_with_nothing_set_it_is_the_default_socket(tmp_path: Path) -> None:
    address = resolve({}, tmp_path)
    assert address.url == DEFAULT_URL == "unix:///var/run/docker.sock"
    assert address.socket == Path("/var/run/docker.sock")
    assert address.origin == ""
    assert address.rootless is None


def test_docker_host_comes_first(docker: Path, tmp_path: Path) -> None:
    write_context(docker, "nuc", "tcp://10.0.0.9:2375")
    write_config(docker, currentContext="nuc")
    address = resolve({"DOCKER_HOST": "tcp://10.0.0.1:2375", "DOCKER_CONTEXT": "nuc"}, tmp_path)
    assert address.url == "tcp://10.0.0.1:2375"
    assert address.origin == "DOCKER_HOST"
    assert address.socket is None
    assert address.undo == "unset DOCKER_HOST"


def test_then_docker_context(docker: Path, tmp_path: Path) -> None:
    write_context(docker, "nuc", "ssh://user@nuc")
    write_context(docker, "other", "tcp://10.0.0.1:2375")
    write_config(docker, currentContext="other")
    address = resolve({"DOCKER_CONTEXT": "nuc"}, tmp_path)
    assert address.url == "ssh://user@nuc"
    assert address.origin == "the Docker context nuc (set by DOCKER_CONTEXT)"
    assert address.undo == "unset DOCKER_CONTEXT"


def test_then_the_current_context(docker: Path, tmp_path: Path) -> None:
    write_context(docker, "rootless", "unix:///run/user/1000/docker.sock")
    write_config(docker, currentContext="rootless", auths={})
    address = resolve({}, tmp_path)
    assert address.socket == Path("/run/user/1000/docker.sock")
    assert str(docker / "config.json") in address.origin
    assert address.undo == "docker context use default"


@pytest.mark.parametrize("environ", [{}, {"DOCKER_CONTEXT": "default"}, {"DOCKER_HOST": "", "DOCKER_CONTEXT": ""}])
@pytest.mark.parametrize("current", ["default", "", None])
def test_the_context_default_is_the_default_socket(
    docker: Path, tmp_path: Path, environ: Mapping[str, str], current: str | None
) -> None:
    write_config(docker, currentContext=current)
    assert resolve(environ, tmp_path).url == DEFAULT_URL


def test_docker_config_moves_the_folder(docker: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    write_context(moved, "nuc", "tcp://10.0.0.9:2375")
    write_config(moved, currentContext="nuc")
    write_config(docker, currentContext="not this one")
    assert resolve({"DOCKER_CONFIG": str(moved)}, tmp_path).url == "tcp://10.0.0.9:2375"


@pytest.mark.parametrize(
    ("environ", "chosen_by"), [({"DOCKER_CONTEXT": "nuc"}, "set by DOCKER_CONTEXT"), ({}, "current in")]
)
def test_a_context_that_is_missing_is_named(
    docker: Path, tmp_path: Path, environ: Mapping[str, str], chosen_by: str
) -> None:
    write_config(docker, currentContext="nuc")
    with pytest.raises(EngineUnreachable, match="There is no Docker context nuc") as error:
        resolve(environ, tmp_path)
    assert chosen_by in str(error.value)
    assert error.value.problems[0].id == "context-missing"
    assert error.value.exit_code is ExitCode.ENGINE_UNREACHABLE
    assert "docker context ls" in error.value.hint


def test_a_context_without_an_engine_is_named(docker: Path, tmp_path: Path) -> None:
    write_context(docker, "kube", None)
    with pytest.raises(EngineUnreachable, match=r"context kube .* names no engine") as error:
        resolve({"DOCKER_CONTEXT": "kube"}, tmp_path)
    assert error.value.problems[0].id == "context-broken"


@pytest.mark.parametrize("text", ["{", "[]", '{"Endpoints": []}'])
def test_a_context_that_cannot_be_read_is_named(docker: Path, tmp_path: Path, text: str) -> None:
    write_context(docker, "nuc", "tcp://x:1")
    next((docker / "contexts" / "meta").glob("*/meta.json")).write_text(text)
    with pytest.raises(EngineUnreachable, match="context nuc") as error:
        resolve({"DOCKER_CONTEXT": "nuc"}, tmp_path)
    assert error.value.problems[0].id == "context-broken"


def test_a_configuration_that_cannot_be_read_is_named(docker: Path, tmp_path: Path) -> None:
    (docker / "config.json").write_text("{'currentContext': 'nuc'}")
    with pytest.raises(EngineUnreachable, match=r"config\.json cannot be read") as error:
        resolve({}, tmp_path)
    assert error.value.problems[0].id == "docker-config-broken"
    assert resolve({"DOCKER_HOST": "tcp://x:1"}, tmp_path).url == "tcp://x:1"  # where it does not matter


@pytest.mark.parametrize("url", ["nonsense", "10.0.0.1:2375", "npipe:////./pipe/docker_engine"])
def test_an_address_that_is_none_is_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(EngineUnreachable, match="DOCKER_HOST is no address") as error:
        resolve({"DOCKER_HOST": url}, tmp_path)
    assert url in str(error.value)


class TestTls:
    def test_of_a_context(self, docker: Path, tmp_path: Path) -> None:
        folder = write_context(docker, "far", "tcp://far:2376", skip_verify=True)
        folder.mkdir(parents=True)
        for name in ("ca", "cert", "key"):
            (folder / f"{name}.pem").touch()
        assert resolve({"DOCKER_CONTEXT": "far"}, tmp_path).tls == TlsFiles(
            folder / "ca.pem", folder / "cert.pem", folder / "key.pem", verify=False
        )

    def test_of_a_context_without_any(self, docker: Path, tmp_path: Path) -> None:
        write_context(docker, "far", "tcp://far:2375")
        assert resolve({"DOCKER_CONTEXT": "far"}, tmp_path).tls is None

    def test_of_the_environment(self, docker: Path, tmp_path: Path) -> None:
        certs = tmp_path / "certs"
        certs.mkdir()
        (certs / "ca.pem").touch()
        environ = {"DOCKER_HOST": "tcp://far:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(certs)}
        assert resolve(environ, tmp_path).tls == TlsFiles(certs / "ca.pem", None, None, verify=True)
        (docker / "ca.pem").touch()
        environ = {"DOCKER_HOST": "tcp://far:2376", "DOCKER_TLS": "1"}
        assert resolve(environ, tmp_path).tls == TlsFiles(docker / "ca.pem", None, None, verify=False)
        assert resolve({"DOCKER_HOST": "tcp://far:2375", "DOCKER_CERT_PATH": str(certs)}, tmp_path).tls is None


def test_a_rootless_engine_besides_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    assert resolve({"XDG_RUNTIME_DIR": str(tmp_path)}, tmp_path).rootless is None
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("docker.sock")
        assert resolve({"XDG_RUNTIME_DIR": str(tmp_path)}, tmp_path).rootless == tmp_path / "docker.sock"


@pytest.mark.parametrize(
    "url",
    ["tcp://127.0.0.1:99999", "http://127.0.0.1:70000", "tcp://[::1", "tcp://[zz]:2375", "ssh://nuc:abc", "nonsense"],
)
def test_what_is_no_address_is_told_as_that(url: str, docker: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineUnreachable) as error:
        resolve({"DOCKER_HOST": url}, tmp_path)
    assert (error.value.exit_code, error.value.problems[0].id) == (ExitCode.ENGINE_UNREACHABLE, "engine-address")
    assert str(error.value).startswith(f"DOCKER_HOST is no address of an engine: {url}")
    write_context(docker, "nuc", url)
    with pytest.raises(EngineUnreachable, match=r"^The Docker context nuc .* is no address of an engine"):
        resolve({"DOCKER_CONTEXT": "nuc"}, tmp_path)
