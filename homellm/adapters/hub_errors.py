"""What huggingface_hub raises, in words of ours: what happened, and what to type next."""

from __future__ import annotations

import re

from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from homellm.domain.hub import HubFile, HubRef, NoSuchModel
from homellm.errors import HubUnreachable, PullFailed

#: The root of what the library's HTTP client raises. The client itself changes its name from one release to the next.
HTTP_ERROR: type[Exception] = HfHubHTTPError.__mro__[1]
MAX_LISTED = 12
_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429
#: What a system says of a name that it cannot find, in the words of Linux and of macOS.
_NO_NAME = re.compile(
    r"Name or service not known|Temporary failure in name resolution|No address associated|nodename nor servname"
)
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_LOGIN = "set HF_TOKEN, or run: hf auth login"


def translate(error: Exception, ref: HubRef, endpoint: str, *, token: bool) -> PullFailed:
    """An error of a question about a repository."""
    original = f"{type(error).__name__}: {error}".strip()
    if isinstance(error, GatedRepoError):
        return gated(ref, endpoint, token=token, original=original)
    if isinstance(error, RepositoryNotFoundError):
        seen = "that your token may see" if token else "that can be seen without a token"
        hint = "Check the name." if token else f"Check the name; if it is private, {_LOGIN}"
        return PullFailed(
            f"{endpoint} has no repository {ref.repo} {seen}", hint=hint, id="repo-absent", original=original
        )
    if isinstance(error, RevisionNotFoundError):
        hint = f"See {endpoint}/{ref.repo}/branches, or leave `@{ref.revision}` out."
        message = f"{ref.repo} has no branch, tag or commit {ref.revision}"
        return PullFailed(message, hint=hint, id="revision-absent", original=original)
    if isinstance(error, DisabledRepoError):
        return PullFailed(f"the hub has closed the repository {ref.repo}", id="repo-closed", original=original)
    if isinstance(error, HfHubHTTPError):
        return _by_status(error, endpoint, original)
    return unreachable(endpoint, _in_words(error), original=original)


def _in_words(error: Exception) -> str:
    """What a system says of a line that it could not open, without its numbers."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return "this machine does not find its address" if _NO_NAME.search(reason) else _ERRNO.sub("", reason)


def _by_status(error: HfHubHTTPError, endpoint: str, original: str) -> PullFailed:
    status = getattr(getattr(error, "response", None), "status_code", 0)
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        message = f"{endpoint} does not take the token that it was sent ({status})"
        return PullFailed(message, hint=f"Make a new one and {_LOGIN}", id="token-refused", original=original)
    if status == _TOO_MANY:
        return HubUnreachable(f"{endpoint} asks for fewer questions (429)", hint="Try again later.", original=original)
    return unreachable(endpoint, f"it answers {status}", original=original)


def gated(ref: HubRef, endpoint: str, *, token: bool, original: str = "") -> PullFailed:
    """A repository that is only for those who asked for it."""
    page = f"{endpoint}/{ref.repo}"
    hint = f"Ask for access on {page}" + (", with the account of your token." if token else f". Then {_LOGIN}")
    return PullFailed(
        f"{ref.repo} is gated: its owner gives it on request", hint=hint, id="model-gated", original=original
    )


def unreachable(endpoint: str, reason: str, *, original: str = "") -> HubUnreachable:
    """A hub that does not answer, or not as one."""
    hint = (
        "Check the network, and HF_ENDPOINT if it is set; or download the file elsewhere and name it here:"
        " gguf:/path/to/model.gguf"
    )
    return HubUnreachable(f"the model hub {endpoint} cannot be asked: {reason}", hint=hint, original=original)


def too_large(ref: HubRef, file: HubFile) -> PullFailed:
    """A file that the hub does not give by plain HTTP."""
    message = f"{file.name} has {file.size_bytes / 1e9:.0f} GB, more than the hub gives by plain HTTP"
    hint = f"Bring it into the same cache by: hf download {ref.repo} {file.name}"
    return PullFailed(message, hint=hint, id="file-too-large")


def no_such_model(error: NoSuchModel, ref: HubRef) -> PullFailed:
    """A repository without what the source names; says what it has."""
    listed = [f"hf:{ref.repo}{one}" for one in error.there[:MAX_LISTED]]
    more = f" and {len(error.there) - MAX_LISTED} more" if len(error.there) > MAX_LISTED else ""
    hint = f"There: {', '.join(listed)}{more}." if listed else "Choose another repository."
    return PullFailed(error.reason, hint=hint, id="quant-absent" if ref.file is None else "file-absent")
