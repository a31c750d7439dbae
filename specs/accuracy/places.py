"""Where in a type's range an operand lies: buckets by power of two, each one narrow around 1 and wide far from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_STARTS: tuple[int, ...] = (-128, -64, -32, -16, *range(-8, 9), 16, 32, 64)
"""The least binary exponent of each bucket of one sign but the first, which begins at zero."""

OF_ONE_SIGN = len(_STARTS) + 1
BUCKETS = 2 * OF_ONE_SIGN
"""How many buckets there are: those of negative numbers come first, the largest magnitude at the very beginning."""


def _by_exponent_field() -> NDArray[np.intp]:
    """The bucket for each sign and exponent field of FLOAT64."""
    exponents = np.where(np.arange(2048) == 0, -2000, np.arange(2048) - 1023)
    small = np.searchsorted(_STARTS, exponents, side="right")
    return np.concatenate([OF_ONE_SIGN + small, OF_ONE_SIGN - 1 - small])


_TABLE = _by_exponent_field()


def buckets_of(values: NDArray[Any]) -> NDArray[np.intp]:
    """The bucket of each number; infinities and NaN stand with the largest.

    ``values`` has any shape and any numeric type; the result has the same shape.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        wide = values.astype(np.float64)
    return np.asarray(_TABLE[wide.view(np.uint64) >> np.uint64(52)])


def described(bucket: int) -> tuple[int, int | None]:
    """A bucket's sign, and the binary exponent of the least magnitude in it; ``None`` where it begins at zero."""
    negative = bucket < OF_ONE_SIGN
    place = OF_ONE_SIGN - 1 - bucket if negative else bucket - OF_ONE_SIGN
    return (-1 if negative else 1), (None if place == 0 else _STARTS[place - 1])


def following(exponent: int | None) -> int | None:
    """The exponent at which the next bucket outwards begins; ``None`` for the last one."""
    if exponent is None:
        return _STARTS[0]
    place = _STARTS.index(exponent) + 1
    return _STARTS[place] if place < len(_STARTS) else None
