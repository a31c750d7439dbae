"""What an accuracy rule permits around the real results of a function, for arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.approximation import rounding
from dmlcts.specs.approximation.intervals import Interval
from dmlcts.specs.approximation.rules import ARGUMENTS, bound
from dmlcts.specs.arithmetic.vector_arithmetic import Array, add_to_odd
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.functions import Function
from dmlcts.specs.models import Tolerance

_ROUNDED = 2.0**-52
"""What one operation of FLOAT64 may be off, relatively."""


@dataclass(frozen=True)
class Around:
    """A function's real results, and what they are of.

    Attributes:
        function: the function.
        kind: the type that computes.
        exact: the results in FLOAT64.
        operands: its arguments.
    """

    function: Function
    kind: DataType
    exact: Interval
    operands: tuple[Interval, ...]

    def ends(self, tolerance: Tolerance | None) -> tuple[Array, Array]:
        """Bounds of the real results: FLOAT64's own error, and what could make one on the edge of a rule fall off.

        Both arrays are FLOAT64, of the results' shape.
        """
        low, high = self.exact.low, self.exact.high
        error = self.function.arrays.error
        if tolerance is not None and not tolerance.neighbours:
            error = max(error, _ROUNDED)
        if error:
            low, high = (
                np.where(np.isfinite(end), end + sign * np.abs(end) * error, end)
                for end, sign in ((low, -1), (high, 1))
            )
        return low, high

    def span(self, tolerance: Tolerance | None, *, strict: bool) -> tuple[Array, Array]:
        """The least and the greatest number that a rule permits; of no rule those that one rounding gives.

        Both arrays are FLOAT64, and broadcast to the results' shape.

        Args:
            tolerance: the rule.
            strict: whether the nearest number is always among them, and not either of the two next to the result.
        """
        low, high = self.ends(tolerance)
        if tolerance is None:
            return rounding.nearest(low, self.kind), rounding.nearest(high, self.kind)
        if tolerance.neighbours:
            return rounding.down(low, self.kind), rounding.up(high, self.kind)
        least, most = self._tolerated(tolerance, (low, high), strict=strict)
        nan_operand = reduce(
            np.logical_or, [np.isnan(operand.low) for operand in self.operands]
        )  # which pow may make a 1 of
        return np.where(nan_operand, self.exact.low, least), np.where(nan_operand, self.exact.high, most)

    def strict_span(self, tolerance: Tolerance | None, judged: Tolerance | None) -> tuple[Array, Array]:
        """What ``--strict-ieee`` leaves: what both the strict and, where it speaks, the judged rule permit.

        Both arrays are FLOAT64, and broadcast to the results' shape.
        """
        least, most = self.span(tolerance, strict=True)
        if judged is None:
            return least, most
        low, high = self.span(judged, strict=False)
        inside = self.inside(judged)
        return np.where(inside, np.fmax(least, low), least), np.where(inside, np.fmin(most, high), most)

    def inside(self, tolerance: Tolerance) -> NDArray[np.bool_]:
        """Where the arguments are such that a rule is about them.

        The mask broadcasts to the arguments' shape; it is 0-dimensional for a rule about all arguments.
        """
        if tolerance.within is None:
            return np.ones((), bool)
        condition = bound(tolerance.within)
        low, high = self._arguments
        ends = (low,) if all(_alike(low[name], high[name]) for name in low) else (low, high)
        held = [np.asarray(rounding.evaluated(condition, names), bool) for names in ends]
        return np.asarray(np.logical_and(held[0], held[-1]))

    @property
    def _arguments(self) -> list[Mapping[str, Array]]:
        """The lower and the upper ends of the arguments, as bounds call them."""
        return [
            dict(zip(ARGUMENTS, ends, strict=False))
            for ends in ([operand.low for operand in self.operands], [operand.high for operand in self.operands])
        ]

    def _tolerated(self, tolerance: Tolerance, real: tuple[Array, Array], *, strict: bool) -> tuple[Array, Array]:
        """The least and the greatest number within a tolerance of real results, which lie between ``real``.

        The spacing of numbers changes at powers of two: where FLOAT64 cannot decide on which side a result lies, the
        wider one counts.
        """
        middle = self.exact.low, self.exact.high
        arguments = self._arguments[: 1 if all(operand.is_point for operand in self.operands) else 2]
        signed = real
        if tolerance.factor is not None:
            real = rounding.multiplied(tolerance, real, arguments)
        others = middle if tolerance.factor is None else ()
        margins = [rounding.margins(self.kind, tolerance, (*real, *others), argument) for argument in arguments]
        distances = [reduce(np.fmax, [values for margin in margins for values in margin[end::2]]) for end in (0, 1)]
        low, high = real
        below, above = (np.nan_to_num(distance, nan=0.0, posinf=np.inf) for distance in distances)
        least = np.where(np.isinf(low), low, add_to_odd(low, -below))
        most = np.where(np.isinf(high), high, add_to_odd(high, above))
        inner = rounding.inward(least, most, self.kind)
        if tolerance.factor is not None:  # what is multiplied keeps its sign
            inner = (
                np.where(signed[0] >= 0, np.fmax(inner[0], 0.0), inner[0]),
                np.where(signed[1] <= 0, np.fmin(inner[1], -0.0), inner[1]),
            )
        near = signed if self.function.arrays.error else middle  # FLOAT64 shows which results the type holds
        next_down, next_up = (rounding.nearest,) * 2 if strict else (rounding.down, rounding.up)
        return np.fmin(inner[0], next_down(near[0], self.kind)), np.fmax(inner[1], next_up(near[1], self.kind))


def _alike(first: Array, other: Array) -> bool:
    """Whether two arrays hold the same numbers, to the bit."""
    return first is other or (first.shape == other.shape and first.tobytes() == other.tobytes())
