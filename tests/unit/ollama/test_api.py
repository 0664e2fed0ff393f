"""The API adapter against the recorded answers of a real Ollama 0.33, and against servers that misbehave."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from homellm.adapters.ollama_api import OllamaClient
from homellm.errors import ModelAbsent, OllamaFailed, OllamaUnreachable, PullFailed
from homellm.ports import PullProgress
from tests.unit.ollama.recorded import REGISTRY, Replay, replaying

BLOB = "sha256:acfeafd3b2126e26e158d8935c218dbbdc76b25995271ed6d606f232bf1068af"


@pytest.fixture
def recorded() -> Iterator[Replay]:
    with replaying() as replay:
        yield replay


@pytest.fixture
def ollama(recorded: Replay) -> OllamaClient:
    return OllamaClient(recorded.url, retry_waits_s=())


class TestQuestions:
    def test_version(self, ollama: OllamaClient) -> None:
        assert ollama.version() == "0.33.0"

    def test_models(self, ollama: OllamaClient) -> None:
        models = {model.name: model for model in ollama.list_models()}
        assert models["Plain2:latest"].size_bytes == 98362640
        assert models[f"{REGISTRY}/lfm2:tiny"].family == "lfm2"
        assert len(models[f"{REGISTRY}/lfm2:tiny"].digest) == 64

    def test_show(self, ollama: OllamaClient) -> None:
        shown = ollama.show(f"{REGISTRY}/smol:135m")
        assert shown.family == "llama"
        assert shown.architecture == "llama"
        assert shown.capabilities == ("completion",)
        assert not shown.embedding
        assert shown.system == "You_are_calm"
        assert shown.blob_path == (
            "/root/.ollama/models/blobs/sha256-b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        )

    def test_show_of_a_cloud_model(self, ollama: OllamaClient) -> None:
        shown = ollama.show("cloudy")
        assert shown.remote_host == "https://ollama.com:443"
        assert shown.blob_path is None

    def test_show_of_an_unknown_model(self, ollama: OllamaClient) -> None:
        with pytest.raises(ModelAbsent, match="Ollama has no model nope") as error:
            ollama.show("nope")
        assert error.value.original == "model 'nope:latest' not found"

    def test_loaded(self, ollama: OllamaClient) -> None:
        loaded = {model.name: model for model in ollama.loaded()}
        assert set(loaded) == {f"{REGISTRY}/lfm2:tiny", "Plain2:latest"}
        plain = loaded["Plain2:latest"]
        assert (plain.ctx, plain.vram_bytes) == (2048, 0)
        assert plain.size_bytes > 98362432
        assert plain.expires_at.startswith("23")

    def test_blobs(self, ollama: OllamaClient) -> None:
        assert ollama.has_blob(BLOB)
        assert not ollama.has_blob("sha256:" + "0" * 64)


class TestLoading:
    def test_load_and_unload(self, ollama: OllamaClient, recorded: Replay) -> None:
        ollama.load("plain2").run()
        ollama.load("plain2", num_ctx=512).run()
        ollama.unload("plain2")
        assert [body.get("options") for _, _, body in recorded.seen] == [None, {"num_ctx": 512}, None]

    def test_embedding_models_are_loaded_without_input(self, ollama: OllamaClient) -> None:
        ollama.load(f"{REGISTRY}/lfm2:tiny", embedding=True).run()

    def test_an_unknown_model(self, ollama: OllamaClient) -> None:
        with pytest.raises(ModelAbsent):
            ollama.load("nope").run()
        ollama.unload("nope")

    def test_a_load_that_fails_tells_its_last_words_once(self, ollama: OllamaClient) -> None:
        with pytest.raises(OllamaFailed) as error:
            ollama.load(f"{REGISTRY}/lfm2:ofmt").run()
        assert error.value.problems[0].id == "load-failed"
        assert error.value.status == 500
        assert str(error.value).count("tensor 'token_embd_norm.weight' not found") == 1

    def test_the_bare_end_of_a_runner_of_0_24_says_nothing(self, ollama: OllamaClient, recorded: Replay) -> None:
        said = "llama runner process has terminated: error loading model: missing tensor 'output_norm.weight'"
        request = {"model": "x", "keep_alive": -1, "stream": False}
        recorded.extra.append(_answer("/api/generate", request, json.dumps({"error": f"{said}\npanic:"}), 500))
        with pytest.raises(OllamaFailed) as error:
            ollama.load("x").run()
        assert str(error.value).splitlines()[0] == f"Ollama was asked to load a model: x could not be loaded: {said}."

    @pytest.mark.parametrize(
        ("status", "text", "id"),
        [
            (500, "llama-server process has terminated: signal: killed", "out-of-memory"),
            (500, "llama runner process has terminated with exit code -1", "out-of-memory"),
            (500, "llama-server process has terminated: signal: illegal instruction", "cpu-unsupported"),
            (400, '"smol" does not support generate', "model-without-generate"),
            (503, "server busy, please try again.  maximum pending requests exceeded", "server-busy"),
            (500, "something new", "ollama-refused"),
            (404, "404 page not found", "model-absent"),
        ],
    )
    def test_errors_of_a_load_have_names(
        self, ollama: OllamaClient, recorded: Replay, status: int, text: str, id: str
    ) -> None:
        request = {"model": "x", "keep_alive": -1, "stream": False}
        recorded.extra.append(_answer("/api/generate", request, json.dumps({"error": text}), status))
        with pytest.raises(OllamaFailed) as error:
            ollama.load("x").run()
        assert error.value.problems[0].id == id
        assert error.value.original == text


class TestPulling:
    def test_bytes_over_all_blobs(self, ollama: OllamaClient) -> None:
        seen = list(ollama.pull(f"http://{REGISTRY}/smol:135m", insecure=True))
        assert seen[0] == PullProgress("pulling manifest", 0, 0)
        assert seen[-1].status == "success"
        assert (seen[-1].done_bytes, seen[-1].total_bytes) == (98362872, 98362872)

    def test_bytes_grow_in_the_stream_of_a_first_pull(self, ollama: OllamaClient, recorded: Replay) -> None:
        text = "\n".join(
            [
                '{"status":"pulling manifest"}',
                '{"status":"pulling b179","digest":"sha256:b1","total":98362432,"completed":2097152}',
                '{"status":"pulling b179","digest":"sha256:b1","total":98362432,"completed":4194304}',
                '{"status":"pulling e3b2","digest":"sha256:e3","total":102}',
                '{"status":"success"}',
            ]
        )
        recorded.extra.append(_answer("/api/pull", {"model": "first"}, text))
        bytes_seen = [(p.done_bytes, p.total_bytes) for p in ollama.pull("first")]
        assert bytes_seen == [
            (0, 0),
            (2097152, 98362432),
            (4194304, 98362432),
            (4194304, 98362534),
            (4194304, 98362534),
        ]

    def test_a_model_larger_than_the_disk_is_given_up_before_it_fills_it(
        self, ollama: OllamaClient, recorded: Replay
    ) -> None:
        text = (
            '{"status":"pulling manifest"}\n{"status":"pulling b","digest":"sha256:b","total":4000000000,"completed":1}'
        )
        recorded.extra.append(_answer("/api/pull", {"model": "large"}, text))
        with pytest.raises(PullFailed, match=r"4\.0 GB are still to come, and .* has 3\.9 GB left") as error:
            list(ollama.pull("large", room_bytes=3_900_000_000))
        assert error.value.problems[0].id == "disk-full"

    def test_what_is_here_already_needs_no_room(self, ollama: OllamaClient) -> None:
        assert list(ollama.pull(f"http://{REGISTRY}/smol:135m", insecure=True, room_bytes=0))[-1].status == "success"

    @pytest.mark.parametrize(
        ("body", "id", "words"),
        [
            (
                {"model": f"http://{REGISTRY}/nope:1", "insecure": True},
                "model-not-found",
                "registry.test:18555 has no such",
            ),
            ({"model": "nosuch.test/library/smol:135m"}, "registry-unreachable", "nosuch.test does not answer"),
            ({"model": f"{REGISTRY}/smol:135m"}, "registry-not-https", "speaks http, not https"),
            ({"model": "a b:c"}, "model-name-invalid", "does not take the name"),
        ],
    )
    def test_an_error_is_one_whatever_the_status(
        self, ollama: OllamaClient, body: dict[str, object], id: str, words: str
    ) -> None:
        with pytest.raises(PullFailed, match=words) as error:
            list(ollama.pull(str(body["model"]), insecure="insecure" in body))
        assert error.value.problems[0].id == id
        assert error.value.original

    @pytest.mark.parametrize(
        ("text", "id"),
        [
            ("write /root/.ollama/models/blobs/sha256-b1-partial: no space left on device", "disk-full"),
            ("open /root/.ollama/models/blobs/x: read-only file system", "store-read-only"),
            ("digest mismatch, file must be downloaded again: want x, got y", "download-damaged"),
            ("pull model manifest: 412: \n\nThe model you pull requires a newer version of Ollama.", "ollama-too-old"),
            ('pull model manifest: 401: {"error":"Invalid username or password."}', "registry-login"),
            ("this model requires MLX support, but the MLX runtime is not available", "model-safetensors"),
            ("whatever comes next", "pull-failed"),
        ],
    )  # fmt: skip
    def test_errors_of_a_pull_have_names(self, ollama: OllamaClient, recorded: Replay, text: str, id: str) -> None:
        recorded.extra.append(_answer("/api/pull", {"model": "m"}, json.dumps({"error": text})))
        with pytest.raises(PullFailed) as error:
            list(ollama.pull("m"))
        assert error.value.problems[0].id == id

    def test_a_stream_that_breaks_off_is_no_success(self, ollama: OllamaClient, recorded: Replay) -> None:
        recorded.extra.append(_answer("/api/pull", {"model": "m"}, '{"status":"pulling manifest"}\n'))
        with pytest.raises(PullFailed, match="not whole"):
            list(ollama.pull("m"))

    def test_a_silent_registry_is_asked_again(self, recorded: Replay) -> None:
        ollama = OllamaClient(recorded.url, retry_waits_s=(0.0, 0.0))
        with pytest.raises(PullFailed):
            list(ollama.pull("nosuch.test/library/smol:135m"))
        assert len(recorded.seen) == 3


class TestMaking:
    def test_from_another_model(self, ollama: OllamaClient, recorded: Replay) -> None:
        made = ollama.create("derived", source=f"{REGISTRY}/smol:135m", parameters={"num_ctx": 512})
        assert [p.status for p in made][-2:] == ["writing manifest", "success"]

    def test_from_a_file(self, ollama: OllamaClient) -> None:
        made = ollama.create("made", files={"model.gguf": BLOB}, parameters={"num_ctx": 1024})
        assert [p.status for p in made][:2] == ["parsing GGUF", "verifying conversion"]

    def test_a_family_is_kept(self, ollama: OllamaClient, recorded: Replay) -> None:
        body = {"model": "d", "from": "s", "info": {"model_family": "lfm2"}}
        recorded.extra.append(_answer("/api/create", body, '{"status":"success"}'))
        assert [p.status for p in ollama.create("d", source="s", family="lfm2")] == ["success"]

    def test_an_error_under_200(self, ollama: OllamaClient) -> None:
        with pytest.raises(OllamaFailed, match="no such file") as error:
            list(ollama.create("made2", files={"model.gguf": "sha256:" + "0" * 64}))
        assert not isinstance(error.value, PullFailed)

    def test_copy_and_delete(self, ollama: OllamaClient) -> None:
        ollama.copy(f"{REGISTRY}/plain:135m", "Plain2")
        with pytest.raises(ModelAbsent):
            ollama.copy("nope", "other")
        ollama.delete("made")


class TestUploading:
    def test_a_file_with_its_bytes(self, recorded: Replay, tmp_path: Path) -> None:
        file = tmp_path / "model.gguf"
        file.write_bytes(b"x" * 2_500_000)
        digest = "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()
        recorded.extra.append(_answer(f"/api/blobs/{digest}", None, "", 404, method="HEAD"))
        recorded.extra.append(_answer(f"/api/blobs/{digest}", 2_500_000, "", 201))
        progress = list(OllamaClient(recorded.url).upload(digest, file))
        assert [p.done_bytes for p in progress] == [1048576, 2097152, 2500000]
        assert {p.total_bytes for p in progress} == {2_500_000}

    def test_nothing_is_sent_for_a_blob_that_is_there(self, ollama: OllamaClient, recorded: Replay) -> None:
        assert list(ollama.upload(BLOB, Path("/nowhere"))) == []
        assert [method for method, _, _ in recorded.seen] == ["HEAD"]

    def test_a_digest_that_is_not_the_file_s(self, ollama: OllamaClient, recorded: Replay, tmp_path: Path) -> None:
        file = tmp_path / "model.gguf"
        file.write_bytes(b"other")
        path = "/api/blobs/sha256:" + "0" * 64
        recorded.extra.append(_answer(path, 5, '{"error":"digest mismatch, expected \\"a\\", got \\"b\\""}', 400))
        with pytest.raises(OllamaFailed, match="digest mismatch"):
            list(ollama.upload("sha256:" + "0" * 64, file))

    def test_a_file_that_is_not_there(self, ollama: OllamaClient) -> None:
        with pytest.raises(OllamaFailed, match="cannot be read"):
            list(ollama.upload("sha256:" + "0" * 64, Path("/nowhere/model.gguf")))


class TestServersThatAreNone:
    def test_nobody_answers(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        for ask in (
            OllamaClient(url).version,
            OllamaClient(url).load("x").run,
            lambda: list(OllamaClient(url).pull("x")),
        ):
            with pytest.raises(OllamaUnreachable, match=r"No Ollama answers at http://127\.0\.0\.1:") as error:
                ask()
            assert "Connection refused" in error.value.original

    def test_another_server_answers(self, recorded: Replay) -> None:
        recorded.extra.append(_answer("/api/version", None, "<html>", method="GET"))
        with pytest.raises(OllamaFailed, match="no JSON"):
            OllamaClient(recorded.url).version()

    def test_a_proxy_of_the_environment_is_not_used(self, recorded: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert OllamaClient(recorded.url).version() == "0.33.0"

    def test_no_answer_in_time(self) -> None:
        with _silent() as server, pytest.raises(OllamaUnreachable, match="no answer in time"):
            OllamaClient(server.url, timeout_s=0.1).version()


class TestGivingUp:
    def test_a_load(self) -> None:
        with _silent() as server:
            call = OllamaClient(server.url).load("large")
            _ends_when_closed(server, call.run, call.close)

    def test_a_pull_in_its_midst(self) -> None:
        with _silent(begin=b'{"status":"pulling manifest"}\n') as server:
            pull = OllamaClient(server.url).pull("large")
            seen: list[PullProgress] = []
            _ends_when_closed(server, lambda: seen.extend(pull), pull.close)
            assert [p.status for p in seen] in ([], ["pulling manifest"])

    def test_a_call_that_was_given_up_before_it_began(self) -> None:
        with _silent() as server:
            call = OllamaClient(server.url).load("large")
            call.close()
            call.close()
            call.run()


class _Silent:
    def __init__(self) -> None:
        self.url = ""
        self.asked = threading.Event()
        self.gone = threading.Event()


@contextmanager
def _silent(begin: bytes = b"") -> Iterator[_Silent]:
    """A server that begins to answer, or not even that, and then waits; it notices when the client goes away."""
    silent = _Silent()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if begin:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(begin)
                self.wfile.flush()
            silent.asked.set()
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.connection.settimeout(0.05)
            while not over.is_set():
                try:
                    if not self.connection.recv(1):
                        silent.gone.set()
                        return
                except TimeoutError:
                    continue
                except OSError:
                    silent.gone.set()
                    return

        def do_GET(self) -> None:
            over.wait(10)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    silent.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield silent
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join(60)


def _ends_when_closed(server: _Silent, run: object, close: object) -> None:
    assert callable(run)
    assert callable(close)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert server.asked.wait(60)
    close()
    thread.join(60)
    assert not thread.is_alive()  # although nobody has answered, or ever would
    assert server.gone.wait(60)


def _answer(path: str, body: object, answer: str, status: int = 200, method: str = "POST") -> dict[str, object]:
    return {
        "method": method,
        "path": path,
        "body": body,
        "status": status,
        "type": "application/json",
        "answer": answer,
    }
