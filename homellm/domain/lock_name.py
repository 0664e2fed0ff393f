"""The name of the lock of one stack on one engine: the same for all who take it or look whether it is taken."""

from __future__ import annotations

import hashlib


def lock_name(engine_id: str, root_dir: str, stack: str) -> str:
    """The name of the abstract Unix socket (unix(7)) without its leading zero byte.

    Two daemons of one machine can show the same engine id, so the folder of their data is a part of it.
    """
    key = "\0".join((engine_id, root_dir, stack))
    return f"homellm-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
