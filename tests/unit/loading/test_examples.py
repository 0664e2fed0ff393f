"""Every example in stacks/, and the examples of docs/stack-file.md and docs/models.md, load."""

import re
from pathlib import Path

import pytest

from homellm.loading import load

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "stacks").glob("*.yaml"))
PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("stack-file.md", "models.md")]
BLOCKS = [block for page in PAGES for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]


def test_there_are_examples() -> None:
    assert [path.name for path in EXAMPLES if path.name == "quickstart.yaml"]
    assert BLOCKS


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_loads(path: Path) -> None:
    stack = load(path, path.read_text(encoding="utf-8"), {"HOME": "/home/eva"})
    assert stack.models
    assert all(model.places for model in stack.models)


@pytest.mark.parametrize("text", BLOCKS)
def test_an_example_of_the_documentation_loads(text: str) -> None:
    stack = load(ROOT / "homellm.yaml", text, {"HOME": "/home/eva", "LLAMA_KEY": "k"})
    assert stack.models
