"""Which tests measure: those of the clauses about values, of operators whose results may be inexact."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dmlcts.specs import DataType, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.accuracy.measurable import is_measured
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.law import is_about
from dmlcts.specs.tables.signatures import Signature, signatures


def value_clauses_measured(
    operators: Iterable[OperatorTable], tables: Tables, takes: Callable[[DataType], bool]
) -> list[str]:
    """The ids of the clauses whose tests measure something.

    Args:
        operators: the operators that are chosen.
        tables: the spec tables.
        takes: whether a data type is chosen.

    Raises:
        UsageError: there is none: all results are exact.
    """
    clauses: list[str] = []
    for table in operators:
        measured = [
            signature
            for signature in signatures(table)
            if takes(signature.data_type) and _measured(signature, table, tables)
        ]
        clauses += [
            clause.id
            for clause in table.checked_by("values")
            if any(is_about(clause, signature.data_type, table) for signature in measured)
        ]
    if not clauses:
        raise UsageError("all results of the selected operators and types are exact", "select others, such as DIVIDE")
    return clauses


def _measured(signature: Signature, table: OperatorTable, tables: Tables) -> bool:
    types = dict(signature.types)
    tensors = {
        name: TensorDesc(types[row.type], (1,))
        for name, row in table.tensors.items()
        if not row.optional or name in signature.present
    }
    attributes = {item.name: item.enumerators[0] if item.type == "ENUM" else None for item in table.attributes}
    return is_measured(tables.law(table), OperatorDesc(table.operator, tensors, attributes))
