"""Real numbers with signed zeros and infinities, and the exact operations of IEEE 754 on them.

This is the exact oracle's ground: no floating-point arithmetic decides anything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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


def negated(a: Datum) -> Datum:
    """The number with the other sign."""
    return Datum(not a.negative, -a.value)


def quotient_half_even(dividend: int, divisor: int) -> int:
    """The integer nearest to ``dividend / divisor``; of two equally near ones the even one."""
    below, rest = divmod(dividend, divisor)
    if 2 * rest == divisor:
        return below if below % 2 == 0 else below + 1
    return below if 2 * rest < divisor else below + 1


def _half_even(value: Fraction) -> int:
    """The nearest integer; of two equally near ones the even one."""
    return quotient_half_even(value.numerator, value.denominator)


def _half_away(value: Fraction) -> int:
    """The nearest integer; of two equally near ones that farther from zero."""
    nearest = math.floor(abs(value) + Fraction(1, 2))
    return -nearest if value < 0 else nearest


INTEGRAL: Mapping[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round_half_even": _half_even,
    "round_half_away": _half_away,
}
"""The functions of the formula language that round a real number to an integer (rule 5)."""
