"""Intervals of real numbers in FLOAT64, an array of them, and what functions give of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError
from dmlcts.specs.functions import Function
from dmlcts.specs.functions.in_arrays import round_half_away

Mask = NDArray[np.bool_]


def _nowhere() -> Mask:
    return np.zeros((), bool)


@dataclass(frozen=True)
class Interval:
    """Every number from one to another, for each element; NaN as an end: there is no number.

    Attributes:
        low: the least number.
        high: the greatest.
        nan: where a NaN may come out, too.
        open: where anything may.
    """

    low: Array
    high: Array
    nan: Mask = field(default_factory=_nowhere)
    open: Mask = field(default_factory=_nowhere)

    @classmethod
    def at(cls, numbers: Array) -> Interval:
        """The numbers themselves, and NaN where they are NaN.

        ``numbers`` is FLOAT64 of any shape; both ends are that array itself.
        """
        return cls(numbers, numbers, np.isnan(numbers))

    @cached_property
    def is_point(self) -> bool:
        """Whether it is one number everywhere where it is not open."""
        if self.low is self.high:
            return True
        apart = (self.low != self.high) & ~np.isnan(self.low) & ~self.open
        return not bool(np.any(apart))


def apart(interval: Interval) -> list[Interval]:
    """Whole numbers between two that are at most one apart: each of the two; else all between them."""
    if interval.is_point:
        return [interval]
    far = interval.high - interval.low > 1
    single = [Interval(end, end, interval.nan, interval.open) for end in (interval.low, interval.high)]
    return (
        [*single, Interval(interval.low, np.where(far, interval.high, interval.low), interval.nan, interval.open)]
        if far.any()
        else single
    )


def finite_and_infinite(interval: Interval, kind: DataType) -> list[Interval]:
    """The finite numbers of an interval, and the infinities at its ends: nothing lies between them."""
    partly = np.isinf(interval.low) != np.isinf(interval.high)
    if not partly.any():
        return [interval]
    greatest = float(np.finfo(kind.numpy).max)
    finite = replace(
        interval,
        low=np.where(partly, np.maximum(interval.low, -greatest), interval.low),
        high=np.where(partly, np.minimum(interval.high, greatest), interval.high),
    )
    beyond = np.where(np.isinf(interval.low), interval.low, interval.high)
    infinite = replace(
        interval, low=np.where(partly, beyond, interval.low), high=np.where(partly, beyond, interval.high)
    )
    return [finite, infinite]


def distinct(every: list[Interval]) -> list[Interval]:
    """Each of some intervals once, whatever made it."""
    if len(every) < _FEW:
        return every
    parts = ((interval, (interval.low, interval.high, interval.nan, interval.open)) for interval in every)
    known = {
        tuple((array.shape, array.tobytes()) for array in map(np.asarray, fields)): interval
        for interval, fields in parts
    }
    return list(known.values())


_FEW = 5
_NO_UFUNC = {"round_half_away": round_half_away}
_OVERFLOWING = ("exp", "sinh", "cosh", "pow")
_GREATEST = float(np.finfo(np.float64).max)


def meaning_of(function: Function) -> Any:
    """A function's real meaning; where FLOAT64 has no number for a number's result, the greatest that there is."""
    arrays = function.arrays
    meaning: Any = arrays.real or arrays.ufunc or _NO_UFUNC[function.name]
    if function.name not in _OVERFLOWING:
        return meaning

    def kept(*operands: Array) -> Array:
        values = np.asarray(meaning(*operands))
        ordinary = np.logical_and.reduce([np.isfinite(operand) for operand in np.broadcast_arrays(*operands)])
        pole = (operands[0] == 0) & (function.name == "pow")
        return np.where(ordinary & ~pole, np.clip(values, -_GREATEST, _GREATEST), values)

    return kept


def _loses_zero(interval: Interval, other: Interval) -> Mask:
    return (interval.low < 0) & (interval.high > 0) & (np.isinf(other.low) | np.isinf(other.high))


def ends(function: Function, operands: tuple[Interval, ...]) -> tuple[Array, Array]:
    """The least and the greatest real result of a function on intervals, in FLOAT64.

    The operands' ends broadcast to one shape, that of both results.

    Raises:
        FormulaError: of a function that may fall, or that has several arguments, more than single numbers are asked.
    """
    meaning = meaning_of(function)
    if all(operand.is_point for operand in operands):
        values = np.asarray(meaning(*(operand.low for operand in operands)))
        return values, values
    match function.name:
        case "add":
            return meaning(operands[0].low, operands[1].low), meaning(operands[0].high, operands[1].high)
        case "subtract":
            return meaning(operands[0].low, operands[1].high), meaning(operands[0].high, operands[1].low)
        case "neg":
            return -operands[0].high, -operands[0].low
        case "multiply" | "divide":
            every = [
                np.asarray(meaning(a, b))
                for a in (operands[0].low, operands[0].high)
                for b in (operands[1].low, operands[1].high)
            ]
            low, high = np.minimum.reduce(every), np.maximum.reduce(every)
            partly = np.isnan(low) & ~np.logical_and.reduce([np.isnan(corner) for corner in every])
            if function.name == "multiply":  # a zero inside of one, and the other infinite: NaN, which is at no corner
                partly = partly | _loses_zero(*operands) | _loses_zero(*operands[::-1])
            if function.name == "divide":  # a divisor that may be zero among others leaves everything open
                partly = partly | (
                    (operands[1].low <= 0) & (operands[1].high >= 0) & (operands[1].low != operands[1].high)
                )
            return np.where(partly, -np.inf, low), np.where(partly, np.nan, high)
    if not function.monotone:
        raise FormulaError(f"{function.name} is given an approximate value", "round or cast it first")
    return tuple(np.asarray(meaning(*(getattr(operand, end) for operand in operands))) for end in ("low", "high"))  # type: ignore[return-value] # two of them
