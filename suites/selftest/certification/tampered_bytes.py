"""Archives whose very bytes were tampered with: what a ZIP file can say besides its members.

Each is of one submission, rightly signed, whose members are untouched; the file around them is not.
"""

from __future__ import annotations

import io
import itertools
import struct
import zipfile
from collections.abc import Callable

from dmlcts.reports.certification import archive
from dmlcts.suites.selftest.certification.submissions import Parts, rezipped
from dmlcts.suites.selftest.certification.tampered_archives import ARCHIVES, Tampering, changed_member, with_member

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_OTHER = "is not written as|is no ZIP file that can be read|has something (before|after)|holds "


def patched(signature: bytes, offset: int, value: bytes) -> Tampering:
    """The first header of a kind with some of its bytes changed."""

    def tamper(parts: Parts) -> bytes:
        packed = bytearray(parts.packed())
        start = packed.index(signature) if signature == LOCAL else packed.rindex(signature)
        assert packed[start + offset : start + offset + len(value)] != value
        packed[start + offset : start + offset + len(value)] = value
        return bytes(packed)

    return tamper


def reassembled(change: Callable[[list[tuple[bytes, bytes]], bytearray, bytes], bytes]) -> Tampering:
    """The file put together anew from its local parts, its central directory and its end."""

    def tamper(parts: Parts) -> bytes:
        packed = parts.packed()
        end = packed.rindex(END)
        start = struct.unpack_from("<L", packed, end + 16)[0]
        with zipfile.ZipFile(io.BytesIO(packed)) as made:
            offsets = [*(entry.header_offset for entry in made.infolist()), start]
        local = [(packed[first:last], b"") for first, last in itertools.pairwise(offsets)]
        return change(local, bytearray(packed[start:end]), packed[end:])

    return tamper


def _joined(local: list[tuple[bytes, bytes]], central: bytes, count: int) -> bytes:
    """Local parts with something behind each, the directory with their offsets mended, and an end."""
    result, offset, directory = b"", 0, bytearray(central)
    place = 0
    for data, behind in local:
        directory[place + 42 : place + 46] = struct.pack("<L", offset)
        name, extra, comment = struct.unpack_from("<3H", directory, place + 28)
        place += 46 + name + extra + comment
        result += data + behind
        offset += len(data) + len(behind)
    end = struct.pack("<4s4H2LH", END, 0, 0, count, count, len(directory), offset, 0)
    return result + bytes(directory) + end


def hidden_between(local: list[tuple[bytes, bytes]], central: bytearray, end: bytes) -> bytes:
    return _joined([(local[0][0], b"hidden"), *local[1:]], bytes(central), len(local))


def hidden_before_the_directory(local: list[tuple[bytes, bytes]], central: bytearray, end: bytes) -> bytes:
    return _joined([*local[:-1], (local[-1][0], b"hidden")], bytes(central), len(local))


def a_member_that_no_directory_names(local: list[tuple[bytes, bytes]], central: bytearray, end: bytes) -> bytes:
    return _joined([(local[0][0], local[0][0]), *local[1:]], bytes(central), len(local))


def in_another_order(local: list[tuple[bytes, bytes]], central: bytearray, end: bytes) -> bytes:
    first = 46 + sum(struct.unpack_from("<3H", central, 28))
    turned = bytes(central[first:] + central[:first])
    return _joined([*local[1:], local[0]], turned, len(local))


def repacked(compression: int, **options: int) -> Tampering:
    """What another tool makes of the same members."""

    def tamper(parts: Parts) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", compression, **options) as made:
            for name, data in sorted(parts.sealed().items()):
                made.writestr(name, data)
        return stream.getvalue()

    return tamper


def twice(parts: Parts) -> bytes:
    return parts.packed() * 2


def one_inside_another(parts: Parts) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("submission.zip", parts.packed())
    return stream.getvalue()


_UNICODE_PATH = struct.pack("<HHBL", 0x7075, 5 + len("evil.txt"), 1, 0) + b"evil.txt"
_CHANGES: dict[str, Tampering] = {
    "hidden bytes between members": reassembled(hidden_between),
    "hidden bytes before the directory": reassembled(hidden_before_the_directory),
    "a member that no directory names": reassembled(a_member_that_no_directory_names),
    "members in another order": reassembled(in_another_order),
    "a member's comment": changed_member("log.txt", comment=b"hidden"),
    "an extra field": changed_member("log.txt", extra=struct.pack("<HH4s", 0x9999, 4, b"evil")),
    "a name by an extra field": changed_member("log.txt", extra=_UNICODE_PATH),
    "a time": changed_member("log.txt", date_time=(2026, 11, 21, 12, 0, 0)),
    "a setuid bit": changed_member("log.txt", external_attr=0o104644 << 16),
    "a sticky bit": changed_member("log.txt", external_attr=0o101644 << 16),
    "a program's bits": changed_member("log.txt", external_attr=0o100755 << 16),
    "no bits at all": changed_member("log.txt", external_attr=0),
    "a hidden attribute": changed_member("log.txt", external_attr=(0o100644 << 16) | 2),
    "another system's file": changed_member("log.txt", create_system=0),
    "another version's file": changed_member("log.txt", create_version=63),
    "a file for another version": changed_member("log.txt", extract_version=45),
    "a text's mark": changed_member("log.txt", internal_attr=1),
    "a reserved byte": changed_member("log.txt", reserved=1),
    "a second count": patched(END, 8, b"\x01\x00"),
    "a count of nothing": patched(END, 10, b"\x00\x00"),
    "another disk": patched(END, 4, b"\x01\x00"),
    "the directory on another disk": patched(END, 6, b"\x01\x00"),
    "a directory that is shorter than it says": patched(END, 12, b"\xff\x00"),
    "a directory elsewhere": patched(END, 16, b"\x00\x00\x00\x00"),
    "a comment that is not there": patched(END, 20, b"\x01\x00"),
    "a flag in the local header": patched(LOCAL, 6, b"\x08"),
    "a name in UTF-8": patched(LOCAL, 7, b"\x08"),
    "another name in the local header": patched(LOCAL, 30, b"x"),
    "another size in the local header": patched(LOCAL, 18, b"\x01\x00\x00\x00"),
    "another checksum in the local header": patched(LOCAL, 14, b"\x00\x00\x00\x01"),
    "another time in the local header": patched(LOCAL, 10, b"\x01"),
    "another version in the local header": patched(LOCAL, 4, b"\x3f"),
    "a local header that is none": patched(LOCAL, 0, b"PX"),
    "a directory that is none": patched(CENTRAL, 0, b"PX"),
    "another checksum in the directory": patched(CENTRAL, 16, b"\x00\x00\x00\x01"),
    "another size in the directory": patched(CENTRAL, 24, b"\x01\x00\x00\x00"),
    "an offset beyond the file": patched(CENTRAL, 42, b"\xff\xff\xff\x7f"),
    "compressed by another tool": repacked(zipfile.ZIP_DEFLATED),
    "compressed well by another tool": repacked(zipfile.ZIP_DEFLATED, compresslevel=9),
    "stored by another tool": repacked(zipfile.ZIP_STORED),
    "compressed with LZMA": repacked(zipfile.ZIP_LZMA),
    "a line behind it": lambda parts: parts.packed() + b"\n",
    "a zero behind it": lambda parts: parts.packed() + b"\x00",
    "a zero before it": lambda parts: b"\x00" + parts.packed(),
    "a program before it": lambda parts: b"MZ" + bytes(510) + parts.packed(),
    "a picture before it": lambda parts: b"\x89PNG\r\n\x1a\n" + bytes(100) + parts.packed(),
    "the file twice": twice,
    "one inside another": one_inside_another,
    "one byte too few": lambda parts: parts.packed()[:-1],
    "nothing": lambda parts: b"",
    "an end alone": lambda parts: END + bytes(18),
    "zeros": lambda parts: bytes(1 << 20),
    "its first half": lambda parts: parts.packed()[: len(parts.packed()) // 2],
    "an end of 64 bits": lambda parts: parts.packed()[:-22] + b"PK\x06\x07" + bytes(16) + parts.packed()[-22:],
}
_NAMES = (
    "LOG.TXT",
    "log.txt ",
    "log.txt.",
    "statement.json/",
    "./statement.json",
    "statement.json\\x",
    "statement..json",
    "stätement.json",
    "statement.json:stream",
    "con",
    "records-1-of-100.jsonl",
    "records-01-of-1.jsonl",
    "records-1-of-1.jsonl.gz",
    "Records-1-of-1.jsonl",
    "waivers.yml",
    "__MACOSX",
    "..",
    "\u202etxt.gol",
)
ARCHIVES |= {name: (tamper, "archive", _OTHER) for name, tamper in _CHANGES.items()}
ARCHIVES |= {f"a member called {name!r}": (with_member(name), "archive", "holds ") for name in _NAMES}
ARCHIVES["a member of nothing"] = (
    lambda parts: rezipped(parts.packed(), lambda made, members: members.update({archive.LOG: b""})),
    "digests",
    "log.txt is not the file that the statement lists",
)
