"""How much memory a process holds by itself, how much an implementation's may hold, and giving back what is free."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from functools import lru_cache

_MOST_GROWTH = 4 << 30
_STEP = 256 << 20


def resident_bytes() -> int:
    """Bytes of memory that this process alone holds; 0 where the system does not tell.

    Linux tells what is held now, without what is shared; macOS and Windows tell the most that was ever held, which
    says the same of a leak.
    """
    if sys.platform == "linux":
        return _own().bytes()
    if sys.platform == "win32":
        return _windows_peak()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Resident:
    """What a process holds by itself, on Linux; its file stays open, since it is asked after every call.

    Args:
        pid: the process, or ``self``.
    """

    def __init__(self, pid: int | str) -> None:
        self._file = os.open(f"/proc/{pid}/statm", os.O_RDONLY) if sys.platform == "linux" else None

    def bytes(self) -> int:
        """How much it holds now; 0 where the system does not tell, or the process has ended."""
        if self._file is None:
            return 0
        try:
            _, resident, shared, *_ = os.pread(self._file, 256, 0).split()
        except (OSError, ValueError):  # an ended process has no memory
            return 0
        return (int(resident) - int(shared)) * mmap.PAGESIZE

    def close(self) -> None:
        """Look no more; calling it again does nothing."""
        if self._file is not None:
            os.close(self._file)
        self._file = None


@lru_cache(maxsize=1)
def _own() -> Resident:
    return Resident("self")


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
    """By how many bytes a process may grow after its device was opened: 4 GiB, or half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MOST_GROWTH
    return min(_MOST_GROWTH, physical // 2)


def trim() -> None:
    """Hand freed memory back to the system, where glibc keeps it for later; other C libraries are left as they are.

    Arrays that come next have to be paged in again, so this is for when large ones are over, not for every call.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


class Trimmer:
    """Gives freed memory back each time that this process has grown by so much.

    A run keeps what it frees (:func:`dmlcts.suites.cases.allocation.keep_freed_memory`), which a few tests with
    tensors of hundreds of megabytes would make it hold to the end.

    Args:
        step: how many bytes.
    """

    def __init__(self, step: int = _STEP) -> None:
        self._step = step
        self._least = resident_bytes()

    def look(self) -> int:
        """Give back what is free where the process holds much; some microseconds if not. Returns what it holds now."""
        held = resident_bytes()
        if held - self._least > self._step:
            trim()
            held = self._least = resident_bytes()
        self._least = min(self._least, held)
        return held


def overgrown(growth: int, allowed: int) -> str:
    """What is said of a process that has grown by more than it may, "" of another."""
    if growth <= allowed:
        return ""
    return f"it has grown by {growth >> 20} MiB since the device was opened, {allowed >> 20} MiB are allowed"
