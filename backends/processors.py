"""How many processors there are for this process."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """How many processors this process may use: those of its affinity where the system has one, else all."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
