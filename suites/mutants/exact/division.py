"""DIVIDE, MODULUS_TRUNCATE and MODULUS_FLOOR computed wrongly. What a division by zero gives is any value."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import (
    Array,
    floored_remainder,
    truncated_quotient,
    truncated_remainder,
)
from dmlcts.suites.mutants.making import Row, as_other_sign, made, through

WIDE, LONG = "int32 uint32 int64 uint64", "int64 uint64"


def by_reciprocal(a: Array, b: Array) -> Array:
    """The product with the reciprocal in FLOAT32, which misses exact quotients."""
    return np.trunc(a * (np.float32(1) / b))


def rounded(y: Array, a: Array, b: Array) -> Array:
    """The nearest integer."""
    r = a - y * b
    further = (np.abs(r.astype(np.float64)) * 2 >= np.abs(b.astype(np.float64))) & (b != 0)
    return y + np.where(further, np.where((a < 0) != (b < 0), -1, 1), 0).astype(y.dtype)


ROWS = {
    "DivideFloors": Row(
        "DIVIDE", "Quotients are rounded toward negative infinity.", lambda y, a, b: a // b, types="int"
    ),
    "DivideRounds": Row("DIVIDE", "Quotients are rounded to the nearest integer.", rounded, types="integer"),
    "DivideAwayFromZero": Row(
        "DIVIDE",
        "Quotients are rounded away from zero.",
        lambda y, a, b: (
            y + np.where((a - y * b != 0) & (b != 0), np.where((a < 0) != (b < 0), -1, 1), 0).astype(y.dtype)
        ),
        types="integer",
    ),
    "DivideReversed": Row(
        "DIVIDE",
        "The second operand is divided by the first.",
        lambda y, a, b: truncated_quotient(b, a),
        types="integer",
    ),
    "DivideByReciprocal": Row(
        "DIVIDE",
        "Integers are multiplied by the FLOAT32 reciprocal.",
        through(np.float32, by_reciprocal),
        types="integer",
    ),
    "DivideInFloat32": Row(
        "DIVIDE", "Wide integers are divided in FLOAT32.", through(np.float32, np.divide), types=WIDE
    ),
    "DivideInFloat64": Row(
        "DIVIDE", "64-bit integers are divided in FLOAT64.", through(np.float64, np.divide), types=LONG
    ),
    "DivideUnsignedAsSigned": Row(
        "DIVIDE", "Unsigned integers are divided as signed ones.", as_other_sign(truncated_quotient), types="uint"
    ),
    "DivideSignedAsUnsigned": Row(
        "DIVIDE", "Signed integers are divided as unsigned ones.", as_other_sign(truncated_quotient), types="int"
    ),
    "DivideGivesRemainder": Row(
        "DIVIDE", "The remainder is given.", lambda y, a, b: truncated_remainder(a, b), types="integer"
    ),
    "DivideLosesSign": Row("DIVIDE", "The quotient has no sign.", lambda y, a, b: np.abs(y), types="int"),
    "DivideShifts": Row(
        "DIVIDE",
        "Signed integers are shifted where the divisor is 2.",
        lambda y, a, b: np.where(b == 2, a >> y.dtype.type(1), y),
        types="int",
    ),
    "TruncatedModulusFloors": Row(
        "MODULUS_TRUNCATE",
        "The remainder has the divisor's sign.",
        lambda y, a, b: floored_remainder(a, b),
        types="int",
    ),
    "TruncatedModulusLosesSign": Row(
        "MODULUS_TRUNCATE", "The remainder has no sign.", lambda y, a, b: np.abs(y), types="int"
    ),
    "TruncatedModulusOfTheDivisor": Row(
        "MODULUS_TRUNCATE",
        "The remainder has the divisor's sign and its own magnitude.",
        lambda y, a, b: np.where(b < 0, -np.abs(y), np.abs(y)),
        types="int",
    ),
    "TruncatedModulusReversed": Row(
        "MODULUS_TRUNCATE",
        "The second operand is divided by the first.",
        lambda y, a, b: truncated_remainder(b, a),
        types="integer",
    ),
    "TruncatedModulusUnsignedAsSigned": Row(
        "MODULUS_TRUNCATE",
        "Unsigned integers are divided as signed ones.",
        as_other_sign(truncated_remainder),
        types="uint",
    ),
    "TruncatedModulusInFloat32": Row(
        "MODULUS_TRUNCATE",
        "Wide integers are divided in FLOAT32.",
        through(np.float32, lambda a, b: a - b * np.trunc(a / b)),
        types=WIDE,
    ),
    "TruncatedModulusInFloat64": Row(
        "MODULUS_TRUNCATE",
        "64-bit integers are divided in FLOAT64.",
        through(np.float64, np.fmod),
        types=LONG,
        modelled_on="onnxruntime 1.31.1, Mod with fmod=1 of INT64",
    ),
    "TruncatedModulusGivesDivisor": Row(
        "MODULUS_TRUNCATE",
        "The divisor is given where nothing remains.",
        lambda y, a, b: np.where(y == 0, b, y),
        types="integer",
    ),
    "TruncatedModulusGivesQuotient": Row(
        "MODULUS_TRUNCATE", "The quotient is given.", lambda y, a, b: truncated_quotient(a, b), types="integer"
    ),
    "TruncatedModulusMasks": Row(
        "MODULUS_TRUNCATE",
        "Every divisor is taken for a power of two.",
        lambda y, a, b: a & (b - b.dtype.type(1)),
        types="uint",
    ),
    "FlooredModulusTruncates": Row(
        "MODULUS_FLOOR",
        "The remainder has the dividend's sign.",
        lambda y, a, b: truncated_remainder(a, b),
        types="int",
    ),
    "FlooredModulusIsPositive": Row(
        "MODULUS_FLOOR",
        "The remainder is never negative, as Euclid's.",
        lambda y, a, b: np.where(y < 0, y - b, y),
        types="int",
    ),
    "FlooredModulusLosesSign": Row(
        "MODULUS_FLOOR", "The remainder has no sign.", lambda y, a, b: np.abs(y), types="int"
    ),
    "FlooredModulusReversed": Row(
        "MODULUS_FLOOR",
        "The second operand is divided by the first.",
        lambda y, a, b: floored_remainder(b, a),
        types="integer",
    ),
    "FlooredModulusUnsignedAsSigned": Row(
        "MODULUS_FLOOR", "Unsigned integers are divided as signed ones.", as_other_sign(floored_remainder), types="uint"
    ),
    "FlooredModulusInFloat32": Row(
        "MODULUS_FLOOR",
        "Wide integers are divided in FLOAT32.",
        through(np.float32, lambda a, b: a - b * np.floor(a / b)),
        types=WIDE,
    ),
    "FlooredModulusInFloat64": Row(
        "MODULUS_FLOOR", "64-bit integers are divided in FLOAT64.", through(np.float64, np.remainder), types=LONG
    ),
    "FlooredModulusGivesDivisor": Row(
        "MODULUS_FLOOR",
        "The divisor is given where nothing remains and signs differ.",
        lambda y, a, b: np.where((y == 0) & ((a < 0) != (b < 0)), b, y),
        types="int",
    ),
    "FlooredModulusAddsAlways": Row(
        "MODULUS_FLOOR",
        "The divisor is added to every negative remainder of a division.",
        lambda y, a, b: np.where(
            truncated_remainder(a, b) < 0, truncated_remainder(a, b) + b, truncated_remainder(a, b)
        ),
        types="int",
    ),
}

globals().update(made(__name__, ROWS))
