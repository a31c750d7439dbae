"""A Windows library's file (PE32+ for x86-64), read and laid out as it lies in memory.

Everything that a file says of itself is checked before it is used: a damaged file is refused by name, and nothing of
it is ever mapped. Source: Microsoft's page "PE Format".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DmlctsError

_PAGE = 4096
_MOST_BYTES = 1 << 30
_MOST_SECTIONS = 96
_X86_64, _PE32_PLUS = 0x8664, 0x20B
_RELOCATIONS_STRIPPED, _IS_LIBRARY = 0x0001, 0x2000
_EXECUTE, _READ, _WRITE = 0x20000000, 0x40000000, 0x80000000
_EXPORTS, _IMPORTS, _RESOURCES, _EXCEPTIONS, _RELOCATIONS, _THREADS, _DELAYED, _MANAGED = 0, 1, 2, 3, 5, 9, 13, 14
_PADDING, _ADDRESS = 0, 10  # types of relocations
_REFUSED = {_THREADS: "storage for each thread", _MANAGED: "code for .NET"}


class BadImage(DmlctsError):  # noqa: N818 - named for what is wrong, as the contract names its errors
    """The file is no Windows library for this processor, or a damaged one, or needs what is not there."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"{cause}; give the DirectML.dll for 64-bit x86 as it was published")
        self.cause = cause


@dataclass(frozen=True)
class Section:
    """A stretch of the image with one protection; numbers are bytes from the image's start."""

    name: str
    start: int
    size: int
    readable: bool
    writable: bool
    executable: bool


@dataclass(frozen=True)
class Import:
    """A function that the library wants: whose it is, its name or "number 43", and where its address goes."""

    library: str
    name: str
    slot: int


@dataclass(frozen=True)
class Image:
    """A library laid out in memory, before it has an address; places are bytes from the image's start.

    Args:
        content: the bytes of the whole image.
        preferred: the address that its own addresses are written for.
        headers: bytes of the headers.
        sections: in order of their places.
        entry: the place of its entry point; 0 for none.
        relocations: the places of 64-bit addresses.
        imports: what it wants.
        exports: the places of its functions by name.
        functions: the place and number of the entries of its table for unwinding.
        resources: the place and size of its resources; (0, 0) for none.
    """

    content: bytes
    preferred: int
    headers: int
    sections: tuple[Section, ...]
    entry: int
    relocations: NDArray[np.int64]
    imports: tuple[Import, ...]
    exports: dict[str, int]
    functions: tuple[int, int]
    resources: tuple[int, int]

    def placed(self, address: int) -> NDArray[np.uint8]:
        """The bytes of the image for that address."""
        made = np.frombuffer(self.content, np.uint8).copy()
        places = self.relocations[:, None] + np.arange(8)
        values = made[places].view("<u8")
        values += np.uint64((address - self.preferred) & 0xFFFFFFFFFFFFFFFF)
        made[places] = values.view(np.uint8)
        return made


def read(path: Path) -> Image:
    """The image of a file.

    Raises:
        OSError: the file cannot be read.
        BadImage: it is not sound.
    """
    return parsed(path.read_bytes())


def parsed(content: bytes) -> Image:
    """The image of a file's content.

    Raises:
        BadImage: it is not sound; the message names the first thing that is wrong.
    """
    return _Reader(content).image()


class _Bytes:
    """Bytes that say which structure they are too short for."""

    def __init__(self, content: bytes, what: str) -> None:
        self.content = content
        self.what = what

    def unpack(self, form: str, place: int, of: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        if place < 0 or place + size > len(self.content):
            raise BadImage(f"{of} at byte {place} lies beyond the {self.what}'s {len(self.content)} bytes")
        numbers: tuple[int, ...] = struct.unpack_from(form, self.content, place)
        return numbers

    def text(self, place: int, of: str) -> str:
        end = self.content.find(b"\0", place, place + 4096) if 0 <= place < len(self.content) else -1
        if end < 0:
            raise BadImage(f"{of} at byte {place} is no text within the {self.what}'s {len(self.content)} bytes")
        return self.content[place:end].decode("latin-1")


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._file = _Bytes(content, "file")
        if content[:2] != b"MZ":
            raise BadImage(f"the file begins with {content[:2]!r}, not with b'MZ'")
        (self._head,) = self._file.unpack("<I", 0x3C, "the place of its header")
        if content[self._head : self._head + 4] != b"PE\0\0":
            raise BadImage("the file has no PE header")

    def image(self) -> Image:
        head = self._head + 4
        machine, count, _, _, _, length, flags = self._file.unpack("<HHIIIHH", head, "the file header")
        if machine != _X86_64:
            raise BadImage(f"the file is for another processor (machine {machine:#06x}, not {_X86_64:#06x})")
        if not flags & _IS_LIBRARY:
            raise BadImage("the file is no library but a program")
        if flags & _RELOCATIONS_STRIPPED:
            raise BadImage("the library can lie at one address only")
        head += 20
        (magic,) = self._file.unpack("<H", head, "the optional header")
        if magic != _PE32_PLUS:
            raise BadImage(f"the optional header is of kind {magic:#x}, not {_PE32_PLUS:#x}")
        entry, preferred, alignment = self._file.unpack("<I4xQI", head + 16, "the optional header")
        size, headers = self._file.unpack("<II", head + 56, "the optional header")
        (directories,) = self._file.unpack("<I", head + 108, "the optional header")
        if directories > 16 or length < 112 + 8 * directories:
            raise BadImage(f"an optional header of {length} bytes cannot hold {directories} directories")
        if not headers <= size <= _MOST_BYTES or headers > len(self._file.content):
            raise BadImage(f"the sizes make no sense: {headers} bytes of headers in an image of {size}")
        if alignment % _PAGE or not alignment:
            raise BadImage(f"sections are aligned to {alignment} bytes, not to pages")
        self._directories = [
            self._file.unpack("<II", head + 112 + 8 * place, "a directory") for place in range(directories)
        ]
        self._lay_out(head + length, count, alignment, size, headers)
        for number, what in _REFUSED.items():
            if self._directory(number)[1]:
                raise BadImage(f"the library has {what}, which is not supported")
        if entry and not any(
            section.executable and section.start <= entry < section.start + section.size for section in self._sections
        ):
            raise BadImage(f"the entry point at byte {entry} lies in no executable section")
        return Image(
            content=self._image.content,
            preferred=preferred,
            headers=headers,
            sections=tuple(self._sections),
            entry=entry,
            relocations=self._relocations(),
            imports=(*self._imports(), *self._delayed()),
            exports=self._exports(),
            functions=self._functions(),
            resources=self._directory(_RESOURCES),
        )

    def _lay_out(self, table: int, count: int, alignment: int, size: int, headers: int) -> None:
        if count > _MOST_SECTIONS:
            raise BadImage(f"the library has {count} sections, more than {_MOST_SECTIONS}")
        image = bytearray(size)
        image[:headers] = self._file.content[:headers]
        self._sections: list[Section] = []
        end = headers
        for place in range(count):
            at = table + 40 * place
            length, start, raw, offset = self._file.unpack("<IIII", at + 8, "a section's header")
            (flags,) = self._file.unpack("<I", at + 36, "a section's header")
            name = self._file.content[at : at + 8].rstrip(b"\0").decode("latin-1")
            length = length or raw
            if start % alignment or start < end or start + length > size:
                raise BadImage(f"section {name!r} lies from byte {start} to {start + length} of an image of {size}")
            if raw and offset + raw > len(self._file.content):
                raise BadImage(f"section {name!r} ends beyond the file's {len(self._file.content)} bytes")
            if flags & _WRITE and flags & _EXECUTE:
                raise BadImage(f"section {name!r} is writable and executable")
            kept = min(raw, length)
            image[start : start + kept] = self._file.content[offset : offset + kept]
            self._sections.append(
                Section(name, start, length, bool(flags & _READ), bool(flags & _WRITE), bool(flags & _EXECUTE))
            )
            end = start + length
        self._image = _Bytes(bytes(image), "image")

    def _directory(self, number: int) -> tuple[int, int]:
        """The place and size of a directory; (0, 0) where there is none."""
        start, size = self._directories[number] if number < len(self._directories) else (0, 0)
        if not start or not size:
            return 0, 0
        if start + size > len(self._image.content):
            raise BadImage(f"directory {number} lies from byte {start} to {start + size}, beyond the image")
        return start, size

    def _relocations(self) -> NDArray[np.int64]:
        place, size = self._directory(_RELOCATIONS)
        end = place + size
        blocks = [np.empty(0, np.int64)]
        while place < end:
            page, length = self._image.unpack("<II", place, "a block of relocations")
            if length < 8 or length % 2 or place + length > end:
                raise BadImage(f"a block of relocations is {length} bytes long, {end - place} before the end of all")
            entries = np.frombuffer(self._image.content, "<u2", (length - 8) // 2, place + 8)
            kinds = entries >> 12
            strange = kinds[(kinds != _PADDING) & (kinds != _ADDRESS)]
            if strange.size:
                raise BadImage(f"relocations of type {strange[0]} are not supported")
            blocks.append((entries[kinds == _ADDRESS] & 0xFFF).astype(np.int64) + page)
            place += length
        places = np.concatenate(blocks)
        if places.size and int(places.max()) + 8 > len(self._image.content):
            raise BadImage(f"a relocation at byte {places.max()} lies beyond the image")
        return places

    def _imports(self) -> list[Import]:
        place, size = self._directory(_IMPORTS)
        imports: list[Import] = []
        while size:
            names, _, _, library, slots = self._image.unpack("<IIIII", place, "a library to import from")
            if not library:
                break
            imports += self._wanted(library, names or slots, slots)
            place += 20
        return imports

    def _delayed(self) -> list[Import]:
        """What would be looked up when it is first called; it is looked up at once."""
        place, size = self._directory(_DELAYED)
        imports: list[Import] = []
        while size:
            kind, library, _, slots, names = self._image.unpack("<IIIII", place, "a library to import from later")
            if not library:
                break
            if kind != 1:
                raise BadImage("the library writes the addresses of its delayed imports in a way of the past")
            imports += self._wanted(library, names, slots)
            place += 32
        return imports

    def _wanted(self, library: int, names: int, slots: int) -> list[Import]:
        owner = self._image.text(library, "the name of a library")
        imports: list[Import] = []
        while True:
            (name,) = self._image.unpack("<Q", names + 8 * len(imports), f"an import of {owner}")
            if not name:
                return imports
            slot = slots + 8 * len(imports)
            self._image.unpack("<Q", slot, f"the slot of an import of {owner}")
            by_number = name >> 63
            text = f"number {name & 0xFFFF}" if by_number else self._image.text((name & 0x7FFFFFFF) + 2, "an import")
            imports.append(Import(owner, text, slot))

    def _exports(self) -> dict[str, int]:
        place, size = self._directory(_EXPORTS)
        if not size:
            return {}
        count, named, functions, names, ordinals = self._image.unpack("<IIIII", place + 20, "the table of exports")
        exports = {}
        for index in range(named):
            (name,) = self._image.unpack("<I", names + 4 * index, "an export's name")
            (number,) = self._image.unpack("<H", ordinals + 2 * index, "an export's number")
            if number >= count:
                raise BadImage(f"export number {number} is not among the {count}")
            (function,) = self._image.unpack("<I", functions + 4 * number, "an export")
            text = self._image.text(name, "an export's name")
            if place <= function < place + size:
                raise BadImage(f"the export {text} is another library's")
            if function >= len(self._image.content):
                raise BadImage(f"the export {text} lies at byte {function}, beyond the image")
            exports[text] = function
        return exports

    def _functions(self) -> tuple[int, int]:
        """The table for unwinding: ordered, its functions and what is said of them within the image."""
        place, size = self._directory(_EXCEPTIONS)
        count, whole = size // 12, len(self._image.content)
        if not count:
            return 0, 0
        table = np.frombuffer(self._image.content, "<u4", 3 * count, place).reshape(-1, 3).astype(np.int64)
        begin, end, unwind_info = table.T
        if (begin >= end).any() or (end > whole).any() or (begin[1:] < end[:-1]).any():
            raise BadImage("the table for unwinding is not in order")
        if (unwind_info % 4).any() or (unwind_info + 4 > whole).any():
            raise BadImage("the table for unwinding points beyond the image")
        codes = np.frombuffer(self._image.content, np.uint8)[unwind_info + 2].astype(np.int64)
        if (unwind_info + 4 + 2 * (codes + (codes & 1)) + 12 > whole).any():
            raise BadImage("the codes for unwinding end beyond the image")
        return place, count
