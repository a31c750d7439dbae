"""The real number that a formula stands for, exactly or enclosed, one element at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.last_place import unit_in_the_last_place
from dmlcts.specs.arithmetic.real_number import Datum, Enclosure, infinity
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.tables.law import Law

FORMATS: Mapping[DataType, Format] = {
    DataType.FLOAT16: BINARY16,
    DataType.FLOAT32: BINARY32,
    DataType.FLOAT64: BINARY64,
}

_AT_CORNERS = frozenset({"add", "subtract", "multiply", "neg"})
"""Functions besides the monotone ones whose extremes over enclosures lie at the enclosures' ends."""


def attribute_numbers(law: Law, operator: OperatorDesc) -> dict[str, float]:
    """The FLOAT attributes that a formula names, as numbers of the main type: cast to it, to nearest."""
    kind = operator.tensors[next(iter(law.table.formula_names.values()))].data_type
    names = [item.name for item in law.table.attributes if item.type == "FLOAT"]
    with np.errstate(all="ignore"):
        return {name: float(np.asarray(operator.attributes[name]).astype(kind.numpy)) for name in names}


class Reference:
    """What both references know of a description: its formula, its numbers, and what its type variables stand for.

    Args:
        law: what the tables say of the operator.
        operator: the description.
    """

    def __init__(self, law: Law, operator: OperatorDesc) -> None:
        self.table = law.table
        self.operator = operator
        self.output = operator.output.data_type
        self._expression = law.expression_for(operator)
        self._numbers = attribute_numbers(law, operator)
        self._types = {
            row.type: operator.tensors[name].data_type
            for name, row in law.table.tensors.items()
            if name in operator.tensors
        }


class ExactReference(Reference):
    """The real result of a description's formula for one element, found without rounding."""

    def result(self, elements: Mapping[str, int]) -> Enclosure | None:
        """Bounds of the real result, equal where it is known; ``None`` where there is none (a NaN).

        Args:
            elements: one element's pattern of each input, by the tensors' names.

        Raises:
            FormulaError: the formula holds what no reference follows.
        """
        enclosure = self._evaluate(self._expression, elements)
        if enclosure is not None and not isinstance(enclosure, Enclosure):
            raise FormulaError(f"{self.table.operator} gives truth values", "nothing is to be measured there")
        return enclosure

    def error(self, elements: Mapping[str, int], got: int) -> tuple[Fraction, Fraction] | None:
        """How far a result is from the real number: in units of the last place there, and absolutely.

        An integer's unit is 1.

        Args:
            elements: as for :meth:`result`.
            got: the pattern of the result.

        Returns:
            The two, ``None`` where the real result or what was got is no finite number.
        """
        real, actual = self.result(elements), decoded(got, self.output)
        if real is None or actual is None or actual.infinite or real.low.infinite or real.high.infinite:
            return None
        distance = max(abs(actual.fraction - real.low.fraction), abs(actual.fraction - real.high.fraction))
        return distance / unit_at(self.output, real.low.fraction), distance

    def _evaluate(self, expression: Expression, elements: Mapping[str, int]) -> Any:
        match expression:
            case Name(name) if name in self.table.formula_names:
                return self._input(self.table.formula_names[name], elements)
            case Name(name):
                return _of_float(self._numbers[name])
            case Number(value):
                return _of_float(value)
            case Limit(name, target):
                return _limit(self._types[target], lowest=name == "lowest")
            case Cast(target, argument):
                return _cast(self._evaluate(argument, elements), self._types[target])
            case Call("select", (condition, if_true, other)):
                return self._evaluate(if_true if self._evaluate(condition, elements) else other, elements)
            case Call(name, arguments):
                return _applied(FUNCTIONS[name], [self._evaluate(argument, elements) for argument in arguments])
        raise FormulaError(f"{expression} has no real meaning", "measure formulas of functions of numbers")

    def _input(self, member: str, elements: Mapping[str, int]) -> Enclosure | None:
        if member not in self.operator.tensors:
            return _of_float(self.table.tensors[member].absent or 0.0)
        if member not in elements:
            raise UsageError(f"no element of {member} is given", f"give one as {member!r}")
        datum = decoded(elements[member], self.operator.tensors[member].data_type)
        return None if datum is None else Enclosure(datum, datum)


def decoded(bits: int, kind: DataType) -> Datum | None:
    """The number that a pattern of a type stands for; ``None`` for a NaN."""
    if kind.is_floating:
        return FORMATS[kind].decode(bits)
    value = IntegerRange.of(kind).wrapped(bits)
    return Datum(value < 0, Fraction(value))


def unit_at(kind: DataType, value: Fraction) -> Fraction:
    """The unit of the last place of a type at a real number; 1 of an integer type."""
    return unit_in_the_last_place(FORMATS[kind], value) if kind.is_floating else Fraction(1)


def _of_float(value: float) -> Enclosure | None:
    if np.isnan(value):
        return None
    datum = infinity(value < 0) if np.isinf(value) else Datum(bool(np.signbit(value)), Fraction(value))
    return Enclosure(datum, datum)


def _limit(kind: DataType, *, lowest: bool) -> Enclosure | None:
    limits: Any = np.finfo(kind.numpy) if kind.is_floating else np.iinfo(kind.numpy)
    limit = limits.min if lowest else limits.max
    value = Fraction(float(limit)) if kind.is_floating else Fraction(int(limit))
    return Enclosure(Datum(value < 0, value), Datum(value < 0, value))


def _cast(value: Any, target: DataType) -> Any:
    """Into a floating-point type nothing is rounded: that is what is measured. Into an integer: truncated, clamped."""
    if isinstance(value, bool):
        return _of_float(float(value))
    if target.is_floating:
        return value
    if value is None:
        return _of_float(0.0)
    limits = IntegerRange.of(target)

    def stored(end: Datum) -> Datum:
        inside = min(max(end.value, limits.lowest), limits.highest)
        whole = int(inside)
        return Datum(whole < 0, Fraction(whole))

    return Enclosure(stored(value.low), stored(value.high))


def _applied(function: Function, operands: list[Any]) -> Any:
    if function.domain == "truth":
        assert function.exact.truth is not None  # noqa: S101 - the table of functions says so
        return function.exact.truth(*operands)
    if function.gives == "truth":
        return _compared(function, operands)
    if any(operand is None for operand in operands):
        return None
    if all(operand.low == operand.high for operand in operands):
        return _at(function, [operand.low for operand in operands])
    apart = function.name == "divide" and operands[1].low.value * operands[1].high.value > 0
    if not (function.monotone or function.name in _AT_CORNERS or apart):
        raise FormulaError(f"{function.name} of an enclosure is not known", "apply it to exact numbers")
    corners = [_at(function, list(corner)) for corner in itertools.product(*operands)]
    if any(corner is None for corner in corners):
        return None
    ends = [end for corner in corners if corner is not None for end in corner]
    return Enclosure(min(ends, key=_value), max(ends, key=_value))


def _value(datum: Datum) -> Any:
    return datum.value


def _at(function: Function, operands: list[Datum]) -> Enclosure | None:
    """A function of exact numbers."""
    if function.exact.real is None:
        raise FormulaError(f"{function.name} has no real meaning", "give it one in the table of functions")
    return function.exact.real(*operands)


def _compared(function: Function, operands: list[Any]) -> bool:
    if function.name == "is_nan":
        return operands[0] is None
    if any(operand is None for operand in operands):
        return function.name == "not_equal"
    if function.exact.ordered is None or len(operands) != 2:
        raise FormulaError(f"{function.name} of real numbers is not known", "compare numbers with one another")
    outcomes = {function.exact.ordered(*(end.value for end in ends)) for ends in itertools.product(*operands)}
    if len(outcomes) > 1:
        raise FormulaError(f"{function.name} of enclosures is not decided", "compare exact numbers")
    return outcomes.pop()
