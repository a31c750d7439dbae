"""POW, wrongly: on integers, on floating-point numbers, and where the two meet."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array, kept_within
from dmlcts.suites.mutants.making import Row, made


def through_logarithms(y: Array, x: Array, exponent: Array) -> Array:
    """Integers raised to integers in FLOAT32, and truncated."""
    if y.dtype.kind == "f" or exponent.dtype.kind == "f":
        return y
    power = np.exp2(exponent.astype(np.float32) * np.log2(np.abs(x).astype(np.float32)))
    return np.where((x > 1) & (exponent > 1), kept_within(power, y.dtype), y)


def of_narrow(y: Array, x: Array, exponent: Array) -> Array:
    """Integers raised to integers with exponents of four bits."""
    if y.dtype.kind == "f" or exponent.dtype.kind == "f":
        return y
    return np.where(exponent > 15, x, y)


def whole_exponents(y: Array, x: Array, exponent: Array) -> Array:
    """Integers raised to the exponent without its fraction."""
    if y.dtype.kind == "f" or exponent.dtype.kind != "f":
        return y
    return kept_within(np.power(x.astype(np.float64), np.trunc(exponent.astype(np.float64))), y.dtype)


def without_sign(y: Array, x: Array, exponent: Array) -> Array:
    """The magnitude, of numbers."""
    return np.where(np.isnan(y), y, np.abs(y)) if y.dtype.kind == "f" else y


def no_negatives(y: Array, x: Array, exponent: Array) -> Array:
    """NaN for every negative base, as exp2(y * log2(x)) gives."""
    return np.where(x < 0, y.dtype.type(np.nan), y) if y.dtype.kind == "f" else y


def numbers_of_fractions(y: Array, x: Array, exponent: Array) -> Array:
    """A negative base and a fractional exponent give the magnitude's power."""
    if y.dtype.kind != "f":
        return y
    powers = np.power(np.abs(x.astype(np.float64)), exponent.astype(np.float64)).astype(y.dtype)
    return np.where(np.isnan(y) & ~np.isnan(x), powers, y)


def one_percent(y: Array, x: Array, exponent: Array) -> Array:
    """One percent too great, in FLOAT32."""
    return np.where(np.isfinite(y), y * np.float32(1.01), y) if y.dtype == np.float32 else y


def of_the_other_sign(y: Array, x: Array, exponent: Array) -> Array:
    """A twentieth with the other sign, where the factor that Direct3D's logarithm may be off by is more than 2."""
    if y.dtype.kind != "f":
        return y
    beyond = np.abs(exponent.astype(np.float64)) >= (300 if y.dtype == np.float16 else 5e6)
    return np.where(beyond & np.isfinite(y), y.dtype.type(-0.05) * y, y)


def units_of_negative_exponents(y: Array, x: Array, exponent: Array, unit: int, power: int) -> Array:
    """1 or -1 raised to a negative exponent gives another integer."""
    if "f" in (y.dtype.kind, exponent.dtype.kind):
        return y
    return np.where((exponent.astype(np.int64) < 0) & (x.astype(np.int64) == unit), y.dtype.type(power), y)


ROWS = {
    "PowOfOneNegativelyIsZero": Row(
        "POW",
        "1 to a negative exponent is 0.",
        lambda y, x, e: units_of_negative_exponents(y, x, e, 1, 0),
        "units",
        "integer",
    ),
    "PowOfMinusOneNegativelyIsOne": Row(
        "POW",
        "-1 to a negative exponent is 1.",
        lambda y, x, e: units_of_negative_exponents(y, x, e, -1, 1),
        "exact",
        "integer",
    ),
    "PowOfTheOtherSign": Row(
        "POW",
        "Of great exponents a twentieth of the power comes, with the other sign.",
        of_the_other_sign,
        "accuracy",
        "float",
    ),
    "ConstantPowOfTheOtherSign": Row(
        "CONSTANT_POW",
        "Of great exponents a twentieth of the power comes, with the other sign.",
        of_the_other_sign,
        "accuracy",
        bounds=True,
    ),
    "PowOfIntegersThroughLogarithms": Row(
        "POW", "Integers are raised in FLOAT32 and truncated.", through_logarithms, "exact"
    ),
    "PowOfNarrowExponents": Row("POW", "Exponents above 15 count as 1.", of_narrow, "exact"),
    "PowOfWholeExponents": Row("POW", "Integers lose the fraction of their exponent.", whole_exponents, "to-integer"),
    "PowWithoutSign": Row("POW", "The base's sign is lost.", without_sign, "accuracy"),
    "PowOfNegativesIsNan": Row("POW", "Negative bases give NaN.", no_negatives, "accuracy"),
    "PowOfNegativeFractions": Row(
        "POW", "A negative base and a fractional exponent give a number.", numbers_of_fractions, "accuracy"
    ),
    "PowOffByPercent": Row("POW", "Powers are one percent too great.", one_percent, "accuracy"),
}

globals().update(made(__name__, ROWS))
