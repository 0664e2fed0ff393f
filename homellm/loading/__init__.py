"""YAML text to Stack: positions, schema, defaults, contradictions. Reads only what it is given."""

from homellm.loading.loader import load

__all__ = ["load"]
