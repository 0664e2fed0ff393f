"""Where the text that ships with homellm stands: `templates/` and `stacks/`.

An installed wheel carries them inside the package (`_templates`, `_stacks`, see pyproject.toml); in a checkout, which
an editable install runs from, they are folders beside it.
"""

from __future__ import annotations

from pathlib import Path

from homellm.errors import HomellmError

PACKAGE_DIR = Path(__file__).resolve().parent


def template_root(package_dir: Path = PACKAGE_DIR) -> Path:
    """The folder of the templates. Raises HomellmError when the installation is incomplete."""
    return _root("templates", package_dir)


def stacks_root(package_dir: Path = PACKAGE_DIR) -> Path:
    """The folder of the example stacks. Raises HomellmError when the installation is incomplete."""
    return _root("stacks", package_dir)


def _root(name: str, package_dir: Path) -> Path:
    # The wheel's copy comes first: a site-packages/templates beside an installed package is somebody else's.
    for place in (package_dir / f"_{name}", package_dir.parent / name):
        if place.is_dir():
            return place
    raise HomellmError(
        f"the {name} of homellm are not installed: neither {package_dir / f'_{name}'} nor {package_dir.parent / name}"
        " is there",
        hint="install homellm again: pip install --force-reinstall homellm",
        id="installation-incomplete",
    )
