"""The engines on which the contract is tried."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from homellm.adapters.docker_engine import connect
from homellm.errors import EngineUnreachable
from tests.contract.lab import Bench, FakeLab, RealLab


@pytest.fixture(scope="session")
def real_lab() -> Iterator[RealLab]:
    """The engine that is there; everything made on it is removed at the end, whatever happened."""
    try:
        engine = connect(os.environ, Path.home())
    except EngineUnreachable as error:
        pytest.fail(f"engine tests need a Docker Engine: {error} Next: {error.hint}", pytrace=False)
    lab = RealLab(engine)
    try:
        yield lab
    finally:
        lab.close()
        engine.close()


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.engine)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One engine after the other."""
    if request.param == "fake":
        fake = FakeLab()
        yield Bench(fake)
        fake.close()
        return
    real: RealLab = request.getfixturevalue("real_lab")
    try:
        yield Bench(real)
    finally:
        real.sweep()
