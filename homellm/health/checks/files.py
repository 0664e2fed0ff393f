"""The files that the server loaded, against those that stand at their paths now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from homellm.domain.verdicts import Verdict
from homellm.health.checks.case import Case, judged

FILES = "files"


def files(case: Case) -> Verdict | None:
    """Weights, projector and template are those that the server loaded; no verdict where nobody knows.

    By path, size and time of content: no file is read. A server goes on with what it loaded, so this is advice.
    """
    seen = case.evidence.files
    if seen is None:
        return None
    names = ", ".join(PurePosixPath(path).name for path in seen.changed)
    hint = "The server goes on with what it loaded before that; homellm up starts it on what stands there now."
    text = f"{names}: changed since it was loaded" if names else "unchanged since they were loaded"
    verdict = judged("files", True, not names, not names, FILES, hint=hint, text=text)
    return replace(verdict, asked_text="as loaded")
