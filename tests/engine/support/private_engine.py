"""A second Docker Engine in a network namespace of its own, for tests that restart the daemon.

It is started only inside that namespace: a second dockerd in the main one would delete the first one's bridge. Only
the network is apart; process ids, cgroups and files are those of this machine, so that /proc is a witness as ever.
"""

import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import docker

from tests.engine.support.wait import wait_for

START_PATIENCE_S = 60
STOP_PATIENCE_S = 60


class PrivateEngine:
    """A dockerd of the suite's own. `name` begins with `homellm-test-`; `enter` runs a command in its namespace."""

    def __init__(self, name: str) -> None:
        assert name.startswith("homellm-test-"), name
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir="/var/tmp"))
        self.enter = ("nsenter", f"--net=/var/run/netns/{name}")
        self._daemon: subprocess.Popen[bytes] | None = None
        self._api: docker.APIClient | None = None
        _run("ip", "netns", "add", name)
        _run(*self.enter, "ip", "link", "set", "lo", "up")

    @property
    def host(self) -> str:
        """For DOCKER_HOST."""
        return f"unix://{self.folder}/docker.sock"

    @property
    def log(self) -> str:
        return (self.folder / "dockerd.log").read_text(errors="replace")

    @property
    def api(self) -> docker.APIClient:
        """A client, while the daemon runs. The socket is a file: it is reached from outside of the namespace too."""
        if self._api is None:
            self._api = docker.APIClient(base_url=self.host, timeout=60)
        return self._api

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        command = [
            *self.enter,
            "dockerd",
            f"--host={self.host}",
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--pidfile={self.folder}/dockerd.pid",
            "--bridge=none",
            f"--containerd-namespace={self.name}",
            f"--containerd-plugins-namespace={self.name}-plugins",
        ]
        with (self.folder / "dockerd.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_for(self._answers, f"the private engine {self.name} to answer", START_PATIENCE_S)

    def stop(self) -> None:
        """End the daemon by SIGTERM, as a package update does. Without live restore its containers stop with it."""
        if self._api is not None:
            self._api.close()
            self._api = None
        if self._daemon is None:
            return
        self._daemon.send_signal(signal.SIGTERM)
        self._daemon.wait(STOP_PATIENCE_S)
        self._daemon = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def load(self, source: docker.APIClient, image: str) -> None:
        """Bring an image over from another engine, as `docker save | docker load` does."""
        for row in self.api.load_image(source.get_image(image)):
            assert "error" not in row, row

    def remove(self) -> None:
        """End the daemon and remove all of it."""
        try:
            self.stop()
        finally:
            self._unmount()
            shutil.rmtree(self.folder)
            _run("ip", "netns", "delete", self.name)

    def _answers(self) -> bool:
        assert self._daemon is not None
        assert self._daemon.poll() is None, f"the private engine ended while starting:\n{self.log[-3000:]}"
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(f"{self.folder}/docker.sock")
        except OSError:
            return False  # not yet
        return bool(self.api.ping())

    def _unmount(self) -> None:
        """What the daemon left mounted below its folder; the deepest first."""
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for point in sorted((point for point in mounts if point.startswith(f"{self.folder}/")), reverse=True):
            _run("umount", "--lazy", point)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
