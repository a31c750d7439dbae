"""CLIP and THRESHOLD with a wrong formula, a wrong order of the bounds, or wrong extreme bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.reference import Array, Reference

# The order of the bounds.


class MaximumWins(Reference):
    """The minimum is taken last, so that Min > Max gives Max."""

    clause = "clip.bounds.inverted"
    modelled_on = "https://github.com/microsoft/onnxruntime/issues/25057 (CUDA Clip is wrong for min > max)"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return self.minimum(high, self.maximum(low, x))


class MaximumWinsOnIntegers(Reference):
    """The minimum is taken last on integers only."""

    clause = "clip.bounds.inverted"
    modelled_on = "https://github.com/microsoft/onnxruntime/issues/25057"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, high) if x.dtype.kind == "f" else self.minimum(high, self.maximum(low, x))


class MaximumWinsOnFloat16(Reference):
    """The minimum is taken last on FLOAT16 only."""

    clause = "clip.bounds.inverted"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, high) if x.dtype != np.float16 else self.minimum(high, self.maximum(low, x))


class SortedBounds(Reference):
    """Inverted bounds are put in order first."""

    clause = "clip.bounds.inverted"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, *((high, low) if low > high else (low, high)))


class InvertedPassThrough(Reference):
    """Inverted bounds clamp nothing."""

    clause = "clip.bounds.inverted"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return x if low > high else super().clip(x, low, high)


class InvertedByComparison(Reference):
    """x < Min ? Min : x > Max ? Max : x, which gives Max to elements above both inverted bounds."""

    clause = "clip.bounds.inverted"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return np.where(x < low, low, np.where(x > high, high, x))


class Median(Reference):
    """The median of the three, which sorts inverted bounds (WGSL permits it, DirectML does not)."""

    clause = "clip.bounds.inverted"
    modelled_on = "https://github.com/gpuweb/cts floating_point.ts, which accepts the median for low > high"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return self.maximum(self.minimum(x, low), self.minimum(self.maximum(x, low), high))


class BoundsSwapped(Reference):
    """Min and Max are read from each other's place."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, high, low)


# One bound or the other.


class MaximumIgnored(Reference):
    """CLIP knows Min only."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return self.maximum(low, x)


class MinimumIgnored(Reference):
    """CLIP knows Max only."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return self.minimum(x, high)


class MinimumIsZero(Reference):
    """CLIP is ReLU-N: whatever Min is, it clamps at zero."""

    clause = "clip.formula"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, np.zeros_like(low), high)


class EqualBoundsRejected(Reference):
    """Min = Max is refused as an empty range."""

    clause = "clip.bounds.equal"
    modelled_on = "https://github.com/webmachinelearning/webnn/issues/396 and google/XNNPACK issue 5868"

    def refuses(self, operator: OperatorDesc) -> str:
        low, high = operator.attributes.get("Min"), operator.attributes.get("Max")
        return "Min must be less than Max" if high is not None and low == high else super().refuses(operator)


class EqualBoundsPassThrough(Reference):
    """Min = Max clamps nothing."""

    clause = "clip.bounds.equal"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return x if low == high else super().clip(x, low, high)


class EqualBoundsGiveZero(Reference):
    """Min = Max gives zero, as of a range without width."""

    clause = "clip.bounds.equal"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return np.zeros_like(x) if low == high else super().clip(x, low, high)


# Infinite bounds and inputs.


class InfiniteBoundIsGreatest(Reference):
    """An infinite bound acts as the largest finite value, so that infinite inputs are clamped to it."""

    clause = "clip.bounds.infinite"
    modelled_on = "ONNX Runtime, DmlOperatorElementWise.cpp @0300345d: missing Clip bounds become lowest() and max()"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        if x.dtype.kind == "f":
            low, high = (np.nan_to_num(bound, nan=np.nan) for bound in (low, high))
        return super().clip(x, low, high)


class InfiniteMaximumIsZero(Reference):
    """A missing (infinite) Max is taken as zero."""

    clause = "clip.bounds.infinite"
    modelled_on = "https://github.com/microsoft/onnxruntime/issues/22585"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return super().clip(x, low, np.zeros_like(high) if np.isposinf(high) else high)


class GreatestFloat16BoundsAreZero(Reference):
    """On FLOAT16 the default bounds, -65504 and 65504, are taken as zero."""

    clause = "clip.formula"
    modelled_on = "https://github.com/microsoft/onnxruntime/issues/21957 (fp16 Clip's default bounds became 0.0)"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        if x.dtype == np.float16:
            low, high = (np.where(np.abs(bound) == 65504, np.float16(0), bound) for bound in (low, high))
        return super().clip(x, low, high)


class OneSidedClampsNothing(Reference):
    """An infinite bound on either side switches the other one off too."""

    clause = "clip.bounds.infinite"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return x if np.isinf(low) or np.isinf(high) else super().clip(x, low, high)


class InfiniteInputEscapes(Reference):
    """An infinite input is given back, not clamped."""

    clause = "clip.bounds.infinite"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return np.where(np.isinf(x), x, super().clip(x, low, high))


class InfiniteThresholdIgnored(Reference):
    """THRESHOLD with Min = +infinity changes nothing."""

    clause = "threshold.bounds.infinite"

    def threshold(self, x: Array, low: Any) -> Array:
        return x if np.isposinf(low) else super().threshold(x, low)


# Other functions in the operator's place.


class ThresholdIgnored(Reference):
    """THRESHOLD copies."""

    clause = "threshold.formula"

    def threshold(self, x: Array, low: Any) -> Array:
        return x


class ThresholdIsMinimum(Reference):
    """THRESHOLD takes the smaller."""

    clause = "threshold.formula"

    def threshold(self, x: Array, low: Any) -> Array:
        return self.minimum(x, low)


class ThresholdedRelu(Reference):
    """THRESHOLD gives zero, not Min, to what is not above Min."""

    clause = "threshold.formula"
    modelled_on = "the confusion with ThresholdedRelu, fdwr/MachineLearningOperators OperatorFormulas.html @6379b547"

    def threshold(self, x: Array, low: Any) -> Array:
        return np.where(x > low, x, np.zeros_like(x))


class ThresholdOfMagnitudes(Reference):
    """THRESHOLD compares |x| with Min, as hard shrinkage does."""

    clause = "threshold.monotone"

    def threshold(self, x: Array, low: Any) -> Array:
        return np.where(np.abs(x) >= low, x, low)


class LeakyThreshold(Reference):
    """THRESHOLD lets a quarter of what lies below Min through."""

    clause = "threshold.idempotent"

    def threshold(self, x: Array, low: Any) -> Array:
        above = super().threshold(x, low)
        return np.where(x < low, low + (x - low) / 4, above).astype(x.dtype) if x.dtype.kind == "f" else above


class LeakyClip(Reference):
    """CLIP lets a sixteenth of what lies above Max through."""

    clause = "clip.contained"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        inside = super().clip(x, low, high)
        if x.dtype.kind != "f":
            return inside
        return np.where((x > high) & (low <= high), high + (x - high) / 16, inside).astype(x.dtype)


class ReflectedAtMaximum(Reference):
    """What lies above Max is reflected at it, not clamped."""

    clause = "clip.monotone"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        inside = super().clip(x, low, high)
        return np.where(x > high, self.maximum(low, high - (x - high)), inside) if x.dtype.kind == "f" else inside
