"""The approximate operators as exact as Direct3D obliges them to be, and no more: each step rounded as it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.mutants.formulas import Array, error_function

_RELATIVE = 2.0**-21
_LOG2_E, _LN2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)


def toward_zero(values: Array, kind: DataType) -> Array:
    """The next number toward zero."""
    rounded = values.astype(kind.numpy)
    beyond = np.abs(rounded.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(rounded, kind.numpy.type(0)), rounded)


def nearest(values: Array, kind: DataType) -> Array:
    """The nearest number."""
    return values.astype(kind.numpy)


def signs(x: Array) -> Array:
    """1 and -1 in turn."""
    return np.where(np.arange(x.size) % 2 == 0, 1.0, -1.0)


def exp_of_minimum(x: Array, rounded: Callable[[Array], Array]) -> Array:
    """2^x to 2^-21 of the rounded product, as Direct3D asks for at least."""
    product = rounded(x * np.float64(_LOG2_E))
    return rounded(np.exp2(product) * (1 + _RELATIVE * signs(x)))


def log_of_minimum(x: Array, rounded: Callable[[Array], Array]) -> Array:
    """log2 to 2^-21, then the product with ln 2."""
    exact = np.log2(x)
    error = np.where((x >= 0.5) & (x <= 2), _RELATIVE, np.abs(exact) * _RELATIVE) * signs(x)
    return rounded(rounded(np.where(np.isfinite(exact), exact + error, exact)) * np.float64(_LN2))


def off_by(amount: float, function: Callable[[Array], Array]) -> Callable[[Array, Any], Array]:
    """A function to so much, to either side."""

    def computed(x: Array, rounded: Callable[[Array], Array]) -> Array:
        right = function(x)
        return rounded(np.where(np.isfinite(right), right + amount * signs(x), right))

    return computed


def hyperbolic(sign: int) -> Callable[[Array, Any], Array]:
    """Half of the sum, or the difference, of e^x and e^-x."""

    def computed(x: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(rounded(exp_of_minimum(x, rounded) + sign * exp_of_minimum(-x, rounded)) / 2)

    return computed


def quotient_of_minimum(a: Array, b: Array, rounded: Callable[[Array], Array]) -> Array:
    """The product with the reciprocal."""
    return rounded(a * rounded(1 / b))


def is_whole(a: Array, b: Array) -> Array:
    """Where a quotient is whole and within 2^24, so that nothing remains, however it is computed."""
    return (np.fmod(a, b) == 0) & (np.abs(a) <= 2.0**24 * np.abs(b)) & np.isfinite(b)


def remainder(whole: Callable[[Array], Array], exact: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Step by step; of a divisor whose reciprocal overflows, and of a whole quotient within 2^24, the exact one."""

    def computed(a: Array, b: Array, rounded: Callable[[Array], Array]) -> Array:
        steps = rounded(a - rounded(b * whole(quotient_of_minimum(a, b, rounded))))
        return np.where((np.abs(b) < 2.0**-126) | is_whole(a, b), rounded(exact(a, b)), steps)

    return computed


MINIMUM: dict[str, Callable[..., Array]] = {
    "ADD": lambda a, b, r: r(a + b),
    "ADD1": lambda a, b, r: r(a + b),
    "SUBTRACT": lambda a, b, r: r(a - b),
    "MULTIPLY": lambda a, b, r: r(a * b),
    "DIVIDE": quotient_of_minimum,
    "MEAN": lambda a, b, r: r(r(a + b) * 0.5),
    "DIFFERENCE_SQUARE": lambda a, b, r: r(r(a - b) * r(a - b)),
    "MODULUS_TRUNCATE": remainder(np.trunc, np.fmod),
    "MODULUS_FLOOR": remainder(np.floor, np.mod),
    "SQRT": lambda x, r: r(np.sqrt(x)),
    "RECIP": lambda x, r: r(1 / x * (1 + _RELATIVE * 0.7 * signs(x))),
    "EXP": exp_of_minimum,
    "LOG": log_of_minimum,
    "SIN": off_by(0.00079, np.sin),
    "COS": off_by(0.00079, np.cos),
    "TAN": lambda x, r: r(off_by(0.00079, np.sin)(x, r) / off_by(0.00079, np.cos)(x, r)),
    "ASIN": off_by(0.00079, np.arcsin),
    "ACOS": off_by(0.00079, np.arccos),
    "ATAN": off_by(0.00079, np.arctan),
    "ATAN_YX": lambda a, b, r: off_by(0.00079, lambda _: np.arctan2(a, b))(a, r),
    "SINH": hyperbolic(-1),
    "COSH": hyperbolic(1),
    "TANH": off_by(0.00097, np.tanh),
    "ASINH": lambda x, r: log_of_minimum(r(x + r(np.sqrt(r(r(x * x) + 1)))), r),
    "ACOSH": lambda x, r: log_of_minimum(r(x + r(np.sqrt(r(r(x * x) - 1)))), r),
    "ATANH": lambda x, r: r(log_of_minimum(r(r(1 + x) / r(1 - x)), r) / 2),
    "ERF": off_by(0.0048, error_function),
    "CONSTANT_POW": lambda x, e, r: r(np.exp2(r(e * r(np.log2(x))))),
}
"""What each operator gives of its operands in FLOAT64 and of what rounds a step."""
