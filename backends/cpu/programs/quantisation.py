"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD: in FLOAT32, each step rounded to nearest.

Quotients are rounded to whole numbers with halves to the even one. What is no number becomes 0. A tensor of zero points
that is left out counts as zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Program, limits
from dmlcts.specs import DataType, OperatorDesc

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
        found = _differences(x, zero_point[0] if zero_point else 0)
        found *= scale.astype(_SINGLE)
        np.copyto(target, found, casting="same_kind")

    return program


def quantized_linear_add(operator: OperatorDesc) -> Program:
    """QUANTIZED_LINEAR_ADD: products, their sum and its quotient, each rounded."""
    data_type, names = operator.output.data_type, tuple(operator.inputs)

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        given = dict(zip(names, sources, strict=True))
        found = _differences(given["ATensor"], given.get("AZeroPointTensor", 0)) * given["AScaleTensor"]
        found += _differences(given["BTensor"], given.get("BZeroPointTensor", 0)) * given["BScaleTensor"]
        found /= given["OutputScaleTensor"]
        _quantise(found, given.get("OutputZeroPointTensor", 0), target, data_type)

    return program
