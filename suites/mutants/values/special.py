"""Infinities, NaNs, zeros and subnormals treated in ways that no latitude permits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.reference import Array, Reference


def smallest(x: Array) -> Any:
    """The smallest normal number of the type."""
    return np.finfo(x.dtype).smallest_normal


class _Clamped(Reference):
    """CLIP and THRESHOLD give something strange; ROUND and integers are right."""

    def strange(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        return y if operator.name == "ELEMENT_WISE_ROUND" or x.dtype.kind != "f" else self.strange(x, y).astype(x.dtype)


class _Rounded(Reference):
    """ROUND gives something strange, in every mode."""

    def strange(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def round(self, x: Array, mode: str) -> Array:
        return self.strange(x, super().round(x, mode)).astype(x.dtype)


def after(mask: Array) -> Array:
    """The elements that follow a marked one, in the tensor's order, and are not marked themselves."""
    flat = mask.ravel()
    return (np.concatenate([[False], flat[:-1]]) & ~flat).reshape(mask.shape)


# Infinite inputs.


class InfinityGivesNan(_Clamped):
    """An infinite input gives NaN."""

    clause = "clip.bounds.infinite"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isinf(x), np.nan, y)


class NegativeInfinityIsNan(_Clamped):
    """Negative infinity is taken for a NaN and gives NaN."""

    clause = "threshold.bounds.infinite"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isneginf(x), np.nan, y)


class Float16WithoutInfinities(_Clamped):
    """FLOAT16 is read in ARM's alternative format, where the bits of infinity mean 65536, and stored as 65504."""

    clause = "clip.bounds.infinite"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isinf(y), np.copysign(np.float16(65504), y), y) if x.dtype == np.float16 else y


class RoundedInfinityIsGreatest(_Rounded):
    """ROUND makes infinity the largest finite value."""

    clause = "round.infinity"
    modelled_on = "https://github.com/KhronosGroup/VK-GL-CTS/issues/348 (floor(inf) gives 65504 in FLOAT16)"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isinf(x), np.nan_to_num(x), y)


class RoundedInfinityIsNan(_Rounded):
    """x - fmod(x, 1) makes infinity NaN."""

    clause = "round.infinity"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isinf(x), np.nan, y)


class RoundedNegativeInfinityIsPositive(_Rounded):
    """ROUND loses the sign of infinity."""

    clause = "round.infinity"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isinf(x), np.inf, y)


# NaN inputs.


class NanGivesZero(_Clamped):
    """A NaN input gives zero, inside the bounds or outside."""

    clause = "clip.nan.input"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isnan(x), 0, y)


class NanGivesInfinity(_Clamped):
    """A NaN input gives infinity."""

    clause = "threshold.nan.input"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isnan(x), np.inf, y)


class NanPoisonsNeighbour(_Clamped):
    """The element after a NaN becomes NaN.

    It is the neighbour that is wrong, an ordinary number, and ``clip.nan.input`` leaves open what a NaN itself gives:
    the clause that says what an author has to mend is that on neighbours.
    """

    clause = "tensor.position"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(after(np.isnan(x)), np.nan, y)


class NanPoisonsTensor(_Clamped):
    """One NaN makes every element NaN: wrong are the others, which do not depend on their neighbours."""

    clause = "tensor.position"

    def strange(self, x: Array, y: Array) -> Array:
        return np.full_like(y, np.nan) if np.isnan(x).any() else y


class RoundedNanIsZero(_Rounded):
    """ROUND makes NaN zero, as a conversion to an integer does."""

    clause = "round.nan"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.isnan(x), 0, y)


class RoundedSignallingNanIsInfinity(_Rounded):
    """ROUND clears the payload of signalling NaNs, which leaves infinity."""

    clause = "round.nan"

    def strange(self, x: Array, y: Array) -> Array:
        quiet = np.array(1 << (np.finfo(x.dtype).nmant - 1), f"u{x.dtype.itemsize}")
        signalling = np.isnan(x) & ((x.view(quiet.dtype) & quiet) == 0)
        return np.where(signalling, np.inf, y)


class RoundedNanPoisonsNeighbour(_Rounded):
    """ROUND makes the element after a NaN NaN: the NaN itself is right, its neighbour is not."""

    clause = "tensor.position"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(after(np.isnan(x)), np.nan, y)


# NaN bounds.


class NanMinGivesMax(Reference):
    """A NaN Min makes every element Max, also those below it."""

    clause = "clip.nan.bound"
    modelled_on = "https://github.com/webmachinelearning/webnn/issues/874 (NaN bounds differ by backend)"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        y = super().clip(x, low, high)
        return np.full_like(y, high) if np.isnan(low) else y


class NanMaxIsIgnoredWithMin(Reference):
    """A NaN Max leaves every element as it is, also those below Min."""

    clause = "clip.nan.bound"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return x if np.isnan(high) else super().clip(x, low, high)


class NanMinimumIsInfinite(Reference):
    """A NaN Min of THRESHOLD raises everything to infinity."""

    clause = "threshold.nan.bound"
    modelled_on = "https://github.com/webmachinelearning/webnn/issues/874 (some backends gave Infinity)"

    def threshold(self, x: Array, low: Any) -> Array:
        return np.full_like(x, np.inf) if np.isnan(low) else super().threshold(x, low)


# Zeros and subnormals.


class ZeroBecomesSubnormal(_Clamped):
    """A zero result becomes the smallest negative subnormal."""

    clause = "clip.zero-sign"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(y == 0, -np.finfo(x.dtype).smallest_subnormal, y)


class ThresholdNegativeZeroBelowZero(Reference):
    """THRESHOLD gives -1 for -0."""

    clause = "threshold.zero-sign"

    def threshold(self, x: Array, low: Any) -> Array:
        y = super().threshold(x, low)
        return np.where((y == 0) & np.signbit(y), -np.ones_like(y), y) if x.dtype.kind == "f" else y


class RoundedNegativeZeroIsMinusOne(_Rounded):
    """ROUND gives -1 where it should give -0."""

    clause = "round.zero-sign"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where((y == 0) & np.signbit(x), -1, y)


class SubnormalsBecomeNormal(_Clamped):
    """Subnormal inputs become the smallest normal number, not zero."""

    clause = "clip.subnormal"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where((x != 0) & (np.abs(x) < smallest(x)) & (y == x), np.copysign(smallest(x), x), y)


class SubnormalsLoseSign(_Clamped):
    """Subnormal inputs lose their sign but are not flushed."""

    clause = "threshold.subnormal"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where((np.abs(x) < smallest(x)) & (y == x), np.abs(y), y)


class SubnormalsLoseTheirLowBit(_Clamped):
    """Subnormals are halved and doubled on the way."""

    clause = "clip.subnormal"

    def strange(self, x: Array, y: Array) -> Array:
        bits = y.view(f"u{y.dtype.itemsize}")
        return np.where(np.abs(y) < smallest(x), (bits & ~bits.dtype.type(1)).view(y.dtype), y)


class Float16SubnormalsFlushed(_Clamped):
    """FLOAT16 subnormals are flushed to zero, which Direct3D's rules permit of FLOAT32 only."""

    clause = "clip.subnormal.float16"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where((x.dtype == np.float16) & (np.abs(y) < smallest(x)), np.copysign(np.zeros_like(y), y), y)


class ThresholdFloat16ComparesFlushed(Reference):
    """THRESHOLD takes FLOAT16 subnormals for zeros where it compares, and returns the second of equal operands."""

    clause = "threshold.subnormal.float16"

    def threshold(self, x: Array, low: Any) -> Array:
        y = super().threshold(x, low)
        if x.dtype != np.float16:
            return y
        return np.where((np.abs(x) < smallest(x)) & (np.abs(low) < smallest(x)), low, y)


class SmallestNormalFlushed(_Clamped):
    """The smallest normal number is flushed to zero with the subnormals."""

    clause = "clip.subnormal"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where(np.abs(y) <= smallest(x), 0, y)


class RoundedSubnormalsAreOne(_Rounded):
    """ROUND gives 1 for subnormals in every mode, as a ceiling of what is not zero."""

    clause = "round.toward-zero"

    def strange(self, x: Array, y: Array) -> Array:
        return np.where((x != 0) & (np.abs(x) < smallest(x)), 1, y)
