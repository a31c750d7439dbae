"""Silent points: where the pages do not say what comes out, and which named behaviour explains what did."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.errors import UsageError
from dmlcts.specs.formula import Expression
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.statements import exactly, in_arrays
from dmlcts.specs.statements.statement import Stated, speaks_of
from dmlcts.specs.tables.formula_types import read_as

Mask = NDArray[np.bool_]


def silent_points(table: OperatorTable, operator: OperatorDesc) -> tuple[SilentPoint, ...]:
    """The silent points of a description, in the table's order; none where it has a ScaleBias."""
    return tuple(SilentPoint(table, clause, operator) for clause in _clauses(table, operator))


def exact_silent_points(table: OperatorTable, operator: OperatorDesc) -> tuple[ExactSilentPoint, ...]:
    """The same, an element at a time."""
    return tuple(ExactSilentPoint(table, clause, operator) for clause in _clauses(table, operator))


def _clauses(table: OperatorTable, operator: OperatorDesc) -> list[Clause]:
    return [clause for clause in table.checked_by("silent") if speaks_of(clause, table, operator)]


class _Point:
    """What both forms of a silent point share: the clause, and its statements parsed."""

    def __init__(self, table: OperatorTable, clause: Clause, operator: OperatorDesc) -> None:
        if clause.where is None:
            raise UsageError(f"{clause.id} is no silent point", "its clause needs `check: silent` and `where:`")
        self.clause = clause
        self.stated = Stated(table, operator, {})
        self.condition: Expression = self.stated.parsed(clause.where)
        self.meanings = {name: self.stated.parsed(text) for name, text in clause.behaviours.items()}

    def accepted(self, *, strict: bool) -> tuple[str, ...]:
        """The behaviours that are right where the point holds; none: what the formula gives is."""
        return self.clause.strict if strict and self.clause.strict else self.clause.accepted

    def _inputs(self) -> dict[str, tuple[str, DataType | None, float]]:
        """The inputs by the formula's names: the member, and the type that it is read as, or what it is when absent."""
        table, inputs = self.stated.table, {}
        for name, member in table.formula_names.items():
            row = table.tensors[member]
            there = member in self.stated.operator.tensors
            kind = read_as(self.stated.operator.tensors[member].data_type, table) if there else None
            inputs[name] = (member, kind, row.absent or 0.0)
        return inputs


class SilentPoint(_Point):
    """A clause of ``check: silent`` on one description, over whole arrays.

    Args:
        table: the operator's table.
        clause: the clause.
        operator: the description; its types and attributes count.
    """

    def where(self, inputs: Mapping[str, Array]) -> Mask:
        """For which elements the point holds.

        Args:
            inputs: 1-D arrays of one length, by the names that the formula has for the inputs.

        Raises:
            UsageError: an input is not given.
        """
        return in_arrays.held(self._evaluated(self.condition, inputs), _length(inputs))

    def results(self, name: str, inputs: Mapping[str, Array], *, wide: bool = False) -> tuple[Array, Mask]:
        """What a behaviour gives for each element, in the output's type, and where it gives nothing.

        Args:
            name: the behaviour's name.
            inputs: as for :meth:`where`.
            wide: whether FLOAT16 operands are computed with in FLOAT32, and the result is rounded once more.
        """
        values = self._evaluated(self.meanings[name], inputs, wide=wide)
        if wide and values.kind is DataType.FLOAT32:
            values = in_arrays.narrowed(values)
        return in_arrays.stored(values, self.stated.output, _length(inputs))

    def explaining(self, inputs: Mapping[str, Array], output: Array) -> tuple[str, ...]:
        """The behaviours that explain every output where the point holds, in order; none where it never does.

        ``inputs`` holds arrays of one length by the tensors' names; ``output`` has that length.
        """
        there = self.where(inputs)
        return tuple(name for name in self.meanings if there.any() and self.explains(name, inputs, output)[there].all())

    def behaviour(self, inputs: Mapping[str, Array], output: Array) -> str | None:
        """The first behaviour that explains every output where the point holds; ``None`` where none does.

        ``inputs`` holds arrays of one length by the tensors' names; ``output`` has that length.
        """
        return next(iter(self.explaining(inputs, output)), None)

    def explains(self, name: str, inputs: Mapping[str, Array], output: Array) -> Mask:
        """Whether a behaviour gives what came out, for each element: the same pattern, or a NaN for a NaN."""
        wanted, undefined = self.results(name, inputs)
        return self.same(output, wanted) & ~undefined

    def same(self, output: Array, wanted: Array) -> Mask:
        """Which outputs have the pattern that is wanted, or a NaN for a NaN.

        ``output`` and ``wanted`` are 1-D, of one length, that of the mask.
        """
        kind = self.stated.output
        got = np.ascontiguousarray(output).view(kind.numpy)
        same = got.view(kind.bits_dtype) == np.ascontiguousarray(wanted).view(kind.bits_dtype)
        if kind.is_floating:
            same |= np.isnan(got) & np.isnan(wanted)
        return np.asarray(same)

    def _evaluated(
        self, expression: Expression, inputs: Mapping[str, Array], *, wide: bool = False
    ) -> in_arrays.Values:
        values = {}
        for name, (member, kind, absent) in self._inputs().items():
            if kind is None:
                values[name] = in_arrays.Values("constant", np.asarray(absent), np.zeros((), bool))
            elif name not in inputs:
                raise UsageError(f"no elements of {member} are given", f"give them as {name!r}")
            else:
                values[name] = in_arrays.of_elements(inputs[name], kind)
        first = next(iter(self.stated.types.values()))
        for name in self.stated.table.numbers:
            values[name] = in_arrays.of_attribute(self.stated.operator.attributes[name], first)
        types = self.stated.types
        if wide:
            values = {name: in_arrays.widened(value) for name, value in values.items()}
            types = {name: DataType.FLOAT32 if kind is DataType.FLOAT16 else kind for name, kind in types.items()}
        return in_arrays.evaluate(expression, values, types)


class ExactSilentPoint(_Point):
    """The same of one element, in Python's integers and exact rounding."""

    def holds(self, elements: Mapping[str, int]) -> bool:
        """Whether the point holds.

        Args:
            elements: the patterns of one element of each input, by the names that the formula has for them.

        Raises:
            UsageError: an input is not given.
        """
        try:
            return bool(self._evaluated(self.condition, elements).content)
        except exactly.Undefined:
            return False

    def result(self, name: str, elements: Mapping[str, int]) -> int | None:
        """The pattern that a behaviour gives; ``None`` for any NaN.

        Raises:
            Undefined: it gives nothing.
        """
        return exactly.pattern(self._evaluated(self.meanings[name], elements), self.stated.output)

    def explains(self, name: str, elements: Mapping[str, int], bits: int) -> bool:
        """Whether a behaviour gives what came out."""
        try:
            wanted = self.result(name, elements)
        except exactly.Undefined:
            return False
        return exactly.of_pattern(bits, self.stated.output).content is None if wanted is None else bits == wanted

    def _evaluated(self, expression: Expression, elements: Mapping[str, int]) -> exactly.Value:
        values = {}
        for name, (member, kind, absent) in self._inputs().items():
            if kind is None:
                values[name] = exactly.of_number(absent)
            elif name not in elements:
                raise UsageError(f"no element of {member} is given", f"give one as {name!r}")
            else:
                values[name] = exactly.of_pattern(elements[name], kind)
        first = next(iter(self.stated.types.values()))
        for name in self.stated.table.numbers:
            values[name] = exactly.of_attribute(self.stated.operator.attributes[name], first)
        return exactly.evaluate(expression, values, self.stated.types)


def _length(inputs: Mapping[str, Array]) -> int:
    (length,) = {array.size for array in inputs.values()}
    return int(length)
