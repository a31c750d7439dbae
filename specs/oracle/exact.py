"""The exact oracle: one element at a time, in Python integers and ``fractions.Fraction``.

It follows the rules of ``specs/README.md`` ("What the oracle accepts") word by word and prefers being
obviously right to being fast; the rule numbers in the docstrings below are those of that page. It rests on
``real_number``, ``binary_format`` and ``value_sets``, shares no code with the vectorised oracle, and no
floating-point arithmetic decides anything here: a ``float`` occurs only as one of the two infinities, and in
messages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import numpy as np

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Expression, Name, Number, choose
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.binary_format import BINARY16, BINARY32, Format
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.oracle.real_number import INTEGRAL, Datum, infinity
from dmlcts.specs.oracle.value_sets import Arithmetic, Member, Values


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
    return infinity(negative) if math.isinf(value) else Datum(negative, Fraction(value))


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
    **dict.fromkeys(INTEGRAL, _unchanged),
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
