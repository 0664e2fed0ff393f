"""The committed JSON Schema is that of the loader, examples name it, and a validator of its own reads it as meant."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from homellm.loading.schema import json_schema

ROOT = Path(__file__).parents[3]
STACKS = ROOT / "stacks"
FILE = STACKS / "homellm.schema.json"
EXAMPLES = sorted(STACKS.glob("*.yaml"))
MODELINE = "# yaml-language-server: $schema=./homellm.schema.json"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_committed_schema_is_current() -> None:
    committed = json.loads(FILE.read_text(encoding="utf-8"))
    assert committed == json_schema(), "make it anew: homellm schema > stacks/homellm.schema.json"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_names_the_schema_and_fits_it(path: Path, validator: Draft202012Validator) -> None:
    text = path.read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first == MODELINE
    assert (path.parent / first.partition("$schema=")[2]).resolve() == FILE
    assert list(places(validator, text)) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("stack: s\nmodels: {m: {source: gguf:m, paralel: 3}}", "models/m"),
        ("stack: s\nmodels: {m: {source: gguf:m}}\nmodel: {}", ""),
        ("stack: s\nmodels: {m: {source: gguf:m, parallel: many}}", "models/m/parallel"),
        ("stack: s\nmodels: {m: {source: gguf:m, parallel: 0}}", "models/m/parallel"),
        ("stack: s\nmodels: {m: {source: gguf:m, restart: sometimes}}", "models/m/restart"),
        ("stack: s\nmodels: {m: {source: /m.gguf}}", "models/m/source"),
        ("stack: s\ngpus: {g: {api: vulcan}}\nmodels: {m: {source: gguf:m}}", "gpus/g/api"),
        ("stack: s\nollama: {main: {prot: 1}}\nmodels: {m: {source: ollama:m}}", "ollama/main"),
        ("stack: s\nmodels: {m: {source: gguf:m, log: {max_size: [1]}}}", "models/m/log"),
    ],
)
def test_what_is_wrong_is_underlined_where_it_stands(text: str, place: str, validator: Draft202012Validator) -> None:
    assert list(places(validator, text)) == [place]


def test_ways_of_writing_that_the_loader_takes_are_not_underlined(validator: Draft202012Validator) -> None:
    text = (
        "stack: s\nx-note: {any: thing}\ndefaults: {mlock: on, cpuset: 0-3}\n"
        "models:\n  m: {source: '${SOURCE}', parallel: '${SLOTS:-3}', gpu: null, env: [A=b], x-y: 1,\n"
        "      extra_args: [--seed, 7]}\n"
    )
    assert list(places(validator, text)) == []


def places(validator: Draft202012Validator, text: str) -> Iterator[str]:
    """Where the errors are: of a choice between forms the place of the choice, or of what lies deepest in it."""
    document: Any = YAML(typ="safe").load(text)
    for error in validator.iter_errors(document):
        yield "/".join(map(str, error.absolute_path))
