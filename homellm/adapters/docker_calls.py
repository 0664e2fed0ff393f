"""How the engine is called: whatever goes wrong leaves as an error of ours. Knows nothing of the client library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import quote

from requests import Response, Session

from homellm.adapters import docker_archive
from homellm.adapters import docker_error_rules as rules
from homellm.adapters.docker_address import Address
from homellm.adapters.docker_errors import translate
from homellm.adapters.docker_http import error_text, read_limited
from homellm.adapters.docker_unreachable import unreachable
from homellm.errors import EngineRefused

_MAYBE_AN_ID = re.compile(r"[0-9a-f]{1,63}")
_BAD_REQUEST = 400

_T = TypeVar("_T")


class Calls:
    """Calls to one engine, whose API begins at `base_url`.

    `refusal` is the client library's class for an answer of the engine that is an error (it has an `explanation`),
    `transport` are those for no answer.
    """

    def __init__(
        self,
        address: Address,
        session: Session,
        *,
        base_url: str,
        timeout_s: float,
        refusal: type[Exception],
        transport: tuple[type[Exception], ...],
    ) -> None:
        self._address = address
        self._session = session
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._refusal = refusal
        self._transport = transport

    def ask(self, doing: str, call: Callable[[], _T]) -> _T:
        """Call the engine. Raises EngineRefused and its kinds, or EngineUnreachable."""
        try:
            return call()
        except self._refusal as error:
            raise translate(str(getattr(error, "explanation", None) or error), doing=doing) from error
        except self._transport as error:
            raise unreachable(self._address, error, timeout_s=self._timeout_s) from error

    def on(self, ref: str, doing: str, call: Callable[[], _T]) -> _T:
        """Call the engine about one container, which has to be that of exactly this id or name.

        The engine takes the beginning of an id too: a name like `cafe` that is gone would hit somebody else's.
        """
        if _MAYBE_AN_ID.fullmatch(ref) and not self._is_exact(ref):
            raise translate(f"No such container: {ref}", doing=doing)
        return self.ask(f"{doing} {ref}", call)

    def open(
        self, method: str, path: str, params: Mapping[str, str], doing: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        """A request whose answer is read as it comes, without a limit of time."""
        response = self.ask(
            doing,
            lambda: self._session.request(
                method,
                f"{self._base_url}{path}",
                params=params,
                headers=headers,
                stream=True,
                timeout=(self._timeout_s, None),
            ),
        )
        if response.status_code >= _BAD_REQUEST:
            with response:
                text = self.ask(doing, lambda: error_text(response))
            raise translate(text, doing=doing)
        return response

    def open_container(self, ref: str, what: str, params: Mapping[str, str], doing: str) -> Response:
        """The same about one container: `what` is logs or archive."""
        path = f"/containers/{quote(ref, safe='')}/{what}"
        return self.on(ref, doing, lambda: self.open("GET", path, params, f"{doing} {ref}"))

    def archive(self, ref: str, path: str) -> Response | None:
        """What stands at a path of a container, as a tar; None when nothing does."""
        try:
            return self.open_container(ref, "archive", {"path": path}, f"read {path} of")
        except EngineRefused as error:
            if error.problems[0].id == rules.PATH_MISSING:
                return None
            raise

    def archive_bytes(self, ref: str, path: str) -> bytes | None:
        """The same whole. Raises EngineRefused when it is larger than anything of ours."""
        response = self.archive(ref, path)
        if response is None:
            return None
        with response:
            data = self.ask(f"read {path} of {ref}", lambda: read_limited(response, docker_archive.LIMIT_BYTES))
        if len(data) > docker_archive.LIMIT_BYTES:
            raise EngineRefused(
                f"{path} in container {ref} is larger than {docker_archive.LIMIT_BYTES // 2**20} MiB.",
                hint="Only small files are read out of containers.",
                id="file-too-large",
            )
        return data

    def _is_exact(self, ref: str) -> bool:
        with self.open("GET", f"/containers/{ref}/json", {}, f"inspect {ref}") as response:
            doc = self.ask(f"inspect {ref}", response.json)
        return ref in (doc.get("Id"), str(doc.get("Name")).removeprefix("/"))
