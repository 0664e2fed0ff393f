"""The store of a real Ollama 0.33, read; then everything that can be wrong with it, made by hand."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homellm.adapters.ollama_store import container_store, folder_store
from homellm.errors import EngineRefused
from tests.unit.ollama.recorded import REGISTRY, answers, write_store

SMOL_BLOB = "sha256-b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_store(tmp_path / "models")


def manifest_of(root: Path, name: str) -> Path:
    return root / "manifests" / "registry.ollama.ai" / "library" / name / "latest"


def rewrite(root: Path, name: str, **changes: Any) -> None:
    path = manifest_of(root, name)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def blob(root: Path, content: bytes, kind: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    (root / "blobs" / f"sha256-{digest}").write_bytes(content)
    return {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}


class TestAModel:
    def test_with_system_prompt_and_parameters(self, root: Path) -> None:
        model = folder_store(root).find(f"{REGISTRY}/smol:135m")
        assert model.state == "ok"
        assert model.reason == ""
        assert model.name == f"{REGISTRY}/smol:135m"
        assert model.blob == f"blobs/{SMOL_BLOB}"
        assert model.blob_name == SMOL_BLOB
        assert model.size_bytes == 98362432
        assert model.system == "You_are_calm"
        assert dict(model.params) == {"temperature": 0.2, "stop": ("<|im_end|>", "<|x|>"), "num_ctx": 1024}
        assert model.num_ctx == 1024
        assert model.family == "llama"
        assert model.template is None

    def test_is_the_one_that_the_api_lists(self, root: Path) -> None:
        listed = json.loads(next(a["answer"] for a in answers() if a["path"] == "/api/tags"))["models"]
        read = {model.name.removeprefix("registry.ollama.ai/library/"): model for model in folder_store(root).models()}
        assert {m["name"]: m["digest"] for m in listed} == {name: model.digest for name, model in read.items()}
        assert {m["name"]: m["details"]["family"] for m in listed} == {n: model.family for n, model in read.items()}

    def test_made_from_another_one(self, root: Path) -> None:
        model = folder_store(root).find("derived")
        assert model.state == "ok"
        assert model.blob_name == SMOL_BLOB
        assert dict(model.params) == {"num_ctx": 512, "stop": ("<|im_end|>", "<|x|>"), "temperature": 0.2}
        assert model.families == ("llama",)
        assert model.parameter_size == "134.52M"
        assert model.quantization == "Q4_1"

    def test_is_found_in_any_case(self, root: Path) -> None:
        assert folder_store(root).find("PLAIN2").name == "registry.ollama.ai/library/Plain2:latest"

    def test_exact_case_comes_first(self, root: Path) -> None:
        twin = manifest_of(root, "plain2")
        twin.parent.mkdir()
        twin.write_text(manifest_of(root, "derived").read_text())
        assert folder_store(root).find("Plain2").params == {}
        assert folder_store(root).find("plain2").num_ctx == 512

    def test_all_that_share_a_blob(self, root: Path) -> None:
        names = [model.name.rpartition("/")[2] for model in folder_store(root).with_blob(SMOL_BLOB)]
        assert names == ["Plain2:latest", "derived:latest", "plain:135m", "smol:135m"]
        assert folder_store(root).with_blob("sha256-" + "0" * 64) == ()

    def test_last_of_several_model_layers_wins(self, root: Path) -> None:
        first, last = blob(root, b"first", "model"), blob(root, b"last one", "model")
        rewrite(root, "derived", layers=[first, blob(root, b"mm", "projector"), last])
        model = folder_store(root).find("derived")
        assert model.blob_digest == last["digest"]
        assert model.size_bytes == 8
        assert len(model.projectors) == 1

    def test_projector_adapter_template_draft_and_messages(self, root: Path) -> None:
        layers = [
            blob(root, b"weights", "model"),
            blob(root, b"mm", "projector"),
            blob(root, b"lora1", "adapter"),
            blob(root, b"lora2", "adapter"),
            blob(root, b"small", "draft"),
            blob(root, b"{{ .Prompt }}", "template"),
            blob(root, b'[{"role":"user","content":"hi"}]', "messages"),
        ]
        rewrite(root, "derived", layers=layers)
        model = folder_store(root).find("derived")
        assert model.state == "ok"
        assert [path.rpartition("-")[2] for path in (*model.projectors, *model.adapters)] == [
            layer["digest"].removeprefix("sha256:") for layer in layers[1:4]
        ]
        assert model.draft == "blobs/" + layers[4]["digest"].replace(":", "-")
        assert model.template == "{{ .Prompt }}"
        assert model.messages == 1
        assert model.num_ctx is None


class TestWhatIsWrong:
    def test_absent(self, root: Path) -> None:
        model = folder_store(root).find("nope:1")
        assert (model.state, model.usable) == ("absent", False)
        assert model.reason == f"nope:1 is not in the store {root}"

    def test_broken_off_pull(self, root: Path) -> None:
        partial = root / "blobs" / ("sha256-" + "1" * 64 + "-partial")
        partial.write_bytes(b"")
        partial.with_name(partial.name + "-0").write_text('{"N":0,"Offset":0,"Size":98362432,"Completed":57671680}')
        assert "a pull was broken off there at 58 of 98 MB" in folder_store(root).find("nope").reason

    def test_a_name_that_ollama_refuses(self, root: Path) -> None:
        model = folder_store(root).find("a b")
        assert model.state == "absent"
        assert "does not take" in model.reason

    def test_cloud(self, root: Path) -> None:
        model = folder_store(root).find("cloudy")
        assert model.state == "cloud"
        assert model.family == "gptoss"
        assert model.reason == (
            "cloudy:latest is a cloud model: it runs on https://ollama.com:443 and has no weights here"
        )

    def test_safetensors(self, root: Path) -> None:
        rewrite(root, "derived", layers=[blob(root, b"t", "tensor"), blob(root, b"{}", "json")])
        assert folder_store(root).find("derived").state == "safetensors"

    def test_safetensors_told_by_the_config_alone(self, root: Path) -> None:
        rewrite(root, "derived", layers=[], config=blob(root, b'{"model_format":"safetensors"}', "config"))
        assert folder_store(root).find("derived").state == "safetensors"

    def test_without_weights(self, root: Path) -> None:
        rewrite(root, "derived", layers=[blob(root, b"x", "license")])
        assert folder_store(root).find("derived").state == "no-weights"

    def test_a_blob_is_gone(self, root: Path) -> None:
        (root / "blobs" / SMOL_BLOB).unlink()
        model = folder_store(root).find(f"{REGISTRY}/plain:135m")
        assert model.state == "blob-missing"
        expected = f"of {REGISTRY}/plain:135m the blob {SMOL_BLOB} (the weights, 98 MB) is missing from the store"
        assert model.reason == expected

    def test_a_small_blob_is_gone(self, root: Path) -> None:
        (root / "blobs" / "sha256-323bbd3d993ac8c5423998b08ed006cdbeddb287b12ed67855bdb9a259721710").unlink()
        model = folder_store(root).find("derived")
        assert model.state == "blob-missing"
        assert "(its system, 12 bytes)" in model.reason

    def test_the_config_is_gone(self, root: Path) -> None:
        (root / "blobs" / "sha256-4157c46799c19ced6cac0c50480eb70cd5c096c0a632d8fc68a793e7376dd7bb").unlink()
        model = folder_store(root).find("derived")
        assert (model.state, model.family) == ("blob-missing", "")
        assert "its config" in model.reason

    def test_a_blob_is_cut_short(self, root: Path) -> None:
        with (root / "blobs" / SMOL_BLOB).open("r+b") as file:
            file.truncate(50_000_000)
        model = folder_store(root).find("derived")
        assert model.state == "blob-truncated"
        assert model.reason.endswith("is cut short: 50 MB of 98 MB")

    def test_a_blob_is_only_partly_here(self, root: Path) -> None:
        weights = root / "blobs" / SMOL_BLOB
        weights.rename(weights.with_name(f"{SMOL_BLOB}-partial"))
        assert folder_store(root).find("derived").state == "partial"

    @pytest.mark.parametrize(
        "text",
        ["", "[]", '"x"', '{"layers": 3}', '{"layers": [1]}', '{"layers": [{"mediaType": "m", "digest": "x"}]}'],
    )
    def test_a_manifest_that_is_none(self, root: Path, text: str) -> None:
        manifest_of(root, "derived").write_text(text)
        model = folder_store(root).find("derived")
        assert model.state == "unreadable"
        assert "manifest" in model.reason

    @pytest.mark.parametrize("text", [b"no json", b"[]"])
    def test_parameters_that_are_none(self, root: Path, text: bytes) -> None:
        rewrite(root, "derived", layers=[blob(root, b"w", "model"), blob(root, text, "params")])
        assert folder_store(root).find("derived").state == "unreadable"

    def test_a_digest_cannot_lead_out_of_the_store(self, root: Path) -> None:
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../etc/passwd", "size": 1}
        rewrite(root, "derived", layers=[layer])
        assert folder_store(root).find("derived").state == "unreadable"

    def test_no_store_at_all(self, tmp_path: Path) -> None:
        store = folder_store(tmp_path / "nowhere")
        assert store.find("smol").state == "absent"
        assert store.models() == ()
        assert store.free_bytes() is not None

    def test_a_manifest_of_endless_size(self, root: Path) -> None:
        with manifest_of(root, "derived").open("r+b") as file:
            file.truncate(2**30)
        assert folder_store(root).find("derived").state == "unreadable"

    def test_a_store_of_another_user(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(self: Path) -> Iterator[Path]:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "iterdir", refuse)
        model = folder_store(root).find("derived")
        assert model.state == "unreadable"
        assert "belongs to another user" in model.reason

    def test_files_that_are_no_manifests(self, root: Path) -> None:
        (root / "manifests" / ".DS_Store").write_text("x")
        (root / "manifests" / "registry.ollama.ai" / "library" / "smol").mkdir()
        assert len(folder_store(root).models()) == 7


class _Files:
    """A container whose volume is a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refuse = False

    def _path(self, ref: str, path: str) -> Path:
        if self.refuse:
            raise EngineRefused("no such container", id="container-gone")
        assert ref == "nuc-main"
        assert path.startswith("/root/.ollama/models/")
        return self.root / path.removeprefix("/root/.ollama/models/")

    def get_file(self, ref: str, path: str) -> bytes | None:
        file = self._path(ref, path)
        return file.read_bytes() if file.is_file() else None

    def get_tree(self, ref: str, path: str) -> dict[str, bytes] | None:
        folder = self._path(ref, path)
        files = [file for file in folder.rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files} if folder.is_dir() else None

    def file_size(self, ref: str, path: str) -> int | None:
        file = self._path(ref, path)
        return file.stat().st_size if file.is_file() else None


class TestInAContainer:
    def test_reads_what_a_folder_reads(self, root: Path) -> None:
        store = container_store(_Files(root), "nuc-main", "/root/.ollama/models")
        assert store.models() == folder_store(root).models()
        assert store.free_bytes() is None

    def test_the_disk_is_that_of_the_folder_on_this_machine(self, root: Path) -> None:
        store = container_store(_Files(root), "nuc-main", "/root/.ollama/models", disk=root)
        assert store.free_bytes() == pytest.approx(shutil.disk_usage(root).free, rel=0.1)

    def test_an_engine_that_refuses_is_told(self, root: Path) -> None:
        files = _Files(root)
        files.refuse = True
        model = container_store(files, "nuc-main", "/root/.ollama/models").find("derived")
        assert model.state == "unreadable"
        assert "no such container" in model.reason

    def test_a_new_volume_is_empty(self, tmp_path: Path) -> None:
        store = container_store(_Files(tmp_path), "nuc-main", "/root/.ollama/models")
        assert store.find("smol").state == "absent"
