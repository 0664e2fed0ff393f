"""What a server's answers come to, in the words of the domain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homellm.deploy.witness import ask_props, ask_tool_call
from homellm.ports import HttpReply, Json
from tests.unit.deploy.lab import model


class Answers:
    """A server that answers everything alike."""

    def __init__(self, said: Any) -> None:
        self.reply = HttpReply(200, json.dumps(said).encode())

    def get(self, url: str, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        return self.reply

    def post(self, url: str, body: Json, *, timeout_s: float, api_key: str | None = None) -> HttpReply:
        return self.reply


@pytest.mark.parametrize(
    ("said", "modalities"),
    [
        (
            {"modalities": {"vision": True, "video": True, "audio": False}},
            ("video", "vision"),
        ),  # b11669 with a projector
        ({"modalities": {"vision": False, "audio": False}}, ()),
        ({"modalities": "none"}, ()),
        ({}, None),  # builds before the summer of 2025
    ],
)
def test_what_is_taken_besides_text(said: dict[str, Any], modalities: tuple[str, ...] | None) -> None:
    props = ask_props("http://x", Answers(said), None)
    assert props is not None
    assert props.modalities == modalities


CALL = {"type": "function", "function": {"name": "now", "arguments": "{}"}, "id": "zvVOmpvSL8xrst7m4jwB4Z6kTcpcqPt8"}


@pytest.mark.parametrize(
    ("choices", "called"),
    [
        ([{"message": {"role": "assistant", "content": "", "tool_calls": [CALL]}}], True),
        ([{"message": {"role": "assistant", "content": "It is noon."}}], False),
        ([{"message": {"tool_calls": []}}], False),
        ([{"message": "none"}], False),
        ([], False),
        ("none", False),
    ],
)
def test_whether_a_tool_was_called(choices: Any, called: bool) -> None:
    chat = ask_tool_call("http://x", model(), Answers({"model": "m", "choices": choices}), None, 1.0)
    assert (chat.status, chat.called) == (200, called)
