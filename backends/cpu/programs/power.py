"""POW: real numbers in FLOAT64, rounded at the end; integers raised to integers exactly, modulo 2^bits.

Of integers a negative exponent gives the quotient 1 / x^-n, truncated, and of 0 it gives 0. An integer raised to a
floating-point exponent is truncated and saturates; what is no number becomes 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Program, limits, scale_bias_attribute
from dmlcts.backends.cpu.programs.scale_bias import float_scaled, integer_scaled
from dmlcts.specs import DataType, OperatorDesc


def _real(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x, exponent = sources
    np.copyto(target, np.power(x.astype(np.float64), exponent.astype(np.float64)), casting="same_kind")


def _whole(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    x, exponent = (source.astype(np.int64) for source in sources)
    power = np.power(x, np.maximum(exponent, 0))
    negative = exponent < 0
    if negative.any():
        odd = (exponent & 1) == 1
        quotient = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
        power = np.where(negative, quotient, power)
    np.copyto(target, power, casting="unsafe")


def _stored(data_type: DataType) -> Program:
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
        return integer_scaled(_stored(base) if exponent.is_floating else _whole, scale_bias, base)
    scaled = float_scaled(_real, scale_bias, operator.output)
    return _through_float32(scaled) if base is DataType.FLOAT16 else scaled
