"""What the functions of the formulas mean, exactly: on members of value sets, on integers, on truth values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import (
    PRECISIONS,
    Datum,
    Enclosure,
    divided,
    infinity,
    negated,
    product_of,
    remainder_floored,
    remainder_truncated,
    sum_of,
)
from dmlcts.specs.arithmetic.value_sets import Arithmetic, Member

Floating = Callable[..., Iterable[Member]]
"""Of an :class:`Arithmetic` and members of its format: every member that the result may be."""

Integers = Callable[..., int | None]
"""Of an :class:`IntegerRange` and integers of it: the integer, not yet brought into the type; ``None``: any value."""

Compared = Callable[..., Iterable[bool]]
"""Of an :class:`Arithmetic` and members of its format: every truth value that the result may be."""
Enclosed = Callable[..., Enclosure | None]
"""Of numbers: bounds of the real result, which are equal where it is known; ``None`` where there is none.

``bits``, one of :data:`PRECISIONS`, asks for more of them than the first.
"""

FIRST = PRECISIONS[0]


@dataclass(frozen=True)
class Exact:
    """The exact meaning of a function, by what it is applied to; ``None`` where it has no meaning there.

    Attributes:
        floating: on members of a floating-point format.
        integers: on integers of a type.
        truth: on truth values.
        compared: on members of a floating-point format, to truth values.
        ordered: on two integers, to a truth value.
        real: the real result, for functions that an accuracy rule may be about.
    """

    floating: Floating | None = None
    integers: Integers | None = None
    truth: Callable[..., bool] | None = None
    compared: Compared | None = None
    ordered: Callable[..., bool] | None = None
    real: Enclosed | None = None


def _same(_: IntegerRange, a: int) -> int:
    return a


def rounding(to_integer: Callable[[Fraction], int]) -> Exact:
    """A function to whole numbers; integers are whole already."""

    def real(a: Datum, *, bits: int = FIRST) -> Enclosure:
        return _known(a if a.infinite else Datum(a.negative, Fraction(to_integer(a.fraction))))

    return Exact(floating=lambda arithmetic, a: arithmetic.whole(to_integer, a), integers=_same, real=real)


def _known(a: Datum) -> Enclosure:
    return Enclosure(a, a)


def _real(exact: Callable[..., Datum | None]) -> Enclosed:
    """A function whose real result is known exactly, where there is one."""

    def real(*operands: Datum, bits: int = FIRST) -> Enclosure | None:
        datum = exact(*operands)
        return None if datum is None else _known(datum)

    return real


def comparison(name: str) -> Exact:
    """A comparison; NaN is unordered, so that only "not equal" holds of it."""
    compare: Callable[[object, object], bool] = getattr(operator, name)

    def compared(arithmetic: Arithmetic, a: Member, b: Member) -> Iterable[bool]:
        return arithmetic.compared(compare, a, b, unordered=name == "ne")

    return Exact(compared=compared, ordered=compare)


def _class_of(
    nan: Iterable[bool], holds: Callable[[Arithmetic, int], bool], integer: Callable[[int], bool] = lambda a: False
) -> Exact:
    """What kind of number a member is; ``nan``: what it may be of a NaN, whose bits are not known."""

    def compared(arithmetic: Arithmetic, a: Member) -> Iterable[bool]:
        return nan if a is None else {holds(arithmetic, a)}

    return Exact(compared=compared, ordered=integer)


def _truncated_quotient(_: IntegerRange, a: int, b: int) -> int | None:
    if b == 0:
        return None
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(integers: IntegerRange, a: int, b: int) -> int | None:
    """Truncated; nothing follows for a divisor of zero, nor where the quotient leaves the type (MIN / -1)."""
    quotient = _truncated_quotient(integers, a, b)
    return quotient if quotient is not None and quotient in integers else None


def _truncated_remainder(integers: IntegerRange, a: int, b: int) -> int | None:
    quotient = _quotient(integers, a, b)
    return None if quotient is None else a - b * quotient


def _floored_remainder(integers: IntegerRange, a: int, b: int) -> int | None:
    return None if _quotient(integers, a, b) is None else a % b


def _shifted_left(integers: IntegerRange, a: int, count: int) -> int | None:
    return a << count if 0 <= count < integers.width else None


def _shifted_right(integers: IntegerRange, a: int, count: int) -> int | None:
    """A logical shift: zeros come in from above."""
    return integers.encode(a) >> count if 0 <= count < integers.width else None


def _bits(function: Callable[..., int]) -> Integers:
    return lambda integers, *operands: function(*(integers.encode(operand) for operand in operands))


def _real_reciprocal(a: Datum, *, bits: int = FIRST) -> Enclosure | None:
    quotient = divided(Datum(False, Fraction(1)), a)
    return None if quotient is None else _known(quotient)


def _real_root(a: Datum, *, bits: int = FIRST) -> Enclosure | None:
    if a.value < 0:
        return None
    if a.infinite or a.value == 0:
        return Enclosure(a, a)
    low, high = enclosed_root(a.fraction, bits)
    return Enclosure(Datum(False, low), Datum(False, high))


def enclosed_root(value: Fraction, bits: int = FIRST) -> tuple[Fraction, Fraction]:
    """Bounds of the square root of a number that is not negative, equal where so many bits write it exactly."""
    places = max(0, bits - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)  # behind the point
    root = math.isqrt((value.numerator << 2 * places) // value.denominator)
    low = Fraction(root, 1 << places)
    return (low, low) if low * low == value else (low, Fraction(root + 1, 1 << places))


_FAR = 1 << 12
"""Binary exponents of this magnitude are beyond those of FLOAT64, to both sides, with the first of PRECISIONS."""
_LOST = 20
"""Of the bits of a mantissa, how many mpmath's last operations may spoil."""


@cache
def _context(bits: int) -> Any:
    """Mpmath's arithmetic with so many bits, apart from that of others in the process; imported when it is needed."""
    import mpmath

    context = mpmath.mp.clone()
    context.prec = bits
    return context


def opaque(name: str) -> Exact:
    """A real function that only mpmath evaluates: its result to so many bits, with an error in the last 20 of them.

    At 0 it is known exactly. Elsewhere it is transcendental, so more bits separate it from any number that has few.
    """

    def real(*operands: Datum, bits: int = FIRST) -> Enclosure | None:
        context = _context(bits)
        numbers = [
            context.mpf(a.value) if a.infinite else context.mpf(a.fraction.numerator) / a.fraction.denominator
            for a in operands
        ]
        try:
            value = getattr(context, name)(*numbers)
        except ZeroDivisionError:  # a pole
            return None
        if not isinstance(value, context.mpf) or context.isnan(value):
            return None
        negative = value < 0
        if context.isinf(value):
            return _known(infinity(negative))
        mantissa, exponent = value.man_exp  # of the magnitude
        far = _FAR + bits - FIRST
        exponent = min(max(int(exponent), -far), far)  # beyond every format, however far
        size = Fraction(int(mantissa)) * Fraction(2) ** exponent
        if size == 0:
            return _known(Datum(operands[0].negative and operands[0].value == 0, size))
        if size == 1 and operands[0].value == 0:  # of exp and two cosines
            return _known(Datum(False, size))
        exact, error = -size if negative else size, size / (1 << bits - _LOST)
        return Enclosure(Datum(negative, exact - error), Datum(negative, exact + error))

    return Exact(floating=lambda arithmetic, *operands: arithmetic.enclosed(real, *operands), real=real)


_POWER = opaque("power")


_MOST_BITS = 1 << 9
"""A power of more bits than this lies on no edge: those are numbers of a format, or half way between two."""


def _exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """The power where it has few bits; ``None`` where it is no fraction of a power of two, or one of many bits.

    The base is a fraction of a power of two, as all numbers of formats are, and not 0; so is the exponent.
    """
    while exponent.denominator > 1:  # x^(k/2) is known where the root of x is
        if base < 0:
            return None
        root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
        if root * root != base:
            return None
        base, exponent = root, exponent * 2
    times = abs(exponent.numerator)
    if exponent < 0 and abs(base.numerator) & abs(base.numerator) - 1:
        return None
    if times * max(base.numerator.bit_length() - 1, base.denominator.bit_length() - 1) > _MOST_BITS:
        return None
    return base**exponent.numerator


def _real_power(a: Datum, b: Datum, *, bits: int = FIRST) -> Enclosure | None:
    """C's pow on numbers: zeros and infinities by their sign and the exponent's parity, and mpmath's power."""
    odd = not b.infinite and b.fraction.denominator == 1 and b.fraction.numerator % 2 == 1
    if b.value == 0 or a.value == 1:
        return _known(Datum(False, Fraction(1)))
    if a.value == 0 or a.infinite:
        negative = odd and a.negative
        vanishes = (a.value == 0) == (b.value > 0)
        return _known(Datum(negative, Fraction(0)) if vanishes else infinity(negative))
    if b.infinite:
        if a.value == -1:
            return _known(Datum(False, Fraction(1)))
        return _known(Datum(False, Fraction(0)) if (-1 < a.value < 1) == (b.value > 0) else infinity(False))
    exact = _exact_power(a.fraction, b.fraction)
    if exact is not None:
        return _known(Datum(exact < 0, exact))
    return None if _POWER.real is None else _POWER.real(a, b, bits=bits)


_ANGLE = opaque("atan2")


def _real_angle(a: Datum, b: Datum, *, bits: int = FIRST) -> Enclosure | None:
    """C's atan2 on numbers: zeros count by their sign, and infinities as points far out."""
    assert _ANGLE.real is not None, "opaque gives it"  # noqa: S101
    unity = Fraction(1)
    if a.infinite or b.infinite:
        far = [Datum(x.negative, (-unity if x.negative else unity) if x.infinite else Fraction(0)) for x in (a, b)]
        return _real_angle(*far, bits=bits)
    if a.value != 0:
        return _ANGLE.real(a, b, bits=bits)
    if not b.negative:
        return _known(Datum(a.negative, Fraction(0)))
    half_turn = _ANGLE.real(Datum(False, Fraction(0)), Datum(True, -unity), bits=bits)
    if half_turn is None or not a.negative:
        return half_turn
    return Enclosure(negated(half_turn.high), negated(half_turn.low))


def _whole_power(integers: IntegerRange, a: int, b: int) -> int | None:
    """The power, where it is an integer that fits the type; nothing follows for 0 to the power 0."""
    if b < 0 and abs(a) == 1:  # whose powers are integers all the same
        return -1 if a < 0 and b % 2 else 1
    if b < 0 or a == b == 0 or (abs(a) > 1 and b > integers.width):
        return None
    power = a**b
    return power if power in integers else None


def _ordered(a: Datum) -> tuple[Any, bool]:
    """What IEEE 754 orders numbers by: -0 is less than +0."""
    return a.value, not a.negative


MIN = Exact(
    floating=Arithmetic.minimum, integers=lambda _, a, b: min(a, b), real=_real(lambda a, b: min(a, b, key=_ordered))
)
MAX = Exact(
    floating=Arithmetic.maximum, integers=lambda _, a, b: max(a, b), real=_real(lambda a, b: max(a, b, key=_ordered))
)
ABS = Exact(
    floating=Arithmetic.absolute, integers=lambda _, a: abs(a), real=_real(lambda a: Datum(False, abs(a.value)))
)
NEG = Exact(floating=Arithmetic.negate, integers=lambda _, a: -a, real=_real(negated))
ADD = Exact(floating=Arithmetic.add, integers=lambda _, a, b: a + b, real=_real(sum_of))
SUBTRACT = Exact(
    floating=Arithmetic.subtract, integers=lambda _, a, b: a - b, real=_real(lambda a, b: sum_of(a, negated(b)))
)
DIFFERENCE = Exact(integers=lambda _, a, b: a - b, real=SUBTRACT.real)
MULTIPLY = Exact(floating=Arithmetic.multiply, integers=lambda _, a, b: a * b, real=_real(product_of))
DIVIDE = Exact(floating=Arithmetic.divide, integers=_quotient, real=_real(divided))
RECIP = Exact(floating=lambda arithmetic, a: arithmetic.enclosed(_real_reciprocal, a), real=_real_reciprocal)
MODULUS_TRUNCATE = Exact(
    floating=Arithmetic.remainder_truncated, integers=_truncated_remainder, real=_real(remainder_truncated)
)
MODULUS_FLOOR = Exact(floating=Arithmetic.remainder_floored, integers=_floored_remainder, real=_real(remainder_floored))
POW = Exact(
    floating=lambda arithmetic, a, b: arithmetic.enclosed(_real_power, a, b), integers=_whole_power, real=_real_power
)
ATAN_YX = Exact(floating=lambda arithmetic, a, b: arithmetic.enclosed(_real_angle, a, b), real=_real_angle)
SQRT = Exact(floating=lambda arithmetic, a: arithmetic.enclosed(_real_root, a), real=_real_root)

BIT_AND = Exact(integers=_bits(operator.and_))
BIT_OR = Exact(integers=_bits(operator.or_))
BIT_XOR = Exact(integers=_bits(operator.xor))
BIT_NOT = Exact(integers=lambda integers, a: ~a)
BIT_COUNT = Exact(integers=_bits(int.bit_count))
SHIFT_LEFT = Exact(integers=_shifted_left)
SHIFT_RIGHT = Exact(integers=_shifted_right)

IS_NAN = _class_of({True}, lambda arithmetic, a: False)
IS_INFINITE = _class_of({False}, lambda arithmetic, a: a & ~arithmetic.form.sign_bit == arithmetic.form.infinity)
IS_SUBNORMAL = _class_of({False}, lambda arithmetic, a: arithmetic.form.is_subnormal(a))
IS_NEGATIVE = _class_of({True, False}, lambda arithmetic, a: a & arithmetic.form.sign_bit != 0, lambda a: a < 0)

AND = Exact(truth=lambda a, b: a and b)
OR = Exact(truth=lambda a, b: a or b)
XOR = Exact(truth=lambda a, b: a != b)
NOT = Exact(truth=lambda a: not a)
