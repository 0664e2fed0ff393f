"""How fast transfers go, and when they will be through: reckoned from what they told, and when. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from homellm.domain.events import Progress

#: The span over which a rate is taken: long enough to be calm, short enough to notice a line that has become slow.
WINDOW_S = 10.0
#: Less than this tells nothing yet.
LEAST_S = 1.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Bytes a second, and seconds to the end where that can be told."""

    bytes_per_s: float
    left_s: float | None = None


@dataclass(slots=True)
class Paces:
    """The transfers of a verb, each by its model and by what is transferred."""

    _seen: dict[tuple[str, str], deque[tuple[float, int]]] = field(default_factory=dict)

    def of(self, event: Progress, now_s: float) -> Pace | None:
        """The pace of a transfer after this news of it, told at `now_s`; None while too little is known.

        What was there before the first news counts for nothing, and bytes that had to be thrown away begin it anew.
        """
        if event.done_bytes is None:
            return None
        seen = self._seen.setdefault((event.model, event.what), deque())
        if seen and event.done_bytes < seen[-1][1]:
            seen.clear()
        seen.append((now_s, event.done_bytes))
        while len(seen) > 2 and now_s - seen[1][0] >= WINDOW_S:  # noqa: PLR2004 - the first and the last
            seen.popleft()
        span_s, moved = now_s - seen[0][0], event.done_bytes - seen[0][1]
        if span_s < LEAST_S:
            return None
        rate = moved / span_s
        if not event.total_bytes or rate <= 0:
            return Pace(rate)
        return Pace(rate, max(event.total_bytes - event.done_bytes, 0) / rate)
