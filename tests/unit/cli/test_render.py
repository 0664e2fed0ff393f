"""`homellm render` of a model whose file is not here."""

from __future__ import annotations

import json

import pytest

from homellm.cli import wiring
from homellm.cli.main import main
from homellm.domain.world import ModelFile
from tests.unit.deploy.lab import Lab


@pytest.mark.parametrize("state", ["ok", "missing"])
def test_a_script_of_a_file_that_is_missing_comes_with_a_note(
    state: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = Lab()
    path = "/models/smol.gguf"
    lab.files.states[path] = ModelFile(path, state)  # type: ignore[arg-type]
    monkeypatch.setattr(wiring, "load_stack", lambda _: lab.stack())
    monkeypatch.setattr(wiring, "connect", lab.ports)
    assert main(["render", "run"]) == 0
    out, err = capsys.readouterr()
    assert "docker run" in out
    note = f"model file {path} does not exist. Check the path, or download the file."
    assert err == ("" if state == "ok" else f"note: {note}\n")
    assert main(["render", "run", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == ([] if state == "ok" else [note])
