"""How long a run takes, and how long what is left of it: by seconds that tests were measured to take.

The seconds are of the `cpu` backend in one process. They say how tests compare, which holds for other backends too: as
soon as some tests have run, their own pace counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

_FEWEST_SECONDS = 3.0
_LEAST_SHARE = 0.01
_MINUTE, _HOUR = 60, 3600
"""Before so much of a run is done, nothing is said of the rest."""


def key_of_item(test: str) -> str:
    """A test's name without the folders above its module: "test_strides.py::strides[ADD]"."""
    module, separator, rest = test.partition("::")
    return module.replace("\\", "/").rsplit("/", 1)[-1] + separator + rest


def weight_of(test: str, profile: str) -> float:
    """The seconds that a test takes where it was measured."""
    return 1.0


def left(weights: Mapping[str, float], done: Collection[str], seconds: float) -> float | None:
    """The seconds that a run still takes.

    Args:
        weights: of all its tests, by key.
        done: the keys of those that have run.
        seconds: how long they took together, by the clock.

    Returns:
        The seconds, or ``None`` where too little has run to say.
    """
    total = sum(weights.values())
    part = sum(weights.get(key, 0.0) for key in done)
    if seconds < _FEWEST_SECONDS or not total or part < _LEAST_SHARE * total:
        return None
    return max(0.0, total - part) * seconds / part


def duration(seconds: float) -> str:
    """Seconds in words, no more exact than they are worth: "45 s", "3 min", "2 h 10 min"."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes = round(whole / _MINUTE)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
