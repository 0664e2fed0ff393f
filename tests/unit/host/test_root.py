"""Symlinks are followed within the root, as the machine itself would follow them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homellm.adapters.host.root import HostRoot
from tests.fakes.host_tree import HostTree


def _tree(tmp_path: Path) -> tuple[HostTree, HostRoot]:
    tree = HostTree(tmp_path / "root")
    (tmp_path / "outside").write_text("of another machine")
    tree.file("/sys/devices/a/name", "inside\n")
    return tree, HostRoot(tree.root)


def test_a_relative_link(tmp_path: Path) -> None:
    tree, root = _tree(tmp_path)
    tree.link("/sys/bus/a", "../devices/a")
    assert root.text("/sys/bus/a/name") == "inside"
    assert root.resolve("/sys/bus/a") == "/sys/devices/a"
    assert root.target("/sys/bus/a") == "a"


def test_an_absolute_link_starts_at_the_root(tmp_path: Path) -> None:
    tree, root = _tree(tmp_path)
    tree.link("/var/run", "/sys/devices")
    assert root.text("/var/run/a/name") == "inside"
    tree.link("/leak", str(tmp_path / "outside"))
    assert root.text("/leak") is None


def test_parents_never_leave_the_root(tmp_path: Path) -> None:
    tree, root = _tree(tmp_path)
    tree.link("/sys/up", "../../../../../outside")
    assert root.text("/sys/up") is None
    assert root.text("/../../outside") is None
    tree.link("/sys/back", "../../../../sys/devices/a/name")
    assert root.text("/sys/back") == "inside"


def test_a_parent_after_a_link_is_that_of_its_target(tmp_path: Path) -> None:
    tree, root = _tree(tmp_path)
    tree.link("/short", "/sys/devices/a")
    assert root.resolve("/short/../b") == "/sys/devices/b"


def test_a_loop_is_absent(tmp_path: Path) -> None:
    tree, root = _tree(tmp_path)
    tree.link("/one", "/two")
    tree.link("/two", "/one")
    assert root.resolve("/one/x") is None
    assert root.text("/one") is None
    assert root.names("/one") == ()
    assert not root.exists("/one")


def test_what_is_absent_or_no_file_is_none(tmp_path: Path) -> None:
    _, root = _tree(tmp_path)
    assert root.text("/nowhere") is None
    assert root.data("/sys/devices/a") is None
    assert root.number("/sys/devices/a/name") is None
    assert root.names("/sys/devices/a/name") == ()
    assert root.target("/nowhere") is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["..", ".", "sys", "a", "link", "", "devices", "abs"]), max_size=12))
def test_no_path_leaves_the_root(tmp_path: Path, parts: list[str]) -> None:
    root_path = tmp_path / "root"
    if not root_path.exists():
        tree = HostTree(root_path)
        tree.file("/sys/devices/a/x", "x")
        tree.link("/sys/devices/a/link", "../../../../../..")
        tree.link("/sys/abs", "/../sys/devices")
    real = HostRoot(root_path).real("/".join(parts))
    assert real is not None
    assert real.resolve().is_relative_to(root_path.resolve())
