"""Elements compared with the bounds wrongly: off by one, as another type, or on one type only."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.mutants.reference import Array, Reference


def step(value: Any, direction: int) -> Array:
    """The next value of the type, down (-1) or up (1); the limits of the type stay where they are."""
    value = np.asarray(value)
    if value.dtype.kind == "f":
        return np.asarray(np.nextafter(value, value.dtype.type(direction * np.inf)))
    limits = np.iinfo(value.dtype)
    limit, unit = (limits.max, value.dtype.type(1)) if direction > 0 else (limits.min, value.dtype.type(1))
    return np.where(value == limit, value, value + unit if direction > 0 else value - unit)


# Off by one.


class MaximumOneUlpLow(Reference):
    """Floats above Max become the value just below Max."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, step(high, -1) if x.dtype.kind == "f" else high)


class MaximumIsExclusive(Reference):
    """On integers Max itself is outside, as in a half-open range."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, high if x.dtype.kind == "f" else step(high, -1))


class GreatestMaximumIsExclusive(Reference):
    """CLIP never gives the greatest value of the type, be it Max or not."""

    clause = "clip.threshold-equivalence"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        greatest = np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max
        return super().clip(x, low, step(high, -1) if high == greatest else high)


class OneUlpAboveMaximumPasses(Reference):
    """The float just above Max counts as equal to it and is kept."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return np.where((x == step(high, 1)) & (x.dtype.kind == "f"), x, super().clip(x, low, high))


class OneUlpBelowMinimumPasses(Reference):
    """The float just below Min counts as equal to it and is kept by THRESHOLD."""

    clause = "threshold.formula"

    def threshold(self, x: Array, low: Any) -> Array:
        return np.where((x == step(low, -1)) & (x.dtype.kind == "f"), x, super().threshold(x, low))


# As another type.


class FloatsComparedAsIntegers(Reference):
    """Floats are compared by their bits as signed integers, which reverses the order of the negative ones."""

    clause = "clip.formula"

    def minimum(self, a: Any, b: Any) -> Array:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind != "f":
            return super().minimum(a, b)
        signed = f"i{a.dtype.itemsize}"
        return np.where((a.view(signed) < b.view(signed)) | np.isnan(a), a, b)


class UnsignedComparedAsSigned(Reference):
    """Unsigned integers are compared as signed ones, so that the upper half counts as negative."""

    clause = "clip.formula"

    def maximum(self, a: Any, b: Any) -> Array:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind != "u":
            return super().maximum(a, b)
        signed = f"i{a.dtype.itemsize}"
        return np.where(a.view(signed) > b.view(signed), a, b)


class Uint8ComparedAsSigned(Reference):
    """Only UINT8 is compared as INT8, and only by THRESHOLD."""

    clause = "threshold.formula"

    def threshold(self, x: Array, low: Any) -> Array:
        if x.dtype != np.uint8:
            return super().threshold(x, low)
        return np.where(x.view(np.int8) > low.view(np.int8), x, low)


class LowWordsCompared(Reference):
    """64-bit integers are compared by their lower 32 bits."""

    clause = "clip.formula"

    def minimum(self, a: Any, b: Any) -> Array:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f" or a.dtype.itemsize < 8:
            return super().minimum(a, b)
        return np.where(a.astype(np.uint32) < b.astype(np.uint32), a, b)


class LowWordsComparedAsSigned(Reference):
    """Emulated 64-bit integers compare their lower words as signed where the upper ones are equal."""

    clause = "clip.formula"

    def minimum(self, a: Any, b: Any) -> Array:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f" or a.dtype.itemsize < 8:
            return super().minimum(a, b)
        flip = a.dtype.type(1 << 31)
        return np.where((a ^ flip) < (b ^ flip), a, b)


# One type only.


class Int16Unclamped(Reference):
    """CLIP copies INT16."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return x if x.dtype == np.int16 else super().clip(x, low, high)


class Uint64MinimumIgnored(Reference):
    """On UINT64 Min is not applied."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return self.minimum(x, high) if x.dtype == np.uint64 else super().clip(x, low, high)


class Int8LimitLost(Reference):
    """On INT8 the least value, -128, becomes -127."""

    clause = "clip.formula"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        bound = super().cast(value, data_type, name)
        return self.maximum(bound, np.int8(-127)) if data_type is DataType.INT8 and name == "Min" else bound
