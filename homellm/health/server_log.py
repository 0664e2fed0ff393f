"""The log of one server: a llama-server, a router with its children, or an Ollama server with its runners."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from homellm.domain.evidence import LogSummary
from homellm.domain.signals import Fact, Signal
from homellm.health.ollama import OllamaState
from homellm.health.process import ProcessState
from homellm.health.rules_flags import CPU_HINT
from homellm.health.rules_ollama import is_ollama
from homellm.health.summarise import summarise

#: A router that loads ever new models keeps what it learned of this many.
MOST_CHILDREN = 64


class ServerLog:
    """Folds the signals of one server into a LogSummary of its last load.

    A router's children are told apart by their prefix, and a child by the name of its model: a model that is loaded
    again replaces what was known of it. Once a line is an Ollama server's, lines without prefix are its runners'.
    """

    def __init__(self) -> None:
        self._server = ProcessState()
        self._children: OrderedDict[str, ProcessState] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()
        self._last = self._server
        self._ollama: OllamaState | None = None

    def add(self, signal: Signal) -> bool:
        """Take one signal; False when it was no line of the server: text that a client wrote, say."""
        if self._ollama is None and is_ollama(signal.line):
            self._ollama = OllamaState()
        if self._ollama is not None:
            self._ollama.add(signal)
            return True
        process = self._child(signal.source) if signal.source else self._server
        if not process.add(signal):
            return False
        if signal.id == "load-begin":
            self._last = process
        elif signal.id == "router-spawn":
            self._spawn(str(signal.facts["name"]), str(signal.facts["port"]))
        return True

    def _spawn(self, name: str, port: str) -> None:
        self._names[port] = name
        while len(self._names) > MOST_CHILDREN:
            self._names.popitem(last=False)
        self._children.pop(name, None)

    def _child(self, port: str) -> ProcessState:
        name = self._names.get(port, port)
        process = self._children.get(name)
        if process is None:
            process = self._children[name] = ProcessState()
            while len(self._children) > MOST_CHILDREN:
                self._children.popitem(last=False)
        return process

    @property
    def served_slots(self) -> frozenset[int]:
        """The slots of the last load that have served, where the log is not a router's with several."""
        if self._ollama is not None:
            return self._ollama.served_slots
        return frozenset() if self._children else frozenset(self._server.load.served)

    def close(self) -> None:
        """Say that the log has ended for good: what it broke off at now means something."""
        load = self._last.load
        if load.last is not None and load.last.id == "threads" and load.amx_not_ready and not load.ready:
            self._last.add(replace(load.last, id="cpu-unsupported", problem=True, fatal=True, hint=CPU_HINT))

    def summary(self) -> LogSummary:
        """What the signals so far tell."""
        if self._ollama is not None:
            return self._ollama.summary()
        return summarise(self._last, self._problems())

    def _problems(self) -> tuple[Signal, ...]:
        """The server's own, then those of every model that its children loaded last; each kind of the server's once."""
        found: dict[tuple[str, Fact], Signal] = {}
        for process in (self._server, *self._children.values()):
            for problem in process.problems():
                found.setdefault((problem.id, problem.facts.get("subject") or problem.line), problem)
        return tuple(found.values())
