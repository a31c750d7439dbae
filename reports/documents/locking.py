"""One run a folder: a lock that the operating system holds, so that it ends with the process that took it.

The library filelock would lock a file, which it leaves behind in every results folder. Here the folder itself is
locked, but on Windows, where that cannot be: nothing stands among the results that is none of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dmlcts.specs import UsageError

_LOCK_FILE = ".dmlcts-lock"  # where a folder itself cannot be locked


class FolderLock:
    """Holds a folder for this process, until :meth:`release` or the process's end, whatever ends it.

    Raises:
        UsageError: another process holds it, or it cannot be locked.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor: int | None = None
        mend = "wait for that run, or choose another folder with --results"
        try:
            self._descriptor = _open(folder)
            _lock(self._descriptor)
        except BlockingIOError:
            self.release()
            raise UsageError(f"another run is writing into {folder}", mend) from None
        except OSError as error:
            self.release()
            reason = error.strerror or str(error)
            raise UsageError(f"cannot lock {folder}: {reason}", "choose another folder with --results") from None

    def release(self) -> None:
        """Give the folder free; calling it again does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _open(folder: Path) -> int:
    if sys.platform == "win32":
        return os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT)
    return os.open(folder, os.O_RDONLY)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(str(error)) from None
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
