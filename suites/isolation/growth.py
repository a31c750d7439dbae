"""How much memory this process holds by itself, and how much a worker may come to hold."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import lru_cache

_MOST_GROWTH = 4 << 30


def resident_bytes() -> int:
    """Bytes of memory that this process alone holds; 0 where the system does not tell.

    Linux tells what is held now, without what is shared; macOS and Windows tell the most that was ever held, which
    says the same of a leak.
    """
    if sys.platform == "linux":
        _, resident, shared, *_ = os.pread(_statm(), 256, 0).split()
        return (int(resident) - int(shared)) * mmap.PAGESIZE
    if sys.platform == "win32":
        return _windows_peak()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@lru_cache(maxsize=1)
def _statm() -> int:
    """The file that tells, kept open: it is asked after every call of an implementation."""
    return os.open("/proc/self/statm", os.O_RDONLY)


def _windows_peak() -> int:
    class Counters(ctypes.Structure):
        _fields_ = [("size", ctypes.c_ulong), ("faults", ctypes.c_ulong),
                    *((f"field{index}", ctypes.c_size_t) for index in range(8))]  # fmt: skip

    counters = Counters(size=ctypes.sizeof(Counters))
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]  # Windows only
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    known = kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.size)
    return int(counters.field0) if known else 0  # PeakWorkingSetSize


def most_growth() -> int:
    """By how many bytes a worker may grow after its device was opened: 4 GiB, or half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MOST_GROWTH
    return min(_MOST_GROWTH, physical // 2)
