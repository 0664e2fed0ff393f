"""What all answers need: settings, store, scheduler and journal."""

from dataclasses import dataclass
from typing import Any

from standin.journal import Journal
from standin.names import Name, parse
from standin.scheduler import ApiError, Scheduler
from standin.settings import Knobs, Settings
from standin.store import Model, Store


@dataclass(frozen=True, slots=True)
class App:
    """One server."""

    settings: Settings
    knobs: Knobs
    journal: Journal
    store: Store
    scheduler: Scheduler

    def wanted(self, text: str, shown: Any) -> Model:
        """The model of that name. Raises ApiError 404 with `shown` in its text."""
        name = parse(text)
        if name is None:
            raise ApiError(404, f"model '{shown}' not found")
        try:
            return self.store.model(name)
        except FileNotFoundError as error:
            raise ApiError(404, f"model '{shown}' not found") from error

    def name_of(self, request: dict[str, Any], status: int = 400) -> Name:
        """The name in a request that may not exist yet. Raises ApiError."""
        name = parse(str(request.get("model") or request.get("name") or ""))
        if name is None:
            raise ApiError(status, "invalid model name")
        return self.store.existing(name)


def go_error(error: OSError, verb: str = "open") -> str:
    """An error of the disk as Go words it."""
    reason = (error.strerror or str(error)).lower()
    return f"{verb} {error.filename}: {reason}" if error.filename else reason
