"""What is acceptable of approximate results, for whole arrays: intervals of FLOAT64, with the functions' stated error.

A value is a list of alternatives, each an interval for every element. Numbers of FLOAT32 and of narrower types are
exact in FLOAT64, their products are exact, and sums are rounded to odd, so that rounding them again is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.approximation import array_choices, rounding
from dmlcts.specs.approximation.array_bounds import Around
from dmlcts.specs.approximation.intervals import Interval, apart, distinct, ends, finite_and_infinite, meaning_of
from dmlcts.specs.approximation.rules import DescribedResults, Reading, leaves_nan_open
from dmlcts.specs.approximation.scaling import Scaling
from dmlcts.specs.arithmetic.vector_arithmetic import Alternatives, Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.oracle.outcome import Acceptance
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.tables.formula_types import Typed, common_type

_DOUBLE = rounding.DOUBLE
_SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)
_EXACT_BITS = 32
"""Integers of more bits are not judged here: FLOAT64 holds neither them nor their sums exactly."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Value:
    kind: Typed
    alternatives: list[Interval]


class ApproximateVectorOracle(DescribedResults):
    """What is acceptable for arrays of elements of an operator that has accuracy rules."""

    def acceptance(self, inputs: Mapping[str, Array]) -> Acceptance:
        """All that is acceptable for each element.

        Args:
            inputs: 1-D arrays of one length by the names that the formula has for the inputs.

        Raises:
            UsageError: an input is not given.
        """
        (length,) = {array.size for array in inputs.values()}
        intervals: list[Interval] = []
        with np.errstate(all="ignore"):
            for reading in self.readings:
                intervals += self._of_reading(reading, inputs, length)
        open_ = np.zeros(length, bool)
        own = self.output.numpy
        alternatives: list[Array] = []
        spans: list[tuple[Array, Array]] = []
        for interval in intervals:
            low, high = (np.ascontiguousarray(np.broadcast_to(end, length)) for end in (interval.low, interval.high))
            open_ |= interval.open
            if not self.output.is_floating:
                open_ |= np.isnan(low)
                low, high = np.nan_to_num(low), np.nan_to_num(high)
            with np.errstate(all="ignore"):
                spans.append((low.astype(own), high.astype(own)))
            if not alternatives:
                alternatives.append(spans[0][0])
            nan = np.broadcast_to(interval.nan, length)
            if self.output.is_floating and (nan & ~np.isnan(alternatives[-1])).any():
                alternatives.append(np.where(nan, own.type(np.nan), alternatives[0]))
        return Acceptance(
            self.output, tuple(alternatives), open_ if open_.any() else None, strict=False, spans=tuple(spans)
        )

    def real(self, inputs: Mapping[str, Array]) -> Array:
        """The formula's real results in FLOAT64; NaN where there is none. A ScaleBias is separate, in FLOAT32.

        ``inputs`` holds arrays of one length by the tensors' names, of the tensors' types; the result has that length.
        """
        return self._by_steps(_Exactly, inputs)

    def _by_steps(self, steps: type[_Exactly], inputs: Mapping[str, Array]) -> Array:
        reading = self.readings[0]
        values = {}
        for name, member in self.table.formula_names.items():
            row = self.table.tensors[member]
            if member not in self.operator.tensors:
                values[name] = _real(np.asarray(row.absent, _DOUBLE), "constant")
                continue
            array = np.ascontiguousarray(inputs[name])
            scaling = self._scaling(member, self.operator.tensors[member].data_type)
            if scaling is not None:
                array = scaling.plain(array)
            own = self.types[row.type]
            values[name] = _real(array.astype(_DOUBLE), reading.computing(own) if own.is_floating else own)
        with np.errstate(all="ignore"):
            return np.asarray(steps(self, reading).evaluate(reading.expression, values).alternatives[0].low)

    def expected(self, inputs: Mapping[str, Array]) -> Array:
        """One acceptable output for each element: sums and products rounded to FLOAT32, as they usually are."""
        (length,) = {array.size for array in inputs.values()}
        exactly = self.strict or DataType.FLOAT64 in self.types.values()  # only one rounding is sure to be acceptable
        steps = _Exactly if exactly else _InFloat32
        with np.errstate(all="ignore"):
            wanted = np.broadcast_to(self._by_steps(steps, inputs), length)
            if not self.output.is_floating:
                wanted = _whole(wanted, self.output)
            return np.ascontiguousarray(wanted.astype(self.output.numpy))

    # readings ----------------------------------------------------------------------------------------

    def _of_reading(self, reading: Reading, inputs: Mapping[str, Array], length: int) -> list[Interval]:
        values = {}
        for name, member in self.table.formula_names.items():
            kind, alternatives = self._input(name, member, inputs, reading)
            values[name] = _Value(kind, alternatives)
        if reading.where is None:
            return self._of_values(reading, values)
        intervals = []
        for members in itertools.product(*(value.alternatives for value in values.values())):
            numbers = {name: interval.low for name, interval in zip(values, members, strict=True)}
            there = np.broadcast_to(rounding.evaluated(reading.where, numbers | self._plain_numbers), length)
            if there.any():
                alone = zip(values.items(), members, strict=True)
                results = self._of_values(
                    reading, {name: replace(value, alternatives=[interval]) for (name, value), interval in alone}
                )
                intervals += [
                    Interval(
                        np.where(there, interval.low, np.nan),
                        np.where(there, interval.high, np.nan),
                        interval.nan & there,
                        interval.open & there,
                    )
                    for interval in results
                ]
        return intervals

    def _of_values(self, reading: Reading, values: Mapping[str, _Value]) -> list[Interval]:
        result = _Steps(self, reading).evaluate(reading.expression, values)
        return [self._converted(alternative, result.kind) for alternative in result.alternatives]

    def _converted(self, interval: Interval, kind: Typed) -> Interval:
        """An interval of numbers of the type that computes, in the output's type."""
        if kind is self.output or not self.output.is_floating:
            return interval
        if self.strict:
            low, high = (rounding.nearest(end, self.output) for end in (interval.low, interval.high))
            return replace(interval, low=low, high=high)
        return replace(
            interval, low=rounding.down(interval.low, self.output), high=rounding.up(interval.high, self.output)
        )

    @cached_property
    def _plain_numbers(self) -> dict[str, Array]:
        return {name: np.asarray(self.operator.attributes[name], _DOUBLE) for name in self.table.numbers}

    @cached_property
    def _attributes(self) -> dict[str, Alternatives]:
        return VectorOracle(self.law, self.operator, strict=self.strict).attributes

    def numbers(self, name: str, kind: DataType) -> list[Interval]:
        """What a number among the attributes may be in the type that computes."""
        arrays = [np.asarray(number).astype(_DOUBLE) for number in self._attributes[name]]
        if kind is not self.signature.data_type:
            arrays.append(self._plain_numbers[name])
        return [Interval.at(array) for array in arrays]

    def _input(
        self, name: str, member: str, inputs: Mapping[str, Array], reading: Reading
    ) -> tuple[Typed, list[Interval]]:
        row = self.table.tensors[member]
        if member not in self.operator.tensors and row.absent is not None:
            return "constant", [Interval.at(np.asarray(row.absent, _DOUBLE))]
        own = self.types.get(row.type)
        if name not in inputs or own is None:
            raise UsageError(f"no elements of {member} are given", f"give them as {name!r}")
        array = np.ascontiguousarray(inputs[name]).view(own.numpy)
        if not own.is_floating and 8 * own.itemsize > _EXACT_BITS:  # no table lists one; an implementation may take it
            return own, [replace(Interval.at(array.astype(_DOUBLE)), open=np.ones(array.shape, np.bool_))]
        kind = reading.computing(own) if own.is_floating else own
        scaling = self._scaling(member, own)
        if scaling is not None and not own.is_floating:
            return kind, scaling.whole_arrays(array)
        arrays = [array] if scaling is None else scaling.arrays(array, kind, strict=self.strict)
        closed: list[Array] = []
        for alternative in arrays:
            wide = alternative.astype(_DOUBLE)
            closed.append(wide)
            if kind is DataType.FLOAT32 and "subnormals" in self.latitudes:
                tiny = (np.abs(wide) < _SMALLEST_NORMAL) & (wide != 0)
                if tiny.any():
                    closed.append(np.where(tiny, np.copysign(0.0, wide), wide))
        return kind, [Interval.at(alternative) for alternative in closed]

    def _scaling(self, member: str, own: DataType) -> Scaling | None:
        """The ScaleBias of an input, which only the first may have."""
        if self.scale_bias is None or member != self.table.inputs[0]:
            return None
        assert self.law.scale_bias is not None, "lint asks for a formula"  # noqa: S101
        return Scaling(self.law.scale_bias, self.scale_bias, own, self.latitudes)


class _Steps:
    """The evaluation of a formula, each function within its rule."""

    def __init__(self, oracle: ApproximateVectorOracle, reading: Reading) -> None:
        self.oracle = oracle
        self.reading = reading
        self.latitudes = oracle.latitudes

    def evaluate(self, expression: Expression, inputs: Mapping[str, _Value]) -> _Value:
        match expression:
            case Name(name) if name in inputs:
                return inputs[name]
            case Name(name):
                kind = self.reading.computing(self.oracle.signature.data_type)
                return _Value(kind, self.oracle.numbers(name, kind))
            case Number(value):
                return _Value("constant", [Interval.at(np.asarray(value, _DOUBLE))])
            case Limit(name, target):
                own = self.oracle.types[target]
                limits: Any = np.finfo(own.numpy) if own.is_floating else np.iinfo(own.numpy)
                number = limits.min if name == "lowest" else limits.max
                return _Value(own, [Interval.at(np.asarray(number, _DOUBLE))])
            case Cast(target, argument, True):
                return self.between(self.evaluate(argument, inputs), self.oracle.types[target])
            case Cast(target, argument):
                own = self.oracle.types[target]
                return self.cast(self.evaluate(argument, inputs), self.reading.computing(own))
            case Call("select", (Call(name, sides), if_true, other)) if name in array_choices.ORDERED:
                return self.chosen(
                    name, *([self.evaluate(part, inputs) for part in parts] for parts in (sides, (if_true, other)))
                )
            case Call(name, arguments) if name != "select":
                return self.applied(FUNCTIONS[name], [self.evaluate(argument, inputs) for argument in arguments])
        raise FormulaError(f"{expression} is not evaluated over intervals", "write it without a choice")

    def between(self, value: _Value, own: DataType) -> _Value:
        """What an operator gives to the next: in a wider type as it is, or rounded as its own type stores it."""
        if value.kind is own:
            return value
        down, up = (rounding.nearest,) * 2 if self.oracle.strict else (rounding.down, rounding.up)
        stored = [
            replace(alternative, low=down(alternative.low, own), high=up(alternative.high, own))
            for alternative in value.alternatives
        ]
        split = [part for interval in stored for part in finite_and_infinite(interval, own)]
        return replace(value, alternatives=[*value.alternatives, *split])

    def cast(self, value: _Value, target: DataType) -> _Value:
        if value.kind == target:
            return value
        if target.is_floating:
            return _Value(
                target, [part for alternative in value.alternatives for part in self._narrowed(alternative, target)]
            )
        limits = np.iinfo(target.numpy)
        lenient = "integer-cast-range" in self.latitudes
        intervals = []
        for alternative in value.alternatives:
            low, high = np.trunc(alternative.low), np.trunc(alternative.high)
            least, most = (np.clip(np.nan_to_num(end), float(limits.min), float(limits.max)) for end in (low, high))
            if lenient:
                opened = alternative.open | alternative.nan | ~((low >= limits.min) & (high <= limits.max))
                intervals.append(Interval(least, most, open=opened))
                continue
            intervals.append(Interval(least, most, open=alternative.open))
            if (alternative.nan & ~np.isnan(low)).any():  # a number or a NaN, which becomes 0
                intervals.append(
                    Interval(
                        np.where(alternative.nan, 0, least), np.where(alternative.nan, 0, most), open=alternative.open
                    )
                )
        return _Value(target, intervals)

    def _narrowed(self, interval: Interval, target: DataType) -> list[Interval]:
        """In a narrower type: of a number either of the two next to it, of which --strict-ieee leaves the nearest."""
        if self.oracle.strict:
            low, high = (rounding.nearest(end, target) for end in (interval.low, interval.high))
            return [replace(interval, low=low, high=high)]
        low, high = rounding.down(interval.low, target), rounding.up(interval.high, target)
        if interval.is_point and not np.array_equal(low, high, equal_nan=True):
            return [replace(interval, low=end, high=end) for end in (low, high)]
        return [replace(interval, low=low, high=high)]

    def chosen(self, comparison: str, sides: list[_Value], branches: list[_Value]) -> _Value:
        """One of two values, as a comparison of two others may hold or not."""
        lenient = "nan-comparison" in self.latitudes
        pairs = itertools.product(*(value.alternatives for value in self._alike(FUNCTIONS[comparison], sides)))
        truths = array_choices.either([array_choices.held(comparison, *pair, lenient=lenient) for pair in pairs])
        then, otherwise = self._alike(FUNCTIONS["max"], branches)
        return _Value(then.kind, array_choices.chosen(truths, then.alternatives, otherwise.alternatives))

    def _alike(self, function: Function, values: list[_Value]) -> list[_Value]:
        """The values in the type in which a function's operands meet."""
        kind = common_type(function, [value.kind for value in values])
        return [replace(self._constant(value, kind), kind=kind) for value in values]

    def applied(self, function: Function, values: list[_Value]) -> _Value:
        kind = common_type(function, [value.kind for value in values])
        constants = [self._constant(value, kind) for value in values]
        intervals = [
            result
            for operands in itertools.product(*(value.alternatives for value in constants))
            for result in self._of(function, kind, operands)
        ]
        return _Value(kind, distinct(intervals))

    def _constant(self, value: _Value, kind: Typed) -> _Value:
        if value.kind != "constant" or not (isinstance(kind, DataType) and kind.is_floating):
            return value
        return _Value(
            kind, [Interval.at(rounding.nearest(alternative.low, kind)) for alternative in value.alternatives]
        )

    def _of(self, function: Function, kind: Typed, operands: tuple[Interval, ...]) -> list[Interval]:
        nan, opened = (
            reduce(np.logical_or, masks)
            for masks in zip(*((operand.nan, operand.open) for operand in operands), strict=True)
        )
        low, high = ends(function, operands)
        lost = np.isnan(low) | np.isnan(high)
        nan_operand = reduce(np.logical_or, [np.isnan(operand.low) for operand in operands])
        nan = nan | (lost & ~nan_operand)
        opened = opened | ((np.isnan(low) != np.isnan(high)) & ~nan_operand)
        exact = Interval(low, high, nan, opened)
        intervals = [exact]
        if function.selects and "nan" in self.latitudes:
            intervals += array_choices.others_despite_nan(exact, operands)
        if function.name in _OF_SIGNED_ZEROS and "zero-sign" in self.latitudes:
            intervals += _other_sign(function, exact, operands)
        if not (isinstance(kind, DataType) and kind.is_floating):
            return [stored for interval in intervals for stored in self._stored(interval, function, kind)]
        return [result for interval in intervals for result in self._rounded(function, kind, interval, operands)]

    def _stored(self, interval: Interval, function: Function, kind: Typed) -> list[Interval]:
        """Exact numbers of no type as they are; integers modulo 2^bits, and saturated where that may be."""
        if not isinstance(kind, DataType) or function.selects:
            return [interval]
        limits = np.iinfo(kind.numpy)
        least, most = float(limits.min), float(limits.max)
        span = 2.0**limits.bits
        low, high = (np.mod(end - least, span) + least for end in (interval.low, interval.high))
        intervals = [replace(interval, low=low, high=high)]
        if "integer-overflow" in self.latitudes:
            intervals.append(
                replace(interval, low=np.clip(interval.low, least, most), high=np.clip(interval.high, least, most))
            )
        return intervals

    def _rounded(
        self, function: Function, kind: DataType, exact: Interval, operands: tuple[Interval, ...]
    ) -> list[Interval]:
        """What a function's rule permits around its real results, in the type that computes."""
        law, strict = self.oracle.law, self.oracle.strict
        tolerance = law.tolerance(function.name, kind, strict=strict)
        around = Around(function, kind, exact, operands)
        low, high = around.ends(tolerance)
        if strict:
            least, most = around.strict_span(tolerance, law.tolerance(function.name, kind, strict=False))
        else:
            least, most = around.span(tolerance, strict=False)
        opened = exact.open
        if tolerance is not None and tolerance.within is not None:
            numbers = ~reduce(np.logical_or, [np.isnan(operand.low) for operand in operands])
            opened = opened | (~around.inside(tolerance) & (numbers | leaves_nan_open(tolerance)))
        intervals = [Interval(least, most, exact.nan, opened)]
        if function.name in ("floor", "ceil", "trunc", "round_half_even", "round_half_away"):
            intervals = apart(intervals[0])
        intervals = [part for interval in intervals for part in finite_and_infinite(interval, kind)]
        if kind is DataType.FLOAT32 and "subnormals" in self.latitudes:
            low, high = np.minimum(low, least), np.maximum(high, most)  # tiny before or after what the rule permits
            tiny = (low < _SMALLEST_NORMAL) & (high > -_SMALLEST_NORMAL) & ~((low == 0) & (high == 0))
            if tiny.any():
                intervals += [
                    replace(interval, low=np.where(tiny, 0.0, interval.low), high=np.where(tiny, 0.0, interval.high))
                    for interval in intervals
                ]
        return intervals


class _Exactly(_Steps):
    """The evaluation of a formula over real numbers, nothing rounded but by FLOAT64."""

    def between(self, value: _Value, own: DataType) -> _Value:
        return value

    def cast(self, value: _Value, target: DataType) -> _Value:
        return value

    def chosen(self, comparison: str, sides: list[_Value], branches: list[_Value]) -> _Value:
        numbers = (value.alternatives[0].low for value in (*sides, *branches))
        return _real(array_choices.plainly(comparison, *numbers))

    def applied(self, function: Function, values: list[_Value]) -> _Value:
        """A function of the first alternative of each, which alone counts here."""
        return _real(meaning_of(function)(*(value.alternatives[0].low for value in values)))


_ARITHMETIC: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "difference": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}
"""What FLOAT64 computes of FLOAT32 numbers well enough to be rounded to FLOAT32, and sums of integers exactly."""


class _InFloat32(_Exactly):
    """The same with sums and products of floating-point numbers rounded to FLOAT32 each."""

    def cast(self, value: _Value, target: DataType) -> _Value:
        numbers = value.alternatives[0].low
        return _real(_single(numbers) if target.is_floating else _whole(numbers, target), target)

    def chosen(self, comparison: str, sides: list[_Value], branches: list[_Value]) -> _Value:
        kind = common_type(FUNCTIONS["max"], [value.kind for value in branches])
        return replace(super().chosen(comparison, sides, branches), kind=kind)

    def applied(self, function: Function, values: list[_Value]) -> _Value:
        kind = common_type(function, [value.kind for value in values])
        plain = _ARITHMETIC.get(function.name) if isinstance(kind, DataType) else None
        if plain is None:
            return replace(super().applied(function, values), kind=kind)
        numbers = np.asarray(plain(*(value.alternatives[0].low for value in values)))
        is_floating = isinstance(kind, DataType) and kind.is_floating
        return _real(_single(numbers) if is_floating else numbers, kind)


def _whole(numbers: Array, target: DataType) -> Array:
    """Numbers truncated to a type's integers, saturated, in FLOAT64; 0 of NaN."""
    limits = np.iinfo(target.numpy)
    return np.asarray(np.clip(np.nan_to_num(np.trunc(numbers)), limits.min, limits.max))


def _single(numbers: Array) -> Array:
    return rounding.nearest(numbers, DataType.FLOAT32)


def _real(numbers: Any, kind: Typed = "real") -> _Value:
    """Real numbers as they are; nobody asks here where a NaN may come out, too."""
    values = np.asarray(numbers)
    return _Value(kind, [Interval(values, values)])


_OF_SIGNED_ZEROS = ("divide", "pow", "atan_yx")


def _other_sign(function: Function, exact: Interval, operands: tuple[Interval, ...]) -> list[Interval]:
    """The results with the other sign where it comes of a zero's, which may be lost: infinities, and half turns."""
    zero = operands[1 if function.name == "divide" else 0].low == 0
    if function.name != "atan_yx":
        zero = zero & np.isinf(exact.low)
    if not zero.any():
        return []
    return [replace(exact, low=np.where(zero, -exact.high, exact.low), high=np.where(zero, -exact.low, exact.high))]
