"""A server may answer with kilobytes of JSON or HTML: people read a piece of it, and JSON keeps more, within bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from homellm.deploy.witness import LONGEST_ERROR, ask_token
from homellm.domain.events import Note
from homellm.domain.reports import ModelReport, StackReport
from homellm.domain.stack import Model, Source
from homellm.domain.verdicts import State, Verdict
from homellm.errors import Problem
from homellm.ports import HttpReply
from homellm.report.check_table import check_table
from homellm.report.json_report import LONGEST, stack_document
from homellm.report.plain import note_line
from homellm.report.problems import problem_text
from homellm.report.tables import ps_table, up_table

SAID = '{"error":{"message":"' + "a template that nobody can read; " * 1000 + '"}}'
PAGE = "<html>\n" + "<p>Bad gateway</p>\n" * 2000 + "</html>"
GATE = Verdict(
    "api", "smol", "smol", "fail", "API", hint="Look at its log: homellm logs.", gate=True, text=f"smol: {SAID}"
)
PROBLEM = Problem(id="gate-api", message=f"api: asked smol, observed {SAID}", hint=GATE.hint)


def failed(*checks: Verdict, **more: object) -> StackReport:
    return StackReport("nuc", (ModelReport("smol", State.FAILED, checks=checks, problems=(PROBLEM,), **more),))  # type: ignore[arg-type]


@pytest.mark.parametrize("table", [up_table, ps_table, check_table])
@pytest.mark.parametrize("checks", [(GATE,), ()], ids=["by a check", "by a problem alone"])
def test_tables_cut_it_and_keep_the_beginning_and_the_hint(table, checks):
    text = table(failed(*checks))
    assert len(text) < 2000
    assert '{"error":{"message":"a template' in text
    assert "…" in text
    assert "Look at its log: homellm logs." in text


def test_a_whole_page_as_an_error_is_some_lines():
    text = problem_text(replace(PROBLEM, message=f"The engine refuses: {PAGE}"))
    assert text.startswith("error: The engine refuses: <html>\n")
    assert text.count("\n") < 30
    assert text.endswith("  …\n  Look at its log: homellm logs.\n")
    assert len(problem_text(replace(PROBLEM, message=SAID))) < 1000


def test_a_note_is_cut_too():
    assert len(note_line(Note(SAID))) == 600


def test_what_is_short_stays_whole():
    message = "x" * 599
    assert message in up_table(
        StackReport("nuc", (ModelReport("smol", State.FAILED, problems=(Problem("x", message),)),))
    )


def test_json_keeps_more_and_is_bounded():
    document = stack_document(failed(replace(GATE, observed=SAID)))
    (error,) = document["errors"]
    (model,) = document["models"]
    assert len(error["message"]) == len(model["checks"][0]["observed"]) == LONGEST
    assert error["message"].startswith("api: asked smol, observed {")


def test_of_the_server_s_own_words_no_more_is_kept():
    class Http:
        def post(self, url, body, *, timeout_s, api_key=None):
            return HttpReply(500, SAID.encode())

    model = Model(name="smol", source=Source("gguf", "m"), image="i")
    chat = ask_token("http://127.0.0.1", model, Http(), None, 1.0)
    assert len(chat.error) == LONGEST_ERROR
