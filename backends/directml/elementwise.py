"""The descriptions of the ``DML_ELEMENT_WISE_*`` operators and of activations: their codes, and structures' members.

Source: DirectML.h, target version 0x6400. The layout follows from the members by the rules of C, which is what
ctypes does; a selftest compares it with what a C compiler says.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dmlcts.backends.directml.abi.com import PTR
from dmlcts.backends.directml.abi.dml import DML_SCALAR_UNION

_KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "tensor": PTR,
        "scale_bias": PTR,
        "operator": PTR,
        "float": ctypes.c_float,
        "rounding_mode": ctypes.c_int32,
        "infinity_mode": ctypes.c_int32,
        "data_type": ctypes.c_int32,
        "scalar": DML_SCALAR_UNION,
    }
)

_UNARY = "InputTensor OutputTensor"
_SCALED = "InputTensor OutputTensor ScaleBias:scale_bias"
_BINARY = "ATensor BTensor OutputTensor"
_QUANTIZE = "InputTensor ScaleTensor ZeroPointTensor OutputTensor"

# Members without a kind are tensors.
_OPERATORS = {
    _UNARY: "LOGICAL_NOT=18 SIGN=79 IS_NAN=80 BIT_NOT=124 BIT_COUNT=125 NEGATE=156",
    _SCALED: (
        "IDENTITY=1 ABS=2 ACOS=3 ASIN=5 ATAN=6 CEIL=7 COS=9 EXP=11 FLOOR=12 LOG=13 RECIP=27 SIN=28 SQRT=29 TAN=31 "
        "ERF=81 SINH=82 COSH=83 TANH=84 ASINH=85 ACOSH=86 ATANH=87"
    ),
    _BINARY: (
        "ADD=4 DIVIDE=10 LOGICAL_AND=14 LOGICAL_EQUALS=15 LOGICAL_GREATER_THAN=16 LOGICAL_LESS_THAN=17 LOGICAL_OR=19 "
        "LOGICAL_XOR=20 MAX=21 MEAN=22 MIN=23 MULTIPLY=24 SUBTRACT=30 BIT_SHIFT_LEFT=97 BIT_SHIFT_RIGHT=98 "
        "MODULUS_TRUNCATE=101 MODULUS_FLOOR=102 BIT_AND=121 BIT_OR=122 BIT_XOR=123 LOGICAL_GREATER_THAN_OR_EQUAL=126 "
        "LOGICAL_LESS_THAN_OR_EQUAL=127 ATAN_YX=141 DIFFERENCE_SQUARE=143"
    ),
    _QUANTIZE: "QUANTIZE_LINEAR=33 DEQUANTIZE_LINEAR=34",
    f"{_SCALED} Min:float Max:float": "CLIP=8",
    f"{_SCALED} Min:float": "THRESHOLD=32",
    f"{_SCALED} Exponent:float": "CONSTANT_POW=26",
    f"{_SCALED} MinMaxDataType:data_type Min:scalar Max:scalar": "CLIP1=153",
    f"{_UNARY} RoundingMode:rounding_mode": "ROUND=99",
    f"{_UNARY} InfinityMode:infinity_mode": "IS_INFINITY=100",
    f"{_BINARY} FusedActivation:operator": "ADD1=89",
    "InputTensor ExponentTensor OutputTensor ScaleBias:scale_bias": "POW=25",
    "ConditionTensor ATensor BTensor OutputTensor": "IF=88",
    "InputTensor InputGradientTensor OutputGradientTensor Min:float Max:float": "CLIP_GRAD=142",
    "InputTensor InputGradientTensor OutputGradientTensor MinMaxDataType:data_type Min:scalar Max:scalar": (
        "CLIP_GRAD1=154"
    ),
    "ATensor AScaleTensor AZeroPointTensor BTensor BScaleTensor BZeroPointTensor OutputScaleTensor "
    "OutputZeroPointTensor OutputTensor": "QUANTIZED_LINEAR_ADD=147",
}

# Activations, which stand in the place of an operator that is fused to another one.
_ACTIVATIONS = {
    _UNARY: "IDENTITY=38 RELU=44 SIGMOID=47 SOFTSIGN=50 TANH=51 GELU=157",
    f"{_UNARY} Alpha:float": "ELU=35 LEAKY_RELU=39 THRESHOLDED_RELU=52 CELU=128",
    f"{_UNARY} Alpha:float Beta:float": "HARD_SIGMOID=37 LINEAR=40 PARAMETRIC_SOFTPLUS=43 SCALED_TANH=46",
    f"{_UNARY} Alpha:float Gamma:float": "SCALED_ELU=45",
    f"{_UNARY} Steepness:float": "SOFTPLUS=49",
    f"{_UNARY} Bias:float Threshold:float": "SHRINK=90",
}

_OUTPUTS = ("OutputTensor", "OutputGradientTensor")


@dataclass(frozen=True)
class OperatorLayout:
    """How one operator is described to DirectML.

    Args:
        name: as ``OperatorDesc.name``, for example "ELEMENT_WISE_CLIP".
        code: the number of its ``DML_OPERATOR_TYPE``.
        members: the structure's members in order, name to kind.
        structure: the ctypes structure with these members.
    """

    name: str
    code: int
    members: Mapping[str, str]
    structure: type[ctypes.Structure]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the input tensors, in the order in which they are bound."""
        return tuple(name for name, kind in self.members.items() if kind == "tensor" and name not in _OUTPUTS)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the output tensors, in the order in which they are bound."""
        return tuple(name for name, kind in self.members.items() if kind == "tensor" and name in _OUTPUTS)


def _layouts(listed: Mapping[str, str], prefix: str) -> Mapping[str, OperatorLayout]:
    layouts = {}
    for members, operators in listed.items():
        kinds: dict[str, str] = {}
        for member in members.split():
            label, _, kind = member.partition(":")
            kinds[label] = kind or "tensor"
        for operator in operators.split():
            short, code = operator.split("=")
            name = f"{prefix}{short}"
            fields = [(member, _KINDS[kind]) for member, kind in kinds.items()]
            structure = type(f"DML_{name}_OPERATOR_DESC", (ctypes.Structure,), {"_fields_": fields})
            layouts[name] = OperatorLayout(name, int(code), MappingProxyType(kinds), structure)
    return MappingProxyType(layouts)


LAYOUTS = _layouts(_OPERATORS, "ELEMENT_WISE_")
ACTIVATIONS = _layouts(_ACTIVATIONS, "ACTIVATION_")
