"""What is acceptable of approximate results, for one element: intervals of fractions.

A value is a set of intervals of exact numbers, of any NaN (``None``) and of anything (:data:`OPEN`). Real results and
bounds are enclosed with ever more bits, until the enclosures' outer and inner ends permit the same numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from dmlcts.specs.approximation.exact_bounds import holds, margin, multiplied
from dmlcts.specs.approximation.exact_results import COMPARISONS, OPEN, real_ends, truths
from dmlcts.specs.approximation.exact_spans import (
    Span,
    by_value,
    datum_of,
    decoded,
    down,
    finite_and_infinite,
    lowered,
    nearest,
    negated,
    point,
    up,
)
from dmlcts.specs.approximation.rules import ARGUMENTS, DescribedResults, Reading, bound, leaves_nan_open
from dmlcts.specs.approximation.scaling import Scaling, as_datum
from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import PRECISIONS, Datum
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.models import Tolerance
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.tables.formula_types import Typed, common_type

_FORMATS: Mapping[DataType, Format] = {
    DataType.FLOAT16: BINARY16,
    DataType.FLOAT32: BINARY32,
    DataType.FLOAT64: BINARY64,
}
_OF_SIGNED_ZEROS = ("divide", "pow", "atan_yx")
_ZERO = Datum(False, Fraction(0))
_WHOLE = ("floor", "ceil", "trunc", "round_half_even", "round_half_away")


class _Value(NamedTuple):
    kind: Typed
    members: frozenset[Any]


class ApproximateOracle(DescribedResults):
    """What is acceptable for one element of an operator that has accuracy rules."""

    def acceptable(self, elements: Mapping[str, int]) -> Acceptable:
        """The acceptable outcomes for one element of each input.

        Args:
            elements: the patterns by the names that the formula has for the inputs; an optional one may be left out.

        Raises:
            UsageError: an input's element is not given.
        """
        members: set[Any] = set()
        for reading in self.readings:
            members |= self._of_reading(reading, elements)
        if OPEN in members:
            return Acceptable(frozenset(), any_value=True)
        encode = self._encoded
        spans = frozenset((encode(member.low), encode(member.high)) for member in members if member is not None)
        zeros: frozenset[int] = frozenset()
        if self.output.is_floating and any(
            member is not None and member.low.value <= 0 <= member.high.value for member in members
        ):
            zeros = frozenset({0, _FORMATS[self.output].sign_bit})
        return Acceptable(zeros, any_nan=None in members, intervals=spans)

    def _encoded(self, datum: Datum) -> int:
        if not self.output.is_floating:
            return IntegerRange.of(self.output).encode(int(datum.fraction))
        return _FORMATS[self.output].round(datum)

    def _of_reading(self, reading: Reading, elements: Mapping[str, int]) -> set[Any]:
        values = {
            name: self._input(name, member, elements, reading) for name, member in self.table.formula_names.items()
        }
        if reading.where is None:
            return self._of_values(reading, values)
        outcomes: set[Any] = set()
        for members in itertools.product(*(value.members for value in values.values())):
            if OPEN in members:
                continue
            numbers = {name: None if span is None else span.low for name, span in zip(values, members, strict=True)}
            if holds(reading.where, {**numbers, **self._numbers}):
                alone = zip(values.items(), members, strict=True)
                outcomes |= self._of_values(
                    reading, {name: value._replace(members=frozenset({span})) for (name, value), span in alone}
                )
        return outcomes

    def _of_values(self, reading: Reading, values: Mapping[str, _Value]) -> set[Any]:
        result = _Steps(self, reading).evaluate(reading.expression, values)
        if result.kind is self.output or not self.output.is_floating:
            return set(result.members)
        form = _FORMATS[self.output]
        return {
            member
            if member is None or member is OPEN
            else Span(nearest(member.low, form), nearest(member.high, form))
            if self.strict
            else Span(down(member.low, form), up(member.high, form))
            for member in result.members
        }

    @property
    def _numbers(self) -> dict[str, Datum]:
        return {name: datum_of(float(self.operator.attributes[name])) for name in self.table.numbers}  # type: ignore[arg-type]  # numbers

    def numbers(self, name: str, kind: DataType) -> _Value:
        """What a number among the attributes may be in the type that computes."""
        form = _FORMATS[self.signature.data_type]
        patterns = ExactOracle(self.law, self.operator, self.strict).attributes[name]
        data = {None if bits is None else form.decode(bits) for bits in patterns}
        if kind is not self.signature.data_type:
            data.add(self._numbers[name])
        return _Value(kind, frozenset(None if datum is None else Span(datum, datum) for datum in data))

    def _input(self, name: str, member: str, elements: Mapping[str, int], reading: Reading) -> _Value:
        row = self.table.tensors[member]
        if member not in self.operator.tensors and row.absent is not None:
            return _Value("constant", frozenset({point(datum_of(row.absent))}))
        own = self.types.get(row.type)
        if name not in elements or own is None:
            raise UsageError(f"no element of {member} is given", f"give one as {name!r}")
        scaling = None
        if self.scale_bias is not None and member == self.table.inputs[0]:
            assert self.law.scale_bias is not None, "lint asks for a formula"  # noqa: S101
            scaling = Scaling(self.law.scale_bias, self.scale_bias, own, self.latitudes)
        if not own.is_floating:
            whole = IntegerRange.of(own).wrapped(elements[name])
            scaled = [whole] if scaling is None else scaling.integers(whole)
            return _Value(own, frozenset({OPEN} if scaled is None else {point(as_datum(number)) for number in scaled}))
        kind = reading.computing(own)
        data = [_FORMATS[own].decode(elements[name])]
        if scaling is not None:
            data = list(scaling.numbers(elements[name], kind))
        members: set[Any] = set()
        for datum in data:
            members.add(None if datum is None else point(datum))
            if datum is not None and self.flushes(kind, datum, datum):
                members.add(point(Datum(datum.negative, Fraction(0))))
        return _Value(kind, frozenset(members))

    def flushes(self, kind: DataType, low: Datum, high: Datum) -> bool:
        """Whether a number between two may be flushed to zero."""
        if kind is not DataType.FLOAT32 or "subnormals" not in self.latitudes:
            return False
        tiny = BINARY32.smallest_normal
        return low.value < tiny and high.value > -tiny and not low.value == high.value == 0


class _Steps:
    def __init__(self, oracle: ApproximateOracle, reading: Reading) -> None:
        self.oracle, self.reading = oracle, reading

    def evaluate(self, expression: Expression, inputs: Mapping[str, _Value]) -> _Value:
        match expression:
            case Name(name) if name in inputs:
                return inputs[name]
            case Name(name):
                return self.oracle.numbers(name, self.reading.computing(self.oracle.signature.data_type))
            case Number(value):
                return _Value("constant", frozenset({point(datum_of(value))}))
            case Limit(name, target):
                return _limit(self.oracle.types[target], lowest=name == "lowest")
            case Cast(target, argument, True):
                return self._between(self.evaluate(argument, inputs), self.oracle.types[target])
            case Cast(target, argument):
                own = self.oracle.types[target]
                return self._cast(self.evaluate(argument, inputs), self.reading.computing(own))
            case Call("select", (Call(name, sides), if_true, other)) if name in COMPARISONS:
                held = self._held(name, [self.evaluate(side, inputs) for side in sides])
                kind, branches = self._alike(
                    FUNCTIONS["max"], [self.evaluate(part, inputs) for part in (if_true, other)]
                )
                chosen = (members for members, truth in zip(branches, (True, False), strict=True) if truth in held)
                return _Value(kind, frozenset().union(*chosen))
            case Call(name, arguments) if name != "select":
                return self._applied(FUNCTIONS[name], [self.evaluate(argument, inputs) for argument in arguments])
        raise FormulaError(f"{expression} is not evaluated over intervals", "write it without a choice")

    def _between(self, value: _Value, own: DataType) -> _Value:
        """What an operator gives to the next: in a wider type as it is, or rounded as its own type stores it."""
        if value.kind is own:
            return value
        form = _FORMATS[own]
        members = set(value.members)
        for member in value.members:
            if member is None or member is OPEN:
                continue
            ways = (nearest, nearest) if self.oracle.strict else (down, up)
            stored = Span(*(way(end, form) for way, end in zip(ways, member, strict=True)))
            members |= finite_and_infinite(stored, decoded(form, form.largest))
        return _Value(value.kind, frozenset(members))

    def _cast(self, value: _Value, target: DataType) -> _Value:
        if value.kind == target:
            return value
        if target.is_floating:
            form = _FORMATS[target]
            members: set[Any] = set()
            for member in value.members:
                if member is None or member is OPEN:
                    members.add(member)
                elif member.low == member.high:  # a number: either of the two next to it
                    ways = (nearest,) if self.oracle.strict else (down, up)
                    members |= {point(way(member.low, form)) for way in ways}
                elif self.oracle.strict:
                    members.add(Span(nearest(member.low, form), nearest(member.high, form)))
                else:
                    members.add(Span(down(member.low, form), up(member.high, form)))
            return _Value(target, frozenset(members))
        integers = IntegerRange.of(target)

        def whole(datum: Datum) -> Any:
            number: Any = datum.value if datum.infinite else int(datum.fraction)
            inside = integers.saturated(number)
            return inside, datum.infinite or inside != number

        members = set()
        for member in value.members:
            if member is OPEN or (member is None and "integer-cast-range" in self.oracle.latitudes):
                members.add(OPEN)
                continue
            (low, below), (high, above) = map(whole, member or point(datum_of(0)))
            opened = (below or above) and "integer-cast-range" in self.oracle.latitudes
            members.add(OPEN if opened else Span(*(Datum(end < 0, Fraction(end)) for end in (low, high))))
        return _Value(target, frozenset(members))

    def _applied(self, function: Function, values: list[_Value]) -> _Value:
        kind, sets = self._alike(function, values)
        members: set[Any] = set()
        for operands in itertools.product(*sets):
            members |= set(self._of(function, kind, operands))
        return _Value(kind, frozenset(members))

    def _alike(self, function: Function, values: list[_Value]) -> tuple[Typed, list[frozenset[Any]]]:
        """The type in which a function's operands meet, and their members, constants rounded to it."""
        kind = common_type(function, [value.kind for value in values])
        form = _FORMATS.get(kind) if isinstance(kind, DataType) else None
        return kind, [
            frozenset(point(nearest(member.low, form)) for member in value.members)
            if value.kind == "constant" and form is not None
            else value.members
            for value in values
        ]

    def _held(self, comparison: str, values: list[_Value]) -> set[bool]:
        """What a comparison may give."""
        _, sets = self._alike(FUNCTIONS[comparison], values)
        lenient = "nan-comparison" in self.oracle.latitudes
        outcomes = (truths(comparison, operands, lenient=lenient) for operands in itertools.product(*sets))
        return set().union(*outcomes)

    def _of(self, function: Function, kind: Typed, operands: tuple[Any, ...]) -> Iterable[Any]:
        if OPEN in operands:
            return {OPEN}
        if None in operands:
            floating = isinstance(kind, DataType) and kind.is_floating
            rule = self.oracle.law.tolerance(function.name, kind, strict=self.oracle.strict) if floating else None  # type: ignore[arg-type]
            others = (
                {operand for operand in operands if operand is not None} if self._selects_numbers(function) else set()
            )
            return {OPEN} if leaves_nan_open(rule) else {None, *others, *_despite_nan(function, operands)}
        if isinstance(kind, DataType) and kind.is_floating and self._is_outside(function, kind, operands):
            return {OPEN}
        members: set[Any] = set()
        for bits in PRECISIONS:
            real = real_ends(function, operands, bits)
            if real is None or real is OPEN:
                return {real}
            outer, inner = real
            members = self._around(function, kind, outer, operands, bits, outer=True)
            if members == self._around(function, kind, inner, operands, bits, outer=False):
                break
        return members  # of the last precision what either side of an edge permits

    def _around(
        self, function: Function, kind: Typed, real: Span, operands: tuple[Span, ...], bits: int, *, outer: bool
    ) -> set[Any]:
        """What is permitted around real results; ``outer``: by the widest bounds that are possible."""
        if not (isinstance(kind, DataType) and kind.is_floating):
            return self._stored(real, function, kind)
        members: set[Any] = set()
        for variant in self._with_other_sign(function, operands, real):
            members |= self._rounded(function, kind, variant, operands, bits, outer=outer)
        return members

    def _selects_numbers(self, function: Function) -> bool:
        """Whether the other operand of a minimum or maximum with a NaN is acceptable."""
        return function.selects and "nan" in self.oracle.latitudes

    def _is_outside(self, function: Function, kind: DataType, operands: tuple[Span, ...]) -> bool:
        """Whether operands are outside what the function's rule is about."""
        tolerance = self.oracle.law.tolerance(function.name, kind, strict=self.oracle.strict)
        return tolerance is not None and not _is_about(tolerance, operands)

    def _with_other_sign(self, function: Function, operands: tuple[Span, ...], real: Span) -> list[Span]:
        """The results, and those of the other sign where that comes of a zero's, which may be lost."""
        if function.name not in _OF_SIGNED_ZEROS or "zero-sign" not in self.oracle.latitudes:
            return [real]
        zero = operands[1 if function.name == "divide" else 0].low.value == 0
        if zero and (real.low.infinite or function.name == "atan_yx"):
            return [real, Span(negated(real.high), negated(real.low))]
        return [real]

    def _stored(self, real: Span, function: Function, kind: Typed) -> set[Any]:
        """Exact numbers of no type as they are; integers modulo 2^bits, and saturated where that may be."""
        if not isinstance(kind, DataType) or function.selects:
            return {real}
        integers = IntegerRange.of(kind)
        ways = [integers.wrapped, *([integers.saturated] if "integer-overflow" in self.oracle.latitudes else [])]
        return {Span(*(as_datum(way(int(end.fraction))) for end in real)) for way in ways}

    def _rounded(
        self, function: Function, kind: DataType, real: Span, operands: tuple[Span, ...], bits: int, *, outer: bool
    ) -> set[Any]:
        oracle, form = self.oracle, _FORMATS[kind]
        tolerance = oracle.law.tolerance(function.name, kind, strict=oracle.strict)
        permitted = partial(_permitted, form, real=real, operands=operands, bits=bits, outer=outer)
        span = permitted(tolerance, strict=oracle.strict)
        judged = oracle.law.tolerance(function.name, kind, strict=False) if oracle.strict else None
        if judged is not None and _is_about(judged, operands):  # --strict-ieee asks for both
            wider = permitted(judged, strict=False)
            span = Span(max(span.low, wider.low, key=by_value), min(span.high, wider.high, key=by_value))
        members: set[Any] = {span}
        if function.name in _WHOLE and span.low.value != span.high.value:
            near = not span.low.infinite and not span.high.infinite and span.high.fraction - span.low.fraction <= 1
            members = {point(span.low), point(span.high)} if near else {span}
        if span.low.infinite != span.high.infinite:
            members = finite_and_infinite(span, decoded(form, form.largest))
        low, high = min(real.low, span.low, key=by_value), max(real.high, span.high, key=by_value)
        if oracle.flushes(kind, low, high):  # tiny before or after what the rule permits
            members.add(point(Datum(False, Fraction(0))))
        return members


def _permitted(
    form: Format,
    tolerance: Tolerance | None,
    real: Span,
    operands: tuple[Span, ...],
    *,
    strict: bool,
    bits: int,
    outer: bool,
) -> Span:
    """Every number that a rule permits around real results; of no rule those that one rounding gives."""
    if tolerance is None:
        return Span(nearest(real.low, form), nearest(real.high, form))
    if tolerance.neighbours:
        return Span(down(real.low, form), up(real.high, form))
    lows, highs = _named_ends(operands)
    least, most = multiplied(tolerance, real, (lows, highs), bits=bits, outer=outer)
    if not least.infinite:
        distance = max(margin(form, tolerance, least, names, bits=bits, outer=outer) for names in (lows, highs))
        least = lowered(least, distance, form)
    if not most.infinite:
        distance = max(margin(form, tolerance, most, names, bits=bits, outer=outer) for names in (lows, highs))
        most = negated(lowered(negated(most), distance, form))
    low, high = down(real.low, form), up(real.high, form)
    if strict:
        low, high = nearest(real.low, form), nearest(real.high, form)
    if tolerance.factor is not None:  # what is multiplied keeps its sign
        least = max(least, _ZERO, key=by_value) if real.low.value >= 0 else least
        most = min(most, negated(_ZERO), key=by_value) if real.high.value <= 0 else most
    return Span(min(low, least, key=by_value), max(high, most, key=by_value))


def _is_about(tolerance: Tolerance, operands: tuple[Span, ...]) -> bool:
    """Whether a rule is about these operands."""
    if tolerance.within is None:
        return True
    condition = bound(tolerance.within)
    return all(holds(condition, names) for names in _named_ends(operands))


def _named_ends(operands: tuple[Span, ...]) -> tuple[dict[str, Datum], dict[str, Datum]]:
    """The lower and the upper ends of a function's arguments, as bounds call them."""
    low, high = ({name: operand[end] for name, operand in zip(ARGUMENTS, operands, strict=False)} for end in (0, 1))
    return low, high


def _despite_nan(function: Function, operands: tuple[Any, ...]) -> set[Any]:
    """C's pow: 1 to any power, and anything to the power 0, are 1."""
    if function.name != "pow":
        return set()
    unity = Fraction(1)
    base, exponent = operands
    known = (base is not None and base.low.value == base.high.value == unity) or (
        exponent is not None and exponent.low.value == exponent.high.value == 0
    )
    return {point(Datum(False, unity))} if known else set()


def _limit(kind: DataType, *, lowest: bool) -> _Value:
    if kind.is_floating:
        form = _FORMATS[kind]
        return _Value(kind, frozenset({point(decoded(form, form.largest | (form.sign_bit if lowest else 0)))}))
    integers = IntegerRange.of(kind)
    whole = integers.lowest if lowest else integers.highest
    return _Value(kind, frozenset({point(Datum(whole < 0, Fraction(whole)))}))
