"""Sources of the hub: how they are written, and which files of a repository they mean."""

from __future__ import annotations

import pytest

from homellm.domain.hub import HubFile, HubRef, NoSuchModel, choose, label, parse_ref, sound


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("org/repo", HubRef("org/repo")),
        ("org/repo:Q4_K_M", HubRef("org/repo", quant="Q4_K_M")),
        ("org/repo/file.gguf", HubRef("org/repo", file="file.gguf")),
        ("org/repo/Q8_0/m-00001-of-00002.gguf", HubRef("org/repo", file="Q8_0/m-00001-of-00002.gguf")),
        ("org/repo@v1.0:Q8_0", HubRef("org/repo", "v1.0", "Q8_0")),
        ("org/repo@main", HubRef("org/repo")),
        ("org/re.po@0123abc/file:with colon.gguf", HubRef("org/re.po", "0123abc", file="file:with colon.gguf")),
        ("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL", HubRef("unsloth/Qwen3-8B-GGUF", quant="UD-Q4_K_XL")),
    ],
)
def test_written(text, ref):
    assert parse_ref(text) == ref
    assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    "text",
    ["", "repo", "/repo", "org/", "org/repo:", "org/repo@", "org/repo@:Q8_0", "org/re--po", "o..g/repo", "org/repo.git",
     "org/repo/", "org/repo/x.bin", "org/repo/../x.gguf", "org/repo//x.gguf", "org/repo/a\\b.gguf", "org/repo:a:b",
     "https://huggingface.co/org/repo", "org/repo:Q4 K", "o" * 97 + "/r"],
)  # fmt: skip
def test_written_wrong(text):
    with pytest.raises(ValueError, match=r"repository|revision|quant|file|commit"):
        parse_ref(text)


def files(*names: str) -> list[HubFile]:
    return [HubFile(name, 1000 + number, f"{number:064x}") for number, name in enumerate(names)]


def chosen(source: str, *names: str) -> list[str]:
    return [file.name for file in choose(parse_ref(source), files(*names))]


QUANTS = ("README.md", "m-Q8_0.gguf", "m-IQ4_XS.gguf", "m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "mmproj-m-F16.gguf")


class TestQuants:
    def test_a_quant_in_any_case(self):
        assert chosen("o/r:Q8_0", *QUANTS) == ["m-Q8_0.gguf"]
        assert chosen("o/r:q8_0", *QUANTS) == ["m-Q8_0.gguf"]

    def test_without_one_it_is_q4_k_m(self):
        assert chosen("o/r", *QUANTS) == ["m-Q4_K_M.gguf"]

    def test_or_the_only_model(self):
        assert chosen("o/r", "m-Q8_0.gguf", "mmproj-m-F16.gguf", "m.imatrix.gguf") == ["m-Q8_0.gguf"]

    def test_several_others_are_never_guessed_at(self):
        with pytest.raises(NoSuchModel, match=r"o/r has no Q4_K_M, and several other models") as caught:
            chosen("o/r", "m-Q8_0.gguf", "m-BF16.gguf")
        assert caught.value.there == (":BF16", ":Q8_0")

    def test_one_that_is_not_there(self):
        with pytest.raises(NoSuchModel, match=r"o/r has no model of the quant Q5_K_M") as caught:
            chosen("o/r:Q5_K_M", *QUANTS)
        assert caught.value.there == (":IQ4_XS", ":Q4_K_M", ":Q4_K_S", ":Q8_0")

    def test_part_of_a_quants_name_is_not_it(self):
        with pytest.raises(NoSuchModel):
            chosen("o/r:Q4_K", *QUANTS)
        assert chosen("o/r:Q4_0", "m-IQ4_0.gguf", "m-Q4_0_4_4.gguf", "m-Q4_0.gguf") == ["m-Q4_0.gguf"]

    def test_the_plain_one_goes_before_a_variant_of_it(self):
        names = ("m-UD-Q4_K_M.gguf", "m-Q4_K_M.gguf")
        assert chosen("o/r:Q4_K_M", *names) == ["m-Q4_K_M.gguf"]
        assert chosen("o/r:UD-Q4_K_M", *names) == ["m-UD-Q4_K_M.gguf"]
        assert chosen("o/r:Q4_K_M", "m-UD-Q4_K_M.gguf", "m-Q8_0.gguf") == ["m-UD-Q4_K_M.gguf"]

    def test_dots_and_words_around_it(self):
        assert chosen("o/r:Q4_1", "SmolLM2-135M-Instruct.Q4_1.gguf") == ["SmolLM2-135M-Instruct.Q4_1.gguf"]
        assert chosen("o/r:q4_0", "gemma-3-4b-it-q4_0.gguf", "mmproj-model-f16-4B.gguf") == ["gemma-3-4b-it-q4_0.gguf"]
        assert chosen("o/r:Q4_K_M", "m-Q4_K_M-imat.gguf", "m-Q8_0.gguf") == ["m-Q4_K_M-imat.gguf"]

    def test_two_models_of_one_quant_have_to_be_told_apart(self):
        with pytest.raises(NoSuchModel, match="2 models of the quant Q8_0") as caught:
            chosen("o/r:Q8_0", "a-Q8_0.gguf", "b-Q8_0.gguf")
        assert caught.value.there == ("/a-Q8_0.gguf", "/b-Q8_0.gguf")

    def test_no_model_at_all(self):
        with pytest.raises(NoSuchModel, match="no GGUF model"):
            chosen("o/r", "model.safetensors", "mmproj-F16.gguf")


class TestFiles:
    def test_by_name(self):
        assert chosen("o/r/m-Q4_K_S.gguf", *QUANTS) == ["m-Q4_K_S.gguf"]

    def test_one_that_is_not_there(self):
        with pytest.raises(NoSuchModel, match=r"there is no model file n\.gguf") as caught:
            chosen("o/r/n.gguf", "m-Q8_0.gguf")
        assert caught.value.there == ("/m-Q8_0.gguf",)


PARTS = ("Q8_0/m-Q8_0-00002-of-00003.gguf", "Q8_0/m-Q8_0-00001-of-00003.gguf", "Q8_0/m-Q8_0-00003-of-00003.gguf")


class TestSplit:
    def test_all_parts_in_order(self):
        wanted = sorted(PARTS)
        assert chosen("o/r:Q8_0", *PARTS, "m-F16.gguf") == wanted
        assert chosen("o/r/Q8_0/m-Q8_0-00001-of-00003.gguf", *PARTS) == wanted

    def test_another_part_than_the_first(self):
        with pytest.raises(NoSuchModel, match="name the first one") as caught:
            chosen("o/r/Q8_0/m-Q8_0-00002-of-00003.gguf", *PARTS)
        assert caught.value.there == ("/Q8_0/m-Q8_0-00001-of-00003.gguf",)

    def test_one_that_lacks_a_part(self):
        with pytest.raises(NoSuchModel, match="a model of 3 parts, of which the repository has 2"):
            chosen("o/r:Q8_0", *PARTS[:2])


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Qwen3-8B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("gpt-oss-20b-mxfp4.gguf", "mxfp4"),
        ("BF16/m-BF16-00001-of-00002.gguf", "BF16"),
        ("m.gguf", ""),
    ],
)
def test_label(name, quant):
    assert label(name) == quant


def test_what_becomes_a_path_is_looked_at_first():
    right = HubFile("Q8_0/m-Q8_0.gguf", 5, "0" * 64)
    assert sound(right)
    assert sound(HubFile("m.gguf", 5, "git:" + "a" * 40))
    for name in ("../m.gguf", "/m.gguf", "a/../m.gguf", "a//m.gguf", "m.bin", "m\x00.gguf", ".."):
        assert not sound(HubFile(name, 5, "0" * 64)), name
    for digest in ("", "../../x", "0" * 63, "git:" + "a" * 64, "G" * 64):
        assert not sound(HubFile("m.gguf", 5, digest)), digest
    assert not sound(HubFile("m.gguf", 0, "0" * 64))
