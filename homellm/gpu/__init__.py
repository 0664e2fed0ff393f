"""GPUs: which card of the host a declared one is, and what a container needs to use it and no other."""

from homellm.gpu.engine_limits import engine_limit
from homellm.gpu.listing import describe, listing, problem_at, title
from homellm.gpu.passthrough import Passthrough, device_flag, ollama_env, passthrough
from homellm.gpu.resolve import resolve

__all__ = [
    "Passthrough",
    "describe",
    "device_flag",
    "engine_limit",
    "listing",
    "ollama_env",
    "passthrough",
    "problem_at",
    "resolve",
    "title",
]
