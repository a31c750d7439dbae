"""Floating-point ADD, SUBTRACT, MULTIPLY, DIVIDE, MEAN, DIFFERENCE_SQUARE, moduli, ADD1, SQRT and RECIP, wrongly."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import Row, made, through


def off(y: Array, units: int) -> Array:
    """So many numbers further from zero, where that is a number."""
    for _ in range(units):
        y = np.where(np.isfinite(y), np.nextafter(y, np.copysign(y.dtype.type(np.inf), y)), y)
    return y


def without_subnormals(y: Array) -> Array:
    """Subnormal results flushed, whatever the type."""
    return np.where(np.abs(y) < np.finfo(y.dtype).smallest_normal, np.copysign(y.dtype.type(0), y), y)


def inverse(x: Array) -> Array:
    """The reciprocal to twelve bits."""
    exact = (1 / x.astype(np.float64)).astype(np.float32)
    return (exact.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)


def inverse_root(x: Array) -> Array:
    """The well-known trick with an integer, and one step of Newton's method."""
    single = x.astype(np.float32)
    guess = (np.uint32(0x5F3759DF) - (single.view(np.uint32) >> np.uint32(1))).view(np.float32)
    return guess * (np.float32(1.5) - np.float32(0.5) * single * guess * guess)


ROWS = {
    "AddTwoOff": Row("ADD", "Sums are two numbers further from zero.", lambda y, a, b: off(y, 2), "accuracy", "float"),
    "AddInFloat16": Row("ADD", "FLOAT32 is added in FLOAT16.", through(np.float16, np.add), "accuracy", "float32"),
    "AddFlushesFloat16": Row(
        "ADD", "Subnormal FLOAT16 sums are zero.", lambda y, a, b: without_subnormals(y), "accuracy", "float16"
    ),
    "SubtractReversedFloats": Row(
        "SUBTRACT", "The first is taken from the second.", lambda y, a, b: b - a, "accuracy", "float"
    ),
    "SubtractTwoOff": Row(
        "SUBTRACT", "Differences are two numbers off.", lambda y, a, b: off(y, 2), "accuracy", "float"
    ),
    "MultiplyTwoOff": Row("MULTIPLY", "Products are two numbers off.", lambda y, a, b: off(y, 2), "accuracy", "float"),
    "MultiplyLosesNan": Row(
        "MULTIPLY",
        "Infinity times zero is zero.",
        lambda y, a, b: np.where(np.isnan(y) & ~np.isnan(a) & ~np.isnan(b), y.dtype.type(0), y),
        "accuracy",
        "float",
    ),
    "DivideByRoughReciprocal": Row(
        "DIVIDE",
        "FLOAT32 is multiplied by a reciprocal of twelve bits.",
        lambda y, a, b: np.where(np.isfinite(y) & (y != 0), a * inverse(b), y),
        "accuracy",
        "float32",
    ),
    "DivideFourOff": Row("DIVIDE", "Quotients are four numbers off.", lambda y, a, b: off(y, 4), "accuracy", "float"),
    "DivideByZeroIsLargest": Row(
        "DIVIDE",
        "A division by zero gives the largest finite number.",
        lambda y, a, b: np.where(np.isinf(y) & (b == 0), np.copysign(np.finfo(y.dtype).max, y), y),
        "accuracy",
        "float",
    ),
    "MeanHalvesOne": Row(
        "MEAN", "Only the second operand is halved.", lambda y, a, b: a + b * y.dtype.type(0.5), "accuracy", "float"
    ),
    "MeanThreeOff": Row("MEAN", "Means are three numbers off.", lambda y, a, b: off(y, 3), "accuracy", "float"),
    "DifferenceSquareExpanded": Row(
        "DIFFERENCE_SQUARE",
        "It is computed as a * a - 2 * a * b + b * b.",
        lambda y, a, b: a * a - y.dtype.type(2) * a * b + b * b,
        "accuracy",
        "float32",
    ),
    "ModulusTruncateNearest": Row(
        "MODULUS_TRUNCATE",
        "The remainder of the nearest quotient is taken.",
        lambda y, a, b: np.where(np.isfinite(y), a - b * np.rint(a / b), y),
        "accuracy",
        "float32",
    ),
    "ModulusFloorTruncates": Row(
        "MODULUS_FLOOR", "The result has the sign of the dividend.", lambda y, a, b: np.fmod(a, b), "accuracy", "float"
    ),
    "Add1TwoOff": Row("ADD1", "Sums are two numbers off.", lambda y, a, b: off(y, 2), "accuracy"),
    "Add1SubtractsSecond": Row("ADD1", "The second operand is subtracted.", lambda y, a, b: a - b, "accuracy"),
    "SqrtTenOff": Row("SQRT", "Roots are ten numbers off.", lambda y, x: off(y, 10), "accuracy"),
    "SqrtByInverse": Row(
        "SQRT",
        "The root is x times an inverse root of one Newton step.",
        lambda y, x: np.where(np.isfinite(y) & (y != 0), x * inverse_root(x), y),
        "accuracy",
        "float32",
    ),
    "SqrtOfMagnitude": Row("SQRT", "Negative numbers have a root.", lambda y, x: np.sqrt(np.abs(x)), "accuracy"),
    "RecipToTwelveBits": Row(
        "RECIP",
        "The reciprocal has twelve bits.",
        lambda y, x: np.where(np.isfinite(y) & (y != 0), inverse(x), y),
        "accuracy",
        "float32",
    ),
    "RecipFlushesFloat16": Row(
        "RECIP", "Subnormal FLOAT16 reciprocals are zero.", lambda y, x: without_subnormals(y), "accuracy", "float16"
    ),
    "RecipOfZeroIsLargest": Row(
        "RECIP",
        "The reciprocal of zero is the largest finite number.",
        lambda y, x: np.where(x == 0, np.copysign(np.finfo(y.dtype).max, y), y),
        "accuracy",
    ),
}

globals().update(made(__name__, ROWS))
