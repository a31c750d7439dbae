"""ScaleBias on one integer, exactly: every g of ``specs/README.md``, "Integer tensors"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dmlcts.specs.arithmetic.binary_format import BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.formula import MultiplyAdd

Real = Fraction | float
"""A real number, or one of the two infinities, which are the only floats here."""

_USUAL = MultiplyAdd(("x", "scale"), "bias")

NARROW_WIDTHS = (8, 16)
"""Types of these widths may be stored through a 32-bit type."""

THROUGH = (IntegerRange(32, signed=True), IntegerRange(32, signed=False))
"""INT32 and UINT32, in which a result may be saturated before it is wrapped into a narrower type."""


def _rounded(form: Format, value: Real) -> set[Real]:
    """Of FLOAT32 both numbers next to one (s32), as hardware may truncate; of FLOAT64 the nearest (rn64)."""
    datum = Datum(value < 0, value)
    numbers: set[Real] = set()
    for pattern in form.either(datum) if form is BINARY32 else (form.round(datum),):
        number = form.decode(pattern)
        assert number is not None  # noqa: S101 - what a number is rounded to is never a NaN
        numbers.add(number.value)
    return numbers


def _converted(form: Format, x: int) -> set[Fraction]:
    """What an integer may become in a format: either number next to it, or itself; 2^64 is finite in each."""
    numbers = set()
    for pattern in form.neighbours(Datum(x < 0, Fraction(x))):
        datum = form.decode(pattern)
        assert datum is not None  # noqa: S101 - a neighbour of a number is none
        numbers.add(datum.fraction)
    return numbers


class IntegerScaleBias:
    """The table's formula of x, scale and bias on an integer type.

    Without the latitude ``integer-scale-bias`` it is the exact number, truncated toward zero, modulo 2^bits.

    Args:
        integers: the range of the type.
        operation: what the table says of x, scale and bias.
        lenient: whether the latitude acts.
        scale: the FLOAT32 pattern of scale.
        bias: the FLOAT32 pattern of bias.

    Attributes:
        finite: whether scale and bias are; where they are not, nothing follows from the pages.
    """

    def __init__(self, integers: IntegerRange, operation: MultiplyAdd, scale: int, bias: int, *, lenient: bool) -> None:
        self.integers = integers
        self.operation = operation
        self.lenient = lenient
        factors = [BINARY32.decode(bits) for bits in (scale, bias)]
        finite = [factor.fraction for factor in factors if factor is not None and not factor.infinite]
        self.finite = len(finite) == len(factors)
        self.scale, self.bias = finite if self.finite else (Fraction(1), Fraction(0))
        self.identity = operation == _USUAL and self.scale == 1 and self.bias == 0

    def applied(self, x: int) -> frozenset[int]:
        """Every integer of the type that may replace ``x``; scale and bias are finite."""
        if self.identity:
            return frozenset({x})
        if not self.lenient:
            return frozenset({self.integers.wrapped(math.trunc(self._exact(Fraction(x))))})
        numbers = set(self._in_integers(x))
        for real in self._reals(x):
            numbers.update(self._stored(real))
        return frozenset(numbers)

    def _operands(self, x: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """The two factors and the addend."""
        operands = {"x": x, "scale": self.scale, "bias": self.bias}
        a, b = self.operation.factors
        return operands[a], operands[b], operands[self.operation.addend]

    def _exact(self, x: Fraction) -> Fraction:
        a, b, addend = self._operands(x)
        return a * b + addend

    def _reals(self, x: int) -> set[Real]:
        """The exact number, and those of FLOAT32 and FLOAT64, separate and fused."""
        reals: set[Real] = {self._exact(Fraction(x))}
        for form in (BINARY32, BINARY64):
            for operand in _converted(form, x):
                a, b, addend = self._operands(operand)
                for product in _rounded(form, a * b):
                    reals |= _rounded(form, product + addend) if isinstance(product, Fraction) else {product}
                reals |= _rounded(form, a * b + addend)
        return reals

    def beyond(self, x: int) -> Iterable[tuple[int | float, frozenset[int]]]:
        """Every result outside the type, an integer or an infinity, with the integers of the type it is stored as."""
        if self.identity or not self.lenient:
            return
        for real in self._reals(x):
            if not isinstance(real, Fraction):
                yield real, frozenset(self._stored(real))
                continue
            for whole in (math.floor(real), math.ceil(real)):
                if whole not in self.integers:
                    yield whole, frozenset(self._stored(Fraction(whole)))

    def stored(self, number: int | float) -> frozenset[int]:
        """The integers of the type that an integer, or an infinity, is stored as."""
        return frozenset(self._stored(number if isinstance(number, float) else Fraction(number)))

    def _stored(self, real: Real) -> Iterable[int]:
        """The integers of the type that a real number may become: its floor and its ceiling, stored."""
        integers = self.integers
        through = [wide for wide in THROUGH if integers.width in NARROW_WIDTHS]
        if not isinstance(real, Fraction):  # an infinity saturates, and no modulus brings it back
            yield integers.saturated(real)
            yield from (integers.wrapped(wide.saturated(real)) for wide in through)
            return
        for whole in (math.floor(real), math.ceil(real)):
            if whole in integers:
                yield whole
                continue
            yield integers.saturated(whole)
            yield integers.wrapped(whole)
            yield from (integers.wrapped(wide.saturated(whole)) for wide in through)

    def _in_integers(self, x: int) -> Iterable[int]:
        """Each step in integers of the type: rounded the one way or the other, saturated or wrapped."""
        for rounded in (math.floor, math.ceil):
            for fitted in (self.integers.saturated, self.integers.wrapped):
                a, b, addend = self._operands(Fraction(x))
                product = fitted(rounded(a * b))
                yield fitted(rounded(product + addend))
