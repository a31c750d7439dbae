"""FLOAT32 subnormals flushed: where they are read, where they are written, or where they are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.permitted.steps import FLOATING, Permitted
from dmlcts.suites.mutants.reference import Array


def flushed(values: Any, *, signed: bool) -> Any:
    """The values with FLOAT32 subnormals replaced by +0, or by the zero of their sign; other formats keep theirs."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        return values
    small = (np.abs(array) < np.finfo(array.dtype).smallest_normal) & (array != 0)
    zero = np.copysign(array.dtype.type(0), array) if signed else array.dtype.type(0)
    return np.where(small, zero, array)


class FlushInputs(Permitted):
    """Subnormal inputs are read as +0."""

    choice = ("subnormals",)
    touches = (FLOATING,)
    signed = False

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Flush, then compute."""
        return super().compute(operator, flushed(x, signed=self.signed))


class FlushInputsKeepingSign(FlushInputs):
    """Subnormal inputs are read as the zero of their sign."""

    signed = True


class FlushBounds(Permitted):
    """Subnormal bounds are taken as +0."""

    choice = ("subnormals",)
    touches = (FLOATING,)
    signed = False

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """Cast, then flush."""
        return flushed(super().cast(value, data_type, name), signed=self.signed)


class FlushBoundsKeepingSign(FlushBounds):
    """Subnormal bounds are taken as the zero of their sign."""

    signed = True


class FlushResults(Permitted):
    """Subnormal results are written as +0."""

    choice = ("subnormals",)
    touches = (FLOATING,)
    signed = False

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Compute, then flush."""
        return flushed(super().compute(operator, x), signed=self.signed)  # type: ignore[no-any-return]  # an Array


class FlushResultsKeepingSign(FlushResults):
    """Subnormal results are written as the zero of their sign."""

    signed = True


class FlushEverything(FlushInputs, FlushBounds, FlushResults):
    """Subnormal inputs, bounds, factors, intermediate and final results are +0."""

    def flush_step(self, values: Any) -> Any:
        """Flush here too."""
        return flushed(super().flush_step(values), signed=self.signed)


class FlushEverythingKeepingSign(FlushEverything):
    """Subnormal inputs, bounds, factors, intermediate and final results are the zero of their sign."""

    signed = True


class FlushTinyBeforeRounding(Permitted):
    """A FLOAT32 result that is tiny before it is rounded is the zero of its sign, as with FTZ on x86."""

    choice = ("subnormals",)
    touches = (FLOATING,)

    def settled(self, rounded: Array, exact: Array) -> Array:
        """Also where rounding reaches the smallest normal number."""
        if rounded.dtype != np.float32:
            return rounded
        tiny = (np.abs(exact) < float(np.finfo(np.float32).smallest_normal)) & (exact != 0)
        return np.where(tiny, np.copysign(np.float32(0), exact), rounded).astype(rounded.dtype)


class _ComparesFlushed(Permitted):
    """Minimum and maximum take subnormals for zeros, and return what they select as it is."""

    choice = ("zero", "comparison")
    touches = (FLOATING,)

    def equal_operands(self, a: Any, b: Any) -> Any:
        """Which one of two operands that compare equal is returned."""
        raise NotImplementedError

    def equal(self, a: Any, b: Any) -> Any:
        """Whether they compare equal."""
        return flushed(a, signed=False) == flushed(b, signed=False)

    def minimum(self, a: Any, b: Any) -> Array:
        """One of two equal operands, or the smaller."""
        return np.where(self.equal(a, b), self.equal_operands(a, b), super().minimum(a, b))

    def maximum(self, a: Any, b: Any) -> Array:
        """One of two equal operands, or the larger."""
        return np.where(self.equal(a, b), self.equal_operands(a, b), super().maximum(a, b))


class ComparesFlushedTakesFirst(_ComparesFlushed):
    """Minimum and maximum take subnormals for zeros, and of equal operands return the first, unflushed."""

    def equal_operands(self, a: Any, b: Any) -> Any:
        """The first."""
        return a


class ComparesFlushedTakesSecond(_ComparesFlushed):
    """Minimum and maximum take subnormals for zeros, and of equal operands return the second, as x86 with DAZ does."""

    def equal_operands(self, a: Any, b: Any) -> Any:
        """The second."""
        return b
