"""What comparisons of intervals may give, for arrays, and what is chosen by them."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from dmlcts.specs.approximation.intervals import Interval, Mask
from dmlcts.specs.arithmetic.vector_arithmetic import Array

ORDERED = {"less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal}
"""The comparisons by which a formula of approximate values may choose."""


class Held(NamedTuple):
    """Where a comparison may hold, and where it may not."""

    true: Mask
    false: Mask


def held(comparison: str, interval: Interval, other: Interval, *, lenient: bool) -> Held:
    """What a comparison of two intervals may give for each element.

    Args:
        comparison: one of :data:`ORDERED`.
        interval: its first operand.
        other: its second.
        lenient: whether a comparison with a NaN may hold.
    """
    left, right = (interval, other) if comparison.startswith("less") else (other, interval)
    if comparison.endswith("equal"):
        true, false = left.low <= right.high, left.high > right.low
    else:
        true, false = left.low < right.high, left.high >= right.low
    anything = interval.open | other.open
    unordered = interval.nan | other.nan
    return Held(true | anything | (unordered & lenient), false | anything | unordered)


def plainly(comparison: str, first: Array, other: Array, then: Array, otherwise: Array) -> Array:
    """What is chosen where numbers are compared.

    ``first`` and ``other`` are the numbers compared, ``then`` and ``otherwise`` what is chosen; all broadcast to one
    shape, that of the result.
    """
    return np.where(ORDERED[comparison](first, other), then, otherwise)


def either(comparisons: list[Held]) -> Held:
    """What any of several comparisons may give."""
    true, false = (reduce(np.logical_or, masks) for masks in zip(*comparisons, strict=True))
    return Held(true, false)


def where(there: Mask, interval: Interval, other: Interval) -> Interval:
    """An interval at some elements, and at the others another one."""
    return Interval(
        np.where(there, interval.low, other.low),
        np.where(there, interval.high, other.high),
        np.where(there, interval.nan, other.nan),
        np.where(there, interval.open, other.open),
    )


def chosen(truths: Held, then: list[Interval], otherwise: list[Interval]) -> list[Interval]:
    """Every alternative of either branch where it may be chosen; each of them is a number at every element."""
    count = max(len(then), len(otherwise))
    paired = [(then[min(place, len(then) - 1)], otherwise[min(place, len(otherwise) - 1)]) for place in range(count)]
    intervals = [where(truths.true, *pair) for pair in paired]
    if np.any(truths.true & truths.false):
        intervals += [where(truths.false, *pair[::-1]) for pair in paired]
    return intervals


def others_despite_nan(interval: Interval, operands: tuple[Interval, ...]) -> list[Interval]:
    """What a minimum or maximum gives, but each operand where another one is a NaN."""
    every = []
    for place, operand in enumerate(operands):
        lost = reduce(np.logical_or, [other.nan for number, other in enumerate(operands) if number != place])
        if np.any(lost):
            every.append(where(lost & ~np.isnan(operand.low), operand, interval))
    return every
