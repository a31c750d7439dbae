"""How memory is kept: the C library's of large arrays, and when Python looks for cycles of objects."""

from __future__ import annotations

import ctypes
import gc
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # mallopt's numbers in glibc's malloc.h
_LARGEST = (1 << 31) - 1
_RARELY = (100_000, 50, 100)
_HARDLY = (10_000_000, 10, 10)


def keep_freed_memory() -> bool:
    """Let the process keep what it frees, instead of asking the system for fresh pages with every large array.

    glibc maps large blocks anew each time; the first touch of each page then costs more than what is written there.
    Other C libraries are left as they are.

    Returns:
        Whether the C library was asked.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(_MMAP_THRESHOLD, 1 << 30)) and bool(library.mallopt(_TRIM_THRESHOLD, _LARGEST))


def collect_rarely(*, hardly: bool = False) -> tuple[int, int, int]:
    """Leave what is there out of collections of garbage, and let them come a hundred times less often.

    Tables, tests and caches stay to the end, and cases make no cycles: looking for those took a sixth of a run, and
    after every hundred thousand objects still two parts in a hundred.

    Args:
        hardly: whether nothing but cases is to come, so that ten million objects may be made in between. Others' tests
            may leave open files in cycles.

    Returns:
        The thresholds as they were, for :func:`gc.set_threshold`.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*(_HARDLY if hardly else _RARELY))
    return before


def collect_now() -> None:
    """Give free what only cycles of objects keep, and leave what stays out of collections to come.

    A test that fails leaves its cases in a cycle: its error, the traceback and what that shows.
    """
    gc.collect()
    gc.freeze()
