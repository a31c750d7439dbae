"""SQRT, RECIP, EXP, LOG and other functions of real numbers: computed in FLOAT64, rounded to FLOAT32 at the end.

numpy's own FLOAT32 functions are several units in the last place off on some processors, and differ from one processor
to the next; in FLOAT64 they leave the nearest FLOAT32 in all but a few cases in a thousand million. Only root and
reciprocal are computed in FLOAT32, where IEEE 754 rounds them to nearest. numpy has no error function.

POW of integers raised to integers is exact, modulo 2^bits; a negative exponent gives the truncated quotient, of 0
it gives 0. An integer raised to a floating-point exponent is truncated and saturates; what is no number becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.cpu.programs.float16 import floating, in_float32
from dmlcts.backends.cpu.programs.program import (
    Array,
    Maker,
    Program,
    float_attribute,
    limits,
    of_ufunc,
    scale_bias_attribute,
)
from dmlcts.backends.cpu.programs.scale_bias import float_scaled, integer_scaled
from dmlcts.specs import DataType, OperatorDesc


def _in_float64(function: Callable[..., Array]) -> Program:
    """The program of a function that is computed in FLOAT64."""

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.copyto(target, function(*(source.astype(np.float64) for source in sources)), casting="same_kind")

    return program


def _of_one(program: Program) -> Maker:
    """The maker of ``program``, of FLOAT32 and one input, after a ScaleBias."""

    def make(operator: OperatorDesc) -> Program:
        return floating(float_scaled(program, scale_bias_attribute(operator), operator.output), operator.output)

    return make


_NEAR_ZERO = 0.5
_TERMS = tuple((-1.0) ** n / (float(np.prod(np.arange(1.0, n + 1))) * (2 * n + 1)) for n in range(16))
_TAIL = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, 7.1.26: the error function within 1.5e-7, from 0 on."""


def error_function(x: Array) -> Array:
    """The error function, which numpy has not: its series near zero, elsewhere within 1.5e-7."""
    magnitude = np.abs(x)
    step = 1 / (1 + 0.3275911 * magnitude)
    tail = np.zeros_like(step)
    for factor in reversed(_TAIL):
        tail = (tail + factor) * step
    far = 1 - tail * np.exp(-magnitude * magnitude)
    square = np.minimum(magnitude, _NEAR_ZERO) ** 2
    series = np.zeros_like(square)
    for term in reversed(_TERMS):
        series = series * square + term
    near = magnitude * series * (2 / np.sqrt(np.pi))
    return np.asarray(np.copysign(np.where(magnitude < _NEAR_ZERO, near, far), x))


def _reciprocal(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    np.divide(np.float32(1), sources[0], out=target)


sqrt = _of_one(of_ufunc(np.sqrt))
recip = _of_one(_reciprocal)
exp = _of_one(_in_float64(np.exp))
log = _of_one(_in_float64(np.log))
sin = _of_one(_in_float64(np.sin))
cos = _of_one(_in_float64(np.cos))
tan = _of_one(_in_float64(np.tan))
asin = _of_one(_in_float64(np.arcsin))
acos = _of_one(_in_float64(np.arccos))
atan = _of_one(_in_float64(np.arctan))
sinh = _of_one(_in_float64(np.sinh))
cosh = _of_one(_in_float64(np.cosh))
tanh = _of_one(_in_float64(np.tanh))
asinh = _of_one(_in_float64(np.arcsinh))
acosh = _of_one(_in_float64(np.arccosh))
atanh = _of_one(_in_float64(np.arctanh))
erf = _of_one(_in_float64(error_function))


def constant_pow(operator: OperatorDesc) -> Program:
    """CONSTANT_POW; the exponent stays the FLOAT that it is."""
    exponent = np.float64(float_attribute(operator, "Exponent"))

    def power(x: Array) -> Array:
        if exponent == 0.5:  # numpy takes the root, which of -0 is -0, and of -infinity a NaN
            x = np.where((x == 0) | np.isinf(x), np.abs(x), x)
        return np.asarray(np.power(x, exponent))

    return _of_one(_in_float64(power))(operator)


def _of_two(function: Callable[..., Any]) -> Maker:
    program = _in_float64(function)
    special = {DataType.FLOAT16: in_float32(program)}
    return lambda operator: special.get(operator.output.data_type, program)


atan_yx = _of_two(np.arctan2)


def _real_power(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x, exponent = sources
    np.copyto(target, np.power(x.astype(np.float64), exponent.astype(np.float64)), casting="same_kind")


def _whole_power(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x, exponent = (source.astype(np.int64) for source in sources)
    negative = exponent < 0
    quotients = negative.any()
    if quotients:  # 1 / x^n is x^n itself for 1 and -1, of which it is enough whether n is odd
        fractions = negative & (np.abs(x) != 1)
        np.bitwise_and(exponent, 1, out=exponent, where=negative)
    # In a type of w bits odd numbers have their powers again after 2^(w - 2), and from w on those of even ones are 0:
    # numpy takes a step for each bit of an exponent.
    period = 1 << 8 * target.itemsize - 2
    if sources[1].itemsize > target.itemsize and exponent.max(initial=0) >= 2 * period:
        exponent = np.where(exponent < period, exponent, exponent & (period - 1) | period)
    power = np.power(x, exponent)
    if quotients:
        np.copyto(power, 0, where=fractions)
    np.copyto(target, power, casting="unsafe")


def _stored_power(data_type: DataType) -> Program:
    least, most = limits(data_type)

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        power = np.trunc(np.power(*(source.astype(np.float64) for source in sources)))
        np.clip(power, least, most, out=power)  # FLOAT64 holds the limits of 32 bits
        np.copyto(power, 0, where=np.isnan(power))
        np.copyto(target, power, casting="unsafe")

    return program


def _through_float32(program: Program) -> Program:
    """``program`` of a FLOAT16 element and an exponent of any type."""

    def widened(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        wide = sources[0].astype(np.float32)
        program((wide, *sources[1:]), wide, np.empty_like(wide))
        np.copyto(target, wide, casting="same_kind")

    return widened


def pow_(operator: OperatorDesc) -> Program:
    """POW."""
    base, exponent = operator.output.data_type, operator.tensors["ExponentTensor"].data_type
    scale_bias = scale_bias_attribute(operator)
    if not base.is_floating:
        return integer_scaled(_stored_power(base) if exponent.is_floating else _whole_power, scale_bias, base)
    scaled = float_scaled(_real_power, scale_bias, operator.output)
    return _through_float32(scaled) if base is DataType.FLOAT16 else scaled
