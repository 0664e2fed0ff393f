"""What is no YAML, or YAML that a stack file may not be. `‸` marks the place to be told."""

import pytest

from tests.unit.loading.given import complaint, loaded, problems_of

GOOD = "stack: a\nmodels: {a: {source: gguf:a}}\n"

TEXTS = [
    ("stack: a\nmodels:\n‸\ta: 1\n", "yaml-tab", "a tab stands where YAML wants spaces", "Indent with spaces."),
    ("stack: a\nmodels:\n  a:\n‸\t  source: x\n", "yaml-tab", "a tab", ""),
    ("stack: a\nmodels: a‸: b\n", "yaml-syntax", "a `:` stands where none may stand", "Quote a value"),
    ("stack: a\nmodels:\n  a: 1\n   b‸: 2\n", "yaml-syntax", "a `:` stands where none may", "indentation"),
    ("stack‸:a\nmodels: 1\n", "yaml-syntax", "a `:` needs a space after it", "Write `key: value`."),
    ("stack: a\nmodels:\n  a:\n    ctx‸:3\n    port: 1\n", "yaml-syntax", "needs a space after it", ""),
    ("stack: a\nmodels:\n  a: 1\n ‸b: 2\n", "yaml-syntax", "does not fit the ones above", "indentation"),
    ("stack: a\n‸oops\n", "yaml-syntax", "this line is no `key: value`", "colon"),
    ("stack: ‸'a\nmodels: {}\n", "yaml-syntax", "the quote that begins here is never closed", "Close it."),
    ("stack: ‸@a\n", "yaml-syntax", "cannot begin with this character", "Quote the value."),
    ("stack: ‸`a`\n", "yaml-syntax", "cannot begin with this character", "Quote the value."),
    ("stack: [a, b\nmodels‸: c\n", "yaml-syntax", "is not closed where it should be", "brackets"),
    (f"{GOOD}x-a: {{a: $‸{{A}}}}\n", "yaml-syntax", "is not closed where it should be", "must be quoted"),
    ("stack: ‸- a\n", "yaml-syntax", "a `-` stands where no list can begin", ""),
    ('stack: "a\\‸q"\n', "yaml-syntax", "no escape of YAML", "single quotes"),
    ('stack: "a‸\\UFFFFFFFF"\n', "yaml-syntax", "this escape names no character", ""),
    ("stack: a‸\x01\n", "yaml-syntax", "U+0001 may not stand in a YAML file", "Remove it."),
    ("stack: ‸\ud800\n", "yaml-syntax", "U+D800", ""),
    ("‸%YAML 1.1\n---\nstack: a\n", "yaml-directive", "always YAML 1.2", "Remove this line"),
    ("# first\n\n‸%TAG ! tag:x,2000:\n---\nstack: a\n", "yaml-directive", "none is allowed", ""),
    ("‸%YAML 2.0\n---\nstack: a\n", "yaml-directive", "none is allowed", ""),
    (f"{GOOD}‸---\n{GOOD}", "yaml-documents", "a second document begins here", "one YAML document"),
    (f"{GOOD}...\n‸{GOOD}", "yaml-documents", "a second document begins here", ""),
    (f"{GOOD}? ‸[a]\n: b\n", "yaml-key", "a key must be a word", ""),
    (f"{GOOD}‸: b\n", "yaml-key", "a key must be a word", ""),
    (f"{GOOD}<<: ‸3\n", "yaml-merge", "can only merge mappings", "<<: *name"),
    (f"{GOOD}<<: [‸3]\n", "yaml-merge", "can only merge mappings", ""),
    (f"x-a: &one 1\n{GOOD}x-b: ‸*ine\n", "yaml-alias", "no `&ine` comes before the alias `*ine`", "further up"),
    (f"x-a: &one 1\n{GOOD}x-b: ‸*oone\n", "yaml-alias", "did you mean `*one`?", ""),
    (f"{GOOD}<<: ‸*nope\n", "yaml-alias", "no `&nope`", ""),
    (f"x-a: &a [‸*a]\n{GOOD}", "yaml-alias", "stands inside of what it stands for", ""),
    (f"{GOOD}x-deep: {'[' * 39}‸[{']' * 40}\n", "nesting", "more than 40 levels deep", ""),
]


@pytest.mark.parametrize(("text", "id", "message", "hint"), TEXTS, ids=[row[0][:60] for row in TEXTS])
def test_text_that_cannot_be_read(text: str, id: str, message: str, hint: str) -> None:
    problem = complaint(text)
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint


def test_a_file_that_is_far_too_large() -> None:
    problem = complaint("‸" + GOOD + "#" * 300_000)
    assert problem.id == "too-large"


def test_a_syntax_error_shows_no_secret_of_its_line() -> None:
    problem = problems_of(GOOD + "api_key: sk-1: x\n")[0]
    assert problem.id == "yaml-syntax"
    assert "sk-1" not in str(problem.excerpt)


@pytest.mark.parametrize(
    "text", [f"\ufeff{GOOD}", f"---\n{GOOD}", f"--- # a stack\n{GOOD}...\n", GOOD.replace("\n", "\r\n")]
)
def test_text_that_looks_odd_and_is_right(text: str) -> None:
    assert loaded(text).name == "a"


def test_places_hold_after_a_byte_order_mark_and_with_other_line_ends() -> None:
    found = problems_of("\ufeffstack: a\r\nmodels:\r\n  a: {source: gguf:a, x: 1}\r\n")
    assert [(p.line, p.column) for p in found] == [(3, 23)]
    assert found[0].excerpt == "3 |   a: {source: gguf:a, x: 1}\n  |                       ^"
