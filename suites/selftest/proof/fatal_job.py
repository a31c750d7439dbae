"""A job for worker processes that may end its process: it stands here, for a worker imports what it runs by name."""

from __future__ import annotations

import os


def doubled_unless_fatal(number: int, fatal: int) -> int:
    """Twice the number; the process that is given the fatal one ends."""
    if number == fatal:
        os._exit(9)
    return 2 * number
