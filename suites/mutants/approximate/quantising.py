"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD, wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.formulas import Array, Given, dequantised, kept_within, quantised
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

Computed = Callable[[Given, np.dtype[Any]], Array]


class _Quantising(Reference):
    """One of the three operators computed by :attr:`computed`, in place of what is right."""

    level = LEVEL
    computed: Computed

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The wrong results."""
        if operator.name != self.operator:
            return super().compute_exact(operator, inputs)
        named_inputs = dict(zip(operator.inputs, inputs, strict=True))
        return type(self).computed(named_inputs, operator.output.data_type.numpy)


def without(inputs: Given, *names: str) -> Given:
    """The inputs, some of them left out."""
    return {name: array for name, array in inputs.items() if name not in names}


def ratio(inputs: Given, dtype: np.dtype[Any], whole: Callable[[Array], Array]) -> Array:
    """QUANTIZE_LINEAR with another rounding to whole numbers."""
    quotients = inputs["InputTensor"].astype(np.float32) / inputs["ScaleTensor"].astype(np.float32)
    zero_point = inputs.get("ZeroPointTensor", np.zeros(1, np.float32)).astype(np.float32)
    return kept_within(whole(quotients) + zero_point, dtype)


def wrapped(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZE_LINEAR modulo 2^8."""
    exact = ratio(inputs, np.dtype(np.int32), np.rint).astype(np.int64)
    return exact.astype(np.uint8).view(dtype)


def rough(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZE_LINEAR by a reciprocal of twelve bits."""
    inverse = (1 / inputs["ScaleTensor"].astype(np.float32)).astype(np.float32)
    short = (inverse.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
    return quantised(
        inputs["InputTensor"].astype(np.float32) * short, {**inputs, "ScaleTensor": np.ones(1, np.float32)}, dtype
    )


def narrow_difference(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR with differences of the input's own type, which wrap."""
    x = inputs["InputTensor"]
    difference = x - inputs.get("ZeroPointTensor", np.zeros(1, x.dtype))
    narrow = difference if x.dtype.itemsize < 4 else difference.astype(np.int64)
    return (narrow.astype(np.float32) * inputs["ScaleTensor"].astype(np.float32)).astype(dtype)


def two_off(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR two numbers further from zero."""
    results = dequantised(inputs).astype(dtype)
    for _ in range(2):
        results = np.where(
            np.isfinite(results), np.nextafter(results, np.copysign(dtype.type(np.inf), results)), results
        )
    return results


def zero_point_added(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR of the sum with the zero point."""
    zero_point = inputs.get("ZeroPointTensor", np.zeros(1, np.int64)).astype(np.int64)
    total = (inputs["InputTensor"].astype(np.int64) + zero_point).astype(np.float32)
    return (total * inputs["ScaleTensor"].astype(np.float32)).astype(dtype)


def swapped(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD with each scale on the other input."""
    other = {**inputs, "AScaleTensor": inputs["BScaleTensor"], "BScaleTensor": inputs["AScaleTensor"]}
    return quantised(dequantised(other, "A") + dequantised(other, "B"), inputs, dtype, "Output")


def summed(inputs: Given, dtype: np.dtype[Any], *left_out: str) -> Array:
    """QUANTIZED_LINEAR_ADD with some inputs left out."""
    fewer = without(inputs, *left_out)
    return quantised(dequantised(fewer, "A") + dequantised(fewer, "B"), fewer, dtype, "Output")


def without_zero_scale(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD with 1 in place of a scale of 0."""
    scales = {
        name: np.where(inputs[name] == 0, np.float32(1), inputs[name]) for name in ("AScaleTensor", "BScaleTensor")
    }
    return summed({**inputs, **scales}, dtype)


def half_of_each(inputs: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD of inputs that are quantised each by itself, and then added."""
    plain = without(inputs, "OutputZeroPointTensor")
    wide = np.dtype(np.int32)
    total = sum(quantised(dequantised(inputs, name), plain, wide, "Output").astype(np.float64) for name in "AB")
    zero_point = inputs.get("OutputZeroPointTensor", np.zeros(1, np.int8)).astype(np.float64)
    return kept_within(np.asarray(total) + zero_point, dtype)


_ROWS: dict[str, tuple[str, str, Computed]] = {
    "QuantizeTruncates": (
        "QUANTIZE_LINEAR",
        "Quotients are truncated.",
        lambda inputs, dtype: ratio(inputs, dtype, np.trunc),
    ),
    "QuantizeHalvesDown": (
        "QUANTIZE_LINEAR",
        "Halves are rounded toward zero.",
        lambda inputs, dtype: ratio(inputs, dtype, lambda q: np.sign(q) * np.ceil(np.abs(q) - np.float32(0.5))),
    ),
    "QuantizeWithoutZeroPoint": (
        "QUANTIZE_LINEAR",
        "The zero point is ignored.",
        lambda inputs, dtype: ratio(without(inputs, "ZeroPointTensor"), dtype, np.rint),
    ),
    "QuantizeWraps": ("QUANTIZE_LINEAR", "Results wrap instead of being kept within the type.", wrapped),
    "QuantizeByRoughReciprocal": ("QUANTIZE_LINEAR", "It multiplies with a reciprocal of twelve bits.", rough),
    "QuantizeKeepsWithinSigned": (
        "QUANTIZE_LINEAR",
        "UINT8 results stay below 128.",
        lambda inputs, dtype: np.minimum(ratio(inputs, dtype, np.rint), dtype.type(127)),
    ),
    "DequantizeInItsOwnType": ("DEQUANTIZE_LINEAR", "Narrow differences wrap.", narrow_difference),
    "DequantizeAddsZeroPoint": ("DEQUANTIZE_LINEAR", "The zero point is added.", zero_point_added),
    "DequantizeTwoOff": ("DEQUANTIZE_LINEAR", "Products are two numbers off.", two_off),
    "DequantizeWithoutZeroPoint": (
        "DEQUANTIZE_LINEAR",
        "The zero point is ignored.",
        lambda operands, dtype: dequantised(without(operands, "ZeroPointTensor")).astype(dtype),
    ),
    "QuantizedAddSwapsScales": ("QUANTIZED_LINEAR_ADD", "The inputs' scales are swapped.", swapped),
    "QuantizedAddOfNoZeroScale": ("QUANTIZED_LINEAR_ADD", "A scale of 0 counts as 1.", without_zero_scale),
    "QuantizedAddForgetsBZeroPoint": (
        "QUANTIZED_LINEAR_ADD",
        "The second zero point is ignored.",
        lambda operands, dtype: summed(operands, dtype, "BZeroPointTensor"),
    ),
    "QuantizedAddForgetsOutputZeroPoint": (
        "QUANTIZED_LINEAR_ADD",
        "The output's zero point is ignored.",
        lambda operands, dtype: summed(operands, dtype, "OutputZeroPointTensor"),
    ),
    "QuantizedAddRoundsEach": (
        "QUANTIZED_LINEAR_ADD",
        "Each operand is rounded to a whole number before the sum.",
        half_of_each,
    ),
}


def _made(name: str, operator: str, description: str, computed: Computed) -> type[Reference]:
    prefix = operator.lower().replace("_", "-")
    members = {
        "__doc__": description,
        "__module__": __name__,
        "operator": f"ELEMENT_WISE_{operator}",
        "clause": f"{prefix}.formula",
        "computed": staticmethod(computed),
    }
    return type(name, (_Quantising,), members)


ROWS = _ROWS
globals().update({name: _made(name, *row) for name, row in _ROWS.items()})
