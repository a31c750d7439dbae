"""What is drawn follows from the seed alone, wherever and beside whatever it is drawn.

Hypothesis mixes constants from the source of the modules that are loaded into what it draws, of those outside its
list of installed packages. These are other ones in a process of pytest-xdist, in a checkout, with an implementation's
own module beside them: the same seed would give other cases.
"""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import strategies
from hypothesis.internal.conjecture import providers


def draw_from_the_seed_alone() -> None:
    """Let Hypothesis take no constants from loaded modules, from now on; versions that take none need nothing."""
    if hasattr(providers, "_get_local_constants"):
        from hypothesis.internal.constants_ast import Constants  # defined there, imported by providers

        nothing = Constants()
        providers._get_local_constants = lambda: nothing  # there is no setting for it
        providers.CONSTANTS_CACHE.cache.clear()


def draw_for_the_first_time() -> None:
    """Draw something: the first time, Hypothesis looks for garbage among all that there is, which takes long later."""
    hypothesis.find(strategies.none(), lambda _: True, settings=hypothesis.settings(database=None))


def draw_from_the_run_seed(test: Any, seed: int) -> None:
    """Give a property-based test, as ``given`` made it, a run's seed."""
    hypothesis.seed(seed)(test)  # derives from the settings that the test has by now
