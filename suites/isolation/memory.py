"""Memory that the suite and a worker both see, between guards.

Every segment lies between two guards: on POSIX no access is allowed to them, so that a write far out of bounds ends
the worker with a signal; elsewhere they hold a fixed byte that is checked. The bytes between the end of a memory and
the end of its last page hold that byte everywhere, and are checked after every dispatch.

Segments are reused: a lease ends when the last array that looks into it is gone.

Whoever holds the file's descriptor could cut the file off, and then the suite would end with a signal (SIGBUS) where
it looks at what is gone. On Linux the file has its final size from the beginning, costs only what is touched, and is
sealed: nobody can make it smaller or larger. Elsewhere :meth:`SharedMemory.mended` sees after each call what was cut.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import secrets
import sys
import tempfile
import weakref
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import UsageError

Bytes = NDArray[np.uint8]

PAGE = max(mmap.PAGESIZE, mmap.ALLOCATIONGRANULARITY)
GUARDED = sys.platform != "win32"
"""Whether the system lets a process forbid itself access to pages."""

_GUARD_PAGES = 1 if sys.platform == "win32" else (1 << 20) // PAGE  # where access is forbidden they cost nothing
_GUARD = _GUARD_PAGES * PAGE
_CANARY = 0xC5
_CANARY_BYTE = bytes([_CANARY])
_FEW_BYTES = 1 << 16
_MOST_IDLE_BYTES = 256 << 20
_FEW_PAGES = 16  # a memory of more is taken from a larger segment, since the system takes long to give new pages
_MOST_TIMES = 8  # as large
_PROT_NONE, _PROT_ALL = 0, 3
_SEALED_BYTES = 1 << 40


def _pages(size: int) -> int:
    return max(1, -(-size // PAGE))


def room(size: int) -> int:
    """The bytes of the pages that so many bytes take."""
    return -(-size // PAGE) * PAGE


def _address(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8).ctypes.data)


@lru_cache(maxsize=1)
def _mprotect() -> Any:
    """The system's function that says what access a process has to pages."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return protect


def _forbid(mapping: mmap.mmap, address: int) -> bool:
    """Forbid access to the guards; whether that is possible here."""
    if sys.platform == "win32":
        return False
    ends = (address, address + len(mapping) - _GUARD)
    return all(_mprotect()(end, _GUARD, _PROT_NONE) == 0 for end in ends)


def map_segment(file: int, token: int, pages: int, name: str) -> mmap.mmap:
    """Map a segment of so many pages, and the guard on either side of it.

    Args:
        file: the shared file's descriptor; unused on Windows, where ``name`` is what both sides know.
        token: where in the file the segment stands, in pages.
        pages: its size without guards.
        name: begins the name of the mapping, on Windows.
    """
    size = pages * PAGE + 2 * _GUARD
    if sys.platform == "win32":
        return mmap.mmap(-1, size, tagname=f"{name}-{token}")
    return mmap.mmap(file, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=token * PAGE)


class Segment:
    """One mapped segment.

    Attributes:
        token: where it stands, in pages; the two processes name it by that.
        pages: its size without guards.
        used: how many of them are in use now; behind them the worker is allowed no access, as to the guards.
        address: of its first byte after the guard.
        guarded: whether access to the guards is forbidden.
    """

    def __init__(self, file: int, token: int, pages: int, name: str) -> None:
        self.token = token
        self.pages = self.used = pages
        self._file = file
        self._mapping = map_segment(file, token, pages, name)
        start = _address(self._mapping)
        self.address = start + _GUARD
        self.guarded = _forbid(self._mapping, start)
        self._whole = np.frombuffer(self._mapping, np.uint8)
        self._arm_guards()

    def memory(self, size: int) -> Bytes:
        """The segment's first ``size`` bytes, for as long as the segment lives."""
        return self._whole[_GUARD : _GUARD + size]

    def _arm_guards(self) -> None:
        if not self.guarded:
            self._whole[:_GUARD] = self._whole[-_GUARD:] = _CANARY

    def arm(self, size: int) -> None:
        """Fill what lies between the end of a memory of ``size`` bytes and the guard; guards too, where needed."""
        self.used = _pages(size) if self.guarded else self.pages
        self._whole[_GUARD + size : _GUARD + PAGE * self.used] = _CANARY
        self._arm_guards()

    def broken(self, size: int) -> str:
        """What was written outside a memory of ``size`` bytes, in words; "" for nothing."""
        parts = [(size, self._whole[_GUARD + size : _GUARD + PAGE * self.used])]
        if not self.guarded:
            parts += [(-_GUARD, self._whole[:_GUARD]), (self.pages * PAGE, self._whole[-_GUARD:])]
        for start, part in parts:
            if part.size <= _FEW_BYTES and not part.tobytes().strip(_CANARY_BYTE):
                continue  # sooner seen than with an array operation
            changed = np.flatnonzero(part != _CANARY)
            if changed.size:
                first = start + int(changed[0])
                return f"{changed.size} bytes outside the memory changed, the first at offset {first} of {size} bytes"
        return ""

    def allow(self, start: int, size: int, *, access: bool) -> None:
        """Allow or forbid access to whole pages of it, where the system can.

        Raises:
            OSError: the system cannot now.
        """
        if self.guarded and _mprotect()(self.address + start, size, _PROT_ALL if access else _PROT_NONE):
            raise OSError(ctypes.get_errno(), "access to shared memory cannot be changed")

    def limit(self, pages: int) -> None:
        """Allow access to so many pages, and forbid it behind them."""
        if self.guarded and pages != self.used:
            few, many = sorted((pages, self.used))
            self.allow(few * PAGE, (many - few) * PAGE, access=pages == many)
            self.used = pages

    def part(self, start: int, size: int) -> Bytes:
        """Some of its bytes, for as long as the segment lives."""
        return self._whole[_GUARD + start : _GUARD + start + size]

    def read(self, start: int, into: Bytes) -> None:
        """Fill an array with some of its bytes, also those to which no access is allowed.

        Args:
            start: of the first one.
            into: 1-D ``uint8``.
        """
        if self.guarded:
            into[:] = np.frombuffer(os.pread(self._file, into.size, self._offset(start)), np.uint8)
        else:
            into[:] = self.part(start, into.size)

    def write(self, start: int, data: Bytes) -> None:
        """Put 1-D ``uint8`` data where some of its bytes are, also where no access is allowed."""
        if self.guarded:
            os.pwrite(self._file, data.data, self._offset(start))
        else:
            self.part(start, data.size)[:] = data

    def _offset(self, start: int) -> int:
        """Where in the file one of its bytes stands."""
        return self.token * PAGE + _GUARD + start

    def forget(self) -> None:
        """Give the pages back to the system, where it takes them."""
        if hasattr(mmap, "MADV_REMOVE"):
            self._mapping.madvise(mmap.MADV_REMOVE, _GUARD, self.pages * PAGE)


class Window:
    """A segment of which one part at a time can be accessed, where the system can forbid access; all of it elsewhere.

    Args:
        segment: nobody else in this process looks into it before the window is closed.

    Attributes:
        read: as the segment's; opens no part, which takes longer than the copy.
        write: as the segment's.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.read = segment.read
        self.write = segment.write
        self._open: tuple[int, int] | None = None
        segment.limit(0)

    def part(self, start: int, size: int) -> Bytes:
        """The part of ``size`` bytes that begins at a page boundary; open until another is opened, or it is shut."""
        wanted = start, room(size)
        if wanted != self._open:
            self.shut()
            self._open = wanted
            self._segment.allow(*wanted, access=True)
        return self._segment.part(start, size)

    def shut(self) -> None:
        """Forbid access to the part that is open."""
        if self._open is not None:
            self._segment.allow(*self._open, access=False)
            self._open = None


class Lease:
    """The right to a segment, held by the arrays that look into it; numpy keeps the lease for as long as they live."""

    def __init__(self, segment: Segment, size: int) -> None:
        self.segment = segment
        self.size = size
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (segment.address, False),
        }


class SharedMemory:
    """The suite's side: hands out memories in shared segments, and reuses those that nobody looks at any more.

    Args:
        sealed: seal the file where the system can.

    Attributes:
        file: the file's descriptor; -1 on Windows, where there is none.
        sealed: whether nobody can change the file's size.
    """

    def __init__(self, *, sealed: bool = True) -> None:
        self.name = f"dmlcts-{os.getpid()}-{secrets.token_hex(8)}"
        self.file = -1 if sys.platform == "win32" else _anonymous_file()
        self.sealed = sealed and self.file >= 0 and _seal(self.file)
        self._end = 0
        self._idle: dict[int, list[Segment]] = {}
        self._idle_bytes = 0
        self._places: dict[int, list[int]] = {}
        self.dropped: list[int] = []

    def take(self, size: int) -> Bytes:
        """A writable memory of ``size`` bytes at a page boundary, of any content.

        Raises:
            UsageError: the system gives no such memory.
        """
        pages = self._fitting(_pages(size))
        idle = self._idle.get(pages)
        if idle:
            segment = idle.pop()
            self._idle_bytes -= pages * PAGE
        else:
            segment = self._make(pages)
        lease = Lease(segment, size)
        segment.arm(size)
        weakref.finalize(lease, self._give_back, segment).atexit = False
        return np.asarray(lease)

    def _fitting(self, pages: int) -> int:
        """The pages of the idle segment that suits so many best; of a new one, for others too, where there is none."""
        if not GUARDED or pages <= _FEW_PAGES:
            return pages
        most = _MOST_TIMES * pages
        step = 1 << pages.bit_length() - 3  # what is not touched costs nothing
        return min(
            (capacity for capacity, idle in self._idle.items() if idle and pages <= capacity <= most),
            default=-(-pages // step) * step,
        )

    def _make(self, pages: int) -> Segment:
        free = self._places.get(pages)
        if free:
            token = free.pop()
        else:
            token = self._end
            self._end += pages + 2 * _GUARD_PAGES
        try:
            if self.file >= 0 and not self.sealed:
                os.ftruncate(self.file, self._end * PAGE)
            return Segment(self.file, token, pages, self.name)
        except (OSError, ValueError, OverflowError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise UsageError(
                f"cannot share {pages * PAGE} bytes of memory with the implementation's process: {reason}",
                "free some memory, or raise the limits on it and on the size of files (ulimit -v, ulimit -f)",
            ) from error

    def _give_back(self, segment: Segment) -> None:
        self._idle.setdefault(segment.pages, []).append(segment)
        self._idle_bytes += segment.pages * PAGE
        while self._idle_bytes > _MOST_IDLE_BYTES:
            largest = max(pages for pages, idle in self._idle.items() if idle)
            gone = self._idle[largest].pop(0)
            self._idle_bytes -= largest * PAGE
            gone.forget()
            self.dropped.append(gone.token)
            self._places.setdefault(largest, []).append(gone.token)

    @staticmethod
    def lease_of(memory: Bytes) -> Lease | None:
        """The lease of a memory that :meth:`take` gave, whole; ``None`` for any other array."""
        base = memory.base
        if isinstance(base, Lease) and memory.size == base.size and memory.ctypes.data == base.segment.address:
            return base
        return None

    def mended(self) -> str:
        """What happened to the file's size since the last call, in words, "" for nothing; it has its size again."""
        if self.file < 0 or self.sealed:
            return ""
        size, due = os.fstat(self.file).st_size, self._end * PAGE
        if size == due:
            return ""
        os.ftruncate(self.file, due)
        return f"the shared memory of {due} bytes was given a size of {size} bytes"

    def close(self) -> None:
        """Close the file; what is mapped stays until the last array that looks into it is gone."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def _anonymous_file() -> int:
    """A file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("dmlcts", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    descriptor, path = tempfile.mkstemp(prefix="dmlcts-memory-")
    os.unlink(path)
    return descriptor


def _seal(file: int) -> bool:
    """Give the file its final size and see to it that it keeps it; whether that is possible here."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        os.ftruncate(file, _SEALED_BYTES)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError:  # an old system, or a limit on the size of files
        os.ftruncate(file, 0)
        return False
    return True


class WorkerMemory:
    """The worker's side: maps the segments that it is sent."""

    def __init__(self, file: int, name: str) -> None:
        self._file = file
        self._name = name
        self._known: dict[int, Segment] = {}

    def shared(self) -> tuple[int, list[int]]:
        """How many bytes of the suite's memory are mapped here, and the descriptor of their file."""
        return sum(segment.pages for segment in self._known.values()) * PAGE, [self._file] if self._file >= 0 else []

    def drop(self, tokens: list[int]) -> None:
        """Forget segments that the suite has given up."""
        for token in tokens:
            self._known.pop(token, None)

    def segment(self, token: int, pages: int) -> Segment:
        """A segment of the suite's."""
        known = self._known.get(token)
        if known is None or known.pages != pages:
            known = self._known[token] = Segment(self._file, token, pages, self._name)
        return known

    def memory(self, token: int, pages: int, size: int) -> Bytes:
        """A segment's first ``size`` bytes; to pages behind them no access is allowed."""
        segment = self.segment(token, pages)
        segment.limit(_pages(size))
        return segment.memory(size)
