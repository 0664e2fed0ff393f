"""The stack file of the quickstart: what ships with the image of this machine in it, and never over somebody's work."""

from pathlib import Path

import pytest

from homellm.deploy.pull import BUILT_HERE
from homellm.loading.loader import load
from homellm.resources import stacks_root
from scripts.provision import stack
from scripts.provision.errors import ProvisionError
from scripts.provision.recipe import LLAMA_SERVER, OFFICIAL_IMAGE, REPOSITORY

SHIPPED = (stacks_root() / "quickstart.yaml").read_text(encoding="utf-8")


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "quickstart.yaml").write_text(SHIPPED, encoding="utf-8")
    return tmp_path


def loaded(file: Path):
    return load(file, file.read_text(encoding="utf-8"), {"HOME": "/home/me"})


@pytest.mark.parametrize(("image", "pull"), [(OFFICIAL_IMAGE, "missing"), (LLAMA_SERVER.tag, "never")])
def test_every_later_command_finds_the_image_in_the_file(checkout, image, pull):
    file = stack.write(checkout, image)
    made, shipped = loaded(file), load(checkout / "stacks" / "quickstart.yaml", SHIPPED, {"HOME": "/home/me"})
    (model,), (as_shipped,) = made.models, shipped.models
    assert (model.image, model.pull, made.name) == (image, pull, shipped.name)
    assert (model.parallel, model.ctx, model.port) == (as_shipped.parallel, as_shipped.ctx, as_shipped.port)
    assert model.source.path == as_shipped.source.path
    # Its first line leads an editor to the schema.
    schema = file.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
    assert (stacks_root().parent / schema).resolve() == (stacks_root() / "homellm.schema.json").resolve()


def test_another_image_takes_its_place(checkout):
    stack.write(checkout, OFFICIAL_IMAGE)
    assert loaded(stack.write(checkout, LLAMA_SERVER.tag)).models[0].image == LLAMA_SERVER.tag
    assert loaded(stack.write(checkout, "mine/llama:2")).models[0].pull == "missing"


def test_what_somebody_changed_is_left_as_it_is(checkout, capsys):
    file = stack.write(checkout, OFFICIAL_IMAGE)
    changed = file.read_text(encoding="utf-8").replace("parallel: 3", "parallel: 2")
    file.write_text(changed, encoding="utf-8")
    stack.write(checkout, LLAMA_SERVER.tag)
    assert file.read_text(encoding="utf-8") == changed
    assert "left as it is" in capsys.readouterr().err


def test_a_shipped_file_that_is_not_as_it_ships_is_told(checkout):
    (checkout / "stacks" / "quickstart.yaml").write_text("stack: other\n", encoding="utf-8")
    with pytest.raises(ProvisionError):
        stack.write(checkout, OFFICIAL_IMAGE)


def test_homellm_knows_the_name_of_what_is_built():
    assert BUILT_HERE == REPOSITORY


def test_the_readme_and_the_script_speak_of_that_file():
    root = stacks_root().parent
    readme, script = ((root / name).read_text(encoding="utf-8") for name in ("README.md", "scripts/quickstart"))
    assert f".venv/bin/homellm check -f {stack.NAME}`" in readme
    assert "-f stacks/" not in readme + script
    assert f"/{stack.NAME}\n" in (root / ".gitignore").read_text(encoding="utf-8")
