"""Messages between the suite and a worker: what the worker trusts, the suite does not."""

from __future__ import annotations

import io
import marshal
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from dmlcts.suites.isolation import framing

MESSAGE = {"id": 7, "do": "lives", "forms": [[4096, [["InputTensor", [1, 1 << 40], None]]]], "forget": False}
Encoder = Callable[[dict[str, Any]], bytes]


def decoded(frame: bytes, *, trusted: bool) -> dict[str, Any]:
    return framing.decode(io.BytesIO(frame).read, trusted=trusted)


def framed(payload: bytes) -> bytes:
    return struct.pack("<4sII", b"DMLM", len(payload), zlib.crc32(payload)) + payload


@pytest.mark.parametrize("encode", [framing.encode, framing.encode_trusted])
def test_a_worker_understands_both_formats(encode: Encoder) -> None:
    assert decoded(encode(MESSAGE), trusted=True) == MESSAGE


def test_the_suite_understands_json_alone() -> None:
    assert decoded(framing.encode(MESSAGE), trusted=False) == MESSAGE
    with pytest.raises(framing.GarbledFrame, match="begins with b'DMLM'"):
        decoded(framing.encode_trusted(MESSAGE), trusted=False)


@pytest.mark.parametrize(
    "payload", [b"", marshal.dumps(MESSAGE)[:-3], b"\xff" * 8, marshal.dumps([1])], ids=["none", "cut", "no", "list"]
)
def test_what_is_no_message_is_garbled(payload: bytes) -> None:
    with pytest.raises(framing.GarbledFrame, match=r"a message (cannot be read|is no object)"):
        decoded(framed(payload), trusted=True)


@pytest.mark.parametrize("encode", [framing.encode, framing.encode_trusted])
def test_a_changed_byte_is_seen(encode: Encoder) -> None:
    frame = bytearray(encode(MESSAGE))
    frame[-4] ^= 1
    with pytest.raises(framing.GarbledFrame, match="checksum"):
        decoded(bytes(frame), trusted=True)
