"""Asking the exact oracle, and writing down what it must answer."""

from __future__ import annotations

import math
import struct

import numpy as np

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.formula import parse
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact import acceptable
from dmlcts.specs.oracle.outcome import Acceptable

TABLES = load_tables()
F16, F32, F64 = DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64
INF, NAN = math.inf, math.nan
FORMATS = {F16: BINARY16, F32: BINARY32, F64: BINARY64}
NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"
INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]
TINY16 = 2.0**-24  # the smallest subnormal FLOAT16
TINY32 = 2.0**-149
TINY64 = 2.0**-1074


def f32(bits: int) -> np.float32:
    return np.array([bits], np.uint32).view(np.float32)[0]  # type: ignore[no-any-return]


def pattern(data_type: DataType, value: float) -> int:
    """The pattern of a value that the type represents; ``struct`` is the reference."""
    if not data_type.is_floating:
        assert value == int(value)
        return int(value) % (1 << 8 * data_type.itemsize)
    code = {F16: "e", F32: "f", F64: "d"}[data_type]
    packed = struct.pack(f"<{code}", value)
    assert math.isnan(value) or struct.unpack(f"<{code}", packed)[0] == value, "the test's value is inexact"
    return int.from_bytes(packed, "little")


Attribute = float | np.float32 | str | ScaleBias | None


def describe(name: str, data_type: DataType, **attributes: Attribute) -> OperatorDesc:
    tensor = TensorDesc(data_type, (1, 1, 1, 1))
    return OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def accept(
    name: str,
    data_type: DataType,
    x: float,
    *,
    strict: bool = False,
    formula: str | None = None,
    **attributes: Attribute,
) -> Acceptable:
    table = TABLES.operator(name)
    law = TABLES.law(table)
    if formula is not None:
        law = law.with_expression(parse(formula, ("x", *table.float_attributes)))
    operator = describe(table.operator, data_type, **attributes)
    return acceptable(law, operator, pattern(data_type, x), strict=strict)


def values(data_type: DataType, *numbers: float, nan: bool = False) -> Acceptable:
    return Acceptable(frozenset(pattern(data_type, number) for number in numbers), any_nan=nan)


def clipped(
    data_type: DataType, x: float, low: float, high: float, scale_bias: ScaleBias | None = None, strict: bool = False
) -> Acceptable:
    return accept("CLIP", data_type, x, Min=low, Max=high, ScaleBias=scale_bias, strict=strict)


def threshold(data_type: DataType, x: float, low: float, strict: bool = False) -> Acceptable:
    return accept("THRESHOLD", data_type, x, Min=low, ScaleBias=None, strict=strict)


def rounded(data_type: DataType, x: float, mode: str, strict: bool = True) -> Acceptable:
    return accept("ROUND", data_type, x, RoundingMode=mode, strict=strict)
