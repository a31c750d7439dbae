"""ScaleBias on floating-point tensors, vectorised: every value that x * scale + bias may have (rule 4)."""

from __future__ import annotations

import itertools

import numpy as np

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.oracle.vector_arithmetic import (
    Alternatives,
    Array,
    distinct,
    flushed,
    fused_multiply_add,
    fused_multiply_add_float64,
    multiply_add_to_odd,
    to_float16,
    to_float16_toward_zero,
    to_float32,
)


def strictly_scaled(x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
    """What ``--strict`` leaves: separate, in FLOAT64 for FLOAT64, in FLOAT32 for the others."""
    work = np.dtype(np.float64 if data_type is DataType.FLOAT64 else np.float32)
    scale, bias = (np.asarray(factor, work) for factor in (scale_bias.scale, scale_bias.bias))
    with np.errstate(all="ignore"):
        return np.asarray((x.astype(work) * scale + bias).astype(x.dtype))


def scaled(x: Array, scale_bias: ScaleBias, data_type: DataType) -> Alternatives:
    """All values that ``x`` (1-D, of ``data_type``) may have after ScaleBias, without ``--strict``."""
    scale, bias = np.asarray(scale_bias.scale), np.asarray(scale_bias.bias)
    with np.errstate(all="ignore"):
        if data_type is DataType.FLOAT16:
            return _in_float16(x, scale, bias)
        if data_type is DataType.FLOAT64:
            return distinct([
                strictly_scaled(x, scale_bias, data_type),
                fused_multiply_add_float64(x, scale_bias.scale, scale_bias.bias),
            ])  # fmt: skip
        found = _through_float32(x, scale, bias)
        for value in flushed([x]):
            found += to_float32(_through_float64(value, scale, bias))
        return distinct(found)


def _in_float16(x: Array, scale: Array, bias: Array) -> Alternatives:
    half = np.dtype(np.float16)
    nearest = scale.astype(half), bias.astype(half)
    downward = to_float16_toward_zero(scale), to_float16_toward_zero(bias)
    found = [fused_multiply_add(x, scale, bias, half)]
    for s, b in (nearest, downward):
        # Products of two FLOAT16 are exact in FLOAT32, in which numpy computes; sums survive a second rounding.
        found += [np.asarray(x * s + b), fused_multiply_add(x, s, b, half)]
    for s, b in ((scale, bias), nearest, downward):
        wide = _through_float32(x.astype(np.float32), s.astype(np.float32), b.astype(np.float32))
        for values in (*wide, _through_float64(x, s, b)):
            found += to_float16(values)
    return distinct(found)


def _through_float32(x: Array, scale: Array, bias: Array) -> Alternatives:
    """Separate and fused x * scale + bias in FLOAT32, with every flushing on the way."""
    found: Alternatives = []
    for value, s, b in itertools.product(flushed([x]), flushed([scale]), flushed([bias])):
        for product in to_float32(value.astype(np.float64) * s.astype(np.float64)):
            found += flushed([np.asarray(product + b)])
        found += to_float32(multiply_add_to_odd(value, s, b))
    return distinct(found)


def _through_float64(x: Array, scale: Array, bias: Array) -> Array:
    """X * scale + bias in FLOAT64, where the product is exact."""
    return np.asarray(x.astype(np.float64) * scale.astype(np.float64) + bias.astype(np.float64))
