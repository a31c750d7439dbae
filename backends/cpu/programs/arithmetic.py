"""ADD, SUBTRACT, MULTIPLY, MEAN, DIFFERENCE_SQUARE, MAX and MIN; quantising and back.

Integers wrap. FLOAT32 rounds each step to nearest; FLOAT16 is computed in FLOAT32 and rounded to FLOAT16 at the end.
Quantising rounds halves to the even whole number; what is no number becomes 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.float16 import in_float32, ordinal
from dmlcts.backends.cpu.programs.program import Array, Maker, Program, bits, limits, of_ufunc
from dmlcts.specs import DataType, OperatorDesc

_INFINITE_HALF, _HALF_NAN, _HALF_SIGN = np.uint16(0x7C00), np.uint16(0x7E00), np.uint16(0x8000)


def _of_any_type(program: Program) -> Maker:
    """The maker of ``program``, which computes in FLOAT32 and in integers."""
    special = {DataType.FLOAT16: in_float32(program)}
    return lambda operator: special.get(operator.output.data_type, program)


add = _of_any_type(of_ufunc(np.add))
subtract = _of_any_type(of_ufunc(np.subtract))
multiply = _of_any_type(of_ufunc(np.multiply))


def _difference_square(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    a, b = sources
    np.subtract(a, b, out=target)
    np.multiply(target, target, out=target)


difference_square = _of_any_type(_difference_square)


def _float_mean(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    a, b = sources
    np.add(a, b, out=target)
    np.multiply(target, np.float32(0.5), out=target)


def _integer_mean(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    """Half of the exact sum, truncated: 64 bits hold the sum of two integers of 32."""
    total = np.add(*sources, dtype=np.int64)
    total -= total >> 63
    total >>= 1
    np.copyto(target, total, casting="unsafe")


_mean_of_floats = _of_any_type(_float_mean)


def mean(operator: OperatorDesc) -> Program:
    """MEAN."""
    return _mean_of_floats(operator) if operator.output.data_type.is_floating else _integer_mean


def _extreme(choose: np.ufunc, sign_of_zeros: np.ufunc) -> Maker:
    """The maker of MAX or MIN, as IEEE 754-2019 maximum or minimum: NaN propagates, -0 is less than +0.

    Args:
        choose: ``np.maximum`` or ``np.minimum``.
        sign_of_zeros: what makes the sign of a zero result of the operands' signs. Where the result is zero the other
            operand is a zero too, or has the sign that decides nothing.
    """

    def of_float32(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        choose(*sources, out=scratch)
        zero = np.equal(scratch, np.float32(0))
        if zero.any():
            signs = sign_of_zeros(*map(bits, sources))
            np.copyto(bits(scratch), signs & np.uint32(1 << 31), where=zero)
        np.copyto(target, scratch)

    def of_float16(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        lost = np.zeros(target.shape, bool)
        for source in sources:
            lost |= (bits(source) & ~_HALF_SIGN) > _INFINITE_HALF
        ordinals = scratch.view(np.int16)
        choose(*(ordinal(source.view(np.int16)) for source in sources), out=ordinals)
        ordinal(ordinals, out=target.view(np.int16))
        np.copyto(bits(target), _HALF_NAN, where=lost)

    special = {DataType.FLOAT32: of_float32, DataType.FLOAT16: of_float16}
    return lambda operator: special.get(operator.output.data_type, of_ufunc(choose))


maximum = _extreme(np.maximum, np.bitwise_and)
minimum = _extreme(np.minimum, np.bitwise_or)


_SINGLE = np.float32


def _quantise(quotients: Array, zero_point: Array | int, target: Array, data_type: DataType) -> None:
    """Rounded, moved by the zero point, and kept within the type, which FLOAT32 holds."""
    whole = np.rint(quotients)
    whole += np.asarray(zero_point, _SINGLE)
    np.clip(whole, *map(_SINGLE, limits(data_type)), out=whole)
    np.copyto(whole, _SINGLE(0), where=np.isnan(whole))
    np.copyto(target, whole, casting="unsafe")


def quantize_linear(operator: OperatorDesc) -> Program:
    """QUANTIZE_LINEAR."""
    data_type = operator.output.data_type

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        x, scale, *zero_point = sources
        quotients = np.divide(x.astype(_SINGLE), scale.astype(_SINGLE))
        _quantise(quotients, zero_point[0] if zero_point else 0, target, data_type)

    return program


def _differences(x: Array, zero_point: Array | int) -> Array:
    """Exact, then rounded once."""
    return np.subtract(x, zero_point, dtype=np.int64).astype(_SINGLE)


def dequantize_linear(operator: OperatorDesc) -> Program:
    """DEQUANTIZE_LINEAR; FLOAT16 is rounded to at the end."""

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        x, scale, *zero_point = sources
        values = _differences(x, zero_point[0] if zero_point else 0)
        values *= scale.astype(_SINGLE)
        np.copyto(target, values, casting="same_kind")

    return program


def quantized_linear_add(operator: OperatorDesc) -> Program:
    """QUANTIZED_LINEAR_ADD: products, their sum and its quotient, each rounded."""
    data_type, names = operator.output.data_type, tuple(operator.inputs)

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        inputs = dict(zip(names, sources, strict=True))
        values = _differences(inputs["ATensor"], inputs.get("AZeroPointTensor", 0)) * inputs["AScaleTensor"]
        values += _differences(inputs["BTensor"], inputs.get("BZeroPointTensor", 0)) * inputs["BScaleTensor"]
        values /= inputs["OutputScaleTensor"]
        _quantise(values, inputs.get("OutputZeroPointTensor", 0), target, data_type)

    return program
