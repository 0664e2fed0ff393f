"""What is foretold of the next `up` is what it then tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from homellm.deploy.again import looked_at_again
from homellm.domain.reports import ModelReport
from homellm.domain.stack import KvCacheType
from homellm.domain.verdicts import State
from homellm.report.json_report import stack_document, text
from homellm.report.tables import up_table
from tests.unit.deploy.lab import Lab, model

KEYS: tuple[dict[str, Any], ...] = (
    {},
    {"parallel": 3, "ctx": 2048, "batch": 512, "ubatch": 256},
    {"mlock": False, "cpu_shares": 512, "memory_bytes": 2**32},
    {"jinja": True, "cache_reuse": 256, "reasoning_preserve": True},
    {"flash_attention": "auto", "kv_cache_type": KvCacheType("f16", "f16")},
    {"port": None},
)


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: ",".join(keys) or "plain")
def test_the_first_up_foretells_the_second(keys: dict[str, Any]) -> None:
    lab, declared = Lab(), model(**keys)
    first = lab.up(declared)
    second = lab.up(declared)
    assert first.models[0].changed
    assert not second.models[0].changed
    foretold = replace(first, models=tuple(filter(None, (looked_at_again(declared, one) for one in first.models))))
    assert text(stack_document(foretold)) == text(stack_document(second))
    assert up_table(foretold) == up_table(second)
    assert foretold.models == second.models


def test_the_second_up_foretells_the_third() -> None:
    lab, declared = Lab(), model()
    lab.up(declared)
    (second,) = lab.up(declared).models
    assert looked_at_again(declared, second) == second


def test_the_first_up_itself_is_told_otherwise() -> None:
    lab, declared = Lab(), model()
    (first,) = lab.up(declared).models
    foretold = looked_at_again(declared, first)
    assert foretold is not None
    assert (first.ready_s is None, foretold.ready_s) == (False, None)
    where = {check.id: check.source for check in first.checks}
    then = {check.id: check.source for check in foretold.checks}
    assert (where["api"], then["api"]) == ("API", "record")


def test_without_evidence_nothing_is_foretold() -> None:
    assert looked_at_again(model(), ModelReport("smol", State.VERIFIED)) is None
