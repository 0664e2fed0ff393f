"""Which engine to talk to, as the docker command chooses: DOCKER_HOST, DOCKER_CONTEXT, the current context, the socket.

docker-py alone knows nothing of contexts. Layout of ~/.docker: docker/cli, cli/config and cli/context/store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from homellm.errors import EngineUnreachable

DEFAULT_URL = "unix:///var/run/docker.sock"
_DEFAULT_CONTEXT = "default"
_SCHEMES = ("unix://", "tcp://", "ssh://", "http://", "https://")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificates for an engine reached over TCP. Without `verify` the engine's own certificate is not checked."""

    ca: Path | None
    cert: Path | None
    key: Path | None
    verify: bool


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine is and who says so.

    `origin` is how a sentence names what chose it (`DOCKER_HOST`, `the Docker context nuc`), empty for the default;
    `undo` is what to type to get back to the default. `rootless` is the socket of a rootless engine of this user that
    was seen besides, None when there is none.
    """

    url: str
    origin: str = ""
    undo: str = ""
    tls: TlsFiles | None = None
    rootless: Path | None = None

    @property
    def socket(self) -> Path | None:
        """The path of a Unix socket, None for an engine reached otherwise."""
        return Path(self.url.removeprefix("unix://")) if self.url.startswith("unix://") else None


def resolve(environ: Mapping[str, str], home: Path) -> Address:
    """The engine that environment and configuration name. Raises EngineUnreachable when they name none that exists."""
    folder = Path(environ["DOCKER_CONFIG"]) if environ.get("DOCKER_CONFIG") else home / ".docker"
    if host := environ.get("DOCKER_HOST"):
        return Address(
            _checked(host, "DOCKER_HOST"), "DOCKER_HOST", "unset DOCKER_HOST", tls=_tls_of_environment(environ, folder)
        )
    if name := environ.get("DOCKER_CONTEXT"):
        return _context(name, folder, environ, chosen_by="set by DOCKER_CONTEXT", undo="unset DOCKER_CONTEXT")
    if name := _current_context(folder / "config.json"):
        return _context(
            name, folder, environ, chosen_by=f"current in {folder / 'config.json'}", undo="docker context use default"
        )
    return _default(environ)


def _default(environ: Mapping[str, str]) -> Address:
    runtime = environ.get("XDG_RUNTIME_DIR")
    rootless = Path(runtime) / "docker.sock" if runtime else None
    return Address(DEFAULT_URL, rootless=rootless if rootless and rootless.is_socket() else None)


def _context(name: str, folder: Path, environ: Mapping[str, str], *, chosen_by: str, undo: str) -> Address:
    if name == _DEFAULT_CONTEXT:
        return _default(environ)
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key / "meta.json"
    origin = f"the Docker context {name}"
    hint = f"docker context ls shows those there are; {undo} goes back to this machine's engine."
    endpoint = _endpoint(meta, name, chosen_by, hint)
    host = endpoint.get("Host")
    if not isinstance(host, str) or not host:
        raise EngineUnreachable(
            f"The Docker context {name} ({chosen_by}) names no engine: {meta} has no docker endpoint with a host.",
            hint=hint,
            id="context-broken",
        )
    tls_folder = folder / "contexts" / "tls" / key / "docker"
    verify = endpoint.get("SkipTLSVerify") is not True
    return Address(
        _checked(host, f"{origin} ({chosen_by})"),
        f"{origin} ({chosen_by})",
        undo,
        tls=_tls(tls_folder, verify=verify) if tls_folder.is_dir() else None,
    )


def _endpoint(meta: Path, name: str, chosen_by: str, hint: str) -> Mapping[str, object]:
    try:
        doc = json.loads(meta.read_text())
    except FileNotFoundError as error:
        raise EngineUnreachable(
            f"There is no Docker context {name} ({chosen_by}): {meta} does not exist.", hint=hint, id="context-missing"
        ) from error
    except (OSError, ValueError) as error:
        raise EngineUnreachable(
            f"The Docker context {name} ({chosen_by}) cannot be read: {meta}: {error}", hint=hint, id="context-broken"
        ) from error
    endpoints = doc.get("Endpoints") if isinstance(doc, dict) else None
    endpoint = endpoints.get("docker") if isinstance(endpoints, dict) else None
    return endpoint if isinstance(endpoint, dict) else {}


def _current_context(file: Path) -> str:
    """`currentContext` of the docker command's configuration, empty when there is none."""
    try:
        doc = json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as error:
        raise EngineUnreachable(
            f"Which engine to use cannot be told: {file} cannot be read: {error}",
            hint=f"Correct the file, or name the engine: export DOCKER_HOST={DEFAULT_URL}",
            id="docker-config-broken",
        ) from error
    current = doc.get("currentContext") if isinstance(doc, dict) else None
    return current if isinstance(current, str) else ""


def _checked(url: str, origin: str) -> str:
    wrong = "" if url.startswith(_SCHEMES) else url
    if not wrong and not url.startswith("unix://"):
        try:
            _ = urlsplit(url).port  # the client library would let the ValueError through
        except ValueError as error:
            wrong = f"{url} ({str(error)[:1].lower()}{str(error)[1:]})"
    if wrong:
        raise EngineUnreachable(
            f"{origin[:1].upper()}{origin[1:]} is no address of an engine: {wrong}",
            hint=f"Write it as {DEFAULT_URL}, tcp://host:port or ssh://user@host.",
            id="engine-address",
        )
    return url


def _tls_of_environment(environ: Mapping[str, str], folder: Path) -> TlsFiles | None:
    """DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH as the docker command reads them."""
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    if not verify and not environ.get("DOCKER_TLS"):
        return None
    return _tls(Path(environ.get("DOCKER_CERT_PATH") or folder), verify=verify)


def _tls(folder: Path, *, verify: bool) -> TlsFiles:
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    there = {name: file if file.is_file() else None for name, file in files.items()}
    return TlsFiles(there["ca"], there["cert"], there["key"], verify)
