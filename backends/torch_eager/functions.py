"""What PyTorch has for each of DirectML's operators.

A function is named where it computes the same formula on the same tensors. Patterns are viewed as signed integers of
their width, which PyTorch has of every width. A result of ``torch.bool``, a byte of 0 or 1, is viewed over UINT8.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.backends.runtimes import Counterpart, none

# Keyed by part; "… of integers" goes before the part itself on integer tensors.
COUNTERPARTS: Mapping[str, Counterpart] = {
    "CLIP": Counterpart("clamp"),
    "CLIP1": Counterpart("clamp"),
    "THRESHOLD": Counterpart("clamp"),
    "ROUND HALVES_TO_NEAREST_EVEN": Counterpart("round"),
    "ROUND TOWARD_ZERO": Counterpart("trunc"),
    "ROUND TOWARD_INFINITY": none("torch does not round halves away from zero"),
    "IDENTITY": Counterpart("Tensor.copy_"),
    "ABS": Counterpart("abs"),
    "NEGATE": Counterpart("neg"),
    "SIGN": Counterpart("sign"),
    "CEIL": Counterpart("ceil"),
    "FLOOR": Counterpart("floor"),
    "MAX": Counterpart("maximum"),
    "MIN": Counterpart("minimum"),
    "ADD": Counterpart("add"),
    "SUBTRACT": Counterpart("sub"),
    "MULTIPLY": Counterpart("mul"),
    "DIVIDE": Counterpart("div"),
    "DIVIDE of integers": Counterpart("div", attributes={"rounding_mode": "trunc"}),
    "MEAN": none("torch has no mean of two tensors"),
    "MODULUS_TRUNCATE": Counterpart("fmod"),
    "MODULUS_FLOOR": Counterpart("remainder"),
    "DIFFERENCE_SQUARE": none("torch has no square of a difference"),
    "LOGICAL_EQUALS": Counterpart("eq"),
    "LOGICAL_GREATER_THAN": Counterpart("gt"),
    "LOGICAL_LESS_THAN": Counterpart("lt"),
    "LOGICAL_GREATER_THAN_OR_EQUAL": Counterpart("ge"),
    "LOGICAL_LESS_THAN_OR_EQUAL": Counterpart("le"),
    "LOGICAL_AND": Counterpart("logical_and"),
    "LOGICAL_OR": Counterpart("logical_or"),
    "LOGICAL_XOR": Counterpart("logical_xor"),
    "LOGICAL_NOT": Counterpart("logical_not"),
    "IS_NAN": Counterpart("isnan", truth=True, note="it has no out=: its result is copied"),
    "IS_INFINITY EITHER": Counterpart("isinf", truth=True, note="it has no out=: its result is copied"),
    "IS_INFINITY POSITIVE": Counterpart("isposinf", truth=True),
    "IS_INFINITY NEGATIVE": Counterpart("isneginf", truth=True),
    "BIT_AND": Counterpart("bitwise_and", patterns=True),
    "BIT_OR": Counterpart("bitwise_or", patterns=True),
    "BIT_XOR": Counterpart("bitwise_xor", patterns=True),
    "BIT_NOT": Counterpart("bitwise_not", patterns=True),
    "BIT_COUNT": none("torch does not count bits"),
    "BIT_SHIFT_LEFT": Counterpart("bitwise_left_shift"),
    "BIT_SHIFT_RIGHT": Counterpart("bitwise_right_shift"),
    "IF": Counterpart("where", note="of a UINT8 condition, which torch deprecates"),
    "CLIP_GRAD": Counterpart("ops.aten.hardtanh_backward", note="its bounds are the FLOATs themselves"),
    "CLIP_GRAD1": Counterpart("ops.aten.hardtanh_backward"),
    "SQRT": Counterpart("sqrt"),
    "RECIP": Counterpart("reciprocal"),
    "EXP": Counterpart("exp"),
    "LOG": Counterpart("log"),
    "POW": Counterpart("pow"),
    "SIN": Counterpart("sin"),
    "COS": Counterpart("cos"),
    "TAN": Counterpart("tan"),
    "ASIN": Counterpart("asin"),
    "ACOS": Counterpart("acos"),
    "ATAN": Counterpart("atan"),
    "ATAN_YX": Counterpart("atan2"),
    "SINH": Counterpart("sinh"),
    "COSH": Counterpart("cosh"),
    "TANH": Counterpart("tanh"),
    "ASINH": Counterpart("asinh"),
    "ACOSH": Counterpart("acosh"),
    "ATANH": Counterpart("atanh"),
    "ERF": Counterpart("erf"),
    "ADD1": Counterpart("add"),
    "CONSTANT_POW": none("pow: a number as its exponent is not bound"),
    "QUANTIZE_LINEAR": none("quantize_per_tensor: a scale belongs to a tensor or an axis, not to an element"),
    "DEQUANTIZE_LINEAR": none("dequantize: a scale belongs to a tensor or an axis, not to an element"),
    "QUANTIZED_LINEAR_ADD": none("torch adds tensors of quantised types of its own alone"),
}


def function_of(torch: Any, counterpart: Counterpart) -> Callable[..., Any]:
    """The function, made to take the inputs in the order of the page, bounds as ``min`` and ``max``, and ``out``.

    Args:
        torch: the package.
        counterpart: one that has a name.
    """
    match counterpart.name:
        case "Tensor.copy_":
            return lambda x, out=None: x.clone() if out is None else out.copy_(x)
        case "ops.aten.hardtanh_backward":
            return _hardtanh_backward(torch)
        case "isnan" | "isinf":
            return _copied(getattr(torch, counterpart.name))
        case "where":
            return _where(torch)
    return getattr(torch, counterpart.name)  # type: ignore[no-any-return]  # PyTorch has no types for these names


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    def copied(x: Any, out: Any = None) -> Any:
        return function(x) if out is None else out.copy_(function(x))

    copied.__name__ = function.__name__  # compiled programs are kept by it
    return copied


def _where(torch: Any) -> Callable[..., Any]:
    def where(condition: Any, first: Any, other: Any, **out: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="where received a uint8 condition")
            return torch.where(condition, first, other, **out)

    return where


def _hardtanh_backward(torch: Any) -> Callable[..., Any]:
    def hardtanh_backward(x: Any, gradient: Any, min: Any, max: Any, out: Any = None) -> Any:
        if out is None:
            return torch.ops.aten.hardtanh_backward(gradient, x, min, max)
        return torch.ops.aten.hardtanh_backward.grad_input(gradient, x, min, max, grad_input=out)

    return hardtanh_backward
