"""The Engine port on a real Docker Engine. The one module that imports the client library (docker-py).

Import it where an engine is needed: the library takes a good part of the time that `homellm --help` has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import docker.auth
import docker.utils
from docker import APIClient
from docker.errors import APIError, DockerException, InvalidVersion
from docker.tls import TLSConfig
from requests import Response
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from homellm.adapters import docker_archive, docker_parse
from homellm.adapters import docker_error_rules as rules
from homellm.adapters.docker_address import Address, resolve
from homellm.adapters.docker_errors import exclude, taken_port, translate
from homellm.adapters.docker_http import PullResponse, cut, error_text, read_limited
from homellm.adapters.docker_probe import run_probe
from homellm.adapters.docker_pull import WAITS_S, Pull, PullConnection, PullRefused
from homellm.adapters.docker_streams import EngineStream, demultiplex
from homellm.adapters.docker_unreachable import no_ssh_support, not_an_engine, timed_out, unreachable
from homellm.domain.stack import RestartPolicy
from homellm.domain.world import Container, EngineInfo, Image, Network
from homellm.errors import ContainerGone, EngineRefused, EngineUnreachable, HomellmError
from homellm.ports import Created, Json, ProbeResult, PullStream, Stream

#: The first version of the API that gives statistics without measuring for two seconds (`one-shot`).
_ONE_SHOT_SINCE = (1, 41)
_REMOVAL_WAIT_S = 10
_TRANSPORT = (RequestException, HTTPError, DockerException, OSError)
_MAYBE_AN_ID = re.compile(r"[0-9a-f]{1,63}")

_T = TypeVar("_T")


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
        self._address = address
        self._api = client
        self._timeout_s = timeout_s
        #: Seconds before the second and the third try of a pull.
        self.pull_waits_s = WAITS_S

    def close(self) -> None:
        """Close the connections that are idle."""
        self._api.close()

    # -- the engine and what is there

    def info(self) -> EngineInfo:
        """The engine itself."""
        return docker_parse.engine_info(self._ask("tell about itself", self._api.info), address=self._address.url)

    def list_containers(self, labels: Mapping[str, str | None]) -> tuple[Container, ...]:
        """All containers, stopped ones too, that carry these labels, the newest first."""
        listed = self._ask(
            "list containers", lambda: self._api.containers(all=True, filters=docker_parse.label_filters(labels))
        )
        found = (self.find_container(entry["Id"]) for entry in listed)
        return tuple(container for container in found if container)  # one may have gone in between

    def published_ports(self) -> tuple[tuple[str, int, str], ...]:
        """(host address, TCP port, container name) of every port that a running container publishes."""
        listed = self._ask("list containers", self._api.containers)
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
        return self._on(ref, "inspect", lambda: self._inspect(ref))

    # -- containers

    def create(self, name: str, body: Json) -> Created:
        """Make a container from an API body."""
        made = self._ask(f"make the container {name}", lambda: self._api.create_container_from_config(dict(body), name))
        return Created(made["Id"], tuple(made.get("Warnings") or ()))

    def start(self, ref: str) -> None:
        """Start a container; a port that another container holds is told with that container's name."""
        try:
            self._on(ref, "start", lambda: self._api.start(ref))
        except EngineRefused as error:
            holder = self._holder(error.original)
            if holder:
                raise translate(error.original, doing=f"start {ref}", holder=holder) from error
            raise

    def kill(self, ref: str, signal: str) -> None:
        """Send a signal; a container that does not run is left alone."""
        try:
            self._on(ref, f"send {signal} to", lambda: self._api.kill(ref, signal))
        except EngineRefused as error:
            if error.problems[0].id != rules.NOT_RUNNING:
                raise

    def wait(self, ref: str, timeout_s: float) -> int | None:
        """The exit code once it does not run any more (or is about to be started again), None after `timeout_s`."""
        try:
            answer = self._on(ref, "wait for", lambda: self._api.wait(ref, timeout=_seconds(max(timeout_s, 0.01))))
        except EngineUnreachable as error:
            if error.__cause__ and timed_out(error.__cause__):
                return None
            raise
        return int(answer["StatusCode"])

    def rename(self, ref: str, name: str) -> None:
        """Give a container another name."""
        self._on(ref, f"give the name {name} to", lambda: self._api.rename(ref, name))

    def set_restart_policy(self, ref: str, policy: RestartPolicy) -> None:
        """Change the restart policy in place."""
        wanted: Any = {"Name": policy, "MaximumRetryCount": 0}  # the stubs know two of the four policies
        self._on(
            ref,
            "set the restart policy of",
            lambda: self._api.update_container(ref, restart_policy=wanted),
        )

    def remove(self, ref: str) -> None:
        """Remove a container that does not run and its anonymous volumes; one that is gone is left alone."""
        try:
            self._on(ref, "remove", lambda: self._api.remove_container(ref, v=True))
        except ContainerGone:
            return
        except EngineRefused as error:
            if error.problems[0].id != rules.BEING_REMOVED:
                raise
            self._await_removal(ref)

    def logs(self, ref: str, *, since: str | None, follow: bool, tail: int | None = None) -> Stream:
        """A container's log, both streams, from a time in the engine's own text, to the nanosecond."""
        tty = docker_parse.has_terminal(self.inspect(ref))
        params = {
            "stdout": "1",
            "stderr": "1",
            "follow": str(int(follow)),
            "tail": "all" if tail is None else str(tail),
        }
        if moment := docker_parse.since_parameter(since) if since else None:
            params["since"] = moment
        response = self._open("GET", f"/containers/{quote(ref, safe='')}/logs", params, f"show the log of {ref}")
        chunks = response.iter_content(None)
        frames = chunks if tty else demultiplex(chunks)
        return EngineStream(frames, partial(cut, response), ended_by=_TRANSPORT)

    # -- images

    def find_image(self, ref: str) -> Image | None:
        """The image of that name or id if it is here."""
        try:
            return docker_parse.image(self._ask(f"look at the image {ref}", lambda: self._api.inspect_image(ref)))
        except EngineRefused as error:
            if error.problems[0].id == rules.NO_SUCH_IMAGE:
                return None
            raise

    def pull(self, ref: str) -> PullStream:
        """Bring an image: see Pull."""
        return Pull(
            ref,
            lambda: self._connect_pull(ref),
            lambda: self.find_image(ref) is not None,
            waits_s=self.pull_waits_s,
        )

    def probe(self, image: str, args: tuple[str, ...], labels: Mapping[str, str]) -> ProbeResult:
        """Run a throwaway container and remove it."""
        return run_probe(self, image, args, labels)

    # -- networks

    def find_network(self, name: str) -> Network | None:
        """The network of that exact name, or None."""
        listed = self._ask("list networks", lambda: self._api.networks(names=[name]))
        # The engine's filter finds every name that has this one in it.
        return next((docker_parse.network(entry) for entry in listed if entry["Name"] == name), None)

    def create_network(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a bridge network; one of that name is left alone."""
        if self.find_network(name):
            return
        try:
            self._ask(
                f"make the network {name}",
                lambda: self._api.create_network(name, driver="bridge", labels=dict(labels), check_duplicate=True),
            )
        except EngineRefused as error:
            if error.problems[0].id != rules.NETWORK_TAKEN:
                raise

    def connect_network(self, network: str, ref: str, aliases: tuple[str, ...]) -> None:
        """Join a container to a network."""
        self._on(
            ref,
            f"join the network {network} to",
            lambda: self._api.connect_container_to_network(ref, network, aliases=list(aliases)),
        )

    def list_networks(self, labels: Mapping[str, str | None]) -> tuple[Network, ...]:
        """All networks that carry these labels."""
        listed = self._ask("list networks", lambda: self._api.networks(filters=docker_parse.label_filters(labels)))
        return tuple(docker_parse.network(entry) for entry in listed)

    def remove_network(self, name: str) -> None:
        """Remove a network that no running container uses; one that is gone is left alone."""
        network = self.find_network(name)
        if network is None:
            return
        try:
            self._ask(f"remove the network {name}", lambda: self._api.remove_network(network.id))
        except EngineRefused as error:
            if error.problems[0].id != rules.NETWORK_MISSING:
                raise

    # -- files and figures

    def put_file(self, ref: str, path: str, data: bytes) -> None:
        """Write a small file into a container, running or not."""
        folder, name = docker_archive.split(path)
        archive = docker_archive.pack(name, data)
        self._on(ref, f"write {path} into", lambda: self._api.put_archive(ref, folder, archive))

    def get_file(self, ref: str, path: str) -> bytes | None:
        """Read a small file out of a container; None when there is none, or it is no plain file."""
        try:
            response = self._on(
                ref,
                f"read {path} of",
                lambda: self._open("GET", f"/containers/{quote(ref, safe='')}/archive", {"path": path}, f"read {path}"),
            )
        except EngineRefused as error:
            if error.problems[0].id == rules.PATH_MISSING:
                return None
            raise
        with response:
            archive = self._ask(f"read {path} of {ref}", lambda: read_limited(response, docker_archive.LIMIT_BYTES))
        if len(archive) > docker_archive.LIMIT_BYTES:
            raise EngineRefused(
                f"{path} in container {ref} is too large to be a record of homellm.", id="file-too-large"
            )
        return docker_archive.unpack(archive)

    def memory_usage(self, ref: str) -> int | None:
        """Bytes of memory in use, as `docker stats` counts them; None when it does not run."""
        one_shot = True if docker_parse.version_numbers(self._api.api_version) >= _ONE_SHOT_SINCE else None
        stats = self._on(ref, "measure", lambda: self._api.stats(ref, stream=False, one_shot=one_shot))
        return docker_parse.working_set(stats)

    # -- inside

    def _ask(self, doing: str, call: Callable[[], _T]) -> _T:
        """Call the engine; whatever goes wrong leaves as an error of ours."""
        try:
            return call()
        except APIError as error:
            raise translate(str(error.explanation or error), doing=doing) from error
        except _TRANSPORT as error:
            raise unreachable(self._address, error, timeout_s=self._timeout_s) from error

    def _on(self, ref: str, doing: str, call: Callable[[], _T]) -> _T:
        """Call the engine about one container, which has to be that of exactly this id or name.

        The engine takes the beginning of an id too: a name like `cafe` that is gone would hit somebody else's.
        """
        if _MAYBE_AN_ID.fullmatch(ref) and self.find_container(ref) is None:
            raise translate(f"No such container: {ref}", doing=doing)
        return self._ask(f"{doing} {ref}", call)

    def _inspect(self, ref: str) -> dict[str, Any]:
        return self._ask(f"inspect {ref}", lambda: self._api.inspect_container(ref))

    def _open(
        self, method: str, path: str, params: Mapping[str, str], doing: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        """A request whose answer is read as it comes, without a limit of time."""
        url = f"{self._api.base_url}/v{self._api.api_version}{path}"
        response = self._ask(
            doing,
            lambda: self._api.request(
                method, url, params=params, headers=headers, stream=True, timeout=(self._timeout_s, None)
            ),
        )
        if response.status_code >= 400:  # noqa: PLR2004 - HTTP's own errors
            with response:
                text = self._ask(doing, lambda: error_text(response))
            raise translate(text, doing=doing)
        return response

    def _holder(self, text: str) -> str | None:
        """The container that holds the port which an error text says is taken."""
        taken = taken_port(text)
        if taken is None:
            return None
        try:
            published = self.published_ports()
        except HomellmError:
            return None
        return next((name for ip, port, name in published if port == taken[1] and exclude(ip, taken[0])), None)

    def _await_removal(self, ref: str) -> None:
        try:
            self._ask(f"remove {ref}", lambda: self._api.wait(ref, timeout=_REMOVAL_WAIT_S, condition="removed"))
        except ContainerGone:
            return

    def _connect_pull(self, ref: str) -> PullConnection:
        repository, tag = docker.utils.parse_repository_tag(ref)
        doing = f"pull {ref}"

        def headers() -> Mapping[str, str]:
            registry, _ = docker.auth.resolve_repository_name(repository)
            login = docker.auth.get_config_header(self._api, registry)
            return {"X-Registry-Auth": login.decode() if isinstance(login, bytes) else login} if login else {}

        try:
            response = self._open(
                "POST",
                "/images/create",
                {"fromImage": repository, "tag": tag or "latest"},
                doing,
                headers=self._ask(doing, headers),
            )
        except EngineRefused as error:
            raise PullRefused(error.original) from error
        return PullResponse(response, ended_by=_TRANSPORT)


def _client(address: Address, timeout_s: float) -> APIClient:
    try:
        return APIClient(
            base_url=address.url,
            tls=_tls(address),
            timeout=_seconds(timeout_s),
            use_ssh_client=True,
            max_pool_size=64,
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


def _tls(address: Address) -> TLSConfig | bool:
    files = address.tls
    if files is None:
        return False
    pair = (str(files.cert), str(files.key)) if files.cert and files.key else None
    return TLSConfig(client_cert=pair, ca_cert=str(files.ca) if files.ca else None, verify=files.verify)


def _seconds(timeout_s: float) -> int:
    """A time limit as the client library's stubs want it; it takes fractions as well."""
    return cast("int", timeout_s)
