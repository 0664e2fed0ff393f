"""What design and documentation know and this version does not have yet: an error of its own, never an unknown key.

Whoever brings one of these removes its row.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Keys at the top of a file, and what to do without them.
ABSENT_STACK_KEYS: Mapping[str, str] = {}

#: Keys of a model.
ABSENT_MODEL_KEYS: Mapping[str, str] = {}
