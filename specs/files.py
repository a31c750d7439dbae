"""Files that somebody names: read as what they are, and never more of them than was asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: str | Path) -> BinaryIO:
    """Open a plain file to be read; a pipe or a device is refused, and not waited for.

    Raises:
        OSError: it cannot be opened, or is no plain file.
        ValueError: it is no path at all.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    opened = os.open(path, flags)
    mode = os.fstat(opened).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(opened, "rb")
    os.close(opened)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no plain file", str(path))


def read_bounded(path: str | Path, most: int) -> bytes:
    """The first ``most`` + 1 bytes of a plain file, so that a caller sees where it is longer than ``most``.

    Raises:
        OSError: it cannot be read, or is no plain file.
        ValueError: it is no path at all.
    """
    with open_plain(path) as stream:
        return stream.read(most + 1)
