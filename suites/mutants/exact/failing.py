"""Where every value is right a dispatch must still succeed: mutants that fail where the pages are silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.backends import ExecutionFailed
from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

Strikes = Callable[..., Any]
DIVISIONS = ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR")
FLOATING = ("ADD", "SUBTRACT", "MULTIPLY", "MEAN", "DIFFERENCE_SQUARE", *DIVISIONS)
SHIFTS = ("BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")


class _Failing(Reference):
    """A dispatch fails where one pair of operands is such that :attr:`strikes`."""

    level = LEVEL
    strikes: Strikes
    kinds = ""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Raises, where one element asks for it."""
        strikes = operator.name == self.operator and inputs[0].dtype.kind in self.kinds
        if strikes and np.any(type(self).strikes(*inputs)):
            raise ExecutionFailed("the operands cannot be computed")
        return super().compute_exact(operator, inputs)


def by_zero(a: Array, b: Array) -> Any:
    """A division by zero."""
    return b == 0


def least_by_minus_one(a: Array, b: Array) -> Any:
    """The one quotient of integers that the type does not hold."""
    return (a == np.iinfo(a.dtype).min) & (b == -1)


def not_finite(a: Array, b: Array) -> Any:
    """An infinite operand."""
    return np.isinf(a) | np.isinf(b)


def beyond_the_width(a: Array, b: Array) -> Any:
    """A shift by the width or more."""
    return b >= 8 * b.dtype.itemsize


def _made(
    name: str, operator: str, clause: str, description: str, kinds: str, strikes: Strikes, modelled_on: str = ""
) -> Any:
    members = {
        "__doc__": description,
        "__module__": __name__,
        "operator": f"ELEMENT_WISE_{operator}",
        "kinds": kinds,
        "strikes": staticmethod(strikes),
        "modelled_on": modelled_on,
        "clause": f"{operator.lower().replace('_', '-')}.{clause}",
    }
    return type(name, (_Failing,), members)


def _words(operator: str) -> str:
    return "".join(word.capitalize() for word in operator.split("_"))


_RUNTIMES = "onnxruntime 1.31.1 and torch 2.13.0, which raise on integer division by zero"


def _all() -> list[Any]:
    classes = []
    for operator in DIVISIONS:
        description = f"{operator} of integers fails where a divisor is 0."
        classes.append(_made(f"{_words(operator)}FailsByZero", operator, "zero", description, "iu", by_zero, _RUNTIMES))
        description = f"{operator} fails where the least integer is divided by -1."
        classes.append(
            _made(f"{_words(operator)}FailsOnLeast", operator, "least", description, "i", least_by_minus_one)
        )
    for operator in FLOATING:
        description = f"{operator} of floats fails where an operand is infinite."
        classes.append(
            _made(f"{_words(operator)}FailsOnInfinities", operator, "floating", description, "f", not_finite)
        )
    for operator in SHIFTS:
        description = f"{operator} fails where a count is the width or more."
        classes.append(
            _made(f"{_words(operator)}FailsBeyondTheWidth", operator, "beyond", description, "u", beyond_the_width)
        )
    return classes


MADE = {made.__name__: made for made in _all()}

globals().update(MADE)


class UndefinedInfinityModeCrashes(Reference):
    """A mode beyond the last is an index past the end of a table of kernels."""

    operator = "ELEMENT_WISE_IS_INFINITY"
    clause = "is-infinity.enumerator.undefined"
    level = LEVEL

    def refuses(self, operator: OperatorDesc) -> str:
        """Not at all: it falls over."""
        if not isinstance(operator.attributes.get("InfinityMode", ""), str):
            raise IndexError("no kernel for this mode")
        return super().refuses(operator)


class GradientBoundsAwayFromZero(Reference):
    """CLIP_GRAD's bounds that an integer type does not hold are three more than without their fraction."""

    operator = "ELEMENT_WISE_CLIP_GRAD"
    clause = "clip-grad.formula"
    level = LEVEL

    def cast(self, value: np.float32, data_type: Any, name: str) -> Any:
        """Past either neighbour."""
        right = super().cast(value, data_type, name)
        if data_type.is_floating or not np.isfinite(value) or value == np.trunc(value):
            return right
        return right + data_type.numpy.type(3)

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """CLIP_GRAD's alone."""
        if operator.name != self.operator:
            return Reference().compute_exact(operator, inputs)
        return super().compute_exact(operator, inputs)


class GradientOfCutBoundsIsOneMore(Reference):
    """CLIP_GRAD gives one more than the gradient to integers that equal a bound without its fraction."""

    operator = "ELEMENT_WISE_CLIP_GRAD"
    clause = "clip-grad.cast"
    level = LEVEL

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Neither what is within the bounds gives nor what is beyond them does."""
        right = super().compute_exact(operator, inputs)
        if operator.name != self.operator or right.dtype.kind == "f":
            return right
        x, gradient = inputs
        for name in ("Min", "Max"):
            bound = operator.attributes[name]
            if np.isfinite(bound) and abs(bound) < 2**7 and bound != np.trunc(bound):
                right = np.where(x == np.trunc(bound), gradient + right.dtype.type(1), right)
        return right
