"""The checks of one table by itself; those of an operator's table have a module of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dmlcts.specs.checking.activation_checks import activation_faults
from dmlcts.specs.checking.common_checks import Loaded, clause_faults, repeated
from dmlcts.specs.checking.factor_checks import factor_faults
from dmlcts.specs.checking.operator_checks import operator_faults
from dmlcts.specs.checks import SHARED
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import Fault
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import (
    ActivationsTable,
    CastsTable,
    ClauseTemplatesTable,
    DataTypesTable,
    FactorsTable,
    FeatureLevelsTable,
    LatitudeTable,
    OperatorTable,
    RulesTable,
    Source,
)
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath, shown


def own_faults(loaded: Loaded[Any]) -> Iterator[Fault]:
    """What is wrong with a table, looked at by itself."""
    document, table = loaded.document, loaded.table
    yield from repeated(document, ("sources",), [source.id for source in table.sources], "source", "id")
    yield from _source_faults(document, table.sources)
    match table:
        case OperatorTable():
            yield from operator_faults(Loaded(document, table))
        case RulesTable():
            yield from _rules_faults(Loaded(document, table))
        case LatitudeTable():
            names = [latitude.name for latitude in table.latitudes]
            yield from repeated(document, ("latitudes",), names, "latitude", "name")
        case CastsTable():
            targets = [rule.target for rule in table.casts]
            yield from repeated(document, ("casts",), targets, "cast to", "target")
        case DataTypesTable():
            yield from _data_type_faults(Loaded(document, table))
        case FeatureLevelsTable():
            yield from _feature_level_faults(Loaded(document, table))
        case FactorsTable():
            yield from factor_faults(Loaded(document, table))
        case ActivationsTable():
            yield from activation_faults(Loaded(document, table))
        case ClauseTemplatesTable():
            yield from repeated(document, ("templates",), [row.name for row in table.templates], "template", "name")


def _source_faults(document: Document, sources: Sequence[Source]) -> Iterator[Fault]:
    """Faults for the places of a table that name a source which it does not list."""
    known = [source.id for source in sources]
    for path, value in _entries(document.value, ()):
        named = path[-1] == "source" or path[-2:-1] == ("sources",)
        if named and isinstance(value, str) and "attributes" not in path and value not in known:
            yield document.fault(path, f"no source has the id {shown(value)}", closest(value, known))


def _entries(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Every value below a mapping or list, with its path."""
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, item in items:
        yield (*path, step), item
        yield from _entries(item, (*path, step))


def _rules_faults(loaded: Loaded[RulesTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        if clause.check not in SHARED:
            cause = f"{clause.check!r} checks clauses of operators, and this one is shared"
            yield document.fault((*path, "check"), cause, closest(clause.check, SHARED))
        elif clause.id != clause.check:
            cause = f"{clause.check!r} checks the clause of that id and no other"
            yield document.fault((*path, "check"), cause, f"write `id: {clause.check}`, or leave the clause out")
        if clause.when:
            cause = "a shared clause has `when`, but only operators have enumerations"
            yield document.fault((*path, "when"), cause, "remove it", at_key=True)
        yield from clause_faults(document, path, clause)


def _data_type_faults(loaded: Loaded[DataTypesTable]) -> Iterator[Fault]:
    document, rows = loaded.document, loaded.table.data_types
    yield from repeated(document, ("data_types",), [row.name for row in rows], "data type", "name")
    for index, row in enumerate(rows):
        data_type = DataType[row.name]
        kind = "floating" if data_type.is_floating else "signed" if data_type.is_signed else "unsigned"
        facts = {"value": data_type.dml_value, "size_in_bytes": data_type.itemsize, "kind": kind}
        for member, fact in facts.items():
            if getattr(row, member) != fact:
                cause = f"{member} of {row.name} is {getattr(row, member)}, but the suite is built with {fact}"
                yield document.fault(("data_types", index, member), cause, f"write {fact}")


def _feature_level_faults(loaded: Loaded[FeatureLevelsTable]) -> Iterator[Fault]:
    document, rows = loaded.document, loaded.table.feature_levels
    yield from repeated(document, ("feature_levels",), [row.level for row in rows], "level", "level")
    for index, row in enumerate(rows):
        fact = FeatureLevel(row.level).dml_value
        if row.value != fact:
            cause = f"value of {row.level} is {row.value}, but the suite is built with {fact}"
            yield document.fault(("feature_levels", index, "value"), cause, f"write {fact}")
