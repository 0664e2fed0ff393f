"""What of a model's declaration is another than that of the container which serves it, in a few words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from homellm.domain.names import LABEL_DECLARED, LABEL_SECTION, LABEL_VERSION
from homellm.domain.secret import Secret, fingerprint
from homellm.domain.world import Container
from homellm.health.checks.memory import size
from homellm.planning.declared import KEY_VARIABLE, OF_MODELS, Declaration, Plain, differing, is_digest, read_declared
from homellm.planning.desired import Desired
from homellm.runners.recognise import recognise

#: A key of a section as `loading.section` writes it: two columns in, and what is deeper or begins with a dash is of it.
_KEY = re.compile(r'  ("(?:[^"\\]|\\.)*"|[^\s"-][^:]*|[^\s"][^:\s]+):(?: (.*))?')
#: So many keys are named, with values of so many characters; who changed more knows what was meant.
_MOST_KEYS, _MOST_CHARACTERS = 4, 40
_NONE = "none"
#: The flags of what is told by its key.
_TOLD = ("--ctx-size", "-c", "--parallel", "-np")
#: Keys whose values are bytes, and seconds.
_SIZES, _DURATIONS = ("memory", "shm_size", "gpu_overhead"), ("stop_grace", "sleep_idle", "load_timeout")
#: What follows from the models of an Ollama server, by the variables of its container.
_OF_MODELS = {"OLLAMA_CONTEXT_LENGTH": "ctx", "OLLAMA_NUM_PARALLEL": "parallel"}


def changes(old: Container, desired: Desired) -> str:
    """What differs, as `ctx 2048 → 4096, mlock none → true`; never empty, for a container that is to be replaced.

    By the declaration that its label keeps. A container of an older homellm has the words of its part of the file,
    in which `defaults`, variables and secrets do not show: what came of these is told by what the server is given.
    """
    kept, now = read_declared(old.label(LABEL_DECLARED)), read_declared(desired.declared)
    if kept is not None and now is not None:
        found = [*_declared(kept, now)]
    else:
        found = [*_keys(old.label(LABEL_SECTION), desired.labels.get(LABEL_SECTION, ""))]
    found += [*_secrets(old, desired), *_image(old, desired)]
    found = found or [*_served(old, desired)]
    if not found:
        return _elsewhere(old, desired)
    more = len(found) - _MOST_KEYS
    return ", ".join(found[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")


def _declared(kept: Declaration, now: Declaration) -> Iterator[str]:
    """The keys that mean something else, with both values; the image is told apart, by its content too."""
    for key in differing(kept, now):
        if key == "image":
            continue
        values = [_shown(key, found.get(key)) for found in (kept, now)]
        if is_digest(key):
            yield f"{key} changed"
        else:
            yield _change(f"{key.removeprefix(OF_MODELS)} of its models" if key.startswith(OF_MODELS) else key, *values)


def _shown(key: str, value: Plain | None) -> str | None:
    """A value for people: bytes and seconds with their unit; None for none."""
    if key in _SIZES and isinstance(value, int):
        return size(value)
    if key in _DURATIONS and isinstance(value, int):
        return f"{value}s"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(value)
    return None if value is None else str(value)


def _keys(before: str, after: str) -> Iterator[str]:
    old, new = _values(before), _values(after)
    if not old or not new:
        return
    for key in dict.fromkeys((*new, *old)):
        if key != "image" and old.get(key) != new.get(key):
            yield _change(key, old.get(key), new.get(key))


def _values(section: str) -> dict[str, str]:
    """The keys of a section with their values, those of several lines with all of them."""
    values: dict[str, str] = {}
    key = ""
    for line in section.splitlines()[1:]:
        found = _KEY.fullmatch(line) if not line.startswith(("  -", "   ")) else None
        if found is not None:
            key = found[1]
            values[key] = found[2] or ""
        elif key:
            values[key] += f"\n{line}"
    return values


def _change(key: str, old: str | None, new: str | None) -> str:
    values = [_NONE if value is None else value for value in (old, new)]
    if any("\n" in value or len(value) > _MOST_CHARACTERS for value in values):
        return f"{key} changed"
    return f"{key} {values[0]} → {values[1]}"


def _secrets(old: Container, desired: Desired) -> Iterator[str]:
    """Variables whose secret is another one than the container was given; never a value."""
    for variable in desired.spec.env if desired.spec is not None else ():
        given = old.variables.get(variable.name)
        if isinstance(variable.value, Secret) and given is not None and given != fingerprint(variable.value):
            yield "api_key changed" if variable.name == KEY_VARIABLE else f"env.{variable.name} changed"


def _image(old: Container, desired: Desired) -> Iterator[str]:
    if desired.spec is None:
        return
    if old.image != desired.spec.image:
        yield f"image {old.image} → {desired.spec.image}"
    elif desired.image_id and old.image_id != desired.image_id:
        yield f"the content of the image {old.image} changed"


def _served(old: Container, desired: Desired) -> Iterator[str]:
    """What the arguments tell of a key whose value came from `defaults` or from a variable.

    Of a flag that is none of the two only the name is said: its value may be a secret of `extra_args`.
    """
    if desired.spec is None:
        return
    before, after = recognise(old.args), recognise(desired.spec.argv)
    for key in ("ctx", "parallel"):
        was, will = getattr(before, key), getattr(after, key)
        if was is not None and will is not None and was != will:
            yield f"{key} {was} → {will}"
    for variable in desired.spec.env:
        of_models, given = _OF_MODELS.get(variable.name), old.variables.get(variable.name)
        if of_models and given is not None and given != fingerprint(variable.value):
            yield f"{of_models} of its models changed"
    flags, wanted = _flags(old.args), _flags(desired.spec.argv)
    if not set(_TOLD).intersection(flags):
        return  # not the arguments of a server as homellm starts it
    for flag in dict.fromkeys((*wanted, *flags)):
        if flag not in _TOLD and flags.get(flag) != wanted.get(flag):
            yield f"argument {flag} changed"


def _flags(words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each flag of a command line with what stands behind it."""
    found: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in words:
        if word.startswith("-") and not word[1:2].isdigit():
            flag = word
            found.setdefault(flag, ())
        elif flag:
            found[flag] = (*found[flag], word)
    return found


def _elsewhere(old: Container, desired: Desired) -> str:
    versions = [old.label(LABEL_VERSION), desired.labels.get(LABEL_VERSION, "")]
    if all(versions) and versions[0] != versions[1]:
        return (
            f"homellm {versions[0]} → {versions[1]} makes it another way, or defaults, a variable or a secret changed"
        )
    if read_declared(old.label(LABEL_DECLARED)) is not None and versions[0] == versions[1]:
        return "what this machine has, or what the image can do, changed"
    return "defaults, a variable, a secret, or what this machine has changed"
