"""Arithmetic of the vectorised oracle: numpy operations that round where, how and how often their names say.

Sums and products are first computed in FLOAT64, exactly or rounded to odd, and rounded to the wanted format once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.latitudes import Latitudes

Array = NDArray[Any]
Alternatives = list[Array]
"""Arrays of one type; element i of each is one value that element i may have."""

_FEW = 1 << 10  # below, pairs are not worth being looked for
_SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)
_SPLIT = np.uint64((1 << 27) - 1)  # the lower half of a FLOAT64's significand
_ORDINARY = 2.0**800  # up to here, and down to its inverse, no step of a fused FLOAT64 operation leaves the range


def distinct(arrays: Iterable[Array]) -> Alternatives:
    """The arrays without repetitions, compared by their bits.

    The arrays have one type and one shape.
    """
    alternatives = list(arrays)
    if len(alternatives) == 1:
        return alternatives
    seen: dict[bytes, Array] = {}
    for array in alternatives:
        seen.setdefault(array.tobytes(), array)
    return list(seen.values())


def distinct_pairs(x: Array, output: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each pair of patterns stands first, and for each element which of those is its own.

    Inputs repeat: large tensors are filled with short streams, and a narrow type has few patterns. What is acceptable
    for a pair costs more to find than the pairs do. Types of eight bytes are left as they are.
    """
    if x.dtype.itemsize > 4 or x.size < _FEW:
        every = np.arange(x.size)
        return every, every
    half = np.uint64(32)
    bits = [array.view(f"u{array.dtype.itemsize}").astype(np.uint64) for array in (x, output)]
    _, first, inverse = np.unique(bits[0] << half | bits[1], return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def vanishing(values: Array) -> NDArray[np.bool_]:
    """Which FLOAT32 values are zero or subnormal.

    ``values`` has any shape; the mask has the same shape.
    """
    return np.asarray(np.abs(values) < np.float32(_SMALLEST_NORMAL))


def flushed(arrays: Iterable[Array]) -> Alternatives:
    """Rule 1 for FLOAT32: each array, and where it holds subnormals the same with zeros in their place.

    The arrays are FLOAT32, of any shape; each result has the shape of its array.
    """
    result = []
    for array in arrays:
        result.append(array)
        subnormal = vanishing(array) & (array != 0)
        if subnormal.any():
            result.append(np.where(subnormal, np.copysign(np.zeros((), array.dtype), array), array))
    return distinct(result)


def to_float32(exact: Array) -> Alternatives:
    """What FLOAT64 numbers may become in FLOAT32: rounded to nearest, and zero where they are tiny (r32).

    A flush by tininess before rounding also takes what would be rounded up to the smallest normal number.

    ``exact`` is a FLOAT64 array of any shape; each result is FLOAT32 of the same shape.
    """
    nearest = exact.astype(np.float32)
    tiny = (np.abs(exact) < _SMALLEST_NORMAL) & (exact != 0)
    return [nearest, np.where(tiny, np.copysign(np.float32(0), nearest), nearest)] if tiny.any() else [nearest]


def other_float32(exact: Array) -> Array:
    """The FLOAT32 on the other side of FLOAT64 numbers than the nearest one; themselves where FLOAT32 holds them.

    Beside the infinity that a number beyond the range is rounded to stands the largest finite number.

    ``exact`` is a FLOAT64 array of any shape; the result is FLOAT32 of the same shape.
    """
    nearest = exact.astype(np.float32)
    wide = nearest.astype(np.float64)
    toward = np.where(wide > exact, np.float32(-np.inf), np.where(wide < exact, np.float32(np.inf), nearest))
    return np.asarray(np.nextafter(nearest, toward))


def to_float16_toward_zero(values: Array) -> Array:
    """FLOAT32 or FLOAT64 numbers rounded to FLOAT16 toward zero: 65504 beyond the range, infinities kept (rz16).

    The result is FLOAT16 of the same shape.
    """
    nearest = np.asarray(values.astype(np.float16))
    beyond = np.abs(nearest.astype(values.dtype)) > np.abs(values)
    return np.asarray(np.where(beyond, np.nextafter(nearest, np.float16(0)), nearest))


def to_float16(values: Array) -> Alternatives:
    """What a conversion to FLOAT16 may give: rounded to nearest or toward zero (n16).

    Each result is FLOAT16 of the operand's shape.
    """
    return [values.astype(np.float16), to_float16_toward_zero(values)]


@dataclass(frozen=True)
class Rounding:
    """How a type computes, with the latitudes that act.

    Attributes:
        data_type: the type of operands and results.
        latitudes: see :mod:`dmlcts.specs.latitudes`.
    """

    data_type: DataType
    latitudes: Latitudes

    @cached_property
    def flushes(self) -> bool:
        """Whether subnormals may be zero: those of FLOAT32, the other types preserve them."""
        return self.data_type is DataType.FLOAT32 and "subnormals" in self.latitudes

    @cached_property
    def signed_zeros(self) -> bool:
        """Whether the sign of a zero counts."""
        return "zero-sign" not in self.latitudes

    @cached_property
    def ignores_nan(self) -> bool:
        """Whether min and max may return the operand that is no NaN."""
        return "nan" in self.latitudes

    def closed(self, arrays: Iterable[Array]) -> Alternatives:
        """Rule 1's closure: zeros are compared as equal, so that only FLOAT32 subnormals need anything here.

        Each result has the type and shape of one of ``arrays``.
        """
        return flushed(arrays) if self.flushes else distinct(arrays)

    def sum_or_product(self, exact: Array) -> Alternatives:
        """What FLOAT64 numbers may become in FLOAT32 as a step of ScaleBias: r32, and to the other neighbour.

        ``exact`` has any shape; each result is FLOAT32 of the same shape.
        """
        truncated = [other_float32(exact)] if "contraction" in self.latitudes else []
        return distinct([*self.to_float32(exact), *truncated])

    def to_float32(self, exact: Array) -> Alternatives:
        """What FLOAT64 numbers may become in FLOAT32 (r32).

        ``exact`` has any shape; each result is FLOAT32 of the same shape.
        """
        return to_float32(exact) if "subnormals" in self.latitudes else [exact.astype(np.float32)]

    def closed_float32(self, arrays: Iterable[Array]) -> Alternatives:
        """The closure of FLOAT32 values, whatever the tensor's type.

        Each result is FLOAT32 of the shape of one of ``arrays``.
        """
        return flushed(arrays) if "subnormals" in self.latitudes else distinct(arrays)


def _add_exactly(a: Array, b: Array) -> tuple[Array, Array]:
    """The FLOAT64 sum and its error, which is a FLOAT64 too (Knuth's two-sum)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def add_to_odd(a: Array, b: Array) -> Array:
    """The FLOAT64 sum, rounded to odd where it is not exact.

    ``a`` and ``b`` are FLOAT64 arrays that broadcast to one shape, that of the result.
    """
    total, error = _add_exactly(a, b)
    inexact = np.asarray((error != 0) & np.isfinite(total) & np.isfinite(error))
    if not inexact.any():
        return np.asarray(total)
    bits = np.asarray(total).view(np.int64)
    inexact &= (bits & 1) == 0
    away = np.asarray((total > 0) == (error > 0))  # from zero, whose sums are exact: one bit pattern further
    step = np.multiply(away.view(np.int8) * np.int8(2) - np.int8(1), inexact, dtype=np.int8)
    return np.asarray(bits + step).view(np.float64)


def multiply_add_to_odd(x: Array, scale: Array, bias: Array) -> Array:
    """Compute x * scale + bias in FLOAT64, rounded to odd, for operands of at most FLOAT32.

    The product is exact. 53 bits are more than two bits wider than FLOAT32 and FLOAT16, so that rounding the
    result to either of them is right, as if the sum had been rounded once (Boldo and Melquiond).

    ``x``, ``scale`` and ``bias`` broadcast to one shape; the result is FLOAT64 and has at least one dimension.
    """
    with np.errstate(all="ignore"):
        product = np.atleast_1d(x.astype(np.float64) * scale.astype(np.float64))
        addend = np.broadcast_to(bias.astype(np.float64), product.shape)
        return add_to_odd(product, addend)


def fused_multiply_add(x: Array, scale: Array, bias: Array, target: np.dtype[Any]) -> Array:
    """Compute x * scale + bias rounded once to ``target`` (FLOAT32 or FLOAT16), for operands of at most FLOAT32.

    The operands broadcast to one shape; the result has it, and at least one dimension.
    """
    with np.errstate(all="ignore"):
        return np.asarray(multiply_add_to_odd(x, scale, bias).astype(target))


def fused_multiply_add_float64(x: Array, scale: np.float32, bias: np.float32) -> Array:
    """Compute x * scale + bias rounded once to FLOAT64, for FLOAT64 ``x`` and FLOAT factors.

    Fused from exact products and sums and one sum rounded to odd (Boldo and Melquiond), where none of them can
    leave the range; the few elements beyond are computed as fractions.

    ``x`` is 1-D; the result is FLOAT64 of its length.
    """
    s, b = np.float64(scale), np.float64(bias)
    with np.errstate(all="ignore"):
        upper = (x.view(np.uint64) & ~_SPLIT).view(np.float64)
        product = x * s
        rest = (upper * s - product) + (x - upper) * s  # exact: a half of x has at most 27 bits, the scale 24
        carried, least = _add_exactly(np.full_like(x, b), rest)
        total, less = _add_exactly(product, carried)
        result = np.asarray(total + add_to_odd(least, less))
        magnitude = np.abs(x)
        ordinary = ((magnitude < _ORDINARY) & (magnitude > 1 / _ORDINARY)) | (x == 0)
        simple = ~(np.isfinite(x) & np.isfinite(s) & np.isfinite(b))  # no rounding: an infinity or a NaN
        # A finite product is lost in an infinite bias, though the rounded product may be infinite itself.
        unrounded = np.where(np.isfinite(x) & np.isfinite(s), b, product + b)
        result = np.where(simple, unrounded, result)
    for index in np.flatnonzero(~(ordinary | simple)):
        result[index] = _nearest_float64(Fraction(float(x[index])) * Fraction(float(s)) + Fraction(float(b)))
    return result


def _nearest_float64(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
