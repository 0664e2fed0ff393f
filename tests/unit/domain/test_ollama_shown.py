"""A model as the API alone tells it, held against what the store of the same server has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.adapters.ollama_api import OllamaClient
from homellm.adapters.ollama_store import folder_store
from homellm.domain.ollama import ListedModel, ShownModel, stored_from_api
from tests.unit.ollama.recorded import REGISTRY, replaying, write_store


def test_it_is_what_the_store_has(tmp_path: Path) -> None:
    name = f"{REGISTRY}/smol:135m"
    with replaying() as recorded:
        ollama = OllamaClient(recorded.url)
        listed = next(model for model in ollama.list_models() if model.name == name)
        told = stored_from_api(listed, ollama.show(name))
    kept = folder_store(write_store(tmp_path)).find(name)
    assert told == replace(kept, size_bytes=kept.total_bytes, config_digest="", quantization="Q4_1", template=None)
    assert told.num_ctx == 1024


def test_a_cloud_model() -> None:
    told = stored_from_api(ListedModel("c:latest", "d", 3), ShownModel(remote_host="https://ollama.com:443"))
    assert (told.state, told.usable, told.blob) == ("cloud", False, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("num_ctx    2048", 2048),
        ("temperature 0.5", 0.5),
        ("use_mmap true", True),
        ('x "a\\nb"', "a\nb"),
        ("x 'y", "'y"),
    ],
)
def test_parameters_as_show_writes_them(text: str, value: object) -> None:
    told = stored_from_api(ListedModel("m", "d", 3), ShownModel(parameters=text, blob_path="/r/blobs/sha256-1"))
    assert list(told.params.values()) == [value]
