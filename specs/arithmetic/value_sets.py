"""The functions of the formula language on value sets (rules 1, 2, 4 and 5 of ``specs/README.md``), exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

from dmlcts.specs.arithmetic.binary_format import BINARY32, Format
from dmlcts.specs.arithmetic.real_number import (
    PRECISIONS,
    Datum,
    Enclosure,
    divided,
    negated,
    product_of,
    product_plus,
    remainder_floored,
    remainder_truncated,
    sum_of,
)
from dmlcts.specs.latitudes import Latitudes

Member = int | None
"""A member of a floating-point value set: a pattern that is no NaN, or ``None`` for "any NaN"."""

Values = frozenset[Member]
"""A value set of a floating-point format."""

NAN: Values = frozenset({None})
"""Any NaN."""


class Arithmetic:
    """The functions of rules 4 and 5 in one format, on members and on value sets.

    Args:
        form: the format of operands and results.
        latitudes: those that act: without ``zero-sign`` -0 is less than +0, without ``subnormals`` nothing is flushed,
            without ``nan`` a NaN operand of min and max gives NaN.
        truncating: whether a result may be rounded to either of the two numbers next to it, and not to nearest alone.

    Attributes:
        flushing: whether subnormals may be flushed: FLOAT32's may, the other formats preserve them.
    """

    def __init__(self, form: Format, latitudes: Latitudes, *, truncating: bool = False) -> None:
        self.form = form
        self.latitudes = latitudes
        self.truncating = truncating
        self.flushing = form is BINARY32 and "subnormals" in latitudes
        self.either_zero = "zero-sign" in latitudes

    def closed(self, members: Iterable[Member]) -> Values:
        """The value set with its closure (rule 1): a zero brings the other, a subnormal FLOAT32 both."""
        values = frozenset(members)
        closure = set(values)
        for member in values:
            if self._may_be_zero(member):
                closure |= self.zeros_like(member)
        return frozenset(closure)

    def zeros_like(self, member: Member) -> Values:
        """The zeros that may take a member's place: both, or that of its sign."""
        if self.either_zero or member is None:
            return self.zeros
        return frozenset({member & self.form.sign_bit})

    def _may_be_zero(self, member: Member) -> bool:
        """Whether the member is a zero, or a subnormal that may be flushed."""
        if member is None:
            return False
        return self.form.is_zero(member) or (self.flushing and self.form.is_subnormal(member))

    @property
    def zeros(self) -> Values:
        """Both zeros."""
        return frozenset({0, self.form.sign_bit})

    def rounded(self, datum: Datum) -> Values:
        """An exact number rounded once; of FLOAT32 by r32 (rule 4), which may flush what is tiny before rounding."""
        patterns = self.form.either(datum) if self.truncating else frozenset({self.form.round(datum)})
        if not self.flushing or datum.infinite or not 0 < abs(datum.fraction) < self.form.smallest_normal:
            return patterns
        return patterns | self.zeros_like(self.form.sign_bit if datum.negative else 0)

    def member(self, bits: int) -> Member:
        """The member that a pattern is: itself, or any NaN (rule 2)."""
        return None if self.form.decode(bits) is None else bits

    def converted(self, values: Values, source: Format) -> Values:
        """A value set of ``source``, every member rounded to this format."""
        data = [None if member is None else source.decode(member) for member in values]
        return self.closed(result for datum in data for result in (NAN if datum is None else self.rounded(datum)))

    def apply(self, function: Callable[..., Iterable[Member]], *operands: Values) -> Values:
        """``function`` on all combinations of members, and the closure (rule 5)."""
        return self.closed(result for combination in itertools.product(*operands) for result in function(*combination))

    def minimum(self, a: Member, b: Member) -> Iterable[Member]:
        """The smaller; with one NaN operand any NaN, or the other operand (rule 5)."""
        return self._extreme(a, b, larger=False)

    def maximum(self, a: Member, b: Member) -> Iterable[Member]:
        """The larger; with one NaN operand any NaN, or the other operand (rule 5)."""
        return self._extreme(a, b, larger=True)

    def _extreme(self, a: Member, b: Member, larger: bool) -> Iterable[Member]:
        left = None if a is None else self.form.decode(a)
        right = None if b is None else self.form.decode(b)
        if left is None or right is None:
            return {None, a, b} if "nan" in self.latitudes else NAN  # one of the two is None itself
        if self.flushing and self._may_be_zero(a) and self._may_be_zero(b):
            return {a, b}  # a comparison that flushes its operands takes both for zeros, and returns either
        if left.value == right.value:
            if self.either_zero or left.negative == right.negative:
                return {a, b}  # the same pattern, or two zeros that compare equal
            return {a} if left.negative is not larger else {b}  # -0 is less than +0
        return {a} if (left.value > right.value) is larger else {b}

    def absolute(self, a: Member) -> Iterable[Member]:
        """The sign bit cleared (rule 5)."""
        return {None if a is None else a & ~self.form.sign_bit}

    def negate(self, a: Member) -> Iterable[Member]:
        """The sign bit changed (rule 5)."""
        return {None if a is None else a ^ self.form.sign_bit}

    def whole(self, function: Callable[[Fraction], int], a: Member) -> Iterable[Member]:
        """A function to integers: infinities kept, NaN to any NaN, zeros with the operand's sign (rule 5)."""
        datum = None if a is None else self.form.decode(a)
        if datum is None or datum.infinite:
            return {a}
        return {self.form.round(Datum(datum.negative, Fraction(function(datum.fraction))))}

    def compared(
        self, compare: Callable[[object, object], bool], a: Member, b: Member, *, unordered: bool
    ) -> Iterable[bool]:
        """Whether two members compare so: ``unordered`` where one is a NaN, and either where the latitude lets it."""
        left = None if a is None else self.form.decode(a)
        right = None if b is None else self.form.decode(b)
        if left is None or right is None:
            return {True, False} if "nan-comparison" in self.latitudes else {unordered}
        return {compare(left.value, right.value)}

    def enclosed(self, real: Callable[..., Enclosure | None], *operands: Member) -> Iterable[Member]:
        """A real function rounded once: what its result rounds to, or both where no precision decides between two."""
        data = [None if operand is None else self.form.decode(operand) for operand in operands]
        if any(datum is None for datum in data):
            return NAN
        numbers: frozenset[Member] = NAN
        for bits in PRECISIONS:
            bounds = real(*data, bits=bits)
            if bounds is None:
                return NAN
            low, high = self.rounded(bounds.low), self.rounded(bounds.high)
            numbers = low | high
            if low == high:
                break
        return numbers

    def divide(self, a: Member, b: Member) -> Iterable[Member]:
        """The quotient, rounded once."""
        return self._rounded(divided, a, b)

    def remainder_truncated(self, a: Member, b: Member) -> Iterable[Member]:
        """C's fmod, which no rounding changes."""
        return self._rounded(remainder_truncated, a, b)

    def remainder_floored(self, a: Member, b: Member) -> Iterable[Member]:
        """Python's modulus, rounded once."""
        return self._rounded(remainder_floored, a, b)

    def add(self, a: Member, b: Member) -> Iterable[Member]:
        """The sum, rounded once (rules 4 and 5)."""
        return self._rounded(sum_of, a, b)

    def subtract(self, a: Member, b: Member) -> Iterable[Member]:
        """The difference, rounded once (rule 5)."""
        return self._rounded(lambda left, right: sum_of(left, negated(right)), a, b)

    def multiply(self, a: Member, b: Member) -> Iterable[Member]:
        """The product, rounded once (rules 4 and 5)."""
        return self._rounded(product_of, a, b)

    def fused_multiply_add(self, a: Member, b: Member, c: Member) -> Iterable[Member]:
        """The product plus ``c``, rounded once (rule 4)."""
        return self._rounded(product_plus, a, b, c)

    def _rounded(self, exact: Callable[..., Datum | None], *operands: Member) -> Iterable[Member]:
        """An exact operation rounded once; a NaN among the operands, or no result, gives any NaN."""
        data = [None if operand is None else self.form.decode(operand) for operand in operands]
        result = None if any(datum is None for datum in data) else exact(*data)
        return NAN if result is None else self.rounded(result)
