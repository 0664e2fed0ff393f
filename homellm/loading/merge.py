"""A model's keys with those of `defaults` beneath them, each with the place that it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from homellm.loading.document import Document
from homellm.loading.findings import Findings
from homellm.loading.keys import ModelKeys, StackKeys
from homellm.loading.nodes import Mark
from homellm.loading.paths import KeyPath, label, model_of

#: Keys that merge by their own keys; all others replace.
_BY_KEY = ("env", "labels")


@dataclass(frozen=True, slots=True)
class MergedModel:
    """One model. `values` has what was given and is right; a key that was given and is wrong is in `wrong` alone."""

    name: str
    values: dict[str, Any]
    wrong: frozenset[str]
    document: Document

    def path(self, *words: str | int) -> KeyPath:
        """Where a key (and what lies in it) was given: in the model, else in `defaults`."""
        own: KeyPath = ("models", self.name, *words)
        default: KeyPath = ("defaults", *words)
        return own if own in self.document.marks or default not in self.document.marks else default

    def mark(self, *words: str | int) -> Mark:
        """The place of a key; without words that of the model's name."""
        return self.document.mark(self.path(*words))

    def value_mark(self, *words: str | int) -> Mark:
        """The place of a key's value."""
        return self.document.value_mark(self.path(*words))


def merge_models(keys: StackKeys, document: Document, findings: Findings) -> list[MergedModel]:
    """All models with the defaults merged in: `env` and `labels` by key, everything else replaced."""
    defaults = _given(keys.defaults, ("defaults",), document, findings)
    merged: list[MergedModel] = []
    for name, model in keys.models.items():
        base: KeyPath = ("models", name)
        own = _given(model, base, document, findings)
        wrong = frozenset(str(path[2]) for path in document.bad if path[:2] == base and len(path) > len(base))
        taken_back = {str(path[2]) for path in document.nulls if path[:2] == base}
        values = {key: value for key, value in defaults.items() if key not in wrong | taken_back}
        for key in _BY_KEY:
            if key in own and key in values:
                own[key] = {**values[key], **own[key]}
        merged.append(MergedModel(name, values | own, wrong | _wrong_defaults(document), document))
    return merged


def _wrong_defaults(document: Document) -> frozenset[str]:
    return frozenset(str(path[1]) for path in document.bad if path[:1] == ("defaults",) and len(path) > 1)


def _given(keys: ModelKeys | None, base: KeyPath, document: Document, findings: Findings) -> dict[str, Any]:
    """The keys that were written, `stop_grace_s` as the `stop_grace` that it means."""
    if keys is None:
        return {}
    given = {key: getattr(keys, key) for key in keys.model_fields_set}
    seconds = given.pop("stop_grace_s", None)
    if seconds is not None:
        if "stop_grace" in given:
            path = (*base, "stop_grace_s")
            message = f"{label(path)} says the same as `stop_grace`"
            findings.add("contradiction", document.mark(path), message, "Keep one of the two.", model_of(path))
        given["stop_grace"] = seconds
    return given
