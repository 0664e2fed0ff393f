"""The JSON Schema, the documentation and the table of settings know the same keys as the loader."""

import re
from pathlib import Path

import pytest

from homellm.domain.ollama_settings import OLLAMA_SETTINGS
from homellm.domain.settings import SETTINGS
from homellm.loading.absent import ABSENT_MODEL_KEYS, ABSENT_STACK_KEYS
from homellm.loading.key_types import Keys, LogKeys
from homellm.loading.keys import GpuKeys, ModelKeys, StackKeys
from homellm.loading.ollama_keys import OllamaKeys
from homellm.loading.schema import json_schema

SECTIONS: dict[str, type[Keys]] = {
    "GpuKeys": GpuKeys,
    "LogKeys": LogKeys,
    "ModelKeys": ModelKeys,
    "OllamaKeys": OllamaKeys,
}
ALL: tuple[type[Keys], ...] = (StackKeys, *SECTIONS.values())
DOCUMENT = Path(__file__).parents[3] / "docs" / "stack-file.md"


def test_the_schema_has_every_key_and_refuses_every_other() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(StackKeys.model_fields)
    assert schema["additionalProperties"] is False
    assert set(schema["$defs"]) == set(SECTIONS)
    for name, keys in SECTIONS.items():
        assert set(schema["$defs"][name]["properties"]) == set(keys.model_fields)
        assert schema["$defs"][name]["additionalProperties"] is False


def test_every_key_of_the_schema_is_described() -> None:
    schema = json_schema()
    for section in (schema, *schema["$defs"].values()):
        for key, value in section["properties"].items():
            assert value["description"].endswith("."), key


def test_variables_and_words_of_yaml_1_1_are_not_underlined() -> None:
    model = json_schema()["$defs"]["ModelKeys"]
    parallel = model["properties"]["parallel"]["anyOf"]
    assert {"type": "integer", "minimum": 1, "maximum": 256} in parallel
    assert {"type": "string", "pattern": r"\$"} in parallel
    assert {"enum": ["on", "off", "yes", "no"]} in model["properties"]["mlock"]["anyOf"]
    assert model["patternProperties"] == {"^x-": {}}


def test_every_key_of_a_model_has_its_row_in_the_table_of_settings() -> None:
    rows = {row.key for row in SETTINGS}
    # chooses who serves, fetches its image, another way to say stop_grace
    no_setting = {"runner", "server", "fallback", "fallback_source", "pull", "stop_grace_s"}
    assert set(ModelKeys.model_fields) - no_setting <= rows
    assert rows - set(ModelKeys.model_fields) == {"name"}


def test_every_key_of_an_ollama_server_has_its_row_in_the_table_of_settings() -> None:
    rows = {row.key for row in OLLAMA_SETTINGS if not row.model_key}
    assert set(OllamaKeys.model_fields) - {"log_from"} == rows


@pytest.mark.parametrize(
    "key",
    sorted({key for keys in ALL for key in keys.model_fields} | ABSENT_MODEL_KEYS.keys() | ABSENT_STACK_KEYS.keys()),
)
def test_every_key_is_documented(key: str) -> None:
    rows = re.findall(r"^\| `([a-z_0-9]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert key in rows


def test_nothing_is_documented_that_is_unknown() -> None:
    rows = set(re.findall(r"^\| `([a-z_0-9]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    known = {key for keys in ALL for key in keys.model_fields}
    assert rows <= known | ABSENT_MODEL_KEYS.keys() | ABSENT_STACK_KEYS.keys()
