"""Real numbers with signed zeros and infinities, and the exact operations of IEEE 754 on them.

This is the exact oracle's ground: no floating-point arithmetic decides anything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple


class Datum(NamedTuple):
    """A number that is not a NaN: its sign, which a zero has too, and its exact value.

    ``value`` is a ``Fraction``, or the float ``math.inf`` or ``-math.inf``, which compare correctly with it.
    """

    negative: bool
    value: Fraction | float

    @property
    def infinite(self) -> bool:
        """Whether this is an infinity."""
        return isinstance(self.value, float)

    @property
    def fraction(self) -> Fraction:
        """The value of a finite number."""
        assert isinstance(self.value, Fraction)  # noqa: S101 - the callers have excluded the infinities
        return self.value


class Enclosure(NamedTuple):
    """Bounds of a real number, which are equal where it is known exactly."""

    low: Datum
    high: Datum


PRECISIONS = (200, 400, 800, 1600, 3200)
"""Bits with which a real result is enclosed, one after the other, until what lies on an edge is decided.

What the last does not decide, as 1 - 2^-4000 beside 1, is treated as lying on both sides: either is acceptable.
"""


def infinity(negative: bool) -> Datum:
    """The infinity with this sign."""
    return Datum(negative, -math.inf if negative else math.inf)


def product_of(a: Datum, b: Datum) -> Datum | None:
    """The exact product with the sign of IEEE 754, or ``None`` for infinity times zero."""
    negative = a.negative != b.negative
    if a.infinite or b.infinite:
        return None if a.value == 0 or b.value == 0 else infinity(negative)
    return Datum(negative, a.fraction * b.fraction)


def sum_of(a: Datum, b: Datum) -> Datum | None:
    """The exact sum with the sign of IEEE 754, or ``None`` for infinity minus infinity.

    A zero sum is -0 only where both operands are negative, and they can only both be zeros then.
    """
    if a.infinite and b.infinite:
        return a if a.negative == b.negative else None
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.fraction + b.fraction
    return Datum(a.negative and b.negative if total == 0 else total < 0, total)


def product_plus(a: Datum, b: Datum, addend: Datum) -> Datum | None:
    """``a * b + addend`` exactly, or ``None`` where the product or the sum is none."""
    product = product_of(a, b)
    return None if product is None else sum_of(product, addend)


def divided(a: Datum, b: Datum) -> Datum | None:
    """The exact quotient with the sign of IEEE 754, or ``None`` for 0 / 0 and infinity / infinity."""
    negative = a.negative != b.negative
    if a.infinite:
        return None if b.infinite else infinity(negative)
    if b.infinite:
        return Datum(negative, Fraction(0))
    if b.value == 0:
        return None if a.value == 0 else infinity(negative)
    return Datum(negative, a.fraction / b.fraction)


def remainder_truncated(a: Datum, b: Datum) -> Datum | None:
    """``a - b * trunc(a / b)`` exactly, with the sign of ``a``; ``None`` where there is none."""
    if a.infinite or b.value == 0:
        return None
    if b.infinite:
        return a
    return Datum(a.negative, a.fraction - b.fraction * math.trunc(a.fraction / b.fraction))


def remainder_floored(a: Datum, b: Datum) -> Datum | None:
    """``a - b * floor(a / b)`` exactly, with the sign of ``b``; ``None`` where there is none."""
    if a.infinite or b.value == 0:
        return None
    if b.infinite:
        if a.value == 0:
            return Datum(b.negative, a.value)
        return a if a.negative == b.negative else b
    return Datum(b.negative, a.fraction - b.fraction * math.floor(a.fraction / b.fraction))


def negated(a: Datum) -> Datum:
    """The number with the other sign."""
    return Datum(not a.negative, -a.value)


def quotient_half_even(dividend: int, divisor: int) -> int:
    """The integer nearest to ``dividend / divisor``; of two equally near ones the even one."""
    below, rest = divmod(dividend, divisor)
    if 2 * rest == divisor:
        return below if below % 2 == 0 else below + 1
    return below if 2 * rest < divisor else below + 1


floor: Callable[[Fraction], int] = math.floor
ceil: Callable[[Fraction], int] = math.ceil
trunc: Callable[[Fraction], int] = math.trunc


def half_even(value: Fraction) -> int:
    """The nearest integer; of two equally near ones the even one."""
    return quotient_half_even(value.numerator, value.denominator)


def half_away(value: Fraction) -> int:
    """The nearest integer; of two equally near ones that farther from zero."""
    nearest = math.floor(abs(value) + Fraction(1, 2))
    return -nearest if value < 0 else nearest
