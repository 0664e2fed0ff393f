"""The image of the Ollama stand-in: the real llama-server, Python on top of it, and the small server in front.

Two layers, each kept by the hash of what is in it: Python comes from Debian's packages by the image's own apt, from the
mirror that its llama-server came from; the server's files are put on top, so that a change of them costs a second.
"""

import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import docker

from scripts.provision.debian_image import with_apt_proxy
from tests.engine.support.images import is_here
from tests.engine.support.removal import remove_by_force

SOURCES = Path(__file__).parents[1] / "images" / "ollama"
LIBRARY = "usr/lib/ollama-standin"
COMPILE = ("gcc", "-std=gnu11", "-O1", "-Wall", "-shared", "-fPIC", "-s")
#: The clock of a machine may be past the end of the mirror's release file; its signature is checked all the same.
APT = "apt-get -q -o Acquire::Check-Valid-Until=false"
INSTALL = (
    f"{APT} update && {APT} install -y --no-install-recommends python3 && apt-get clean"
    " && rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/*"
)
CHANGES = ('ENTRYPOINT ["/usr/bin/ollama"]', 'CMD ["serve"]', "ENV OLLAMA_HOST=0.0.0.0:11434", "EXPOSE 11434")
#: What lies where in the image, beside standin/*.py: (source below images/ollama, path in the image).
PROGRAMS = (("bin/ollama", "usr/bin/ollama"), ("bin/llama-server", "usr/lib/ollama/llama-server"))


def ollama_image(api: docker.APIClient, llama_image: str, *, env: Mapping[str, str] | None = None) -> str:
    """The name of the stand-in, made on top of `llama_image` unless it is here; `env` are knobs that stay in it.

    The knobs are told in tests/engine/images/ollama/README.md.
    """
    base = python_image(api, llama_image)
    knobs = [f"ENV {name}={json.dumps(value)}" for name, value in (env or {}).items()]
    tag = f"homellm-test-ollama:{_digest([base, *CHANGES, *knobs, *COMPILE], _sources())}"
    if not is_here(api, tag):
        container = api.create_container(base, command=["true"])["Id"]
        try:
            assert api.put_archive(container, "/", _archive())
            _commit(api, container, tag, [*CHANGES, *knobs])
        finally:
            remove_by_force(api, container)
    return tag


def python_image(api: docker.APIClient, llama_image: str) -> str:
    """The llama-server image with Python 3 in it."""
    tag = f"homellm-test-python:{_digest([llama_image, INSTALL], {})}"
    if not is_here(api, tag):
        # In the command and not in the environment, which a commit would keep: the proxy is this machine's affair.
        env = {name: value for name, value in with_apt_proxy().items() if name.lower().endswith("_proxy")}
        exports = [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
        container = api.create_container(
            llama_image,
            ["-c", "; ".join([*exports, "export DEBIAN_FRONTEND=noninteractive", INSTALL])],
            entrypoint="/bin/sh",
            host_config=api.create_host_config(network_mode="host"),
        )["Id"]
        try:
            api.start(container)
            code = api.wait(container, timeout=600)["StatusCode"]
            said = api.logs(container, tail=20).decode(errors="replace")
            assert code == 0, f"Python could not be put into {llama_image}:\n{said}"
            _commit(api, container, tag, ["ENTRYPOINT []", "CMD []"])
        finally:
            remove_by_force(api, container)
    return tag


def _commit(api: docker.APIClient, container: str, tag: str, changes: list[str]) -> None:
    repository, _, version = tag.partition(":")
    api.commit(container, repository=repository, tag=version, changes=changes)


def _sources() -> dict[str, bytes]:
    return {
        str(path.relative_to(SOURCES)): path.read_bytes()
        for path in sorted(SOURCES.rglob("*"))
        if path.is_file() and path.suffix != ".md" and "__pycache__" not in path.parts
    }


def _digest(recipe: list[str], sources: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(json.dumps(recipe).encode())
    for path, data in sorted(sources.items()):
        digest.update(path.encode() + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()[:12]


def _archive() -> bytes:
    archive = io.BytesIO()
    sources = _sources()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for source, path in PROGRAMS:
            _add(tar, path, sources[source], 0o755)
        for name, data in sources.items():
            if name.startswith("standin/"):
                _add(tar, f"{LIBRARY}/{name}", data, 0o644)
        _add(tar, f"{LIBRARY}/compat.so", _compiled(), 0o644)
        link = tarfile.TarInfo("usr/lib/ollama/llama-quantize")
        link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin/llama-quantize"
        tar.addfile(link)
    return archive.getvalue()


def _add(tar: tarfile.TarFile, path: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))


def _compiled() -> bytes:
    assert shutil.which("gcc"), "gcc is missing: scripts/test installs what the engine tests need"
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "compat.so"
        command = [*COMPILE, "-o", str(library), str(SOURCES / "compat.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"})
        assert done.returncode == 0, f"compat.c does not compile:\n{done.stderr}"
        return library.read_bytes()
