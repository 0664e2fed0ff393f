"""Images that the suite makes itself: without a registry, without a builder, kept by the hash of what is in them."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from tests.engine.support.removal import remove_by_force

INSTANT_SOURCES = Path(__file__).parents[1] / "images" / "instant"
HELP_TEXTS = Path(__file__).parents[2] / "fixtures" / "help"
VERSIONS = {
    "b11669": "version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU 16.2.0 for Linux x86_64\n",
    "early-2025": "version: 4589 (eb7cf15a)\nbuilt with cc (Ubuntu 11.4.0) 11.4.0 for x86_64-linux-gnu\n",
}
COMPILE = ("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-static", "-s")


def instant_image(
    api: docker.APIClient,
    *,
    help: str | None = "b11669",
    version: str | None = None,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
    changes: tuple[str, ...] = (),
) -> str:
    """The name of an image of the instant server (tests/engine/images/instant/README.md), made unless it is here.

    `help` names a text of tests/fixtures/help, `version` replaces what --version says; `env` are knobs, `files`
    further files of the image by their path, `changes` further lines as in a Dockerfile (`HEALTHCHECK …`).
    """
    said = VERSIONS.get(help or "", "version: 1 (unknown)\n") if version is None else version
    content = {
        "dialect/help.txt": (HELP_TEXTS / f"{help}.txt").read_bytes() if help else b"",
        "dialect/version.txt": said.encode(),
        **{path.lstrip("/"): data for path, data in (files or {}).items()},
    }
    lines = ['ENTRYPOINT ["/llama-server"]', *(f"ENV {name}={value}" for name, value in (env or {}).items()), *changes]
    tag = f"homellm-test-instant:{_digest(_sources(), content, lines)}"
    if not is_here(api, tag):
        _import(api, tag, {"llama-server": _compiled(), **content}, lines)
    return tag


def variant(api: docker.APIClient, image: str, *changes: str) -> str:
    """The name of an image that is `image` but for these lines as in a Dockerfile (`USER 1000`, `ENV A=b`)."""
    digest = hashlib.sha256(json.dumps([api.inspect_image(image)["Id"], changes]).encode()).hexdigest()[:12]
    tag = f"homellm-test-variant:{digest}"
    if not is_here(api, tag):
        repository, _, version = tag.partition(":")
        container = api.create_container(image, name=f"homellm-test-variant-{digest}-{uuid.uuid4().hex[:8]}")["Id"]
        try:
            api.commit(container, repository=repository, tag=version, changes=list(changes))
        finally:
            remove_by_force(api, container)
    return tag


def is_here(api: docker.APIClient, tag: str) -> bool:
    try:
        api.inspect_image(tag)
    except ImageNotFound:
        return False
    return True


def _sources() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(INSTANT_SOURCES.glob("*.[ch]"))}


def _digest(sources: Mapping[str, bytes], content: Mapping[str, bytes], lines: list[str]) -> str:
    digest = hashlib.sha256(json.dumps([COMPILE, lines]).encode())
    for path, data in sorted([*sources.items(), *content.items()]):
        digest.update(path.encode() + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()[:12]


def _compiled() -> bytes:
    assert shutil.which("gcc"), "gcc is missing: scripts/test installs what the engine tests need"
    with tempfile.TemporaryDirectory() as work:
        binary = Path(work) / "llama-server"
        command = [*COMPILE, "-o", str(binary), *map(str, sorted(INSTANT_SOURCES.glob("*.c")))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"the instant server does not compile:\n{done.stderr}"
        return binary.read_bytes()


def _import(api: docker.APIClient, tag: str, files: Mapping[str, bytes], changes: list[str]) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755 if path == "llama-server" else 0o644
            tar.addfile(entry, io.BytesIO(data))
    repository, _, version = tag.partition(":")
    answer = api.import_image_from_data(archive.getvalue(), repository=repository, tag=version, changes=changes)
    assert '"error"' not in answer, answer
