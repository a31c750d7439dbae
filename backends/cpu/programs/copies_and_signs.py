"""IDENTITY, ABS, NEGATE and SIGN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.float16 import floating
from dmlcts.backends.cpu.programs.program import Array, Program, bits, of_ufunc, scale_bias_attribute
from dmlcts.backends.cpu.programs.scale_bias import float_scaled, integer_scaled
from dmlcts.specs import DataType, OperatorDesc

_HALF_SIGN = np.uint16(0x8000)


def _copy(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    np.copyto(bits(target), bits(sources[0]))  # as patterns, so that no NaN changes


def _half_abs(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    np.bitwise_and(bits(sources[0]), ~_HALF_SIGN, out=bits(target))


def _float_negate(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x = bits(sources[0])
    np.bitwise_xor(x, x.dtype.type(1 << (8 * x.itemsize - 1)), out=bits(target))


def _integer_negate(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    np.subtract(sources[0].dtype.type(0), sources[0], out=target)


def _sign(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x, zero = sources[0], sources[0].dtype.type(0)
    above, below = np.greater(x, zero), np.less(x, zero)  # neither, for NaN
    np.subtract(above.view(np.int8), below.view(np.int8), out=target, casting="unsafe")


def _scaled(operator: OperatorDesc, program: Program) -> Program:
    """``program`` after ScaleBias, on any type."""
    scale_bias, data_type = scale_bias_attribute(operator), operator.input.data_type
    if data_type.is_floating:
        return floating(float_scaled(program, scale_bias), operator.output)
    return integer_scaled(program, scale_bias, data_type)


def identity(operator: OperatorDesc) -> Program:
    """IDENTITY: the same bits, where there is no ScaleBias."""
    return _copy if scale_bias_attribute(operator) is None else _scaled(operator, _copy)


def absolute(operator: OperatorDesc) -> Program:
    """ABS; the least integer wraps to itself."""
    if operator.input.data_type is DataType.FLOAT16 and scale_bias_attribute(operator) is None:
        return _half_abs
    return _scaled(operator, of_ufunc(np.absolute))


def negate(operator: OperatorDesc) -> Program:
    """NEGATE; the least integer wraps to itself.

    ``np.negative`` of NumPy 2.4 gives wrong values where the input's step is four elements of 4 bytes, or eight of 8,
    and the output's is larger than an element.
    """
    return _float_negate if operator.input.data_type.is_floating else _integer_negate


def sign(operator: OperatorDesc) -> Program:
    """SIGN: 0 for NaN and for both zeros."""
    return _sign
