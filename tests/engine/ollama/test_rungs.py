"""The rungs of the ladder: which one serves where others cannot, none of them tried twice, and its end."""

from __future__ import annotations

import socket

from tests.engine.support.ollama_stack import SLOTS, by_name, chat
from tests.engine.support.sweep import leftovers


def only(result):
    (model,) = by_name(result).values()
    return model


def tried(result):
    """The containers that one `up` made, in their order, from its events."""
    return [
        line.split()[2]
        for line in result.stderr.splitlines() + result.stdout.splitlines()
        if " create homellm-" in line
    ]


def test_a_file_of_ollamas_own_is_served_by_ollamas_own_server(ours, docker_api, prefix):
    result = ours.up()
    assert result.code == 0, result
    model = only(result)
    assert (model["state"], model["runner"], model["fallback"]["rung"]) == ("verified", "llama-server", "bundled")
    assert model["checks"]["slots"]["observed"] == SLOTS
    container = docker_api.inspect_container(f"{prefix}-hybrid")
    assert (container["Config"]["Image"], container["Path"]) == (ours.image, "/usr/lib/ollama/llama-server")
    assert chat(ours.moved_port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]
    again = ours.up()
    assert (again.code, docker_api.inspect_container(f"{prefix}-hybrid")["Id"]) == (0, container["Id"]), again
    table = ours.cli("up", "--force-recreate")
    assert table.code == 0, table
    assert ours.cli("check").code == 0


def test_the_declared_source_is_the_last(bare, docker_api, prefix, tiny_lfm2):
    bare.declare("hybrid", fallback_source=f"gguf:{tiny_lfm2}")
    bare.file()
    result = bare.cli("up")
    assert result.code == 0, result
    # The trial has foretold that upstream refuses the file, so two containers are made for it and no third.
    assert tried(result).count(f"{prefix}-hybrid.next:") == 2, result
    assert "llama-server is passed over: the file is in Ollama's own format" in result.stdout + result.stderr
    model = only(bare.up())
    assert (model["state"], model["fallback"]["rung"]) == ("verified", "source")
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-hybrid", f"{prefix}-main"]


def test_where_no_rung_holds_it_stays_and_says_why(bare, docker_api, prefix, ollama_log, tiny_lfm2):
    result = bare.up()
    assert result.code == 5, result
    model = only(result)
    assert (model["state"], model["runner"], model["fallback"]["rung"]) == ("degraded", "ollama", "ollama")
    assert chat(bare.port, "hybrid") == 200
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]

    # What failed is not tried again, and what is new is.
    bare.file()
    again = bare.cli("up")
    assert again.code == 5, again
    assert (tried(again), ollama_log.loads()) == ([], 1)
    assert "bundled: " in again.stdout
    assert "fallback_source" in again.stdout
    bare.declare("hybrid", fallback_source=f"gguf:{tiny_lfm2}")
    moved = bare.up()
    assert (moved.code, only(moved)["fallback"]["rung"]) == (0, "source"), moved


def test_another_image_is_another_trial(canary, make_instant, docker_api, prefix):
    """A build that cannot read the blob: the next rung serves. Another build is tried, and the model moves there."""
    words = "'error loading model architecture: unknown model architecture: '\"'lfm2'\""
    canary.declare("hybrid", port=canary.moved_port)
    canary.models["hybrid"]["image"] = make_instant(env={"INSTANT_SAY": words, "INSTANT_EXIT": "1"})
    old = canary.up()
    assert (old.code, only(old)["fallback"]["rung"]) == (0, "bundled"), old
    canary.models["hybrid"]["image"] = canary.llama_image
    new = canary.up("--retry-ollama")
    assert (new.code, only(new)["fallback"]["rung"]) == (0, "llama-server"), new
    assert docker_api.inspect_container(f"{prefix}-hybrid")["Config"]["Image"] == canary.llama_image


def test_what_no_build_loads_ends_at_once(canary, smollm2, docker_api, prefix):
    canary.store.add("hybrid", smollm2, family="mllama")
    canary.declare("hybrid", port=canary.moved_port)
    canary.file()
    result = canary.cli("up")
    assert result.code == 5, result
    assert "no build of llama-server loads mllama" in result.stdout
    assert f"{prefix}-hybrid.next:" not in tried(result)


def test_a_port_that_is_taken_ends_it_until_it_is_free(canary, docker_api, prefix):
    canary.declare("hybrid", port=canary.moved_port)
    with socket.socket() as server:
        server.bind(("127.0.0.1", canary.moved_port))
        server.listen()
        result = canary.up()
        assert result.code == 5, result
        model = only(result)
        assert (model["state"], model["runner"]) == ("degraded", "ollama")
        canary.file()
        table = canary.cli("up")
        assert str(canary.moved_port) in table.stdout
        assert "Put that right and run homellm up again." in table.stdout
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]
    freed = canary.up()
    assert (freed.code, only(freed)["runner"]) == (0, "llama-server"), freed


def test_what_fits_neither_beside_it_nor_in_its_place_is_not_started(canary, docker_api, prefix):
    """A context that takes more memory than any machine has; Ollama here does not reckon."""
    canary.declare("hybrid", port=canary.moved_port, ctx=131072, memory="64MiB")
    canary.file()
    result = canary.cli("up")
    assert result.code == 5, result
    assert "llama-server: it needs" in result.stdout
    assert f"{prefix}-hybrid.next:" not in tried(result)
    assert leftovers(docker_api, prefix) == [f"homellm-{prefix}", f"{prefix}-main"]
