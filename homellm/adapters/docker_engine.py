"""The Engine port on a real Docker Engine. The one module that imports the client library (docker-py).

Import it where an engine is needed: the library takes a good part of the time that `homellm --help` has.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import docker.auth
import docker.utils
from docker import APIClient
from docker.errors import APIError, DockerException, InvalidVersion
from docker.tls import TLSConfig
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from homellm.adapters import docker_archive, docker_parse
from homellm.adapters import docker_error_rules as rules
from homellm.adapters.docker_address import Address, resolve
from homellm.adapters.docker_calls import Calls
from homellm.adapters.docker_errors import holder_of, taken_port, translate
from homellm.adapters.docker_http import PullResponse, cut, knock
from homellm.adapters.docker_probe import run_probe
from homellm.adapters.docker_pull import WAITS_S, Pull, PullConnection, PullRefused
from homellm.adapters.docker_removal import insist
from homellm.adapters.docker_streams import EngineStream, demultiplex
from homellm.adapters.docker_unreachable import no_ssh_support, not_an_engine, timed_out, unreachable
from homellm.domain.stack import RestartPolicy
from homellm.domain.world import Container, EngineInfo, Image, Network
from homellm.errors import ContainerGone, EngineRefused, EngineUnreachable
from homellm.ports import Created, Json, ProbeResult, PullStream, Stream

#: The first version of the API that gives statistics without measuring for two seconds (`one-shot`).
_ONE_SHOT_SINCE = (1, 41)
_REMOVAL_WAIT_S = 10
_POLL_S = 0.2
_TRANSPORT = (RequestException, HTTPError, DockerException, OSError)
#: Connections kept for later. By a Unix socket the library keeps so many for every URL that was ever asked, and fills
#: each of its pools beforehand; elsewhere all threads share one pool.
_KEPT, _KEPT_BY_SOCKET = 64, 2


def connect(
    environ: Mapping[str, str], home: Path, *, timeout_s: float = 10.0, call_timeout_s: float = 120.0
) -> DockerEngine:
    """Reach the engine that environment and configuration name, and ask it for its version.

    `timeout_s` bounds this first answer, `call_timeout_s` every later call that is not a stream or a wait. Raises
    EngineUnreachable with one of several messages: none is running, no permission, a context that points elsewhere
    or is missing, one that is silent.
    """
    address = resolve(environ, home)
    client = _client(address, timeout_s)
    client.timeout = _seconds(call_timeout_s)
    return DockerEngine(address, client, timeout_s=call_timeout_s)


class DockerEngine:
    """An Engine (see ports) over docker-py's low-level client, which does not hide the engine's warnings.

    Safe to use from several threads. `close` gives the connections back; streams that are open live on.
    """

    def __init__(self, address: Address, client: APIClient, *, timeout_s: float) -> None:
        self._api = client
        self._url = address.url
        self._info: EngineInfo | None = None
        base_url = f"{client.base_url}/v{client.api_version}"
        self._calls = Calls(
            address, client, base_url=base_url, timeout_s=timeout_s, refusal=APIError, transport=_TRANSPORT
        )
        #: Seconds before the second and the third try of a pull.
        self.pull_waits_s = WAITS_S

    def close(self) -> None:
        """Close the connections that are idle."""
        self._api.close()

    # -- the engine and what is there

    def info(self) -> EngineInfo:
        """The engine itself, asked once: what is read of it changes with the daemon's own configuration alone."""
        if self._info is None:
            told = self._calls.ask("tell about itself", self._api.info)
            self._info = docker_parse.engine_info(told, address=self._url)
        return self._info

    def list_containers(self, labels: Mapping[str, str | None]) -> tuple[Container, ...]:
        """All containers, stopped ones too, that carry these labels, the newest first."""
        listed = self._calls.ask(
            "list containers", lambda: self._api.containers(all=True, filters=docker_parse.label_filters(labels))
        )
        found = (self.find_container(entry["Id"]) for entry in listed)
        return tuple(container for container in found if container)  # one may have gone in between

    def published_ports(self) -> tuple[tuple[str, int, str], ...]:
        """(host address, TCP port, container name) of every port that a running container publishes."""
        listed = self._calls.ask("list containers", self._api.containers)
        return tuple(port for entry in listed for port in docker_parse.published(entry))

    def find_container(self, ref: str) -> Container | None:
        """The container of that id or exact name, or None."""
        try:
            found = docker_parse.container(self._inspect(ref))
        except ContainerGone:
            return None
        return found if ref in (found.id, found.name) else None

    def inspect(self, ref: str) -> Json:
        """The engine's own JSON of a container."""
        return self._calls.on(ref, "inspect", lambda: self._inspect(ref))

    # -- containers

    def create(self, name: str, body: Json) -> Created:
        """Make a container from an API body."""
        made = self._calls.ask(
            f"make the container {name}", lambda: self._api.create_container_from_config(dict(body), name)
        )
        return Created(made["Id"], tuple(made.get("Warnings") or ()))

    def start(self, ref: str) -> None:
        """Start a container; a port that another container holds is told with that container's name."""
        try:
            self._calls.on(ref, "start", lambda: self._api.start(ref))
        except EngineRefused as error:
            taken = taken_port(error.original)
            holder = holder_of(taken, self.published_ports()) if taken else None
            if holder:
                raise translate(error.original, doing=f"start {ref}", holder=holder) from error
            raise

    def kill(self, ref: str, signal: str) -> None:
        """Send a signal; a container that does not run is left alone."""
        try:
            self._calls.on(ref, f"send {signal} to", lambda: self._api.kill(ref, signal))
        except EngineRefused as error:
            if error.problems[0].id != rules.NOT_RUNNING:
                raise

    def wait(self, ref: str, timeout_s: float) -> int | None:
        """The exit code once it does not run any more (or is about to be started again), None after `timeout_s`."""
        if self._url.startswith("ssh://"):
            return self._poll(ref, timeout_s)  # a pipe to an ssh client knows no limit of time
        try:
            answer = self._calls.on(
                ref, "wait for", lambda: self._api.wait(ref, timeout=_seconds(max(timeout_s, 0.01)))
            )
        except EngineUnreachable as error:
            if error.__cause__ and timed_out(error.__cause__):
                return None
            raise
        return int(answer["StatusCode"])

    def rename(self, ref: str, name: str) -> None:
        """Give a container another name."""
        self._calls.on(ref, f"give the name {name} to", lambda: self._api.rename(ref, name))

    def set_restart_policy(self, ref: str, policy: RestartPolicy) -> None:
        """Change the restart policy in place."""
        wanted: Any = {"Name": policy, "MaximumRetryCount": 0}  # the stubs know two of the four policies
        self._calls.on(
            ref,
            "set the restart policy of",
            lambda: self._api.update_container(ref, restart_policy=wanted),
        )

    def remove(self, ref: str) -> None:
        """Remove a container that does not run and its anonymous volumes; one that is gone is left alone.

        A removal that cannot be ended is tried again for a moment (docker_removal), then NotRemoved is raised.
        """
        insist(ref, self._remove, self._await_removal, self.find_container, time.sleep)

    def logs(
        self, ref: str, *, since: str | None, follow: bool, tail: int | None = None, until: str | None = None
    ) -> Stream:
        """A container's log, both streams, from one time in the engine's own text to another, to the nanosecond."""
        tty = docker_parse.has_terminal(self.inspect(ref))
        params = {
            "stdout": "1",
            "stderr": "1",
            "follow": str(int(follow)),
            "tail": "all" if tail is None else str(tail),
        }
        if moment := docker_parse.since_parameter(since) if since else None:
            params["since"] = moment
        if moment := docker_parse.since_parameter(until) if until else None:
            params["until"] = moment
        response = self._calls.open_container(ref, "logs", params, "show the log of")
        chunks = response.iter_content(None)
        frames = chunks if tty else demultiplex(chunks)
        return EngineStream(frames, partial(cut, response), ended_by=_TRANSPORT)

    # -- images

    def find_image(self, ref: str) -> Image | None:
        """The image of that name or id if it is here."""
        try:
            return docker_parse.image(self._calls.ask(f"look at the image {ref}", lambda: self._api.inspect_image(ref)))
        except EngineRefused as error:
            if error.problems[0].id == rules.NO_SUCH_IMAGE:
                return None
            raise

    def images_named(self, repository: str) -> tuple[str, ...]:
        """The names, tags included, of the images here of that repository, the newest first."""
        listed = self._calls.ask("list images", lambda: self._api.images(name=repository))
        newest = sorted(listed, key=lambda entry: entry.get("Created") or 0, reverse=True)
        return tuple(name for entry in newest for name in entry.get("RepoTags") or ())

    def pull(self, ref: str) -> PullStream:
        """Bring an image: see Pull."""
        return Pull(
            ref,
            lambda: self._connect_pull(ref),
            lambda: self.find_image(ref) is not None,
            waits_s=self.pull_waits_s,
        )

    def probe(
        self, image: str, args: tuple[str, ...], labels: Mapping[str, str], *, entrypoint: tuple[str, ...] | None = None
    ) -> ProbeResult:
        """Run a throwaway container and remove it."""
        return run_probe(self, image, args, labels, entrypoint=entrypoint)

    # -- networks

    def find_network(self, name: str) -> Network | None:
        """The network of that exact name, or None."""
        listed = self._calls.ask("list networks", lambda: self._api.networks(names=[name]))
        # The engine's filter finds every name that has this one in it.
        return next((docker_parse.network(entry) for entry in listed if entry["Name"] == name), None)

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a bridge network; one of that name is left alone."""
        if self.find_network(name):
            return
        try:
            self._calls.ask(
                f"make the network {name}",
                lambda: self._api.create_network(name, driver="bridge", labels=dict(labels), check_duplicate=True),
            )
        except EngineRefused as error:
            if error.problems[0].id != rules.NETWORK_TAKEN:
                raise

    def connect_network(self, network: str, ref: str, aliases: tuple[str, ...]) -> None:
        """Join a container to a network."""
        self._calls.on(
            ref,
            f"join the network {network} to",
            lambda: self._api.connect_container_to_network(ref, network, aliases=list(aliases)),
        )

    def list_networks(self, labels: Mapping[str, str | None]) -> tuple[Network, ...]:
        """All networks that carry these labels."""
        listed = self._calls.ask(
            "list networks", lambda: self._api.networks(filters=docker_parse.label_filters(labels))
        )
        return tuple(docker_parse.network(entry) for entry in listed)

    def remove_network(self, name: str) -> None:
        """Remove a network that no running container uses; one that is gone is left alone."""
        network = self.find_network(name)
        if network is None:
            return
        try:
            self._calls.ask(f"remove the network {name}", lambda: self._api.remove_network(network.id))
        except EngineRefused as error:
            if error.problems[0].id != rules.NETWORK_MISSING:
                raise

    # -- files and figures

    def put_file(self, ref: str, path: str, data: bytes) -> None:
        """Write a small file into a container, running or not; its time is that of the writing."""
        folder, name = docker_archive.split(path)
        archive = docker_archive.pack(name, data, time.time())
        self._calls.on(ref, f"write {path} into", lambda: self._api.put_archive(ref, folder, archive))

    def get_file(self, ref: str, path: str) -> bytes | None:
        """Read a small file out of a container; None when there is none, or it is no plain file."""
        data = self._calls.archive_bytes(ref, path)
        return None if data is None else docker_archive.unpack(data)

    def get_tree(self, ref: str, path: str) -> Mapping[str, bytes] | None:
        """All plain files below a folder, by path relative to it; None when there is no such folder."""
        data = self._calls.archive_bytes(ref, path)
        return None if data is None else docker_archive.unpack_tree(data)

    def file_size(self, ref: str, path: str) -> int | None:
        """Bytes of a plain file; None when there is none."""
        response = self._calls.archive(ref, path)
        if response is None:
            return None
        with response:
            return docker_archive.size(response.headers.get(docker_archive.STAT_HEADER, ""))

    def memory_usage(self, ref: str) -> int | None:
        """Bytes of memory in use, as `docker stats` counts them; None when it does not run."""
        one_shot = True if docker_parse.version_numbers(self._api.api_version) >= _ONE_SHOT_SINCE else None
        stats = self._calls.on(ref, "measure", lambda: self._api.stats(ref, stream=False, one_shot=one_shot))
        return docker_parse.working_set(stats)

    # -- inside

    def _inspect(self, ref: str) -> dict[str, Any]:
        return self._calls.ask(f"inspect {ref}", lambda: self._api.inspect_container(ref))

    def _poll(self, ref: str, timeout_s: float) -> int | None:
        deadline = time.monotonic() + timeout_s
        while (container := docker_parse.container(self.inspect(ref))).running:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return None
            time.sleep(min(_POLL_S, left_s))
        return container.exit_code

    def _remove(self, ref: str) -> None:
        self._calls.on(ref, "remove", lambda: self._api.remove_container(ref, v=True))

    def _await_removal(self, ref: str) -> None:
        """Until a removal that somebody else has begun is over, whatever came of it; not for ever."""
        try:
            self._calls.ask(f"remove {ref}", lambda: self._api.wait(ref, timeout=_REMOVAL_WAIT_S, condition="removed"))
        except ContainerGone:
            return
        except EngineUnreachable as error:
            if not (error.__cause__ and timed_out(error.__cause__)):
                raise

    def _connect_pull(self, ref: str) -> PullConnection:
        repository, tag = docker.utils.parse_repository_tag(ref)
        doing = f"pull {ref}"

        def headers() -> Mapping[str, str]:
            registry, _ = docker.auth.resolve_repository_name(repository)
            login = docker.auth.get_config_header(self._api, registry)
            return {"X-Registry-Auth": login.decode() if isinstance(login, bytes) else login} if login else {}

        try:
            response = self._calls.open(
                "POST",
                "/images/create",
                {"fromImage": repository, "tag": tag or "latest"},
                doing,
                headers=self._calls.ask(doing, headers),
            )
        except EngineRefused as error:
            raise PullRefused(error.original) from error
        return PullResponse(response, ended_by=_TRANSPORT)


class _Client(APIClient):
    """The library's client, which leaves no connection open when its engine turns out to be none."""

    def __init__(self, **kwargs: Any) -> None:
        try:
            super().__init__(**kwargs)
        except BaseException:
            self.close()
            raise

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Of the environment everything but REQUESTS_CA_BUNDLE, which would beat the CA declared for this engine."""
        return super().merge_environment_settings(url, proxies, stream, self.verify if verify is None else verify, cert)


def _client(address: Address, timeout_s: float) -> APIClient:
    try:
        if address.socket:
            knock(address.socket, timeout_s)
        client = _Client(
            base_url=address.url,
            tls=_tls(address),
            timeout=_seconds(timeout_s),
            use_ssh_client=True,
            max_pool_size=_KEPT_BY_SOCKET if address.socket else _KEPT,
        )
    except InvalidVersion as error:
        raise not_an_engine(address, str(error)) from error
    except _TRANSPORT as error:
        if address.url.startswith("ssh://") and "paramiko" in str(error):
            raise no_ssh_support(address) from error
        cause = error.__cause__
        if isinstance(cause, APIError | ValueError | KeyError):
            raise not_an_engine(address, str(cause)) from error
        raise unreachable(address, error, timeout_s=timeout_s) from error
    # No proxy and no .netrc concerns a socket of this machine, and the library would go through them for every call.
    client.trust_env = address.socket is None
    return client


def _tls(address: Address) -> TLSConfig | bool:
    files = address.tls
    if files is None:
        return False
    pair = (str(files.cert), str(files.key)) if files.cert and files.key else None
    return TLSConfig(client_cert=pair, ca_cert=str(files.ca) if files.ca else None, verify=files.verify)


def _seconds(timeout_s: float) -> int:
    """A time limit as the client library's stubs want it; it takes fractions as well."""
    return cast("int", timeout_s)
