"""Messages between the suite and a worker: a checked header, then JSON. Nothing that arrives at the suite is trusted.

A frame is the mark ``DMLC``, the payload's length and its CRC-32 (both little-endian, 4 bytes), and the payload:
a JSON object in UTF-8. A worker that overwrites its own memory may send anything; whatever is not exactly such a
frame is a :class:`GarbledFrame`, never an exception of another kind and never an endless read.

The worker trusts the suite, which started it: what is asked of it most often comes in Python's own format, in less than
a tenth of the time. Such a frame's mark is ``DMLM``; no reply may have it.
"""

from __future__ import annotations

import json
import marshal
import struct
import zlib
from collections.abc import Callable
from typing import Any

_MARK, _TRUSTED_MARK = b"DMLC", b"DMLM"
_HEADER = struct.Struct("<4sII")
HEADER_BYTES = _HEADER.size
MOST_BYTES = 1 << 20


class GarbledFrame(Exception):  # noqa: N818  # it says what arrived; the suite is not at fault
    """What arrived is no message; the text says in which way."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


# made once: making them takes as long as a message does
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def encode(message: dict[str, Any]) -> bytes:
    """One message as a frame."""
    return _framed(_MARK, _ENCODER.encode(message).encode())


def encode_trusted(message: dict[str, Any]) -> bytes:
    """One message of the suite to a worker, of Python's plain values, as a frame."""
    return _framed(_TRUSTED_MARK, marshal.dumps(message))


def _framed(mark: bytes, payload: bytes) -> bytes:
    if len(payload) > MOST_BYTES:
        raise ValueError(f"a message of {len(payload)} bytes; at most {MOST_BYTES} travel")
    return _HEADER.pack(mark, len(payload), zlib.crc32(payload)) + payload


def decode(read: Callable[[int], bytes], *, trusted: bool = False) -> dict[str, Any]:
    """The next message.

    Args:
        read: gives exactly as many bytes as asked for, or raises.
        trusted: whether the suite sends it, in either format.

    Raises:
        GarbledFrame: the bytes are no frame.
    """
    mark, length, checksum = _HEADER.unpack(read(HEADER_BYTES))
    if mark != _MARK and not (trusted and mark == _TRUSTED_MARK):
        raise GarbledFrame(f"a message begins with {mark!r} where {_MARK!r} is due")
    if length > MOST_BYTES:
        raise GarbledFrame(f"a message claims {length} bytes, at most {MOST_BYTES} are allowed")
    payload = read(length)
    if zlib.crc32(payload) != checksum:
        raise GarbledFrame("a message does not have the checksum that it claims")
    try:
        message = marshal.loads(payload) if mark == _TRUSTED_MARK else _DECODER.decode(payload.decode())  # noqa: S302
    except (ValueError, RecursionError, TypeError, EOFError) as error:  # the last two are marshal's
        raise GarbledFrame(f"a message cannot be read ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise GarbledFrame("a message is no object")
    return message
