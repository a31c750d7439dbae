"""What TFLite's operators have for each of DirectML's.

An operator is named where it computes the same formula on the same arrays. Many of them take INT8, UINT8 and INT16 for
quantised numbers with a scale, which is other arithmetic: they are named for the types beside these only.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends.runtimes import Counterpart, none
from dmlcts.specs import DataType

_PLAIN = frozenset(DataType) - {DataType.INT8, DataType.UINT8, DataType.INT16}
_QUANTISED = "it takes INT8, UINT8 and INT16 for quantised numbers"
_SCALES = "a scale belongs to a tensor or an axis, not to an element"


def _plain(name: str, *, truth: bool = False) -> Counterpart:
    return Counterpart(name, only=_PLAIN, note=_QUANTISED, truth=truth)


_CLIP = Counterpart("MAXIMUM(MINIMUM(x, Max), Min)", note="as TensorFlow writes clip_by_value; Min and Max are inputs")

COUNTERPARTS: Mapping[str, Counterpart] = {
    "CLIP": _CLIP,
    "CLIP1": _CLIP,
    "THRESHOLD": Counterpart("MAXIMUM", note="Min is an input"),
    "ROUND HALVES_TO_NEAREST_EVEN": Counterpart("ROUND"),
    "ROUND TOWARD_ZERO": none("litert has no truncation"),
    "ROUND TOWARD_INFINITY": none("litert does not round halves away from zero"),
    "IDENTITY": none("litert has no operator that copies"),
    "ABS": _plain("ABS"),
    "NEGATE": _plain("NEG"),
    "SIGN": _plain("SIGN"),
    "CEIL": Counterpart("CEIL"),
    "FLOOR": Counterpart("FLOOR"),
    "MAX": Counterpart("MAXIMUM"),
    "MIN": Counterpart("MINIMUM"),
    "ADD": _plain("ADD"),
    "SUBTRACT": _plain("SUB"),
    "MULTIPLY": _plain("MUL"),
    "DIVIDE": _plain("DIV"),
    "MEAN": none("litert has no mean of two arrays"),
    "MODULUS_TRUNCATE": none("litert has no truncated remainder"),
    "MODULUS_FLOOR": Counterpart("FLOOR_MOD"),
    "DIFFERENCE_SQUARE": _plain("SQUARED_DIFFERENCE"),
    "LOGICAL_EQUALS": _plain("EQUAL", truth=True),
    "LOGICAL_GREATER_THAN": _plain("GREATER", truth=True),
    "LOGICAL_LESS_THAN": _plain("LESS", truth=True),
    "LOGICAL_GREATER_THAN_OR_EQUAL": _plain("GREATER_EQUAL", truth=True),
    "LOGICAL_LESS_THAN_OR_EQUAL": _plain("LESS_EQUAL", truth=True),
    "LOGICAL_AND": Counterpart("LOGICAL_AND", conditions=2, truth=True),
    "LOGICAL_OR": Counterpart("LOGICAL_OR", conditions=2, truth=True),
    "LOGICAL_XOR": none("litert has no exclusive or of truth values"),
    "LOGICAL_NOT": Counterpart("LOGICAL_NOT", conditions=1, truth=True),
    "IS_NAN": none("litert has no test for NaN"),
    "IS_INFINITY EITHER": none("litert has no test for infinities"),
    "IS_INFINITY POSITIVE": none("litert has no test for infinities"),
    "IS_INFINITY NEGATIVE": none("litert has no test for infinities"),
    "BIT_AND": none("litert has no operator for it"),
    "BIT_OR": none("litert has no operator for it"),
    "BIT_XOR": Counterpart("BITWISE_XOR", patterns=True),
    "BIT_NOT": none("litert has no operator for it"),
    "BIT_COUNT": none("litert does not count bits"),
    "BIT_SHIFT_LEFT": none("litert shifts to the right only"),
    "BIT_SHIFT_RIGHT": Counterpart("RIGHT_SHIFT"),
    "IF": Counterpart("SELECT_V2", conditions=1),
    "CLIP_GRAD": none("litert has no gradients"),
    "CLIP_GRAD1": none("litert has no gradients"),
    "SQRT": _plain("SQRT"),
    "RECIP": none("litert has no reciprocal"),
    "EXP": _plain("EXP"),
    "LOG": _plain("LOG"),
    "POW": Counterpart("POW"),
    "SIN": Counterpart("SIN"),
    "COS": Counterpart("COS"),
    "TAN": none("litert has no tangent"),
    "ASIN": none("litert has no arcsine"),
    "ACOS": none("litert has no arccosine"),
    "ATAN": none("litert has no arctangent of one"),
    "ATAN_YX": Counterpart("ATAN2"),
    "SINH": none("litert has no hyperbolic sine"),
    "COSH": none("litert has no hyperbolic cosine"),
    "TANH": _plain("TANH"),
    "ASINH": none("litert has no inverse hyperbolic sine"),
    "ACOSH": none("litert has no inverse hyperbolic cosine"),
    "ATANH": none("litert has no inverse hyperbolic tangent"),
    "ERF": none("litert has no error function"),
    "ADD1": _plain("ADD"),
    "CONSTANT_POW": Counterpart("POW", only=frozenset({DataType.FLOAT32}), note="the exponent is a FLOAT32 input"),
    "QUANTIZE_LINEAR": none(f"QUANTIZE: {_SCALES}"),
    "DEQUANTIZE_LINEAR": none(f"DEQUANTIZE: {_SCALES}"),
    "QUANTIZED_LINEAR_ADD": none(f"ADD of quantised arrays: {_SCALES}"),
}
