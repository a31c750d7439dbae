"""The exact oracle: one element at a time, in Python integers and ``fractions.Fraction``.

It follows the rules of ``specs/README.md`` ("What the oracle accepts") word by word and prefers being
obviously right to being fast; the rule numbers in the docstrings below are those of that page. ScaleBias has
its modules, ``exact_floating_scale_bias`` and ``exact_integer_scale_bias``; all rest on ``real_number``,
``binary_format``, ``value_sets`` and ``integer_range``. It reads the same parsed tables as the vectorised oracle and
shares no arithmetic with it. No run uses it: it is the second opinion that the selftests ask. No floating-point
arithmetic decides anything here: a ``float`` occurs only as one of the two infinities, and in messages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import Datum, half_even, infinity
from dmlcts.specs.arithmetic.value_sets import NAN, Arithmetic, Member, Values
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScalarUnion, ScaleBias
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Expression, Name, Number, choose
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.oracle.exact_floating_scale_bias import FloatingScaleBias
from dmlcts.specs.oracle.exact_integer_scale_bias import IntegerScaleBias
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.tables.law import Law, selects

_MAGNITUDE = Call("abs", (Name("x"),))


def _float_attribute(operator: OperatorDesc, name: str) -> int:
    """The FLOAT32 pattern of an attribute."""
    value = operator.attributes.get(name)
    if not isinstance(value, np.float32):
        raise UsageError(f"{operator.name} is given no FLOAT {name}", f"set the attribute {name}")
    return int(value.view(np.uint32))


def _unions(law: Law, operator: OperatorDesc) -> dict[str, int]:
    """The patterns of the attributes that have the tensors' type already."""
    patterns = {}
    for attribute in law.table.attributes:
        if attribute.type == "DML_SCALAR_UNION":
            value = operator.attributes.get(attribute.name)
            if not isinstance(value, ScalarUnion):
                raise UsageError(f"{operator.name} is given no number {attribute.name}", "give a ScalarUnion")
            patterns[attribute.name] = value.bits
    return patterns


def _scale_bias(law: Law, operator: OperatorDesc) -> tuple[int, int] | None:
    """The FLOAT32 patterns of scale and bias, or ``None`` where the operator is given none."""
    for attribute in law.table.attributes:
        if attribute.type == "DML_SCALE_BIAS":
            value = operator.attributes.get(attribute.name)
            if isinstance(value, ScaleBias):
                return value.bits
    return None


def _chosen(law: Law, operator: OperatorDesc) -> Expression:
    """The branch of the formula that the enumerators of the description select."""
    enumerators: dict[str, str] = {}
    for attribute in law.table.attributes:
        if attribute.type == "ENUM":
            value = operator.attributes.get(attribute.name)
            if not isinstance(value, str) or value not in attribute.enumerators:
                known = ", ".join(attribute.enumerators)
                raise UsageError(f"{attribute.name} is {value!r}", f"choose one of {known}")
            enumerators[attribute.name] = value
    return choose(law.expression, enumerators)


def _undefined(expression: Expression) -> FormulaError:
    return FormulaError(f"the formula holds {expression!r}, which has no value", "use x and FLOAT attributes")


def _exact_number(value: float) -> Datum:
    """A constant of the formula, exactly."""
    negative = math.copysign(1.0, value) < 0
    return infinity(negative) if math.isinf(value) else Datum(negative, Fraction(value))


class _FloatingOracle:
    """Rules 1 to 6 for floating-point tensors."""

    def __init__(self, law: Law, formula: Expression, operator: OperatorDesc, form: Format, strict: bool) -> None:
        self.law = law
        self.formula = formula
        self.data_type = operator.input.data_type
        self.latitudes = law.latitudes(self.data_type, strict=strict)
        self.arithmetic = Arithmetic(form, self.latitudes)
        self.attributes = {
            attribute.name: self._attribute(
                _float_attribute(operator, attribute.name), attribute.cast != "undocumented"
            )
            for attribute in law.table.attributes
            if attribute.type == "FLOAT"
        }
        for name, bits in _unions(law, operator).items():
            self.attributes[name] = self._union(bits)
        self.attribute_values: Values = frozenset().union(*self.attributes.values())
        pair = _scale_bias(law, operator)
        self.scale_bias = None
        if pair is not None and law.scale_bias is not None:
            self.scale_bias = FloatingScaleBias(self.arithmetic, law.scale_bias, *pair)

    def _union(self, bits: int) -> Values:
        """Rule 3 for an attribute of the tensor's type, which no cast changes."""
        member = self.arithmetic.member(bits)
        zero = {0} if member is None and "nan-bound-zero" in self.latitudes else set()
        return self.arithmetic.closed({member, *zero})

    def _attribute(self, bits: int, documented: bool) -> Values:
        """Rule 3: the value set of a FLOAT attribute, given as its FLOAT32 pattern."""
        arithmetic, form = self.arithmetic, self.arithmetic.form
        datum = BINARY32.decode(bits)
        if datum is None:
            return NAN | arithmetic.closed({0}) if "nan-bound-zero" in self.latitudes else NAN
        rule = self.law.cast_to(self.data_type)
        cast = form.toward_zero if rule is not None and rule.rounding == "toward zero" else form.round
        nearest = cast(datum)
        if form is not BINARY16 or datum.infinite:
            return arithmetic.closed({nearest})
        either = not documented and "inexact-threshold" in self.latitudes
        if abs(datum.fraction) >= 65520:
            opened = either or "float16-overflow" in self.latitudes
            return arithmetic.closed({form.round(datum), form.toward_zero(datum)} if opened else {nearest})
        return arithmetic.closed(form.neighbours(datum) if either else {nearest})

    def _evaluate(self, expression: Expression, x: Values) -> Values:
        """Rule 5: the formula over value sets."""
        match expression:
            case Name("x"):
                return x
            case Name(name) if name in self.attributes:
                return self.attributes[name]
            case Number(value):
                return self.arithmetic.closed({self.arithmetic.form.round(_exact_number(value))})
            case Call(function, arguments) if function in FUNCTIONS:
                meaning = FUNCTIONS[function].exact.floating
                if meaning is None:
                    raise _undefined(expression)
                operands = [self._evaluate(argument, x) for argument in arguments]
                return self.arithmetic.apply(lambda *members: meaning(self.arithmetic, *members), *operands)
        raise _undefined(expression)

    def _narrowed_last(self, bits: int) -> Values:
        """Results of a formula that a wider format computes of the scaled input, converted at the end."""
        if self.scale_bias is None or not self.scale_bias.may_stay_wide or selects(self.formula):
            return frozenset()
        numbers: set[Member] = set()
        narrow = self.arithmetic, self.attributes
        for wide, g in self.scale_bias.wide(self.arithmetic.closed({self.arithmetic.member(bits)})):
            converted = {name: wide.converted(values, narrow[0].form) for name, values in narrow[1].items()}
            self.arithmetic, self.attributes = wide, converted
            try:
                result = self._evaluate(self.formula, g)
            finally:
                self.arithmetic, self.attributes = narrow
            numbers |= self.scale_bias.stored(result, wide.form)
        return frozenset(numbers)

    def acceptable(self, bits: int) -> Acceptable:
        """The formula over the input (rules 2, 4 and 5) with what rule 6 adds."""
        x = self.arithmetic.closed({self.arithmetic.member(bits)})
        if self.scale_bias is not None:
            x = self.scale_bias.applied(x)
        outcomes = self._evaluate(self.formula, x) | self._narrowed_last(bits)
        if None in x and "nan-input" in self.latitudes:  # rule 6
            outcomes |= self.attribute_values | NAN
        patterns = frozenset(member for member in outcomes if member is not None)
        payload = None
        if self.arithmetic.member(bits) is None and not self.latitudes & {"nan", "nan-payload"}:
            payload = bits
        return Acceptable(patterns, any_nan=None in outcomes, payload=payload)


class _IntegerOracle:
    """The rules of "Integer tensors" for every integer type."""

    def __init__(
        self, law: Law, formula: Expression, operator: OperatorDesc, data_type: DataType, strict: bool
    ) -> None:
        self.law = law
        self.formula = formula
        self.data_type = data_type
        self.latitudes = law.latitudes(data_type, strict=strict)
        self.integers = IntegerRange.of(data_type)
        self.attributes: dict[str, frozenset[int]] = {}
        for attribute in law.table.attributes:
            if attribute.type == "FLOAT":
                bits = _float_attribute(operator, attribute.name)
                values = self._attribute(attribute.name, bits, attribute.cast != "undocumented")
                self.attributes[attribute.name] = values
        for name, bits in _unions(law, operator).items():
            self.attributes[name] = frozenset({self.integers.wrapped(bits)})
        pair = _scale_bias(law, operator)
        self.scale_bias = None
        if pair is not None and law.scale_bias is not None:
            lenient = "integer-scale-bias" in self.latitudes
            self.scale_bias = IntegerScaleBias(self.integers, law.scale_bias, *pair, lenient=lenient)

    def _attribute(self, name: str, bits: int, documented: bool) -> frozenset[int]:
        """A FLOAT attribute, cast as documented; both neighbours where the cast is undocumented."""
        datum = BINARY32.decode(bits)
        if datum is None:
            if "integer-cast-range" in self.latitudes:
                raise Unconstrained(f"{name} is NaN, and the type is {self.data_type.name}")
            return frozenset({self.integers.saturated(0)})  # as Direct3D's ftoi
        if datum.infinite:
            return self._beyond(datum.value, f"{name} is {datum.value}, and the type is {self.data_type.name}")
        cast = self._whole(datum.fraction)
        if cast not in self.integers:
            return self._beyond(cast, f"{name} = {float(datum.value):.9g} lies outside {self.data_type.name}")
        if documented or "inexact-threshold" not in self.latitudes:
            return frozenset({cast})
        neighbours = {math.floor(datum.fraction), math.ceil(datum.fraction)}
        return frozenset(value for value in neighbours if value in self.integers)

    def _whole(self, value: Fraction) -> int:
        rule = self.law.cast_to(self.data_type)
        return half_even(value) if rule is not None and rule.rounding != "toward zero" else math.trunc(value)

    def _beyond(self, value: int | Fraction | float, cause: str) -> frozenset[int]:
        """A number outside the type: open where a clause says so, else the nearest limit, as Direct3D's ftoi."""
        if "integer-cast-range" in self.latitudes:
            raise Unconstrained(cause)
        return frozenset({self.integers.lowest if value < 0 else self.integers.highest})

    def _evaluate(self, expression: Expression, x: Any) -> frozenset[Any]:
        """The formula over integers (``x`` may lie outside the type), for every combination of attribute values."""
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
            case Call(function, arguments) if function in FUNCTIONS:
                meaning = FUNCTIONS[function].exact.integers
                if meaning is None:
                    raise _undefined(expression)
                operands = [self._evaluate(argument, x) for argument in arguments]
                return frozenset(meaning(self.integers, *combination) for combination in itertools.product(*operands))
        raise _undefined(expression)

    def acceptable(self, bits: int) -> Acceptable:
        """The formula over every g of the input; a result outside the type wraps modulo 2^bits."""
        x = self.integers.wrapped(bits)  # from two's complement
        inputs, results = frozenset({x}), set[int]()
        if self.scale_bias is not None:
            if not self.scale_bias.finite:
                return Acceptable(frozenset(), any_value=True)
            inputs = self.scale_bias.applied(x)
            for wide, stored in self.scale_bias.beyond(x):
                if selects(self.formula):
                    results |= stored if wide in self._evaluate(self.formula, wide) else frozenset()
                elif self.formula == _MAGNITUDE:  # taken in a wider type, and then stored
                    results.update(self.scale_bias.stored(abs(wide)))
        results.update(value for g in inputs for value in self._evaluate(self.formula, g))
        if "integer-overflow" in self.latitudes:
            results |= {self.integers.saturated(value) for value in results}
        return Acceptable(frozenset(self.integers.encode(value) for value in results))


_FORMATS: Mapping[DataType, Format] = {
    DataType.FLOAT16: BINARY16,
    DataType.FLOAT32: BINARY32,
    DataType.FLOAT64: BINARY64,
}


class ExactOracle:
    """An operator's exact oracle: what does not depend on the element is worked out once, here.

    Args:
        law: what the tables say of the operator (``Tables.law``).
        operator: the description; the input tensor's data type decides between the rules.
        strict: whether ``--strict-ieee`` leaves only the latitudes that it keeps.

    Raises:
        Unconstrained: a FLOAT attribute is NaN, infinite or outside the integer type, and a clause leaves that open.
        UsageError: the description lacks an attribute.
    """

    def __init__(self, law: Law, operator: OperatorDesc, strict: bool = False) -> None:
        self.data_type = operator.input.data_type
        formula = _chosen(law, operator)
        self._oracle: _FloatingOracle | _IntegerOracle
        if self.data_type in _FORMATS:
            self._oracle = _FloatingOracle(law, formula, operator, _FORMATS[self.data_type], strict)
        else:
            self._oracle = _IntegerOracle(law, formula, operator, self.data_type, strict)

    @property
    def attributes(self) -> Mapping[str, frozenset[Any]]:
        """What each number among the attributes may be in the tensor's type: integers, or patterns and ``None``."""
        return self._oracle.attributes

    def acceptable(self, bits: int) -> Acceptable:
        """The acceptable outcomes for the input element with the pattern ``bits``.

        Raises:
            Unconstrained: the formula holds a fraction and the tensors hold integers.
        """
        return self._oracle.acceptable(bits)


def acceptable(law: Law, operator: OperatorDesc, bits: int, *, strict: bool = False) -> Acceptable:
    """The acceptable outcomes for one input element; :class:`ExactOracle` in one call.

    Args:
        law: what the tables say of the operator (``Tables.law``).
        operator: the description.
        bits: the input element's pattern in the input tensor's data type.
        strict: whether ``--strict-ieee`` leaves only the latitudes that it keeps.

    Raises:
        Unconstrained: no acceptance follows from the pages.
        UsageError: the description lacks an attribute.
    """
    return ExactOracle(law, operator, strict).acceptable(bits)
