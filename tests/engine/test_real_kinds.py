"""What a talking model does not show, with a real llama-server: embeddings, calls of tools, and a projector."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import pytest

from tests.engine.support.asking import get, post
from tests.engine.support.ports import free_port
from tests.engine.support.sweep import leftovers
from tests.engine.support.tiny_kinds import tiny_bert, tiny_caller, tiny_projector

TOOLS = (Path(__file__).parent / "support" / "tools.jinja").read_text()
#: As some templates of the hub do: they take for granted what most tools have, and this one has not.
NEEDS_REQUIRED = (
    "{%- if not tool.function.parameters.required %}{{ raise_exception('a tool without required') }}{% endif %}"
)


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def declare(stack_file, llama_image, port):
    def write(source, **keys):
        base = {"source": f"gguf:{source}", "image": llama_image, "pull": "never", "ctx": 512, "port": port}
        return stack_file({"m": base | {"log": {"driver": "local"}} | keys})

    return write


def only(result, code=0):
    assert result.code == code, result
    (model,) = result.json["models"]
    return model, {check["id"]: check for check in model["checks"]}


def refused(result, problem_id):
    """The one error of an `up` that failed."""
    assert result.code == 4, result
    (error,) = result.json["errors"]
    assert error["id"] == problem_id
    return error


def row(cli, name):
    """What `check` prints of one check, in words with one space between them."""
    (found,) = (" ".join(line.split()) for line in cli("check").stdout.splitlines() if f" {name} " in line[:16])
    return found


class TestEmbeddings:
    def test_one_that_is_made_for_them(self, cli, declare, smollm2, port):
        declare(tiny_bert(smollm2), embedding=True, parallel=2)
        model, checks = only(cli("up", "--format", "json"))
        assert (model["state"], checks["slots"]["observed"], checks["api"]["verdict"]) == ("verified", 2, "pass")
        answer = post(port, "/v1/embeddings", {"model": "m", "input": ["one text", "another text"]})
        one, other = (entry["embedding"] for entry in answer["data"])
        assert (len(one), len(other)) == (64, 64)
        assert one != other
        assert {check["verdict"] for check in only(cli("check", "--format", "json"))[1].values()} == {"pass"}
        assert row(cli, "api") == "✔ api m m, a vector came back API"

    def test_slots_among_which_a_batch_cannot_be_divided(self, cli, declare, smollm2, port):
        """llama.cpp's issue 27175: builds that have it crash, and it is told what helps."""
        declare(tiny_bert(smollm2), embedding=True, parallel=3)
        result = cli("up", "--format", "json")
        if result.code == 0:  # a build without it
            assert only(result)[1]["slots"]["observed"] == 3
            return
        error = refused(result, "server-crashed")
        assert "GGML_ASSERT(ggml_can_mul_mat(a, b)) failed" in error["message"]
        assert "set ubatch and batch to a multiple of parallel, 1536 for three slots" in error["hint"]
        declare(tiny_bert(smollm2), embedding=True, parallel=3, ubatch=1536, batch=1536)
        assert only(cli("up", "--format", "json"))[1]["slots"]["observed"] == 3


class TestTools:
    @pytest.fixture
    def template(self, tmp_path):
        def write(text):
            (tmp_path / "real").mkdir()
            (tmp_path / "real" / "tools.jinja").write_text(text)
            (tmp_path / "link.jinja").symlink_to("real/tools.jinja")
            return str(tmp_path / "link.jinja")

        return write

    def test_a_model_that_calls_one(self, cli, declare, template, smollm2, port):
        declare(tiny_caller(smollm2), chat_template_file=template(TOOLS))
        _, checks = only(cli("up", "--format", "json"))
        assert checks["template"]["verdict"] == "pass"
        assert get(port, "/props")["chat_template_caps"]["supports_tools"] is True
        assert row(cli, "template") == "✔ template yes a chat and a tool call came through API"

    def test_a_model_that_talks_instead(self, cli, declare, template, tiny_lfm2):
        """The server lets it talk first, whatever `tool_choice` says: the template took the tool all the same."""
        declare(tiny_lfm2, chat_template_file=template(TOOLS))
        assert only(cli("up", "--format", "json"))[1]["template"]["verdict"] == "pass"
        assert row(cli, "template") == "✔ template yes a chat came through, and one that offers a tool API"

    def test_a_template_that_cannot_take_what_it_claims(self, cli, declare, template, tiny_lfm2):
        text = TOOLS.replace("{{ tool | tojson }}", NEEDS_REQUIRED + "{{ tool | tojson }}")
        declare(tiny_lfm2, chat_template_file=template(text))
        model, checks = only(cli("up", "--format", "json"), 5)
        assert (model["state"], checks["template"]["verdict"]) == ("degraded", "fail")
        assert row(cli, "template") == "✘ template yes Jinja Exception: a tool without required API"


def picture():
    """A small PNG, written by its own format (PNG specification, chunks IHDR, IDAT, IEND)."""
    rows = b"".join(b"\0" + bytes((x * 30, y * 30, 99)) * 8 for y, x in enumerate(range(8)))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def look_at(port, picture_bytes):
    url = f"data:image/png;base64,{base64.b64encode(picture_bytes).decode()}"
    content = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 2}
    return post(port, "/v1/chat/completions", body)


class TestProjector:
    def test_one_that_is_right_and_then_one_of_another_model(self, cli, declare, tiny_lfm2, port, tmp_path):
        link = tmp_path / "cache" / "mmproj.gguf"  # as in the cache of the hub
        link.parent.mkdir()
        link.symlink_to(tiny_projector())
        declare(tiny_lfm2, mmproj=str(link))
        model, checks = only(cli("up", "--format", "json"))
        assert (model["state"], checks["projector"]["verdict"], checks["projector"]["source"]) == (
            "verified",
            "pass",
            "/props",
        )
        assert row(cli, "projector").startswith("✔ projector yes ")
        assert "vision" in row(cli, "projector")
        words = post(
            port,
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": "what is it?"}], "max_tokens": 2},
        )
        assert look_at(port, picture())["usage"]["prompt_tokens"] > words["usage"]["prompt_tokens"]
        declare(tiny_lfm2, mmproj=str(tiny_projector(32)))
        error = refused(cli("up", "--format", "json"), "projector-mismatch")
        assert "text model (n_embd = 64) and mmproj (n_embd = 32)" in error["message"]
        assert "belongs to another model" in error["hint"]
        # What ran before serves again, with its own projector.
        assert look_at(port, picture())["usage"]["completion_tokens"] == 2

    def test_one_of_a_kind_that_the_build_does_not_know(self, cli, declare, tiny_lfm2):
        declare(tiny_lfm2, mmproj=str(tiny_projector(kind="tomorrow")))
        error = refused(cli("up", "--format", "json"), "projector-broken")
        assert "unknown projector type: tomorrow" in error["message"]

    def test_one_that_is_none_is_refused_before_anything_is_made(
        self, cli, declare, tiny_lfm2, docker_api, prefix, tmp_path
    ):
        declare(tiny_lfm2, mmproj=str(tiny_lfm2))
        error = refused(cli("up", "--format", "json"), "projector-broken")
        assert "it is a model of the architecture lfm2" in error["message"]
        assert (tmp_path / error["file"]).read_text().splitlines()[error["line"] - 1].strip().startswith("mmproj:")
        assert leftovers(docker_api, prefix) == []
