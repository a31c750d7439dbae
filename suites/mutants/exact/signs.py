"""IDENTITY, ABS, NEGATE, SIGN, CEIL and FLOOR computed wrongly."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import Row, low_words, made

WIDE, LONG = "int32 uint32 int64 uint64", "int64 uint64"


def least(x: Array) -> Array:
    """Which integers are the least of their type."""
    return x == np.iinfo(x.dtype).min


def subnormal(x: Array) -> Array:
    """Which floats are subnormal."""
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


def through_integers(kind):
    """Results that pass through an integer type."""
    return lambda y, x: np.clip(np.nan_to_num(y.astype(np.float64)), np.iinfo(kind).min, np.iinfo(kind).max).astype(
        y.dtype
    )


def nans_as(value: float):
    """A NaN input gives a number."""
    return lambda y, x: np.where(np.isnan(x), y.dtype.type(value), y)


def common(name: str, operator: str) -> dict[str, Row]:
    """Faults that all of the copying ones may have."""
    return {
        f"{name}NanGivesOne": Row(operator, "A NaN gives 1.", nans_as(1), "nan", "float"),
        f"{name}ZeroGivesTiny": Row(
            operator,
            "Negative zero gives a number.",
            lambda y, x: np.where((x == 0) & np.signbit(x), y.dtype.type(1), y),
            "zero-sign",
            "float",
        ),
        f"{name}SubnormalGivesTwo": Row(
            operator,
            "A subnormal number gives 2.",
            lambda y, x: np.where(subnormal(x), y.dtype.type(2), y),
            "subnormal",
            "float32",
        ),
        f"{name}FlushesFloat16": Row(
            operator,
            "FLOAT16 subnormals count as 0.",
            lambda y, x: np.where(subnormal(x), y.dtype.type(0), y),
            "subnormal.float16",
            "float16",
        ),
        f"{name}InfinityIsGreatest": Row(
            operator,
            "Infinities give the largest finite number.",
            lambda y, x: np.where(np.isinf(x), np.copysign(np.finfo(y.dtype).max, y), y),
            "infinity",
            "float",
        ),
    }


ROWS = {
    **common("Identity", "IDENTITY"),
    **common("Abs", "ABS"),
    **common("Negate", "NEGATE"),
    **common("Ceil", "CEIL"),
    **common("Floor", "FLOOR"),
    "CopyThroughFloat32": Row(
        "IDENTITY",
        "Wide elements pass through FLOAT32.",
        lambda y, x: x.astype(np.float32).astype(x.dtype),
        types=f"{WIDE} float64",
    ),
    "CopyThroughFloat64": Row(
        "IDENTITY",
        "64-bit integers pass through FLOAT64.",
        lambda y, x: x.astype(np.float64).astype(x.dtype),
        types=LONG,
    ),
    "IdentityOfLowWords": Row(
        "IDENTITY",
        "64-bit elements lose their upper words.",
        lambda y, x: low_words(x).astype(np.uint64).view(x.dtype),
        types="int64 uint64 float64",
    ),
    "IdentityThroughFloat16": Row(
        "IDENTITY",
        "FLOAT32 passes through FLOAT16.",
        lambda y, x: x.astype(np.float16).astype(x.dtype),
        types="float32",
    ),
    "IdentityLosesSign": Row(
        "IDENTITY", "Negative numbers lose their sign.", lambda y, x: np.abs(y), types="int float"
    ),
    "AbsIsIdentity": Row("ABS", "Negative numbers stay negative.", lambda y, x: x),
    "AbsIsComplement": Row(
        "ABS",
        "The complement of negative integers is given, which is one too small.",
        lambda y, x: np.where(x < 0, ~x, x),
        types="int",
    ),
    "AbsOfLeastIsZero": Row(
        "ABS", "The least integer gives 0.", lambda y, x: np.where(least(x), y.dtype.type(0), y), "overflow", "int"
    ),
    "AbsInFloat32": Row(
        "ABS",
        "Wide integers pass through FLOAT32.",
        lambda y, x: np.abs(x.astype(np.float32)).astype(np.float64).clip(0, 2.0**30).astype(y.dtype),
        types="int32 int64",
    ),
    "AbsIsNegative": Row("ABS", "The negative magnitude is given.", lambda y, x: -y, types="int float"),
    "AbsOfInfinityKeepsSign": Row(
        "ABS", "Negative infinity stays negative.", lambda y, x: np.where(np.isinf(x), x, y), "infinity", "float"
    ),
    "NegateIsComplement": Row(
        "NEGATE", "Every bit of an integer is changed, which is one too small.", lambda y, x: ~x, types="int"
    ),
    "NegateIsIdentity": Row("NEGATE", "Nothing is changed.", lambda y, x: x),
    "NegateOnlyPositive": Row("NEGATE", "Negative numbers stay negative.", lambda y, x: np.where(x > 0, -x, x)),
    "NegateOfLeastIsZero": Row(
        "NEGATE", "The least integer gives 0.", lambda y, x: np.where(least(x), y.dtype.type(0), y), "overflow", "int"
    ),
    "NegateOfInfinityKeepsSign": Row(
        "NEGATE", "Infinities keep their sign.", lambda y, x: np.where(np.isinf(x), x, y), "infinity", "float"
    ),
    "NegateInFloat32": Row(
        "NEGATE",
        "Wide integers pass through FLOAT32.",
        lambda y, x: (-x.astype(np.float32)).astype(np.float64).clip(-(2.0**30), 2.0**30).astype(y.dtype),
        types="int32 int64",
    ),
    "SignOfLowWords": Row(
        "SIGN",
        "64-bit integers are looked at in their lower 32 bits, as signed.",
        lambda y, x: np.sign(low_words(x).view(np.int32)).astype(y.dtype),
        types="int64",
        modelled_on="onnxruntime 1.31.1, Sign of INT64 on x86-64",
    ),
    "SignUnsignedAsSigned": Row(
        "SIGN",
        "Large unsigned integers are negative.",
        lambda y, x: np.sign(x.view(f"i{x.dtype.itemsize}")).view(y.dtype),
        types="uint",
    ),
    "SignOfZeroIsOne": Row("SIGN", "0 gives 1.", lambda y, x: np.where(x == 0, y.dtype.type(1), y)),
    "SignOfNegativeZeroIsMinusOne": Row(
        "SIGN",
        "Negative zero gives -1.",
        lambda y, x: np.where((x == 0) & np.signbit(x), y.dtype.type(-1), y),
        "zero",
        "float",
    ),
    "SignGivesNumber": Row("SIGN", "Positive numbers are given as they are.", lambda y, x: np.where(x > 0, x, y)),
    "SignNanGivesOne": Row("SIGN", "NaN gives 1.", nans_as(1), "nan", "float"),
    "SignIsShift": Row(
        "SIGN",
        "Positive integers give 0, as the shifted sign bit does.",
        lambda y, x: np.where(x > 0, y.dtype.type(0), y),
        types="int",
    ),
    "SignOfFractionsIsZero": Row(
        "SIGN",
        "Numbers between -1 and 1 give 0.",
        lambda y, x: np.where(np.abs(x) < 1, y.dtype.type(0), y),
        types="float",
    ),
    "SignFlushesFloat16": Row(
        "SIGN",
        "FLOAT16 subnormals count as 0.",
        lambda y, x: np.where(subnormal(x), y.dtype.type(0), y),
        types="float16",
    ),
    "SignSubnormalGivesTwo": Row(
        "SIGN",
        "A subnormal number gives 2.",
        lambda y, x: np.where(subnormal(x), y.dtype.type(2), y),
        "subnormal",
        "float32",
    ),
    "CeilTruncates": Row("CEIL", "Fractions are cut off.", lambda y, x: np.trunc(x)),
    "CeilRounds": Row("CEIL", "The nearest integer is given.", lambda y, x: np.rint(x)),
    "CeilAddsOne": Row(
        "CEIL", "The next integer is given for integers too.", lambda y, x: np.floor(x) + x.dtype.type(1)
    ),
    "CeilFloors": Row("CEIL", "The integer below is given.", lambda y, x: np.floor(x)),
    "CeilThroughInt16": Row("CEIL", "Results pass through INT16.", through_integers(np.int16)),
    "CeilThroughInt32": Row("CEIL", "Results pass through INT32.", through_integers(np.int32), types="float32"),
    "CeilOfFloat16InFloat16": Row(
        "CEIL",
        "Almost one is added before fractions are cut off, in the type itself.",
        lambda y, x: np.floor(x + np.nextafter(x.dtype.type(1), x.dtype.type(0))),
    ),
    "FloorTruncates": Row("FLOOR", "Fractions are cut off.", lambda y, x: np.trunc(x)),
    "FloorRounds": Row("FLOOR", "The nearest integer is given.", lambda y, x: np.rint(x)),
    "FloorSubtractsOne": Row(
        "FLOOR",
        "One less is given for negative integers too.",
        lambda y, x: np.where(x < 0, np.trunc(x) - x.dtype.type(1), np.trunc(x)),
    ),
    "FloorCeils": Row("FLOOR", "The integer above is given.", lambda y, x: np.ceil(x)),
    "FloorThroughInt16": Row("FLOOR", "Results pass through INT16.", through_integers(np.int16)),
    "FloorThroughInt32": Row("FLOOR", "Results pass through INT32.", through_integers(np.int32), types="float32"),
    "FloorByHalf": Row(
        "FLOOR",
        "One half is subtracted before rounding to the nearest integer.",
        lambda y, x: np.rint(x - x.dtype.type(0.5)),
    ),
}

globals().update(made(__name__, ROWS))
