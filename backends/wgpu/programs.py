"""From an operator description to what a shader computes, and the constants it is given.

The casts of Min and Max are done here, on the host: to FLOAT16 to nearest, ties to even; to integers by
truncation toward zero, where beyond the type the nearest limit and for NaN 0 is taken (the pages are silent
on those). Constants reach the shader as words of a buffer, never as literals, which compilers fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.wgpu.elements import Element
from dmlcts.specs import DataType, OperatorDesc, ScaleBias

Word = int
Words = tuple[Word, Word]
Scaling = Literal["", "value", "integer", "float"]

_ROUNDINGS = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
OPERATORS = ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD")


@dataclass(frozen=True)
class Program:
    """What to compute.

    Attributes:
        operator: the operator's name.
        element: the element that it is computed on.
        rounding: ROUND's mode, or "".
        upper: whether there is a Max.
        scaling: "" without ScaleBias; else whether it is computed in the type of the values, in wrapping
            integers, or in FLOAT32 and cast back to the integer type.
        constants: Min, Max, scale and bias as two 32-bit words each.
    """

    operator: str
    element: Element
    rounding: str = ""
    upper: bool = False
    scaling: Scaling = ""
    constants: tuple[Words, Words, Words, Words] = ((0, 0),) * 4


def program_of(operator: OperatorDesc, element: Element) -> Program:
    """What ``operator`` computes on ``element``.

    Raises:
        InvalidArgument: an attribute is missing or is not of its type.
    """
    if operator.name == "ELEMENT_WISE_ROUND":
        mode = operator.attributes.get("RoundingMode")
        if not isinstance(mode, str) or mode not in _ROUNDINGS:
            raise InvalidArgument(f"RoundingMode is {mode!r}, not one of {', '.join(_ROUNDINGS)}")
        return Program(operator.name, element, rounding=mode)
    upper = operator.name == "ELEMENT_WISE_CLIP"
    low = _bound(_float(operator, "Min"), element)
    high = _bound(_float(operator, "Max"), element) if upper else (0, 0)
    scaling, scale, bias = _scaled(operator, element)
    return Program(operator.name, element, "", upper, scaling, (low, high, scale, bias))


def _float(operator: OperatorDesc, name: str) -> np.float32:
    value = operator.attributes.get(name)
    if not isinstance(value, np.float32):
        raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
    return value


def _scaled(operator: OperatorDesc, element: Element) -> tuple[Scaling, Words, Words]:
    value = operator.attributes.get("ScaleBias")
    if value is None:
        return "", (0, 0), (0, 0)
    if not isinstance(value, ScaleBias):
        raise InvalidArgument(f"ScaleBias is {value!r}, not a ScaleBias or None")
    factors = value.scale, value.bias
    if element.data_type.is_floating:
        if element.native_float16:
            factors = _to_float16(value.scale), _to_float16(value.bias)
        scale, bias = (_float_words(factor) for factor in factors)
        return "value", scale, bias
    least, most = _limits(element.data_type)
    if all(float(factor).is_integer() and least <= int(factor) <= most for factor in factors):
        scale, bias = (_integer_words(int(factor)) for factor in factors)
        return "integer", scale, bias
    scale, bias = (_float_words(factor) for factor in factors)
    return "float", scale, bias


def _bound(value: np.float32, element: Element) -> Words:
    if element.data_type is DataType.FLOAT32:
        return _float_words(value)
    if element.data_type is DataType.FLOAT16:
        return _float_words(_to_float16(value))
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
