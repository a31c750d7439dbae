"""ScaleBias on integer tensors, vectorised: every integer that x * scale + bias may become.

The pages do not say in which arithmetic it is computed. Each of the usual ones gives a real number, whose two
neighbouring integers are stored as they are, saturated or wrapped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import (
    Alternatives,
    Array,
    Rounding,
    distinct,
    fused_multiply_add_float64,
)
from dmlcts.specs.arithmetic.vector_integers import Whole, floor_and_ceiling
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.formula import MultiplyAdd
from dmlcts.specs.oracle.vector_scale_bias import USUAL, Operands, through_float32

_TRUNCATING = Rounding(DataType.FLOAT32, frozenset({"contraction"}))
"""FLOAT32 that may be fused and may truncate, as hardware does."""


def is_finite(scale_bias: ScaleBias) -> bool:
    """Whether both factors are numbers; where one is not, any value may come out."""
    return bool(np.isfinite(scale_bias.scale) and np.isfinite(scale_bias.bias))


def _is_identity(operation: MultiplyAdd, scale_bias: ScaleBias) -> bool:
    return bool(operation == USUAL and scale_bias.scale == 1 and scale_bias.bias == 0)


@dataclass(frozen=True)
class _Line:
    """A ScaleBias as a function of x alone: x * ``factor`` + ``constant``, with the product that makes the constant.

    Attributes:
        factor: what x is multiplied with, 1 where x is the addend.
        constant: what is added, the product of scale and bias where x is the addend.
        product: scale and bias, where x is the addend; else ``None``.
    """

    factor: Fraction
    constant: Fraction
    product: tuple[np.float32, np.float32] | None

    @classmethod
    def of(cls, operation: MultiplyAdd, scale_bias: ScaleBias) -> _Line:
        by_name = {"scale": scale_bias.scale, "bias": scale_bias.bias}
        if operation.addend == "x":
            pair = scale_bias.scale, scale_bias.bias
            return cls(Fraction(1), Fraction(float(pair[0])) * Fraction(float(pair[1])), pair)
        (factor,) = set(operation.factors) - {"x"}
        return cls(Fraction(float(by_name[factor])), Fraction(float(by_name[operation.addend])), None)


def plainly_scaled(x: Array, operation: MultiplyAdd, scale_bias: ScaleBias, *, lenient: bool) -> Array:
    """One acceptable value for each element: what a plain implementation gives.

    Whole factors that the type holds are applied in integers that wrap, others in FLOAT64, truncated, saturated. Where
    a factor is not finite it is ``x``, since every value is acceptable.
    """
    if not is_finite(scale_bias) or _is_identity(operation, scale_bias):
        return x
    if operation != USUAL or not lenient:
        return truncated(x, operation, scale_bias)
    scale, bias = float(scale_bias.scale), float(scale_bias.bias)
    limits = np.iinfo(x.dtype)
    if all(value.is_integer() and limits.min <= value <= limits.max for value in (scale, bias)):
        factor, addend = (x.dtype.type(int(value)) for value in (scale, bias))
        with np.errstate(over="ignore"):
            return np.asarray(x * factor + addend)
    whole = np.trunc(x.astype(np.float64) * scale + bias)
    if x.dtype.itemsize < 8:
        return np.clip(whole, limits.min, limits.max).astype(x.dtype)
    return Whole.of_floats(whole).saturated(x.dtype)


def truncated(x: Array, operation: MultiplyAdd, scale_bias: ScaleBias) -> Array:
    """The exact number, truncated toward zero, modulo 2^bits: what no latitude changes.

    ``x`` is 1-D, of an integer type; the result has its type and length.
    """
    line = _Line.of(operation, scale_bias)
    floor, ceiling = floor_and_ceiling(x, line.factor, line.constant)
    return np.where(ceiling.below(1), ceiling.wrapped(x.dtype), floor.wrapped(x.dtype))


def scaled(x: Array, operation: MultiplyAdd, scale_bias: ScaleBias, *, lenient: bool) -> Alternatives:
    """All values that the integers ``x`` (1-D) may have after ScaleBias with finite factors."""
    if _is_identity(operation, scale_bias):
        return [x]
    if not lenient:
        return [truncated(x, operation, scale_bias)]
    line = _Line.of(operation, scale_bias)
    with np.errstate(all="ignore"):
        alternatives: Alternatives = []
        for whole in _unlike(*floor_and_ceiling(x, line.factor, line.constant)):
            alternatives += whole.stored(x.dtype)
        for real in distinct(_in_floating_point(x, operation, scale_bias)):
            infinite = ~np.isfinite(real)
            for whole_real in distinct((np.floor(real), np.ceil(real))):
                alternatives += Whole.of_floats(whole_real).stored(x.dtype, infinite)
        alternatives += _step_by_step(x, line)
    return distinct(alternatives)


def _unlike(floor: Whole, ceiling: Whole) -> tuple[Whole, ...]:
    """Both integers next to real numbers; once, where whole factors make every number its own floor and ceiling."""
    return (floor,) if floor is ceiling else (floor, ceiling)


def beyond(
    x: Array, operation: MultiplyAdd, scale_bias: ScaleBias, *, magnitude: bool = False
) -> Iterator[tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]]:
    """What results outside the type, or their magnitudes, are stored as, and which elements' are above and below it.

    ``x`` is 1-D, of an integer type; all arrays that are given have its length.
    """
    if _is_identity(operation, scale_bias):
        return
    limits = np.iinfo(x.dtype)
    line = _Line.of(operation, scale_bias)
    with np.errstate(all="ignore"):
        wholes: list[tuple[Whole, NDArray[np.bool_] | None]] = [
            (whole, None) for whole in _unlike(*floor_and_ceiling(x, line.factor, line.constant))
        ]
        for real in distinct(_in_floating_point(x, operation, scale_bias)):
            endless = ~np.isfinite(real)
            wholes += [(Whole.of_floats(rounded), endless) for rounded in distinct((np.floor(real), np.ceil(real)))]
        for whole, infinite in wholes:
            above, below = whole.above(int(limits.max)), whole.below(int(limits.min))
            if above.any() or below.any():
                for stored in (whole.magnitude() if magnitude else whole).stored(x.dtype, infinite):
                    yield stored, above, below


def _converted(x: Array, dtype: np.dtype[Any]) -> Alternatives:
    """The floating-point numbers next to integers: the nearest, and the one on the integer's other side."""
    nearest = x.astype(dtype)
    wide = x.astype(np.int64 if np.issubdtype(x.dtype, np.signedinteger) else np.uint64)
    upper, lower = wide >> wide.dtype.type(32), wide & wide.dtype.type((1 << 32) - 1)
    # both differences are integers below 2^53, and so exact
    excess = nearest.astype(np.float64) - upper.astype(np.float64) * 2.0**32 - lower.astype(np.float64)
    infinity = dtype.type(np.inf)
    other = np.where(excess > 0, np.nextafter(nearest, -infinity), np.nextafter(nearest, infinity))
    return distinct([nearest, np.where(excess == 0, nearest, other)])


def _in_floating_point(x: Array, operation: MultiplyAdd, scale_bias: ScaleBias) -> Iterator[NDArray[np.float64]]:
    """The product and the sum separate and fused, in FLOAT32, also truncated, and in FLOAT64; each as FLOAT64."""
    operands = Operands.of(operation, scale_bias)
    for single in _converted(x, np.dtype(np.float32)):
        for real in through_float32(single, operands, _TRUNCATING):
            yield real.astype(np.float64)
    line = _Line.of(operation, scale_bias)
    for double in _converted(x, np.dtype(np.float64)):
        if line.product is not None:  # exact in FLOAT64, so that separate and fused are the same
            yield np.float64(line.product[0]) * np.float64(line.product[1]) + double
            continue
        factor, constant = np.float32(float(line.factor)), np.float32(float(line.constant))
        yield double * np.float64(factor) + np.float64(constant)
        yield fused_multiply_add_float64(double, factor, constant)


def _step_by_step(x: Array, line: _Line) -> Alternatives:
    """The product an integer of the type, and the sum likewise: both rounded, and both stored, in the same way."""
    alternatives: Alternatives = []
    if line.product is not None:
        for rounded in (math.floor, math.ceil):
            for store in (Whole.wrapped, Whole.saturated):
                product = int(store(Whole.of_integer(rounded(line.constant)), x.dtype)[0])
                alternatives.append(store(Whole.of_sums(x, product), x.dtype))
        return alternatives
    floor, ceiling = floor_and_ceiling(x, line.factor, Fraction(0))
    steps = [(floor, math.floor(line.constant))]
    if ceiling is not floor or line.constant.denominator != 1:  # or else rounding up is the same as rounding down
        steps.append((ceiling, math.ceil(line.constant)))
    for whole, addend in steps:
        for store in (Whole.wrapped, Whole.saturated):
            alternatives.append(store(Whole.of_sums(store(whole, x.dtype), addend), x.dtype))
    return alternatives
