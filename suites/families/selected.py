"""What a run would judge: the operators, types and clauses that its selection leaves. Nothing is opened or judged."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.specs import DataType, UsageError
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.families.family import Probe, families
from dmlcts.suites.running.options import Settings


@dataclass(frozen=True)
class SelectedOperator:
    """What a run would judge of an operator.

    Attributes:
        table: the operator's table.
        data_types: the types that its tests try, in the order of the header.
        clauses: the ids of the clauses that its tests check, in the order of the tables.
        items: how many items pytest would run.
        tests: how many tests these items hold.
    """

    table: OperatorTable
    data_types: tuple[DataType, ...]
    clauses: tuple[str, ...]
    items: int
    tests: int


def selected_by(settings: Settings) -> tuple[SelectedOperator, ...]:
    """What a run with these settings would judge, in the order of the operators.

    The level that a device claims is not known here: of a device of a low level, a run skips some of it.

    Raises:
        UsageError: the selection is empty.
    """
    part, parts = settings.shard or (1, 1)
    taken: dict[str, list[list[Probe]]] = {}
    counted = 0
    for family in families():
        for table in settings.tables.operators.values():
            probes = list(family.selected(settings, table)) if settings.selects_operator(table) else []
            if not probes:
                continue
            if counted % parts == part - 1:  # the plugin counts items in the same order
                taken.setdefault(table.operator, []).append(probes)
            counted += 1
    if not counted:
        raise UsageError("the selection is empty: no clause is about these operators and types", "select others")
    return tuple(
        _selected(settings, table, taken[table.operator])
        for table in settings.tables.operators.values()
        if table.operator in taken
    )


def _selected(settings: Settings, table: OperatorTable, items: list[list[Probe]]) -> SelectedOperator:
    """An operator with what the probes of its items try and check."""
    checked: set[str] = set()
    tried: set[DataType] = set()
    for probe in (probe for probes in items for probe in probes):
        tried.add(probe.signature.data_type)
        checked.update(probe.checked.clauses(table, settings.tables))
    clauses = (
        clause.id
        for clause in settings.tables.clauses_of(table)
        if clause.id in checked
        and settings.selects_clause(clause.id)
        and tried & set(settings.tables.data_types(clause, table))
    )
    return SelectedOperator(
        table,
        tuple(data_type for data_type in DataType if data_type in tried),
        tuple(clauses),
        len(items),
        sum(map(len, items)),
    )
