"""What ONNX has for each of DirectML's operators.

An operator is named where it computes the same formula on the same tensors. A tensor is bound as another type only
where that changes nothing: patterns as unsigned integers of their width, and truth values, which ONNX keeps in bytes of
0 and 1, over UINT8 results. Two things are put before or behind an operator, because they are exact: a Cast of
operands to ``bool``, true being what is not 0, and a Cast of ``bool`` to UINT32 results. A scale for each element is
one for each row of a matrix of one column.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends.runtimes import Counterpart, none
from dmlcts.specs import DataType

_INTEGERS = frozenset(data_type for data_type in DataType if not data_type.is_floating)
_BEFORE = frozenset({DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16})

COUNTERPARTS: Mapping[str, Counterpart] = {
    "CLIP": Counterpart("Clip"),
    "CLIP1": Counterpart("Clip"),
    "THRESHOLD": Counterpart("Max"),
    "ROUND HALVES_TO_NEAREST_EVEN": Counterpart("Round"),
    "ROUND TOWARD_ZERO": none("ONNX has no truncation"),
    "ROUND TOWARD_INFINITY": none("ONNX does not round halves away from zero"),
    "IDENTITY": Counterpart("Identity"),
    "ABS": Counterpart("Abs"),
    "NEGATE": Counterpart("Neg"),
    "SIGN": Counterpart("Sign"),
    "CEIL": Counterpart("Ceil"),
    "FLOOR": Counterpart("Floor"),
    "MAX": Counterpart("Max"),
    "MIN": Counterpart("Min"),
    "ADD": Counterpart("Add"),
    "SUBTRACT": Counterpart("Sub"),
    "MULTIPLY": Counterpart("Mul"),
    "DIVIDE": Counterpart("Div"),
    "MEAN": Counterpart("Mean"),
    "MODULUS_TRUNCATE": Counterpart("Mod", attributes={"fmod": 1}),
    "MODULUS_FLOOR": Counterpart("Mod", attributes={"fmod": 0}, only=_INTEGERS, note="on floats ONNX asks for fmod=1"),
    "DIFFERENCE_SQUARE": none("ONNX has no square of a difference"),
    "LOGICAL_EQUALS": Counterpart("Equal", truth=True),
    "LOGICAL_GREATER_THAN": Counterpart("Greater", truth=True),
    "LOGICAL_LESS_THAN": Counterpart("Less", truth=True),
    "LOGICAL_GREATER_THAN_OR_EQUAL": Counterpart("GreaterOrEqual", truth=True),
    "LOGICAL_LESS_THAN_OR_EQUAL": Counterpart("LessOrEqual", truth=True),
    "LOGICAL_AND": Counterpart("And", truth=True, conditions=2),
    "LOGICAL_OR": Counterpart("Or", truth=True, conditions=2),
    "LOGICAL_XOR": Counterpart("Xor", truth=True, conditions=2),
    "LOGICAL_NOT": Counterpart("Not", truth=True, conditions=1),
    "IS_NAN": Counterpart("IsNaN", truth=True),
    "IS_INFINITY EITHER": Counterpart("IsInf", truth=True),
    "IS_INFINITY POSITIVE": Counterpart("IsInf", attributes={"detect_negative": 0}, truth=True),
    "IS_INFINITY NEGATIVE": Counterpart("IsInf", attributes={"detect_positive": 0}, truth=True),
    "BIT_AND": Counterpart("BitwiseAnd", patterns=True),
    "BIT_OR": Counterpart("BitwiseOr", patterns=True),
    "BIT_XOR": Counterpart("BitwiseXor", patterns=True),
    "BIT_NOT": Counterpart("BitwiseNot", patterns=True),
    "BIT_COUNT": none("ONNX does not count bits"),
    "BIT_SHIFT_LEFT": Counterpart("BitShift", attributes={"direction": "LEFT"}),
    "BIT_SHIFT_RIGHT": Counterpart("BitShift", attributes={"direction": "RIGHT"}),
    "IF": Counterpart("Where", conditions=1),
    "CLIP_GRAD": none("ONNX has no gradients"),
    "CLIP_GRAD1": none("ONNX has no gradients"),
    "SQRT": Counterpart("Sqrt"),
    "RECIP": Counterpart("Reciprocal"),
    "EXP": Counterpart("Exp"),
    "LOG": Counterpart("Log"),
    "POW": Counterpart("Pow"),
    "SIN": Counterpart("Sin"),
    "COS": Counterpart("Cos"),
    "TAN": Counterpart("Tan"),
    "ASIN": Counterpart("Asin"),
    "ACOS": Counterpart("Acos"),
    "ATAN": Counterpart("Atan"),
    "ATAN_YX": none("ONNX has no arctangent of two"),
    "SINH": Counterpart("Sinh"),
    "COSH": Counterpart("Cosh"),
    "TANH": Counterpart("Tanh"),
    "ASINH": Counterpart("Asinh"),
    "ACOSH": Counterpart("Acosh"),
    "ATANH": Counterpart("Atanh"),
    "ERF": Counterpart("Erf"),
    "ADD1": Counterpart("Add"),
    "CONSTANT_POW": none("Pow: its exponent is a tensor"),
    "QUANTIZE_LINEAR": Counterpart("QuantizeLinear", attributes={"axis": 0}, columns=True),
    "DEQUANTIZE_LINEAR": Counterpart(
        "DequantizeLinear",
        attributes={"axis": 0},
        columns=True,
        only=_BEFORE,
        note="of wider integers ONNX takes no zero point",
    ),
    "QUANTIZED_LINEAR_ADD": none("ONNX does not add quantised tensors"),
}
