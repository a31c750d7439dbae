"""Min and Max converted to the tensor's type in every wrong way, and elements converted where they must not be.

A bound that is *not* converted, and compared in a type wide enough for all, is no fault: truncation and rounding
are monotone, so converting the result instead gives the same. The mutants below lose something on the way.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.reference import Array, Reference

# Bounds of integer tensors.


class _IntegerCast(Reference):
    """A wrong conversion of finite bounds on integer tensors, saturating as the right one does."""

    clause = "clip.cast.integer"

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return int(value)

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        if data_type.is_floating or not np.isfinite(value):
            return super().cast(value, data_type, name)
        limits = np.iinfo(data_type.numpy)
        whole = self.whole(float(value), data_type, name)
        return np.asarray(min(max(whole, int(limits.min)), int(limits.max)), data_type.numpy)


class CastToNearest(_IntegerCast):
    """Bounds are rounded to the nearest integer, halves to even."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return round(value)


class CastHalvesUp(_IntegerCast):
    """Bounds become floor(v + 0.5)."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return math.floor(value + 0.5)


class CastDown(_IntegerCast):
    """Bounds are rounded toward negative infinity."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return math.floor(value)


class CastUp(_IntegerCast):
    """Bounds are rounded toward positive infinity."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return math.ceil(value)


class CastAwayFromZero(_IntegerCast):
    """Bounds with a fraction grow."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return math.ceil(value) if value > 0 else math.floor(value)


class CastsOnlyMinimum(_IntegerCast):
    """Min is truncated, Max is compared as a FLOAT and the result rounded to nearest."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return round(value) if name == "Max" else int(value)


class CastsOnlyMaximum(_IntegerCast):
    """Max is truncated, Min is compared as a FLOAT and the result rounded to nearest."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return round(value) if name == "Min" else int(value)


class NegativeFractionWraps(_IntegerCast):
    """On unsigned tensors a bound between -1 and 0 is not zero but the greatest value."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        return 1 << 64 if not data_type.is_signed and -1 < value < 0 else int(value)


class LimitWithFractionOverflows(_IntegerCast):
    """A bound such as 127.5 on INT8 counts as out of range, though it truncates to 127."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        limits = np.iinfo(data_type.numpy)
        return int(value) if int(limits.min) <= value <= int(limits.max) else int(limits.min)


class CastThroughFloat16(_IntegerCast):
    """Bounds of integer tensors pass through FLOAT16."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        narrow = float(np.float16(value))
        return int(narrow) if math.isfinite(narrow) else int(value)


class CastThroughInt32(_IntegerCast):
    """Bounds of 64-bit tensors pass through INT32 and saturate there."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        whole = int(value)
        return min(max(whole, -(1 << 31)), (1 << 31) - 1) if data_type.itemsize == 8 else whole


class Uint32CastThroughInt32(_IntegerCast):
    """Bounds of UINT32 tensors pass through INT32 and saturate there."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        whole = int(value)
        return min(whole, (1 << 31) - 1) if data_type is DataType.UINT32 else whole


class Uint64CastThroughInt64(_IntegerCast):
    """Bounds of UINT64 tensors pass through INT64 and saturate there."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        whole = int(value)
        return min(whole, (1 << 63) - 1) if data_type is DataType.UINT64 else whole


class UnsignedBoundsAreSigned(_IntegerCast):
    """A bound in the upper half of an unsigned type counts as negative."""

    def whole(self, value: float, data_type: DataType, name: str) -> int:
        bits = 8 * data_type.itemsize
        whole = int(value)
        return whole - (1 << bits) if not data_type.is_signed and whole >= 1 << (bits - 1) else whole


# Elements of integer tensors.


class _Through(Reference):
    """Integers are clamped in a floating-point type, and saturate on the way back."""

    clause = "clip.cast.integer"
    through: Any = np.float32
    narrowest = 4

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        if x.dtype.kind == "f" or x.dtype.itemsize < self.narrowest:
            return super().clip(x, low, high)
        wide = super().clip(x.astype(self.through), low.astype(self.through), high.astype(self.through))
        own = next(data_type for data_type in DataType if data_type.numpy == x.dtype)
        return self.saturate(wide.astype(np.float64), own)


class InputThroughFloat32(_Through):
    """Integers of 32 and 64 bits are clamped in FLOAT32, and lose what lies beyond 2^24."""


class InputThroughFloat64(_Through):
    """64-bit integers are clamped in FLOAT64, and lose what lies beyond 2^53."""

    through = np.float64
    narrowest = 8


class Int16ThroughFloat16(_Through):
    """16-bit integers are clamped in FLOAT16, and lose what lies beyond 2^11."""

    through = np.float16
    narrowest = 2

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, high) if x.dtype.itemsize == 2 else Reference.clip(self, x, low, high)


class InputThroughInt32(Reference):
    """64-bit integers lose their upper word before they are clamped."""

    clause = "clip.cast.integer"
    modelled_on = "https://github.com/microsoft/onnxruntime/pull/25280 (int64 Clip is wrong)"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        word = np.int32 if x.dtype.kind == "i" else np.uint32
        x = x.astype(word).astype(x.dtype) if x.dtype in (np.int64, np.uint64) else x
        return super().clip(x, low, high)


# Bounds beyond the integer type.


class OutOfRangeStoredWrapped(Reference):
    """An out-of-range bound clamps in wider integers, and the result wraps: no single value of the type does that."""

    clause = "clip.cast.out-of-range"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        if data_type.is_floating or data_type.itemsize == 8 or np.isnan(value):
            return super().cast(value, data_type, name)
        return np.asarray(int(np.clip(np.float64(value), -(2.0**40), 2.0**40)), np.int64)


class ThresholdOutOfRangeGivesZero(Reference):
    """THRESHOLD with an out-of-range Min gives zero everywhere."""

    clause = "threshold.cast.out-of-range"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if x.dtype.kind != "f" and operator.name == "ELEMENT_WISE_THRESHOLD":
            low, limits = np.float64(operator.attributes["Min"]), np.iinfo(x.dtype)
            if np.trunc(low) < limits.min or np.trunc(low) > limits.max:
                return np.zeros_like(x)
        return super().compute(operator, x)


class NanBoundGivesZeros(Reference):
    """A NaN bound makes every integer zero."""

    clause = "clip.cast.nan"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        bounds = [operator.attributes.get(name, np.float32(0)) for name in ("Min", "Max")]
        return np.zeros_like(x) if x.dtype.kind != "f" and np.isnan(bounds).any() else super().compute(operator, x)


class ThresholdNanBoundFlipsSign(Reference):
    """THRESHOLD with a NaN Min complements every integer."""

    clause = "threshold.cast.nan"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        strange = operator.name == "ELEMENT_WISE_THRESHOLD" and np.isnan(operator.attributes["Min"])
        return ~x if x.dtype.kind != "f" and strange else super().compute(operator, x)


# THRESHOLD's Min.


class ThresholdBoundReinterpreted(Reference):
    """THRESHOLD reads the bits of its FLOAT Min as an integer."""

    clause = "threshold.cast.exact"

    def threshold(self, x: Array, low: Any) -> Array:
        if x.dtype.kind != "f":
            low = np.asarray(np.float32(low).view(np.int32)).astype(x.dtype)
        return super().threshold(x, low)


class ThresholdCastThroughFloat16(Reference):
    """THRESHOLD's Min passes through FLOAT16 on integer tensors."""

    clause = "threshold.cast.exact"

    def threshold(self, x: Array, low: Any) -> Array:
        if x.dtype.kind != "f" and abs(float(low)) <= 32752:
            low = np.asarray(np.float16(low)).astype(x.dtype)
        return super().threshold(x, low)


class ThresholdThroughFloat32(Reference):
    """THRESHOLD compares 32-bit integers as FLOAT32, so that 16777217 equals 16777216."""

    clause = "threshold.cast.exact"

    def threshold(self, x: Array, low: Any) -> Array:
        if x.dtype.kind == "f" or x.dtype.itemsize < 4:
            return super().threshold(x, low)
        return np.where(x.astype(np.float32) > low.astype(np.float32), x, low)


class ThresholdFractionGivesZero(Reference):
    """On integer tensors a Min with a fraction counts as missing and becomes zero."""

    clause = "threshold.cast.inexact"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if operator.name == "ELEMENT_WISE_THRESHOLD" and x.dtype.kind != "f":
            low = operator.attributes["Min"]
            if np.isfinite(low) and low != np.trunc(low):
                operator = replace(operator, attributes={**operator.attributes, "Min": np.float32(0)})
        return super().compute(operator, x)


# Bounds of FLOAT16 tensors.


class _Float16Cast(Reference):
    """A wrong rounding of bounds below 65520 on FLOAT16 tensors, given the two neighbours in magnitude."""

    clause = "clip.cast.float16"

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        """One of the neighbours of ``value``, which lies ``part`` of the way from ``inner`` to ``outer``."""
        raise NotImplementedError

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        near = np.float16(value)
        if data_type is not DataType.FLOAT16 or not np.isfinite(near) or float(near) == float(value):
            return super().cast(value, data_type, name)
        inner = near if abs(float(near)) < abs(float(value)) else np.nextafter(near, np.float16(0))
        outer = np.nextafter(inner, np.float16(math.copysign(math.inf, value)))
        width = (float(outer) if np.isfinite(outer) else math.copysign(65536.0, value)) - float(inner)
        return np.asarray(self.chosen(float(value), inner, outer, (float(value) - float(inner)) / width), np.float16)


class Float16TowardZero(_Float16Cast):
    """FLOAT16 bounds are truncated."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return inner


class Float16AwayFromZero(_Float16Cast):
    """FLOAT16 bounds between two values grow, up to 65504."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if np.isfinite(outer) else inner


class Float16Down(_Float16Cast):
    """FLOAT16 bounds are rounded toward negative infinity, to finite values."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if value < 0 and np.isfinite(outer) else inner


class Float16TiesAway(_Float16Cast):
    """FLOAT16 bounds go to the nearest value, ties away from zero."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if part >= 0.5 and np.isfinite(outer) else inner


class Float16TiesUp(_Float16Cast):
    """FLOAT16 bounds go to the nearest value, ties toward positive infinity."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if (part > 0.5 or (part == 0.5 and value > 0)) and np.isfinite(outer) else inner


class Float16TiesTowardZero(_Float16Cast):
    """FLOAT16 bounds go to the nearest value, ties toward zero."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if part > 0.5 and np.isfinite(outer) else inner


class Float16SubnormalTruncated(_Float16Cast):
    """FLOAT16 bounds are rounded rightly, but truncated where they become subnormal."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return inner if abs(value) < 2.0**-14 else np.float16(value)


class Float16OverflowsEarly(_Float16Cast):
    """FLOAT16 bounds above 65504 are infinite, though up to 65520 they round to it."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return outer if abs(value) > 65504 else np.float16(value)


class Float16ThroughBfloat16(_Float16Cast):
    """FLOAT16 bounds lose all but eight significant bits on the way."""

    def chosen(self, value: float, inner: np.float16, outer: np.float16, part: float) -> Any:
        return (np.float32(value).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float16)


class Float16OverflowIsNan(Reference):
    """A FLOAT16 bound from 65520 on becomes NaN, neither infinite nor 65504."""

    clause = "clip.cast.float16-overflow"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        lost = data_type is DataType.FLOAT16 and 65520 <= abs(value) < np.inf
        return np.asarray(np.nan, np.float16) if lost else super().cast(value, data_type, name)
