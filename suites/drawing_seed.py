"""What Hypothesis draws depends on the run's seed alone."""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def draw_no_local_constants() -> None:
    """Keep Hypothesis from drawing the numbers that stand in whichever local modules happen to be imported.

    Since version 6.131 it does, so that a run's cases would depend on the backend's modules, on the isolation and on
    which process of pytest-xdist a test runs in. There is no setting against it; where a version has no such
    constants, there is nothing to do.
    """
    if hasattr(providers, "_get_local_constants") and hasattr(providers, "Constants"):
        nothing = providers.Constants()
        providers._get_local_constants = lambda: nothing
