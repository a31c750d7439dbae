"""How much memory this process and all that it started hold together, watched while something runs."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

_EVERY_SECONDS = 1.0
_UNIT = 1024


def _families() -> dict[int, list[int]]:
    """The processes of this machine by the one that started them."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (entry / "stat").read_text(encoding="ascii", errors="replace")
            children[int(stat.rpartition(")")[2].split()[1])].append(int(entry.name))
    return children


def held_together(pid: int) -> int:
    """Bytes that a process and its descendants hold, what they share counted once; 0 where it is not known."""
    families, left, total = _families(), [pid], 0
    while left:
        process = left.pop()
        left += families.get(process, [])
        with contextlib.suppress(OSError, ValueError, IndexError):
            rolled = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += next(int(line.split()[1]) for line in rolled if line.startswith("Pss:")) * _UNIT
    return total


class MemoryWatch:
    """Looks a few times a second, inside a ``with``.

    Attributes:
        most: the most bytes that were held at once; 0 where the system does not report it.
    """

    def __init__(self) -> None:
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _look(self) -> None:
        self.most = max(self.most, held_together(os.getpid()))

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            self._look()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._look()
        self._over.set()
        self._thread.join()
