"""The five comparisons computed wrongly, each fault on each of them."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import Row, as_other_sign, high_words, in_halves, low_words, made

WIDE, LONG = "int32 uint32 int64 uint64", "int64 uint64"
NAMES = {
    "Equals": ("LOGICAL_EQUALS", np.equal, np.not_equal),
    "Greater": ("LOGICAL_GREATER_THAN", np.greater, np.greater_equal),
    "Less": ("LOGICAL_LESS_THAN", np.less, np.less_equal),
    "GreaterOrEqual": ("LOGICAL_GREATER_THAN_OR_EQUAL", np.greater_equal, np.greater),
    "LessOrEqual": ("LOGICAL_LESS_THAN_OR_EQUAL", np.less_equal, np.less),
}


def as_integers(compare):
    """Patterns of floats compared as integers, which reverses the order of negative ones."""
    return lambda y, a, b: compare(a.view(f"i{a.dtype.itemsize}"), b.view(f"i{b.dtype.itemsize}"))


def zeros_apart(compare):
    """Zeros of different signs compared by their signs."""

    def compared(y: Array, a: Array, b: Array) -> Array:
        zeros = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        return np.where(zeros, compare(np.signbit(b).astype(int), np.signbit(a).astype(int)), y)

    return compared


def nearly(compare):
    """Floats that are neighbours count as equal."""

    def compared(y: Array, a: Array, b: Array) -> Array:
        close = (np.nextafter(a, b) == b) & np.isfinite(a) & np.isfinite(b)
        return np.where(close, compare(a, a), y)

    return compared


def rows_of(name: str, operator: str, compare, other) -> dict[str, Row]:
    """The faults of one comparison."""
    bitwise = name == "Equals"  # the same whatever the sign of the integers, and by halves too
    rows = {
        "Is255": Row(operator, "True is 255.", lambda y, a, b: y.astype(np.uint8) * np.uint8(255)),
        "IsMinusOne": Row(operator, "True is all bits.", lambda y, a, b: -y.astype(np.int32)),
        "IsTwo": Row(operator, "True is 2.", lambda y, a, b: y.astype(np.uint8) * np.uint8(2)),
        "Bound": Row(operator, "Equal operands are taken for the other side.", lambda y, a, b: other(a, b)),
        "LowWords": Row(
            operator,
            "64-bit integers are compared by their lower 32 bits.",
            lambda y, a, b: compare(low_words(a), low_words(b)),
            types=LONG,
        ),
        "HighWords": Row(
            operator,
            "64-bit integers are compared by their upper 32 bits.",
            lambda y, a, b: compare(high_words(a), high_words(b)),
            types=LONG,
        ),
        "InFloat32": Row(
            operator,
            "Wide integers are compared in FLOAT32.",
            lambda y, a, b: compare(a.astype(np.float32), b.astype(np.float32)),
            types=WIDE,
        ),
        "InFloat64": Row(
            operator,
            "64-bit integers are compared in FLOAT64.",
            lambda y, a, b: compare(a.astype(np.float64), b.astype(np.float64)),
            types=LONG,
        ),
        "LowBytes": Row(
            operator,
            "16-bit elements are compared by their lower bytes.",
            lambda y, a, b: compare(a.view(np.uint16) & 0xFF, b.view(np.uint16) & 0xFF),
            types="int16 uint16",
        ),
        "Neighbours": Row(operator, "Neighbouring floats count as equal.", nearly(compare), types="float"),
        "ZerosApart": Row(operator, "-0 and +0 are distinguished.", zeros_apart(compare), "zeros", "float"),
        "NanIsTwo": Row(
            operator,
            "A comparison with NaN gives 2.",
            lambda y, a, b: np.where(np.isnan(a) | np.isnan(b), 2, y),
            "nan",
            "float",
        ),
        "NanHolds": Row(
            operator,
            "A comparison with NaN holds, as one made of the negated opposite does.",
            lambda y, a, b: np.where(np.isnan(a) | np.isnan(b), 1, y),
            "nan",
            "float",
        ),
        "SubnormalIsThree": Row(
            operator,
            "A comparison with a subnormal number gives 3.",
            lambda y, a, b: np.where(
                (np.abs(np.where(a == 0, 1, a)) < np.finfo(a.dtype).tiny)
                | (np.abs(np.where(b == 0, 1, b)) < np.finfo(b.dtype).tiny),
                3,
                y,
            ),
            "subnormal",
            "float32",
        ),
        "FirstBit": Row(
            operator,
            "Float16 is compared without its lowest bit.",
            lambda y, a, b: compare(
                (a.view(np.uint16) & 0xFFFE).view(np.float16), (b.view(np.uint16) & 0xFFFE).view(np.float16)
            ),
            types="float16",
        ),
    }
    if not bitwise:
        rows |= {
            "Reversed": Row(operator, "The operands are exchanged.", lambda y, a, b: compare(b, a)),
            "OtherSign": Row(
                operator, "Unsigned integers are compared as signed ones.", as_other_sign(compare), types="uint"
            ),
            "AsUnsigned": Row(
                operator, "Signed integers are compared as unsigned ones.", as_other_sign(compare), types="int"
            ),
            "InHalves": Row(
                operator, "The lower words of 64-bit integers are compared as signed.", in_halves(compare), types=LONG
            ),
            "AsIntegers": Row(
                operator, "Floats are compared by their patterns as integers.", as_integers(compare), types="float"
            ),
            "ByDifference": Row(
                operator,
                "The sign of the wrapped difference is taken.",
                lambda y, a, b: compare(a - b, a.dtype.type(0)),
                types="int",
            ),
            "Magnitudes": Row(
                operator, "Magnitudes are compared.", lambda y, a, b: compare(np.abs(a), np.abs(b)), types="int float"
            ),
        }
    else:
        rows |= {
            "Patterns": Row(
                operator,
                "Floats are compared by their patterns.",
                lambda y, a, b: a.view(f"u{a.dtype.itemsize}") == b.view(f"u{b.dtype.itemsize}"),
                "zeros",
                "float",
            ),
            "Always": Row(operator, "Everything is equal.", lambda y, a, b: np.ones_like(y)),
        }
    return {f"{name}{fault}": row for fault, row in rows.items()}


ROWS = {fault: row for name, parts in NAMES.items() for fault, row in rows_of(name, *parts).items()}

globals().update(made(__name__, ROWS))
