"""How requests are served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.evidence import Chat, LogSummary, Overlap
from homellm.domain.stack import KvCacheType, StoredFile, StoredFiles
from homellm.domain.verdicts import Verdict

from . import logs
from .cases import MODEL, PROPS, SEEN, check, checks


class TestServing:
    def test_offload(self) -> None:
        seen = replace(SEEN, log=LogSummary(layers_offloaded="29/31"))
        for asked, verdict in (("all", "fail"), ("auto", "pass"), (20, "pass"), (99, "fail"), (29, "pass")):
            assert check("offload", replace(MODEL, gpu_layers=asked), seen).verdict == verdict  # type: ignore[arg-type]
        assert check("offload", replace(MODEL, gpu_layers="all")).verdict == "unknown"
        nothing = replace(SEEN, log=LogSummary(layers_offloaded="0/31"))
        assert check("offload", replace(MODEL, gpu_layers="auto"), nothing).verdict == "fail"
        assert check("offload", replace(MODEL, gpu_layers=0), nothing).verdict == "pass"

    def test_cache_reuse_passes_only_by_a_chunk_that_was_reused(self) -> None:
        model = replace(MODEL, cache_reuse=256)
        assert check("cache-reuse", model).verdict == "unknown"
        hybrid = replace(SEEN, log=logs.read(logs.data("p-hybrid-lv4")))
        assert check("cache-reuse", model, hybrid).verdict == "pass"
        gemma = check("cache-reuse", model, replace(SEEN, log=logs.read(logs.data("o-gemma-swa-cr"))))
        assert (gemma.verdict, gemma.text) == ("fail", "off: not supported by this context")
        lost = replace(SEEN, log=logs.read(logs.data("b11669-hybrid")))
        assert check("cache-reuse", model, lost).verdict == "fail"
        assert "cache-reuse" not in checks(replace(MODEL, cache_reuse=0))

    def test_reasoning_by_the_template_then_by_the_log(self) -> None:
        model = replace(MODEL, reasoning_preserve=True)
        can = replace(SEEN, props=replace(PROPS, template_caps={"supports_preserve_reasoning": True}))
        cannot = replace(SEEN, props=replace(PROPS, template_caps={"supports_preserve_reasoning": False}))
        assert (check("reasoning", model, can).verdict, check("reasoning", model, can).source) == ("pass", "/props")
        assert check("reasoning", model, cannot).verdict == "fail"
        log = replace(SEEN, log=logs.read(logs.data("q-preserve-unsupported")))
        assert (check("reasoning", model, log).verdict, check("reasoning", model, log).source) == ("fail", "log")
        assert check("reasoning", model).verdict == "unknown"

    def test_template_by_a_chat_and_a_tool_call(self) -> None:
        model = replace(MODEL, jinja=True)
        assert check("template", model).verdict == "pass"
        assert check("template", model, replace(SEEN, chat=Chat(500, error="template"))).verdict == "fail"
        assert check("template", model, replace(SEEN, chat=None)).verdict == "unknown"
        assert check("template", model, replace(SEEN, tool_call=Chat(500, error="no tools"))).verdict == "fail"
        talked = check("template", model, replace(SEEN, tool_call=Chat(200)))
        assert (talked.verdict, talked.text) == ("pass", "a chat came through, and one that offers a tool")
        called = check("template", model, replace(SEEN, tool_call=Chat(200, called=True)))
        assert (called.verdict, called.text) == ("pass", "a chat and a tool call came through")
        assert "template" not in checks(replace(model, embedding=True))

    def test_what_a_template_says_itself_is_told_and_not_where(self) -> None:
        """As llama-server b11669 answered."""
        said = (
            "Unable to generate parser for this template. Automatic parser generation failed: \n------------\n"
            "While executing CallExpression at line 4, column 66 in source:\n...{{ raise_exception('no') }}...\n"
            "      ^\nError: Jinja Exception: a tool without required"
        )
        verdict = check("template", replace(MODEL, jinja=True), replace(SEEN, tool_call=Chat(400, error=said)))
        assert (verdict.verdict, verdict.text) == ("fail", "Jinja Exception: a tool without required")
        silent = check("template", replace(MODEL, jinja=True), replace(SEEN, tool_call=Chat(500)))
        assert silent.text == "HTTP 500"

    @pytest.mark.parametrize(
        ("modalities", "verdict", "text"),
        [(("audio", "vision"), "pass", "audio, vision"), ((), "fail", "text alone"), (None, "unknown", "")],
    )
    def test_projector_by_what_the_server_takes(
        self, modalities: tuple[str, ...] | None, verdict: str, text: str
    ) -> None:
        seen = replace(SEEN, props=replace(PROPS, modalities=modalities))
        found = check("projector", replace(MODEL, mmproj=Path("/p/mmproj.gguf")), seen)
        assert (found.verdict, found.text, found.source, found.gate) == (verdict, text, "/props", False)
        stored = StoredFiles(StoredFile("/store/a"), projector=StoredFile("/store/b"))
        assert check("projector", replace(MODEL, stored=stored), seen).verdict == verdict
        assert "projector" not in checks(replace(MODEL, stored=StoredFiles(StoredFile("/store/a"))))
        assert "projector" not in checks(MODEL)

    def test_flash_attention(self) -> None:
        on, off = (
            replace(SEEN, log=LogSummary(flash_attention="on")),
            replace(SEEN, log=LogSummary(flash_attention="off")),
        )
        assert check("flash-attention", replace(MODEL, flash_attention="on"), on).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="on"), off).verdict == "fail"
        assert check("flash-attention", replace(MODEL, flash_attention="off"), off).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="auto"), off).verdict == "pass"
        assert check("flash-attention", replace(MODEL, flash_attention="on")).verdict == "unknown"

    def test_kv_cache(self) -> None:
        model = replace(MODEL, kv_cache_type=KvCacheType("q8_0", "q8_0"))
        q8 = replace(SEEN, log=logs.read(logs.data("b11669-kvq8")))
        f16 = replace(SEEN, log=logs.read(logs.data("b11669-faoff")))
        assert (check("kv-cache", model, q8).asked, check("kv-cache", model, q8).verdict) == ("q8_0", "pass")
        assert (check("kv-cache", model, f16).observed, check("kv-cache", model, f16).verdict) == ("f16", "fail")
        mixed = replace(MODEL, kv_cache_type=KvCacheType("q8_0", "f16"))
        assert check("kv-cache", mixed, q8).asked == "k q8_0, v f16"
        assert check("kv-cache", model).verdict == "unknown"

    def test_batch_is_cut_to_the_whole_context_and_that_is_right(self) -> None:
        log = logs.read(logs.data("v11669-lavapipe"))  # -c 1536: n_batch 1536, n_ubatch 512
        seen = replace(SEEN, log=log)
        small = replace(MODEL, ctx=512, batch=2048, ubatch=512)
        assert (check("batch", small, seen).verdict, check("batch", small, seen).observed) == (
            "pass",
            "batch 1536, ubatch 512",
        )
        assert check("batch", replace(small, ubatch=1024), seen).verdict == "fail"
        assert check("batch", replace(MODEL, ctx=2048, batch=2048), seen).verdict == "fail"
        assert check("batch", small).verdict == "unknown"

    def test_embeddings_have_equal_batches(self) -> None:
        log = logs.read(logs.data("b11669-embedding-lv4"))  # n_batch = n_ubatch = 512
        model = replace(MODEL, embedding=True, batch=2048, ubatch=512)
        assert check("batch", model, replace(SEEN, log=log)).verdict == "pass"

    def test_slots_that_work_at_once_are_judged_where_that_was_tried(self) -> None:
        def tried(**seen: object) -> Verdict:
            return check("concurrency", evidence=replace(SEEN, overlap=Overlap(3, **seen)))  # type: ignore[arg-type]

        assert "concurrency" not in checks(MODEL)
        assert (tried(slots=3, source="/slots").verdict, tried(slots=3, source="/slots").source) == ("pass", "/slots")
        assert tried(slots=4, source="/slots").verdict == "pass"  # somebody else's request too
        assert tried(slots=1, source="/slots", conclusive=True).verdict == "fail"
        assert tried(slots=1, source="/slots").verdict == "unknown"
        assert tried(conclusive=True).verdict == "unknown"
        assert (tried(slots=3, error="HTTP 500").verdict, tried(error="HTTP 500").text) == ("fail", "HTTP 500")
