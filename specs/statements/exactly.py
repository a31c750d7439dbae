"""What a statement says of one element, in Python integers and exact rounding; ``in_arrays`` computes apart from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import Datum, infinity
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScalarUnion
from dmlcts.specs.formula import Call, Cast, Dispatch, Expression, Limit, Name, Number, Outside, Stored
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.latitudes import NONE
from dmlcts.specs.statements.kinds import Kind, joined

_FORMATS: Mapping[DataType, Format] = {
    DataType.FLOAT16: BINARY16,
    DataType.FLOAT32: BINARY32,
    DataType.FLOAT64: BINARY64,
}
_MOST_PLACES = 256
"""Shifts by more are undefined: no implementation could be asked to show them."""


class Undefined(Exception):  # noqa: N818 - what a statement says, and no fault
    """The statement has no value for the element."""


@dataclass(frozen=True)
class Value:
    """A value with its kind: a pattern (``None`` is any NaN), an exact integer, a truth value, or a constant."""

    kind: Kind
    content: Any


def of_pattern(bits: int, data_type: DataType) -> Value:
    """The element of a tensor."""
    if data_type.is_floating:
        return Value(data_type, _arithmetic(data_type).member(bits))
    return Value(data_type, IntegerRange.of(data_type).wrapped(bits))


def of_attribute(attribute: Any, data_type: DataType) -> Value:
    """An attribute in the tensors' type: integers truncated, floating-point numbers rounded to nearest.

    Returns:
        Its value; of content :class:`Undefined` where the integer type does not hold it.
    """
    number = attribute.value if isinstance(attribute, ScalarUnion) else attribute
    if np.isnan(number):
        return Value(data_type, None if data_type.is_floating else Undefined)
    if data_type.is_floating:
        negative = bool(np.signbit(number))
        exact = infinity(negative) if np.isinf(number) else Datum(negative, Fraction(float(number)))
        return Value(data_type, _FORMATS[data_type].round(exact))
    whole = None if np.isinf(number) else int(number)
    return Value(data_type, whole if whole is not None and whole in IntegerRange.of(data_type) else Undefined)


def of_number(number: float) -> Value:
    """A number that the statement itself, or the table, holds."""
    return Value("constant", Fraction(number))


def evaluate(
    expression: Expression,
    values: Mapping[str, Value],
    types: Mapping[str, DataType],
    dispatched: Mapping[Dispatch, Value] | None = None,
) -> Value:
    """The value of a statement whose kinds are right (:func:`.kinds.kind_of`).

    Args:
        expression: the statement, enumerators chosen.
        values: inputs and attributes, by the names that the formula has for them.
        types: the data type of each type variable, as the formula reads it.
        dispatched: what an implementation gave for each operator of a relation.

    Raises:
        Undefined: it has none.
    """

    def value(part: Expression) -> Value:
        match part:
            case Name(name):
                named_value = values[name]
                if named_value.content is Undefined:
                    raise Undefined
                return named_value
            case Number(number):
                return of_number(number)
            case Limit(name, target):
                return _limit(name, types[target])
            case Outside(target, argument):
                return Value("truth", _integer(value(argument)) not in IntegerRange.of(types[target]))
            case Stored(how, target, argument):
                integers = IntegerRange.of(types[target])
                bring = integers.wrapped if how == "wrap" else integers.saturated
                return Value(types[target], bring(_integer(value(argument))))
            case Cast(target, argument):
                return _cast(value(argument), types[target])
            case Dispatch():
                return (dispatched or {})[part]
            case Call("select", (condition, if_true, other)):
                held = value(condition).content
                return value(if_true if held else other)
            case Call(name, arguments):
                return _applied(name, [value(argument) for argument in arguments])
        raise AssertionError(f"no statement: {part!r}")

    return value(expression)


def pattern(value: Value, data_type: DataType) -> int | None:
    """The pattern that a value is in a type, ``None`` for any NaN.

    Raises:
        Undefined: the type does not hold it.
    """
    if data_type.is_floating:
        bits = _as(value, data_type).content
        return None if bits is None else int(bits)
    integers = IntegerRange.of(data_type)
    whole = _integer(value)
    if whole not in integers:
        raise Undefined
    return integers.encode(whole)


def _arithmetic(data_type: DataType) -> Arithmetic:
    return Arithmetic(_FORMATS[data_type], NONE)


def _limit(name: str, kind: DataType) -> Value:
    if name == "width":
        return Value("constant", Fraction(8 * kind.itemsize))
    if kind.is_floating:
        form = _FORMATS[kind]
        return Value(kind, form.largest | (form.sign_bit if name == "lowest" else 0))
    integers = IntegerRange.of(kind)
    return Value(kind, integers.lowest if name == "lowest" else integers.highest)


def _integer(value: Value) -> int:
    if isinstance(value.content, Fraction):
        if value.content.denominator != 1:
            raise Undefined
        return value.content.numerator
    return int(value.content)


def _as(value: Value, kind: Kind) -> Value:
    """A value where operands meet in ``kind``."""
    if isinstance(kind, DataType) and kind.is_floating:
        if value.kind != "constant":
            return value
        return Value(kind, _FORMATS[kind].round(Datum(value.content < 0, value.content)))
    return value if value.kind == kind == "constant" else Value(kind, _integer(value))


def _cast(value: Value, target: DataType) -> Value:
    if target.is_floating:
        return _as(Value("constant", Fraction(value.content)) if value.kind == "truth" else value, target)
    return Value(target, IntegerRange.of(target).wrapped(_integer(value)))


def _applied(name: str, values: list[Value]) -> Value:
    function = FUNCTIONS[name]
    exact = function.exact
    if function.domain == "truth":
        assert exact.truth is not None  # noqa: S101 - the table of functions says so
        return Value("truth", exact.truth(*(value.content for value in values)))
    kind = joined([value.kind for value in values], name)
    operands = [_as(value, kind).content for value in values]
    if isinstance(kind, DataType) and kind.is_floating:
        meaning: Any = exact.compared if function.gives == "truth" else exact.floating
        return Value("truth" if function.gives == "truth" else kind, _only(meaning(_arithmetic(kind), *operands)))
    if function.gives == "truth":
        assert exact.ordered is not None  # noqa: S101
        return Value("truth", exact.ordered(*operands))
    if kind == "constant":
        return Value(kind, _of_constants(name, operands))
    return Value("whole", _of_integers(name, operands))


def _only(values: Iterable[Any]) -> Any:
    members = set(values)
    if len(members) != 1:
        raise Undefined
    return members.pop()


def _of_constants(name: str, operands: list[Fraction]) -> Fraction:
    match name, operands:
        case "neg", [a]:
            return -a
        case "divide", [a, b] if b != 0:
            return a / b
    return Fraction(_of_integers(name, [_integer(Value("constant", operand)) for operand in operands]))


def _of_integers(name: str, operands: list[int]) -> int:
    """Arithmetic of exact integers, which know no type: nothing overflows."""
    match name, operands:
        case (("divide" | "modulus_truncate"), [a, b]):
            if b == 0:
                raise Undefined
            quotient = math.trunc(Fraction(a, b))
            return quotient if name == "divide" else a - b * quotient
        case "modulus_floor", [a, b]:
            if b == 0:
                raise Undefined
            return a - b * math.floor(Fraction(a, b))
        case (("shift_left" | "shift_right"), [a, count]):
            if not 0 <= count <= _MOST_PLACES:
                raise Undefined
            return a * 2**count if name == "shift_left" else math.floor(Fraction(a, 2**count))
        case "bit_and", [a, b]:
            return a & b
        case "bit_or", [a, b]:
            return a | b
        case "bit_xor", [a, b]:
            return a ^ b
        case "bit_not", [a]:
            return ~a
        case "bit_count", [a]:
            if a < 0:
                raise Undefined  # an integer without a width has no count of its sign
            return a.bit_count()
    meaning = FUNCTIONS[name].exact.integers
    assert meaning is not None  # noqa: S101 - kinds are checked when the table is read
    number = meaning(IntegerRange(64, True), *operands)
    assert number is not None, "what divides or shifts stands above"  # noqa: S101
    return number
