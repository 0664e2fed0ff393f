"""The hub behind its port without what only questions and downloads need: most verbs ask nobody and bring nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homellm.adapters.hub_cache import HubCache
from homellm.adapters.hub_settings import HubSettings
from homellm.domain.hub import HubModel, HubRef
from homellm.domain.world import ModelFile
from homellm.ports import PullStream

if TYPE_CHECKING:
    from homellm.adapters.hub import Hub


class HubLater:
    """Implements ports.ModelHub: the cache at once, everything else by a Hub that is made when it is asked for."""

    def __init__(self, settings: HubSettings, cache: HubCache) -> None:
        self._settings = settings
        self._cache = cache
        self._made: Hub | None = None

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
        return self._hub().resolve(ref)

    def look(self, model: HubModel) -> ModelFile | None:
        """What a model that is not here will be, from its header alone; None where that cannot be read."""
        return self._hub().look(model)

    def pull(self, model: HubModel) -> PullStream:
        """Bring what is missing of a model."""
        return self._hub().pull(model)

    def free_bytes(self) -> int | None:
        """What the cache's disk has left; None where that cannot be seen."""
        return self._hub().free_bytes()

    def repositories(self) -> tuple[tuple[str, int], ...]:
        """The repositories of which the cache holds files, with their bytes, the largest first."""
        return self._hub().repositories()

    def _hub(self) -> Hub:
        if self._made is None:
            from homellm.adapters.hub import Hub  # noqa: PLC0415 - brings the client of HTTP, and all that that brings

            self._made = Hub(self._settings, self._cache)
        return self._made
