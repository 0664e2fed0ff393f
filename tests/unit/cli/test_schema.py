"""`homellm schema` as it is typed."""

import json
from pathlib import Path

import pytest

from homellm.cli.main import main

COMMITTED = json.loads((Path(__file__).parents[3] / "stacks" / "homellm.schema.json").read_text(encoding="utf-8"))


def test_it_prints_the_schema_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == COMMITTED


def test_under_json_the_keys_of_every_document_stand_beside_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stack": None, "models": [], "errors": [], **COMMITTED}
