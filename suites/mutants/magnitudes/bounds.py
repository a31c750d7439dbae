"""Bounds that lose digits, bits or their sign, in some binades only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.bases import changed
from dmlcts.suites.mutants.reference import Array, Reference


class _Bound(Reference):
    """Min and Max are another FLOAT than the one given."""

    clause = "clip.formula"

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        raise NotImplementedError

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        taken = value if not np.isfinite(value) else self.seen(value, data_type, name)
        return super().cast(np.float32(taken), data_type, name)


# Digits.


class BoundsInSixDigits(_Bound):
    """Bounds pass through a text of six digits."""

    digits = 6

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        return float(f"{value:.{self.digits}g}")


class BoundsInSevenDigits(BoundsInSixDigits):
    """Bounds pass through a text of seven digits."""

    digits = 7


class BoundsInEightDigits(BoundsInSixDigits):
    """Bounds pass through a text of eight digits; nine give every FLOAT back."""

    digits = 8


class ThresholdInEightDigits(BoundsInEightDigits):
    """THRESHOLD's Min passes through a text of eight digits."""

    clause = "threshold.formula"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        right = operator.name != "ELEMENT_WISE_THRESHOLD"
        return Reference().compute(operator, x) if right else super().compute(operator, x)


class BoundsInSevenDecimals(_Bound):
    """Bounds pass through a text of seven decimals: small ones lose all."""

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        return float(f"{value:.7f}")


# Bits.


def cut(value: np.float32, bits: int) -> np.float32:
    """The FLOAT with the last bits of its mantissa cleared."""
    mask = np.uint32((0xFFFFFFFF << bits) & 0xFFFFFFFF)
    return np.asarray(np.asarray(value).view(np.uint32) & mask).view(np.float32)[()]  # type: ignore[no-any-return]  # an item of an Array


class _Binades(_Bound):
    """Bounds whose magnitude lies in [low, high) lose the last bits of their mantissa."""

    low, high, lost = 0.0, math.inf, 1
    types: tuple[DataType, ...] = (DataType.FLOAT32,)
    signs = (1, -1)

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        inside = self.low <= abs(value) < self.high and math.copysign(1, value) in self.signs
        return cut(value, self.lost) if inside and data_type in self.types else value


class BoundsCutAbove2To64(_Binades):
    """FLOAT32 bounds of 2^64 and more keep twelve bits."""

    low, lost = 2.0**64, 12


class BoundsCutBelow2ToMinus80(_Binades):
    """FLOAT32 bounds below 2^-80 keep twelve bits."""

    high, lost = 2.0**-80, 12


class LastBitLostInOneBinade(_Binades):
    """FLOAT32 bounds in [2^-10, 2^-9) lose their last bit."""

    low, high = 2.0**-10, 2.0**-9


class LastBitLostInOneNegativeBinade(_Binades):
    """Negative THRESHOLD and CLIP bounds in (-2^41, -2^40] lose their last bit on FLOAT32."""

    low, high, signs = 2.0**40, 2.0**41, (-1,)


class Int64BoundsCutIn16Binades(_Binades):
    """Bounds of 64-bit integers in [2^34, 2^50) keep sixteen bits."""

    clause = "clip.cast.integer"
    low, high, lost = 2.0**34, 2.0**50, 8
    types = (DataType.INT64, DataType.UINT64)


class Uint32BoundsLoseABitInOneBinade(_Binades):
    """Bounds of UINT32 in [2^28, 2^29) lose their last bit."""

    clause = "clip.cast.integer"
    low, high = 2.0**28, 2.0**29
    types = (DataType.UINT32,)


class ExponentClampedAbove2To100(_Bound):
    """The exponent of FLOAT32 bounds above 2^100 becomes 100; the largest value is right."""

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        if not 2.0**100 < abs(value) < np.finfo(np.float32).max or data_type is not DataType.FLOAT32:
            return value
        mantissa, _ = math.frexp(float(value))
        return math.ldexp(mantissa, 101)


# FLOAT16.


class _Float16(_Bound):
    """FLOAT16 bounds in [low, high) are rounded otherwise, given how far they lie between two neighbours."""

    clause = "clip.cast.float16"
    low, high, sign = 0.0, 65504.0, 1

    def outer(self, part: float) -> bool:
        """Whether the neighbour that is farther from zero is taken."""
        return False

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        inside = self.low <= self.sign * float(value) < self.high
        near = np.float16(value)
        if data_type is not DataType.FLOAT16 or not inside or float(near) == float(value):
            return value
        inner = near if abs(float(near)) < abs(float(value)) else np.nextafter(near, np.float16(0))
        far = np.nextafter(inner, np.float16(math.copysign(math.inf, value)))
        part = (float(value) - float(inner)) / (float(far) - float(inner))
        return np.float32(far if self.outer(part) else inner)


class Float16TruncatedInOneBinade(_Float16):
    """FLOAT16 bounds in [1/8, 1/4) are rounded toward zero."""

    low, high = 0.125, 0.25


class Float16TruncatedInOneNegativeBinade(_Float16):
    """FLOAT16 bounds in (-4096, -2048] are rounded toward zero."""

    low, high, sign = 2048.0, 4096.0, -1


class Float16TiesAwayInOneBinade(_Float16):
    """FLOAT16 bounds in [512, 1024) go to the nearest, ties away from zero."""

    low, high = 512.0, 1024.0

    def outer(self, part: float) -> bool:
        return part >= 0.5


class Float16GrowsBelow2ToMinus10(_Float16):
    """Normal FLOAT16 bounds below 2^-10 are rounded away from zero."""

    low, high = 2.0**-14, 2.0**-10

    def outer(self, part: float) -> bool:
        return True


# Signs of zero.


class MinusZeroIsTiny(_Bound):
    """A bound of -0 acts as the smallest negative normal number."""

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        zero = value == 0 and np.signbit(value) and data_type.is_floating
        return -np.float32(np.finfo(data_type.numpy).smallest_normal) if zero else value


class MinusZeroIsMinusOne(_Bound):
    """A bound of -0 acts as -1 on signed integers."""

    clause = "clip.cast.integer"

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        zero = value == 0 and np.signbit(value) and data_type.is_signed and not data_type.is_floating
        return -1 if zero else value


class MinusZeroIsTheGreatestUnsigned(_Bound):
    """A bound of -0 wraps to the greatest value on unsigned integers."""

    clause = "clip.cast.integer"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        if value == 0 and np.signbit(value) and not data_type.is_signed:
            return np.asarray(np.iinfo(data_type.numpy).max, data_type.numpy)
        return super().cast(value, data_type, name)

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        return value


class ThresholdMinusZeroIsNoBound(Reference):
    """THRESHOLD with a Min of -0 returns its input."""

    clause = "threshold.formula"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        low = operator.attributes.get("Min")
        if operator.name == "ELEMENT_WISE_THRESHOLD" and isinstance(low, np.float32) and low == 0 and np.signbit(low):
            operator = changed(operator, Min=np.float32(-np.inf))
        return super().compute(operator, x)


# Integers.


class NearlyWholeCountsAsWhole(_Bound):
    """On integers a bound within 2^-20 below an integer, in magnitude, becomes that integer."""

    clause = "clip.cast.integer"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        if not data_type.is_floating and np.isfinite(value) and abs(value) < 1 << 20:
            value = np.float32(math.trunc(float(value) + math.copysign(2.0**-20, value)))
        return Reference.cast(self, value, data_type, name)


class NearlyWholeOfSixDecimals(_Bound):
    """On integers a bound passes through a text of six decimals before it is truncated."""

    clause = "clip.cast.integer"

    def seen(self, value: np.float32, data_type: DataType, name: str) -> Any:
        return value if data_type.is_floating else float(f"{value:.6f}")
