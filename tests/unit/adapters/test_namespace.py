"""The name of a network namespace."""

from __future__ import annotations

from pathlib import Path

from homellm.adapters.namespace import network_namespace


def test_the_same_process_has_the_same_name_and_another_namespace_or_boot_another(tmp_path: Path) -> None:
    boot, other_boot, namespace, other = (tmp_path / name for name in ("boot", "boot2", "net", "net2"))
    boot.write_text("0d9e\n")
    other_boot.write_text("1e8f\n")
    namespace.touch()
    other.touch()
    mine = network_namespace(boot, namespace)
    assert len(mine) == 16
    assert network_namespace(boot, namespace) == mine
    assert len({mine, network_namespace(boot, other), network_namespace(other_boot, namespace)}) == 3


def test_it_can_be_read_here_and_is_empty_where_there_is_no_proc(tmp_path: Path) -> None:
    assert len(network_namespace()) == 16
    assert network_namespace(tmp_path / "none", tmp_path / "none") == ""
