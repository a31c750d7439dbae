"""What the functions of the formulas mean in numpy: on arrays of the tensor's type, each with all it may give."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Alternatives, Array, Rounding, add_to_odd, vanishing

Floating = Callable[..., Alternatives]
"""Of a :class:`Rounding` and arrays of its type: every alternative for each element."""

Open = NDArray[np.bool_]
"""Where any value may come out."""


@dataclass(frozen=True)
class InArrays:
    """The vectorised meaning of a function, by what it is applied to; ``None`` where it has no meaning there.

    Attributes:
        floating: on arrays of a floating-point type.
        integers: on arrays of an integer type, modulo 2^bits; the second of a pair says where any value may come out.
        truth: on arrays of truth values.
        compared: on arrays of one type, to truth values.
        ufunc: the numpy function that gives one acceptable result, for floating-point and integer types; it is what
            the quick first comparison writes into scratch memory.
        kept: on integers the function gives its operand.
        real: the real result in FLOAT64, with a relative error of at most ``error``, for an accuracy rule.
        error: see ``real``; 0 where FLOAT64 rounds the real result to nearest.
    """

    floating: Floating | None = None
    integers: Callable[..., Array | tuple[Array, Open]] | None = None
    truth: Callable[..., Array] | None = None
    compared: Callable[..., Array] | None = None
    ufunc: Any = None
    kept: bool = False
    real: Callable[..., Array] | None = None
    error: float = 0.0


def _same(x: Array) -> Array:
    return x


def _only(function: Callable[..., Array]) -> Floating:
    return lambda _, *operands: [np.asarray(function(*operands))]


def whole(ufunc: Any) -> InArrays:
    """A function to whole numbers; integers are whole already."""
    return InArrays(
        floating=_only(ufunc), integers=_same, ufunc=ufunc if isinstance(ufunc, np.ufunc) else None, kept=True
    )


def plain(ufunc: Any) -> InArrays:
    """A function that numpy has, on every type."""
    return InArrays(floating=_only(ufunc), integers=ufunc, ufunc=ufunc)


def _rounded(exact: Callable[[Array, Array], Array], ufunc: Any) -> Floating:
    """An operation whose FLOAT32 result is found in FLOAT64 where it may be flushed for its tininess."""

    def applied(rounding: Rounding, a: Array, b: Array) -> Alternatives:
        if rounding.flushes:
            return rounding.to_float32(exact(a.astype(np.float64), b.astype(np.float64)))
        return [np.asarray(ufunc(a, b))]

    return applied


def round_half_away(x: Array) -> Array:
    """To the nearest whole number, halves away from zero.

    ``x`` is a floating-point array of any shape; the result has its type and shape.
    """
    below = np.trunc(x)
    up = np.abs(x - below) >= np.asarray(0.5, x.dtype)  # exact: x and trunc(x) are close, or the difference is 0
    return np.copysign(np.where(up, np.abs(below) + np.asarray(1, x.dtype), np.abs(below)), x)


def _extremum(smaller: bool) -> Floating:
    ufunc = np.minimum if smaller else np.maximum

    def extremum(rounding: Rounding, a: Array, b: Array) -> Alternatives:
        propagating = np.asarray(ufunc(a, b))
        if rounding.signed_zeros:
            propagating = _with_ordered_zeros(propagating, a, b, smaller)
        alternatives = [propagating]
        if rounding.ignores_nan and np.isnan(propagating).any():
            # not fmin and fmax: numpy's give NaN for signalling NaNs, depending on the array's length
            alternatives.append(np.where(np.isnan(a), b, np.where(np.isnan(b), a, propagating)))
        if rounding.flushes:
            alike = vanishing(a) & vanishing(b) & (a != b)
            if alike.any():  # a comparison that flushes its operands may select either
                alternatives += [np.where(alike, a, propagating), np.where(alike, b, propagating)]
        return alternatives

    return extremum


def _with_ordered_zeros(result: Array, a: Array, b: Array, smaller: bool) -> Array:
    """``result`` with IEEE 754-2019's zeros: where both operands are zero, -0 counts as less than +0."""
    both = np.asarray((a == 0) & (b == 0))
    if not both.any():
        return result
    negative = np.signbit(a) | np.signbit(b) if smaller else np.signbit(a) & np.signbit(b)
    zero = np.where(negative, np.asarray(-0.0, result.dtype), np.asarray(0.0, result.dtype))
    return np.where(both, zero, result)


def _least(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if np.issubdtype(dtype, np.signedinteger) else None


def _division(a: Array, b: Array) -> tuple[Array, Array, Open]:
    """Truncated quotients, remainders with the sign of ``a``, and where nothing follows: b = 0, and MIN / -1.

    There they are what implementations usually give: all ones of b = 0, and of MIN / -1 MIN and 0.
    """
    a, b = np.broadcast_arrays(a, b)
    least = _least(a.dtype)
    undefined = b == 0 if least is None else (b == 0) | ((a == least) & (b == -1))
    divisor = np.where(undefined, np.asarray(1, b.dtype), b)
    floored, rest = np.divmod(a, divisor)
    inward = (rest != 0) & ((a < 0) != (divisor < 0))  # floored away from zero
    quotient = floored + inward.astype(a.dtype)
    ones = np.asarray(-1).astype(a.dtype)
    rest = a - quotient * divisor
    return np.where(b == 0, ones, quotient), np.where(b == 0, ones, rest), np.asarray(undefined)


def _quotient(a: Array, b: Array) -> tuple[Array, Open]:
    quotient, _, undefined = _division(a, b)
    return quotient, undefined


def _remainder_truncated(a: Array, b: Array) -> tuple[Array, Open]:
    _, remainder, undefined = _division(a, b)
    return remainder, undefined


def _remainder_floored(a: Array, b: Array) -> tuple[Array, Open]:
    _, remainder, undefined = _division(a, b)
    other = ~undefined & (remainder != 0) & ((remainder < 0) != (b < 0))
    return remainder + np.where(other, b, np.zeros((), b.dtype)), undefined


def with_other_zeros(rounding: Rounding, b: Array) -> list[Array]:
    """An operand; with its other zeros where the sign of zero does not count: a divisor's give the other infinity.

    ``b`` is a floating-point array of any shape; each result has its type and shape.
    """
    zero = np.asarray(b == 0)
    return [b] if rounding.signed_zeros or not zero.any() else [b, np.where(zero, -b, b)]


def _floating_quotient(rounding: Rounding, a: Array, b: Array) -> Alternatives:
    alternatives: Alternatives = []
    for divisor in with_other_zeros(rounding, b):
        if rounding.flushes:  # 53 bits do for a quotient of 24
            alternatives += rounding.to_float32(a.astype(np.float64) / divisor.astype(np.float64))
        else:
            alternatives.append(np.asarray(a / divisor))
    return alternatives


def _floored_modulus(_: Rounding, a: Array, b: Array) -> Alternatives:
    """``a - b * floor(a / b)``: fmod is exact, and the one addition after it is rounded once."""
    a, b = np.broadcast_arrays(a, b)
    rest = np.fmod(a, b)
    other = (rest != 0) & (np.signbit(rest) != np.signbit(b)) & ~np.isnan(rest)
    return [np.where(other, rest + b, np.where(rest == 0, np.copysign(rest, b), rest))]


def _real_floored_modulus(a: Array, b: Array) -> Array:
    """The same in FLOAT64, its one addition rounded to odd; with an infinite divisor of the other sign that divisor."""
    rest = np.fmod(a, b)
    other = (rest != 0) & (np.signbit(rest) != np.signbit(b)) & ~np.isnan(rest)
    signed = np.where(rest == 0, np.copysign(rest, b), rest)
    return np.where(other, np.where(np.isinf(b), b, add_to_odd(signed, np.asarray(b))), signed)


def _root(rounding: Rounding, a: Array) -> Alternatives:
    return [np.asarray(np.sqrt(a))] if not rounding.flushes else rounding.to_float32(np.sqrt(a.astype(np.float64)))


def _shift(left: bool) -> Callable[[Array, Array], tuple[Array, Open]]:
    def shifted(a: Array, count: Array) -> tuple[Array, Open]:
        a, count = np.broadcast_arrays(a, count)
        width = 8 * a.dtype.itemsize
        beyond = (count < 0) | (count >= width) if np.issubdtype(count.dtype, np.signedinteger) else count >= width
        bits = np.dtype(f"u{a.dtype.itemsize}")
        places = np.where(beyond, 0, count).astype(bits)
        pattern = np.ascontiguousarray(a).view(bits)
        moved = pattern << places if left else pattern >> places
        return np.where(beyond, bits.type(0), moved).view(a.dtype), np.asarray(beyond)  # usually no bit is left

    return shifted


_EACH_BYTE = 0x0101_0101_0101_0101


def _bit_count(a: Array) -> Array:
    """Of pairs of bits, of fours, of bytes, and their sum in the highest byte of a product."""
    pattern = np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}")
    ones, threes, fifteens, each = (
        pattern.dtype.type(byte * (_EACH_BYTE >> 64 - 8 * a.dtype.itemsize)) for byte in (0x55, 0x33, 0x0F, 0x01)
    )
    count = pattern - ((pattern >> 1) & ones)
    count = (count & threes) + ((count >> 2) & threes)
    count = (count + (count >> 4)) & fifteens
    return np.asarray((count * each) >> 8 * (a.dtype.itemsize - 1)).astype(a.dtype)


def _on_floating(compared: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A class of floating-point numbers, which no integer belongs to."""
    return lambda a: compared(a) if np.issubdtype(a.dtype, np.floating) else np.zeros(a.shape, bool)


def _negative(a: Array) -> Array:
    return np.asarray(np.signbit(a) if np.issubdtype(a.dtype, np.floating) else a < 0)


def _subnormal(a: Array) -> Array:
    return np.asarray((a != 0) & (np.abs(a) < np.finfo(a.dtype).smallest_normal))


def opaque(ufunc: Any, error: float) -> InArrays:
    """A real function in FLOAT64 with a stated relative error."""

    def applied(rounding: Rounding, *operands: Array) -> Alternatives:
        alternatives: Alternatives = []
        for arguments in itertools.product(*(with_other_zeros(rounding, operand) for operand in operands)):
            value = np.asarray(ufunc(*(operand.astype(np.float64) for operand in arguments)))
            value = np.where(reduce(np.logical_or, map(np.isnan, arguments)), np.nan, value)
            for bound in (value * (1 - error), value * (1 + error)):
                alternatives += (
                    rounding.to_float32(bound) if rounding.flushes else [np.asarray(bound.astype(arguments[0].dtype))]
                )
        return alternatives

    return InArrays(floating=applied, real=ufunc, error=error)


FLOOR, CEIL, TRUNC, RINT = np.floor, np.ceil, np.trunc, np.rint
_ERF = np.frompyfunc(math.erf, 1, 1)
_PIECE = 1 << 16
_TINIEST = np.finfo(np.float64).smallest_subnormal


def _exponential(a: Array) -> Array:
    """No finite power is zero, though FLOAT64 has no number for it."""
    return np.where(np.isneginf(a), 0.0, np.maximum(np.exp(a), _TINIEST))


def _power(a: Array, b: Array) -> Array:
    """C's pow; where FLOAT64 has no number for a power that is not zero, one that every type takes for its least."""
    # C libraries give 1 of a quiet NaN to the power 0 and NaN of a signalling one, which FLOAT16 can keep when widened
    a, b = (np.where(np.isnan(operand), np.nan, operand) for operand in (a, b))
    # of a single exponent of 0.5 numpy makes a root, which of -0 is -0, and of -infinity a NaN
    a = np.where((b == 0.5) & ((a == 0) | np.isinf(a)), np.abs(a), a)
    power = np.power(a, b)
    lost = (power == 0) & (a != 0) & np.isfinite(a) & np.isfinite(b)
    return np.where(lost, np.copysign(_TINIEST, power), power)


_BEYOND = 64  # to this power, and to higher ones, every integer but -1, 0 and 1 leaves every type


def _whole_root(number: int, exponent: int) -> int:
    """The greatest integer whose power is not above ``number``, which has at most 64 bits."""
    least, beyond = 0, 1 << 1 + 64 // exponent
    while beyond - least > 1:
        middle = (least + beyond) // 2
        least, beyond = (middle, beyond) if middle**exponent <= number else (least, middle)
    return least


@cache
def _powers_within(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """By exponents from 0 to ``_BEYOND``: the least and the greatest element whose power the type holds."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    greatest = [most, *(_whole_root(most, exponent) for exponent in range(1, _BEYOND + 1))]
    # an odd power of a negative number is negative itself
    lowest = [_whole_root(-least if exponent % 2 else most, exponent) for exponent in range(1, _BEYOND + 1)]
    return np.array([least, *(-root if least else 0 for root in lowest)], dtype), np.array(greatest, dtype)


def _whole_power(a: Array, b: Array) -> tuple[Array, Open]:
    """The power where it is an integer that fits the type; elsewhere, and of two zeros, any value.

    Where any may come out it is what implementations usually give: the power modulo 2^bits, and 0 of a fraction.
    """
    a, b = np.broadcast_arrays(a, b)
    negative = b < 0
    unit = (a == 1) | ((a < 0) & (~a == 0))  # whose powers with negative exponents are integers all the same
    usual = np.where(negative, b & 1, b)
    # Modulo 2^bits odd numbers have their powers again after so many exponents; those of even ones are 0 from then on.
    period = 1 << 8 * a.dtype.itemsize - 2
    if np.iinfo(b.dtype).max > np.iinfo(a.dtype).max:
        usual = np.where(usual < period, usual, usual & (period - 1) | period)
    with np.errstate(all="ignore"):
        powers = np.power(a, usual.astype(a.dtype))
    lowest, greatest = _powers_within(a.dtype)
    exponent = np.clip(b, 0, _BEYOND).astype(np.intp)
    fraction = negative & ~unit
    undefined = fraction | ((a == 0) & (b == 0)) | (a < lowest[exponent]) | (a > greatest[exponent])
    return np.where(fraction, np.zeros((), a.dtype), powers), undefined


def _error_function(a: Array) -> Array:
    """Python's, which numpy has not; in pieces, whose results pass through Python's own numbers."""
    flat = np.asarray(a, np.float64).reshape(-1)
    values = np.empty_like(flat)
    for start in range(0, flat.size, _PIECE):
        values[start : start + _PIECE] = _ERF(flat[start : start + _PIECE])
    return values.reshape(np.shape(a))


REAL_FUNCTIONS: tuple[tuple[str, str, Any], ...] = (
    ("exp", "e to its power", _exponential),
    ("erf", "the error function", _error_function),
    ("log", "the natural logarithm", np.log),
    ("sin", "the sine", np.sin),
    ("cos", "the cosine", np.cos),
    ("tan", "the tangent", np.tan),
    ("asin", "the arc sine", np.arcsin),
    ("acos", "the arc cosine", np.arccos),
    ("atan", "the arc tangent", np.arctan),
    ("sinh", "the hyperbolic sine", np.sinh),
    ("cosh", "the hyperbolic cosine", np.cosh),
    ("tanh", "the hyperbolic tangent", np.tanh),
    ("asinh", "the inverse hyperbolic sine", np.arcsinh),
    ("acosh", "the inverse hyperbolic cosine", np.arccosh),
    ("atanh", "the inverse hyperbolic tangent", np.arctanh),
)
"""The real functions that no rational arithmetic gives, by the names that mpmath has for them."""

MIN = InArrays(floating=_extremum(smaller=True), integers=np.minimum, ufunc=np.minimum)
MAX = InArrays(floating=_extremum(smaller=False), integers=np.maximum, ufunc=np.maximum)
ABS, NEG = plain(np.abs), plain(np.negative)
ADD = replace(plain(np.add), real=add_to_odd)
SUBTRACT = replace(plain(np.subtract), real=lambda a, b: add_to_odd(a, -b))
DIFFERENCE = InArrays(integers=np.subtract, ufunc=np.subtract, real=SUBTRACT.real)
MULTIPLY = InArrays(
    floating=_rounded(np.multiply, np.multiply), integers=np.multiply, ufunc=np.multiply, real=np.multiply
)  # a sum of FLOAT32 is never tiny and inexact, so that only products need it
DIVIDE = InArrays(floating=_floating_quotient, integers=_quotient, real=np.divide)
MODULUS_TRUNCATE = InArrays(floating=_only(np.fmod), integers=_remainder_truncated, real=np.fmod)
MODULUS_FLOOR = InArrays(floating=_floored_modulus, integers=_remainder_floored, real=_real_floored_modulus)
POW = replace(opaque(_power, 2.0**-48), integers=_whole_power)
ATAN_YX = opaque(np.arctan2, 2.0**-48)
RECIP = InArrays(floating=lambda rounding, a: _floating_quotient(rounding, np.ones((), a.dtype), a), real=np.reciprocal)
SQRT = InArrays(floating=_root, real=np.sqrt)

BIT_AND, BIT_OR, BIT_XOR = (InArrays(integers=ufunc) for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor))
BIT_NOT, BIT_COUNT = InArrays(integers=np.invert), InArrays(integers=_bit_count)
SHIFT_LEFT, SHIFT_RIGHT = InArrays(integers=_shift(left=True)), InArrays(integers=_shift(left=False))

IS_NAN, IS_INFINITE = InArrays(compared=_on_floating(np.isnan)), InArrays(compared=_on_floating(np.isinf))
IS_SUBNORMAL, IS_NEGATIVE = InArrays(compared=_on_floating(_subnormal)), InArrays(compared=_negative)

AND, OR, XOR = (InArrays(truth=ufunc) for ufunc in (np.logical_and, np.logical_or, np.logical_xor))
NOT = InArrays(truth=np.logical_not)
EQ, NE, LT, LE, GT, GE = (
    InArrays(compared=ufunc) for ufunc in (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)
