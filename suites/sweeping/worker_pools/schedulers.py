"""Whether a Dask scheduler stands at an address, found out in bounded time and memory before Dask is let go at it.

Dask believes the first eight bytes that come from a connection to be a length, and asks for so much memory: another
server's answer can be a length of exabytes. A scheduler speaks first, and says in a few dozen bytes what it is: the
number of bytes that follow, the number of frames in them, each frame's length, and a msgpack map in the first frame.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from dmlcts.specs import UsageError

_MOST_BYTES = 1 << 16
_KEYS = {"compression", "python", "pickle-protocol"}
_WORD = struct.Struct("<Q")


def check_scheduler(address: str, seconds: float) -> None:
    """Make sure that what answers at an address speaks as a Dask scheduler does.

    Only plain TCP is looked at; other transports begin with a handshake of their own, which a stranger does not pass.

    Args:
        address: as in ``tcp://192.0.2.1:8786``.
        seconds: within which it must answer.

    Raises:
        UsageError: the address is none, nobody answers there, or somebody else.
    """
    from distributed.comm.addressing import parse_address, parse_host_port

    mend = "start `dask scheduler` there, and give the address that it prints"
    try:
        scheme, location = parse_address(address)
        if scheme != "tcp":
            return
        host, port = parse_host_port(location)
        greeting = _greeting_fault(host, port, seconds)
    except (OSError, ValueError, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError(f"no scheduler answers at {address}: {reason}", mend) from None
    if greeting:
        raise UsageError(f"what answers at {address} is no Dask scheduler: {greeting}", mend)


def _greeting_fault(host: str, port: int, seconds: float) -> str:
    """What is wrong with the first message from there, in words; "" for nothing."""
    deadline = time.monotonic() + seconds
    with socket.create_connection((host, port), timeout=seconds) as connection:
        try:
            (length,) = _WORD.unpack(_read(connection, _WORD.size, deadline))
            if not _WORD.size <= length <= _MOST_BYTES:
                return f"its first message would have {length} bytes"
            message = _read(connection, length, deadline)
        except TimeoutError:
            return f"it says nothing that is whole within {seconds:g} s"
        except EOFError:
            return "it closes the connection"
    return "" if _is_greeting(message) else "its first message is no greeting"


def _read(connection: socket.socket, count: int, deadline: float) -> bytes:
    taken = b""
    while len(taken) < count:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        chunk = connection.recv(count - len(taken))
        if not chunk:
            raise EOFError
        taken += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
    return taken


def _is_greeting(message: bytes) -> bool:
    import msgpack

    (frames,) = _WORD.unpack_from(message)
    start = _WORD.size * (1 + frames)
    if not 0 < frames <= len(message) // _WORD.size or start > len(message):
        return False
    (length,) = _WORD.unpack_from(message, _WORD.size)
    try:
        greeting: Any = msgpack.unpackb(message[start : start + length])
    except (ValueError, msgpack.UnpackException):
        return False
    return isinstance(greeting, dict) and set(greeting) >= _KEYS
