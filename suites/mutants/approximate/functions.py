"""Powers, logarithms, trigonometric and hyperbolic functions, wrongly: short polynomials, no reduction, lost limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import Row, made, through

_HALF_TURN = 3.140625
"""Pi as FLOAT16 has it."""


def polynomial(x: Array, factors: Sequence[float]) -> Array:
    """A polynomial in FLOAT64, the constant first."""
    total = np.zeros(x.shape)
    for factor in reversed(factors):
        total = total * x.astype(np.float64) + factor
    return total


def short_exp(y: Array, x: Array) -> Array:
    """2^n times a polynomial of the rest that is one term short."""
    wide = x.astype(np.float64)
    count = np.rint(wide / math.log(2))
    rest = wide - count * math.log(2)
    approximation = polynomial(rest, [1 / math.factorial(n) for n in range(5)]) * np.exp2(count)
    return np.where(np.isfinite(y) & (y != 0), approximation, y)


def short_log(y: Array, x: Array) -> Array:
    """The exponent's logarithm plus a series of the mantissa that is a few terms short."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    ratio = (mantissa * math.sqrt(2) - 1) / (mantissa * math.sqrt(2) + 1)
    approximation = 2 * (ratio + ratio**3 / 3) + (exponent - 0.5) * math.log(2)
    return np.where(np.isfinite(y), approximation, y)


def unreduced(odd: bool) -> Sequence[float]:
    """The series of the sine or the cosine to x^11, good for a turn and no further."""
    coefficients = [0.0] * 12
    for n in range(1 if odd else 0, 12, 2):
        coefficients[n] = (-1) ** (n // 2) / math.factorial(n)
    return coefficients


def finite(y: Array, approximation: Array) -> Array:
    """Other results where the right ones are finite."""
    return np.where(np.isfinite(y), approximation, y).astype(y.dtype)


def lost(y: Array, x: Array) -> Array:
    """NaN for infinities, as of infinity divided by infinity."""
    return np.where(np.isinf(x), y.dtype.type(np.nan), y)


def row(operator: str, description: str, fault: object, types: str = "") -> Row:
    """A fault of a function's accuracy."""
    return Row(operator, description, fault, "accuracy", types)  # type: ignore[arg-type]


ROWS = {
    "ExpOneTermShort": row("EXP", "The polynomial is one term short.", short_exp, "float32"),
    "ExpThroughFloat16": row("EXP", "FLOAT32 is computed in FLOAT16.", through(np.float16, np.exp), "float32"),
    "ExpClampsAtEighty": row(
        "EXP", "Arguments beyond 80 count as 80.", lambda y, x: np.exp(np.minimum(x, 80)), "float32"
    ),
    "ExpOfMinusInfinity": row(
        "EXP", "The power of -infinity is not zero.", lambda y, x: np.where(np.isneginf(x), 1, y)
    ),
    "LogOneTermShort": row("LOG", "The series is two terms short.", short_log, "float32"),
    "LogToTheBaseTwo": row("LOG", "It is the logarithm to the base 2.", lambda y, x: finite(y, np.log2(x))),
    "LogOfZeroIsLeast": row(
        "LOG",
        "The logarithm of zero is the least finite number.",
        lambda y, x: np.where(x == 0, np.finfo(y.dtype).min, y),
    ),
    "LogOfMagnitude": Row(
        "LOG",
        "The sign of the operand is dropped, so that a negative number has a logarithm.",
        lambda y, x: np.where(np.isnan(y) & (x < 0), np.log(np.abs(x)), y),
        "negative",
    ),
    "SinWithoutReduction": row(
        "SIN", "The series is taken without range reduction.", lambda y, x: finite(y, polynomial(x, unreduced(True)))
    ),
    "SinWithAShortPi": row(
        "SIN",
        "The argument is reduced by pi as FLOAT16 has it.",
        lambda y, x: finite(y, np.sin(np.fmod(x.astype(np.float64), 2 * _HALF_TURN))),
    ),
    "SinALittleOff": row("SIN", "Sines are 0.0009 too great.", lambda y, x: finite(y, y + 0.0009), "float32"),
    "CosWithoutReduction": row(
        "COS", "The series is taken without range reduction.", lambda y, x: finite(y, polynomial(x, unreduced(False)))
    ),
    "CosALittleOff": row("COS", "Cosines are 0.0009 too small.", lambda y, x: finite(y, y - 0.0009), "float32"),
    "TanIsTheSeries": row(
        "TAN", "The series is cut after x^3.", lambda y, x: finite(y, x + x.astype(np.float64) ** 3 / 3)
    ),
    "TanOffByOnePercent": row(
        "TAN", "Tangents are one percent too great.", lambda y, x: finite(y, y * 1.01), "float32"
    ),
    "AsinCutShort": row(
        "ASIN", "The series is cut after x^3.", lambda y, x: finite(y, x + x.astype(np.float64) ** 3 / 6)
    ),
    "AcosCutShort": row(
        "ACOS",
        "The series is cut after x^3.",
        lambda y, x: finite(y, math.pi / 2 - x.astype(np.float64) - x.astype(np.float64) ** 3 / 6),
    ),
    "AcosOffByLittle": row("ACOS", "Results are 0.005 too great.", lambda y, x: finite(y, y + 0.005)),
    "AtanWithoutReduction": row(
        "ATAN",
        "The series is taken beyond 1.",
        lambda y, x: finite(y, polynomial(x, [0, 1, 0, -1 / 3, 0, 1 / 5, 0, -1 / 7])),
    ),
    "AtanOfInfinity": row("ATAN", "Infinities give NaN.", lost),
    "AtanYxOfTheQuotient": row(
        "ATAN_YX", "Quadrants are lost.", lambda y, a, b: finite(y, np.arctan(a.astype(np.float64) / b))
    ),
    "AtanYxReversed": row("ATAN_YX", "The operands are taken the other way.", lambda y, a, b: np.arctan2(b, a)),
    "SinhCutShort": row(
        "SINH",
        "The series is cut after x^5.",
        lambda y, x: finite(y, polynomial(x, [0, 1, 0, 1 / 6, 0, 1 / 120])),
    ),
    "SinhOverflowsEarly": row(
        "SINH", "It overflows from 80 on.", lambda y, x: np.where(np.abs(x) > 80, np.copysign(np.inf, x), y), "float32"
    ),
    "CoshCutShort": row(
        "COSH", "The series is cut after x^4.", lambda y, x: finite(y, polynomial(x, [1, 0, 0.5, 0, 1 / 24]))
    ),
    "CoshKeepsTheSign": row("COSH", "It is odd.", lambda y, x: np.copysign(y, x)),
    "TanhOverflows": row(
        "TANH",
        "Powers of e overflow to NaN.",
        lambda y, x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1),
    ),
    "TanhCutShort": row(
        "TANH", "The series is cut after x^3.", lambda y, x: finite(y, x - x.astype(np.float64) ** 3 / 3)
    ),
    "AsinhLosesTheSign": row("ASINH", "It is even.", lambda y, x: np.abs(y)),
    "AsinhForLargeOnes": row(
        "ASINH",
        "It is ln(2 x), good for large elements alone.",
        lambda y, x: finite(y, np.copysign(np.log(2 * np.abs(x.astype(np.float64)) + 1e-30), x)),
    ),
    "AcoshForLargeOnes": row(
        "ACOSH",
        "It is ln(2 x), good for large elements alone.",
        lambda y, x: finite(y, np.log(2 * x.astype(np.float64))),
    ),
    "AcoshOfInfinity": row("ACOSH", "Infinities give NaN.", lost),
    "AtanhCutShort": row(
        "ATANH", "The series is cut after x^3.", lambda y, x: finite(y, x + x.astype(np.float64) ** 3 / 3)
    ),
    "AtanhTwice": row("ATANH", "The half is forgotten.", lambda y, x: y * 2),
    "ErfCutShort": row(
        "ERF",
        "The series is cut after x^3.",
        lambda y, x: finite(y, 2 / math.sqrt(math.pi) * (x - x.astype(np.float64) ** 3 / 3)),
    ),
    "ErfIsTheComplement": row("ERF", "It is the complement.", lambda y, x: 1 - y),
    "ErfOfInfinity": row("ERF", "Infinities give NaN.", lost),
    "ConstantPowOfMagnitude": row(
        "CONSTANT_POW", "The base's sign is lost.", lambda y, x: np.where(np.isnan(y), y, np.abs(y))
    ),
    "ConstantPowOfNegatives": row(
        "CONSTANT_POW",
        "A negative base and a fractional exponent give a number.",
        lambda y, x: np.where(np.isnan(y) & ~np.isnan(x), np.sqrt(np.abs(x)), y),
    ),
    "ConstantPowMinusTwoSigned": row(
        "CONSTANT_POW",
        "The power -2 of negative numbers is negative.",
        lambda y, x: np.where((x < -1.5) & (np.abs(y * x * x - 1) < 0.01), -y, y),
    ),
    "ConstantPowOffByPercent": row(
        "CONSTANT_POW", "Powers are one percent too great.", lambda y, x: finite(y, y * 1.01), "float32"
    ),
}

globals().update(made(__name__, ROWS))
