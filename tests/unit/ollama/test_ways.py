"""The folder of a store."""

import pytest

from homellm.adapters.ollama_ways import OllamaWays
from homellm.errors import Refused


def test_it_is_made_once(tmp_path):
    ways = OllamaWays(engine=None)
    assert ways.make_folder(tmp_path / "a" / "ollama") is True
    assert ways.make_folder(tmp_path / "a" / "ollama") is False
    assert (tmp_path / "a" / "ollama").is_dir()


def test_what_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="file/ollama"):
        OllamaWays(engine=None).make_folder(tmp_path / "file" / "ollama")
