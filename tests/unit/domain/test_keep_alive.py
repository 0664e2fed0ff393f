"""How long an Ollama keeps a model, in seconds."""

import math

import pytest

from homellm.domain.keep_alive import keep_alive_s


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(-1, math.inf), ("-5m", math.inf), (0, 0), ("0s", 0), (300, 300), ("1h30m", 5400), ("1.5s", 1.5), ("200ms", 0.2)],
)
def test_seconds(written, seconds):
    assert keep_alive_s(written) == pytest.approx(seconds)
