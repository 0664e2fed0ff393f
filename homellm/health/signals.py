"""One line of a server's log -> what it means.

Rules look for the stable part of a line, in the words of builds from 2024 to b11669; a line that no rule knows means
nothing and never fails.
"""

from __future__ import annotations

from homellm.domain.signals import Signal
from homellm.health.lines import Line, clean
from homellm.health.rules import first
from homellm.health.rules_flags import FLAG_RULES
from homellm.health.rules_memory import MEMORY_RULES
from homellm.health.rules_model import MODEL_RULES
from homellm.health.rules_ollama import is_ollama, read_ollama
from homellm.health.rules_server import SERVER_RULES, SLOT_RULES
from homellm.health.rules_store import STORE_RULES

_LLAMA_SERVER = (*SLOT_RULES, *SERVER_RULES, *MEMORY_RULES, *STORE_RULES, *FLAG_RULES, *MODEL_RULES)


def read_line(text: str) -> Signal | None:
    """What a line means, with or without prefixes; None when it means nothing to us. Never raises."""
    for line in clean(text):
        signal = read(line)
        if signal is not None:
            return signal
    return None


def read(line: Line) -> Signal | None:
    """What a line without prefixes means."""
    if is_ollama(line.text):
        return read_ollama(line)
    return first(_LLAMA_SERVER, line)
