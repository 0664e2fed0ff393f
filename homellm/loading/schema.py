"""The JSON Schema of a stack file, made from the keys: what editors complete, explain and underline with.

It is a little wider than the loader: a `${VARIABLE}` may stand for any value, and what two keys say together is not
looked at.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from homellm.loading.key_types import Keys, LogKeys
from homellm.loading.keys import GpuKeys, ModelKeys, StackKeys
from homellm.loading.ollama_keys import OllamaKeys

_SECTIONS = (GpuKeys, LogKeys, ModelKeys, OllamaKeys)
_NULL = {"type": "null"}
_VARIABLE = {"type": "string", "pattern": r"\$"}
_SWITCH_WORDS = {"enum": ["on", "off", "yes", "no"]}
_PAIRS = {"type": "array", "items": {"type": "string", "pattern": "="}}
_TEXTS = {"type": ["string", "number", "boolean"]}


def json_schema() -> dict[str, Any]:
    """The schema, JSON Schema 2020-12, with the description of every key."""
    _, whole = models_json_schema([(model, "validation") for model in (StackKeys, *_SECTIONS)])
    definitions = {model.__name__: _section(model, whole["$defs"][model.__name__]) for model in (StackKeys, *_SECTIONS)}
    top = definitions.pop("StackKeys")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "homellm stack",
        **top,
        "required": ["stack", "models"],
        "$defs": definitions,
    }


def _section(model: type[Keys], section: dict[str, Any]) -> dict[str, Any]:
    """One section: free `x-` keys, and every property as it may really be written."""
    made = {key: value for key, value in section.items() if key != "title"}
    nulls = [_NULL] if model in (ModelKeys, OllamaKeys) else []
    made["properties"] = {key: _property(key, value, nulls) for key, value in section["properties"].items()}
    if model is not LogKeys:
        made["patternProperties"] = {"^x-": {}}
    return made


def _property(key: str, given: dict[str, Any], nulls: list[dict[str, Any]]) -> dict[str, Any]:
    """A key without pydantic's titles and nulls, and with the other ways in which it may be written."""
    described = {word: given[word] for word in ("description",) if word in given}
    forms = [form for form in given.get("anyOf", [given]) if form != _NULL]
    forms = [{word: value for word, value in form.items() if word not in _OWN_WORDS} for form in forms]
    if key in ("env", "labels"):
        forms = [{"type": "object", "additionalProperties": _TEXTS}, _PAIRS]
    elif key == "llama_args":
        forms = [{"type": "object", "additionalProperties": _TEXTS}]
    elif key == "extra_args":
        forms = [{"type": "array", "items": _TEXTS}]
    elif forms == [{"type": "boolean"}]:
        forms = [*forms, _SWITCH_WORDS, _VARIABLE]
    elif not any(_takes_any_text(form) or _is_nested(form) for form in forms[:1]):
        forms = [*forms, _VARIABLE]
    forms += nulls
    return described | (forms[0] if len(forms) == 1 else {"anyOf": forms})


_OWN_WORDS = ("title", "default", "description")


def _takes_any_text(form: dict[str, Any]) -> bool:
    return form.get("type") == "string" and "enum" not in form and "pattern" not in form


def _is_nested(form: dict[str, Any]) -> bool:
    return form.get("type") in ("array", "object") or "$ref" in form
