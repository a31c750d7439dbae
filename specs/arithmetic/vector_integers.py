"""Integers wider than numpy's, vectorised: x * scale + bias of integers and FLOATs exactly, and how it is stored.

A 64-bit integer times a FLOAT can need 340 bits. They are computed in limbs of 32 bits, and only as many as the
scale and the bias of a description call for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Alternatives, Array
from dmlcts.specs.datatypes import DataType

_LIMB = 32
_ONES = (1 << _LIMB) - 1
_FAR = 1 << 62  # where the upper half of a Whole ends: no type's limit comes near
_INT32, _UINT32 = np.iinfo(np.int32), np.iinfo(np.uint32)


@dataclass(frozen=True)
class Whole:
    """Integers k.

    Attributes:
        low: k modulo 2^64, UINT64.
        high: floor(k / 2^64), or the nearer of -2^62 and 2^62, INT64.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.int64]

    @classmethod
    def of_floats(cls, values: NDArray[np.float64]) -> Whole:
        """FLOAT64 values that are integers or infinite; infinity counts as a number too large for every type.

        ``values`` has any shape; both parts have the same shape.
        """
        with np.errstate(invalid="ignore"):
            above = np.trunc(values * 2.0**-64)
            rest = np.where(np.isfinite(values), values - above * 2.0**64, 0.0)  # exact, and of the sign of the value
            negative = rest < 0
            magnitude = np.abs(rest).astype(np.uint64)
        low = np.where(negative, np.uint64(0) - magnitude, magnitude)
        return cls(low, np.clip(above, -_FAR, _FAR).astype(np.int64) - negative)

    @classmethod
    def of_integer(cls, value: int) -> Whole:
        """One Python integer."""
        high = min(max(value >> 64, -_FAR), _FAR)
        return cls(np.array([value & (1 << 64) - 1], np.uint64), np.array([high], np.int64))

    @classmethod
    def of_sums(cls, x: Array, addend: int) -> Whole:
        """The sums of integers of any type and a Python integer.

        ``x`` has any shape; both parts have the same shape.
        """
        signed = np.issubdtype(x.dtype, np.signedinteger)
        pattern = x.astype(np.int64 if signed else np.uint64).view(np.uint64)
        low = pattern + np.uint64(addend & (1 << 64) - 1)
        carry = (low < pattern).astype(np.int64)
        high = min(max(addend >> 64, -_FAR + 1), _FAR - 1)
        return cls(low, (carry - (x < 0) if signed else carry) + np.int64(high))

    def magnitude(self) -> Whole:
        """Their magnitudes."""
        negative = self.high < 0
        high = np.where(negative, ~self.high + (self.low == 0), self.high)
        return Whole(np.where(negative, np.uint64(0) - self.low, self.low), high)

    def above(self, limit: int) -> NDArray[np.bool_]:
        """Which are greater than ``limit``.

        The mask has the shape of the parts.
        """
        high, low = limit >> 64, np.uint64(limit & (1 << 64) - 1)
        return np.asarray((self.high > high) | ((self.high == high) & (self.low > low)))

    def below(self, limit: int) -> NDArray[np.bool_]:
        """Which are less than ``limit``.

        The mask has the shape of the parts.
        """
        high, low = limit >> 64, np.uint64(limit & (1 << 64) - 1)
        return np.asarray((self.high < high) | ((self.high == high) & (self.low < low)))

    def wrapped(self, dtype: np.dtype[Any]) -> Array:
        """Modulo 2^bits of the integer type.

        The result is of type ``dtype``, of the shape of the parts.
        """
        return self.low.astype(dtype)

    def saturated(self, dtype: np.dtype[Any], limits: Any = None) -> Array:
        """The nearest limit of the type where k lies outside it; with ``limits``, of another type, then wrapped.

        The result is of type ``dtype``, of the shape of the parts.
        """
        limits = np.iinfo(dtype) if limits is None else limits
        least, most = (
            np.array(int(limit) & (1 << 64) - 1, np.uint64).astype(dtype) for limit in (limits.min, limits.max)
        )
        return np.where(
            self.above(int(limits.max)), most, np.where(self.below(int(limits.min)), least, self.wrapped(dtype))
        )

    def stored(self, dtype: np.dtype[Any], infinite: NDArray[np.bool_] | None = None) -> Alternatives:
        """Every way in which the pages let k be brought into the type: as it is, saturated, or wrapped.

        Each result is of type ``dtype``, of the shape of the parts.

        Args:
            dtype: the integer type.
            infinite: which elements stand for an infinity, which has no remainder and saturates only.
        """
        limits = np.iinfo(dtype)
        outside = self.above(int(limits.max)) | self.below(int(limits.min))
        wrapped = self.wrapped(dtype)
        if not outside.any():
            return [wrapped]
        saturated = self.saturated(dtype)
        alternatives = [saturated, wrapped if infinite is None else np.where(infinite, saturated, wrapped)]
        if limits.bits <= 16:
            alternatives += [np.where(outside, self.saturated(dtype, wide), wrapped) for wide in (_INT32, _UINT32)]
        return alternatives


def _limbs(value: int, count: int) -> list[np.uint64]:
    """The lowest limbs of a Python integer, in two's complement."""
    return [np.uint64(value >> _LIMB * place & _ONES) for place in range(count)]


def floor_and_ceiling(x: Array, scale: Fraction, bias: Fraction) -> tuple[Whole, Whole]:
    """The integers next to x * scale + bias, exactly.

    Both results have the shape of ``x``.

    Args:
        x: integers of any type.
        scale: a fraction whose denominator is a power of two.
        bias: likewise.
    """
    places = max(scale.denominator, bias.denominator).bit_length() - 1
    multiplier, addend = int(scale * (1 << places)), int(bias * (1 << places))
    width = max(64 + multiplier.bit_length(), addend.bit_length()) + 2  # a carry, and the sign
    limbs = _multiplied(x, multiplier, addend, -(-width // _LIMB))
    sign = np.where(limbs[-1] >> np.uint64(_LIMB - 1) != 0, np.uint64(_ONES), np.uint64(0))
    skipped, shift = places // _LIMB, places % _LIMB

    def limb(place: int) -> Array:
        return limbs[place] if place < len(limbs) else sign

    def shifted(place: int) -> Array:
        if not shift:
            return limb(place + skipped)
        upper = limb(place + skipped + 1) << np.uint64(_LIMB - shift) & np.uint64(_ONES)
        return np.asarray(upper | limb(place + skipped) >> np.uint64(shift))

    low, high = (shifted(place) | shifted(place + 1) << np.uint64(_LIMB) for place in (0, 2))
    top = high.view(np.int64)
    far = (top > _FAR) | (top < -_FAR) | ((top < 0) != (sign != 0))
    for place in range(4, len(limbs) - skipped):
        far |= shifted(place) != sign
    floor = Whole(low, np.where(far, np.where(sign != 0, np.int64(-_FAR), np.int64(_FAR)), top))
    if not places:
        return floor, floor
    fraction = limb(skipped) & np.uint64((1 << shift) - 1)
    for place in range(skipped):
        fraction = fraction | limb(place)
    step = fraction != 0
    low = floor.low + step.astype(np.uint64)
    return floor, Whole(low, floor.high + (step & (low == 0) & ~far))


def _multiplied(x: Array, multiplier: int, addend: int, count: int) -> list[Array]:
    """The ``count`` lowest limbs of x * multiplier + addend, in two's complement."""
    wide = x.astype(np.int64 if np.issubdtype(x.dtype, np.signedinteger) else np.uint64)
    pattern = wide.view(np.uint64)
    halves = pattern & np.uint64(_ONES), pattern >> np.uint64(_LIMB)
    columns = [np.full(x.shape, limb) for limb in _limbs(addend, count)]
    for place, factor in enumerate(_limbs(multiplier, count)):
        if not factor:
            continue
        for half, offset in zip(halves, (place, place + 1), strict=True):
            product = half * factor
            if offset < count:
                columns[offset] += product & np.uint64(_ONES)
            if offset + 1 < count:
                columns[offset + 1] += product >> np.uint64(_LIMB)
    if wide.dtype == np.int64:  # a negative x stands as x + 2^64 in its pattern
        negative = (wide < 0).astype(np.uint64)
        for column, limb in zip(columns, _limbs(-multiplier << 64, count), strict=True):
            column += negative * limb
    for place in range(count):
        if place + 1 < count:
            columns[place + 1] += columns[place] >> np.uint64(_LIMB)
        columns[place] &= np.uint64(_ONES)
    return columns


def saturated(meaning: Callable[..., Any], data_type: DataType, operands: Sequence[Array]) -> Array:
    """The results of an integer operation, with those outside the type at its nearest limit.

    The operands are integers that broadcast to one shape; the result is of the type and has that shape.
    """
    limits = np.iinfo(data_type.numpy)
    # Their products and sums stay within INT64; others meet as Python's integers.
    fits = data_type.itemsize < np.dtype(np.int64).itemsize and data_type is not DataType.UINT32
    wide = [np.asarray(operand).astype(np.int64 if fits else object) for operand in operands]
    return np.asarray(np.minimum(np.maximum(meaning(*wide), int(limits.min)), int(limits.max)), data_type.numpy)
