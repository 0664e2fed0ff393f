"""Names of models as Ollama reads them: `[host/][namespace/]model[:tag]`.

Source: types/model/name.go of Ollama 0.33. Defaults are registry.ollama.ai, library and latest; a name is looked up
without regard to upper and lower case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_HOST = "registry.ollama.ai"
DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"
MANIFESTS = "manifests"

#: What each part may be made of and how long it may be.
_PARTS = {
    "host": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*"), 350),
    "namespace": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*"), 80),
    "model": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*"), 80),
    "tag": (re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*"), 80),
}


@dataclass(frozen=True, slots=True)
class OllamaName:
    """A whole name. `scheme` is `http` only where it was written so: that registry is then pulled from unencrypted."""

    host: str
    namespace: str
    model: str
    tag: str
    scheme: str = "https"

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def short(self) -> str:
        """The name as Ollama's own lists show it: without the default registry and namespace, always with the tag."""
        name = f"{self.model}:{self.tag}"
        if self.host.lower() != DEFAULT_HOST:
            return f"{self.host}/{self.namespace}/{name}"
        return name if self.namespace.lower() == DEFAULT_NAMESPACE else f"{self.namespace}/{name}"

    @property
    def pull_name(self) -> str:
        """The name to pull by: the scheme stands before it where it is not https."""
        return self.short if self.scheme == "https" else f"{self.scheme}://{self}"

    @property
    def insecure(self) -> bool:
        """Whether a pull must be allowed to go over http."""
        return self.scheme == "http"

    @property
    def manifest(self) -> str:
        """The path of its manifest below the store's root."""
        return "/".join((MANIFESTS, self.host, self.namespace, self.model, self.tag))

    @property
    def cloud(self) -> bool:
        """Whether it names a model that runs on Ollama's own machines (`…:cloud`, `…-cloud`)."""
        tag = self.tag.lower()
        return tag == "cloud" or tag.endswith("-cloud")

    def same(self, other: OllamaName) -> bool:
        """Whether both name the same model: upper and lower case do not count, nor does the scheme."""
        return str(self).lower() == str(other).lower()


def parse_name(text: str) -> OllamaName:
    """The whole name that `text` means. Raises ValueError, ending a sentence, for one that Ollama would refuse."""
    rest = text.strip()
    if not rest:
        raise ValueError("names no model")
    scheme, mark, after = rest.partition("://")
    if mark:
        if scheme not in ("http", "https"):
            raise ValueError(f"begins with `{scheme}://`; a registry is reached by http:// or https://")
        rest = after
        if rest.count("/") != 2:  # noqa: PLR2004 - host, namespace and model
            raise ValueError(f"must be whole after `{scheme}://`: host/namespace/model:tag")
    tag = DEFAULT_TAG
    if rest.rfind(":") > rest.rfind("/"):
        rest, _, tag = rest.rpartition(":")
    rest, slash, model = rest.rpartition("/")
    host, second, namespace = rest.rpartition("/") if slash else ("", "", DEFAULT_NAMESPACE)
    name = OllamaName(host if second else DEFAULT_HOST, namespace, model, tag, scheme if mark else "https")
    _check(name)
    return name


def name_of_path(path: str) -> OllamaName | None:
    """The name whose manifest stands at `path` below the store's root; None for a file that is no manifest."""
    parts = path.split("/")
    if len(parts) != 5 or parts[0] != MANIFESTS:  # noqa: PLR2004 - manifests/host/namespace/model/tag
        return None
    name = OllamaName(*parts[1:])
    try:
        _check(name)
    except ValueError:
        return None
    return name


def _check(name: OllamaName) -> None:
    for part, (pattern, longest) in _PARTS.items():
        value: str = getattr(name, part)
        if not value:
            raise ValueError(f"has an empty {part}")
        if not pattern.fullmatch(value):
            raise ValueError(f"has a {part} that Ollama does not take, `{value[:60]}`")
        if len(value) > longest:
            raise ValueError(f"has a {part} of {len(value)} characters; Ollama takes at most {longest}")
