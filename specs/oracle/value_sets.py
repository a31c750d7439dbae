"""The functions of the formula language on value sets (rules 1, 2, 4 and 5 of ``specs/README.md``), exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

from dmlcts.specs.oracle.binary_format import Format
from dmlcts.specs.oracle.real_number import INTEGRAL, Datum, negated, product_of, sum_of

Member = int | None
"""A member of a floating-point value set: a pattern that is no NaN, or ``None`` for "any NaN"."""

Values = frozenset[Member]
"""A value set of a floating-point format."""


class Arithmetic:
    """The functions of rules 4 and 5 in one format, on members and on value sets.

    Args:
        form: the format of operands and results.
        strict: whether ``--strict`` narrows the latitude: no closure, and -0 less than +0.
    """

    def __init__(self, form: Format, strict: bool) -> None:
        self.form = form
        self.strict = strict
        self.functions: dict[str, Callable[..., Iterable[Member]]] = {
            "min": self.minimum,
            "max": self.maximum,
            "abs": self.absolute,
            "neg": self.negate,
            "add": self.add,
            "subtract": self.subtract,
            "multiply": self.multiply,
        }
        for name, function in INTEGRAL.items():
            self.functions[name] = self._integral(function)

    def closed(self, members: Iterable[Member]) -> Values:
        """The value set with its closure (rule 1): a subnormal brings both zeros, a zero the other."""
        values = frozenset(members)
        if self.strict:
            return values
        zero = any(
            member is not None and (self.form.is_zero(member) or self.form.is_subnormal(member)) for member in values
        )
        return values | {0, self.form.sign_bit} if zero else values

    def member(self, bits: int) -> Member:
        """The member that a pattern is: itself, or any NaN (rule 2)."""
        return None if self.form.decode(bits) is None else bits

    def converted(self, values: Values, source: Format) -> Values:
        """A value set of ``source``, every member rounded to this format."""
        return self.closed(self.form.convert(member, source) for member in values)

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
            return {None, a, b}  # one of the two is None itself
        if left.value == right.value:
            if not self.strict or left.negative == right.negative:
                return {a, b}  # the same pattern, or two zeros that compare equal
            return {a} if left.negative is not larger else {b}  # strict: -0 is less than +0
        return {a} if (left.value > right.value) is larger else {b}

    def absolute(self, a: Member) -> Iterable[Member]:
        """The sign bit cleared (rule 5)."""
        return {None if a is None else a & ~self.form.sign_bit}

    def negate(self, a: Member) -> Iterable[Member]:
        """The sign bit changed (rule 5)."""
        return {None if a is None else a ^ self.form.sign_bit}

    def _integral(self, function: Callable[[Fraction], int]) -> Callable[[Member], Iterable[Member]]:
        """A function to integers: infinities kept, NaN to any NaN, zeros with the operand's sign (rule 5)."""

        def lifted(a: Member) -> Iterable[Member]:
            datum = None if a is None else self.form.decode(a)
            if datum is None or datum.infinite:
                return {a}
            return {self.form.round(Datum(datum.negative, Fraction(function(datum.fraction))))}

        return lifted

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

        def exact(left: Datum, right: Datum, addend: Datum) -> Datum | None:
            product = product_of(left, right)
            return None if product is None else sum_of(product, addend)

        return self._rounded(exact, a, b, c)

    def _rounded(self, exact: Callable[..., Datum | None], *operands: Member) -> Iterable[Member]:
        """An exact operation rounded once; a NaN among the operands, or no result, gives any NaN."""
        data = [None if operand is None else self.form.decode(operand) for operand in operands]
        result = None if any(datum is None for datum in data) else exact(*data)
        return {None if result is None else self.form.round(result)}
