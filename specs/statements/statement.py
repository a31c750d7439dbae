"""A statement of a clause, parsed for one description: its expression, and what its names stand for there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import Attribute, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.formula import Expression, choose, parse
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.tables.formula_types import read_as
from dmlcts.specs.tables.law import is_about
from dmlcts.specs.tables.signatures import Signature, signatures


@dataclass(frozen=True)
class Stated:
    """One description as the statements of its table see it.

    Attributes:
        table: the operator's table.
        operator: the description.
        operators: the operators that a relation may apply, with the number of their inputs.
    """

    table: OperatorTable
    operator: OperatorDesc
    operators: Mapping[str, int]

    @property
    def signature(self) -> Signature:
        """The data types of the description."""
        return Signature.of(self.operator, self.table)

    @property
    def types(self) -> dict[str, DataType]:
        """The data type of each type variable, as the formula reads it."""
        return {variable: read_as(data_type, self.table) for variable, data_type in self.signature.types}

    @property
    def output(self) -> DataType:
        """The output's data type, as the formula gives it."""
        return self.types[self.table.tensors[self.table.output].type]

    def parsed(self, text: str) -> Expression:
        """A statement with the description's enumerators chosen."""
        names = (*self.table.formula_names, *self.table.numbers)
        enumerations = {item.name: item.enumerators for item in self.table.attributes if item.type == "ENUM"}
        expression = parse(text, names, enumerations, self.table.type_variables, self.operators)
        return choose(expression, {name: str(self.operator.attributes[name]) for name in enumerations})


def speaks_of(clause: Clause, table: OperatorTable, operator: OperatorDesc) -> bool:
    """Whether a clause with a statement is about a description: its type, its enumerators, and nothing fused to it."""
    if any(isinstance(value, ScaleBias | OperatorDesc) for value in operator.attributes.values()):
        return False
    if any(operator.attributes.get(name) != wanted for name, wanted in clause.when.items()):
        return False
    signature = Signature.of(operator, table)
    about = clause.data_types == "unlisted" or clause.may_be_about(signature.data_type, dict(signature.types))
    return about and is_about(clause, signature.data_type, table)


def descriptions(table: OperatorTable) -> Iterator[OperatorDesc]:
    """A description of every signature of a table, with numbers of 0, no ScaleBias, and each enumerator in turn."""
    enumerations = [item for item in table.attributes if item.type == "ENUM"]
    complete = any(row.kind == "output" for row in table.tensors.values())
    for signature in signatures(table):
        if not complete or len(signature.types) < len(table.type_variables):
            continue  # which has a fault of its own
        tensors = {
            name: TensorDesc(signature[row.type], (1,))
            for name, row in table.tensors.items()
            if not row.optional or name in signature.present
        }
        plain = {item.name: _plain(item.type, signature) for item in table.attributes}
        if not enumerations:
            yield OperatorDesc(table.operator, tensors, plain)
        for item in enumerations:
            for enumerator in item.enumerators:
                others = {other.name: other.enumerators[0] for other in enumerations}
                yield OperatorDesc(table.operator, tensors, {**plain, **others, item.name: enumerator})


def _plain(kind: str, signature: Signature) -> Attribute:
    match kind:
        case "DML_SCALE_BIAS" | "DML_OPERATOR_DESC":
            return None
        case "DML_SCALAR_UNION":
            return ScalarUnion(signature.data_type, 0)
        case "DML_TENSOR_DATA_TYPE":
            return signature.data_type.name
    return np.float32(0)
