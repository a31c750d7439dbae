"""Which clauses a test checks: the ``checks`` marker and what it means for parametrisation and selection.

A test names its clauses by id, or with ``{op}`` for the operator's prefix. It applies to an operator where
that operator's table has every ``{op}`` clause and every clause of its own, and to the element types that the
first clause is about; so an operator that is added as a YAML file gets the tests that its clauses call for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from dmlcts.specs import DataType
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables


def checks(*clauses: str, data_types: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Mark a test with the clauses it checks.

    Args:
        clauses: clause ids, ``{op}`` standing for the operator's prefix; the first decides on the types.
        data_types: names of the element types to which the test is limited.
    """
    return pytest.mark.checks(*clauses, data_types=tuple(data_types))


@dataclass(frozen=True)
class Checked:
    """A test's ``checks`` marker, read."""

    templates: tuple[str, ...]
    data_types: tuple[str, ...]

    @classmethod
    def of(cls, marker: pytest.Mark) -> Checked:
        """Read the marker."""
        return cls(tuple(marker.args), tuple(marker.kwargs.get("data_types", ())))

    def clauses(self, table: OperatorTable) -> tuple[str, ...]:
        """The ids of the clauses that the test checks for this operator."""
        return tuple(template.format(op=table.prefix) for template in self.templates)

    def applies(self, table: OperatorTable, tables: Tables) -> bool:
        """Whether the operator's table calls for the test."""
        own = {clause.id for clause in table.clauses}
        shared = {clause.id for rules in tables.rules for clause in rules.clauses}
        return all(clause in own or clause in shared for clause in self.clauses(table))

    def subjects(self, tables: Tables) -> Iterator[tuple[OperatorTable, DataType]]:
        """Every operator and element type that the test is about."""
        for table in tables.operators.values():
            if not self.applies(table, tables):
                continue
            first = tables.clause(self.clauses(table)[0])
            for data_type in tables.data_types(first, table):
                if not self.data_types or data_type.name in self.data_types:
                    yield table, data_type
