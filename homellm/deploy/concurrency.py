"""As many short requests at once as there are slots, and in how many the server is seen at work meanwhile."""

from __future__ import annotations

import queue
import threading

from homellm.deploy.session import Ports
from homellm.deploy.witness import OK, ask_slots
from homellm.domain.evidence import Overlap
from homellm.domain.stack import Model
from homellm.ports import Json

#: Tokens of each request, more where fewer were over too soon to be seen. The server answers between two tokens.
TOKENS = (16, 64, 256)
#: So many looks while every request was under way make what was not seen a fact.
LOOKS_ENOUGH = 3
#: The requests of one round together, on a slow machine.
ROUND_S = 300.0
#: A look waits for the token, or for the prompt, that is being computed.
LOOK_S = 60.0
_BETWEEN_LOOKS_S = 0.005
#: Words of the text that an embedding is asked of; each is a token or two.
_WORDS = 100


def measure_overlap(url: str, model: Model, ports: Ports, key: str | None = None) -> Overlap:
    """Ask, in rounds of ever longer answers until it is decided whether all slots work at once.

    `key` is the one that the server asks for.
    """
    found = Overlap(model.parallel)
    for tokens in TOKENS:
        found = _Round(url, model, ports, key, tokens).run()
        if found.error or found.conclusive or found.slots is None or found.slots >= model.parallel:
            break
    return found


class _Round:
    def __init__(self, url: str, model: Model, ports: Ports, key: str | None, tokens: int) -> None:
        self._url = url
        self._model = model
        self._ports = ports
        self._key = key
        self._tokens = tokens
        self._sent: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self) -> Overlap:
        """Send all requests, look until the last is answered, and say what was seen."""
        wanted = self._model.parallel
        deadline = self._ports.clock.monotonic() + ROUND_S
        for number in range(wanted):
            # Daemon threads: a request that hangs must not keep the process from leaving.
            threading.Thread(target=self._ask, args=(number,), daemon=True).start()
        answered, looks, most, source, error = 0, 0, None, "", ""
        while answered < wanted and not error and self._ports.clock.monotonic() < deadline:
            all_sent, looked = self._sent.qsize() == wanted, most is None or most < wanted
            if looked:
                busy, source = self._look()
                most = busy if most is None else max(most, busy or 0)
            try:
                error = self._answers.get(timeout=_BETWEEN_LOOKS_S)
                answered += 1
            except queue.Empty:
                looks += looked and all_sent and answered == 0  # a look while every request was under way
        if answered < wanted and not error:
            error = f"{wanted - answered} of {wanted} requests were not answered within {ROUND_S:.0f} s"
        # An embedding is computed in one step, and the server answers between steps: what is not seen may still be so.
        conclusive = looks >= LOOKS_ENOUGH and not self._model.embedding
        return Overlap(wanted, most, source, conclusive, error)

    def _ask(self, number: int) -> None:
        path, body = self._request(number)
        self._sent.put(None)
        reply = self._ports.http.post(f"{self._url}{path}", body, timeout_s=ROUND_S, api_key=self._key)
        self._answers.put("" if reply.status == OK else reply.error or f"HTTP {reply.status}")

    def _request(self, number: int) -> tuple[str, Json]:
        """A request of its own: one that is like another would find its prompt in the cache."""
        if self._model.embedding:
            return "/v1/embeddings", {"model": self._model.name, "input": f"{number} " + "word " * _WORDS}
        message = {"role": "user", "content": f"Count upwards from {number}."}
        # ignore_eos is llama-server's own: the answer is as long as asked, whatever the model would say.
        asked = {"model": self._model.name, "messages": [message], "max_tokens": self._tokens, "ignore_eos": True}
        return "/v1/chat/completions", asked

    def _look(self) -> tuple[int | None, str]:
        """How many slots are at work now, and who says so; None when nobody does."""
        slots = ask_slots(self._url, self._ports.http, self._key, LOOK_S)
        return (slots.busy, slots.source) if slots is not None else (None, "")
