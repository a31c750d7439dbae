"""The version that a Windows library's file states of itself.

Source: Microsoft's page "PE Format" (the tree of resources) and the structure VS_FIXEDFILEINFO.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

from dmlcts.backends.directml.windows.image import Image, read

_VERSION_TYPE = 16
_MARK = struct.pack("<I", 0xFEEF04BD)
_DEEPER = 0x80000000


def version_of(image: Image) -> str:
    """The file's version, as "1.15.4.0"; "unknown" where it states none."""
    start, size = image.resources
    resources = image.content[start : start + size]
    try:
        place = _below(resources, 0, _VERSION_TYPE)
        entry = _below(resources, _below(resources, place, None), None)
        at, length = struct.unpack_from("<II", resources, entry)
        block = image.content[at : at + length]
        high, low = struct.unpack_from("<II", block, block.index(_MARK) + 8)
    except (struct.error, ValueError):
        return "unknown"
    return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"


def stated_version(path: Path) -> str:
    """The version of a library's file; of one that has not changed it is read once, for the whole file is laid out.

    Raises:
        OSError: the file cannot be read.
        BadImage: it is not sound.
    """
    state = path.stat()
    return _stated_version(path, state.st_mtime_ns, state.st_size, state.st_ino)


@cache
def _stated_version(path: Path, *_: int) -> str:
    return version_of(read(path))


def _below(resources: bytes, directory: int, wanted: int | None) -> int:
    """The place that a directory has for a number, or, for None, its first.

    Raises:
        ValueError: it has none.
        struct.error: the directory is cut off.
    """
    named, numbered = struct.unpack_from("<HH", resources, directory + 12)
    for index in range(named + numbered):
        number, place = struct.unpack_from("<II", resources, directory + 16 + 8 * index)
        if wanted is None or number == wanted:
            return int(place & ~_DEEPER)
    raise ValueError(f"no resource {wanted}")
