"""The vectorised oracle of formulas with several inputs and types: numpy over whole arrays.

A value is a list of alternatives, arrays in which element i of each is one value that element i may have, and a mask of
the elements that may have any. It shares no arithmetic with the exact oracle. Approximate results have one of their
own, :mod:`dmlcts.specs.approximation.in_arrays`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Alternatives, Array, Rounding, distinct
from dmlcts.specs.arithmetic.vector_integers import saturated
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.latitudes import NONE
from dmlcts.specs.oracle import vector_integer_scale_bias
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import Acceptance, VectorOracle
from dmlcts.specs.statements.silent_points import SilentPoint, silent_points
from dmlcts.specs.tables.formula_types import Typed, common_type, joined, read_as
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate

_DOUBLE = np.dtype(np.float64)
_EXACT_BITS = 32
"""Integers of this many bits meet floating-point numbers exactly in FLOAT64."""
_WIDEST = 2.0**64
"""The modulus of the widest integers."""

Mask = NDArray[np.bool_]
_NOWHERE: Mask = np.zeros((), bool)
_EVERYWHERE: Mask = np.ones((), bool)


@dataclass(frozen=True)
class _Value:
    """A type, every array of values of it, and where it may be any value; a truth value that may is either."""

    kind: Typed
    alternatives: list[Any]
    opened: Mask = field(default_factory=lambda: _NOWHERE)


class TypedVectorOracle:
    """What is right for arrays of elements, given arrays of each input.

    Args:
        law: what the tables say of the operator.
        operator: the description; its tensors say which types the type variables stand for.
        strict: whether ``--strict-ieee`` leaves only the latitudes that it keeps.

    Raises:
        UsageError: an accuracy rule is about the description's types, or FLOAT64 does not hold values of one exactly.
    """

    def __init__(self, law: Law, operator: OperatorDesc, *, strict: bool = False) -> None:
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
        self.scale_bias = next(
            (attribute for attribute in operator.attributes.values() if isinstance(attribute, ScaleBias)), None
        )
        lacking = self.signature.data_type.is_floating or law.scale_bias is None or law.of_one_input
        if self.scale_bias is not None and lacking:
            raise UsageError(f"{operator.name} is given a ScaleBias", "ask the oracle of one input")
        points = silent_points(law.table, operator)
        self.settled = [point for point in points if point.accepted(strict=strict)]

    @cached_property
    def attributes(self) -> dict[str, Alternatives] | None:
        """What each number among the attributes may be in the main type; ``None`` where a clause leaves one open.

        The arrays are 0-dimensional, one for each value that the number may have.
        """
        if not self.table.numbers:
            return {}
        try:
            return VectorOracle(self.law, self.operator, strict=self.strict).attributes
        except Unconstrained:
            return None

    def acceptance(self, inputs: Mapping[str, Array]) -> Acceptance:
        """All that is acceptable for each element.

        Args:
            inputs: 1-D arrays of one length by the names that the formula has for the inputs.

        Raises:
            UsageError: an input is not given.
        """
        (length,) = {array.size for array in inputs.values()}
        if "any-value" in self.latitudes or self.attributes is None:
            return Acceptance(self.output, (np.zeros(length, self.output.numpy),), np.ones(length, bool), strict=False)
        with np.errstate(all="ignore"):
            values = {name: self._input(name, member, inputs) for name, member in self.table.formula_names.items()}
            result = self._by_every_formula(values)
        for point in self.settled:
            result = self._settled(point, inputs, result)
        filled = tuple(
            np.ascontiguousarray(np.broadcast_to(alternative, length)) for alternative in result.alternatives
        )
        any_value = np.ascontiguousarray(np.broadcast_to(result.opened, length)) if result.opened.any() else None
        signed_zeros = self.output.is_floating and Rounding(self.output, self.latitudes).signed_zeros
        return Acceptance(self.output, filled, any_value, signed_zeros)

    def _by_every_formula(self, values: Mapping[str, _Value]) -> _Value:
        """What the formula gives, and what each permitted formula does."""
        result = self._as(self._evaluate(self.expression, values), self.output)
        alternatives, opened = list(result.alternatives), result.opened
        for formula, where in self.permitted:
            another = self._as(self._evaluate(formula, values), self.output)
            there = _EVERYWHERE if where is None else self._may_hold(where, values)
            alternatives += [
                np.where(there, alternative, result.alternatives[0]) for alternative in another.alternatives
            ]
            opened = opened | (another.opened & there)
        return _Value(self.output, distinct(alternatives), opened)

    def _may_hold(self, condition: Expression, values: Mapping[str, _Value]) -> Mask:
        held = self._evaluate(condition, values)
        return _anywhere([held.opened, *held.alternatives])

    def _settled(self, point: SilentPoint, inputs: Mapping[str, Array], result: _Value) -> _Value:
        """The results with those of a silent point's accepted behaviours in their place where it holds."""
        there = point.where(inputs)
        places = np.flatnonzero(there)
        if not places.size:  # as nearly always: what behaviours give is not asked
            return result
        here = {name: array[places] for name, array in inputs.items()}
        outcomes = [point.results(name, here) for name in point.accepted(strict=self.strict)]
        has_result = ~np.all([undefined for _, undefined in outcomes], axis=0)
        first = np.select([~undefined for _, undefined in outcomes], [wanted for wanted, _ in outcomes], outcomes[0][0])
        every = [np.where(undefined, first, wanted)[has_result] for wanted, undefined in outcomes]
        wanted, arrays, places = self._closed(self.output, every), result.alternatives, places[has_result]
        settled = [
            _replaced(arrays[number % len(arrays)], there.shape, places, wanted[number % len(wanted)])
            for number in range(max(len(arrays), len(wanted)))
        ]
        return _Value(self.output, settled, _replaced(result.opened, there.shape, places, False))

    def _input(self, name: str, member: str, inputs: Mapping[str, Array]) -> _Value:
        row = self.table.tensors[member]
        kind = self.types.get(row.type)
        if member not in self.operator.tensors and row.absent is not None:
            return _Value("constant", [row.absent])
        if name not in inputs or kind is None:
            raise UsageError(f"no elements of {member} are given", f"give them as {name!r}")
        array = np.ascontiguousarray(inputs[name]).view(kind.numpy)
        if self.scale_bias is not None and member == self.table.inputs[0]:
            return self._scaled(kind, array)
        return _Value(kind, self._closed(kind, [array]))

    def _scaled(self, kind: DataType, array: Array) -> _Value:
        """The integers of the first input after ScaleBias; where a factor is not finite any value may come out."""
        assert self.scale_bias is not None and self.law.scale_bias is not None  # noqa: PT018, S101 - asked for before
        if not vector_integer_scale_bias.is_finite(self.scale_bias):
            return _Value(kind, [array], _EVERYWHERE)
        lenient = "integer-scale-bias" in self.latitudes
        scaled = vector_integer_scale_bias.scaled(array, self.law.scale_bias, self.scale_bias, lenient=lenient)
        return _Value(kind, list(scaled))

    def _closed(self, kind: Typed, alternatives: list[Any]) -> list[Any]:
        if not isinstance(kind, DataType):
            return alternatives
        return list(Rounding(kind, self.latitudes).closed([np.asarray(alternative) for alternative in alternatives]))

    def _evaluate(self, expression: Expression, inputs: Mapping[str, _Value]) -> _Value:
        match expression:
            case Name(name) if name in inputs:
                return inputs[name]
            case Name(name):
                return _Value(self.types[self.table.type_variables[0]], (self.attributes or {})[name])
            case Number(value):
                return _Value("constant", [value])
            case Limit(name, target):
                kind = self.types[target]
                limits: Any = np.finfo(kind.numpy) if kind.is_floating else np.iinfo(kind.numpy)
                return _Value(kind, [np.asarray(limits.min if name == "lowest" else limits.max, kind.numpy)])
            case Cast(target, argument):
                return self._cast(self._evaluate(argument, inputs), self.types[target])
            case Call("select", (condition, if_true, other)):
                return self._selected(*(self._evaluate(part, inputs) for part in (condition, if_true, other)))
            case Call(name, arguments):
                return self._applied(FUNCTIONS[name], [self._evaluate(argument, inputs) for argument in arguments])
        raise AssertionError(f"a choice is left in {expression}")

    def _selected(self, condition: _Value, first: _Value, other: _Value) -> _Value:
        chosen = self._alike([first, other])
        choices = itertools.product(condition.alternatives, *(branch.alternatives for branch in chosen))
        opened = _anywhere(np.where(held, *(branch.opened for branch in chosen)) for held in condition.alternatives)
        return _Value(chosen[0].kind, distinct(np.where(*choice) for choice in choices), opened)

    # types -------------------------------------------------------------------------------------------

    def _alike(self, values: list[_Value]) -> list[_Value]:
        wanted = joined([value.kind for value in values])
        return [self._as(value, wanted) for value in values]

    def _as(self, value: _Value, kind: Typed) -> _Value:
        if value.kind == kind:
            return value
        if value.kind == "constant":
            constants = [np.asarray(alternative, _DOUBLE) for alternative in value.alternatives]
            if kind == "real":
                return _Value(kind, constants, value.opened)
            assert isinstance(kind, DataType)  # noqa: S101 - types are checked when the table is read
            if kind.is_floating:
                return _Value(
                    kind, self._closed(kind, [constant.astype(kind.numpy) for constant in constants]), value.opened
                )
            opened = _anywhere([value.opened, *(~np.isfinite(constant) for constant in constants)])
            return _Value(kind, [_wrapped(constant, kind) for constant in constants], opened)
        assert isinstance(value.kind, DataType) and kind == "real"  # noqa: PT018, S101 - lint has checked types
        opened = value.opened if 8 * value.kind.itemsize <= _EXACT_BITS else self._of_wide(value.kind)
        return _Value(kind, [alternative.astype(_DOUBLE) for alternative in value.alternatives], opened)

    def _of_wide(self, kind: DataType) -> Mask:
        """Any value: FLOAT64 does not hold the type's values exactly, and no level lists them here."""
        if self.table.supports({name: (tensor.data_type, 4) for name, tensor in self.operator.tensors.items()}):
            raise UsageError(f"{kind.name} meets another type", "FLOAT64 does not hold its values exactly")
        return _EVERYWHERE

    def _cast(self, value: _Value, target: DataType) -> _Value:
        if value.kind == target:
            return value
        integers = isinstance(value.kind, DataType) and not value.kind.is_floating and not target.is_floating
        if value.kind == "truth" or integers:
            return _Value(
                target, [alternative.astype(target.numpy) for alternative in value.alternatives], value.opened
            )
        exact = self._as(value, "real")
        if target.is_floating:
            rounding = Rounding(target, self.latitudes)
            alternatives: list[Any] = []
            for alternative in exact.alternatives:
                alternatives += (
                    rounding.to_float32(alternative)
                    if target is DataType.FLOAT32
                    else [alternative.astype(target.numpy)]
                )
            return _Value(target, self._closed(target, alternatives), exact.opened)
        whole, outside = zip(*(_to_integer(alternative, target) for alternative in exact.alternatives), strict=True)
        beyond = outside if "integer-cast-range" in self.latitudes else ()
        return _Value(target, list(whole), _anywhere([exact.opened, *beyond]))

    # functions ---------------------------------------------------------------------------------------

    def _applied(self, function: Function, values: list[_Value]) -> _Value:
        if function.domain == "truth":
            assert function.arrays.truth is not None  # noqa: S101 - the table of functions says so
            return _Value("truth", _truths(function.arrays.truth(*arguments) for arguments in _combined(values)))
        kind = common_type(function, [value.kind for value in values])
        if isinstance(kind, DataType) and function.gives == "T" and not function.means(kind):
            return _Value(kind, [np.zeros((), kind.numpy)], _EVERYWHERE)  # unlisted: nothing says what is right
        if kind == "constant" and function.gives == "truth":
            kind = DataType.FLOAT64
        alike = [self._as(value, kind) for value in values]
        opened = _anywhere(value.opened for value in alike)
        alternatives: list[Any] = []
        for operands in _combined(alike):
            results, undefined = self._of_arrays(function, kind, operands)
            alternatives += results
            opened = opened | undefined
        if function.gives == "truth":
            return _Value("truth", _truths([*alternatives, alternatives[0] ^ opened]))
        return _Value(kind, self._closed(kind, alternatives), opened)

    def _of_arrays(self, function: Function, kind: Typed, operands: tuple[Array, ...]) -> tuple[list[Any], Mask]:
        """The results, and where nothing says what is right."""
        arrays: Any = function.arrays
        if kind in ("real", "constant"):
            return self._of_reals(function, tuple(np.asarray(operand, _DOUBLE) for operand in operands))
        assert isinstance(kind, DataType)  # noqa: S101 - truth values have functions of their own
        if function.gives == "truth":
            return self._compared(function, kind, operands), _NOWHERE
        if kind.is_floating:
            return [*arrays.floating(Rounding(kind, self.latitudes), *operands)], _NOWHERE
        result = arrays.integers(*operands)
        if isinstance(result, tuple):  # which never leaves the type where it is defined
            result, undefined = result
            return [np.asarray(result)], undefined
        lenient = "integer-overflow" in self.latitudes and function.domain == "number"
        stored = [saturated(arrays.integers, kind, operands)] if lenient else []
        return [np.asarray(result), *stored], _NOWHERE

    def _of_reals(self, function: Function, operands: tuple[Array, ...]) -> tuple[list[Any], Mask]:
        arrays: Any = function.arrays
        if function.widens:  # of whole numbers alone, as integers of 64 bits
            whole, undefined = arrays.integers(*(operand.astype(np.int64) for operand in operands))
            for operand in operands:
                undefined = undefined | ~np.isfinite(operand) | (operand != np.trunc(operand))
            return [whole.astype(_DOUBLE)], undefined
        if function.selects:
            return list(arrays.floating(Rounding(DataType.FLOAT64, self.latitudes), *operands)), _NOWHERE
        # A sum rounded to odd is rounded again, or truncated, as if it were exact; not to FLOAT64 itself.
        meaning = arrays.ufunc if DataType.FLOAT64 in self.types.values() else arrays.real or arrays.ufunc
        return [np.asarray(meaning(*operands))], _NOWHERE

    def _compared(self, function: Function, kind: DataType, operands: tuple[Array, ...]) -> list[Any]:
        compared: Any = function.arrays.compared
        alternatives = [np.asarray(compared(*operands))]
        if len(operands) > 1 and kind.is_floating and "nan-comparison" in self.latitudes:
            unordered = np.isnan(operands[0]) | np.isnan(operands[1])
            alternatives.append(alternatives[0] ^ unordered)
        return alternatives


class PlainVectorOracle(TypedVectorOracle):
    """One acceptable value for each element: what implementations usually give.

    What they give is compared first, so that few elements have to be looked at closely.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        strict: whether ``--strict-ieee`` leaves only the latitudes that it keeps.
    """

    def __init__(self, law: Law, operator: OperatorDesc, *, strict: bool = False) -> None:
        super().__init__(law, operator, strict=True)
        left = law.latitudes(self.signature.data_type, strict=strict)
        self.latitudes = NONE
        self._any_beyond = "integer-cast-range" in left
        self._lenient = "integer-scale-bias" in left

    def usual(self, inputs: Mapping[str, Array]) -> Array:
        """The values, 1-D, of the output's type; ``inputs`` as :meth:`acceptance` takes them."""
        return self.acceptance(inputs).alternatives[0]

    def _scaled(self, kind: DataType, array: Array) -> _Value:
        assert self.scale_bias is not None and self.law.scale_bias is not None  # noqa: PT018, S101 - asked for before
        usual = vector_integer_scale_bias.plainly_scaled(
            array, self.law.scale_bias, self.scale_bias, lenient=self._lenient
        )
        return _Value(kind, [usual])

    def _evaluate(self, expression: Expression, inputs: Mapping[str, _Value]) -> _Value:
        match expression:
            case Cast(target, Call(name, arguments)) if self._any_beyond and FUNCTIONS[name].widens:
                values = [self._evaluate(argument, inputs) for argument in arguments]
                kinds = [value.kind for value in values]
                integers = all(isinstance(kind, DataType) and not kind.is_floating for kind in kinds)
                if integers and kinds[0] == self.types[target]:  # what leaves the type may be anything: it wraps
                    meaning: Any = FUNCTIONS[name].arrays.integers
                    powers, _ = meaning(*[value.alternatives[0] for value in values])
                    return _Value(kinds[0], [powers])
        return super()._evaluate(expression, inputs)


def _replaced(array: Any, length: tuple[int, ...], places: NDArray[np.intp], values: Any) -> Any:
    """The array, or one number for all elements, with other values at some places."""
    replacement = np.array(np.broadcast_to(array, length))
    replacement[places] = values
    return replacement


def _anywhere(masks: Iterable[Mask]) -> Mask:
    """Where one of the masks says so."""
    union = _NOWHERE
    for mask in masks:
        union = union | mask
    return union


def _wrapped(constant: Any, kind: DataType) -> Any:
    """A constant as an integer: truncated, modulo 2^bits; of what is no number 0."""
    magnitude = np.fmod(np.trunc(np.where(np.isfinite(constant), np.abs(constant), 0.0)), _WIDEST).astype(np.uint64)
    whole = np.where(constant < 0, np.negative(magnitude), magnitude)  # 2^64 - 3 is no FLOAT64: subtracted in integers
    return whole.astype(kind.bits_dtype).view(kind.numpy)


def _to_integer(number: Any, target: DataType) -> tuple[Any, Mask]:
    """A number truncated, or the nearest limit of the type, of NaN 0; and where the type does not hold it."""
    limits = np.iinfo(target.numpy)
    whole = np.trunc(number)
    outside = ~((whole >= float(limits.min)) & (whole < float(limits.max + 1)))  # 2^63 and 2^64 are FLOAT64
    inside = np.where(np.isnan(whole), 0, np.clip(whole, float(limits.min), float(limits.max)))
    if 8 * target.itemsize <= _EXACT_BITS:
        return inside.astype(target.numpy), outside
    greatest = inside >= float(limits.max)  # that of INT64 is no FLOAT64
    below = np.where(greatest, 0.0, inside).astype(target.numpy)
    return np.where(greatest, np.asarray(limits.max, target.numpy), below), outside


def _combined(values: list[_Value]) -> itertools.product[tuple[Any, ...]]:
    return itertools.product(*(value.alternatives for value in values))


def _truths(arrays: Any) -> list[Any]:
    return distinct(np.asarray(array, bool) for array in arrays)
