"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD, wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.selftest.mutants.formulas import Array, Given, dequantised, kept_within, quantised
from dmlcts.suites.selftest.mutants.making import LEVEL
from dmlcts.suites.selftest.mutants.reference import Reference

Computed = Callable[[Given, np.dtype[Any]], Array]


class _Quantising(Reference):
    """One of the three operators computed by :attr:`computed`, in place of what is right."""

    level = LEVEL
    computed: Computed

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The wrong results."""
        if operator.name != self.operator:
            return super().compute_exact(operator, inputs)
        given = dict(zip(operator.inputs, inputs, strict=True))
        return type(self).computed(given, operator.output.data_type.numpy)


def without(given: Given, *names: str) -> Given:
    """The inputs, some of them left out."""
    return {name: array for name, array in given.items() if name not in names}


def ratio(given: Given, dtype: np.dtype[Any], whole: Callable[[Array], Array]) -> Array:
    """QUANTIZE_LINEAR with another rounding to whole numbers."""
    quotients = given["InputTensor"].astype(np.float32) / given["ScaleTensor"].astype(np.float32)
    zero_point = given.get("ZeroPointTensor", np.zeros(1, np.float32)).astype(np.float32)
    return kept_within(whole(quotients) + zero_point, dtype)


def wrapped(given: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZE_LINEAR modulo 2^8."""
    exact = ratio(given, np.dtype(np.int32), np.rint).astype(np.int64)
    return exact.astype(np.uint8).view(dtype)


def rough(given: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZE_LINEAR by a reciprocal of twelve bits."""
    inverse = (1 / given["ScaleTensor"].astype(np.float32)).astype(np.float32)
    short = (inverse.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
    return quantised(
        given["InputTensor"].astype(np.float32) * short, {**given, "ScaleTensor": np.ones(1, np.float32)}, dtype
    )


def narrow_difference(given: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR with differences of the input's own type, which wrap."""
    x = given["InputTensor"]
    difference = x - given.get("ZeroPointTensor", np.zeros(1, x.dtype))
    narrow = difference if x.dtype.itemsize < 4 else difference.astype(np.int64)
    return (narrow.astype(np.float32) * given["ScaleTensor"].astype(np.float32)).astype(dtype)


def two_off(given: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR two numbers further from zero."""
    found = dequantised(given).astype(dtype)
    for _ in range(2):
        found = np.where(np.isfinite(found), np.nextafter(found, np.copysign(dtype.type(np.inf), found)), found)
    return found


def zero_point_added(given: Given, dtype: np.dtype[Any]) -> Array:
    """DEQUANTIZE_LINEAR of the sum with the zero point."""
    zero_point = given.get("ZeroPointTensor", np.zeros(1, np.int64)).astype(np.int64)
    total = (given["InputTensor"].astype(np.int64) + zero_point).astype(np.float32)
    return (total * given["ScaleTensor"].astype(np.float32)).astype(dtype)


def swapped(given: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD with each scale on the other input."""
    other = {**given, "AScaleTensor": given["BScaleTensor"], "BScaleTensor": given["AScaleTensor"]}
    return quantised(dequantised(other, "A") + dequantised(other, "B"), given, dtype, "Output")


def summed(given: Given, dtype: np.dtype[Any], *left_out: str) -> Array:
    """QUANTIZED_LINEAR_ADD with some inputs left out."""
    fewer = without(given, *left_out)
    return quantised(dequantised(fewer, "A") + dequantised(fewer, "B"), fewer, dtype, "Output")


def without_zero_scale(given: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD with 1 in place of a scale of 0."""
    scales = {name: np.where(given[name] == 0, np.float32(1), given[name]) for name in ("AScaleTensor", "BScaleTensor")}
    return summed({**given, **scales}, dtype)


def half_of_each(given: Given, dtype: np.dtype[Any]) -> Array:
    """QUANTIZED_LINEAR_ADD of inputs that are quantised each by itself, and then added."""
    plain = without(given, "OutputZeroPointTensor")
    wide = np.dtype(np.int32)
    total = sum(quantised(dequantised(given, name), plain, wide, "Output").astype(np.float64) for name in "AB")
    zero_point = given.get("OutputZeroPointTensor", np.zeros(1, np.int8)).astype(np.float64)
    return kept_within(np.asarray(total) + zero_point, dtype)


_ROWS: dict[str, tuple[str, str, Computed]] = {
    "QuantizeTruncates": (
        "QUANTIZE_LINEAR",
        "Quotients are truncated.",
        lambda given, dtype: ratio(given, dtype, np.trunc),
    ),
    "QuantizeHalvesDown": (
        "QUANTIZE_LINEAR",
        "Halves are rounded toward zero.",
        lambda given, dtype: ratio(given, dtype, lambda q: np.sign(q) * np.ceil(np.abs(q) - np.float32(0.5))),
    ),
    "QuantizeWithoutZeroPoint": (
        "QUANTIZE_LINEAR",
        "The zero point is ignored.",
        lambda given, dtype: ratio(without(given, "ZeroPointTensor"), dtype, np.rint),
    ),
    "QuantizeWraps": ("QUANTIZE_LINEAR", "Results wrap instead of being kept within the type.", wrapped),
    "QuantizeByRoughReciprocal": ("QUANTIZE_LINEAR", "It multiplies with a reciprocal of twelve bits.", rough),
    "QuantizeKeepsWithinSigned": (
        "QUANTIZE_LINEAR",
        "UINT8 results stay below 128.",
        lambda given, dtype: np.minimum(ratio(given, dtype, np.rint), dtype.type(127)),
    ),
    "DequantizeInItsOwnType": ("DEQUANTIZE_LINEAR", "Narrow differences wrap.", narrow_difference),
    "DequantizeAddsZeroPoint": ("DEQUANTIZE_LINEAR", "The zero point is added.", zero_point_added),
    "DequantizeTwoOff": ("DEQUANTIZE_LINEAR", "Products are two numbers off.", two_off),
    "DequantizeWithoutZeroPoint": (
        "DEQUANTIZE_LINEAR",
        "The zero point is ignored.",
        lambda given, dtype: dequantised(without(given, "ZeroPointTensor")).astype(dtype),
    ),
    "QuantizedAddSwapsScales": ("QUANTIZED_LINEAR_ADD", "The inputs' scales are swapped.", swapped),
    "QuantizedAddOfNoZeroScale": ("QUANTIZED_LINEAR_ADD", "A scale of 0 counts as 1.", without_zero_scale),
    "QuantizedAddForgetsBZeroPoint": (
        "QUANTIZED_LINEAR_ADD",
        "The second zero point is ignored.",
        lambda given, dtype: summed(given, dtype, "BZeroPointTensor"),
    ),
    "QuantizedAddForgetsOutputZeroPoint": (
        "QUANTIZED_LINEAR_ADD",
        "The output's zero point is ignored.",
        lambda given, dtype: summed(given, dtype, "OutputZeroPointTensor"),
    ),
    "QuantizedAddRoundsEach": (
        "QUANTIZED_LINEAR_ADD",
        "Each operand is rounded to a whole number before the sum.",
        half_of_each,
    ),
}


def _made(name: str, operator: str, said: str, computed: Computed) -> type[Reference]:
    prefix = operator.lower().replace("_", "-")
    members = {
        "__doc__": said,
        "__module__": __name__,
        "operator": f"ELEMENT_WISE_{operator}",
        "clause": f"{prefix}.formula",
        "computed": staticmethod(computed),
    }
    return type(name, (_Quantising,), members)


ROWS = _ROWS
globals().update({name: _made(name, *row) for name, row in _ROWS.items()})
