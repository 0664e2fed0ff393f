"""Which addresses exclude each other when one port is published on both; each pair was tried on Engine 20.10."""

import pytest

from homellm.domain.addresses import address_of, overlapping


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "192.168.1.2", False),
        ("127.0.0.1", "0.0.0.0", True),
        ("127.0.0.1", "", True),
        ("0.0.0.0", "192.168.1.2", True),
        ("::1", "::1", True),
        ("::1", "[::]", True),
        ("::1", "fd00::2", False),
        ("::1", "127.0.0.1", False),
        ("::", "127.0.0.1", False),
        ("::", "0.0.0.0", False),
        ("::", "", False),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
    ],
)
def test_overlapping(one, other, expected):
    assert overlapping(one, other) is expected
    assert overlapping(other, one) is expected


def test_what_is_no_address():
    with pytest.raises(ValueError, match="nuc"):
        address_of("nuc")
