"""Why an image could not be brought, in plain words, and whether another try may help.

The texts are those of Docker Engine 20.10 to 28 and of its containerd image store; the engine passes on what the
registry or the Go standard library said.
"""

from __future__ import annotations

from homellm.adapters.error_texts import (
    BAD_CERTIFICATE,
    NO_ANSWER,
    NOT_HTTPS,
    TOO_MANY,
    UNREACHABLE,
    Answer,
    meaning,
    pull_failed,
)
from homellm.errors import PullFailed

#: Over `ref`, `registry` and `text`. The first one whose pattern is found wins.
_ANSWERS = (
    Answer(
        r"no space left on device",
        "disk-full",
        "the disk that the engine keeps its data on is full",
        "See what takes the space: docker system df, df -h",
    ),
    Answer(
        NOT_HTTPS,
        "registry-not-https",
        "the registry {registry} speaks http, not https",
        "If that is meant, add it to insecure-registries in /etc/docker/daemon.json.",
    ),
    Answer(
        BAD_CERTIFICATE,
        "registry-certificate",
        "the certificate of {registry} is not trusted",
        "Put its CA into /etc/docker/certs.d/{registry}/ca.crt; is the clock of this machine right?",
    ),
    Answer(
        TOO_MANY,
        "registry-rate-limit",
        "the registry {registry} takes no more requests from here for a while",
        "Wait, or docker login {registry} for a higher limit.",
    ),
    Answer(
        r"no matching manifest for|does not match the specified platform",
        "image-platform",
        "it is not made for this machine's kind of processor",
        "Choose another tag (uname -m tells the processor).",
    ),
    Answer(
        r"manifest unknown|manifest for .* not found|repository .* not found|name unknown|does not exist|: not found$",
        "image-not-found",
        "{registry} has no such image or tag, or shows it only after a login",
        "Check its name and tag; for a private one docker login {registry}.",
    ),
    Answer(
        r"unauthorized|access .* is denied|access denied|no basic auth credentials|authentication required|\bdenied\b"
        r"|credential",
        "registry-login",
        "the registry {registry} has no such image, or shows it only after a login",
        "Check its name; for a private one docker login {registry}, as the user that runs homellm.",
    ),
    Answer(
        rf"{NO_ANSWER}|Client\.Timeout exceeded|name resolution|proxyconnect|received unexpected HTTP status"
        r"|request canceled",
        UNREACHABLE,
        "the registry {registry} does not answer ({text})",
        "Check network and DNS of the machine that runs the engine: docker pull {ref} must work there.",
    ),
    Answer(
        r"invalid reference format|invalid repository name",
        "image-name-invalid",
        "the engine does not take the name",
        "An image is written registry/name:tag, in lower case.",
    ),
)
_UNKNOWN = Answer("", "pull-failed", "{text}", "docker pull {ref} shows it in full.")


def pull_failure(ref: str, text: str) -> PullFailed:
    """The failure of a pull of the image `ref`, from the engine's own `text`, which stays in `.original`."""
    words = {"ref": ref, "registry": registry_of(ref), "text": text.strip() or "the engine gave no reason"}
    return pull_failed(f"image {ref}", meaning(text, _ANSWERS, _UNKNOWN), words, text)


def is_transient(error: PullFailed) -> bool:
    """Whether another try may help: only when the registry did not answer, or not whole."""
    return error.problems[0].id == UNREACHABLE


def registry_of(ref: str) -> str:
    """The host name of the registry that an image's name points to."""
    first, slash, _ = ref.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"
