"""LOGICAL_AND, OR, XOR and NOT, IS_NAN and IS_INFINITY computed wrongly."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import Row, made


def quiet_only(y: Array, x: Array) -> Array:
    """NaNs whose highest bit of the significand is set."""
    quiet = {2: 0x0200, 4: 0x0040_0000}[x.dtype.itemsize]
    return y & ((x.view(f"u{x.dtype.itemsize}") & quiet) != 0)


def one_pattern(y: Array, x: Array) -> Array:
    """The one NaN that arithmetic gives."""
    bits = x.view(f"u{x.dtype.itemsize}")
    return (bits << bits.dtype.type(1)) == (np.array(np.nan, x.dtype).view(bits.dtype) << bits.dtype.type(1))


ROWS = {
    "AndOfBits": Row("LOGICAL_AND", "The operands' bits are combined.", lambda y, a, b: a & b),
    "AndOfBitsAsTruth": Row(
        "LOGICAL_AND", "True where the operands have a bit in common.", lambda y, a, b: (a & b) != 0
    ),
    "AndGivesSecond": Row(
        "LOGICAL_AND",
        "The second operand is given where the first is true, as in C-like languages.",
        lambda y, a, b: np.where(a != 0, b, 0),
    ),
    "AndOfOnes": Row("LOGICAL_AND", "Only 1 is true.", lambda y, a, b: (a == 1) & (b == 1)),
    "AndOfLowestBits": Row("LOGICAL_AND", "The lowest bits are looked at.", lambda y, a, b: a & b & 1),
    "AndIs255": Row("LOGICAL_AND", "True is 255.", lambda y, a, b: y.astype(np.uint8) * np.uint8(255)),
    "AndIsOr": Row("LOGICAL_AND", "One true operand is enough.", lambda y, a, b: (a != 0) | (b != 0)),
    "AndOfLowBytes": Row(
        "LOGICAL_AND",
        "UINT32 is looked at in its lowest byte.",
        lambda y, a, b: ((a & 0xFF) != 0) & ((b & 0xFF) != 0),
        types="uint32",
    ),
    "AndOfProduct": Row("LOGICAL_AND", "True where the wrapped product is not 0.", lambda y, a, b: (a * b) != 0),
    "OrOfBits": Row("LOGICAL_OR", "The operands' bits are combined.", lambda y, a, b: a | b),
    "OrOfSum": Row("LOGICAL_OR", "True where the wrapped sum is not 0.", lambda y, a, b: (a + b) != 0),
    "OrOfOnes": Row("LOGICAL_OR", "Only 1 is true.", lambda y, a, b: (a == 1) | (b == 1)),
    "OrGivesFirst": Row("LOGICAL_OR", "The first true operand is given.", lambda y, a, b: np.where(a != 0, a, b)),
    "OrIs255": Row("LOGICAL_OR", "True is 255.", lambda y, a, b: y.astype(np.uint8) * np.uint8(255)),
    "OrIsXor": Row("LOGICAL_OR", "Two true operands give 0.", lambda y, a, b: (a != 0) ^ (b != 0)),
    "OrOfSigned": Row(
        "LOGICAL_OR",
        "Only what is positive as a signed integer is true.",
        lambda y, a, b: (a.view(f"i{a.dtype.itemsize}") > 0) | (b.view(f"i{b.dtype.itemsize}") > 0),
    ),
    "XorOfBits": Row("LOGICAL_XOR", "The operands' bits are compared.", lambda y, a, b: a ^ b),
    "XorOfBitsAsTruth": Row("LOGICAL_XOR", "True where the operands differ in any bit.", lambda y, a, b: a != b),
    "XorOfLowestBits": Row("LOGICAL_XOR", "The lowest bits are compared.", lambda y, a, b: (a ^ b) & 1),
    "XorIs255": Row("LOGICAL_XOR", "True is 255.", lambda y, a, b: y.astype(np.uint8) * np.uint8(255)),
    "XorIsOr": Row("LOGICAL_XOR", "Two true operands give 1.", lambda y, a, b: (a != 0) | (b != 0)),
    "XorInverted": Row("LOGICAL_XOR", "Equal truths give 1.", lambda y, a, b: (a != 0) == (b != 0)),
    "NotOfBits": Row("LOGICAL_NOT", "Every bit is changed.", lambda y, x: ~x),
    "NotOfOne": Row("LOGICAL_NOT", "Only 1 is true.", lambda y, x: x != 1),
    "NotOfLowestBit": Row("LOGICAL_NOT", "The lowest bit is looked at.", lambda y, x: (x & 1) == 0),
    "NotIs255": Row("LOGICAL_NOT", "True is 255.", lambda y, x: y.astype(np.uint8) * np.uint8(255)),
    "NotByXor": Row("LOGICAL_NOT", "1 is exchanged with 0, and all other values likewise.", lambda y, x: x ^ 1),
    "NotOfSigned": Row(
        "LOGICAL_NOT",
        "What is negative as a signed integer is false.",
        lambda y, x: x.view(f"i{x.dtype.itemsize}") <= 0,
    ),
    "NotOfLowBytes": Row(
        "LOGICAL_NOT", "UINT32 is looked at in its lowest byte.", lambda y, x: (x & 0xFF) == 0, types="uint32"
    ),
    "NanQuietOnly": Row("IS_NAN", "Signalling NaNs are none.", quiet_only),
    "NanPositiveOnly": Row("IS_NAN", "Negative NaNs are none.", lambda y, x: y & ~np.signbit(x)),
    "NanOfOnePattern": Row("IS_NAN", "Only the NaN that arithmetic gives is one.", one_pattern),
    "NanCountsInfinities": Row("IS_NAN", "Infinities are NaNs.", lambda y, x: ~np.isfinite(x)),
    "NanIs255": Row("IS_NAN", "True is 255.", lambda y, x: y.astype(np.uint8) * np.uint8(255)),
    "NanInverted": Row("IS_NAN", "Numbers are reported instead.", lambda y, x: ~y),
    "NanNever": Row("IS_NAN", "Nothing is a NaN, as fast arithmetic assumes.", lambda y, x: np.zeros_like(y)),
    "NanByLowBits": Row(
        "IS_NAN",
        "A NaN whose upper payload bits are 0 is an infinity.",
        lambda y, x: y & ((x.view(f"u{x.dtype.itemsize}") >> 4 & ((1 << (np.finfo(x.dtype).nmant - 4)) - 1)) != 0),
    ),
    "InfinityCountsNan": Row(
        "IS_INFINITY", "NaNs are infinite.", lambda y, x, mode: y | np.isnan(x), "either", bounds=True
    ),
    "InfinityCountsGreatest": Row(
        "IS_INFINITY",
        "The largest finite number is infinite.",
        lambda y, x, mode: y | (x == np.finfo(x.dtype).max),
        "either",
        bounds=True,
    ),
    "InfinityIs255": Row(
        "IS_INFINITY", "True is 255.", lambda y, x, mode: y.astype(np.uint8) * np.uint8(255), "either", bounds=True
    ),
    "InfinityPositiveOnly": Row(
        "IS_INFINITY",
        "EITHER overlooks negative infinity.",
        lambda y, x, mode: y & ((mode != "EITHER") | (x > 0)),
        "either",
        bounds=True,
    ),
    "InfinityModeIgnored": Row(
        "IS_INFINITY", "Every mode counts both.", lambda y, x, mode: np.isinf(x), "positive", bounds=True
    ),
    "InfinityModesExchanged": Row(
        "IS_INFINITY",
        "POSITIVE and NEGATIVE are exchanged.",
        lambda y, x, mode: y if mode == "EITHER" else np.isinf(x) & ~y,
        "positive",
        bounds=True,
    ),
    "InfinityNegativeIsEither": Row(
        "IS_INFINITY",
        "NEGATIVE counts both.",
        lambda y, x, mode: np.isinf(x) if mode == "NEGATIVE" else y,
        "negative",
        bounds=True,
    ),
    "InfinityNegativeNever": Row(
        "IS_INFINITY", "NEGATIVE counts nothing.", lambda y, x, mode: y & (mode != "NEGATIVE"), "negative", bounds=True
    ),
    "InfinityNegativeCountsLowest": Row(
        "IS_INFINITY",
        "NEGATIVE counts the lowest finite number.",
        lambda y, x, mode: y | ((mode == "NEGATIVE") & (x == np.finfo(x.dtype).min)),
        "negative",
        bounds=True,
    ),
    "InfinityPositiveCountsNan": Row(
        "IS_INFINITY",
        "POSITIVE counts NaNs without a sign.",
        lambda y, x, mode: y | ((mode == "POSITIVE") & np.isnan(x) & ~np.signbit(x)),
        "positive",
        bounds=True,
    ),
}

globals().update(made(__name__, ROWS))
