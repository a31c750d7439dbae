"""IF, CLIP_GRAD, CLIP_GRAD1 and CLIP1 computed wrongly."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.formulas import Array, larger, smaller, unsigned
from dmlcts.suites.mutants.making import Row, low_words, made

WIDE, LONG = "int32 uint32 int64 uint64", "int64 uint64"


def chosen(condition: Array, a: Array, b: Array) -> Array:
    """Patterns, chosen."""
    return np.where(condition, unsigned(a), unsigned(b)).view(a.dtype)


def blended(y: Array, condition: Array, a: Array, b: Array) -> Array:
    """Both multiplied by 1 or 0, and added."""
    weight = (condition != 0).astype(a.dtype)
    return a * weight + b * (a.dtype.type(1) - weight)


def through_floats(kind):
    """The chosen element converted to another type and back."""
    return lambda y, *xs: y.astype(kind).astype(y.dtype)


def unsigned_as_signed(compare):
    """Which elements of x lie on a side of a bound, compared as integers of the other sign."""
    return lambda x, bound: compare(x.view(f"i{x.dtype.itemsize}"), np.asarray(bound).view(f"i{x.dtype.itemsize}"))


def bits_as_number(bound: Array, x: Array) -> Array:
    """The number that a pattern is as an integer."""
    return np.atleast_1d(bound).view(np.uint16).astype(x.dtype)


def gradients(name: str, operator: str) -> dict[str, Row]:
    """Faults that CLIP_GRAD and CLIP_GRAD1 share."""

    def where(outside):
        return lambda y, x, g, low, high: np.where(outside(x, low, high), g.dtype.type(0), g)

    return {
        f"{name}ExcludesMin": Row(
            operator,
            "The gradient passes where x is Min.",
            where(lambda x, low, high: (x < low) | (x >= high)),
            bounds=True,
        ),
        f"{name}ExcludesMax": Row(
            operator,
            "The gradient passes where x is Max.",
            where(lambda x, low, high: (x <= low) | (x > high)),
            bounds=True,
        ),
        f"{name}OnlyMin": Row(operator, "Max is not looked at.", where(lambda x, low, high: x <= low), bounds=True),
        f"{name}OnlyMax": Row(operator, "Min is not looked at.", where(lambda x, low, high: x >= high), bounds=True),
        f"{name}NeedsBoth": Row(
            operator,
            "The gradient is 0 only where both bounds are reached.",
            where(lambda x, low, high: (x <= low) & (x >= high)),
            bounds=True,
        ),
        f"{name}Inverted": Row(
            operator,
            "The gradient passes outside the bounds.",
            where(lambda x, low, high: ~((x <= low) | (x >= high))),
            bounds=True,
        ),
        f"{name}Multiplies": Row(
            operator,
            "The gradient is multiplied by 1 or 0, so that infinities leave NaN.",
            lambda y, x, g, low, high: g * (~((x <= low) | (x >= high))).astype(g.dtype),
            types="float",
            bounds=True,
        ),
        f"{name}GivesX": Row(
            operator,
            "x is given in place of the gradient.",
            lambda y, x, g, low, high: np.where((x <= low) | (x >= high), x.dtype.type(0), x),
            bounds=True,
        ),
        f"{name}Clips": Row(
            operator,
            "The clipped x is given.",
            lambda y, x, g, low, high: larger(np.asarray(low), smaller(x, np.asarray(high))),
            bounds=True,
        ),
        f"{name}LooksAtGradient": Row(
            operator,
            "The gradient is compared with the bounds.",
            lambda y, x, g, low, high: np.where((g <= low) | (g >= high), g.dtype.type(0), g),
            bounds=True,
        ),
        f"{name}GivesOne": Row(
            operator,
            "1 is given where the gradient should pass.",
            lambda y, x, g, low, high: np.where((x <= low) | (x >= high), g.dtype.type(0), g.dtype.type(1)),
            bounds=True,
        ),
        f"{name}BoundsExchanged": Row(
            operator, "Min and Max are exchanged.", where(lambda x, low, high: (x <= high) | (x >= low)), bounds=True
        ),
        f"{name}UnsignedAsSigned": Row(
            operator,
            "Unsigned integers are compared as signed ones.",
            where(
                lambda x, low, high: (
                    unsigned_as_signed(np.less_equal)(x, low) | unsigned_as_signed(np.greater_equal)(x, high)
                )
            ),
            types="uint",
            bounds=True,
        ),
        f"{name}NanGivesTwo": Row(
            operator,
            "A NaN x gives 2.",
            lambda y, x, g, low, high: np.where(np.isnan(x), g.dtype.type(2), y),
            "nan",
            "float",
            bounds=True,
        ),
        f"{name}SubnormalDoubled": Row(
            operator,
            "A subnormal gradient is doubled where x is an ordinary number.",
            lambda y, x, g, low, high: np.where(
                (y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny) & (np.abs(x) >= np.finfo(x.dtype).tiny), y + y, y
            ),
            "subnormal",
            "float32",
            bounds=True,
        ),
    }


ROWS = {
    "IfOfOne": Row("IF", "Only a condition of 1 is true.", lambda y, c, a, b: chosen(c == 1, a, b)),
    "IfOfLowestBit": Row(
        "IF", "The condition's lowest bit is looked at.", lambda y, c, a, b: chosen((c & 1) != 0, a, b)
    ),
    "IfOfHighestBit": Row("IF", "The condition's highest bit is looked at.", lambda y, c, a, b: chosen(c >= 128, a, b)),
    "IfOfSigned": Row(
        "IF",
        "A condition is true where it is positive as a signed byte.",
        lambda y, c, a, b: chosen(c.view(np.int8) > 0, a, b),
    ),
    "IfExchanged": Row("IF", "The operands are exchanged.", lambda y, c, a, b: chosen(c == 0, a, b)),
    "IfGivesFirst": Row("IF", "The condition is not looked at.", lambda y, c, a, b: a),
    "IfMultiplies": Row(
        "IF",
        "Both operands are multiplied by 1 or 0 and added, so that NaN and infinities spread.",
        blended,
        types="float",
    ),
    "IfThroughFloat32": Row(
        "IF", "Wide elements pass through FLOAT32.", through_floats(np.float32), types=f"{WIDE} float64"
    ),
    "IfThroughFloat64": Row("IF", "64-bit integers pass through FLOAT64.", through_floats(np.float64), types=LONG),
    "IfOfLowWords": Row(
        "IF",
        "64-bit elements lose their upper words.",
        lambda y, c, a, b: low_words(y).astype(np.uint64).view(y.dtype),
        types="int64 uint64 float64",
    ),
    "IfFlushesFloat16": Row(
        "IF",
        "FLOAT16 subnormals become zeros.",
        lambda y, c, a, b: np.where(np.abs(y) < np.finfo(y.dtype).tiny, y.dtype.type(0), y),
        types="float16",
    ),
    "IfAddsOther": Row(
        "IF",
        "The other operand's lowest bit is mixed in.",
        lambda y, c, a, b: (unsigned(y) ^ (unsigned(chosen(c == 0, a, b)) & unsigned(y).dtype.type(1))).view(y.dtype),
    ),
    "IfNanGivesZero": Row(
        "IF",
        "A chosen NaN becomes 0.",
        lambda y, c, a, b: np.nan_to_num(y, nan=0, posinf=np.inf, neginf=-np.inf),
        "nan",
        "float",
    ),
    "IfSubnormalDoubled": Row(
        "IF",
        "A chosen subnormal number is doubled.",
        lambda y, c, a, b: np.where((y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny), y + y, y),
        "subnormal",
        "float32",
    ),
    **gradients("Gradient", "CLIP_GRAD"),
    **gradients("GradientOne", "CLIP_GRAD1"),
    "GradientOneBoundsInFloat32": Row(
        "CLIP_GRAD1",
        "The bounds of wide integers pass through FLOAT32.",
        lambda y, x, g, low, high: np.where(
            (x.astype(object) <= int(np.float32(low))) | (x.astype(object) >= int(np.float32(high))), g.dtype.type(0), g
        ),
        types=WIDE,
        bounds=True,
    ),
    "ClipOneMinWins": Row(
        "CLIP1",
        "Max wins over Min where they are inverted.",
        lambda y, x, low, high: smaller(larger(x, np.asarray(low)), np.asarray(high)),
        bounds=True,
    ),
    "ClipOneOnlyMin": Row(
        "CLIP1", "Max is not looked at.", lambda y, x, low, high: larger(x, np.asarray(low)), bounds=True
    ),
    "ClipOneOnlyMax": Row(
        "CLIP1", "Min is not looked at.", lambda y, x, low, high: smaller(x, np.asarray(high)), bounds=True
    ),
    "ClipOneBoundsExchanged": Row(
        "CLIP1",
        "Min and Max are exchanged.",
        lambda y, x, low, high: larger(smaller(x, np.asarray(low)), np.asarray(high)),
        bounds=True,
    ),
    "ClipOneUnsignedAsSigned": Row(
        "CLIP1",
        "Unsigned integers are compared as signed ones.",
        lambda y, x, low, high: np.maximum(
            np.asarray(low).view(f"i{x.dtype.itemsize}"),
            np.minimum(x.view(f"i{x.dtype.itemsize}"), np.asarray(high).view(f"i{x.dtype.itemsize}")),
        ).view(x.dtype),
        types="uint",
        bounds=True,
    ),
    "ClipOneInFloat32": Row(
        "CLIP1",
        "Wide integers are clamped in FLOAT32.",
        lambda y, x, low, high: (
            np.clip(x.astype(np.float32), np.float32(low), np.float32(high))
            .astype(np.float64)
            .clip(float(np.iinfo(x.dtype).min), np.nextafter(float(np.iinfo(x.dtype).max), 0))
            .astype(x.dtype)
        ),
        types=WIDE,
        bounds=True,
    ),
    "ClipOneLowWords": Row(
        "CLIP1",
        "64-bit integers are compared by their lower words.",
        lambda y, x, low, high: np.where(low_words(x) > low_words(np.atleast_1d(high)), high, x),
        types=LONG,
        bounds=True,
    ),
    "ClipOneMaximumExclusive": Row(
        "CLIP1",
        "Integers reach Max - 1 at most.",
        lambda y, x, low, high: np.where((y == high) & (high > low), y - y.dtype.type(1), y),
        types="integer",
        bounds=True,
    ),
    "ClipOneNanBoundGivesSeven": Row(
        "CLIP1",
        "A NaN bound gives 7.",
        lambda y, x, low, high: np.full_like(y, 7) if np.isnan(low) or np.isnan(high) else y,
        "nan.bound",
        "float",
        bounds=True,
    ),
    "ClipOneReadsNumbers": Row(
        "CLIP1",
        "The bounds of FLOAT16 are the integers that stand in UInt16.",
        lambda y, x, low, high: larger(bits_as_number(low, x), smaller(x, bits_as_number(high, x))),
        "float16",
        "float16",
        bounds=True,
    ),
    "ClipOneZeroGivesOne": Row(
        "CLIP1",
        "Negative zero gives 1 more.",
        lambda y, x, low, high: np.where((y == 0) & np.signbit(x) & (x == 0), y.dtype.type(1), y),
        "zero-sign",
        "float",
        bounds=True,
    ),
    "ClipOneSubnormalGivesTwo": Row(
        "CLIP1",
        "A subnormal result gives 2.",
        lambda y, x, low, high: np.where((y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny), y.dtype.type(2), y),
        "subnormal",
        "float32",
        bounds=True,
    ),
    "ClipOneFlushesFloat16": Row(
        "CLIP1",
        "FLOAT16 subnormals become zeros.",
        lambda y, x, low, high: np.where((y != 0) & (np.abs(y) < np.finfo(y.dtype).tiny), y.dtype.type(0), y),
        "subnormal.float16",
        "float16",
        bounds=True,
    ),
    "ClipOneNanGivesOne": Row(
        "CLIP1",
        "A NaN x gives half of Max.",
        lambda y, x, low, high: np.where(np.isnan(x), high / y.dtype.type(2), y),
        "nan.input",
        "float",
        bounds=True,
    ),
}

globals().update(made(__name__, ROWS))
