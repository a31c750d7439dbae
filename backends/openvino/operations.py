"""What OpenVINO has for each of DirectML's operators.

An operation is named where it computes the same formula on the same arrays. A few are put together from two: as
OpenVINO's own converter of ONNX puts them together, and the note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmlcts.backends.runtimes import Counterpart, none
from dmlcts.specs import DataType

_FLOATS = frozenset({DataType.FLOAT32, DataType.FLOAT16})
_AS_CONVERTED = "as OpenVINO's converter of ONNX puts it together"
_CLIP = Counterpart("Minimum(Max, Maximum(Min, x))", note=f"{_AS_CONVERTED} for Clip; Min and Max are inputs")

COUNTERPARTS: Mapping[str, Counterpart] = {
    "CLIP": _CLIP,
    "CLIP1": _CLIP,
    "THRESHOLD": Counterpart("Maximum", note="Min is an input"),
    "ROUND HALVES_TO_NEAREST_EVEN": Counterpart("Round", attributes={"mode": "half_to_even"}),
    "ROUND TOWARD_ZERO": none("openvino has no truncation"),
    "ROUND TOWARD_INFINITY": Counterpart("Round", attributes={"mode": "half_away_from_zero"}),
    "IDENTITY": Counterpart("Identity"),
    "ABS": Counterpart("Abs"),
    "NEGATE": Counterpart("Negative"),
    "SIGN": Counterpart("Sign"),
    "CEIL": Counterpart("Ceiling"),
    "FLOOR": Counterpart("Floor"),
    "MAX": Counterpart("Maximum"),
    "MIN": Counterpart("Minimum"),
    "ADD": Counterpart("Add"),
    "SUBTRACT": Counterpart("Subtract"),
    "MULTIPLY": Counterpart("Multiply"),
    "DIVIDE": Counterpart("Divide"),
    "DIVIDE of integers": Counterpart("Divide", attributes={"m_pythondiv": False}),
    "MEAN": Counterpart("Divide(Add(a, b), 2)", only=_FLOATS, note=f"{_AS_CONVERTED}, on floats"),
    "MODULUS_TRUNCATE": Counterpart("Mod"),
    "MODULUS_FLOOR": Counterpart("FloorMod"),
    "DIFFERENCE_SQUARE": Counterpart("SquaredDifference"),
    "LOGICAL_EQUALS": Counterpart("Equal", truth=True),
    "LOGICAL_GREATER_THAN": Counterpart("Greater", truth=True),
    "LOGICAL_LESS_THAN": Counterpart("Less", truth=True),
    "LOGICAL_GREATER_THAN_OR_EQUAL": Counterpart("GreaterEqual", truth=True),
    "LOGICAL_LESS_THAN_OR_EQUAL": Counterpart("LessEqual", truth=True),
    "LOGICAL_AND": Counterpart("LogicalAnd", conditions=2, truth=True),
    "LOGICAL_OR": Counterpart("LogicalOr", conditions=2, truth=True),
    "LOGICAL_XOR": Counterpart("LogicalXor", conditions=2, truth=True),
    "LOGICAL_NOT": Counterpart("LogicalNot", conditions=1, truth=True),
    "IS_NAN": Counterpart("IsNaN", truth=True),
    "IS_INFINITY EITHER": Counterpart("IsInf", truth=True),
    "IS_INFINITY POSITIVE": Counterpart("IsInf", attributes={"detect_negative": False}, truth=True),
    "IS_INFINITY NEGATIVE": Counterpart("IsInf", attributes={"detect_positive": False}, truth=True),
    "BIT_AND": Counterpart("BitwiseAnd", patterns=True),
    "BIT_OR": Counterpart("BitwiseOr", patterns=True),
    "BIT_XOR": Counterpart("BitwiseXor", patterns=True),
    "BIT_NOT": Counterpart("BitwiseNot", patterns=True),
    "BIT_COUNT": none("openvino does not count bits"),
    "BIT_SHIFT_LEFT": Counterpart("BitwiseLeftShift"),
    "BIT_SHIFT_RIGHT": Counterpart("BitwiseRightShift"),
    "IF": Counterpart("Select", conditions=1),
    "CLIP_GRAD": none("openvino has no gradients"),
    "CLIP_GRAD1": none("openvino has no gradients"),
    "SQRT": Counterpart("Sqrt"),
    "RECIP": Counterpart("Divide(1, x)", note=_AS_CONVERTED),
    "EXP": Counterpart("Exp"),
    "LOG": Counterpart("Log"),
    "POW": Counterpart("Power"),
    "SIN": Counterpart("Sin"),
    "COS": Counterpart("Cos"),
    "TAN": Counterpart("Tan"),
    "ASIN": Counterpart("Asin"),
    "ACOS": Counterpart("Acos"),
    "ATAN": Counterpart("Atan"),
    "ATAN_YX": none("openvino has no arctangent of two"),
    "SINH": Counterpart("Sinh"),
    "COSH": Counterpart("Cosh"),
    "TANH": Counterpart("Tanh"),
    "ASINH": Counterpart("Asinh"),
    "ACOSH": Counterpart("Acosh"),
    "ATANH": Counterpart("Atanh"),
    "ERF": Counterpart("Erf"),
    "ADD1": Counterpart("Add"),
    "CONSTANT_POW": Counterpart("Power", only=frozenset({DataType.FLOAT32}), note="the exponent is a FLOAT32 input"),
    "QUANTIZE_LINEAR": none("FakeQuantize: its result is of the input's type"),
    "DEQUANTIZE_LINEAR": none("openvino has no operation for it"),
    "QUANTIZED_LINEAR_ADD": none("openvino has no operation for it"),
}

_PYTHON_NAMES: Mapping[str, str] = {
    "IsNaN": "is_nan",
    "IsInf": "is_inf",
    "FloorMod": "floor_mod",
    "SquaredDifference": "squared_difference",
    "GreaterEqual": "greater_equal",
    "LessEqual": "less_equal",
    "LogicalAnd": "logical_and",
    "LogicalOr": "logical_or",
    "LogicalXor": "logical_xor",
    "LogicalNot": "logical_not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not",
    "BitwiseLeftShift": "bitwise_left_shift",
    "BitwiseRightShift": "bitwise_right_shift",
}


def function_of(opset: Any, counterpart: Counterpart) -> Callable[[Sequence[Any]], Any]:
    """What makes the operation's node from its inputs: the arrays in the order of the page, and the scalars.

    Args:
        opset: OpenVINO's module of operations.
        counterpart: one that has a name.
    """
    match counterpart.name:
        case "Minimum(Max, Maximum(Min, x))":
            return lambda nodes: opset.minimum(nodes[2], opset.maximum(nodes[1], nodes[0]))
        case "Divide(Add(a, b), 2)":
            return lambda nodes: opset.divide(opset.add(*nodes), _constant(opset, 2, nodes[0]))
        case "Divide(1, x)":
            return lambda nodes: opset.divide(_constant(opset, 1, nodes[0]), nodes[0])
        case "Divide":
            return lambda nodes: _divided(opset, nodes, counterpart.attributes)
        case "IsInf":
            return lambda nodes: opset.is_inf(nodes[0], attributes=dict(counterpart.attributes))
    function = getattr(opset, _PYTHON_NAMES.get(counterpart.name, counterpart.name.lower()))
    return lambda nodes: function(*nodes, **counterpart.attributes)


def _constant(opset: Any, value: int, like: Any) -> Any:
    return opset.constant(value, dtype=like.get_element_type())


def _divided(opset: Any, nodes: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    node = opset.divide(*nodes)
    for name, value in attributes.items():
        node.set_attribute(name, value)
    return node
