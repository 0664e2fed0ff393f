"""The models of an Ollama server beside each other and beside llama-servers: what counts, and what is only told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from homellm.domain.names import LABEL_UNIT
from homellm.domain.stack import Gpu, OllamaServer, Source, Stack, Volume
from homellm.domain.world import Host, HostGpu, ModelFile
from homellm.errors import ExitCode
from homellm.planning.memory import memory_problem
from homellm.planning.memory_ollama import memory_advice
from homellm.sizing import demand_of, needs
from tests.unit.planning.build import container, model, world
from tests.unit.sizing.headers import MIB, QWEN25_7B

GIB = 1024 * MIB
SERVER = OllamaServer("main", store=Volume("/srv/ollama", "/root/.ollama"))
NODE = {"render_node": "renderD128", "render_gid": 993, "render_mode": 0o660}
CARD = HostGpu("0000:03:00.0", "1002:73ff", "amd", "One", "amdgpu", False, memory_bytes=8 * GIB, used_bytes=0, **NODE)
GPUS = (Gpu("one", "vulkan", pci="0000:03:00.0"),)
RUNS = container("nuc-main", labels={LABEL_UNIT: "main"})


def chat(parallel=4, **changes):
    """One of llama-server's: Qwen 2.5 7B, 448 MiB of cache for each slot beside some 4700 MiB."""
    path = "/models/chat.gguf"
    return model(name="chat", source=Source("gguf", path, Path(path)), ctx=8192, parallel=parallel, **changes)


def on_ollama(name, parallel=4, **changes):
    keys = {"source": Source("ollama", name), "runner": "ollama", "server": "main", "ctx": 8192} | changes
    return model(name=name, parallel=parallel, **keys)


def mib(*parallel):
    """What so many of them with these slots need together."""
    return round(sum(needs(QWEN25_7B, demand_of(chat(slots))).total for slots in parallel) / MIB)


def here(models, *, total=24 * GIB, server=SERVER, blobs=None, unknown=None, turn=None, containers=(), gpus=()):
    """The stack and the world; `blobs` names the blob of each model of Ollama's, its own unless given."""
    stack = Stack("nuc", Path("/s.yaml"), models, GPUS, (server,))
    files = {str(one.source.path): _file(str(one.source.path)) for one in models if one.source.path}
    known = {one.name: _file((blobs or {}).get(one.name, one.name)) for one in models if one.runner == "ollama"}
    return stack, world(
        host=Host(readable=True, memory_bytes=total, available_bytes=total - GIB, gpus=gpus),
        model_files=files,
        ollama_weights=known | (unknown or {}),
        gathered_for=frozenset(one.name for one in models) if turn is None else frozenset(turn),
        containers=containers,
    )


def _file(path):
    return ModelFile(path, "ok", header=QWEN25_7B)


def judged(*models, **keys):
    return memory_problem(models[0], *here(models, **keys))


def advised(*models, server=SERVER, **keys):
    return memory_advice(server, *here(models, server=server, **keys))


class TestBesideLlamaServers:
    def test_what_the_machine_cannot_hold_is_refused_with_what_each_takes(self):
        found = judged(chat(30), on_ollama("helper", 20))
        assert (found.id, found.exit_code, found.model) == ("does-not-fit", ExitCode.REFUSED, "chat")
        assert f"chat needs {mib(30)} MiB of system memory and helper {mib(20)} MiB" in found.message
        assert f"together {mib(30, 20)} MiB, and it has 24576 MiB" in found.message

    def test_of_one_server_the_largest_counts_since_it_makes_room(self):
        crowd = [on_ollama(name, slots) for name, slots in (("a", 4), ("b", 14), ("c", 6))]
        assert judged(chat(14), *crowd) is None
        found = judged(chat(30), *crowd)
        assert f"and b {mib(14)} MiB: together {mib(30, 14)} MiB" in found.message

    def test_the_largest_of_each_of_two_servers_count(self):
        second = replace(SERVER, name="second")
        stack, there = here((chat(10), on_ollama("a", 10), on_ollama("b", 10, server="second")))
        assert memory_problem(stack.models[0], stack, there) is None  # the second server is not declared here
        found = memory_problem(stack.models[0], replace(stack, ollama=(SERVER, second)), there)
        assert f"together {mib(10, 10, 10)} MiB" in found.message

    @pytest.mark.parametrize(("keep_alive", "code"), [(-1, ExitCode.REFUSED), ("-1m", ExitCode.REFUSED), ("5m", 0)])
    def test_one_that_lets_go_when_idle_is_no_reason_to_refuse(self, keep_alive, code):
        found = judged(chat(30), on_ollama("helper", 20), server=replace(SERVER, keep_alive=keep_alive))
        assert found.exit_code == code

    def test_one_that_fits_no_machine_is_told_of_its_server_alone(self):
        assert judged(chat(4), on_ollama("helper", 256)) is None
        (found,) = advised(chat(4), on_ollama("helper", 256))
        assert (found.id, found.exit_code) == ("does-not-fit", ExitCode.OK)
        assert f"helper needs {mib(256)} MiB of system memory, which has 24576 MiB" in found.message

    def test_a_server_that_is_neither_meant_nor_runs_takes_nothing(self):
        crowd = (chat(30), on_ollama("helper", 20))
        assert judged(*crowd, turn=("chat",)) is None
        assert judged(*crowd, turn=("chat",), containers=(RUNS,)).id == "does-not-fit"

    def test_an_ollama_of_somebody_else_is_not_counted(self):
        foreign = replace(SERVER, url="http://127.0.0.1:11434")
        assert judged(chat(30), on_ollama("helper", 20), server=foreign) is None
        assert advised(on_ollama("helper", 20), on_ollama("other", 40), server=foreign) == ()

    def test_one_that_has_moved_counts_as_what_it_has_moved_to(self):
        args = ("--parallel", "20", "--ctx-size", str(20 * 8192))
        moved = container("nuc-helper", labels={LABEL_UNIT: "helper"}, args=args)
        crowd = (chat(20), on_ollama("helper", 4), on_ollama("other", 6))
        found = judged(*crowd, containers=(RUNS, moved))
        assert f"helper {mib(20)} MiB and other {mib(6)} MiB" in found.message

    def test_what_starts_now_is_held_against_what_is_free_now(self):
        stack, there = here((chat(18), on_ollama("helper", 10)))
        assert memory_problem(stack.models[0], stack, there) is None
        busy = replace(there, host=replace(there.host, available_bytes=20 * GIB))
        found = memory_problem(stack.models[0], stack, busy)
        assert (found.id, found.exit_code) == ("fits-alone", ExitCode.OK)
        running = replace(busy, containers=(RUNS,))  # what it has in memory is not free any more already
        assert memory_problem(stack.models[0], stack, running) is None


class TestInTurns:
    def test_all_at_once_do_not_fit_and_nothing_is_refused(self):
        crowd = [on_ollama(name, 20) for name in ("a", "b")]
        (found,) = advised(*crowd)
        assert (found.id, found.exit_code) == ("fits-in-turns", ExitCode.OK)
        each = f"{mib(20)} MiB"
        assert f"need a {each} and b {each} of system memory: together {mib(20, 20)} MiB" in found.message
        assert "max_loaded_models" in found.hint

    def test_what_runs_beside_them_is_told(self):
        (found,) = advised(chat(20), *(on_ollama(name, 10) for name in ("a", "b")))
        assert f"of system memory, beside chat {mib(20)} MiB: together" in found.message

    @pytest.mark.parametrize(("most", "told"), [(None, True), (0, True), (3, True), (2, False), (1, False)])
    def test_as_many_as_it_may_load_at_once_the_largest(self, most, told):
        crowd = [on_ollama(name, 8) for name in ("a", "b", "c")]
        assert bool(advised(*crowd, server=replace(SERVER, max_loaded_models=most))) is told

    def test_weights_of_two_names_lie_in_memory_once(self):
        crowd = [on_ollama(name, 20) for name in ("a", "b")]
        assert advised(*crowd, blobs={"a": "one", "b": "one"}) == ()

    @pytest.mark.parametrize(("size", "told"), [(8, True), (24, False)])
    def test_beside_another_one_goes_to_a_card_as_a_whole(self, size, told):
        card = replace(CARD, memory_bytes=size * GIB)
        crowd = [on_ollama(name, 4) for name in ("a", "b")]
        found = advised(*crowd, server=replace(SERVER, gpu="one"), gpus=(card,))
        assert [("(0000:03:00.0)" in one.message, one.id) for one in found] == (
            [(True, "fits-in-turns")] if told else []
        )

    def test_alone_it_goes_to_a_card_as_far_as_it_fits(self):
        keys = {"server": replace(SERVER, gpu="one"), "gpus": (CARD,), "total": 8 * GIB}
        assert advised(on_ollama("a", 16), **keys) == ()
        (found,) = advised(on_ollama("a", 30), **keys)
        assert found.id == "does-not-fit"


class TestNotKnown:
    @pytest.mark.parametrize(
        ("state", "reason", "kept", "told"),
        [
            ("missing", "it is not here yet", False, True),
            ("missing", "it is not here yet", True, True),
            ("unreadable", "its store cannot be read from here", False, True),
            ("unreadable", "its store cannot be read from here", True, False),
        ],
    )
    def test_it_is_said_and_never_taken_for_nothing(self, state, reason, kept, told):
        models = (on_ollama("helper"), on_ollama("other"))
        unknown = {"other": ModelFile("", state, reason=reason)}
        found = memory_advice(SERVER, *here(models, unknown=unknown), kept=kept)
        message = f"how much memory is needed is not known, and not judged, of other ({reason})"
        assert [(one.id, one.message, one.exit_code) for one in found] == (
            [("memory-unknown", message, ExitCode.OK)] if told else []
        )

    def test_a_cache_type_that_nobody_has_is_told_elsewhere(self):
        assert advised(on_ollama("a"), server=replace(SERVER, kv_cache_type="q9_9")) == ()
