"""How long what is left of a run takes: by its own pace, and by how long tests were measured to take beside others.

What was measured is the `cpu` backend in one process. How tests compare there holds for other backends roughly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

_FEWEST_SECONDS = 3.0
_LEAST_SHARE = 0.01
"""Before so much of a run is done, nothing is said of the rest."""
_MINUTE = 60
# How many times as long an item of these families takes as an item of the others, by the `seconds` in records.jsonl of
# `dmlcts run --backend cpu --isolation none --operator OPERATOR --profile PROFILE -n 1`: quick of ABS, LOGICAL_NOT and
# ROUND, full of ABS and LOGICAL_NOT. Certification is like full.
_QUICK = {"combinations": 13.0, "sizes": 6.0, "strides": 4.0, "state": 3.0, "magnitudes": 4.0}
_LONG = {
    "combinations": 26.0,
    "strides": 17.0,
    "sizes": 9.0,
    "drawn_programs": 4.0,
    "state": 4.0,
    "aliasing": 2.0,
    "memory": 2.0,
}


def key_of_item(test: str) -> str:
    """A test's name without the folders above its module: "test_strides.py::strides[ADD]"."""
    module, separator, rest = test.partition("::")
    return module.replace("\\", "/").rsplit("/", 1)[-1] + separator + rest


def weight_of(test: str, profile: str) -> float:
    """How long a test takes beside others of its run: a family that was measured to take long weighs more."""
    family = test.rpartition("::")[2].partition("[")[0]
    return (_QUICK if profile == "quick" else _LONG).get(family, 1.0)


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
