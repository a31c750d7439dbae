"""What ONNX has for each of DirectML's operators.

An operator is named where it computes the same formula on the same tensors. A tensor is bound as another type only
where that changes nothing: patterns as unsigned integers of their width, and truth values, which ONNX keeps in bytes of
0 and 1, over UINT8 results. Truth values as operands are another matter: DirectML takes any byte but 0 for true, a
``bool`` holds 0 and 1 alone, and a Cast before the operator would be judged as if it were the operator's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends.runtimes import Counterpart, none
from dmlcts.specs import DataType

_INTEGERS = frozenset(data_type for data_type in DataType if not data_type.is_floating)
_BYTES_AS_TRUTH = "its operands are bool, which holds 0 and 1 alone"

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
    "LOGICAL_AND": none(f"And: {_BYTES_AS_TRUTH}"),
    "LOGICAL_OR": none(f"Or: {_BYTES_AS_TRUTH}"),
    "LOGICAL_XOR": none(f"Xor: {_BYTES_AS_TRUTH}"),
    "LOGICAL_NOT": none(f"Not: {_BYTES_AS_TRUTH}"),
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
    "IF": none("Where: its condition is bool, which holds 0 and 1 alone"),
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
    "QUANTIZE_LINEAR": none("QuantizeLinear: a scale belongs to a tensor or an axis, not to an element"),
    "DEQUANTIZE_LINEAR": none("DequantizeLinear: a scale belongs to a tensor or an axis, not to an element"),
    "QUANTIZED_LINEAR_ADD": none("ONNX does not add quantised tensors"),
}
