"""Hugging Face's hub behind the port ModelHub: asked by huggingface_hub, its files brought into the cache of all.

huggingface_hub is imported only when something is asked or brought: what is in the cache is found without it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx

from homellm import __version__
from homellm.adapters.gguf_remote import RemoteFiles, RemoteUnreadable
from homellm.adapters.hub_cache import HubCache
from homellm.adapters.hub_pull import TELL_S, HubPull
from homellm.adapters.hub_settings import HubSettings
from homellm.adapters.hub_transfer import Denied, Transfer, disk_failed
from homellm.domain.hub import HubFile, HubModel, HubRef, NoSuchModel, choose, sound
from homellm.domain.world import ModelFile
from homellm.errors import HubUnreachable

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo, RepoSibling

#: How long one question may take; what is brought may take longer between two pieces.
ASK_S = 15.0
READ_S = 30.0
#: The hub gives larger files by its own storage protocol (Xet) alone. Source: huggingface_hub, constants.py.
MAX_PLAIN_BYTES = 50 * 1000**3


class Hub:
    """Implements ports.ModelHub."""

    def __init__(
        self, settings: HubSettings, cache: HubCache, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._monotonic = monotonic

    @property
    def offline(self) -> bool:
        """Whether nobody may be asked."""
        return self._settings.offline

    @property
    def location(self) -> str:
        """The folder of the cache."""
        return str(self._cache.root)

    def find(self, ref: HubRef, *, guess: bool = False) -> HubModel | None:
        """The model if all of it is here. Asks nobody."""
        return self._cache.find(ref, guess=guess)

    def resolve(self, ref: HubRef) -> HubModel:
        """What the source means on the hub now. Raises HubUnreachable and PullFailed."""
        endpoint, token = self._settings.endpoint, self._settings.token
        if self.offline:
            message = f"{ref} is not in {self._cache.root}, and HF_HUB_OFFLINE says to ask nobody"
            raise HubUnreachable(message, hint="Unset HF_HUB_OFFLINE once, and run homellm pull.", id="hub-offline")
        # Else the library looks up on the hub which programs may be calling it, to tell so with each request.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        from homellm.adapters import hub_errors  # noqa: PLC0415 - brings the library, which reads that variable once

        try:
            info = self._ask(ref)
            files = tuple(filter(sound, (_file(sibling) for sibling in info.siblings or ())))
            commit = str(info.sha or "")
        except (hub_errors.HTTP_ERROR, OSError) as error:
            raise hub_errors.translate(error, ref, endpoint, token=token is not None) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"it does not answer as a hub ({type(error).__name__})"
            raise hub_errors.unreachable(endpoint, said, original=str(error)) from error
        if not commit.isalnum():
            raise hub_errors.unreachable(endpoint, "it does not tell which commit it has")
        if info.gated and token is None:
            raise hub_errors.gated(ref, endpoint, token=False)
        try:
            model = self._cache.located(ref, commit, choose(ref, files))
        except NoSuchModel as error:
            raise hub_errors.no_such_model(error, ref) from error
        if model.complete:
            self._cache.settle(model)
        elif large := [file for file in model.files if file.size_bytes > MAX_PLAIN_BYTES]:
            raise hub_errors.too_large(ref, large[0])
        return model

    def _ask(self, ref: HubRef) -> ModelInfo:
        from huggingface_hub import HfApi  # noqa: PLC0415 - a quarter of a second

        token = self._settings.token
        api = HfApi(
            endpoint=self._settings.endpoint,
            token=token.reveal() if token is not None else False,
            library_name="homellm",
            library_version=__version__,
        )
        return api.model_info(ref.repo, revision=ref.revision, files_metadata=True, timeout=ASK_S)

    def look(self, model: HubModel) -> ModelFile | None:
        """The header of a model that is not here; None where it cannot be read."""
        with RemoteFiles(token=self._settings.token) as files:
            try:
                seen = files.look(self._url(model, model.files[0]))
            except RemoteUnreadable:
                return None
        parts = tuple(str(model.folder / file.name) for file in model.files)
        return replace(seen, path=str(model.path), parts=parts, size_bytes=model.size_bytes)

    def pull(self, model: HubModel) -> HubPull:
        """Bring what is missing of a model. Nothing happens before the stream is iterated."""
        return HubPull(lambda pull: self._bring(model, pull), model.size_bytes, self._monotonic)

    def free_bytes(self) -> int | None:
        """What the cache's disk has left."""
        return self._cache.free_bytes()

    def repositories(self) -> tuple[tuple[str, int], ...]:
        """What the cache holds, the largest first."""
        return self._cache.repositories()

    def _url(self, model: HubModel, file: HubFile) -> str:
        return f"{self._settings.endpoint}/{model.ref.repo}/resolve/{model.commit}/{quote(file.name)}"

    def _bring(self, model: HubModel, pull: HubPull) -> None:
        for file in model.files:
            pull.begin(file.name, self._cache.located(model.ref, model.commit, (file,)).here_bytes)
            try:
                self._bring_file(model, file, pull)
            except OSError as error:
                raise disk_failed(error, self._cache.repo(model.ref)) from error
            except Denied as error:
                from homellm.adapters.hub_errors import gated  # noqa: PLC0415 - brings the library

                known = self._settings.token is not None
                raise gated(model.ref, self._settings.endpoint, token=known, original=error.original) from error
            pull.end(file.size_bytes)
        self._cache.settle(model)

    def _bring_file(self, model: HubModel, file: HubFile, pull: HubPull) -> None:
        blob = self._cache.blob(model.ref, file)
        with self._locked(model, file, pull):
            if self._cache.located(model.ref, model.commit, (file,)).complete:
                return
            if not (blob.is_file() and blob.stat().st_size == file.size_bytes):
                begun = self._cache.incomplete(model.ref, file)
                with self._client() as client:
                    transfer = Transfer(client, check=pull.check, pause=pull.pause, moved=pull.moved)
                    transfer.fetch(self._url(model, file), file, begun)
                begun.replace(blob)
            self._cache.link(model, file)

    def _client(self) -> httpx.Client:
        headers = {"User-Agent": f"homellm/{__version__}", "Accept-Encoding": "identity"}
        if self._settings.token is not None:
            # httpx drops it where an address leads to another host, as the hub's do to its storage.
            headers["Authorization"] = f"Bearer {self._settings.token.reveal()}"
        return httpx.Client(headers=headers, timeout=httpx.Timeout(READ_S, connect=ASK_S), follow_redirects=True)

    @contextmanager
    def _locked(self, model: HubModel, file: HubFile, pull: HubPull) -> Iterator[None]:
        """The lock that the library takes too: two programs never write one file."""
        from huggingface_hub.utils import (  # type: ignore[attr-defined]  # noqa: PLC0415 - its typing leaves it out
            WeakFileLock,
        )

        path = self._cache.lock(model.ref, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                lock = WeakFileLock(path, timeout=TELL_S)
                lock.__enter__()
            except TimeoutError:
                pull.waiting(file.name)
                continue
            break
        try:
            yield
        finally:
            lock.__exit__(None, None, None)


def _file(sibling: RepoSibling) -> HubFile:
    if sibling.lfs is not None:
        return HubFile(str(sibling.rfilename), int(sibling.lfs.size), str(sibling.lfs.sha256))
    digest = f"git:{sibling.blob_id}" if sibling.blob_id else ""
    return HubFile(str(sibling.rfilename), int(sibling.size or 0), digest)
