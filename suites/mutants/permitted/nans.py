"""What a NaN among the inputs or the bounds gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.permitted.steps import FLOATING, Permitted
from dmlcts.suites.mutants.reference import Array


class NanInputGivesNan(Permitted):
    """A NaN input gives a NaN of one fixed pattern."""

    choice = ("nan input",)
    touches = (FLOATING,)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """One quiet NaN for all."""
        y = super().compute(operator, x)
        return np.where(np.isnan(x), y.dtype.type(np.nan), y) if y.dtype.kind == "f" else y


class NansOfManyPatterns(Permitted):
    """NaN results have the payload of their input, or x86's default, by the place where they stand."""

    choice = ("nan input",)
    touches = (FLOATING,)
    alone = True

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Every second NaN is negative, quiet and without payload."""
        y = super().compute(operator, x)
        if y.dtype.kind != "f":
            return y
        second = (np.arange(y.size) % 2 == 1).reshape(y.shape)
        return np.where(np.isnan(y) & second, -y.dtype.type(np.nan), y)


class NanInputGivesMin(Permitted):
    """A NaN input gives Min, as max(min(x, Max), Min) does on many devices."""

    choice = ("nan input",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Min for NaN."""
        return np.where(np.isnan(x), low, super().clip(x, low, high))

    def threshold(self, x: Array, low: Any) -> Array:
        """Min for NaN."""
        return np.where(np.isnan(x), low, super().threshold(x, low))


class NanInputGivesMax(Permitted):
    """A NaN input of CLIP gives Max."""

    choice = ("nan input",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Max for NaN."""
        return np.where(np.isnan(x), high, super().clip(x, low, high))


class NumbersWin(Permitted):
    """Minimum and maximum return the number where one operand is NaN, as minimumNumber and maximumNumber do."""

    choice = ("nan input", "nan bound")
    touches = (FLOATING,)

    def minimum(self, a: Any, b: Any) -> Array:
        """The number."""
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, super().minimum(a, b)))

    def maximum(self, a: Any, b: Any) -> Array:
        """The number."""
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, super().maximum(a, b)))


class NanBoundIgnored(Permitted):
    """A NaN bound leaves its side open."""

    choice = ("nan bound",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """The side of a NaN bound is not clamped."""
        below = x if np.isnan(high) else self.minimum(x, high)
        return below if np.isnan(low) else self.maximum(low, below)

    def threshold(self, x: Array, low: Any) -> Array:
        """As CLIP."""
        return x if np.isnan(low) else super().threshold(x, low)


class NanBoundGivesNan(Permitted):
    """A NaN bound makes every element NaN."""

    choice = ("nan bound",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """NaN where a bound is."""
        y = super().clip(x, low, high)
        return np.full_like(y, np.nan) if np.isnan(low) or np.isnan(high) else y

    def threshold(self, x: Array, low: Any) -> Array:
        """As CLIP."""
        y = super().threshold(x, low)
        return np.full_like(y, np.nan) if np.isnan(low) else y


class NanMaxGivesMin(Permitted):
    """A NaN Max makes every element Min, as max(Min, NaN) may."""

    choice = ("nan bound",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Min, or NaN where Min is NaN too."""
        y = super().clip(x, low, high)
        return np.full_like(y, low) if np.isnan(high) else y


class NanBoundIsZero(Permitted):
    """A NaN bound counts as zero, as WebNN's tests expect."""

    choice = ("nan bound",)
    touches = (FLOATING,)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Zero for a NaN."""
        low, high = (np.where(np.isnan(bound), np.zeros_like(bound), bound) for bound in (low, high))
        return super().clip(x, low, high)

    def threshold(self, x: Array, low: Any) -> Array:
        """As CLIP."""
        return super().threshold(x, np.where(np.isnan(low), np.zeros_like(low), low))
