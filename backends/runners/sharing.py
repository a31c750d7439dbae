"""A piece of memory that the suite's side and a runner on the same machine both map.

It is an anonymous file of fixed, sealed size, which a runner of the same user opens by a path under ``/proc``. Where
the system has no such thing nothing is shared, and memories travel through the pipe.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TOKEN_BYTES = 16


def can_share() -> bool:
    """Whether this system has what sharing needs."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


def all_shared() -> tuple[int, Iterable[int]]:
    """How many bytes this process shares with its runners, and the descriptors of their files."""
    files = [segment.file for segment in _alive() if segment.file >= 0]
    return sum(segment.size for segment in _alive()), files


@lru_cache(maxsize=1)
def _alive() -> weakref.WeakSet[SharedSegment]:
    return weakref.WeakSet()


class SharedSegment:
    """One shared piece of memory.

    Args:
        number: what the two sides call it.
        size: bytes.

    Raises:
        OSError: the system gives none.

    Attributes:
        file: the file's descriptor; -1 once it is closed.
        path: where the runner finds it.
        asked: what its first 16 bytes hold, and what the runner checks.
        due: what the next 16 bytes hold, and what the runner answers: only who maps the same memory can.
    """

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        import fcntl  # not there on every system

        self.file = os.memfd_create("dmlcts-runner", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.file, size)
            # a runner that cut the file off would end this process where it looks at what is gone
            fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._mapping = mmap.mmap(self.file, size)
        except OSError:
            os.close(self.file)
            raise
        self.bytes: NDArray[np.uint8] = np.frombuffer(self._mapping, np.uint8)
        self.asked, self.due = os.urandom(TOKEN_BYTES), os.urandom(TOKEN_BYTES)
        self._mapping[: 2 * TOKEN_BYTES] = self.asked + self.due
        self.path = f"/proc/{os.getpid()}/fd/{self.file}"
        _alive().add(self)

    def close(self) -> None:
        """Give the file back; the memory goes when the last array that looks into it does."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
