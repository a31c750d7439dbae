"""What Hypothesis draws in a run: it follows from the seed, and from nothing else."""

from __future__ import annotations

from typing import Any


def draw_from_the_seed_alone() -> None:
    """Keep Hypothesis from mixing in numbers that it finds in the source of loaded modules.

    Since 6.131 it collects the constants of every module outside site-packages and draws some of them. Which
    modules are loaded depends on the backend, on whether it runs in a process of its own, and on whether the suite is
    installed or a checkout: the same seed would draw other cases. There is no setting for it.
    """
    from hypothesis.internal.conjecture import providers

    known: Any = providers
    constants = getattr(known, "Constants", None)
    if constants is not None and hasattr(known, "_get_local_constants"):
        none = constants()
        known._get_local_constants = lambda: none
