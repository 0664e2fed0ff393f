"""One short text for any facts: what is kept of them, so that no secret among them is."""

from __future__ import annotations

import hashlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def digest(facts: Any) -> str:
    """The sha256, in hex, of facts as JSON has them; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
