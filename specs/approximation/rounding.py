"""Real numbers in FLOAT64 rounded to narrower types, in every direction, and how far a tolerance lets results be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.specs.approximation.rules import bounds_of, factor_of
from dmlcts.specs.approximation.steps import Known, steps_of
from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.formula import Expression
from dmlcts.specs.models import Tolerance

DOUBLE = np.dtype(np.float64)
_GREATEST = float(np.finfo(DOUBLE).max)
_SLACK = 1 + 2.0**-40
"""What a bound that is an expression is widened by: its own evaluation rounds."""


def nearest(value: Array, kind: DataType) -> Array:
    """The nearest numbers of a type, ties to even, in FLOAT64.

    ``value`` is a FLOAT64 array of any shape; the result is FLOAT64 of the same shape.
    """
    return np.asarray(value.astype(kind.numpy).astype(DOUBLE))


def down(value: Array, kind: DataType) -> Array:
    """The greatest numbers of a type that are not above, in FLOAT64; below all finite ones -infinity.

    ``value`` is a FLOAT64 array of any shape; the result has the same shape.
    """
    return _directed(value, kind, upward=False)


def up(value: Array, kind: DataType) -> Array:
    """The least numbers of a type that are not below, in FLOAT64; above all finite ones infinity.

    ``value`` is a FLOAT64 array of any shape; the result has the same shape.
    """
    return _directed(value, kind, upward=True)


def _directed(value: Array, kind: DataType, *, upward: bool) -> Array:
    own: Any = kind.numpy.type
    rounded = value.astype(kind.numpy)
    wide = rounded.astype(DOUBLE)
    wrong = (wide < value) if upward else (wide > value)
    if not wrong.any():
        return np.asarray(wide)
    moved = np.nextafter(rounded, own(np.inf if upward else -np.inf)).astype(DOUBLE)
    return np.where(wrong, moved, wide)


def inward(low: Array, high: Array, kind: DataType) -> tuple[Array, Array]:
    """The least number of a type that is not below ``low``, and the greatest not above ``high``, in FLOAT64.

    Infinity counts as the power of two beyond the largest finite number.

    ``low`` and ``high`` are FLOAT64 arrays of one shape, that of both results.
    """
    return _least(low, kind), -_least(-high, kind)


def _least(low: Array, kind: DataType) -> Array:
    return np.where(low <= -(2.0 ** int(np.finfo(kind.numpy).maxexp)), -np.inf, up(low, kind))


def spacing(value: Array, kind: DataType) -> Array:
    """One unit in the last place of a type at real numbers; infinity at infinities.

    ``value`` is a FLOAT64 array of any shape; the result is FLOAT64 of the same shape.
    """
    information = np.finfo(kind.numpy)
    _, exponent = np.frexp(np.abs(value))
    exponent = np.where(value == 0, int(information.minexp), exponent - 1)
    unit = np.ldexp(1.0, np.maximum(exponent, int(information.minexp)) - int(information.nmant))
    return np.where(np.isfinite(value), unit, np.inf)


def margins(
    kind: DataType, tolerance: Tolerance, results: Sequence[Array], arguments: Mapping[str, Array]
) -> list[Array]:
    """For each of several results of the same arguments the greatest of the distances that a tolerance names.

    Of exact zeros it is the absolute one alone.

    The arrays broadcast to one shape; each margin is FLOAT64, in the unit of the results.

    Args:
        kind: the type that computes.
        tolerance: the rule.
        results: real results in FLOAT64; one that stands there twice is looked at once.
        arguments: of the function, by the names that bounds have for them.
    """
    known: list[Known] = [{} for _ in bounds_of(tolerance)]
    margins_by_result: dict[int, Array] = {}
    for result in results:
        if id(result) not in margins_by_result:
            margins_by_result[id(result)] = _margin(kind, tolerance, result, arguments, known)
    return [margins_by_result[id(result)] for result in results]


def multiplied(
    tolerance: Tolerance, real: tuple[Array, Array], arguments: Sequence[Mapping[str, Array]]
) -> tuple[Array, Array]:
    """The least and the greatest numbers that a tolerance's factor makes of real results, which keep their signs.

    All arrays are FLOAT64 and broadcast to the shape of ``real``, which both results have.

    Args:
        tolerance: the rule, which has a factor.
        real: the least and the greatest real results, in FLOAT64.
        arguments: the lower and the upper ends of the function's arguments, by the names that bounds have for them.
    """
    amount = factor_of(tolerance)
    assert amount is not None, "the caller looks"  # noqa: S101
    ends = []
    known: list[Known] = [{} for _ in arguments]
    for end, outward in zip(real, (-1, 1), strict=True):
        factor = np.ones(end.shape)
        for argument, shared in zip(arguments, known, strict=True):
            names = {**argument, "t": end, "ulp": np.zeros(())}
            multiplier = (
                np.asarray(amount) if isinstance(amount, float) else steps_of(amount).value(names, shared) * _SLACK
            )
            factor = np.fmax(factor, multiplier)
        away = (end > 0) == (outward > 0)
        moved = np.where(away, end * factor, end / factor)
        ends.append(np.where(np.isfinite(end) & (end != 0), np.clip(moved, -_GREATEST, _GREATEST), end))
    return ends[0], ends[1]


def _margin(
    kind: DataType, tolerance: Tolerance, result: Array, arguments: Mapping[str, Array], known: Sequence[Known]
) -> Array:
    unit = spacing(result, kind)
    names = {**arguments, "t": result, "ulp": unit}
    greatest = np.zeros(result.shape)
    for (name, amount), shared in zip(bounds_of(tolerance), known, strict=True):
        value = np.asarray(amount) if isinstance(amount, float) else steps_of(amount).value(names, shared) * _SLACK
        match name:
            case "ulp":
                distance = np.where(result == 0, 0.0, value * unit)
            case "relative":
                distance = np.where(result == 0, 0.0, value * np.abs(result))
            case _:
                distance = np.broadcast_to(value, result.shape)
        greatest = np.fmax(greatest, distance)
    return np.asarray(greatest)


def evaluated(expression: Expression, names: Mapping[str, Any]) -> Any:
    """A bound or a condition, in FLOAT64."""
    return steps_of(expression).value(names)
