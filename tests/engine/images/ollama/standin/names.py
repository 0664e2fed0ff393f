"""Names of models: `[host/][namespace/]model[:tag]`, with `http://` before a whole one."""

import re
from dataclasses import dataclass

HOST, NAMESPACE, TAG = "registry.ollama.ai", "library", "latest"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:\[\]-]{0,349}")


@dataclass(frozen=True, slots=True)
class Name:
    """A whole name."""

    host: str
    namespace: str
    model: str
    tag: str
    scheme: str = "https"

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def short(self) -> str:
        """Without the default host and namespace, always with the tag."""
        name = f"{self.model}:{self.tag}"
        if self.host.lower() != HOST:
            return f"{self.host}/{self.namespace}/{name}"
        return name if self.namespace.lower() == NAMESPACE else f"{self.namespace}/{name}"

    @property
    def parts(self) -> tuple[str, str, str, str]:
        return self.host, self.namespace, self.model, self.tag


def parse(text: str) -> Name | None:
    """The whole name; None for one that Ollama would refuse."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        scheme, rest = "https", text
    tag = TAG
    if rest.rfind(":") > rest.rfind("/"):
        rest, _, tag = rest.rpartition(":")
    rest, _, model = rest.rpartition("/")
    host, slash, namespace = rest.rpartition("/")
    name = Name(host if slash else HOST, namespace if rest else NAMESPACE, model, tag, scheme)
    good = _HOST.fullmatch(name.host) and all(_PART.fullmatch(part) for part in name.parts[1:])
    return name if good and scheme in ("http", "https") else None
