"""Implementations that choose anew for each element and at each dispatch: a loop over vectors, another over the rest.

No page asks that an implementation makes the same choice of two right ones everywhere: which kernel runs depends on
the number of elements, on strides and on alignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.permitted.exact import (
    COMPARE,
    COMPARISONS,
    DIVISIONS,
    EXACT,
    Exact,
    nearest,
    whole,
    wrapped,
)
from dmlcts.suites.mutants.permitted.steps import FLOATING, INTEGER, Permitted
from dmlcts.suites.mutants.permitted.subnormals import flushed


class _ByTurns(Exact):
    """One of two choices by an element's place, the other way round at every other dispatch."""

    alone = True
    dispatches = 0

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Another turn."""
        self.dispatches += 1
        return super().compute_exact(operator, inputs)

    def turn(self, y: Array, step: int = 1) -> Array:
        """Which elements have the first choice: runs of ``step`` by turns."""
        places = np.arange(y.size).reshape(y.shape) // step
        return np.asarray((places + self.dispatches) % 2 == 0)


class OperandsFlushByTurns(_ByTurns):
    """FLOAT32 subnormals count as zero where CEIL, FLOOR, SIGN and comparisons read them, or not, each by itself."""

    choice, touches, among = ("compared subnormals",), (FLOATING,), ("CEIL", "FLOOR", "SIGN", *COMPARISONS)

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """As zeros, or as they are."""
        read = [np.where(self.turn(x, step), flushed(x, signed=True), x) for step, x in enumerate(inputs, 1)]
        if name in COMPARISONS:
            return COMPARE[name](*read)
        return np.sign(read[0]) if name == "SIGN" else np.ceil(read[0]) if name == "CEIL" else np.floor(read[0])


class GradientsFlushByTurns(_ByTurns):
    """FLOAT32 subnormals count as zero where CLIP_GRAD and CLIP_GRAD1 compare them or pass them on, or not."""

    choice, touches, among = ("gradient subnormals",), (FLOATING,), ("CLIP_GRAD", "CLIP_GRAD1")

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """As zeros, or as they are."""
        read = np.where(self.turn(inputs[0]), flushed(inputs[0], signed=True), inputs[0])
        return super().compute_exact(operator, [read, *inputs[1:]])

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Gradients become zero of their sign, or are kept."""
        return np.where(self.turn(y, 2), flushed(y, signed=True), y)


class OverflowByTurns(_ByTurns):
    """Integers outside the type wrap or become its nearest limit."""

    choice, touches, among = ("integer overflow",), (INTEGER,), (*EXACT, "DIFFERENCE_SQUARE", "MEAN")

    def stored(self, exact: Any, dtype: np.dtype[Any]) -> Any:
        """Either, as Python's integers."""
        return np.where(self.turn(exact), whole(nearest(exact, dtype)), whole(wrapped(exact, dtype)))

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """In every step; half of a sum is truncated or floored."""
        operands = [whole(x) for x in inputs]
        if name in EXACT:
            return self.stored(EXACT[name](*operands), y.dtype).astype(y.dtype)
        if name == "DIFFERENCE_SQUARE":
            difference = self.stored(operands[0] - operands[1], y.dtype)
            return self.stored(difference * difference, y.dtype).astype(y.dtype)
        total = self.stored(operands[0] + operands[1], y.dtype)
        return np.where(self.turn(y, 2), total // 2, np.sign(total) * (abs(total) // 2)).astype(y.dtype)


class OpenIntegersByTurns(_ByTurns):
    """Divisions of integers by zero and shifts by the width or more give the first operand, or 0."""

    choice, touches = ("division by zero", "shift beyond"), (INTEGER,)
    among = (*DIVISIONS, "BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Where it is open."""
        a, b = inputs
        is_open = b == 0 if name in DIVISIONS else b >= 8 * b.dtype.itemsize
        return np.where(is_open, np.where(self.turn(y), a, a.dtype.type(0)), y)


class NansByTurns(_ByTurns):
    """Of a NaN MAX and MIN give NaN or the other operand, SIGN NaN or 0, gradients 0 or not."""

    choice, touches = ("nan operand", "sign of nan", "gradient of nan"), (FLOATING,)
    among = ("MAX", "MIN", "SIGN", "CLIP_GRAD", "CLIP_GRAD1")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Where one is a NaN."""
        first, last = inputs[0], inputs[-1]
        unordered = np.isnan(first) | (np.isnan(last) if name in ("MAX", "MIN") else False)
        if name in ("MAX", "MIN"):
            replacement: Any = np.where(np.isnan(first), last, first)
        elif name == "SIGN":
            replacement = first
        else:
            replacement = y.dtype.type(0)
        return np.where(unordered & self.turn(y), replacement, y)


class MeanOfSaturatedSum(Exact):
    """The sum of integers becomes the nearest limit before it is halved and truncated."""

    choice, touches, among = ("halves",), (INTEGER,), ("MEAN",)

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The sum at the nearest limit, truncated."""
        a, b = map(whole, inputs)
        total = whole(nearest(a + b, y.dtype))
        return (np.sign(total) * (abs(total) // 2)).astype(y.dtype)


PERMITTED_BY_TURNS: tuple[type[Permitted], ...] = (
    OperandsFlushByTurns,
    GradientsFlushByTurns,
    OverflowByTurns,
    OpenIntegersByTurns,
    NansByTurns,
    MeanOfSaturatedSum,
)
