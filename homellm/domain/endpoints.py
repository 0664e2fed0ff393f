"""Where clients find a model: the addresses from three places, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from homellm.domain.secret import Secret
from homellm.domain.stack import RunnerName

Place = Literal["host", "lan", "container"]
PLACES: tuple[Place, ...] = ("host", "lan", "container")


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached from one place: its base URL without a path, or None and the reason."""

    url: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ModelEndpoints:
    """One model as clients see it.

    `runner` is what serves it now, as far as that is known. `ctx` is the context of one slot in tokens. `network` is
    the network that a container must be in for the way called `container`; None where it needs none. `running` tells
    whether all this is of what runs, or declared only; None where no engine could tell.
    """

    name: str
    runner: RunnerName
    slots: int
    ctx: int
    host: Way
    lan: Way
    container: Way
    network: str | None
    embedding: bool = False
    api_key: Secret | None = None
    moved: bool = False
    running: bool | None = None

    def way(self, place: Place) -> Way:
        """The way from a place."""
        return {"host": self.host, "lan": self.lan, "container": self.container}[place]

    def openai(self, place: Place) -> str | None:
        """The base URL in OpenAI's style; llama-server and Ollama both have it."""
        url = self.way(place).url
        return None if url is None else f"{url}/v1"

    def ollama(self, place: Place) -> str | None:
        """The base URL in Ollama's style, which llama-server does not have."""
        return self.way(place).url if self.runner == "ollama" else None
