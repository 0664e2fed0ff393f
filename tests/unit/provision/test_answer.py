"""The last step of the quickstart: slots that passed their check, and an answer that came over HTTP."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from subprocess import CompletedProcess

import pytest

from scripts.provision import answer
from scripts.provision.errors import ProvisionError


def checked(verdict):
    check = {"id": "slots", "asked": 3, "observed": 3, "verdict": verdict}
    return {"stack": "s", "errors": [], "models": [{"name": "m", "endpoint": "http://e/v1", "checks": [check]}]}


def says(monkeypatch, stdout):
    monkeypatch.setattr(answer.subprocess, "run", lambda *_, **__: CompletedProcess([], 4, stdout, "what went wrong"))


def test_passed_slots_are_told_with_their_number(monkeypatch):
    says(monkeypatch, json.dumps(checked("pass")))
    assert answer.checked_model("f.yaml")["slots"] == 3


@pytest.mark.parametrize(
    "stdout", [json.dumps(checked("fail")), json.dumps(checked("unknown")), json.dumps({"models": []}), ""]
)
def test_anything_else_is_no_pass(monkeypatch, stdout):
    says(monkeypatch, stdout)
    with pytest.raises(ProvisionError, match=r"not verified \(exit 4\) what went wrong"):
        answer.checked_model("f.yaml")


def test_the_answer_is_what_the_server_said():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"choices": [{"message": {"content": " Paris. "}}]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert answer.ask(f"http://127.0.0.1:{server.server_port}/v1", "m") == "Paris."
        thread.join()
    assert asked[0]["model"] == "m"


def test_nobody_there_is_said():
    with pytest.raises(ProvisionError, match=r"no answer from http://127\.0\.0\.1:1/v1"):
        answer.ask("http://127.0.0.1:1/v1", "m")
