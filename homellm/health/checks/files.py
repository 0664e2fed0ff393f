"""The files that the server loaded, against those that stand at their paths now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from homellm.domain.verdicts import Verdict
from homellm.domain.world import Likeness
from homellm.health.checks.case import Case, judged

FILES = "files"
#: What of a file is known to be as it was when the server loaded it.
_SAME: Mapping[Likeness, str] = {
    "untouched": "untouched",
    "sampled": "size, date and samples as loaded",
    "dated": "size and date as loaded",
}
_UNSEEN = (
    "The server goes on with what it loaded, and cannot start again without its file. Put it back, or let this user "
    "see it."
)


def files(case: Case) -> Verdict | None:
    """Weights, projector and template are those that the server loaded; no verdict where nobody knows.

    A server goes on with what it loaded, so this is advice. A pass says what it rests on.
    """
    seen = case.evidence.files
    if seen is None:
        return None
    if seen.unseen:
        text = f"{_names(seen.unseen)}: not there, or not to be seen"
        return replace(judged("files", True, None, None, FILES, hint=_UNSEEN, text=text), asked_text="as loaded")
    names = _names(seen.changed)
    hint = "The server goes on with what it loaded before that; homellm up starts it on what stands there now."
    text = f"{names}: changed since it was loaded" if names else _SAME[seen.likeness]
    verdict = judged("files", True, not names, not names, FILES, hint=hint, text=text)
    return replace(verdict, asked_text="as loaded")


def _names(paths: tuple[str, ...]) -> str:
    return ", ".join(PurePosixPath(path).name for path in paths)
