"""Which image is taken: what is here, then the official one, then Debian's; made once, kept by its recipe's hash."""

from dataclasses import fields, replace

import docker
import pytest
from docker.errors import APIError, ImageNotFound

from scripts.provision import debian_image, image
from scripts.provision.errors import ProvisionError
from scripts.provision.recipe import LLAMA_SERVER, OFFICIAL_IMAGE


class Client:
    """An engine that has these images; the registry behind it answers or not."""

    def __init__(self, *here, registry=None):
        self.here, self.registry, self.pulled = set(here), registry, []

    def inspect_image(self, name):
        if name not in self.here:
            raise ImageNotFound(f"No such image: {name}")
        return {"Id": name}

    def inspect_distribution(self, name):
        if self.registry is None:
            raise APIError("lookup: no such host")
        return {"Descriptor": {}}

    def pull(self, name, **_):
        self.pulled.append(name)
        yield from self.registry


@pytest.fixture
def provide(monkeypatch):
    def run(client):
        built = []
        monkeypatch.setattr(image, "connect", lambda timeout_s: client)
        monkeypatch.setattr(image, "build", lambda _client, recipe, _work: built.append(recipe.tag))
        return image.ensure_image(client), built

    return run


@pytest.mark.parametrize("here", [OFFICIAL_IMAGE, LLAMA_SERVER.tag])
def test_what_is_here_is_used_and_no_registry_is_asked(provide, here):
    client = Client(here, registry=[{"error": "must not be asked"}])
    assert provide(client) == (here, [])
    assert client.pulled == []


def test_where_a_registry_answers_the_official_image_is_pulled(provide):
    client = Client(registry=[{"status": "Pulling"}, {"status": "Done"}])
    assert provide(client) == (OFFICIAL_IMAGE, [])
    assert client.pulled == [OFFICIAL_IMAGE]


@pytest.mark.parametrize("registry", [None, [{"status": "Pulling"}, {"error": "unexpected EOF"}]])
def test_where_none_answers_or_breaks_off_debians_is_built(provide, registry):
    assert provide(Client(registry=registry)) == (LLAMA_SERVER.tag, [LLAMA_SERVER.tag])


def test_every_part_of_the_recipe_changes_its_tag():
    changed = {replace(LLAMA_SERVER, **{field.name: ("other",)}).tag for field in fields(LLAMA_SERVER)}
    assert len(changed - {LLAMA_SERVER.tag}) == len(fields(LLAMA_SERVER))
    assert docker.auth.resolve_repository_name(LLAMA_SERVER.tag.split(":")[0])


def test_too_little_room_is_said_before_anything_is_done(monkeypatch, tmp_path):
    monkeypatch.setattr(debian_image.os, "geteuid", lambda: 0)
    monkeypatch.setattr(debian_image.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1_200_000_000}))
    with pytest.raises(ProvisionError) as caught:
        debian_image.check_room(tmp_path)
    assert f"{tmp_path} has 1.2 GB free" in str(caught.value)
    assert "TMPDIR=" in caught.value.hint


def test_without_root_the_next_command_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(debian_image.os, "geteuid", lambda: 1000)
    with pytest.raises(ProvisionError) as caught:
        debian_image.check_room(tmp_path)
    assert caught.value.hint == "sudo scripts/quickstart"


def test_the_temporary_root_is_gone_whatever_happened(tmp_path):
    def interrupted():
        with debian_image.temporary_root(tmp_path) as root:
            root.mkdir()
            (root / "half").write_text("made")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
