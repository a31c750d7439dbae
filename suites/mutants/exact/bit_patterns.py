"""BIT_AND, BIT_OR, BIT_XOR, BIT_NOT, BIT_COUNT and the shifts computed wrongly."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array, shifted, signed, unsigned
from dmlcts.suites.mutants.making import Row, made

LONG, FLOATS = "int64 uint64 float64", "float"


def quieted(y: Array, *xs: Array) -> Array:
    """NaN results become the one that arithmetic gives."""
    return np.where(np.isnan(y), y.dtype.type(np.nan), y)


def flushed(y: Array, *xs: Array) -> Array:
    """Subnormal results become zeros of their sign."""
    return np.where(np.abs(y) < np.finfo(y.dtype).tiny, np.copysign(y.dtype.type(0), y), y)


def low_word_only(y: Array, a: Array, *more: Array) -> Array:
    """The upper 32 bits are the first operand's."""
    kept = unsigned(a) & np.uint64(0xFFFFFFFF_00000000)
    return (kept | (unsigned(y) & np.uint64(0xFFFFFFFF))).view(y.dtype)


def signs_kept(y: Array, a: Array, *more: Array) -> Array:
    """The highest bit is the first operand's."""
    top = unsigned(y).dtype.type(1 << 8 * y.dtype.itemsize - 1)
    return ((unsigned(a) & top) | (unsigned(y) & ~top)).view(y.dtype)


def patterns(function):
    """Another function of the patterns."""
    return lambda y, *xs: np.asarray(function(*map(unsigned, xs))).view(y.dtype)


def width(x: Array) -> int:
    """How many bits an element has."""
    return 8 * x.dtype.itemsize


def masked(bits: int, *, left: bool):
    """A shift whose count is taken modulo 2^bits."""
    return lambda y, a, b: shifted(a, b & b.dtype.type((1 << bits) - 1), left=left)


def arithmetic(y: Array, a: Array, b: Array) -> Array:
    """Copies of the highest bit come in."""
    return np.where(
        b < width(a),
        signed(a) >> np.minimum(b, b.dtype.type(width(a) - 1)).view(signed(a).dtype),
        y.view(signed(a).dtype),
    ).view(a.dtype)


def rotated(left: bool):
    """Bits that leave come in again."""

    def shift(y: Array, a: Array, b: Array) -> Array:
        inside = (b > 0) & (b < width(a))
        back = (b.dtype.type(width(a)) - np.where(inside, b, 1)).astype(b.dtype)
        return np.where(inside, y | shifted(a, back, left=not left), y)

    return shift


def both(name: str, operator: str) -> dict[str, Row]:
    """Faults that each of the operators on two patterns may have."""
    return {
        f"{name}QuietsNans": Row(operator, "NaN results become the NaN that arithmetic gives.", quieted, types=FLOATS),
        f"{name}FlushesSubnormals": Row(operator, "Subnormal results become zeros.", flushed, types=FLOATS),
        f"{name}OfLowWords": Row(operator, "64-bit elements keep their upper words.", low_word_only, types=LONG),
        f"{name}KeepsSigns": Row(operator, "The sign is that of the first operand.", signs_kept, types="int float"),
    }


ROWS = {
    **both("BitAnd", "BIT_AND"),
    **both("BitOr", "BIT_OR"),
    **both("BitXor", "BIT_XOR"),
    **both("BitNot", "BIT_NOT"),
    "BitAndIsOr": Row("BIT_AND", "The bits that one of them has are given.", patterns(np.bitwise_or)),
    "BitAndIsLogical": Row(
        "BIT_AND", "1 where both are not 0.", patterns(lambda a, b: ((a != 0) & (b != 0)).astype(a.dtype))
    ),
    "BitAndNot": Row("BIT_AND", "The second operand's bits are cleared.", patterns(lambda a, b: a & ~b)),
    "BitOrIsXor": Row("BIT_OR", "Bits that both have are cleared.", patterns(np.bitwise_xor)),
    "BitOrIsAdd": Row("BIT_OR", "The patterns are added.", patterns(np.add)),
    "BitOrIsLogical": Row(
        "BIT_OR", "1 where one is not 0.", patterns(lambda a, b: ((a != 0) | (b != 0)).astype(a.dtype))
    ),
    "BitXorIsOr": Row("BIT_XOR", "Bits that both have are kept.", patterns(np.bitwise_or)),
    "BitXorInverted": Row("BIT_XOR", "The bits in which they agree are given.", patterns(lambda a, b: ~(a ^ b))),
    "BitXorIsDifference": Row("BIT_XOR", "The patterns are subtracted.", patterns(np.subtract)),
    "BitNotIsNegate": Row(
        "BIT_NOT", "The pattern is negated, as two's complement.", patterns(lambda x: ~x + x.dtype.type(1))
    ),
    "BitNotIsLogical": Row(
        "BIT_NOT", "1 where the pattern is 0, else 0.", patterns(lambda x: (x == 0).astype(x.dtype))
    ),
    "BitNotKeepsLowestBit": Row("BIT_NOT", "The lowest bit is kept.", patterns(lambda x: ~x ^ x.dtype.type(1))),
    "BitCountOfLowWords": Row(
        "BIT_COUNT",
        "The upper 32 bits of 64 are not counted.",
        lambda y, x: sum((unsigned(x) >> np.uint64(at)) & np.uint64(1) for at in range(32)),
        types=LONG,
    ),
    "BitCountOfZeros": Row("BIT_COUNT", "Zeros are counted.", lambda y, x: width(x) - y.astype(np.int64)),
    "BitCountWithoutSign": Row(
        "BIT_COUNT",
        "The highest bit is not counted.",
        lambda y, x: y.astype(np.int64) - (unsigned(x) >> unsigned(x).dtype.type(width(x) - 1)).astype(np.int64),
    ),
    "BitCountExtendsSigns": Row(
        "BIT_COUNT",
        "Narrow signed integers are extended to 32 bits first.",
        lambda y, x: y.astype(np.int64) + (x < 0) * (32 - width(x)),
        types="int8 int16",
    ),
    "BitCountOfValue": Row(
        "BIT_COUNT",
        "Floats are converted to integers first.",
        lambda y, x: sum(
            (np.nan_to_num(np.clip(x, -9, 9)).astype(np.int32).view(np.uint32) >> np.uint32(at)) & np.uint32(1)
            for at in range(32)
        ),
        types=FLOATS,
    ),
    "BitCountIsParity": Row(
        "BIT_COUNT", "Only whether the count is odd is given.", lambda y, x: y.astype(np.int64) & 1
    ),
    "BitCountOfBytes": Row(
        "BIT_COUNT",
        "Bytes that are not 0 are counted.",
        lambda y, x: sum(
            ((unsigned(x) >> unsigned(x).dtype.type(8 * at)) & unsigned(x).dtype.type(255)) != 0
            for at in range(x.dtype.itemsize)
        ),
    ),
    "BitCountOneTooMany": Row(
        "BIT_COUNT",
        "Every bit set gives one too many.",
        lambda y, x: y.astype(np.int64) + (y.astype(np.int64) == width(x)),
    ),
    "ShiftLeftIsRight": Row("BIT_SHIFT_LEFT", "Bits are moved down.", lambda y, a, b: shifted(a, b, left=False)),
    "ShiftLeftMasksToThreeBits": Row(
        "BIT_SHIFT_LEFT", "Counts are taken modulo 8.", masked(3, left=True), types="uint16 uint32 uint64"
    ),
    "ShiftLeftMasksToFourBits": Row(
        "BIT_SHIFT_LEFT", "Counts are taken modulo 16.", masked(4, left=True), types="uint32 uint64"
    ),
    "ShiftLeftMasksToFiveBits": Row(
        "BIT_SHIFT_LEFT", "Counts are taken modulo 32.", masked(5, left=True), types="uint64"
    ),
    "ShiftLeftRotates": Row("BIT_SHIFT_LEFT", "Bits that leave come in again.", rotated(True)),
    "ShiftLeftByOneLess": Row(
        "BIT_SHIFT_LEFT",
        "Counts above 1 are one too small.",
        lambda y, a, b: np.where(
            (b > 1) & (b < width(a)), shifted(a, np.maximum(b, 1) - b.dtype.type(1), left=True), y
        ),
    ),
    "ShiftLeftSwapped": Row(
        "BIT_SHIFT_LEFT", "The second operand is shifted by the first.", lambda y, a, b: shifted(b, a, left=True)
    ),
    "ShiftLeftKeepsHighestBit": Row(
        "BIT_SHIFT_LEFT",
        "The highest bit stays where it is.",
        lambda y, a, b: np.where(b < width(a), signs_kept(y, a), y),
    ),
    "ShiftLeftSaturates": Row(
        "BIT_SHIFT_LEFT",
        "Bits that leave make all bits set.",
        lambda y, a, b: np.where((b < width(a)) & (shifted(y, b, left=False) != a), ~y.dtype.type(0), y),
    ),
    "ShiftRightIsLeft": Row("BIT_SHIFT_RIGHT", "Bits are moved up.", lambda y, a, b: shifted(a, b, left=True)),
    "ShiftRightIsArithmetic": Row("BIT_SHIFT_RIGHT", "Copies of the highest bit come in.", arithmetic),
    "ShiftRightMasksToThreeBits": Row(
        "BIT_SHIFT_RIGHT", "Counts are taken modulo 8.", masked(3, left=False), types="uint16 uint32 uint64"
    ),
    "ShiftRightMasksToFourBits": Row(
        "BIT_SHIFT_RIGHT", "Counts are taken modulo 16.", masked(4, left=False), types="uint32 uint64"
    ),
    "ShiftRightMasksToFiveBits": Row(
        "BIT_SHIFT_RIGHT", "Counts are taken modulo 32.", masked(5, left=False), types="uint64"
    ),
    "ShiftRightRotates": Row("BIT_SHIFT_RIGHT", "Bits that leave come in again.", rotated(False)),
    "ShiftRightRounds": Row(
        "BIT_SHIFT_RIGHT",
        "The last bit that leaves is added.",
        lambda y, a, b: np.where(
            (b > 0) & (b < width(a)),
            y + (shifted(a, np.maximum(b, 1) - b.dtype.type(1), left=False) & a.dtype.type(1)),
            y,
        ),
    ),
    "ShiftRightSwapped": Row(
        "BIT_SHIFT_RIGHT", "The second operand is shifted by the first.", lambda y, a, b: shifted(b, a, left=False)
    ),
}

globals().update(made(__name__, ROWS))
