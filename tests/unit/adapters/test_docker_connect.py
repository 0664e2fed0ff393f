"""Why no engine can be reached: sockets that are not there, not ours, silent, or somebody else's."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from homellm.adapters import docker_address
from homellm.adapters.docker_address import Address
from homellm.adapters.docker_engine import _client, connect
from homellm.adapters.docker_unreachable import unreachable
from homellm.errors import EngineUnreachable, ExitCode
from tests.unit.adapters.docker_homes import write_config, write_context


class Listener:
    """A socket that accepts, reads and gives the answer it was told, or none at all. `heard` is what it was asked."""

    def __init__(self, path: Path, answer: bytes | None) -> None:
        self._answer = answer
        self._open: list[socket.socket] = []
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._open.append(connection)
            if self._answer is not None and (asked := connection.recv(65536)):
                self.heard.append(asked.decode())
                connection.sendall(self._answer)
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for one in (self._socket, *self._open):
            one.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path that everybody may enter: paths of sockets end at 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="homellm-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def default_socket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /var/run/docker.sock."""
    path = folder / "docker.sock"
    monkeypatch.setattr(docker_address, "DEFAULT_URL", f"unix://{path}")
    return path


def refused(environ: dict[str, str], home: Path, timeout_s: float = 5.0) -> tuple[str, str, str]:
    """Id, message and hint of what `connect` raises."""
    with pytest.raises(EngineUnreachable) as error:
        connect(environ, home, timeout_s=timeout_s)
    assert error.value.exit_code is ExitCode.ENGINE_UNREACHABLE
    return error.value.problems[0].id, str(error.value), error.value.hint


class TestThreeMessages:
    def test_none_is_running(self, default_socket: Path, tmp_path: Path) -> None:
        name, message, hint = refused({}, tmp_path)
        assert name == "engine-not-running"
        assert message == f"No Docker Engine is running here: there is no socket {default_socket}."
        assert "sudo systemctl start docker" in hint

    def test_its_socket_was_left_behind(self, default_socket: Path, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(default_socket))
        name, message, hint = refused({}, tmp_path)
        assert name == "engine-not-running"
        assert f"nobody listens on {default_socket}" in message
        assert "sudo systemctl start docker" in hint

    def test_no_permission(self, folder: Path) -> None:
        """As another user, since root may everything."""
        path = folder / "docker.sock"
        listener = Listener(path, b"")
        path.chmod(0o600)
        script = f"""
import os, sys
from pathlib import Path
from homellm.adapters import docker_address
from homellm.adapters.docker_engine import _client, connect
docker_address.DEFAULT_URL = "unix://{path}"
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
else:
    Path("{path}").chmod(0)
try:
    connect({{}}, Path("{folder}"))
except Exception as error:
    print(error.problems[0].id, int(error.exit_code), error, error.hint, sep="|")
"""
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        listener.close()
        assert said.stderr == ""
        name, code, message, hint = said.stdout.strip().split("|")
        assert (name, code) == ("engine-permission", "3")
        assert message == f"You are not allowed to use the Docker Engine: no permission on {path}."
        assert "usermod -aG docker" in hint
        assert "sudo" in hint

    def test_a_context_that_points_elsewhere(self, tmp_path: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        write_context(tmp_path / ".docker", "nuc", f"tcp://127.0.0.1:{port}")
        write_config(tmp_path / ".docker", currentContext="nuc")
        name, message, hint = refused({}, tmp_path)
        assert name == "engine-elsewhere"
        assert message.startswith("The Docker context nuc (current in ")
        assert f"points at tcp://127.0.0.1:{port}, where no engine answers: Connection refused." in message
        assert "docker context use default" in hint

    def test_docker_host_that_points_elsewhere(self, tmp_path: Path, folder: Path) -> None:
        name, message, hint = refused({"DOCKER_HOST": f"unix://{folder}/gone.sock"}, tmp_path)
        assert name == "engine-elsewhere"
        assert message.startswith(f"DOCKER_HOST points at unix://{folder}/gone.sock, where no engine answers: No such")
        assert "unset DOCKER_HOST" in hint


class TestOddEngines:
    def test_one_that_never_answers_is_waited_for_no_longer_than_told(
        self, default_socket: Path, tmp_path: Path
    ) -> None:
        listener = Listener(default_socket, None)
        before = time.monotonic()
        name, message, hint = refused({}, tmp_path, timeout_s=0.3)
        assert 0.3 <= time.monotonic() - before < 60
        listener.close()
        assert name == "engine-silent"
        assert f"unix://{default_socket} does not answer: nothing came within 0.3 s" in message
        assert "systemctl status docker" in hint

    def test_a_silent_one_of_a_context_is_named(self, folder: Path, tmp_path: Path) -> None:
        listener = Listener(folder / "x.sock", None)
        write_context(tmp_path / ".docker", "nuc", f"unix://{folder}/x.sock")
        name, message, hint = refused({"DOCKER_CONTEXT": "nuc"}, tmp_path, timeout_s=0.3)
        listener.close()
        assert name == "engine-silent"
        assert "which the Docker context nuc (set by DOCKER_CONTEXT) names," in message
        assert "unset DOCKER_CONTEXT" in hint

    @pytest.mark.parametrize(
        "answer",
        [
            b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
            b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\nConnection: close\r\n\r\n{"ApiVersion": "1.12"}'[:-1],
        ],
        ids=["an error", "no JSON", "no version", "cut JSON"],
    )
    def test_somebody_else_who_answers(self, default_socket: Path, tmp_path: Path, answer: bytes) -> None:
        listener = Listener(default_socket, answer)
        name, message, _ = refused({}, tmp_path)
        listener.close()
        assert name == "engine-odd-answer"
        assert str(default_socket) in message

    def test_an_engine_that_is_too_old(self, default_socket: Path, tmp_path: Path) -> None:
        body = b'{"ApiVersion": "1.12"}'
        listener = Listener(default_socket, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        name, _, hint = refused({}, tmp_path)
        listener.close()
        assert name == "engine-odd-answer"
        assert "20.10 or newer" in hint

    def test_one_that_hangs_up(self, default_socket: Path, tmp_path: Path) -> None:
        listener = Listener(default_socket, b"")
        name, message, _ = refused({}, tmp_path)
        listener.close()
        assert name == "engine-not-running"
        assert "breaks off" in message

    def test_ssh_without_its_part_of_the_client(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("docker.api.client.SSHHTTPAdapter", raising=False)
        name, message, hint = refused({"DOCKER_HOST": "ssh://nobody@127.0.0.1:1"}, tmp_path)
        assert name == "engine-ssh"
        assert "ssh://nobody@127.0.0.1:1" in message
        assert "docker[ssh]" in hint

    def test_certificates_that_are_not_there(self, tmp_path: Path) -> None:
        environ = {"DOCKER_HOST": "tcp://127.0.0.1:1", "DOCKER_TLS_VERIFY": "1"}
        name, message, _ = refused(environ, tmp_path)
        assert name == "engine-elsewhere"
        assert "tcp://127.0.0.1:1" in message


def test_a_socket_of_this_machine_is_nobodys_proxy_and_gets_no_password(
    default_socket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine localhost login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    body = b'{"ApiVersion": "1.41"}'
    listener = Listener(default_socket, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    client = _client(Address(f"unix://{default_socket}"), 5)
    assert client.info() == {"ApiVersion": "1.41"}
    listener.close()
    client.close()
    assert "GET /v1.41/info " in listener.heard[-1]
    assert "Authorization" not in listener.heard[-1]


def test_the_ca_of_an_engine_is_not_replaced_by_one_of_the_environment(
    default_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"ApiVersion": "1.41"}'
    listener = Listener(default_socket, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    client = _client(Address(f"unix://{default_socket}"), 5)
    listener.close()
    client.close()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/ca-of-the-company.pem")
    client.verify = "/ca-of-the-engine.pem"
    client.trust_env = True  # as it is for an engine over a network
    assert client.merge_environment_settings("https://far:2376", {}, None, None, None)["verify"] == client.verify


SOCKET = Address("unix:///var/run/docker.sock")


class TestWords:
    """What the layers of the client make of the system's errors, taken apart again."""

    @staticmethod
    def wrapped(error: BaseException) -> BaseException:
        try:
            try:
                raise error
            except BaseException as inner:
                raise ConnectionError(("Connection aborted.", inner)) from inner
        except ConnectionError as outer:
            return outer

    def test_permission(self) -> None:
        error = unreachable(SOCKET, self.wrapped(PermissionError(13, "Permission denied")), timeout_s=1)
        assert error.problems[0].id == "engine-permission"
        assert "/var/run/docker.sock" in str(error)

    def test_permission_on_the_socket_of_a_context_names_it(self) -> None:
        address = Address("unix:///x.sock", "the Docker context nuc (set by DOCKER_CONTEXT)", "unset DOCKER_CONTEXT")
        error = unreachable(address, PermissionError(13, "Permission denied"), timeout_s=1)
        assert "no permission on /x.sock, which the Docker context nuc" in str(error)

    def test_a_full_queue_is_silence(self) -> None:
        error = unreachable(SOCKET, self.wrapped(BlockingIOError(11, "Resource temporarily unavailable")), timeout_s=2)
        assert error.problems[0].id == "engine-silent"

    def test_tls(self) -> None:
        address = Address("tcp://far:2376", "DOCKER_HOST", "unset DOCKER_HOST")
        error = unreachable(address, self.wrapped(ssl.SSLError(1, "certificate verify failed")), timeout_s=1)
        assert error.problems[0].id == "engine-tls"
        assert "certificate verify failed" in str(error)

    @pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
    def test_too_many_open_files_are_not_the_engines_fault(self, number: int) -> None:
        error = unreachable(SOCKET, self.wrapped(OSError(number, "Too many open files")), timeout_s=1)
        assert (error.exit_code, error.problems[0].id) == (ExitCode.REFUSED, "too-many-files")
        assert "ulimit -n" in error.hint

    def test_a_rootless_engine_is_pointed_at(self) -> None:
        address = Address("unix:///var/run/docker.sock", rootless=Path("/run/user/1000/docker.sock"))
        error = unreachable(address, FileNotFoundError(2, "No such file or directory"), timeout_s=1)
        assert "export DOCKER_HOST=unix:///run/user/1000/docker.sock" in error.hint


@pytest.mark.engine
def test_the_engine_that_is_there_is_reached_by_environment_and_context(tmp_path: Path) -> None:
    url = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    by_host = connect({"DOCKER_HOST": url}, tmp_path)
    write_context(tmp_path / ".docker", "here", url)
    by_context = connect({"DOCKER_CONTEXT": "here"}, tmp_path)
    assert by_host.info() == by_context.info()
    for engine in (by_host, by_context):
        engine.close()
