"""What `explain` prints: the documented keys, and sentences that are true."""

from __future__ import annotations

from homellm.domain.evidence import Load, LogSummary, MemoryRow
from homellm.domain.signals import Signal
from homellm.report.explain import explain_document, explain_text

KEYS = [
    "ready",
    "slots",
    "ctx_per_slot",
    "kv_unified",
    "device",
    "layers_offloaded",
    "slots_used",
    "memory",
    "problems",
]
GOOD = LogSummary(
    ready=True,
    slots=3,
    ctx_per_slot=2048,
    kv_unified=False,
    device="Vulkan0 Intel(R) Iris(R) Xe Graphics",
    layers_offloaded="31/31",
    slots_used=2,
    memory=(
        MemoryRow("Vulkan0 (Iris Xe)", 15870, 14000, 139, 92, 33, 14, 744),
        MemoryRow("Host", None, None, 33, 28, 0, 5, None),
    ),
    model_path="/m/smol.gguf",
    build="b11669",
    verbosity=4,
    problems=(Signal("no-auth", "security: no API key is set", {"count": 1}, problem=True, hint="Set a key."),),
    known=True,
)


def test_the_document_has_the_documented_keys_and_native_values() -> None:
    document = explain_document(GOOD)
    assert list(document) == KEYS
    assert document["ready"] is True
    assert (document["slots"], document["ctx_per_slot"], document["kv_unified"]) == (3, 2048, False)
    assert (document["device"], document["layers_offloaded"]) == ("Vulkan0 Intel(R) Iris(R) Xe Graphics", "31/31")
    assert document["slots_used"] == 2
    assert document["problems"] == [{"id": "no-auth", "line": "security: no API key is set", "hint": "Set a key."}]
    assert document["memory"] == [
        {
            "device": "Vulkan0 (Iris Xe)",
            "total_mib": 15870,
            "free_mib": 14000,
            "self_mib": 139,
            "model_mib": 92,
            "context_mib": 33,
            "compute_mib": 14,
            "unaccounted_mib": 744,
        },
        {
            "device": "Host",
            "total_mib": None,
            "free_mib": None,
            "self_mib": 33,
            "model_mib": 28,
            "context_mib": 0,
            "compute_mib": 5,
            "unaccounted_mib": None,
        },
    ]


def test_what_a_log_does_not_tell_is_null() -> None:
    document = explain_document(LogSummary())
    assert document == dict.fromkeys(KEYS) | {"problems": []}


def test_an_ollama_log_has_three_keys_more() -> None:
    load = Load("sha256-" + "a" * 64, slots=1, ctx_per_slot=2048, ready=True, refused="lfm2", device="cpu")
    document = explain_document(LogSummary(known=True, server="ollama", version="0.33.0", loads=(load,)))
    assert list(document) == [*KEYS, "server", "version", "loads"]
    assert document["loads"] == [
        {
            "blob": "sha256-" + "a" * 64,
            "slots": 1,
            "ctx_per_slot": 2048,
            "ready": True,
            "refused": "lfm2",
            "device": "cpu",
        }
    ]


def test_a_good_start_in_words() -> None:
    assert explain_text(GOOD) == (
        "✔  llama-server b11669 became ready.\n"
        "   Model: /m/smol.gguf\n"
        "   It has 3 slots of 2048 tokens each.\n"
        "   It runs on Vulkan0 Intel(R) Iris(R) Xe Graphics, 31 of 31 layers.\n"
        "   2 of 3 slots served requests.\n"
        "\n"
        "memory in MiB       total    free   used   model   context   compute\n"
        "Vulkan0 (Iris Xe)   15870   14000    139      92        33        14\n"
        "Host                                  33      28         0         5\n"
        "\n"
        "! no-auth\n"
        "    security: no API key is set\n"
        "    Set a key.\n"
    )


def test_a_bad_start_tells_first_what_ended_it() -> None:
    fatal = Signal("model-missing", "no such file", {"count": 2}, problem=True, fatal=True, hint="Check the path.")
    text = explain_text(LogSummary(known=True, problems=(*GOOD.problems, fatal)))
    assert text.startswith("✘  llama-server did not become ready.\n\n✘ model-missing, 2 times\n    no such file\n")
    assert text.index("model-missing") < text.index("no-auth")


def test_a_shared_pool_and_a_claim_that_is_not_true_are_said() -> None:
    text = explain_text(
        LogSummary(
            ready=True,
            known=True,
            slots=4,
            ctx_per_slot=8192,
            kv_unified=True,
            pool_tokens=8192,
            device="cpu",
            layers_offloaded="0/31",
        )
    )
    assert "It has 4 slots that share one pool of 8192 tokens." in text
    assert "It runs on the CPU: no layer is on a GPU, whatever it says of offloading." in text
    assert "No problem is in this log." in text


def test_a_log_that_does_not_tell_the_device_says_so_and_how_it_would() -> None:
    text = explain_text(LogSummary(ready=True, known=True, verbosity=3))
    assert "The log does not tell which device it runs on; with -lv 4 it would." in text


def test_a_file_that_is_no_log_is_called_none() -> None:
    assert explain_text(LogSummary()) == "?  No line of this log is one of a llama-server or an Ollama server.\n"


def test_the_loads_of_an_ollama_server_stand_in_a_table() -> None:
    loads = (
        Load("sha256-" + "a" * 64, slots=3, ctx_per_slot=2048, ready=True, device="cpu"),
        Load("sha256-" + "b" * 64, slots=1, ctx_per_slot=2048, ready=True, refused="lfm2", device="cpu"),
        Load("sha256-" + "c" * 64, ready=False),
    )
    text = explain_text(LogSummary(known=True, server="ollama", version="0.33.0", loads=loads, ready=False))
    assert "Ollama 0.33.0 made 3 loads; of the last one: it did not become ready." in text
    assert "✔ sha256-bbbbbbbbbbbb       1   2048   cpu      one slot only: lfm2" in text
    assert "✘ sha256-cccccccccccc       –      –   –" in text


def test_nothing_in_a_log_moves_the_cursor() -> None:
    evil = Signal("no-auth", "line \x1b[2J\x07 end", {"count": 1}, problem=True, hint="h\x1b]0;x\x07")
    text = explain_text(LogSummary(known=True, problems=(evil,), model_path="/m/\x1b[31mx", device="GPU\x9b"))
    assert not set(text) & {"\x1b", "\x07", "\x9b"}


def test_a_narrow_screen_is_not_overrun() -> None:
    assert max(map(len, explain_text(GOOD, width=60).splitlines())) <= 60


def test_a_server_that_asked_for_no_gpu_did_not_fail_for_want_of_one() -> None:
    corrupt = Signal("model-corrupt", "tensor data is out of bounds", {}, problem=True, fatal=True, hint="Fetch it.")
    text = explain_text(LogSummary(known=True, device="cpu", found_no_gpu=True, problems=(corrupt,)))
    assert "did not become ready" in text
    assert "GPU" not in text
    missing = Signal("no-gpu", "no usable GPU found", {}, problem=True, hint="Everything runs on the CPU.")
    asked = explain_text(LogSummary(known=True, device="cpu", found_no_gpu=True, problems=(missing,)))
    assert "It found no GPU to run on." in asked
