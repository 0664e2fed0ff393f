"""Templates and stacks are found beside the package (checkout) and inside it (wheel), the wheel's own copy first."""

from pathlib import Path

import pytest

from homellm.errors import HomellmError
from homellm.resources import stacks_root, template_root

ROOTS = [(template_root, "templates"), (stacks_root, "stacks")]


def package_in(tmp_path: Path) -> Path:
    package = tmp_path / "site" / "homellm"
    package.mkdir(parents=True)
    return package


@pytest.mark.parametrize(("find", "name"), ROOTS)
def test_in_a_checkout_the_folder_beside_the_package_is_found(tmp_path, find, name):
    package = package_in(tmp_path)
    (package.parent / name).mkdir()
    assert find(package) == package.parent / name


@pytest.mark.parametrize(("find", "name"), ROOTS)
def test_the_copy_inside_the_package_is_preferred_to_a_strangers_folder(tmp_path, find, name):
    package = package_in(tmp_path)
    (package.parent / name).mkdir()
    (package / f"_{name}").mkdir()
    assert find(package) == package / f"_{name}"


@pytest.mark.parametrize(("find", "name"), ROOTS)
def test_a_broken_installation_says_what_to_type(tmp_path, find, name):
    with pytest.raises(HomellmError) as caught:
        find(package_in(tmp_path))
    assert f"the {name} of homellm are not installed" in str(caught.value)
    assert "pip install --force-reinstall homellm" in caught.value.hint
