"""ADD, SUBTRACT, MULTIPLY, MEAN, DIFFERENCE_SQUARE, MAX and MIN computed wrongly."""

from __future__ import annotations

import operator

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import (
    Row,
    as_other_sign,
    exact_of,
    high_words,
    in_halves,
    low_words,
    made,
    outside,
    through,
)

WIDE, LONG = "int32 uint32 int64 uint64", "int64 uint64"
NUMBERS = {"ADD": operator.add, "SUBTRACT": operator.sub, "MULTIPLY": operator.mul}


def zero_beyond(function):
    """0 where the exact result lies outside the type."""
    return lambda y, a, b: np.where(outside(exact_of(function, a, b), y.dtype), y.dtype.type(0), y)


def one_off_beyond(function):
    """One more than the wrapped result where the exact one lies outside the type, as with an end-around carry."""
    return lambda y, a, b: y + outside(exact_of(function, a, b), y.dtype).astype(y.dtype)


def words_apart(function):
    """Each word of a 64-bit integer by itself: no carry from the lower to the upper."""

    def computed(y: Array, a: Array, b: Array) -> Array:
        low = function(low_words(a), low_words(b)).astype(np.uint64)
        high = function(high_words(a).view(np.uint32), high_words(b).view(np.uint32)).astype(np.uint64)
        return (low | (high << np.uint64(32))).view(y.dtype)

    return computed


def sign_extended_24(x: Array) -> Array:
    """The lower 24 bits, as the multipliers of GPUs take them."""
    return x & x.dtype.type(0xFFFFFF)


def saturating_at_signed(function):
    """Unsigned results beyond the signed limit become that limit."""
    return lambda y, a, b: np.where(
        exact_of(function, a, b) > int(np.iinfo(y.dtype).max), np.iinfo(y.dtype).max // 2, y
    )


ROWS = {
    "AddGivesFirst": Row("ADD", "The second operand is not added.", lambda y, a, b: a),
    "AddGivesSecond": Row("ADD", "The first operand is not added.", lambda y, a, b: b),
    "AddIsOr": Row("ADD", "The operands' bits are combined, without carries.", lambda y, a, b: a | b, types="integer"),
    "AddLosesCarryBetweenWords": Row(
        "ADD", "64-bit integers are added in words, without the carry between them.", words_apart(np.add), types=LONG
    ),
    "AddInFloat32": Row("ADD", "Wide integers are added in FLOAT32.", through(np.float32, np.add), types=WIDE),
    "AddInFloat64": Row("ADD", "64-bit integers are added in FLOAT64.", through(np.float64, np.add), types=LONG),
    "AddOfLowWords": Row(
        "ADD",
        "64-bit integers are added by their lower 32 bits.",
        lambda y, a, b: (low_words(a) + low_words(b)).astype(y.dtype),
        types=LONG,
    ),
    "AddRoundsUpOddPairs": Row(
        "ADD",
        "One too many where both operands are odd.",
        lambda y, a, b: y + (a & b & y.dtype.type(1)),
        types="integer",
    ),
    "AddOverflowGivesZero": Row(
        "ADD", "A sum outside the type becomes 0.", zero_beyond(operator.add), "overflow", "integer"
    ),
    "AddOverflowCarriesAround": Row(
        "ADD",
        "The carry out of the highest bit is added to the lowest.",
        one_off_beyond(operator.add),
        "overflow",
        "integer",
    ),
    "AddSaturatesAtSignedMaximum": Row(
        "ADD",
        "Unsigned sums beyond the type become the signed maximum.",
        saturating_at_signed(operator.add),
        "overflow",
        "uint",
    ),
    "SubtractReversed": Row(
        "SUBTRACT", "The first operand is taken from the second.", lambda y, a, b: b - a, types="integer"
    ),
    "SubtractGivesDistance": Row(
        "SUBTRACT", "The difference has no sign.", lambda y, a, b: np.where(a < b, b - a, a - b), types="integer"
    ),
    "SubtractLosesBorrow": Row(
        "SUBTRACT",
        "64-bit integers are subtracted in words, without the borrow between them.",
        words_apart(np.subtract),
        types=LONG,
    ),
    "SubtractInFloat32": Row(
        "SUBTRACT", "Wide integers are subtracted in FLOAT32.", through(np.float32, np.subtract), types=WIDE
    ),
    "SubtractInFloat64": Row(
        "SUBTRACT", "64-bit integers are subtracted in FLOAT64.", through(np.float64, np.subtract), types=LONG
    ),
    "SubtractIsXor": Row(
        "SUBTRACT", "The operands' bits are compared, without borrows.", lambda y, a, b: a ^ b, types="integer"
    ),
    "SubtractAddsComplement": Row(
        "SUBTRACT", "The complement is added without its one.", lambda y, a, b: y - y.dtype.type(1), types="integer"
    ),
    "SubtractOverflowGivesOne": Row(
        "SUBTRACT",
        "A difference outside the type becomes 1.",
        lambda y, a, b: np.where(outside(exact_of(operator.sub, a, b), y.dtype), 1, y),
        "overflow",
        "integer",
    ),
    "SubtractOverflowCarriesAround": Row(
        "SUBTRACT",
        "The borrow out of the highest bit is added to the lowest.",
        one_off_beyond(operator.sub),
        "overflow",
        "integer",
    ),
    "MultiplyIn24Bits": Row(
        "MULTIPLY",
        "32-bit integers are multiplied by their lower 24 bits.",
        lambda y, a, b: sign_extended_24(a) * sign_extended_24(b),
        types="int32 uint32",
    ),
    "MultiplyInFloat32": Row(
        "MULTIPLY", "Wide integers are multiplied in FLOAT32.", through(np.float32, np.multiply), types=WIDE
    ),
    "MultiplyInFloat64": Row(
        "MULTIPLY", "64-bit integers are multiplied in FLOAT64.", through(np.float64, np.multiply), types=LONG
    ),
    "MultiplyLowWords": Row(
        "MULTIPLY",
        "64-bit integers are multiplied by their lower 32 bits.",
        lambda y, a, b: (low_words(a).astype(np.uint64) * low_words(b)).view(y.dtype),
        types=LONG,
    ),
    "MultiplyLosesSign": Row("MULTIPLY", "The product has no sign.", lambda y, a, b: np.abs(y), types="int"),
    "MultiplySquaresFirst": Row("MULTIPLY", "The first operand is squared.", lambda y, a, b: a * a, types="integer"),
    "MultiplyIn16Bits": Row(
        "MULTIPLY",
        "32-bit integers are multiplied by their lower 16 bits.",
        lambda y, a, b: (a & y.dtype.type(0xFFFF)) * (b & y.dtype.type(0xFFFF)),
        types="int32 uint32",
    ),
    "MultiplyOverflowGivesZero": Row(
        "MULTIPLY", "A product outside the type becomes 0.", zero_beyond(operator.mul), "overflow", "integer"
    ),
    "MultiplyOverflowOneTooMany": Row(
        "MULTIPLY", "A product outside the type is one too large.", one_off_beyond(operator.mul), "overflow", "integer"
    ),
    "MeanHalvesEach": Row(
        "MEAN",
        "Each operand is halved before they are added.",
        lambda y, a, b: a // y.dtype.type(2) + b // y.dtype.type(2),
        "half",
        "integer",
    ),
    "MeanIsTheSum": Row("MEAN", "The sum is not halved.", lambda y, a, b: a + b, types="integer"),
    "MeanGivesFirst": Row("MEAN", "The second operand is left out.", lambda y, a, b: a, types="integer"),
    "MeanRoundsUp": Row(
        "MEAN", "Half of an odd sum is rounded up.", lambda y, a, b: y + ((a ^ b) & y.dtype.type(1)), "half", "integer"
    ),
    "MeanInFloat32": Row(
        "MEAN", "Integers are averaged in FLOAT32.", through(np.float32, lambda a, b: (a + b) / 2), types="integer"
    ),
    "MeanHalvesSecond": Row(
        "MEAN", "Only the second operand is halved.", lambda y, a, b: a + b // y.dtype.type(2), types="integer"
    ),
    "DifferenceSquareNotSquared": Row(
        "DIFFERENCE_SQUARE",
        "The distance is not squared.",
        lambda y, a, b: np.where(a < b, b - a, a - b),
        types="integer",
    ),
    "DifferenceOfSquares": Row(
        "DIFFERENCE_SQUARE", "The squares are subtracted.", lambda y, a, b: a * a - b * b, types="integer"
    ),
    "SumSquared": Row("DIFFERENCE_SQUARE", "The sum is squared.", lambda y, a, b: (a + b) * (a + b), types="integer"),
    "DifferenceSquareInFloat32": Row(
        "DIFFERENCE_SQUARE",
        "Integers are computed in FLOAT32.",
        through(np.float32, lambda a, b: (a - b) * (a - b)),
        types="integer",
    ),
    "DifferenceSquareOverflowGivesZero": Row(
        "DIFFERENCE_SQUARE",
        "A square outside the type becomes 7.",
        lambda y, a, b: np.where(outside(exact_of(lambda p, q: (p - q) ** 2, a, b), y.dtype), 7, y),
        "overflow",
        "integer",
    ),
    "MaxIsMin": Row("MAX", "The smaller one is given.", lambda y, a, b: np.where(a < b, a, b)),
    "MaxGivesFirst": Row("MAX", "The first operand is given.", lambda y, a, b: a),
    "MaxUnsignedAsSigned": Row(
        "MAX", "Unsigned integers are compared as signed ones.", as_other_sign(np.maximum), types="uint"
    ),
    "MaxSignedAsUnsigned": Row(
        "MAX", "Signed integers are compared as unsigned ones.", as_other_sign(np.maximum), types="int"
    ),
    "MaxByLowWords": Row(
        "MAX",
        "64-bit integers are compared by their lower 32 bits.",
        lambda y, a, b: np.where(low_words(a) > low_words(b), a, b),
        types=LONG,
        modelled_on="onnxruntime 1.31.1, Max of INT64 on x86-64",
    ),
    "MaxByHighWords": Row(
        "MAX",
        "64-bit integers are compared by their upper 32 bits.",
        lambda y, a, b: np.where(high_words(a) > high_words(b), a, b),
        types=LONG,
    ),
    "MaxInHalves": Row(
        "MAX",
        "The lower words of 64-bit integers are compared as signed.",
        lambda y, a, b: np.where(in_halves(np.greater)(y, a, b), a, b),
        types=LONG,
    ),
    "MaxInFloat32": Row(
        "MAX",
        "Wide integers are compared in FLOAT32.",
        lambda y, a, b: np.where(a.astype(np.float32) > b.astype(np.float32), a, b),
        types=WIDE,
    ),
    "MaxInFloat64": Row(
        "MAX",
        "64-bit integers are compared in FLOAT64.",
        lambda y, a, b: np.where(a.astype(np.float64) > b.astype(np.float64), a, b),
        types=LONG,
    ),
    "MaxByMagnitude": Row(
        "MAX", "Magnitudes are compared.", lambda y, a, b: np.where(np.abs(a) > np.abs(b), a, b), types="int float"
    ),
    "MaxOfFloatsAsIntegers": Row(
        "MAX",
        "Floats are compared by their patterns as integers.",
        lambda y, a, b: np.where(a.view(f"i{a.dtype.itemsize}") > b.view(f"i{b.dtype.itemsize}"), a, b),
        types="float",
    ),
    "MaxNanGivesZero": Row(
        "MAX",
        "A NaN operand gives 0.",
        lambda y, a, b: np.where(np.isnan(a) | np.isnan(b), y.dtype.type(0), y),
        "nan",
        "float",
    ),
    "MaxOfNansIsInfinite": Row(
        "MAX",
        "Two NaNs give infinity.",
        lambda y, a, b: np.where(np.isnan(a) & np.isnan(b), np.inf, y).astype(y.dtype),
        types="float",
    ),
    "MaxOfZerosIsOne": Row(
        "MAX",
        "Zeros of different signs give 1.",
        lambda y, a, b: np.where((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)), 1, y),
        "zero-sign",
        "float",
    ),
    "MaxOfSubnormalsIsNormal": Row(
        "MAX",
        "A subnormal result becomes the smallest normal number.",
        lambda y, a, b: np.where((y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny), np.finfo(y.dtype).tiny, y),
        "subnormal",
        "float32",
    ),
    "MinIsMax": Row("MIN", "The larger one is given.", lambda y, a, b: np.where(a > b, a, b)),
    "MinGivesSecond": Row("MIN", "The second operand is given.", lambda y, a, b: b),
    "MinUnsignedAsSigned": Row(
        "MIN", "Unsigned integers are compared as signed ones.", as_other_sign(np.minimum), types="uint"
    ),
    "MinSignedAsUnsigned": Row(
        "MIN", "Signed integers are compared as unsigned ones.", as_other_sign(np.minimum), types="int"
    ),
    "MinByLowWords": Row(
        "MIN",
        "64-bit integers are compared by their lower 32 bits.",
        lambda y, a, b: np.where(low_words(a) < low_words(b), a, b),
        types=LONG,
        modelled_on="onnxruntime 1.31.1, Min of INT64 on x86-64",
    ),
    "MinInHalves": Row(
        "MIN",
        "The lower words of 64-bit integers are compared as signed.",
        lambda y, a, b: np.where(in_halves(np.less)(y, a, b), a, b),
        types=LONG,
    ),
    "MinInFloat32": Row(
        "MIN",
        "Wide integers are compared in FLOAT32.",
        lambda y, a, b: np.where(a.astype(np.float32) < b.astype(np.float32), a, b),
        types=WIDE,
    ),
    "MinInFloat64": Row(
        "MIN",
        "64-bit integers are compared in FLOAT64.",
        lambda y, a, b: np.where(a.astype(np.float64) < b.astype(np.float64), a, b),
        types=LONG,
    ),
    "MinOfFloatsAsIntegers": Row(
        "MIN",
        "Floats are compared by their patterns as integers.",
        lambda y, a, b: np.where(a.view(f"i{a.dtype.itemsize}") < b.view(f"i{b.dtype.itemsize}"), a, b),
        types="float",
    ),
    "MinNanGivesLowest": Row(
        "MIN",
        "A NaN operand gives negative infinity.",
        lambda y, a, b: np.where(np.isnan(a) | np.isnan(b), -np.inf, y).astype(y.dtype),
        "nan",
        "float",
    ),
    "MinOfZerosIsTiny": Row(
        "MIN",
        "Zeros of different signs give -1.",
        lambda y, a, b: np.where((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)), -1, y),
        "zero-sign",
        "float",
    ),
    "MinOfSubnormalsIsNormal": Row(
        "MIN",
        "A subnormal result becomes the smallest normal number.",
        lambda y, a, b: np.where((y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny), np.finfo(y.dtype).tiny, y),
        "subnormal",
        "float32",
    ),
}

globals().update(made(__name__, ROWS))
