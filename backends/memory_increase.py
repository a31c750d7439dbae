"""How much memory a process holds, how much an implementation's may hold, and giving back what is free."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import lru_cache

_MOST_MEMORY_INCREASE = 4 << 30
_STEP = 256 << 20
_LOOKING = 1 / 100  # of the time at most, at descriptors: a look takes 50 us, and in a sandbox ten times as long
_MOST_SECONDS_BLIND = 0.1  # between two looks, also where one was slow because the machine was busy
_BLOCK = 512  # what st_blocks counts


def resident_bytes() -> int:
    """Bytes of memory that this process alone holds; 0 where the system does not report it.

    Linux reports what is held now, without what is shared; macOS and Windows the most that was ever held, which
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

    Attributes:
        pid: the process.
        total: what it held at the last call, with all that it shares and the libraries that it maps.
    """

    def __init__(self, pid: int | str) -> None:
        self.pid = pid
        self.total = 0
        self._file = os.open(f"/proc/{pid}/statm", os.O_RDONLY) if sys.platform == "linux" else None

    def bytes(self) -> int:
        """How much it holds now; 0 where the system does not report it, or the process has ended."""
        if self._file is None:
            return 0
        try:
            _, resident, shared, *_ = os.pread(self._file, 256, 0).split()
        except (OSError, ValueError):  # an ended process has no memory
            return 0
        self.total = int(resident) * mmap.PAGESIZE
        return self.total - int(shared) * mmap.PAGESIZE

    def close(self) -> None:
        """Look no more; calling it again does nothing."""
        if self._file is not None:
            os.close(self._file)
        self._file = None


@lru_cache(maxsize=1)
def _own() -> Resident:
    return Resident("self")


class MemoryIncrease:
    """How far a process has grown since a start: what it holds by itself, and on Linux what it could share with others.

    That is memory of ``MAP_SHARED``, of ``memfd_create`` and under ``/dev/shm``: mapped, or written into files that it
    has open. Of the two the larger counts, since most is both. Libraries do not count, nor what the suite shares.

    Args:
        allowed: by how many bytes it may grow.
        ours: how many bytes the suite shares with it, and the descriptors here of the files that hold them.
        resident: of the process; by default of this one.
    """

    def __init__(
        self, allowed: int, ours: Callable[[], tuple[int, Iterable[int]]], resident: Resident | None = None
    ) -> None:
        self._resident = resident or _own()
        self._allowed = allowed
        self._ours = ours
        self._start = 0
        self._in_files = 0
        self._look_after = 0.0

    def begin(self, held: int) -> None:
        """Count from here, unless it held more before; ``held`` is what it holds by itself."""
        self._look_at_files()
        self._start = max(self._start, self._all(held))

    def grown(self, held: int) -> int:
        """By how much; where it is less than allowed, perhaps less than it is.

        Args:
            held: what it holds by itself, just asked for.
        """
        if time.monotonic() >= self._look_after:
            self._look_at_files()
        if max(self._resident.total, held + self._in_files) - self._start <= self._allowed:
            return max(0, held - self._start)
        return self._all(held) - self._start

    def _all(self, held: int) -> int:
        if sys.platform != "linux":
            return held
        return held + max(0, _mapped_shared(self._resident.pid) - self._ours()[0], self._in_files)

    def _look_at_files(self) -> None:
        if sys.platform != "linux":
            self._look_after = math.inf
            return
        begun = time.monotonic()
        self._in_files = _in_memory_files(self._resident.pid, self._ours()[1])
        ended = time.monotonic()
        self._look_after = ended + min((ended - begun) / _LOOKING, _MOST_SECONDS_BLIND)


def _mapped_shared(pid: int | str) -> int:
    """Bytes of shared memory that a process maps and has touched; 0 where the system does not report it."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as stream:
        for line in stream:
            if line.startswith(b"RssShmem:"):
                return int(line.split()[1]) << 10
    return 0


def _in_memory_files(pid: int | str, ours: Iterable[int]) -> int:
    """Bytes of the files in memory that a process has open, but for those whose descriptors here are given."""
    devices = _memory_devices()
    known = {(own_status.st_dev, own_status.st_ino) for own_status in map(os.fstat, ours)}
    held = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{pid}/fd/{name}")
                if status.st_dev in devices and (status.st_dev, status.st_ino) not in known:
                    known.add((status.st_dev, status.st_ino))
                    held += status.st_blocks * _BLOCK
    return held


@lru_cache(maxsize=1)
def _memory_devices() -> frozenset[int]:
    """The devices on which files in memory stand."""
    devices = set()
    with contextlib.suppress(OSError):
        file = os.memfd_create("dmlcts-device")
        devices.add(os.fstat(file).st_dev)
        os.close(file)
    with contextlib.suppress(OSError):
        devices.add(os.stat("/dev/shm").st_dev)  # noqa: S108  # looked at, never written
    return frozenset(devices)


def _windows_peak() -> int:
    class Counters(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_ulong),
            ("faults", ctypes.c_ulong),
            *((f"field{index}", ctypes.c_size_t) for index in range(8)),
        ]

    counters = Counters(size=ctypes.sizeof(Counters))
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]  # Windows only
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    known = kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.size)
    return int(counters.field0) if known else 0  # PeakWorkingSetSize


def most_memory_increase() -> int:
    """By how many bytes a process may grow after its device was opened: 4 GiB, or half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MOST_MEMORY_INCREASE
    return min(_MOST_MEMORY_INCREASE, physical // 2)


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


def overgrown(increase: int, allowed: int) -> str:
    """What is said of a process that has grown by more than it may, "" of another."""
    if increase <= allowed:
        return ""
    return f"it has grown by {increase >> 20} MiB since the device was opened, {allowed >> 20} MiB are allowed"
