"""Sizes, durations and CPU lists."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homellm.loading.units import format_cpus, parse_cpuset, parse_duration, parse_size

GIB = 1024**3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # `docker run --memory X` and then `docker inspect`, Engine 20.10.
        ("8g", 8 * GIB),
        ("8G", 8 * GIB),
        ("8gb", 8 * GIB),
        ("8GB", 8 * GIB),
        ("8GiB", 8 * GIB),
        ("1.5g", 1610612736),
        ("512MiB", 536870912),
        ("512m", 536870912),
        ("64k", 65536),
        ("2t", 2 * 1024**4),
        ("6291456", 6291456),
        ("6291456b", 6291456),
        ("8 g", 8 * GIB),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "g", "8x", "8gg", "8gi", "-8g", "8,5g", "1e3", "8  g", "٨g", ".5g", "9" * 40])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("15m", 900), ("1h30m", 5400), ("2d", 172800), ("1d2h3m4s", 93784), ("0s", 0)]
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "90", "s", "1.5h", "30m1h", "-1s", "1 h", "1ms", "never"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-3", "0-3"),
        ("0", "0"),
        ("3,0-1, 2", "0-3"),
        ("0,2,4-7", "0,2,4-7"),
        ("4-7,0-3", "0-7"),
        ("1,1,1", "1"),
        ("00-03", "0-3"),
        ("8191", "8191"),
    ],
)
def test_cpusets_as_the_kernel_writes_them(text: str, expected: str) -> None:
    assert parse_cpuset(text) == expected


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_of_cpus_reads_back(cpus: set[int]) -> None:
    assert parse_cpuset(",".join(map(str, cpus))) == format_cpus(cpus)
    read = {cpu for part in format_cpus(cpus).split(",") for cpu in _range(part)}
    assert read == cpus


def _range(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
