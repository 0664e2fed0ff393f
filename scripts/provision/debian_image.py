"""Builds the llama-server image from Debian's packages with debootstrap. Needs root and about 3 GB for a while."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import APIError

from scripts.provision.errors import ProvisionError, report
from scripts.provision.mirror import host_mirror
from scripts.provision.recipe import Recipe

NEEDED_BYTES = 3 * 10**9
TOOLS = {"debootstrap": "debootstrap", "gpgv": "gpgv", "unshare": "util-linux", "setpriv": "util-linux", "tar": "tar"}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def build(client: docker.APIClient, recipe: Recipe, work: Path) -> None:
    """Make the image `recipe.tag`. `work` is a folder for the temporary root. Raises ProvisionError."""
    check_room(work)
    install_tools()
    mirror = host_mirror()
    report(f"builds {recipe.tag} from Debian's packages of {recipe.suite}, one to three minutes")
    report(f"  from {mirror or 'the default mirror of debootstrap'}, in {work}")
    with temporary_root(work) as root:
        debootstrap(recipe, root, mirror)
        import_root(client, recipe, root)
    prove(client, recipe)


def check_room(work: Path) -> None:
    """Raises ProvisionError when this is not root, or when the disk is too full."""
    if os.geteuid() != 0:
        raise ProvisionError("building an image from Debian's packages needs root", "sudo scripts/quickstart")
    free = shutil.disk_usage(work).free
    if free < NEEDED_BYTES:
        raise ProvisionError(
            f"{work} has {free / 1e9:.1f} GB free, building the image takes {NEEDED_BYTES / 1e9:.0f} GB for a while",
            "make room, or name another folder: TMPDIR=/big/disk scripts/quickstart",
        )


def install_tools() -> None:
    """Install debootstrap and what it needs where they are missing."""
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if not KEYRING.exists():
        missing.append("debian-archive-keyring")
    if not missing:
        return
    report(f"installs with apt-get: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing]
    for command in (["apt-get", "update", "-q"], install):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise ProvisionError(
            f"apt-get could not install {' '.join(missing)}: {done.stderr.strip()[-400:]}",
            f"apt-get update && apt-get install {' '.join(missing)}",
        )


@contextmanager
def temporary_root(work: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, whatever happened, unless something is still mounted below it."""
    folder = Path(tempfile.mkdtemp(prefix="homellm-image-", dir=work))
    try:
        yield folder / "root"
    finally:
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
        if any(point.startswith(f"{folder}/") for point in mounted):
            report(f"left {folder} as it is: something is mounted below it")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def debootstrap(recipe: Recipe, root: Path, mirror: str | None) -> None:
    """Fill `root` with the recipe's packages. Raises ProvisionError with the last words of debootstrap."""
    root.mkdir()
    log = root.with_name("debootstrap.out")
    command = [
        # It dies with this process; in namespaces of its own nothing stays mounted and nobody stays alive.
        *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"),
        *("debootstrap", f"--variant={recipe.variant}", f"--include={','.join(recipe.packages)}"),
        *(f"--keyring={KEYRING}", recipe.suite, str(root), mirror or "", recipe.script),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=with_apt_proxy()
        )
        try:
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if code != 0:
        inner = root / "debootstrap" / "debootstrap.log"
        words = [*_last_lines(inner, 5), *_last_lines(log, 5)]
        raise ProvisionError(
            "debootstrap could not build the image:\n    " + "\n    ".join(words),
            "look whether the mirror above answers (apt-get update), then run it again",
        )


def import_root(client: docker.APIClient, recipe: Recipe, root: Path) -> None:
    """Give the root to the engine as an image. Raises ProvisionError."""
    repository, _, tag = recipe.tag.partition(":")
    excluded = [f"--exclude={path}/*" for path in recipe.left_out]
    tar = subprocess.Popen(["tar", "-C", str(root), "--numeric-owner", *excluded, "-c", "."], stdout=subprocess.PIPE)
    try:
        answer = client.import_image_from_stream(
            tar.stdout, repository=repository, tag=tag, changes=[f"ENTRYPOINT {json.dumps(list(recipe.entrypoint))}"]
        )
    except APIError as error:
        raise ProvisionError(f"the engine did not take the image: {error}", "df -h, then run it again") from error
    finally:
        if tar.poll() is None:
            tar.kill()
    if tar.wait() != 0 or '"error"' in answer:
        _forget(client, recipe)
        raise ProvisionError(f"the image was not imported whole: {answer.strip()[-300:]}", "df -h, then run it again")


def prove(client: docker.APIClient, recipe: Recipe) -> None:
    """Start the image once for its --version; an image that cannot even tell that is removed again."""
    container = client.create_container(recipe.tag, command=["--version"], network_disabled=True)["Id"]
    try:
        client.start(container)
        code = client.wait(container, timeout=60)["StatusCode"]
        said = client.logs(container).decode(errors="replace").strip()
    finally:
        client.remove_container(container, force=True, v=True)
    if code != 0 or "version" not in said:
        _forget(client, recipe)
        raise ProvisionError(
            f"the image that was built does not run (exit {code}): {said[-300:]}", "scripts/quickstart"
        )
    report(f"  {said.splitlines()[0]}")


def _forget(client: docker.APIClient, recipe: Recipe) -> None:
    if client.images(name=recipe.tag):
        client.remove_image(recipe.tag)


def _last_lines(path: Path, count: int) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[-count:] if path.is_file() else []


def with_apt_proxy() -> dict[str, str]:
    """The environment, with the proxy that apt itself uses where none is set: debootstrap does not read apt's."""
    environment = dict(os.environ)
    if "http_proxy" not in environment and shutil.which("apt-config"):
        shell = ["apt-config", "shell", "proxy", "Acquire::http::Proxy"]
        answer = subprocess.run(shell, capture_output=True, text=True, check=False).stdout.strip()
        if answer.startswith("proxy='http"):
            environment["http_proxy"] = answer.removeprefix("proxy='").removesuffix("'")
    return environment
