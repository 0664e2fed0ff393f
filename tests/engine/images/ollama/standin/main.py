"""`ollama serve` and `ollama --version`."""

import base64
import os
import secrets
import signal
import sys
import threading
from pathlib import Path

from standin import routes
from standin.app import App, go_error
from standin.child import memory
from standin.gpus import RECORDED
from standin.journal import Journal
from standin.journal_old import OldJournal
from standin.scheduler import DEFAULT_CTX, Scheduler
from standin.server import serve
from standin.settings import Knobs, Settings, read_knobs, read_settings
from standin.store import Store


def main() -> None:
    settings, knobs = read_settings(os.environ), read_knobs(os.environ)
    match sys.argv[1:]:
        case ["serve"] | ["start"]:
            sys.exit(_serve(settings, knobs))
        case ["--version" | "-v"]:
            sys.stdout.write("Warning: could not connect to a running Ollama instance\n")
            sys.stdout.write(f"Warning: client version is {knobs.version}\n")
        case _:
            sys.exit("this stand-in for Ollama knows `serve` and `--version` alone")


def _serve(settings: Settings, knobs: Knobs) -> int:
    journal = (OldJournal if knobs.old else Journal)(sys.stdout, sys.stderr)
    store = Store(settings.models)
    try:
        _key(settings.home / ".ollama", journal)
    except OSError as error:
        return _refused(go_error(error))
    journal.began(settings)
    try:
        store.prepare()
        blobs = store.prune()
    except OSError as error:
        return _refused(f"{go_error(error, 'mkdir')}: ensure path elements are traversable")
    gpu = RECORDED.get(knobs.gpu)
    scheduler = Scheduler(settings, knobs, journal, gpu)
    app = App(settings, knobs, journal, store, scheduler)
    journal.pruned(blobs)
    server = serve(settings.host, lambda exchange: routes.answer(app, exchange), journal)
    journal.listening(settings.host, knobs.version)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    taken = gpu if gpu and gpu.taken(settings) else None
    journal.discovered(settings, gpu, memory())
    journal.default_context(taken.total if taken else 0, DEFAULT_CTX)
    stopped.wait()
    # As PID 1 it takes its children with it.
    os._exit(0)


def _refused(text: str) -> int:
    sys.stderr.write(f"Error: {text}\n")
    return 1


def _key(folder: Path, journal: Journal) -> None:
    """The key that a fresh Ollama makes. Here it is a name for nothing."""
    path = folder / "id_ed25519"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    body = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + secrets.token_bytes(32)).decode()
    journal.missing_key(path)
    path.write_text("no key: this is a stand-in\n")
    path.with_suffix(".pub").write_text(f"ssh-ed25519 {body}\n")
    journal.new_key(f"ssh-ed25519 {body}")
