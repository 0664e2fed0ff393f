"""One hash over all that decides a container, so that two of them can be told apart by a label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256

from homellm.domain.secret import Secret
from homellm.domain.spec import ContainerSpec

#: Words for people, and what can be changed on a container that runs: neither asks for a new container.
_LEFT_OUT = frozenset({"because", "restart"})


def spec_hash(spec: ContainerSpec, image_id: str) -> str:
    """The sha256, in hex, of a container's description and of the image's content (`sha256:…`).

    Reasons (`because`) and the restart policy are left out: the first change nothing, the second is changed in place.
    So is what is empty, so that a field which a later version adds moves no hash of those who do not use it.
    A secret counts, by a hash of its own, so that a new key is a new container and the text hashed shows none.
    """
    text = json.dumps({"image_id": image_id, "spec": _plain(spec)}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _empty(value: object) -> bool:
    return value is None or (isinstance(value, (tuple, list, Mapping)) and not value)


def _plain(value: object) -> object:
    if isinstance(value, Secret):
        return {"secret": sha256(value.reveal().encode()).hexdigest()}
    if is_dataclass(value):
        named = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _LEFT_OUT}
        return {name: _plain(item) for name, item in named.items() if not _empty(item)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value
