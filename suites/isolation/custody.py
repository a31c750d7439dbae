"""The judge while implementations run: closed to other processes of its user, and heir of all that they leave behind.

On Linux alone. The judge is not *dumpable*: no process of the same user can read or write its memory through ``/proc``,
or trace it; root can. And it is a *subreaper*: a process whose parent has ended becomes the judge's child instead of
init's, however often it was forked. An implementation's process begins a session, which its descendants leave for new
ones alone. So a child in another session than the judge's stems from an implementation.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_GET_DUMPABLE, _SET_DUMPABLE = 3, 4
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_SECONDS = 5.0  # for killed processes to go; one that waits for a device does not hear of it
_PAUSE = 0.002


class _Child(NamedTuple):
    """A child of this process: its number, its session, and whether it only waits to be buried."""

    pid: int
    session: int
    ended: bool


class Custody:
    """What this process holds while implementations run; one for a process, see :func:`custody`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders = 0
        self._before = (1, 0)
        self._kept: set[int] = set()  # other sessions' children that were here before any implementation
        self._workers: set[int] = set()
        self._used: set[int] = set()  # workers that have run an implementation's code

    def enter(self) -> None:
        """Close this process and become heir, before an implementation's process is started; each is left once."""
        if sys.platform != "linux":
            return
        with self._lock:
            self._holders += 1
            if self._holders > 1:
                return
            self._kept = {child.pid for child in _children() if child.session != os.getsid(0)}
            self._before = _prctl(_GET_DUMPABLE), _subreaper()
            _prctl(_SET_DUMPABLE, 0)
            _prctl(_SET_SUBREAPER, 1)

    def leave(self) -> None:
        """End what is left of implementations, where none runs any more, and open this process again."""
        if sys.platform != "linux":
            return
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
            self._end(None)
            dumpable, subreaper = self._before
            _prctl(_SET_DUMPABLE, dumpable)
            _prctl(_SET_SUBREAPER, subreaper)

    def add(self, worker: int) -> None:
        """Note an implementation's process."""
        with self._lock:
            self._workers.add(worker)

    def used(self, worker: int) -> None:
        """Note that an implementation's code runs in it from now on."""
        with self._lock:
            self._used.add(worker)

    def gone(self, worker: int) -> None:
        """End the descendants of an implementation's process that has ended.

        While another one runs, daemons in sessions of their own may be that one's, and are left until it has ended.
        """
        if sys.platform != "linux":
            return
        with self._lock:
            self._workers.discard(worker)
            self._used.discard(worker)
            self._end(worker if self._used else None)

    def bury(self) -> None:
        """Let descendants go that have ended: nobody else waits for them."""
        if sys.platform != "linux":
            return
        with self._lock:
            for child in self._strays(None):
                if child.ended:
                    _buried(child.pid)

    def _strays(self, session: int | None) -> list[_Child]:
        mine = os.getsid(0)
        descendants = [child for child in _children() if child.session != mine]
        self._kept &= {child.pid for child in descendants}
        known = self._kept | self._workers
        return [
            descendant
            for descendant in descendants
            if descendant.pid not in known and session in (None, descendant.session)
        ]

    def _end(self, session: int | None) -> None:
        """Kill until nothing is left: who loses its parent by that comes here next."""
        deadline = time.monotonic() + _SECONDS
        while strays := self._strays(session):
            for child in strays:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child.pid, signal.SIGKILL)
            gone = [_buried(child.pid) for child in strays]
            if not all(gone):
                if time.monotonic() > deadline:
                    return
                time.sleep(_PAUSE)


@lru_cache(maxsize=1)
def custody() -> Custody:
    """The one of this process."""
    return Custody()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, processes are started that run implementations further on: what they leave ends with the block."""
    custody().enter()
    try:
        yield
    finally:
        custody().leave()


def _prctl(what: int, value: int = 0) -> int:
    return int(ctypes.CDLL(None).prctl(what, ctypes.c_ulong(value), 0, 0, 0))


def _subreaper() -> int:
    setting = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(_GET_SUBREAPER, ctypes.byref(setting), 0, 0, 0)
    return setting.value


def _buried(pid: int) -> bool:
    """Whether a child has ended, which is forgotten by that."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _children() -> list[_Child]:
    """The children of this process."""
    numbers: set[int] = set()
    try:
        for task in os.listdir("/proc/self/task"):
            with (
                contextlib.suppress(FileNotFoundError, ProcessLookupError),
                open(f"/proc/self/task/{task}/children", "rb") as stream,
            ):
                numbers.update(map(int, stream.read().split()))
        listed = os.path.exists("/proc/self/task") and os.path.exists(f"/proc/self/task/{os.getpid()}/children")
    except OSError:
        listed = False
    if not listed:  # a kernel without that file: look through all processes
        with contextlib.suppress(OSError):
            numbers = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    mine = os.getpid()
    return [child for number in sorted(numbers) if (child := _child(number, mine)) is not None]


def _child(number: int, parent: int) -> _Child | None:
    try:
        with open(f"/proc/{number}/stat", "rb") as stream:
            state, own_parent, _, session, *_ = stream.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return _Child(number, int(session), state in b"ZX") if int(own_parent) == parent else None
