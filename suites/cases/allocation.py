"""How the C library keeps the memory of large arrays, which a run takes and gives back thousands of times."""

from __future__ import annotations

import ctypes
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's numbers in glibc's malloc.h
_LARGEST = (1 << 31) - 1


def keep_freed_memory() -> bool:
    """Let the process keep what it frees, instead of asking the system for fresh pages with every large array.

    glibc maps large blocks anew each time; the first touch of each page then costs more than what is written there.
    Other C libraries are left as they are.

    Returns:
        Whether the C library was told.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(_MMAP_THRESHOLD, 1 << 30)) and bool(library.mallopt(_TRIM_THRESHOLD, _LARGEST))
