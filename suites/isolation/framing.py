"""Messages between the suite and a worker: a checked header, then JSON. Nothing that arrives is trusted.

A frame is the mark ``DMLC``, the payload's length and its CRC-32 (both little-endian, 4 bytes), and the payload:
a JSON object in UTF-8. A worker that overwrites its own memory may send anything; whatever is not exactly such a
frame is a :class:`GarbledFrame`, never an exception of another kind and never an endless read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

_MARK = b"DMLC"
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
    payload = _ENCODER.encode(message).encode()
    if len(payload) > MOST_BYTES:
        raise ValueError(f"a message of {len(payload)} bytes; at most {MOST_BYTES} travel")
    return _HEADER.pack(_MARK, len(payload), zlib.crc32(payload)) + payload


def decode(read: Callable[[int], bytes]) -> dict[str, Any]:
    """The next message.

    Args:
        read: gives exactly as many bytes as asked for, or raises.

    Raises:
        GarbledFrame: the bytes are no frame.
    """
    mark, length, checksum = _HEADER.unpack(read(HEADER_BYTES))
    if mark != _MARK:
        raise GarbledFrame(f"a message begins with {mark!r} where {_MARK!r} is due")
    if length > MOST_BYTES:
        raise GarbledFrame(f"a message claims {length} bytes, at most {MOST_BYTES} are allowed")
    payload = read(length)
    if zlib.crc32(payload) != checksum:
        raise GarbledFrame("a message does not have the checksum that it claims")
    try:
        message = _DECODER.decode(payload.decode())
    except (ValueError, RecursionError) as error:
        raise GarbledFrame(f"a message is no JSON ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise GarbledFrame("a message is no JSON object")
    return message
