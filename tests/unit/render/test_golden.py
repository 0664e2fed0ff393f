"""Both renderings as text, whole: tests/golden/render. A change of them is meant to be read in a diff."""

from pathlib import Path

import pytest

from homellm.render.compose import render_compose
from homellm.render.run import render_run
from tests.unit.render.specs import CUDA, SERVER
from tests.unit.render.templates import COMPOSE, RUN

GOLDEN = Path(__file__).parents[2] / "golden" / "render"
SPECS = (SERVER, CUDA)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", render_run(SPECS, RUN, title="nuc: 2 models")),
        ("run-secrets.sh", render_run(SPECS, RUN, title="nuc: 2 models", show_secrets=True)),
        ("compose.yaml", render_compose(SPECS, COMPOSE, project="nuc", title="nuc: 2 models")),
    ],
)
def test_golden(name, text):
    assert text == (GOLDEN / name).read_text()
