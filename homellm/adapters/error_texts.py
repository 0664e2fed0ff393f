"""What the text of an error means: a table, of which the first row that is found decides.

The engine and Ollama both pass on what a registry or the Go standard library said, so what those say stands here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from homellm.errors import PullFailed

UNREACHABLE = "registry-unreachable"

#: Nobody answered, or the line was cut: texts of Go's net, net/http and context.
NO_ANSWER = (
    r"dial tcp|no such host|i/o timeout|connection refused|connection reset|TLS handshake timeout|\bEOF\b"
    r"|deadline exceeded|server misbehaving|network is unreachable|no route to host"
)
#: Texts of Go's crypto/x509 and crypto/tls.
BAD_CERTIFICATE = r"x509: |tls: failed to verify"
#: A registry that speaks http alone.
NOT_HTTPS = r"server gave HTTP response to HTTPS client"
#: What registries answer to whoever asks too often.
TOO_MANY = r"toomanyrequests|too many requests"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text means. `why` and `hint` are format strings over the words that whoever asks for it has."""

    pattern: str
    id: str
    why: str
    hint: str

    def says(self, words: Mapping[str, str]) -> tuple[str, str]:
        """Why it failed, and what to do."""
        return self.why.format_map(words), self.hint.format_map(words)


def meaning(text: str, table: Sequence[Answer], unknown: Answer) -> Answer:
    """The first row whose pattern is found, in upper or lower case. Compiled then: an error is seldom read."""
    return next((row for row in table if re.search(row.pattern, text, re.IGNORECASE)), unknown)


def pull_failed(what: str, answer: Answer, words: Mapping[str, str], original: str) -> PullFailed:
    """The failure of a pull of `what` (`image x`); the text itself stays in `.original`."""
    why, hint = answer.says(words)
    return PullFailed(f"The {what} cannot be pulled: {why}.", hint=hint, id=answer.id, original=original)
