"""Relations: what holds between inputs and the results of one or several operators, whatever an oracle says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import Attribute, OperatorDesc, TensorDesc
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Cast, Dispatch, Expression, Outside, Stored
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.statements import exactly, in_arrays
from dmlcts.specs.statements.kinds import Names, kind_of
from dmlcts.specs.statements.statement import Stated, descriptions, speaks_of
from dmlcts.specs.tables.formula_types import read_as
from dmlcts.specs.tables.signatures import Signature

Mask = NDArray[np.bool_]
_ANY_RANK = 4  # which every operator lists at every level


@dataclass(frozen=True)
class Dispatched:
    """One operator that a relation has dispatched.

    Attributes:
        node: its place in the statement; the same operator on the same arguments is dispatched once.
        table: the operator's table.
        types: the data type of each tensor, by the name of its member.
        attributes: its attributes: those of the description that the relation is about, where it has some of the name.
    """

    node: Dispatch
    table: OperatorTable
    types: Mapping[str, DataType]
    attributes: Mapping[str, Attribute]

    def describe(self, sizes: Sequence[int]) -> OperatorDesc:
        """Its description, every tensor packed and of the same sizes."""
        tensors = {name: TensorDesc(data_type, sizes) for name, data_type in self.types.items()}
        return OperatorDesc(self.table.operator, tensors, self.attributes)

    def supported(self, level: FeatureLevel, rank: int) -> bool:
        """Whether a level obliges an implementation to take it at a rank."""
        return self.table.supports({name: (data_type, rank) for name, data_type in self.types.items()}, level)

    @property
    def output(self) -> DataType:
        """The data type of what it gives."""
        return self.types[self.table.output]


Dispatcher = Callable[[Dispatched, Mapping[str, Array]], Array]
"""Has an implementation compute what is dispatched, of 1-D arrays by the names of the members; gives the output."""


def relation_clauses(table: OperatorTable, operator: OperatorDesc) -> list[Clause]:
    """The relations that a table states about a description."""
    return [clause for clause in table.checked_by("relation") if speaks_of(clause, table, operator)]


class Relation:
    """A clause of ``check: relation`` on one description.

    Args:
        tables: every operator's table, by the name of ``OperatorDesc``.
        table: the table that states the relation.
        clause: its clause.
        operator: the description whose types and attributes count.

    Raises:
        FormulaError: the statement cannot be evaluated on these types: an operator of it lists them at no level.
    """

    def __init__(
        self, tables: Mapping[str, OperatorTable], table: OperatorTable, clause: Clause, operator: OperatorDesc
    ) -> None:
        if clause.holds is None:
            raise UsageError(f"{clause.id} is no relation", "its clause needs `check: relation` and `holds:`")
        self.clause = clause
        self.by_name = {other.short_name: other for other in tables.values()}
        self.stated = Stated(table, operator, {name: len(other.inputs) for name, other in self.by_name.items()})
        self.condition = None if clause.where is None else self.stated.parsed(clause.where)
        self.statement = self.stated.parsed(clause.holds)
        self._types: dict[Dispatch, DataType] = {}
        self.dispatched = tuple(self._resolved(node) for node in _dispatches(self.statement))
        self.kind = kind_of(self.statement, self._names)

    @property
    def _names(self) -> Names:
        return Names.of(self.stated.table, self.stated.signature, self._types)

    def _resolved(self, node: Dispatch) -> Dispatched:
        """A dispatch with its types: those of its arguments, and for the output alone that of the description's."""
        other = self.by_name[node.operator]
        data_types: dict[str, DataType] = {}
        for member, argument in zip(other.inputs, node.arguments, strict=True):
            kind = kind_of(argument, self._names)
            if isinstance(kind, DataType):
                actual = self._actual(kind, other)
                if data_types.setdefault(other.tensors[member].type, actual) is not actual:
                    raise FormulaError(f"{node.operator} is given tensors of several types", "cast or wrap one of them")
            elif kind != "constant":
                raise FormulaError(f"{node.operator} is given a value of no type", "wrap it, as in wrap(T, a + b)")
        own = self.stated.operator.tensors[self.stated.table.output].data_type
        output = other.tensors[other.output].type
        data_types.setdefault(output, own)
        types = {member: data_types.get(row.type, own) for member, row in other.tensors.items() if not row.optional}
        if not other.supports({member: (data_type, _ANY_RANK) for member, data_type in types.items()}):
            type_names = ", ".join(data_type.name for data_type in types.values())
            raise FormulaError(f"{node.operator} is not there on {type_names}", "limit the clause by `data_types:`")
        self._types[node] = read_as(data_types[output], other)
        attribute_values = self.stated.operator.attributes
        attributes = {item.name: attribute_values.get(item.name) for item in other.attributes}
        return Dispatched(node, other, types, attributes)

    def _actual(self, kind: DataType, other: OperatorTable) -> DataType:
        """The tensors' type where the formula reads patterns: that of the variable which is read as ``kind``."""
        if self.stated.table.domain != "bits" or other.domain != "bits":
            return kind
        return next(
            (data_type for _, data_type in self.stated.signature.types if read_as(data_type, other) is kind), kind
        )

    def supported(self, level: FeatureLevel, rank: int) -> bool:
        """Whether a level obliges an implementation to take every operator of the relation at a rank."""
        return all(call.supported(level, rank) for call in self.dispatched)

    def broken(self, inputs: Mapping[str, Array], dispatch: Dispatcher) -> Mask:
        """The elements for which the relation does not hold, though its condition does.

        Args:
            inputs: 1-D arrays of one length by the names that the formula has for the inputs.
            dispatch: has the implementation compute one operator; it is called once for each of :attr:`dispatched`,
                on elements of which the condition holds alone, and not at all where it holds of none.
        """
        (length,) = {array.size for array in inputs.values()}
        types = self.stated.types
        values = {}
        for name, member in self.stated.table.formula_names.items():
            kind = read_as(self.stated.operator.tensors[member].data_type, self.stated.table)
            values[name] = in_arrays.of_elements(inputs[name], kind)
        for name in self.stated.table.numbers:
            values[name] = in_arrays.of_attribute(self.stated.operator.attributes[name], next(iter(types.values())))
        there = np.ones(length, bool)
        if self.condition is not None:
            there = in_arrays.held(in_arrays.evaluate(self.condition, values, types), length)
        if not there.any():
            return np.asarray(there, np.bool_)
        known = int(np.argmax(there))  # an element that stands for those of which nothing is said: 1 / 0 is not asked
        results: dict[Dispatch, in_arrays.Values] = {}
        for call in self.dispatched:
            tensors = {}
            for member, argument in zip(call.table.inputs, call.node.arguments, strict=True):
                kind = read_as(call.types[member], call.table)
                tensors[member], _ = in_arrays.stored(
                    in_arrays.evaluate(argument, values, types, results), kind, length
                )
                stored = tensors[member].view(call.types[member].numpy)
                tensors[member] = np.where(there, stored, stored[known])
            output = dispatch(call, tensors)
            results[call.node] = in_arrays.of_elements(output, self._types[call.node])
        return there & ~in_arrays.held(in_arrays.evaluate(self.statement, values, types, results), length)

    def broken_by(self, elements: Mapping[str, int], outputs: Sequence[int]) -> bool:
        """The same of one element, exactly: of its patterns, and of the pattern that each dispatch gave."""
        types = self.stated.types
        values = {}
        for name, member in self.stated.table.formula_names.items():
            kind = read_as(self.stated.operator.tensors[member].data_type, self.stated.table)
            values[name] = exactly.of_pattern(elements[name], kind)
        for name in self.stated.table.numbers:
            values[name] = exactly.of_attribute(self.stated.operator.attributes[name], next(iter(types.values())))
        results = {
            call.node: exactly.of_pattern(bits, self._types[call.node])
            for call, bits in zip(self.dispatched, outputs, strict=True)
        }
        try:
            if self.condition is not None and not exactly.evaluate(self.condition, values, types).content:
                return False
        except exactly.Undefined:
            return False
        try:
            return not exactly.evaluate(self.statement, values, types, results).content
        except exactly.Undefined:
            return True


class Levels:
    """From which level on relations can be tried, on each type: an operator of theirs may have come later.

    Args:
        tables: every operator's table, by the name of ``OperatorDesc``.
    """

    def __init__(self, tables: Mapping[str, OperatorTable]) -> None:
        self._tables = tables
        self._found: dict[tuple[str, DataType], FeatureLevel | None] = {}

    def __call__(self, table: OperatorTable, clause: Clause, data_type: DataType) -> FeatureLevel | None:
        """The lowest level at which a signature of the type has every operator of the relation; ``None``: none has."""
        key = clause.id, data_type
        if key not in self._found:
            levels = (self._of(table, clause, operator, data_type) for operator in descriptions(table))
            self._found[key] = min((level for group in levels for level in group), default=None)
        return self._found[key]

    def _of(
        self, table: OperatorTable, clause: Clause, operator: OperatorDesc, data_type: DataType
    ) -> Iterator[FeatureLevel]:
        if Signature.of(operator, table).data_type is not data_type or not speaks_of(clause, table, operator):
            return
        related = Relation(self._tables, table, clause, operator)
        own = {name: (tensor.data_type, _ANY_RANK) for name, tensor in operator.tensors.items()}
        for level in FeatureLevel:
            if table.supports(own, level) and related.supported(level, _ANY_RANK):
                yield level
                return


def _dispatches(expression: Expression) -> list[Dispatch]:
    """The dispatches of a statement, each once, arguments before what they are given to."""
    return list(dict.fromkeys(_found(expression)))


def _found(expression: Expression) -> Iterator[Dispatch]:
    match expression:
        case Dispatch(_, arguments):
            for argument in arguments:
                yield from _found(argument)
            yield expression
        case Call(_, arguments):
            for argument in arguments:
                yield from _found(argument)
        case Cast(_, argument) | Stored(_, _, argument) | Outside(_, argument):
            yield from _found(argument)
