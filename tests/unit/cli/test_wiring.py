"""What the wiring takes from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from homellm.cli import wiring
from homellm.cli.options import Common
from homellm.errors import EngineUnreachable, ExitCode, StackFileError


def test_the_stack_file_of_the_environment_is_read_with_its_variables(tmp_path: Path) -> None:
    path = tmp_path / "nuc.yaml"
    path.write_text("stack: s\nmodels: {m: {source: 'gguf:${WEIGHTS}', ctx: '${CTX:-512}'}}\n", encoding="utf-8")
    environ = {"HOMELLM_FILE": str(path), "WEIGHTS": "w.gguf"}
    stack = wiring.load_stack(Common(), environ)
    assert (stack.file, stack.models[0].source.path, stack.models[0].ctx) == (path, tmp_path / "w.gguf", 512)
    other = tmp_path / "other.yaml"
    other.write_text("stack: other\nmodels: {m: {source: gguf:/m.gguf}}\n", encoding="utf-8")
    assert wiring.load_stack(Common(file=other), environ).name == "other"


@pytest.mark.parametrize(
    ("environ", "cache"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache"),
        ({}, "/nonexistent/.cache"),
    ],
)
def test_where_caches_live(environ: dict[str, str], cache: str) -> None:
    assert wiring.cache_home(environ) == Path(cache)


def test_an_engine_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineUnreachable) as caught:
        wiring.connect({"DOCKER_HOST": f"unix://{tmp_path}/none.sock", "HOME": str(tmp_path)})
    assert caught.value.exit_code is ExitCode.ENGINE_UNREACHABLE
    assert f"{tmp_path}/none.sock" in str(caught.value)


def test_a_verb_that_looks_needs_no_variables_of_what_it_does_not_show(tmp_path: Path) -> None:
    file = tmp_path / "homellm.yaml"
    file.write_text("stack: nuc\nmodels: {m: {source: gguf:m.gguf, api_key: '${KEY}'}}\n")
    assert [model.name for model in wiring.load_stack(Common(file, looking=True), {}).models] == ["m"]
    with pytest.raises(StackFileError):
        wiring.load_stack(Common(file), {})


def test_a_verb_that_looks_is_told_every_unset_variable_where_one_matters(tmp_path: Path) -> None:
    file = tmp_path / "homellm.yaml"
    file.write_text("stack: nuc\nmodels: {m: {source: gguf:m.gguf, api_key: '${KEY}', port: '${PORT}'}}\n")
    with pytest.raises(StackFileError) as caught:
        wiring.load_stack(Common(file, looking=True), {})
    assert len(caught.value.problems) == 2
