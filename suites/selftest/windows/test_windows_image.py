"""A Windows library's file is read as its pages say, and every way of being damaged is refused by name."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends.directml.windows import version
from dmlcts.backends.directml.windows.image import BadImage, parsed
from dmlcts.backends.directml.windows.version import stated_version, version_of
from dmlcts.suites.selftest.windows.pe_files import CODE, DATA, HEAD, OPTIONAL, PREFERRED, SECTIONS, Made, whole


def test_a_whole_library_is_read() -> None:
    image = parsed(whole().content())
    assert [
        (section.name, section.start, section.readable, section.writable, section.executable)
        for section in image.sections
    ] == [
        (".text", CODE, True, False, True),
        (".data", DATA, True, True, False),
    ]
    assert [(library_import.library, library_import.name, library_import.slot) for library_import in image.imports] == [
        ("KERNEL32.dll", "GetLastError", DATA + 0x60),
        ("KERNEL32.dll", "number 43", DATA + 0x68),
    ]
    assert image.exports == {"answer": CODE}
    assert image.functions == (DATA + 0x190, 1)
    assert image.relocations.tolist() == [DATA]
    assert image.content[CODE : CODE + 6] == whole().code
    assert version_of(image) == "1.15.4.0"


@pytest.mark.parametrize("address", [PREFERRED, 0x7F0000001000, 0x10000])
def test_addresses_are_moved_and_nothing_else(address: int) -> None:
    image = parsed(whole().content())
    placed = image.placed(address)
    assert struct.unpack_from("<Q", placed, DATA) == (address + CODE,)
    changed = np.nonzero(placed != np.frombuffer(image.content, np.uint8))[0]
    assert set(changed.tolist()) <= set(range(DATA, DATA + 8))


def test_a_library_without_any_of_it_is_read_as_well() -> None:
    image = parsed(Made(entry=0).content())
    assert (image.imports, image.exports, image.functions, image.relocations.size) == ((), {}, (0, 0), 0)
    assert version_of(image) == "unknown"


def _patched(place: int, form: str, value: int) -> Callable[[Made], bytes]:
    def change(made: Made) -> bytes:
        content = bytearray(made.content())
        struct.pack_into(form, content, place, value)
        return bytes(content)

    return change


def _set(**members: int) -> Callable[[Made], bytes]:
    def change(made: Made) -> bytes:
        for name, value in members.items():
            setattr(made, name, value)
        return made.content()

    return change


def _data(place: int, form: str, *values: int) -> Callable[[Made], bytes]:
    def change(made: Made) -> bytes:
        made.put(place, struct.pack(form, *values))
        return made.content()

    return change


def _directory(number: int, start: int, size: int) -> Callable[[Made], bytes]:
    def change(made: Made) -> bytes:
        made.directories[number] = (start, size)
        return made.content()

    return change


DAMAGED: list[tuple[str, Callable[[Made], bytes]]] = [
    ("begins with b'P!', not with b'MZ'", lambda made: b"P!" + made.content()[2:]),
    ("place of its header at byte 60 lies beyond the file's 2", lambda made: b"MZ"),
    ("no PE header", _patched(0x3C, "<I", 0x7FFFFFF0)),
    ("no PE header", _patched(HEAD, "<I", 0)),
    ("beyond the file's 152 bytes", lambda made: made.content()[:152]),
    ("another processor .machine 0x014c", _set(machine=0x14C)),
    ("another processor .machine 0xaa64", _set(machine=0xAA64)),
    ("no library but a program", _set(flags=0x22)),
    ("at one address only", _set(flags=0x2023)),
    ("of kind 0x10b", _set(magic=0x10B)),
    ("cannot hold 17 directories", _patched(OPTIONAL + 108, "<I", 17)),
    ("sizes make no sense", _set(size=0x300)),
    ("sizes make no sense", _set(size=0x7FFFFFFF)),
    ("aligned to 512 bytes", _set(alignment=0x200)),
    ("97 sections", _patched(HEAD + 6, "<H", 97)),
    ("'.data' lies from byte 4096", _patched(SECTIONS + 40 + 12, "<I", CODE)),
    ("'.data' lies from byte 8448", _patched(SECTIONS + 40 + 12, "<I", DATA + 0x100)),
    ("'.data' lies from byte 8192 to 16777216 of an image", _patched(SECTIONS + 40 + 8, "<I", 0xFFE000)),
    ("'.data' ends beyond the file", _patched(SECTIONS + 40 + 20, "<I", 0x10000)),
    ("'.text' is writable and executable", _set(code_flags=0xE0000020)),
    ("entry point at byte 8192 lies in no executable", _set(entry=DATA)),
    ("storage for each thread", _directory(9, DATA, 40)),
    ("code for .NET", _directory(14, DATA, 40)),
    ("directory 5 lies from byte 12288", _directory(5, 0x3000, 8)),
    ("block of relocations is 4 bytes long", _data(0x14, "<I", 4)),
    ("block of relocations is 14 bytes long", _data(0x14, "<I", 14)),
    ("relocations of type 3", _data(0x18, "<H", 0x3000)),
    ("relocation at byte 4294901760 lies beyond", _data(0x10, "<I", 0xFFFF0000)),
    ("an import at byte 12290", _data(0x40, "<Q", 0x3000)),
    ("import of KERNEL32.dll at byte 1048576", _data(0xC0, "<I", 0x100000)),
    ("slot of an import of KERNEL32.dll at byte 12284", _data(0xD0, "<I", 0x2FFC)),
    ("name of a library at byte 65536", _data(0xCC, "<I", 0x10000)),
    ("export number 1 is not among the 1", _data(0x108, "<H", 1)),
    ("export answer lies at byte 65536", _data(0x100, "<I", 0x10000)),
    ("export answer is another library's", _data(0x100, "<I", DATA + 0x150)),
    ("export's name at byte 65536", _data(0x104, "<I", 0x10000)),
    ("table for unwinding is not in order", _data(0x194, "<I", CODE)),
    ("table for unwinding points beyond", _data(0x198, "<I", 0x10000)),
    ("codes for unwinding end beyond", _data(0x198, "<I", 0x2FFC)),
]


@pytest.mark.parametrize("words, change", DAMAGED)
def test_what_is_damaged_is_refused_by_name(words: str, change: Callable[[Made], bytes]) -> None:
    with pytest.raises(BadImage, match=f"{words}.*; give the DirectML.dll"):
        parsed(change(whole()))


def test_a_file_is_read_again_for_its_version_only_where_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path) -> version.Image:
        read.append(path)
        return parsed(path.read_bytes())

    monkeypatch.setattr(version, "read", counted)
    file, content = tmp_path / "DirectML.dll", whole().content()
    file.write_bytes(content)
    assert [stated_version(file), stated_version(file)] == ["1.15.4.0"] * 2
    assert read == [file]
    newer = struct.pack("<II", 1 << 16 | 15, 4 << 16)
    assert content.count(newer) == 1
    file.write_bytes(content.replace(newer, struct.pack("<II", 1 << 16 | 16, 4 << 16)))
    os.utime(file, ns=(0, 0))
    assert stated_version(file) == "1.16.4.0"
    (tmp_path / "other").write_bytes(content)
    os.utime(tmp_path / "other", ns=(0, 0))
    (tmp_path / "other").replace(file)  # a file of the same size and time in its place
    assert stated_version(file) == "1.15.4.0"


def test_a_damaged_tree_of_resources_only_hides_the_version() -> None:
    for place in range(0x200, 0x2A8, 4):
        made = whole()
        made.put(place, struct.pack("<I", 0xFFFFFFFF))
        assert version_of(parsed(made.content())).count(".") in (0, 3)
    made = whole()
    made.put(0x290, bytes(4))
    assert version_of(parsed(made.content())) == "unknown"


def test_whatever_the_bytes_are_nothing_but_that_error_comes_of_them() -> None:
    """Ten thousand libraries with a few bytes of their headers or directories replaced, and as many cut short."""
    random_ = random.Random(20261122)  # noqa: S311 - a draw that can be repeated
    content = whole().content()
    interesting = [*range(HEAD, SECTIONS + 80), *range(0x600, 0xA00)]
    refused = 0
    for _ in range(10_000):
        damaged = bytearray(content)
        for _ in range(random_.choice((1, 2, 8))):
            damaged[random_.choice(interesting)] = random_.choice((0, 1, 0x7F, 0x80, 0xFF, random_.randrange(256)))
        if random_.random() < 0.1:
            del damaged[random_.randrange(len(damaged)) :]
        try:
            image = parsed(bytes(damaged))
            image.placed(0x10000)
            version_of(image)
        except BadImage:
            refused += 1
    assert 1000 < refused < 9900
