"""Which listening IPv6 sockets take no IPv4: the kernel's sock_diag tells, /proc/net/tcp6 does not.

Source of the layout: sock_diag(7) and include/uapi/linux/inet_diag.h. Anybody may ask; the answer is of the network
namespace that this process is in.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Iterator

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST, NLM_F_ROOT, NLM_F_MATCH
_ERROR, _DONE = 2, 3  # NLMSG_ERROR, NLMSG_DONE
_LISTENING = 1 << 10  # TCP_LISTEN in idiag_states
_V6ONLY = 11  # INET_DIAG_SKV6ONLY

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_REQUEST = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2, its socket id all zero
_INODE = struct.Struct("=68xI")  # struct inet_diag_msg, up to the last of its fields
_ATTRIBUTE = struct.Struct("=HH")  # struct rtattr
#: The kernel answers a dump at once, out of its own memory.
_ANSWER_S = 1.0
_BUFFER_BYTES = 1 << 16


def v6only_inodes(make: Callable[[int, int, int], socket.socket] = socket.socket) -> frozenset[str]:
    """The inodes of this network namespace's listening IPv6 sockets that take no IPv4; empty where it cannot be told.

    An inode names one socket of the whole machine, so it may be looked for in another namespace's table as well.
    """
    try:
        with make(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
            kernel.settimeout(_ANSWER_S)
            request = _REQUEST.pack(socket.AF_INET6, socket.IPPROTO_TCP, 0, _LISTENING)
            kernel.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
            return frozenset(inode for body in _answers(kernel) for inode in _if_v6only(body))
    except (OSError, AttributeError, struct.error):
        return frozenset()  # not Linux, IPv6 is off, or a sandbox forbids netlink


def _answers(kernel: socket.socket) -> Iterator[bytes]:
    while True:
        data = kernel.recv(_BUFFER_BYTES)
        for kind, body in _parts(data):
            if kind in (_ERROR, _DONE):
                return
            yield body


def _parts(data: bytes) -> Iterable[tuple[int, bytes]]:
    """(type, body) of each message of a datagram; they are aligned to four bytes."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        yield kind, data[at + _HEADER.size : at + length]
        at += _aligned(max(length, _HEADER.size))


def _if_v6only(body: bytes) -> Iterator[str]:
    at = _INODE.size
    while at + _ATTRIBUTE.size < len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if kind == _V6ONLY and body[at + _ATTRIBUTE.size]:
            yield str(_INODE.unpack_from(body)[0])
        at += _aligned(max(length, _ATTRIBUTE.size))


def _aligned(length: int) -> int:
    return (length + 3) & ~3
