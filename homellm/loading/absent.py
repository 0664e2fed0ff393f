"""What design and documentation know and this version does not have yet: an error of its own, never an unknown key.

Whoever brings one of these removes its row.
"""

from __future__ import annotations

#: Keys at the top of a file, and what to do without them.
ABSENT_STACK_KEYS = {
    "ollama": "Serve the model with llama-server: `source: gguf:/path/to/model.gguf`.",
}

#: Keys of a model.
ABSENT_MODEL_KEYS = {
    "fallback": "Remove it: nothing falls back while llama-server is the only runner.",
}

#: Values of `runner`.
ABSENT_RUNNERS = {
    "ollama": "Use `runner: llama-server` with `source: gguf:/path/to/model.gguf`.",
}

#: The first part of `source`.
ABSENT_SOURCES = {
    "ollama": "Name the model's file: `source: gguf:/path/to/model.gguf`.",
    "hf": "Download the file and name it: `source: gguf:/path/to/model.gguf`.",
}
