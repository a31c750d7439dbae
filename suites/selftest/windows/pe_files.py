"""Small Windows libraries made up byte by byte, whole or with one thing wrong, for the selftests of what reads them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

HEAD, OPTIONAL = 0x80, 0x98
SECTIONS = OPTIONAL + 112 + 8 * 16
CODE, DATA = 0x1000, 0x2000
PREFERRED = 0x180000000
EXECUTABLE, READABLE, CHANGEABLE = 0x60000020, 0x40000040, 0xC0000040


@dataclass
class Made:
    """A library of two sections: ``code`` at 0x1000 with an entry point, ``data`` at 0x2000 with what directories name.

    Every member may be changed before :meth:`content` is asked for.
    """

    machine: int = 0x8664
    flags: int = 0x2022
    magic: int = 0x20B
    alignment: int = 0x1000
    size: int = 0x3000
    entry: int = CODE
    code: bytes = b"\xb8\x01\x00\x00\x00\xc3"  # mov eax, 1; ret
    code_flags: int = EXECUTABLE
    data: bytearray = field(default_factory=lambda: bytearray(0x800))
    data_flags: int = CHANGEABLE
    directories: dict[int, tuple[int, int]] = field(default_factory=dict)

    def put(self, place: int, content: bytes) -> int:
        """Write into the data and return where that is in the image."""
        self.data[place : place + len(content)] = content
        return DATA + place

    def content(self) -> bytes:
        head = bytearray(0x400)
        head[:2] = b"MZ"
        struct.pack_into("<I", head, 0x3C, HEAD)
        struct.pack_into("<4sHHIIIHH", head, HEAD, b"PE\0\0", self.machine, 2, 0, 0, 0, 112 + 8 * 16, self.flags)
        struct.pack_into("<H14xI4xQI", head, OPTIONAL, self.magic, self.entry, PREFERRED, self.alignment)
        struct.pack_into("<II", head, OPTIONAL + 56, self.size, 0x400)
        struct.pack_into("<I", head, OPTIONAL + 108, 16)
        for number, place in self.directories.items():
            struct.pack_into("<II", head, OPTIONAL + 112 + 8 * number, *place)
        code = self.code.ljust(0x200, b"\0")
        for place, (name, start, size, raw, flags) in enumerate(
            (
                (b".text", CODE, len(code), 0x400, self.code_flags),
                (b".data", DATA, len(self.data), 0x600, self.data_flags),
            )
        ):
            struct.pack_into("<8sIIII12xI", head, SECTIONS + 40 * place, name, size, start, size, raw, flags)
        return bytes(head) + code + bytes(self.data)


def whole() -> Made:
    """A library with relocations, imports, exports, a table for unwinding and a version, all of them sound."""
    made = Made()
    made.put(0x00, struct.pack("<Q", PREFERRED + CODE))  # an address, to be relocated
    made.directories[5] = made.put(0x10, struct.pack("<IIHH", DATA, 12, 0xA000, 0)), 12
    names = made.put(0x40, struct.pack("<QQQQ", DATA + 0x80, 1 << 63 | 43, 0, 0))
    slots = made.put(0x60, bytes(32))
    made.put(0x80, b"\0\0GetLastError\0")
    owner = made.put(0xA0, b"KERNEL32.dll\0")
    made.directories[1] = made.put(0xC0, struct.pack("<IIIII20x", names, 0, 0, owner, slots)), 40
    functions, texts = made.put(0x100, struct.pack("<I", CODE)), made.put(0x104, struct.pack("<I", DATA + 0x120))
    ordinals = made.put(0x108, struct.pack("<H", 0))
    made.put(0x120, b"answer\0")
    made.directories[0] = made.put(0x140, struct.pack("<20xIIIII", 1, 1, functions, texts, ordinals)), 40
    offset = made.put(0x180, bytes((1, 0, 0, 0)))
    made.directories[3] = made.put(0x190, struct.pack("<III", CODE, CODE + 6, offset)), 12
    made.directories[2] = made.put(0x200, version_tree()), 0x200
    return made


def version_tree() -> bytes:
    """Resources with the version 1.15.4.0, as they lie at 0x2200."""
    tree = bytearray(0x200)
    for directory, number, below in ((0, 16, 0x80000020), (0x20, 1, 0x80000040), (0x40, 1033, 0x60)):
        struct.pack_into("<12xHHII", tree, directory, 0, 1, number, below)
    struct.pack_into("<II", tree, 0x60, DATA + 0x200 + 0x80, 0x40)
    struct.pack_into("<IIII", tree, 0x90, 0xFEEF04BD, 0x10000, 1 << 16 | 15, 4 << 16)
    return bytes(tree)
