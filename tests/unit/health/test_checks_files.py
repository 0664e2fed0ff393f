"""The files that a server loaded, against those that stand there now."""

from dataclasses import replace

import pytest

from homellm.domain.evidence import FilesSeen
from homellm.domain.verdicts import State, judge
from homellm.domain.world import FileState
from homellm.health.checks import judge_all

from .cases import MODEL, PATH, SEEN, check

LOADED = (FileState(PATH, 10, 1), FileState("/p/mmproj.gguf", 5, 1))


def test_unchanged():
    verdict = check("files", evidence=replace(SEEN, files=FilesSeen(LOADED)))
    assert (verdict.asked, verdict.observed, verdict.verdict, verdict.source) == (True, True, "pass", "files")
    assert (verdict.asked_text, verdict.text) == ("as loaded", "size and date as loaded")


@pytest.mark.parametrize(
    ("likeness", "text"), [("untouched", "untouched"), ("sampled", "size, date and samples as loaded")]
)
def test_a_pass_says_what_it_rests_on(likeness, text):
    verdict = check("files", evidence=replace(SEEN, files=FilesSeen(LOADED, likeness=likeness)))
    assert (verdict.verdict, verdict.text) == ("pass", text)


def test_one_that_changed_is_failed_advice():
    evidence = replace(SEEN, files=FilesSeen(LOADED, ("/p/mmproj.gguf",)))
    verdict = check("files", evidence=evidence)
    assert (verdict.observed, verdict.verdict, verdict.gate) == (False, "fail", False)
    assert verdict.text == "mmproj.gguf: changed since it was loaded"
    assert judge((verdict,)) is State.DEGRADED


def test_one_that_is_gone_is_not_known_and_not_passed_over():
    verdict = check("files", evidence=replace(SEEN, files=FilesSeen(LOADED, unseen=("/p/mmproj.gguf",))))
    assert (verdict.observed, verdict.verdict, verdict.gate) == (None, "unknown", False)
    assert verdict.text == "mmproj.gguf: not there, or not to be seen"
    assert "cannot start again without its file" in verdict.hint


def test_nothing_is_claimed_where_nobody_knows():
    assert "files" not in {verdict.id for verdict in judge_all(MODEL, SEEN)}
