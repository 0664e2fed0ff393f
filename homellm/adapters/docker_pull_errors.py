"""Why an image could not be brought, in plain words, and whether another try may help.

The texts are those of Docker Engine 20.10 to 28 and of its containerd image store; the engine passes on what the
registry or the Go standard library said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from homellm.errors import PullFailed

UNREACHABLE = "registry-unreachable"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a text means. `why` and `hint` are format strings over `ref`, `registry` and `text`."""

    pattern: re.Pattern[str]
    id: str
    why: str
    hint: str


def _answer(pattern: str, id: str, why: str, hint: str) -> _Answer:
    return _Answer(re.compile(pattern, re.IGNORECASE), id, why, hint)


#: The first one whose pattern is found wins.
_ANSWERS = (
    _answer(
        r"no space left on device",
        "disk-full",
        "the disk that the engine keeps its data on is full",
        "See what takes the space: docker system df, df -h",
    ),
    _answer(
        r"server gave HTTP response to HTTPS client",
        "registry-not-https",
        "the registry {registry} speaks http, not https",
        "If that is meant, add it to insecure-registries in /etc/docker/daemon.json.",
    ),
    _answer(
        r"x509: |tls: failed to verify",
        "registry-certificate",
        "the certificate of {registry} is not trusted",
        "Put its CA into /etc/docker/certs.d/{registry}/ca.crt; is the clock of this machine right?",
    ),
    _answer(
        r"toomanyrequests|too many requests",
        "registry-rate-limit",
        "the registry {registry} takes no more requests from here for a while",
        "Wait, or docker login {registry} for a higher limit.",
    ),
    _answer(
        r"no matching manifest for|does not match the specified platform",
        "image-platform",
        "it is not made for this machine's kind of processor",
        "Choose another tag (uname -m tells the processor).",
    ),
    _answer(
        r"manifest unknown|manifest for .* not found|repository .* not found|name unknown|does not exist|: not found$",
        "image-not-found",
        "{registry} has no such image or tag, or shows it only after a login",
        "Check its name and tag; for a private one docker login {registry}.",
    ),
    _answer(
        r"unauthorized|access .* is denied|access denied|no basic auth credentials|authentication required|\bdenied\b"
        r"|credential",
        "registry-login",
        "the registry {registry} has no such image, or shows it only after a login",
        "Check its name; for a private one docker login {registry}, as the user that runs homellm.",
    ),
    _answer(
        r"dial tcp|no such host|i/o timeout|connection refused|connection reset|TLS handshake timeout|\bEOF\b"
        r"|deadline exceeded|Client\.Timeout exceeded|server misbehaving|name resolution|network is unreachable"
        r"|no route to host|proxyconnect|received unexpected HTTP status|request canceled",
        UNREACHABLE,
        "the registry {registry} does not answer ({text})",
        "Check network and DNS of the machine that runs the engine: docker pull {ref} must work there.",
    ),
    _answer(
        r"invalid reference format|invalid repository name",
        "image-name-invalid",
        "the engine does not take the name",
        "An image is written registry/name:tag, in lower case.",
    ),
)
_UNKNOWN = _answer("", "pull-failed", "{text}", "docker pull {ref} shows it in full.")


def pull_failure(ref: str, text: str) -> PullFailed:
    """The failure of a pull of the image `ref`, from the engine's own `text`, which stays in `.original`."""
    answer = next((answer for answer in _ANSWERS if answer.pattern.search(text)), _UNKNOWN)
    words = {"ref": ref, "registry": registry_of(ref), "text": text.strip() or "the engine gave no reason"}
    return PullFailed(
        f"The image {ref} cannot be pulled: {answer.why.format_map(words)}.",
        hint=answer.hint.format_map(words),
        id=answer.id,
        original=text,
    )


def is_transient(error: PullFailed) -> bool:
    """Whether another try may help: only when the registry did not answer, or not whole."""
    return error.problems[0].id == UNREACHABLE


def registry_of(ref: str) -> str:
    """The host name of the registry that an image's name points to."""
    first, slash, _ = ref.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"
