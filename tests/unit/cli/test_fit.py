"""`homellm fit` as it is typed, on files of its own and a machine that is a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from homellm.cli.main import main
from tests.fakes.gguf_bytes import F16, Gguf, T, llama

MIB = 1024 * 1024
#: qwen2.5:7b in f16-sized blocks that make 4168 MiB for a GPU: 28 blocks and an output of 148 MiB, 292 MiB of input.
QWEN = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 28,
    "qwen2.context_length": 32768,
    "qwen2.embedding_length": 3584,
    "qwen2.feed_forward_length": 18944,
    "qwen2.attention.head_count": 28,
    "qwen2.attention.head_count_kv": 4,
    "qwen2.vocab_size": 152064,
}


def megabytes(name: str, count: int) -> T:
    return T(name, (1024, 512 * count), F16)


@pytest.fixture
def qwen(tmp_path: Path) -> Path:
    """A sparse file with the shape of qwen2.5:7b and 4460 MiB of weights."""
    blocks = [megabytes(f"blk.{number}.ffn_up.weight", 141) for number in range(28)]
    file = Gguf(QWEN, [megabytes("token_embd.weight", 292), *blocks, megabytes("output.weight", 220)])
    path = tmp_path / "qwen2.5-7b.gguf"
    head = file.header()
    with path.open("wb") as out:
        out.write(head)
        out.truncate(len(head) + 32 + file.data_bytes())
    return path


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 16 GiB, 12 of them available, without a GPU."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "meminfo").write_text(
        f"MemTotal:       {16 * 1024**2} kB\nMemFree:         100 kB\nMemAvailable:   {12 * 1024**2} kB\n"
    )
    monkeypatch.setenv("HOMELLM_HOST_ROOT", str(root))
    monkeypatch.delenv("HOMELLM_FILE", raising=False)
    monkeypatch.chdir(tmp_path)
    return root


def ask(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, object]]:
    code = main(["fit", "--format", "json", *argv])
    return code, json.loads(capsys.readouterr().out)


CARD = ("--ctx", "4096", "--memory", "8191MiB", "--free", "7113MiB")


def test_the_card_of_the_worked_example(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask(capsys, "--file", str(qwen), "--parallel", "3", *CARD)
    assert code == 0
    assert said["weights_bytes"] == 4460 * MIB
    assert said["kv_bytes_per_slot"] == 224 * MIB
    assert (said["recurrent_bytes_per_slot"], said["slots_fit"], said["fits"]) == (0, 7, True)
    (device,) = said["devices"]  # type: ignore[misc]
    assert (device["total_bytes"], device["free_bytes"]) == (8191 * MIB, 7113 * MIB)
    assert device["used_bytes"] > (4168 + 3 * 224) * MIB


def test_eight_slots_do_not_fit_and_that_is_an_answer(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask(capsys, "--file", str(qwen), "--parallel", "8", *CARD)
    assert (code, said["fits"], said["slots_fit"]) == (0, False, 7)


def test_a_range_of_slots(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask(capsys, "--file", str(qwen), "--parallel", "1..8", *CARD)
    assert code == 0
    rows = said["slots"]
    assert [(row["parallel"], row["fits"]) for row in rows] == [(n, n < 8) for n in range(1, 9)]  # type: ignore[attr-defined]


def test_another_fit_target(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = ask(capsys, "--file", str(qwen), *CARD, "--fit-target", "0")
    assert said["slots_fit"] == 12


def test_without_a_device_the_memory_of_the_machine_counts(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = ask(capsys, "--file", str(qwen))
    (device,) = said["devices"]  # type: ignore[misc]
    assert (device["name"], device["total_bytes"], device["free_bytes"]) == ("system memory", 16 * 2**30, 12 * 2**30)


def test_a_blob_without_a_name_that_tells_is_known_by_its_first_bytes(
    qwen: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blob = qwen.rename(qwen.with_name("sha256-" + "0" * 64))
    assert ask(capsys, "-f", str(blob), *CARD)[1]["slots_fit"] == 7


def test_the_file_may_stand_before_the_verb(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--file", str(qwen), "--format", "json", "fit", *CARD]) == 0
    assert json.loads(capsys.readouterr().out)["slots_fit"] == 7


def test_a_table_for_people(qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--file", str(qwen), "--parallel", "3", *CARD]) == 0
    out = capsys.readouterr().out
    assert "224 MiB a slot" in out
    assert "7 slots of 4096 tokens would fit." in out


def test_a_stack_and_one_of_its_models(qwen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.gguf").write_bytes(llama().whole())
    (tmp_path / "homellm.yaml").write_text(
        f"stack: nuc\nmodels:\n"
        f"  chat: {{source: gguf:{qwen}, parallel: 3, ctx: 8192}}\n"
        f"  small: {{source: gguf:small.gguf, parallel: 2}}\n"
        f"  gone: {{source: gguf:gone.gguf}}\n"
    )
    code, said = ask(capsys)
    assert code == 4
    assert [model["name"] for model in said["models"]] == ["chat", "small"]  # type: ignore[attr-defined]
    assert [error["model"] for error in said["errors"]] == ["gone"]  # type: ignore[attr-defined]
    code, said = ask(capsys, "chat", "--parallel", "1..4")
    assert (code, said["stack"], said["parallel"], said["kv_bytes_per_slot"]) == (0, "nuc", 3, 448 * MIB)
    assert len(said["slots"]) == 4  # type: ignore[arg-type]
    code, said = ask(capsys, "small", "--parallel", "5", "--ctx", "1024")
    assert (code, said["parallel"], said["ctx"]) == (0, 5, 1024)


def test_names_of_models_that_the_stack_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "homellm.yaml").write_text("stack: nuc\nmodels: {chat: {source: gguf:c.gguf}}\n")
    code, said = ask(capsys, "chad")
    assert code == 2
    assert said["errors"][0]["id"] == "no-such-model"  # type: ignore[index]


@pytest.mark.parametrize(
    "argv",
    [
        ("--parallel", "0"),
        ("--parallel", "8..1"),
        ("--parallel", "many"),
        ("--parallel", "1..999"),
        ("--memory", "8 cows"),
        ("--free", "-1"),
        ("--memory", "1g", "--free", "2g"),
        ("--ctx", "0"),
        ("chat",),
    ],
)
def test_what_makes_no_sense(argv: tuple[str, ...], qwen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask(capsys, "--file", str(qwen), *argv)
    assert code == 2
    assert said["errors"]


def test_what_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.gguf").write_text("<!DOCTYPE html>")
    code, said = ask(capsys, "--file", "page.gguf")
    assert code == 4
    assert "HTML page" in said["errors"][0]["message"]  # type: ignore[index]
    code, said = ask(capsys, "--file", "none.gguf")
    assert code == 4


def test_an_address_where_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ask(capsys, "--file", "http://127.0.0.1:1/m.gguf")
    assert code == 4
    assert said["errors"][0]["id"] == "model-unreachable"  # type: ignore[index]
