"""Which of the two zeros comes back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.permitted.steps import FLOATING, Permitted
from dmlcts.suites.mutants.reference import Array


class ZerosArePositive(Permitted):
    """Every zero result is +0."""

    choice = ("zero",)
    touches = (FLOATING,)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace zeros."""
        y = super().compute(operator, x)
        return np.where(y == 0, y.dtype.type(0), y)


class ZerosAreNegative(Permitted):
    """Every zero result of a floating-point type is -0."""

    choice = ("zero",)
    touches = (FLOATING,)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace zeros."""
        y = super().compute(operator, x)
        return np.where(y == 0, y.dtype.type(-0.0), y) if y.dtype.kind == "f" else y


class FirstZeroWins(Permitted):
    """Minimum and maximum of equal operands return the first."""

    choice = ("zero",)
    touches = (FLOATING,)

    def minimum(self, a: Any, b: Any) -> Array:
        """The first of two zeros."""
        return np.where(np.asarray(a) == b, a, super().minimum(a, b))

    def maximum(self, a: Any, b: Any) -> Array:
        """The first of two zeros."""
        return np.where(np.asarray(a) == b, a, super().maximum(a, b))


class SecondZeroWins(Permitted):
    """Minimum and maximum of equal operands return the second."""

    choice = ("zero",)
    touches = (FLOATING,)

    def minimum(self, a: Any, b: Any) -> Array:
        """The second of two zeros."""
        return np.where(np.asarray(a) == b, b, super().minimum(a, b))

    def maximum(self, a: Any, b: Any) -> Array:
        """The second of two zeros."""
        return np.where(np.asarray(a) == b, b, super().maximum(a, b))
