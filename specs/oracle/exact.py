"""The exact oracle: one element at a time, in Python integers and ``fractions.Fraction``.

It follows the rules of ``specs/README.md`` ("What the oracle accepts") word by word and prefers being
obviously right to being fast; the rule numbers in the docstrings below are those of that page. It shares
no code with the vectorised oracle, and no floating-point arithmetic decides anything here: a ``float``
occurs only as one of the two infinities, and in messages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Expression, Name, Number, choose
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained

# --------------------------------------------------------------------------------------------------
# Real numbers with signed zeros and infinities
# --------------------------------------------------------------------------------------------------


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


def _infinity(negative: bool) -> Datum:
    return Datum(negative, -math.inf if negative else math.inf)


def _product(a: Datum, b: Datum) -> Datum | None:
    """The exact product with the sign of IEEE 754, or ``None`` for infinity times zero."""
    negative = a.negative != b.negative
    if a.infinite or b.infinite:
        return None if a.value == 0 or b.value == 0 else _infinity(negative)
    return Datum(negative, a.fraction * b.fraction)


def _sum(a: Datum, b: Datum) -> Datum | None:
    """The exact sum with the sign of IEEE 754, or ``None`` for infinity minus infinity.

    A zero sum is -0 only where both operands are negative, and they can only both be zeros then.
    """
    if a.infinite and b.infinite:
        return a if a.negative == b.negative else None
    if a.infinite or b.infinite:
        return a if a.infinite else b
    total = a.fraction + b.fraction
    return Datum(a.negative and b.negative if total == 0 else total < 0, total)


def _negated(a: Datum) -> Datum:
    return Datum(not a.negative, -a.value)


def _quotient_half_even(dividend: int, divisor: int) -> int:
    """The integer nearest to ``dividend / divisor``; of two equally near ones the even one."""
    below, rest = divmod(dividend, divisor)
    if 2 * rest == divisor:
        return below if below % 2 == 0 else below + 1
    return below if 2 * rest < divisor else below + 1


def _half_even(value: Fraction) -> int:
    """The nearest integer; of two equally near ones the even one."""
    return _quotient_half_even(value.numerator, value.denominator)


def _half_away(value: Fraction) -> int:
    """The nearest integer; of two equally near ones that farther from zero."""
    nearest = math.floor(abs(value) + Fraction(1, 2))
    return -nearest if value < 0 else nearest


_INTEGRAL: Mapping[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round_half_even": _half_even,
    "round_half_away": _half_away,
}
"""The functions of the formula language that round a real number to an integer (rule 5)."""


# --------------------------------------------------------------------------------------------------
# Binary formats
# --------------------------------------------------------------------------------------------------


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

    def is_subnormal(self, bits: int) -> bool:
        """Whether the pattern is a subnormal number: exponent field 0, and not a zero."""
        return 0 < bits & (self.sign_bit - 1) < 1 << self.trailing_bits

    def is_zero(self, bits: int) -> bool:
        """Whether the pattern is one of the two zeros."""
        return bits & (self.sign_bit - 1) == 0

    def decode(self, bits: int) -> Datum | None:
        """The number that a pattern stands for; ``None`` for a NaN."""
        return _decode(self, bits)

    def exponent(self, magnitude: Fraction) -> int:
        """The exponent of the numbers around ``magnitude``, as if there were no largest number."""
        if magnitude == 0:
            return self.min_exponent
        dividend, divisor = magnitude.numerator, magnitude.denominator
        exponent = dividend.bit_length() - divisor.bit_length()
        if dividend << max(-exponent, 0) < divisor << max(exponent, 0):  # magnitude < 2^exponent
            exponent -= 1
        return max(exponent, self.min_exponent)

    def round(self, datum: Datum) -> int:
        """The nearest number's pattern: ties to even, overflow to infinity, the sign kept (rn16, rn32)."""
        sign = self.sign_bit if datum.negative else 0
        if datum.infinite:
            return sign | self.infinity
        magnitude = abs(datum.fraction)
        exponent = self.exponent(magnitude)
        shift = self.trailing_bits - exponent  # the significand is magnitude * 2^shift
        significand = _quotient_half_even(
            magnitude.numerator << max(shift, 0), magnitude.denominator << max(-shift, 0)
        )
        if significand == 1 << self.precision:  # rounded up to the next power of two
            significand >>= 1
            exponent += 1
        if exponent > self.max_exponent:
            return sign | self.infinity
        if significand < 1 << self.trailing_bits:  # a zero or a subnormal: exponent field 0
            return sign | significand
        field = exponent + self.max_exponent
        return sign | field << self.trailing_bits | significand - (1 << self.trailing_bits)

    def neighbours(self, datum: Datum) -> tuple[int, int]:
        """The largest number not above ``datum`` (finite) and the smallest not below it, as patterns.

        The infinities are numbers here: beyond the largest finite number they are the neighbour outwards.
        """
        spacing = _power_of_two(self.exponent(abs(datum.fraction)) - self.trailing_bits)
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
        return _infinity(negative)
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

# --------------------------------------------------------------------------------------------------
# Value sets and the functions on them
# --------------------------------------------------------------------------------------------------

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
        for name, function in _INTEGRAL.items():
            self.functions[name] = self._integral(function)

    def closed(self, members: Iterable[Member]) -> Values:
        """The value set with its closure (rule 1): a subnormal brings both zeros, a zero the other."""
        values = frozenset(members)
        if self.strict:
            return values
        zero = any(
            member is not None and (self.form.is_zero(member) or self.form.is_subnormal(member))
            for member in values
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
        return self.closed(
            result for combination in itertools.product(*operands) for result in function(*combination)
        )

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
        return self._rounded(_sum, a, b)

    def subtract(self, a: Member, b: Member) -> Iterable[Member]:
        """The difference, rounded once (rule 5)."""
        return self._rounded(lambda left, right: _sum(left, _negated(right)), a, b)

    def multiply(self, a: Member, b: Member) -> Iterable[Member]:
        """The product, rounded once (rules 4 and 5)."""
        return self._rounded(_product, a, b)

    def fused_multiply_add(self, a: Member, b: Member, c: Member) -> Iterable[Member]:
        """The product plus ``c``, rounded once (rule 4)."""

        def exact(left: Datum, right: Datum, addend: Datum) -> Datum | None:
            product = _product(left, right)
            return None if product is None else _sum(product, addend)

        return self._rounded(exact, a, b, c)

    def _rounded(self, exact: Callable[..., Datum | None], *operands: Member) -> Iterable[Member]:
        """An exact operation rounded once; a NaN among the operands, or no result, gives any NaN."""
        data = [None if operand is None else self.form.decode(operand) for operand in operands]
        result = None if any(datum is None for datum in data) else exact(*data)
        return {None if result is None else self.form.round(result)}


# --------------------------------------------------------------------------------------------------
# Operators
# --------------------------------------------------------------------------------------------------


def _float_attribute(operator: OperatorDesc, name: str) -> int:
    """The FLOAT32 pattern of an attribute."""
    value = operator.attributes.get(name)
    if not isinstance(value, np.float32):
        raise UsageError(f"{operator.name} is given no FLOAT {name}", f"set the attribute {name}")
    return int(value.view(np.uint32))


def _scale_bias(table: OperatorTable, operator: OperatorDesc) -> tuple[int, int] | None:
    """The FLOAT32 patterns of scale and bias, or ``None`` where the operator is given none."""
    for attribute in table.attributes:
        if attribute.type == "DML_SCALE_BIAS":
            value = operator.attributes.get(attribute.name)
            if isinstance(value, ScaleBias):
                return value.bits
    return None


def _chosen(table: OperatorTable, expression: Expression, operator: OperatorDesc) -> Expression:
    """The branch of the formula that the enumerators of the description select."""
    enumerators: dict[str, str] = {}
    for attribute in table.attributes:
        if attribute.type == "ENUM":
            value = operator.attributes.get(attribute.name)
            if not isinstance(value, str) or value not in attribute.enumerators:
                known = ", ".join(attribute.enumerators)
                raise UsageError(f"{attribute.name} is {value!r}", f"choose one of {known}")
            enumerators[attribute.name] = value
    return choose(expression, enumerators)


def _undefined(expression: Expression) -> FormulaError:
    return FormulaError(f"the formula holds {expression!r}, which has no value", "use x and FLOAT attributes")


def _exact_number(value: float) -> Datum:
    """A constant of the formula, exactly."""
    negative = math.copysign(1.0, value) < 0
    return _infinity(negative) if math.isinf(value) else Datum(negative, Fraction(value))


class _FloatingOracle:
    """Rules 1 to 7 and "with ``--strict``" for FLOAT32 and FLOAT16 tensors."""

    def __init__(
        self,
        table: OperatorTable,
        formula: Expression,
        operator: OperatorDesc,
        form: Format,
        strict: bool,
    ) -> None:
        self.strict = strict
        self.formula = formula
        self.arithmetic = Arithmetic(form, strict)
        self.attributes = {
            name: self._attribute(_float_attribute(operator, name), self._documented(table, name))
            for name in table.float_attributes
        }
        self.attribute_values: Values = frozenset().union(*self.attributes.values())
        pair = _scale_bias(table, operator)
        self.paths = () if pair is None else tuple(self._paths(*pair))

    @staticmethod
    def _documented(table: OperatorTable, name: str) -> bool:
        attribute = table.attribute(name)
        return attribute is not None and attribute.cast == "documented"

    def _attribute(self, bits: int, documented: bool) -> Values:
        """Rule 3: the value set of a FLOAT attribute, given as its FLOAT32 pattern."""
        arithmetic, form = self.arithmetic, self.arithmetic.form
        datum = BINARY32.decode(bits)
        if datum is None:
            return arithmetic.closed({None})
        if form is BINARY32:
            return arithmetic.closed({bits})
        nearest = form.round(datum)
        if datum.infinite or self.strict:
            return arithmetic.closed({nearest})
        if abs(datum.fraction) >= 65520:
            largest = form.largest | (form.sign_bit if datum.negative else 0)
            return arithmetic.closed({nearest, largest})
        if documented:
            return arithmetic.closed({nearest})
        return arithmetic.closed(form.neighbours(datum))

    def _paths(self, scale: int, bias: int) -> Iterable[tuple[Arithmetic, Values, Values, bool]]:
        """Rule 4: the paths of ScaleBias, each with its arithmetic, scale, bias, and whether it is fused."""
        binary32 = Arithmetic(BINARY32, self.strict)
        exact = [binary32.closed({binary32.member(bits)}) for bits in (scale, bias)]
        if self.strict:
            return [(binary32, exact[0], exact[1], False)]
        ways = [(binary32, exact[0], exact[1])]
        if self.arithmetic.form is BINARY16:
            rounded = [BINARY16.convert(bits, BINARY32) for bits in (scale, bias)]
            in_16 = [self.arithmetic.closed({member}) for member in rounded]
            in_32 = [binary32.closed({BINARY32.convert(member, BINARY16)}) for member in rounded]
            ways += [(self.arithmetic, in_16[0], in_16[1]), (binary32, in_32[0], in_32[1])]
        return [(*way, fused) for way in ways for fused in (False, True)]

    def _scaled(self, x: Values) -> Values:
        """Rule 4: every g that one of the paths gives, rounded to the tensor's type."""
        if not self.paths:
            return x
        tensor = self.arithmetic
        results: set[Member] = set()
        for arithmetic, scale, bias, fused in self.paths:
            operand = arithmetic.converted(x, tensor.form)
            if fused:
                g = arithmetic.apply(arithmetic.fused_multiply_add, operand, scale, bias)
            else:
                product = arithmetic.apply(arithmetic.multiply, operand, scale)
                g = arithmetic.apply(arithmetic.add, product, bias)
            results |= tensor.converted(g, arithmetic.form)
        return frozenset(results)  # closed, for each path's are

    def _evaluate(self, expression: Expression, x: Values) -> Values:
        """Rule 5: the formula over value sets."""
        match expression:
            case Name("x"):
                return x
            case Name(name) if name in self.attributes:
                return self.attributes[name]
            case Number(value):
                return self.arithmetic.closed({self.arithmetic.form.round(_exact_number(value))})
            case Call(function, arguments):
                operands = [self._evaluate(argument, x) for argument in arguments]
                return self.arithmetic.apply(self.arithmetic.functions[function], *operands)
        raise _undefined(expression)

    def acceptable(self, bits: int) -> Acceptable:
        """The formula over the input (rules 2, 4 and 5) with what rules 6 and 7 add."""
        x = self._scaled(self.arithmetic.closed({self.arithmetic.member(bits)}))
        outcomes = self._evaluate(self.formula, x)
        if not self.strict:
            if None in x:  # rule 6
                outcomes |= self.attribute_values | {None}
            if None in self.attribute_values:  # rule 7
                outcomes |= self.attribute_values | x | {None}
        patterns = frozenset(member for member in outcomes if member is not None)
        return Acceptable(patterns, any_nan=None in outcomes)


class _IntegerOracle:
    """The rules of "Integer tensors" for every integer type."""

    exact_limit = 1 << 24
    """Up to here FLOAT32 represents every integer, so that ScaleBias is exact either way."""

    def __init__(
        self,
        table: OperatorTable,
        formula: Expression,
        operator: OperatorDesc,
        data_type: DataType,
        strict: bool,
    ) -> None:
        self.strict = strict
        self.formula = formula
        self.data_type = data_type
        self.width = 8 * data_type.itemsize
        self.lowest = -(1 << self.width - 1) if data_type.is_signed else 0
        self.highest = self.lowest + (1 << self.width) - 1
        self.attributes: dict[str, frozenset[int]] = {}
        for attribute in table.attributes:
            if attribute.type == "FLOAT":
                bits = _float_attribute(operator, attribute.name)
                values = self._attribute(attribute.name, bits, attribute.cast == "documented")
                self.attributes[attribute.name] = values
        pair = _scale_bias(table, operator)
        self.has_scale_bias = pair is not None
        self.scale = None if pair is None else self._integer(pair[0])
        self.bias = None if pair is None else self._integer(pair[1])

    def _contains(self, value: int) -> bool:
        return self.lowest <= value <= self.highest

    def _attribute(self, name: str, bits: int, documented: bool) -> frozenset[int]:
        """A FLOAT attribute, truncated toward zero; both neighbours where the cast is undocumented."""
        datum = BINARY32.decode(bits)
        if datum is None:
            raise Unconstrained(f"{name} is NaN, and the type is {self.data_type.name}")
        if datum.infinite:
            raise Unconstrained(f"{name} is {datum.value}, and the type is {self.data_type.name}")
        truncated = math.trunc(datum.fraction)
        if not self._contains(truncated):
            raise Unconstrained(f"{name} = {float(datum.value):.9g} lies outside {self.data_type.name}")
        if documented or self.strict:
            return frozenset({truncated})
        neighbours = {math.floor(datum.fraction), math.ceil(datum.fraction)}
        return frozenset(value for value in neighbours if self._contains(value))

    def _integer(self, bits: int) -> int | None:
        """A FLOAT32 as the integer it is, where it is one within the type."""
        datum = BINARY32.decode(bits)
        if datum is None or datum.infinite or datum.fraction.denominator != 1:
            return None
        value = datum.fraction.numerator
        return value if self._contains(value) else None

    def _scaled(self, x: int) -> int | None:
        """ScaleBias where it is exact, else ``None``."""
        if not self.has_scale_bias:
            return x
        if self.scale is None or self.bias is None:
            return None
        product = x * self.scale
        result = product + self.bias
        small = all(abs(v) <= self.exact_limit for v in (x, self.scale, self.bias, product, result))
        return result if small and self._contains(product) and self._contains(result) else None

    def _evaluate(self, expression: Expression, x: int) -> frozenset[int]:
        """The formula over exact integers, for every combination of attribute values."""
        match expression:
            case Name("x"):
                return frozenset({x})
            case Name(name) if name in self.attributes:
                return self.attributes[name]
            case Number(value):
                datum = _exact_number(value)
                if datum.infinite or datum.fraction.denominator != 1:
                    raise Unconstrained(f"the formula's {value!r} is no {self.data_type.name}")
                return frozenset({datum.fraction.numerator})
            case Call(function, arguments):
                operands = [self._evaluate(argument, x) for argument in arguments]
                apply = _INTEGER_FUNCTIONS[function]
                return frozenset(apply(*combination) for combination in itertools.product(*operands))
        raise _undefined(expression)

    def acceptable(self, bits: int) -> Acceptable:
        """The formula over the input; a result outside the type wraps modulo 2^bits."""
        x = self._scaled(bits if bits <= self.highest else bits - (1 << self.width))
        if x is None:
            return Acceptable(frozenset(), any_value=True)
        return Acceptable(frozenset(value % (1 << self.width) for value in self._evaluate(self.formula, x)))


def _unchanged(value: int) -> int:
    """What an integer rounds to, in any mode."""
    return value


_INTEGER_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    **dict.fromkeys(_INTEGRAL, _unchanged),
}

_FORMATS = {DataType.FLOAT16: BINARY16, DataType.FLOAT32: BINARY32}


class ExactOracle:
    """An operator's exact oracle: what does not depend on the element is worked out once, here.

    Args:
        table: the operator's table.
        expression: its parsed formula (``Tables.formula``).
        operator: the description; the input tensor's data type decides between the rules.
        strict: whether ``--strict`` narrows every latitude to IEEE 754 behaviour.

    Raises:
        Unconstrained: a FLOAT attribute is NaN, infinite or outside the integer type.
        UsageError: the description lacks an attribute, or its data type has no rules.
    """

    def __init__(
        self, table: OperatorTable, expression: Expression, operator: OperatorDesc, strict: bool = False
    ) -> None:
        self.data_type = operator.input.data_type
        formula = _chosen(table, expression, operator)
        self._oracle: _FloatingOracle | _IntegerOracle
        if self.data_type in _FORMATS:
            self._oracle = _FloatingOracle(table, formula, operator, _FORMATS[self.data_type], strict)
        elif not self.data_type.is_floating:
            self._oracle = _IntegerOracle(table, formula, operator, self.data_type, strict)
        else:
            cause = f"there are no rules for {self.data_type.name} tensors"
            raise UsageError(cause, "use FLOAT32, FLOAT16 or an integer type")

    def acceptable(self, bits: int) -> Acceptable:
        """The acceptable outcomes for the input element with the pattern ``bits``.

        Raises:
            Unconstrained: the formula holds a fraction and the tensors hold integers.
        """
        return self._oracle.acceptable(bits)


def acceptable(
    table: OperatorTable, expression: Expression, operator: OperatorDesc, bits: int, *, strict: bool = False
) -> Acceptable:
    """The acceptable outcomes for one input element; :class:`ExactOracle` in one call.

    Args:
        table: the operator's table.
        expression: its parsed formula (``Tables.formula``).
        operator: the description.
        bits: the input element's pattern in the input tensor's data type.
        strict: whether ``--strict`` narrows every latitude to IEEE 754 behaviour.

    Raises:
        Unconstrained: no acceptance follows from the pages.
        UsageError: the description lacks an attribute, or its data type has no rules.
    """
    return ExactOracle(table, expression, operator, strict).acceptable(bits)
