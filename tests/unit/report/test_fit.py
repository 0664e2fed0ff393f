"""The table and the document of `fit`."""

from __future__ import annotations

from dataclasses import replace

from homellm.errors import Problem
from homellm.report.encoding import encodable, fit
from homellm.report.fit import fit_document, fit_table
from homellm.report.layout import cell_width
from homellm.sizing import Demand, Device, Machine
from homellm.sizing.answer import FitReport, Subject, answer
from tests.unit.report.examples import golden
from tests.unit.sizing.headers import DEEPSEEK_V2_LITE, MIB, QWEN25_7B, SMOLLM2_135M, TINY_LFM2

CARD = Device("RTX 3070", 7113 * MIB, 8191 * MIB)
RAM = Device("system memory", 14 * 1024 * MIB, 16 * 1024 * MIB)


def report(parallel: int, **keys: object) -> FitReport:
    demand = Demand(ctx=4096, parallel=parallel, gpu_layers=99)
    return answer(None, [Subject("qwen2.5-7b", QWEN25_7B, demand, Machine(CARD, RAM), **keys)])  # type: ignore[arg-type]


def test_a_model_that_fits() -> None:
    assert fit_table(report(7)) == golden("fit-seven-slots.txt")


def test_a_model_that_does_not_fit_says_what_would() -> None:
    assert fit_table(report(8)) == golden("fit-eight-slots.txt")


def test_numbers_of_slots_beside_each_other() -> None:
    lines = fit_table(report(3, slots=range(6, 9))).splitlines()
    rows = [line.split() for line in lines if "GiB" in line and line.split()[0] in ("6", "7", "8")]
    assert [(row[0], " ".join(row[3:])) for row in rows] == [("6", "fits"), ("7", "fits"), ("8", "does not fit")]


def test_a_whole_stack() -> None:
    subjects = [
        Subject("chat", QWEN25_7B, Demand(ctx=4096, parallel=3, gpu_layers=99), Machine(CARD, RAM)),
        Subject("small", SMOLLM2_135M, Demand(ctx=8192, parallel=2), Machine(None, RAM)),
    ]
    assert fit_table(replace(answer("nuc", subjects), notes=("a word besides",))) == golden("fit-stack.txt")


def too_much_together(chat: int, small: int, ctx: int = 8192) -> FitReport:
    """Two models on 14 GiB, of which each alone may have some twenty slots of 8192 tokens."""
    sizes = {"chat": chat, "small": small}
    return answer(
        "nuc", [Subject(name, QWEN25_7B, Demand(ctx, count), Machine(None, RAM)) for name, count in sizes.items()]
    )


def test_models_that_do_not_fit_together_are_told_what_would() -> None:
    text = fit_table(too_much_together(18, 18))
    assert "✘ chat  Does not fit: it would alone, but not beside the other models." in text
    # 14 GiB less 1024 MiB, 4460 of weights and some 250 of buffers: 19 slots of 448 MiB
    assert "The others as declared leave nothing for it; without them 19 slots of 8192 tokens would fit." in text
    assert "Nothing of it fits" not in text
    # 14 GiB less 1024 MiB, twice 4460 MiB of weights and twice some 240 of buffers: 8 slots of 448 MiB
    assert "chat and small fit together with parallel: 4 for chat and small." in text
    assert fit_table(too_much_together(4, 4)).count("✔") == 2
    assert fit_table(too_much_together(5, 5)).count("✘") == 2


def test_one_that_asks_too_much_alone_too_is_told_how_much_would_fit() -> None:
    text = fit_table(too_much_together(40, 40))
    assert "Does not fit: system memory lacks" in text
    assert text.count("without them 19 slots of 8192 tokens would fit.") == 2
    assert "Nothing of it fits" not in text
    assert "chat and small fit together with parallel: 4 for chat and small." in text


def test_models_of_which_one_slot_each_is_too_much_may_fit_with_a_shorter_context() -> None:
    report = too_much_together(1, 1, ctx=131072)
    assert "chat and small fit together with ctx: " in fit_table(report)
    assert report.slots_each == 0
    ctx = report.ctx_each or 0
    assert 0 < ctx < 131072
    assert all(model.fits for model in too_much_together(1, 1, ctx=ctx).models)
    assert not all(model.fits for model in too_much_together(1, 1, ctx=ctx + 256).models)
    document = fit_document(report)
    assert (document["slots_each"], document["ctx_each"]) == (0, ctx)


def test_the_most_that_parallel_takes_is_said_to_be_that() -> None:
    large = Machine(None, Device("system memory", 1024**4))
    text = fit_table(answer(None, [Subject("m", SMOLLM2_135M, Demand(2048, 3), large)]))
    assert "256 slots of 2048 tokens would fit, the most that parallel takes." in " ".join(text.split())


def test_every_line_fits_a_narrow_screen() -> None:
    for lines in (fit_table(report(8, slots=range(1, 9)), width=60), fit_table(report(7), width=60)):
        assert max(map(cell_width, lines.splitlines())) <= 60


def test_it_can_be_told_in_ascii() -> None:
    told = fit(fit_table(report(8)), "ascii")
    assert encodable(told, "ascii")
    assert "[#######################!]" in told


def test_a_model_without_any_device_claims_nothing() -> None:
    text = fit_table(answer(None, [Subject("m", QWEN25_7B, Demand(), Machine())]))
    assert "? m" in text
    assert "give --memory" in text
    assert "Fits" not in text


def test_a_model_of_which_nothing_fits() -> None:
    text = fit_table(answer(None, [Subject("m", QWEN25_7B, Demand(), Machine(None, Device("memory", 1024 * MIB)))]))
    assert "Does not fit: memory lacks" in text
    assert "a smaller model" in text


def test_an_architecture_that_is_known_in_part_says_so() -> None:
    header = replace(DEEPSEEK_V2_LITE, architecture="deepseek32")
    assert "the true need is larger" in fit_table(answer(None, [Subject("m", header, Demand(), Machine(None, RAM))]))


def test_the_document_of_one_model_has_its_figures_on_top() -> None:
    document = fit_document(report(7))
    assert {key: document[key] for key in ("stack", "weights_bytes", "kv_bytes_per_slot", "slots_fit", "fits")} == {
        "stack": None,
        "weights_bytes": 4460 * MIB,
        "kv_bytes_per_slot": 224 * MIB,
        "slots_fit": 7,
        "fits": True,
    }
    assert document["recurrent_bytes_per_slot"] == 0
    assert isinstance(document["compute_bytes"], int)
    (card, memory) = document["devices"]  # type: ignore[misc]
    assert {key: card[key] for key in ("name", "total_bytes", "free_bytes", "fit_target_bytes", "missing_bytes")} == {
        "name": "RTX 3070",
        "total_bytes": 8191 * MIB,
        "free_bytes": 7113 * MIB,
        "fit_target_bytes": 1024 * MIB,
        "missing_bytes": 0,
    }
    assert card["used_bytes"] > (4168 + 7 * 224) * MIB
    assert memory["name"] == "system memory"


def test_the_document_of_a_stack_has_a_model_each() -> None:
    subject = Subject("a", TINY_LFM2, Demand(parallel=2), Machine(None, RAM), range(1, 3))
    document = fit_document(answer("nuc", [subject, replace(subject, name="b")]))
    assert "weights_bytes" not in document
    (first, second) = document["models"]  # type: ignore[misc]
    assert (first["name"], second["name"], document["stack"]) == ("a", "b", "nuc")
    assert first["recurrent_bytes_per_slot"] == 3 * 2 * 256 * 4
    assert [row["parallel"] for row in first["slots"]] == [1, 2]
    (place,) = document["devices"]  # type: ignore[misc]
    assert place["used_bytes"] == first["total_bytes"] + second["total_bytes"]


def test_a_document_of_nothing_but_a_problem() -> None:
    document = fit_document(FitReport("nuc", problems=(Problem("model-absent", "not here", "pull it"),)))
    assert document["models"] == []
    assert document["devices"] == []
    assert document["errors"][0]["id"] == "model-absent"  # type: ignore[index]


def test_a_context_beyond_the_training_is_told_as_up_tells_it() -> None:
    """It fits into memory, and `up` refuses it all the same: qwen2.5 was trained on 32768 tokens."""
    asked = Demand(ctx=65536, parallel=1)
    text = fit_table(answer(None, [Subject("q", QWEN25_7B, asked, Machine(None, RAM))]))
    assert "It was trained on 32768 tokens, and the server cuts a slot to that: set ctx: 32768 or less" in text
    assert "trained on 32768 tokens, and" not in fit_table(report(7))
