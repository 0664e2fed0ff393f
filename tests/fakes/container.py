"""A container of the fake engine and its inspect JSON, in the words of the real one (Docker Engine 20.10)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from homellm.domain.world import NEVER, Image
from tests.fakes.behaviour import Behaviour

Doc = dict[str, Any]

#: Folders that every fake container has.
FOLDERS = frozenset({"/", "/bin", "/dev", "/etc", "/proc", "/sys", "/tmp"})


@dataclass
class Endpoint:
    """A container's place in a network; `address` is empty while it does not run, `network_id` before its first run."""

    aliases: tuple[str, ...] = ()
    address: str = ""
    network_id: str = ""


@dataclass
class FakeContainer:
    """State of one container. `run` counts its starts: what was due in an earlier run is void."""

    id: str
    name: str
    body: Mapping[str, Any]
    image: Image
    created_at: str
    policy: str = "no"
    status: str = "created"
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    pid: int = 0
    restart_count: int = 0
    started_at: str = NEVER
    finished_at: str = NEVER
    health: str = ""
    run: int = 0
    started_us: int = 0
    terms: int = 0
    stopped_by_hand: bool = False
    behaviour: Behaviour = field(default_factory=Behaviour)
    log: list[tuple[int, bytes]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    networks: dict[str, Endpoint] = field(default_factory=dict)
    ports: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether its process is up now."""
        return self.status == "running"

    @property
    def host_config(self) -> Mapping[str, Any]:
        """The HostConfig that it was made with."""
        return self.body.get("HostConfig") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.body.get("Labels") or {}

    @property
    def log_driver(self) -> str:
        """Its log driver."""
        return (self.host_config.get("LogConfig") or {}).get("Type") or "json-file"

    @property
    def words(self) -> tuple[str, ...]:
        """Program and arguments; an entrypoint of its own drops the image's command."""
        own = tuple(self.body.get("Entrypoint") or ())
        command = tuple(self.body.get("Cmd") or (() if own else self.image.command))
        return (own or self.image.entrypoint) + command

    @property
    def env(self) -> dict[str, str]:
        """The image's environment and over it the container's own."""
        pairs = [text.partition("=") for text in (*self.image.env, *(self.body.get("Env") or ()))]
        return {name: value for name, _, value in pairs}

    @property
    def health_test(self) -> tuple[str, ...]:
        """The health check's command, empty for none."""
        own = (self.body.get("Healthcheck") or {}).get("Test")
        test = tuple(own or (self.image.health_check.test if self.image.health_check else ()))
        return () if test == ("NONE",) else test

    def exposed(self) -> list[tuple[str, str, str]]:
        """(port with protocol, host address, host port) to publish: bindings of ports that are not exposed are
        ignored, as the real engine does."""
        bindings = self.host_config.get("PortBindings") or {}
        return [
            (port, binding.get("HostIp", ""), binding.get("HostPort", ""))
            for port in self.body.get("ExposedPorts") or {}
            for binding in bindings.get(port) or ()
        ]

    def inspect(self) -> Doc:
        """What `GET /containers/{id}/json` answers, as far as homellm reads it."""
        words = self.words
        return {
            "Id": self.id,
            "Name": f"/{self.name}",
            "Created": self.created_at,
            "Image": self.image.id,
            "Path": words[0] if words else "",
            "Args": list(words[1:]),
            "RestartCount": self.restart_count,
            "State": self._state(),
            "Config": self._config(),
            "HostConfig": self._host_config(),
            "Mounts": [
                {
                    "Type": mount["Type"],
                    "Source": mount["Source"],
                    "Destination": mount["Target"],
                    "RW": not mount.get("ReadOnly", False),
                }
                for mount in self.host_config.get("Mounts") or ()
            ],
            "NetworkSettings": self._network_settings(),
        }

    def _state(self) -> Doc:
        state: Doc = {
            "Status": self.status,
            "Running": self.status in ("running", "restarting"),
            "Paused": False,
            "Restarting": self.status == "restarting",
            "OOMKilled": self.oom_killed,
            "Dead": self.status == "dead",
            "Pid": self.pid,
            "ExitCode": self.exit_code,
            "Error": self.error,
            "StartedAt": self.started_at,
            "FinishedAt": self.finished_at,
        }
        if self.health:
            state["Health"] = {"Status": self.health, "FailingStreak": 0, "Log": []}
        return state

    def _config(self) -> Doc:
        config = {
            key: copy.deepcopy(value)
            for key, value in self.body.items()
            if key not in ("HostConfig", "NetworkingConfig")
        }
        config |= {
            "Hostname": self.id[:12],
            "Env": [f"{name}={value}" for name, value in self.env.items()],
            "Labels": dict(self.labels),
            "Cmd": self.body.get("Cmd") or list(self.image.command) or None,
            "Entrypoint": self.body.get("Entrypoint") or list(self.image.entrypoint) or None,
            "Tty": bool(self.body.get("Tty")),
            "User": self.body.get("User") or self.image.user,
        }
        return config

    def _host_config(self) -> Doc:
        host = copy.deepcopy(dict(self.host_config))
        host["RestartPolicy"] = {"Name": self.policy, "MaximumRetryCount": 0}
        host["LogConfig"] = {
            "Type": self.log_driver,
            "Config": dict((self.host_config.get("LogConfig") or {}).get("Config") or {}),
        }
        host.setdefault("NetworkMode", "default")
        host.setdefault("Memory", 0)
        return host

    def _network_settings(self) -> Doc:
        bound = {port: [{"HostIp": ip, "HostPort": str(at)} for ip, at in ends] for port, ends in self.ports.items()}
        return {
            "Ports": bound if self.running else {},
            "Networks": {
                name: {"Aliases": list(end.aliases) or None, "IPAddress": end.address, "NetworkID": end.network_id}
                for name, end in self.networks.items()
            },
        }
