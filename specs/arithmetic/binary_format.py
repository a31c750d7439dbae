"""The binary interchange formats: patterns decoded to exact numbers, and exact numbers rounded to patterns."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from dmlcts.specs.arithmetic.real_number import Datum, infinity, quotient_half_even


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@dataclass(frozen=True, eq=False)
class Format:
    """A binary interchange format of IEEE 754-2019, section 3.4.

    Attributes:
        name: what messages call it.
        precision: significand bits, the implicit one included.
        max_exponent: the exponent of the largest finite numbers; the smallest normal one has 1 less this.
    """

    name: str
    precision: int
    max_exponent: int

    @cached_property
    def trailing_bits(self) -> int:
        """Bits of the trailing significand field."""
        return self.precision - 1

    @cached_property
    def min_exponent(self) -> int:
        """The exponent of the smallest normal number."""
        return 1 - self.max_exponent

    @cached_property
    def infinity(self) -> int:
        """The pattern of +infinity; a greater magnitude is a NaN."""
        return (2 * self.max_exponent + 1) << self.trailing_bits

    @cached_property
    def sign_bit(self) -> int:
        """The pattern of -0."""
        return 1 << (self.trailing_bits + (2 * self.max_exponent + 1).bit_length())

    @cached_property
    def largest(self) -> int:
        """The pattern of the finite number of largest magnitude, positive."""
        return self.infinity - 1

    @cached_property
    def smallest_normal(self) -> Fraction:
        """The smallest normal number."""
        return _power_of_two(self.min_exponent)

    def is_subnormal(self, bits: int) -> bool:
        """Whether the pattern is a subnormal number: exponent field 0, and not a zero."""
        return 0 < bits & (self.sign_bit - 1) < 1 << self.trailing_bits

    def is_zero(self, bits: int) -> bool:
        """Whether the pattern is one of the two zeros."""
        return bits & (self.sign_bit - 1) == 0

    def decode(self, bits: int) -> Datum | None:
        """The number that a pattern stands for; ``None`` for a NaN."""
        return _decode(self, bits)

    def exponent(self, dividend: int, divisor: int) -> int:
        """The exponent of the numbers around a magnitude, as if there were no largest number."""
        if dividend == 0:
            return self.min_exponent
        exponent = dividend.bit_length() - divisor.bit_length()
        if dividend << max(-exponent, 0) < divisor << max(exponent, 0):  # the magnitude is below 2^exponent
            exponent -= 1
        return max(exponent, self.min_exponent)

    def round(self, datum: Datum) -> int:
        """The nearest number's pattern: ties to even, overflow to infinity, the sign kept (rn16, rn32, rn64)."""
        return self._encoded(datum, quotient_half_even, self.infinity)

    def toward_zero(self, datum: Datum) -> int:
        """The nearest number's pattern among those of no greater magnitude, the sign kept (rz16).

        A finite number beyond the range becomes the largest finite one, an infinity itself.
        """
        return self._encoded(datum, operator.floordiv, self.largest)

    def either(self, datum: Datum) -> frozenset[int]:
        """The patterns that a number rounds to in one direction or the other: the one that it is, or two.

        Beyond the range those are the largest finite number and the infinity of its sign.
        """
        inner = self.toward_zero(datum)
        inner_datum = self.decode(inner)
        assert inner_datum is not None, "what is rounded is no NaN"  # noqa: S101
        return frozenset({inner} if inner_datum.value == datum.value else {inner, inner + 1})

    def _encoded(self, datum: Datum, quotient: Callable[[int, int], int], beyond: int) -> int:
        """The pattern of a number whose significand ``quotient`` rounds; ``beyond`` where it is out of range."""
        sign = self.sign_bit if datum.negative else 0
        if datum.infinite:
            return sign | self.infinity
        dividend, divisor = abs(datum.fraction.numerator), datum.fraction.denominator
        exponent = self.exponent(dividend, divisor)
        shift = self.trailing_bits - exponent  # the significand is the magnitude times 2^shift
        significand = quotient(dividend << max(shift, 0), divisor << max(-shift, 0))
        if significand == 1 << self.precision:  # rounded up to the next power of two
            significand >>= 1
            exponent += 1
        if exponent > self.max_exponent:
            return sign | beyond
        if significand < 1 << self.trailing_bits:  # a zero or a subnormal: exponent field 0
            return sign | significand
        field = exponent + self.max_exponent
        return sign | field << self.trailing_bits | significand - (1 << self.trailing_bits)

    def neighbours(self, datum: Datum) -> tuple[int, int]:
        """The largest number not above ``datum`` (finite) and the smallest not below it, as patterns.

        The infinities are numbers here: beyond the largest finite number they are the neighbour outwards.
        """
        spacing = _power_of_two(self.exponent(*abs(datum.fraction).as_integer_ratio()) - self.trailing_bits)
        steps = datum.fraction / spacing
        below = Datum(datum.negative, math.floor(steps) * spacing)
        above = Datum(datum.negative, math.ceil(steps) * spacing)
        return self.round(below), self.round(above)

    def convert(self, bits: int | None, source: Format) -> int | None:
        """A pattern of ``source`` rounded to this format; a NaN (``None``) stays one."""
        return None if bits is None else _convert(self, bits, source)


@lru_cache(maxsize=1 << 17)
def _convert(form: Format, bits: int, source: Format) -> int | None:
    datum = _decode(source, bits)
    return None if datum is None else form.round(datum)


@lru_cache(maxsize=1 << 17)
def _decode(form: Format, bits: int) -> Datum | None:
    negative = bits & form.sign_bit != 0
    magnitude = bits & (form.sign_bit - 1)
    if magnitude > form.infinity:
        return None
    if magnitude == form.infinity:
        return infinity(negative)
    field = magnitude >> form.trailing_bits
    trailing = magnitude & ((1 << form.trailing_bits) - 1)
    if field == 0:
        value = trailing * _power_of_two(form.min_exponent - form.trailing_bits)
    else:
        implicit = 1 << form.trailing_bits
        value = (implicit + trailing) * _power_of_two(field - form.max_exponent - form.trailing_bits)
    return Datum(negative, -value if negative else value)


BINARY16 = Format("FLOAT16", precision=11, max_exponent=15)
BINARY32 = Format("FLOAT32", precision=24, max_exponent=127)
BINARY64 = Format("FLOAT64", precision=53, max_exponent=1023)
