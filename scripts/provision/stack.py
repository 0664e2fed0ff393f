"""`python -m scripts.provision.stack IMAGE`: writes quickstart.yaml beside README.md and prints its name.

It is stacks/quickstart.yaml with that image in it, so that every later command finds the image without a variable. A
file that somebody has changed is left as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from scripts.provision.errors import ProvisionError, report, run_main
from scripts.provision.recipe import REPOSITORY

NAME = "quickstart.yaml"
SHIPPED = f"stacks/{NAME}"
_HEAD = f"""# yaml-language-server: $schema=./stacks/homellm.schema.json
# Written by scripts/quickstart: {SHIPPED} with the llama-server image of this machine.
# It is yours to change, and scripts/quickstart leaves it alone then. `homellm up -f {NAME}` makes it so.
"""
_COMMENTS = re.compile(r"\A(?:#.*\n)+")
_IMAGE = re.compile(r"(?:^ +#.*\n)*^( +)image: (\S+)\n", re.MULTILINE)
_MODELS = "gguf:../models/"


def text_with(shipped: str, image: str) -> str:
    """The shipped stack file with this image, to stand one folder above it. Raises ProvisionError if it cannot be."""
    # What was built here no registry has: nobody shall be asked for it.
    pull = r"\1pull: never        # built on this machine: no registry has it" + "\n"
    lines = rf"\1image: {image}" + "\n" + (pull if image.startswith(f"{REPOSITORY}:") else "")
    text, heads = _COMMENTS.subn(_HEAD, shipped)
    text, images = _IMAGE.subn(lines, text)
    if (heads, images, text.count(_MODELS)) != (1, 1, 1):
        raise ProvisionError(f"{SHIPPED} is not as it ships", f"git checkout {SHIPPED}")
    return text.replace(_MODELS, "gguf:./models/")


def write(root: Path, image: str) -> Path:
    """The stack file for this image, written unless somebody has changed the one that is there."""
    file, shipped = root / NAME, (root / SHIPPED).read_text(encoding="utf-8")
    wanted = text_with(shipped, image)
    there = file.read_text(encoding="utf-8") if file.exists() else None
    if there is not None and not _is_ours(there, shipped):
        report(f"{NAME} was changed and is left as it is")
    elif there != wanted:
        file.write_text(wanted, encoding="utf-8")
    return file


def _is_ours(text: str, shipped: str) -> bool:
    """Whether a file is what would be written for some image."""
    found = _IMAGE.search(text)
    return found is not None and text == text_with(shipped, found[2])


def main() -> None:
    """Print the name of the file."""
    print(write(Path.cwd(), sys.argv[1]).name)


if __name__ == "__main__":
    run_main(main)
