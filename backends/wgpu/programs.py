"""From an operator description to what a shader computes, and the constants it is given.

The casts of Min and Max are done here, on the host: to FLOAT16 to nearest, ties to even; to integers by
truncation toward zero, where beyond the type the nearest limit and for NaN 0 is taken (the pages are silent
on those). Constants reach the shader as words of a buffer, never as literals, which compilers fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.wgpu.elements import Element
from dmlcts.backends.wgpu.formulas import (
    ACTIVATIONS,
    COMPUTED,
    FORMULAS,
    INFINITY,
    INFINITY_MODES,
    OF_MIXED_TYPES,
    ON_WORDS,
    SCALED,
)
from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias

Word = int
Words = tuple[Word, Word]
Scaling = Literal["", "value", "integer", "float"]

CLIP, ROUND, THRESHOLD = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD"
OPERATORS = frozenset({CLIP, ROUND, THRESHOLD, INFINITY, *FORMULAS, *OF_MIXED_TYPES})

_MODES = {
    ROUND: ("RoundingMode", ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")),
    INFINITY: ("InfinityMode", INFINITY_MODES),
}
_GRADIENTS = ("ELEMENT_WISE_CLIP_GRAD", "ELEMENT_WISE_CLIP_GRAD1")
_BOUNDS = {
    CLIP: ("Min", "Max"),
    THRESHOLD: ("Min",),
    "ELEMENT_WISE_CLIP1": ("Min", "Max"),
    **dict.fromkeys(_GRADIENTS, ("Min", "Max")),
    "ELEMENT_WISE_CONSTANT_POW": ("Exponent",),
}


@dataclass(frozen=True)
class Program:
    """What to compute.

    Attributes:
        operator: the operator's name.
        inputs: the names of its input tensors, in the order of ``sources``.
        sources: the element of each input.
        target: the element of the output.
        mode: ROUND's or IS_INFINITY's mode, or "".
        upper: whether there is a Max.
        scaling: "" without ScaleBias; else whether it is computed in the type of the values, in wrapping
            integers, or in FLOAT32 and cast back to the integer type.
        constants: Min, Max, scale and bias as two 32-bit words each; an activation's numbers in place of the bounds.
        activation: the name of the operator that is fused to it, or "".
    """

    operator: str
    inputs: tuple[str, ...]
    sources: tuple[Element, ...]
    target: Element
    mode: str = ""
    upper: bool = False
    scaling: Scaling = ""
    constants: tuple[Words, Words, Words, Words] = ((0, 0),) * 4
    activation: str = ""


def program_of(
    operator: OperatorDesc, inputs: Sequence[str], output: str, known: Mapping[DataType, Element]
) -> Program:
    """What ``operator`` computes.

    Args:
        operator: a checked description.
        inputs: the names of its input tensors.
        output: the name of its output tensor.
        known: how the adapter holds each data type as a number.

    Raises:
        InvalidArgument: an attribute is missing or is not of its type.
    """
    sources = tuple(_element(operator, name, known) for name in inputs)
    target = _element(operator, output, known)
    mode = _mode(operator)
    bounds = [_bound(operator, name, sources[0]) for name in _BOUNDS.get(operator.name, ())]
    fused = operator.activation
    if fused is not None:
        if fused.name not in ACTIVATIONS:
            raise InvalidArgument(f"the wgpu backend has no {fused.name}")
        bounds = [_bound(fused, name, sources[0]) for name in fused.attributes]
    low, high = (*bounds, (0, 0), (0, 0))[:2]
    scaling, scale, bias = _scaled(operator, sources[0])
    return Program(
        operator.name,
        tuple(inputs),
        sources,
        target,
        mode,
        len(bounds) == 2,
        scaling,
        (low, high, scale, bias),
        "" if fused is None else fused.name,
    )


def _element(operator: OperatorDesc, name: str, known: Mapping[DataType, Element]) -> Element:
    """How a tensor's elements are held: as numbers, or as bits where the operator looks at those."""
    element = known[operator.tensors[name].data_type]
    if operator.name in (CLIP, ROUND, THRESHOLD):
        return element
    if operator.name in ON_WORDS or element.data_type.is_floating:
        computed = operator.name in COMPUTED or operator.attributes.get("ScaleBias") is not None
        return element.as_pattern(computed=computed and element.data_type.is_floating)
    return element


def _mode(operator: OperatorDesc) -> str:
    if operator.name not in _MODES:
        return ""
    attribute, modes = _MODES[operator.name]
    mode = operator.attributes.get(attribute)
    if not isinstance(mode, str) or mode not in modes:
        raise InvalidArgument(f"{attribute} is {mode!r}, not one of {', '.join(modes)}")
    return mode


def _scaled(operator: OperatorDesc, element: Element) -> tuple[Scaling, Words, Words]:
    value: Any = operator.attributes.get("ScaleBias")
    if value is None:
        return "", (0, 0), (0, 0)
    if not isinstance(value, ScaleBias):
        raise InvalidArgument(f"ScaleBias is {value!r}, not a ScaleBias or None")
    if operator.name not in (CLIP, THRESHOLD, *SCALED):
        raise InvalidArgument(f"{operator.name} takes no ScaleBias")
    factors = value.scale, value.bias
    if element.data_type.is_floating:
        half = element.native_float16
        scale, bias = (_float_words(_to_float16(factor) if half else factor) for factor in factors)
        return "value", scale, bias
    least, most = _limits(element.data_type)
    if all(float(factor).is_integer() and least <= int(factor) <= most for factor in factors):
        scale, bias = (_integer_words(int(factor)) for factor in factors)
        return "integer", scale, bias
    scale, bias = (_float_words(factor) for factor in factors)
    return "float", scale, bias


def _bound(operator: OperatorDesc, name: str, element: Element) -> Words:
    """Min or Max as the shader holds the tensor's elements."""
    value = operator.attributes.get(name)
    if isinstance(value, ScalarUnion):
        if value.data_type is not element.data_type:
            held, wanted = value.data_type.name, element.data_type.name
            raise InvalidArgument(f"{name} is of {held}, where the tensors hold {wanted}")
        bits = int(value.value) if element.data_type.is_signed and not element.data_type.is_floating else value.bits
        return _integer_words(bits)
    if not isinstance(value, np.float32):
        raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
    if element.data_type is DataType.FLOAT32:
        return _float_words(value)
    if element.data_type is DataType.FLOAT16:
        half = _to_float16(value)
        return (int(np.float16(half).view(np.uint16)), 0) if element.pattern else _float_words(half)
    return _integer_words(_truncated(value, element.data_type))


def _to_float16(value: np.float32) -> np.float32:
    with np.errstate(all="ignore"):
        return np.float32(np.float16(value))


def _limits(data_type: DataType) -> tuple[int, int]:
    limits = np.iinfo(data_type.numpy)
    return int(limits.min), int(limits.max)


def _truncated(value: np.float32, data_type: DataType) -> int:
    least, most = _limits(data_type)
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return most if value > 0 else least
    return max(least, min(int(value), most))


def _float_words(value: np.float32) -> Words:
    return int(value.view(np.uint32)), 0


def _integer_words(value: int) -> Words:
    """The value's 64-bit two's complement, low word first; narrower types look at the low word alone."""
    return value & 0xFFFFFFFF, (value >> 32) & 0xFFFFFFFF
