"""One real request to a server: people are told what is waited for, and one that serves others is not broken."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from homellm.deploy.witness import OK, Slots
from homellm.domain.evidence import Chat

#: Tells people what is waited for; called from the thread that waits.
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """After `look_s` without an answer people are told, and the slots are looked at, again and again.

    So many `looks` in which all slots were at work, and went on with it, make a server busy.
    """

    look_s: float = 1.0
    looks: int = 5


PATIENCE = Patience()
ASKING = "asking for one token"
#: Nobody but the answer tells whether an Ollama is busy: it has no API of its slots, and the lines of its runners do
#: not say which model they are of.
UNSEEN = f"{ASKING}; whether Ollama serves others meanwhile it does not tell"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it. `chat` is None where it was not waited for any longer.

    `busy` is how many slots there are, all of them at work for others when they were last looked at; else 0.
    """

    chat: Chat | None
    busy: int = 0


def answered(chat: Chat | None) -> bool:
    """Whether a request was answered with something."""
    return chat is not None and chat.status == OK and bool(chat.tokens)


def ask_patiently(
    ask: Callable[[], Chat],
    look: Callable[[], Slots | None],
    tell: Tell,
    what: str,
    *,
    proved: bool,
    patience: Patience | None = None,
) -> Answer:
    """Make a request, which ends by itself at its own timeout, and wait for it.

    Where the server was `proved` earlier in this run its answer is not waited for to the end while all slots serve
    others: one that hangs does not go on in them, or does not tell of its slots at all.
    """
    answers: queue.SimpleQueue[Chat | BaseException] = queue.SimpleQueue()
    threading.Thread(target=_put, args=(ask, answers), name="homellm-token", daemon=True).start()
    looked, patience = _Looked(), patience or PATIENCE
    while True:
        try:
            found = answers.get(timeout=patience.look_s)
        except queue.Empty:
            looked.take(look())
            tell(f"{what}, busy: all {looked.busy} slots are serving" if looked.busy else what)
            if proved and looked.often >= patience.looks:
                return Answer(None, looked.busy)
            continue
        if isinstance(found, BaseException):
            raise found
        return Answer(found, 0 if answered(found) else looked.busy)


def wait_for_token(ask: Callable[[], Chat], tell: Tell) -> Chat:
    """The same of a server that tells nothing of its slots, as Ollama."""
    chat = ask_patiently(ask, lambda: None, tell, UNSEEN, proved=False).chat
    assert chat is not None  # noqa: S101 - it is waited for to its end
    return chat


def _put(ask: Callable[[], Chat], answers: queue.SimpleQueue[Chat | BaseException]) -> None:
    try:
        answers.put(ask())
    except BaseException as error:  # noqa: BLE001 - carried to the thread that waits and raised there
        answers.put(error)


class _Looked:
    """Looks at the slots while a request waits. `often` counts those in which all were at work and had gone on."""

    def __init__(self) -> None:
        self.busy = 0
        self.often = 0
        self._before: bytes | None = None

    def take(self, slots: Slots | None) -> None:
        """Take one look; None where nobody tells."""
        if slots is None or not slots.total or slots.busy < slots.total:
            self.busy, self.often, self._before = 0, 0, None
            return
        went_on = self._before is not None and slots.told != self._before
        self.busy, self._before = (slots.total if went_on or self.often else 0), slots.told
        self.often += went_on
