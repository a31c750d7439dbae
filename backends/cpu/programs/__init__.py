"""The programs of the ``cpu`` backend: how a block of elements is computed, by operator."""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends.cpu.programs import (
    arithmetic,
    bit_patterns,
    choices,
    clamping,
    copies_and_signs,
    division,
    rounding,
    truth,
)
from dmlcts.backends.cpu.programs.float16 import TABLE_ELEMENTS
from dmlcts.backends.cpu.programs.program import Array, Maker, Program

__all__ = ["PROGRAMS", "TABLE_ELEMENTS", "Array", "Maker", "Program"]

# What makes the program of a description, by the operator's name.
PROGRAMS: Mapping[str, Maker] = {
    "ELEMENT_WISE_IDENTITY": copies_and_signs.identity,
    "ELEMENT_WISE_ABS": copies_and_signs.absolute,
    "ELEMENT_WISE_NEGATE": copies_and_signs.negate,
    "ELEMENT_WISE_SIGN": copies_and_signs.sign,
    "ELEMENT_WISE_ROUND": rounding.round_,
    "ELEMENT_WISE_CEIL": rounding.ceil,
    "ELEMENT_WISE_FLOOR": rounding.floor,
    "ELEMENT_WISE_CLIP": clamping.clip,
    "ELEMENT_WISE_CLIP1": clamping.clip1,
    "ELEMENT_WISE_THRESHOLD": clamping.threshold,
    "ELEMENT_WISE_MAX": arithmetic.maximum,
    "ELEMENT_WISE_MIN": arithmetic.minimum,
    "ELEMENT_WISE_ADD": arithmetic.add,
    "ELEMENT_WISE_SUBTRACT": arithmetic.subtract,
    "ELEMENT_WISE_MULTIPLY": arithmetic.multiply,
    "ELEMENT_WISE_MEAN": arithmetic.mean,
    "ELEMENT_WISE_DIFFERENCE_SQUARE": arithmetic.difference_square,
    "ELEMENT_WISE_DIVIDE": division.divide,
    "ELEMENT_WISE_MODULUS_TRUNCATE": division.modulus_truncate,
    "ELEMENT_WISE_MODULUS_FLOOR": division.modulus_floor,
    "ELEMENT_WISE_LOGICAL_EQUALS": truth.equals,
    "ELEMENT_WISE_LOGICAL_GREATER_THAN": truth.greater_than,
    "ELEMENT_WISE_LOGICAL_LESS_THAN": truth.less_than,
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": truth.greater_than_or_equal,
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": truth.less_than_or_equal,
    "ELEMENT_WISE_LOGICAL_AND": truth.logical_and,
    "ELEMENT_WISE_LOGICAL_OR": truth.logical_or,
    "ELEMENT_WISE_LOGICAL_XOR": truth.logical_xor,
    "ELEMENT_WISE_LOGICAL_NOT": truth.logical_not,
    "ELEMENT_WISE_IS_NAN": truth.is_nan,
    "ELEMENT_WISE_IS_INFINITY": truth.is_infinity,
    "ELEMENT_WISE_BIT_AND": bit_patterns.bit_and,
    "ELEMENT_WISE_BIT_OR": bit_patterns.bit_or,
    "ELEMENT_WISE_BIT_XOR": bit_patterns.bit_xor,
    "ELEMENT_WISE_BIT_NOT": bit_patterns.bit_not,
    "ELEMENT_WISE_BIT_COUNT": bit_patterns.bit_count,
    "ELEMENT_WISE_BIT_SHIFT_LEFT": bit_patterns.shift_left,
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": bit_patterns.shift_right,
    "ELEMENT_WISE_IF": choices.if_,
    "ELEMENT_WISE_CLIP_GRAD": choices.clip_grad,
    "ELEMENT_WISE_CLIP_GRAD1": choices.clip_grad1,
}
