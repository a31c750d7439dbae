"""The exact oracle of formulas with several inputs and types: one element of each tensor, one of the output.

Every value is a set of members of one type: patterns of a floating-point format (``None`` is any NaN), integers, truth
values, and exact numbers of no type where operands of different types meet. Of ScaleBias that of an integer first input
alone has a place here (POW): for one input :mod:`exact` is, for approximate results ``specs.approximation.exactly``.
The casts here are those that a formula writes; FLOAT attributes of integer tensors are cast in :mod:`exact` and
:mod:`vectorised <dmlcts.specs.oracle.vectorised>`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.arithmetic.value_sets import NAN, Arithmetic
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_integer_scale_bias import IntegerScaleBias
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.statements.exactly import Undefined
from dmlcts.specs.statements.silent_points import ExactSilentPoint, exact_silent_points
from dmlcts.specs.tables.formula_types import Typed, common_type, joined, read_as
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate

_FORMATS: Mapping[DataType, Format] = {
    DataType.FLOAT16: BINARY16,
    DataType.FLOAT32: BINARY32,
    DataType.FLOAT64: BINARY64,
}


class _Open:
    """Any value of the type."""


OPEN = _Open()


@dataclass(frozen=True)
class _Value:
    """A type, and all members that a value of it may be."""

    kind: Typed
    members: frozenset[Any]


class TypedOracle:
    """What is right for one element of a description's output, given one element of each input.

    Args:
        law: what the tables say of the operator.
        operator: the description; its tensors say which types the type variables stand for.
        strict: whether ``--strict-ieee`` leaves only the latitudes that it keeps.

    Raises:
        UsageError: an accuracy rule is about the description's types.
    """

    def __init__(self, law: Law, operator: OperatorDesc, strict: bool = False) -> None:
        self.law = law
        self.table = law.table
        self.operator = operator
        self.strict = strict
        self.signature = Signature.of(operator, law.table)
        if is_approximate(law.table, self.signature):
            raise UsageError(f"{operator.name} is approximate on {self.signature}", "ask the oracle of such results")
        self.latitudes = law.latitudes(self.signature.data_type, strict=strict)
        self.expression = law.expression_for(operator)
        self.types = {variable: read_as(data_type, self.table) for variable, data_type in self.signature.types}
        self.output = self.types[self.table.tensors[self.table.output].type]
        self.permitted = law.permitted_formulas(self.signature, strict=strict)
        self.scale_bias = self._scale_bias()
        points = exact_silent_points(law.table, operator)
        self.settled = [point for point in points if point.accepted(strict=strict)]

    def _scale_bias(self) -> IntegerScaleBias | None:
        """That of the first input, an integer; numbers have their own oracles."""
        scale_bias = next(
            (attribute for attribute in self.operator.attributes.values() if isinstance(attribute, ScaleBias)), None
        )
        if scale_bias is None:
            return None
        own = self.types[self.table.tensors[self.table.inputs[0]].type]
        if own.is_floating or self.law.scale_bias is None or self.law.of_one_input:
            raise UsageError(f"{self.operator.name} is given a ScaleBias", "ask the oracle of one input")
        lenient = "integer-scale-bias" in self.latitudes
        return IntegerScaleBias(IntegerRange.of(own), self.law.scale_bias, *scale_bias.bits, lenient=lenient)

    @cached_property
    def attributes(self) -> Mapping[str, frozenset[Any]] | None:
        """What each number among the attributes may be in the main type; ``None`` where a clause leaves one open."""
        if not self.table.numbers:
            return {}
        try:
            return ExactOracle(self.law, self.operator, self.strict).attributes
        except Unconstrained:
            return None

    def acceptable(self, elements: Mapping[str, int]) -> Acceptable:
        """The acceptable outcomes for one element of each input.

        Args:
            elements: the patterns by the names that the formula has for the inputs; an optional one may be left out.

        Raises:
            UsageError: an input's element is not given.
        """
        if "any-value" in self.latitudes or self.attributes is None:
            return Acceptable(frozenset(), any_value=True)
        values = {name: self._input(name, member, elements) for name, member in self.table.formula_names.items()}
        result = self._by_every_formula(values)
        for point in self.settled:
            if point.holds(elements):
                result = self._accepted(point, elements) or result
        if OPEN in result.members:
            return Acceptable(frozenset(), any_value=True)
        encode: Callable[[Any], int] = _unchanged
        if not self.output.is_floating:
            encode = IntegerRange.of(self.output).encode
        numbers = frozenset(encode(number) for number in result.members if number is not None)
        return Acceptable(numbers, any_nan=None in result.members)

    def _by_every_formula(self, values: Mapping[str, _Value]) -> _Value:
        """What the formula gives, and what each permitted formula does."""
        members = self._as(self._evaluate(self.expression, values), self.output).members
        for formula, where in self.permitted:
            if where is None or True in self._evaluate(where, values).members:
                members |= self._as(self._evaluate(formula, values), self.output).members
        return _Value(self.output, members)

    def _accepted(self, point: ExactSilentPoint, elements: Mapping[str, int]) -> _Value | None:
        """What a silent point accepts in place of the formula's results; ``None`` where its behaviours give nothing."""
        results: set[Any] = set()
        for name in point.accepted(strict=self.strict):
            with contextlib.suppress(Undefined):
                results.add(point.result(name, elements))
        members = self._closed(self.output, results) if self.output.is_floating else frozenset(results)
        return _Value(self.output, members) if results else None

    def _input(self, name: str, member: str, elements: Mapping[str, int]) -> _Value:
        row = self.table.tensors[member]
        kind = self.types.get(row.type)
        if member not in self.operator.tensors and row.absent is not None:
            return _constant(row.absent)
        if name not in elements or kind is None:
            raise UsageError(f"no element of {member} is given", f"give one as {name!r}")
        if kind.is_floating:
            arithmetic = self._arithmetic(kind)
            return _Value(kind, arithmetic.closed({arithmetic.member(elements[name])}))
        whole = IntegerRange.of(kind).wrapped(elements[name])
        if self.scale_bias is None or member != self.table.inputs[0]:
            return _Value(kind, frozenset({whole}))
        return _Value(kind, self.scale_bias.applied(whole) if self.scale_bias.finite else frozenset({OPEN}))

    def _arithmetic(self, kind: DataType) -> Arithmetic:
        return Arithmetic(_FORMATS[kind], self.latitudes)

    def _evaluate(self, expression: Expression, inputs: Mapping[str, _Value]) -> _Value:
        match expression:
            case Name(name) if name in inputs:
                return inputs[name]
            case Name(name):
                return _Value(self.types[self.table.type_variables[0]], (self.attributes or {})[name])
            case Number(value):
                return _constant(value)
            case Limit(name, target):
                return _limit(self.types[target], lowest=name == "lowest")
            case Cast(target, argument):
                return self._cast(self._evaluate(argument, inputs), self.types[target])
            case Call("select", (condition, if_true, other)):
                chosen = self._alike([self._evaluate(if_true, inputs), self._evaluate(other, inputs)])
                held = self._evaluate(condition, inputs).members
                members = (value.members for value, truth in zip(chosen, (True, False), strict=True) if truth in held)
                return _Value(chosen[0].kind, frozenset().union(*members))
            case Call(name, arguments):
                return self._applied(FUNCTIONS[name], [self._evaluate(argument, inputs) for argument in arguments])
        raise AssertionError(f"a choice is left in {expression}")

    # types -------------------------------------------------------------------------------------------

    def _alike(self, values: list[_Value]) -> list[_Value]:
        """The values in one type: that of those that are no constants, or exact numbers where those differ."""
        wanted = joined([value.kind for value in values])
        return [self._as(value, wanted) for value in values]

    def _as(self, value: _Value, kind: Typed) -> _Value:
        """A constant in a type, or a number without one."""
        if value.kind == kind:
            return value
        if value.kind == "constant":
            if kind == "real":
                return _Value(kind, value.members)
            assert isinstance(kind, DataType), "types are checked when the table is read"  # noqa: S101
            if kind.is_floating:
                return self._rounded(value, kind)
            wrapped = IntegerRange.of(kind).wrapped
            return _Value(
                kind,
                frozenset(
                    OPEN
                    if constant is OPEN or constant is None or constant.infinite
                    else wrapped(int(constant.fraction))
                    for constant in value.members
                ),
            )
        assert kind == "real", f"types are checked when the table is read: {value.kind} as {kind}"  # noqa: S101
        return _Value(kind, frozenset(_exact(member, value.kind) for member in value.members))

    def _cast(self, value: _Value, target: DataType) -> _Value:
        if value.kind == target:
            return value
        if value.kind == "truth":
            if not target.is_floating:
                return _Value(target, frozenset(int(member) for member in value.members))
            unity = _FORMATS[target].round(Datum(False, Fraction(1)))
            return _Value(target, frozenset(unity if member else 0 for member in value.members))
        if isinstance(value.kind, DataType) and not value.kind.is_floating and not target.is_floating:
            wrapped = IntegerRange.of(target).wrapped
            return _Value(
                target, frozenset(integer if integer is OPEN else wrapped(integer) for integer in value.members)
            )
        exact = self._as(value, "real")
        if target.is_floating:
            return self._rounded(exact, target)
        return _Value(target, frozenset(self._to_integer(number, target) for number in exact.members))

    def _rounded(self, exact: _Value, target: DataType) -> _Value:
        form = _FORMATS[target]
        rounded = {member if member is OPEN or member is None else form.round(member) for member in exact.members}
        return _Value(target, self._closed(target, rounded))

    def _to_integer(self, member: Any, target: DataType) -> Any:
        """Truncated; what lies outside the type is open where a clause says so, else the nearest limit, of NaN 0."""
        integers = IntegerRange.of(target)
        if member is OPEN:
            return OPEN
        opened = "integer-cast-range" in self.latitudes
        if member is None:
            return OPEN if opened else integers.saturated(0)
        whole = member.value if member.infinite else int(member.fraction)
        return OPEN if opened and (member.infinite or whole not in integers) else integers.saturated(whole)

    # functions ---------------------------------------------------------------------------------------

    def _applied(self, function: Function, values: list[_Value]) -> _Value:
        if function.domain == "truth":
            assert function.exact.truth is not None  # noqa: S101 - the table of functions says so
            combinations = itertools.product(*(value.members for value in values))
            return _Value("truth", frozenset(function.exact.truth(*combination) for combination in combinations))
        kind = common_type(function, [value.kind for value in values])
        if isinstance(kind, DataType) and function.gives == "T" and not function.means(kind):
            return _Value(kind, frozenset({OPEN}))  # the type is unlisted: nothing says what is right
        if kind == "constant" and function.gives == "truth":
            kind = DataType.FLOAT64
        alike = [self._as(value, kind) for value in values]
        results: set[Any] = set()
        for operands in itertools.product(*(value.members for value in alike)):
            if OPEN in operands:
                results |= {True, False} if function.gives == "truth" else {OPEN}
            else:
                results |= set(self._of_members(function, kind, operands))
        if function.gives == "truth":
            return _Value("truth", frozenset(results))
        if isinstance(kind, DataType) and kind.is_floating:
            return _Value(kind, self._closed(kind, results))
        return _Value(kind, frozenset(results))

    def _of_members(self, function: Function, kind: Typed, operands: tuple[Any, ...]) -> Iterable[Any]:
        exact: Any = function.exact
        if kind in ("real", "constant"):
            return self._of_reals(function, operands)
        assert isinstance(kind, DataType)  # noqa: S101 - truth values have functions of their own
        if kind.is_floating:
            if function.gives == "truth":
                return {*exact.compared(self._arithmetic(kind), *operands)}
        elif function.gives == "truth":
            return {exact.ordered(*operands)}
        if kind.is_floating:
            return {*exact.floating(self._arithmetic(kind), *operands)}
        integers = IntegerRange.of(kind)
        whole = exact.integers(integers, *operands)
        if whole is None:
            return {OPEN}
        lenient = "integer-overflow" in self.latitudes and function.domain == "number"
        return {integers.wrapped(whole), integers.saturated(whole)} if lenient else {integers.wrapped(whole)}

    def _of_reals(self, function: Function, operands: tuple[Any, ...]) -> Iterable[Any]:
        exact: Any = function.exact
        if function.widens:  # of whole numbers alone
            if any(number is None or number.infinite or number.fraction.denominator > 1 for number in operands):
                return {OPEN}
            whole = exact.integers(IntegerRange.of(DataType.INT64), *(number.fraction.numerator for number in operands))
            return {OPEN if whole is None else Datum(whole < 0, Fraction(whole))}
        if None in operands:
            others = {operand for operand in operands if operand is not None}
            return {None, *others} if function.selects and "nan" in self.latitudes else NAN
        known = exact.real(*operands)
        return NAN if known is None else {known.low}

    def _closed(self, kind: DataType, members: Iterable[Any]) -> frozenset[Any]:
        values = set(members)
        opened = {OPEN} & values
        return frozenset({*self._arithmetic(kind).closed(values - opened), *opened})


def _constant(value: float) -> _Value:
    return _Value("constant", frozenset({Datum(bool(np.signbit(value)), Fraction(value))}))


def _unchanged(value: int) -> int:
    return value


def _exact(member: Any, kind: Typed) -> Any:
    """A member of a type as an exact number."""
    if member is OPEN or member is None:
        return member
    assert isinstance(kind, DataType)  # noqa: S101 - truth values are cast
    if kind.is_floating:
        return _FORMATS[kind].decode(member)
    return Datum(member < 0, Fraction(member))


def _limit(kind: DataType, *, lowest: bool) -> _Value:
    if kind.is_floating:
        form = _FORMATS[kind]
        return _Value(kind, frozenset({form.largest | (form.sign_bit if lowest else 0)}))
    integers = IntegerRange.of(kind)
    return _Value(kind, frozenset({integers.lowest if lowest else integers.highest}))
