"""Single changes of files, variables, the call, and of what is kept."""

from __future__ import annotations

import os

from tests.unit.unchanged.changes_far import Change
from tests.unit.unchanged.scene import Scene


def model_touched(scene: Scene) -> None:
    os.utime(scene.model_file)


def model_replaced(scene: Scene) -> None:
    other = scene.model_file.with_name("other")
    other.write_bytes(scene.model_file.read_bytes())
    other.replace(scene.model_file)


def model_behind_a_link(scene: Scene) -> None:
    other = scene.model_file.with_name("other")
    scene.model_file.rename(other)
    scene.model_file.symlink_to(other)


def model_gone(scene: Scene) -> None:
    scene.model_file.unlink()


def docker_context_chosen(scene: Scene) -> None:
    scene.docker_config.parent.mkdir()
    scene.docker_config.write_text('{"currentContext": "elsewhere"}')


def stack_file_changed(scene: Scene) -> None:
    """In the same second, with the same size, and with its times set back."""
    before = scene.file.stat()
    scene.file.write_text(scene.file.read_text().replace("m.gguf", "n.gguf"))
    os.utime(scene.file, ns=(before.st_atime_ns, before.st_mtime_ns))


def stack_file_gone(scene: Scene) -> None:
    scene.file.unlink()


def variable_of_the_file(scene: Scene) -> None:
    scene.environ["A_VALUE"] = "b"


def variable_of_the_file_unset(scene: Scene) -> None:
    del scene.environ["A_VALUE"]


def another_engine_named(scene: Scene) -> None:
    scene.environ["DOCKER_HOST"] = "unix:///elsewhere.sock"


def without_colour(scene: Scene) -> None:
    scene.environ["NO_COLOR"] = "1"


def another_hub_cache(scene: Scene) -> None:
    scene.environ["HF_HOME"] = "/elsewhere"


def root_of_the_machine_named(scene: Scene) -> None:
    scene.environ["HOMELLM_HOST_ROOT"] = "/host"


def switched_off(scene: Scene) -> None:
    scene.environ["HOMELLM_NO_SHORT_CUT"] = "1"


def asked_for_json(scene: Scene) -> None:
    scene.argv = [*scene.argv, "--format", "json"]


def asked_for_one_model(scene: Scene) -> None:
    scene.argv = [*scene.argv, "m0"]


def told_in_another_encoding(scene: Scene) -> None:
    scene.stdout.encoding = "ascii"  # type: ignore[misc]


def told_to_nobody(scene: Scene) -> None:
    scene.stdout = None  # type: ignore[assignment]


def witness_cut(scene: Scene) -> None:
    data = scene.kept.read_bytes()
    scene.kept.write_bytes(data[: len(data) // 2])


def witness_of_another_format(scene: Scene) -> None:
    scene.kept.write_text(scene.kept.read_text().replace('"format": 1', '"format": 0'))


def witness_without_facts(scene: Scene) -> None:
    scene.kept.write_text('{"format": 1, "subject": {}, "facts": {}}')


def witness_open_to_others(scene: Scene) -> None:
    scene.kept.chmod(0o666)


def witness_huge(scene: Scene) -> None:
    with scene.kept.open("ab") as file:
        file.write(b" " * 2**20)


def witness_behind_a_link(scene: Scene) -> None:
    kept = scene.kept
    kept.rename(scene.folder / "moved")
    kept.symlink_to(scene.folder / "moved")


def witness_a_pipe(scene: Scene) -> None:
    kept = scene.kept
    kept.unlink()
    os.mkfifo(kept)


NEAR: tuple[Change, ...] = (
    *(model_touched, model_replaced, model_behind_a_link, model_gone, docker_context_chosen),
    *(stack_file_changed, stack_file_gone, variable_of_the_file, variable_of_the_file_unset),
    *(another_engine_named, without_colour, another_hub_cache, root_of_the_machine_named, switched_off),
    *(asked_for_json, asked_for_one_model, told_in_another_encoding, told_to_nobody),
    *(witness_cut, witness_of_another_format, witness_without_facts, witness_open_to_others, witness_huge),
    *(witness_behind_a_link, witness_a_pipe),
)
