"""ScaleBias on floating-point tensors, vectorised: every value that its formula may give (rule 4)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.specs.arithmetic.vector_arithmetic import (
    Alternatives,
    Array,
    Rounding,
    add_to_odd,
    distinct,
    fused_multiply_add,
    fused_multiply_add_float64,
    multiply_add_to_odd,
    to_float16,
    to_float16_toward_zero,
)
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.formula import MultiplyAdd

USUAL = MultiplyAdd(("x", "scale"), "bias")


@dataclass(frozen=True)
class Operands:
    """What a ScaleBias multiplies and adds.

    Attributes:
        operation: which two of x, scale and bias are multiplied, and which is added.
        scale: a 0-dimensional array.
        bias: likewise.
    """

    operation: MultiplyAdd
    scale: Array
    bias: Array

    @classmethod
    def of(cls, operation: MultiplyAdd, scale_bias: ScaleBias) -> Operands:
        """The operands of a description."""
        return cls(operation, np.asarray(scale_bias.scale), np.asarray(scale_bias.bias))

    def as_type(self, dtype: np.dtype[Any]) -> Operands:
        """Both factors rounded to a type."""
        return Operands(self.operation, self.scale.astype(dtype), self.bias.astype(dtype))

    def placed(self, x: Array) -> tuple[Array, Array, Array]:
        """The two factors, one of them of the shape of ``x``, and the addend."""
        terms = {"x": x, "scale": self.scale, "bias": self.bias}
        a, b = self.operation.factors
        if self.operation.addend != "x":
            return x, terms[b if a == "x" else a], terms[self.operation.addend]
        return np.broadcast_to(terms[a], x.shape), terms[b], x


def plainly_scaled(x: Array, operands: Operands, data_type: DataType) -> Array:
    """What no latitude changes: separate, in FLOAT64 for FLOAT64, in FLOAT32 for the others.

    ``x`` is 1-D; the result has its type and length.
    """
    work = np.dtype(np.float64 if data_type is DataType.FLOAT64 else np.float32)
    a, b, addend = operands.as_type(work).placed(x.astype(work))
    with np.errstate(all="ignore"):
        return np.asarray((a * b + addend).astype(x.dtype))


def scaled(x: Array, operands: Operands, rounding: Rounding) -> Alternatives:
    """All values that ``x`` (1-D, of the rounding's type) may have after ScaleBias."""
    with np.errstate(all="ignore"):
        if rounding.data_type is DataType.FLOAT16:
            return _in_float16(x, operands, rounding)
        if rounding.data_type is DataType.FLOAT32:
            return through_float32(x, operands, rounding)  # FLOAT64 gives one of the two next to the exact sum
        alternatives = [plainly_scaled(x, operands, rounding.data_type)]
        if "contraction" in rounding.latitudes:
            alternatives.append(_fused_float64(x, operands))
        return distinct(alternatives)


def _fused_float64(x: Array, operands: Operands) -> Array:
    if operands.operation == USUAL:
        return fused_multiply_add_float64(x, np.float32(operands.scale), np.float32(operands.bias))
    if operands.operation.addend == "x":  # the product of two FLOATs is exact
        a, b, addend = operands.as_type(np.dtype(np.float64)).placed(x)
        return np.asarray(a * b + addend)
    by_name = {"scale": np.float32(operands.scale), "bias": np.float32(operands.bias)}
    (factor,) = set(operands.operation.factors) - {"x"}
    return fused_multiply_add_float64(x, by_name[factor], by_name[operands.operation.addend])


def may_stay_wide(rounding: Rounding) -> bool:
    """Whether what a wider type computes of ScaleBias may go on in it, and be converted at the end."""
    wanted = {DataType.FLOAT16: "float16-intermediate", DataType.FLOAT32: "contraction"}.get(rounding.data_type)
    return wanted in rounding.latitudes


def wide(x: Array, operands: Operands, rounding: Rounding) -> dict[DataType, Alternatives]:
    """The values that FLOAT16 or FLOAT32 may have after ScaleBias in wider types, before they are converted to it.

    ``x`` is 1-D, of the tensor's type; the results are of the types that are their keys, and have its length.
    """
    if rounding.data_type is DataType.FLOAT16:
        return _wide_of_float16(x, operands, rounding)
    return {DataType.FLOAT64: distinct(_through_float64(array, operands) for array in rounding.closed([x]))}


def _wide_of_float16(x: Array, operands: Operands, rounding: Rounding) -> dict[DataType, Alternatives]:
    half, single = np.dtype(np.float16), np.dtype(np.float32)
    pairs = [operands, operands.as_type(half)]
    if "float16-conversion" in rounding.latitudes:
        factors = to_float16_toward_zero(operands.scale), to_float16_toward_zero(operands.bias)
        pairs.append(Operands(operands.operation, *factors))
    alternatives: dict[DataType, Alternatives] = {DataType.FLOAT32: [], DataType.FLOAT64: []}
    for pair in pairs:
        alternatives[DataType.FLOAT32] += through_float32(x.astype(single), pair.as_type(single), rounding)
        alternatives[DataType.FLOAT64].append(_through_float64(x, pair))
    return {data_type: distinct(arrays) for data_type, arrays in alternatives.items()}


def _in_float16(x: Array, operands: Operands, rounding: Rounding) -> Alternatives:
    half, single = np.dtype(np.float16), np.dtype(np.float32)
    through_others = "float16-intermediate" in rounding.latitudes
    narrowed = [operands.as_type(half)]
    toward_zero = "float16-conversion" in rounding.latitudes
    if toward_zero:
        factors = to_float16_toward_zero(operands.scale), to_float16_toward_zero(operands.bias)
        narrowed.append(Operands(operands.operation, *factors))
    alternatives: Alternatives = []
    if through_others:
        alternatives.append(_fused(x, operands, half))
        for pair in narrowed:
            # Products of two FLOAT16 are exact in FLOAT32, in which numpy computes; sums survive a second rounding.
            # A fused operation gives what FLOAT64 does, below: it loses of a sum only what no FLOAT16 shows.
            a, b, addend = pair.placed(x)
            alternatives.append(np.asarray(a * b + addend))
    for pair in (operands, *(narrowed if through_others else ())):
        wider = through_float32(x.astype(single), pair.as_type(single), rounding)
        if through_others:
            wider.append(_through_float64(x, pair))
        for values in wider:
            alternatives += to_float16(values) if toward_zero else [values.astype(half)]
    return distinct(alternatives)


def _fused(x: Array, operands: Operands, target: np.dtype[Any]) -> Array:
    return fused_multiply_add(*operands.placed(x), target)


def through_float32(x: Array, operands: Operands, rounding: Rounding) -> Alternatives:
    """Separate and fused in FLOAT32, with every flushing on the way.

    ``x`` is a 1-D FLOAT32 array; each result is FLOAT32 of its length.
    """
    alternatives: Alternatives = []
    closed = rounding.closed_float32
    for value, scale, bias in itertools.product(closed([x]), closed([operands.scale]), closed([operands.bias])):
        a, b, addend = Operands(operands.operation, scale, bias).placed(value)
        for product in rounding.sum_or_product(a.astype(np.float64) * b.astype(np.float64)):
            alternatives += rounding.sum_or_product(add_to_odd(*_in_float64(product, addend)))
        if "contraction" in rounding.latitudes:
            alternatives += rounding.sum_or_product(multiply_add_to_odd(a, b, addend))
    return distinct(alternatives)


def _in_float64(a: Array, b: Array) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    return np.array(a), np.array(b)


def _through_float64(x: Array, operands: Operands) -> Array:
    """In FLOAT64, where the product is exact."""
    a, b, addend = operands.as_type(np.dtype(np.float64)).placed(x.astype(np.float64))
    return np.asarray(a * b + addend)
