"""A model's or an Ollama server's keys with those of `defaults` beneath them, each with the place it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from homellm.loading.document import Document
from homellm.loading.findings import Findings
from homellm.loading.keys import ModelKeys, StackKeys
from homellm.loading.nodes import Mark
from homellm.loading.ollama_keys import OllamaKeys
from homellm.loading.paths import KeyPath, label, model_of

#: Keys that merge by their own keys; all others replace.
_BY_KEY = ("env", "labels")
#: Keys of `defaults` that mean the same for an Ollama server; the others are a model's own.
SHARED_WITH_SERVERS = (
    "gpu",
    "bind",
    "cpuset",
    "cpu_shares",
    "restart",
    "stop_grace",
    "pull",
    "labels",
    "networks",
    "log",
)


@dataclass(frozen=True, slots=True)
class MergedModel:
    """One model, or one Ollama server (`section` is `ollama`).

    `values` has what was given and is right; a key that was given and is wrong is in `wrong` alone.
    """

    name: str
    values: dict[str, Any]
    wrong: frozenset[str]
    document: Document
    section: str = "models"

    @property
    def model(self) -> str | None:
        """The model that a problem concerns; None for a server."""
        return self.name if self.section == "models" else None

    def says(self, key: str) -> bool:
        """Whether the key was given here and not only by `defaults`."""
        return (self.section, self.name, key) in self.document.marks

    def path(self, *words: str | int) -> KeyPath:
        """Where a key (and what lies in it) was given: in the model, else in `defaults`."""
        own: KeyPath = (self.section, self.name, *words)
        default: KeyPath = ("defaults", *words)
        return own if own in self.document.marks or default not in self.document.marks else default

    def unset(self, gpu: str | None = None) -> frozenset[str]:
        """The keys in which a variable is not set, where that is let pass; with `gpu` also where that GPU has one."""
        own = (self.section, self.name)
        found = {_dotted(path[2:]) for path in self.document.unset if path[:2] == own}
        for path in self.document.unset:
            key = str(path[1]) if path[0] == "defaults" else ""
            shared = key and (self.section == "models" or key in SHARED_WITH_SERVERS)
            if shared and self.path(*(path[1:] if key in _BY_KEY else path[1:2]))[0] == "defaults":
                found.add(_dotted(path[1:]))
        if gpu is not None and any(path[:2] == ("gpus", gpu) for path in self.document.unset):
            found.add("gpu")
        return frozenset(found)

    def mark(self, *words: str | int) -> Mark:
        """The place of a key; without words that of the model's name."""
        return self.document.mark(self.path(*words))

    def value_mark(self, *words: str | int) -> Mark:
        """The place of a key's value."""
        return self.document.value_mark(self.path(*words))


def merge_models(keys: StackKeys, document: Document, findings: Findings) -> list[MergedModel]:
    """All models with the defaults merged in: `env` and `labels` by key, everything else replaced."""
    defaults = _given(keys.defaults, ("defaults",), document, findings)
    return [_merged("models", name, model, defaults, document, findings) for name, model in keys.models.items()]


def merge_servers(keys: StackKeys, document: Document, findings: Findings) -> list[MergedModel]:
    """All Ollama servers, with those defaults merged in that mean the same for a server."""
    given = _given(keys.defaults, ("defaults",), document, findings)
    defaults = {key: value for key, value in given.items() if key in SHARED_WITH_SERVERS}
    return [_merged("ollama", name, server, defaults, document, findings) for name, server in keys.ollama.items()]


def implicit_server(name: str, keys: StackKeys, document: Document, findings: Findings) -> MergedModel:
    """The Ollama server of a stack that declares none."""
    given = _given(keys.defaults, ("defaults",), document, findings)
    defaults = {key: value for key, value in given.items() if key in SHARED_WITH_SERVERS}
    return MergedModel(name, defaults, _wrong_defaults(document), document, "ollama")


def _dotted(words: KeyPath) -> str:
    """A key, or one of those that stand inside `env` or `labels`; of all others the key alone."""
    return ".".join(map(str, words[:2] if words[0] in (*_BY_KEY, "llama_args") else words[:1]))


def _merged(
    section: str,
    name: str,
    keys: ModelKeys | OllamaKeys,
    defaults: dict[str, Any],
    document: Document,
    findings: Findings,
) -> MergedModel:
    base: KeyPath = (section, name)
    own = _given(keys, base, document, findings)
    wrong = frozenset(str(path[2]) for path in document.bad if path[:2] == base and len(path) > len(base))
    taken_back = {str(path[2]) for path in document.nulls if path[:2] == base}
    values = {key: value for key, value in defaults.items() if key not in wrong | taken_back}
    for key in _BY_KEY:
        if key in own and key in values:
            own[key] = {**values[key], **own[key]}
    return MergedModel(name, values | own, wrong | _wrong_defaults(document), document, section)


def _wrong_defaults(document: Document) -> frozenset[str]:
    return frozenset(str(path[1]) for path in document.bad if path[:1] == ("defaults",) and len(path) > 1)


def _given(
    keys: ModelKeys | OllamaKeys | None, base: KeyPath, document: Document, findings: Findings
) -> dict[str, Any]:
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
