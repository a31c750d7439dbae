"""The checks of all tables together: what two of them claim, and the names that go from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dmlcts.specs.checking.activation_checks import fused_faults
from dmlcts.specs.checking.common_checks import Loaded, tables_of
from dmlcts.specs.checking.statement_checks import relation_faults
from dmlcts.specs.errors import Fault
from dmlcts.specs.models import (
    ActivationsTable,
    AnyTable,
    CastsTable,
    ClauseTemplatesTable,
    DataTypesTable,
    FactorsTable,
    FeatureLevelsTable,
    LatitudeTable,
    OperatorTable,
    RulesTable,
)
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath

Claim = tuple[Document, KeyPath, object]
"""A name that only one table may have, with its place."""


def joint_faults(loaded: Sequence[Loaded[AnyTable]], *, whole: bool) -> Iterator[Fault]:
    """What is wrong with the tables together; ``whole``: whether every file could be read."""
    operators, rules = tables_of(loaded, OperatorTable), tables_of(loaded, RulesTable)
    latitudes = tables_of(loaded, LatitudeTable)
    owners: list[tuple[Document, OperatorTable | RulesTable]] = [*operators, *rules]

    claims: list[Claim] = [(document, ("operator",), table.operator) for document, table in operators]
    yield from _claimed_twice(claims, "the operator", "keep one table an operator")
    claims = [(document, ("code",), table.code) for document, table in operators]
    yield from _claimed_twice(claims, "the operator code", "write the number that DML_OPERATOR_TYPE gives")
    claims = [
        (document, ("clauses", index, "id"), clause.id)
        for document, table in owners
        for index, clause in enumerate(table.clauses)
    ]
    yield from _claimed_twice(claims, "the clause id", "rename one of them")
    names = {table.short_name.lower() for _, table in operators}
    for document, table in operators:
        for index, group in enumerate(table.groups):
            if group in names:
                yield document.fault(("groups", index), f"{group} is an operator's name", "name the group otherwise")
    claims = [
        (document, ("latitudes", index, "name"), latitude.name)
        for document, table in latitudes
        for index, latitude in enumerate(table.latitudes)
    ]
    yield from _claimed_twice(claims, "the latitude", "rename one of them")
    claims = [(document, ("limits", name), name) for document, table in rules for name in table.limits]
    yield from _claimed_twice(claims, "the limit", "keep one of them")

    claims = [(document, ("format",), "of the factors") for document, _ in tables_of(loaded, FactorsTable)]
    yield from _claimed_twice(claims, "the table", "keep one, and edit that")

    claims = [(document, ("format",), "of the activations") for document, _ in tables_of(loaded, ActivationsTable)]
    yield from _claimed_twice(claims, "the table", "keep one, and edit that")

    claims = [(document, ("format",), "of clause templates") for document, _ in tables_of(loaded, ClauseTemplatesTable)]
    yield from _claimed_twice(claims, "the table", "keep the built-in one, and write other clauses out")

    claims = [
        (document, ("casts", index, "target"), rule.target)
        for document, table in tables_of(loaded, CastsTable)
        for index, rule in enumerate(table.casts)
    ]
    yield from _claimed_twice(claims, "the cast to", "keep one of them")

    if whole:
        yield from _support_faults(operators, loaded)
        yield from relation_faults(operators)
        yield from fused_faults(operators, tables_of(loaded, ActivationsTable))
    if whole:  # else the latitude may stand in the file that could not be read
        known = [latitude.name for _, table in latitudes for latitude in table.latitudes]
        yield from _latitude_faults(owners, known)


def _claimed_twice(claims: Iterable[Claim], what: str, mend: str) -> Iterator[Fault]:
    first: dict[object, str] = {}
    for document, path, name in claims:
        line, _ = document.key_position(path)
        if name in first:
            cause = f"{what} {name} stands twice, first in {first[name]}"
            yield document.fault(path, cause, mend, at_key=path[0] == "limits")
        else:
            first[name] = f"{document.file}:{line}"


def _support_faults(
    operators: Iterable[tuple[Document, OperatorTable]], loaded: Sequence[Loaded[AnyTable]]
) -> Iterator[Fault]:
    """The types and levels of the support tables, which the tables of types and of levels must list."""
    types = [row.name for _, table in tables_of(loaded, DataTypesTable) for row in table.data_types]
    levels = [row.level for _, table in tables_of(loaded, FeatureLevelsTable) for row in table.feature_levels]
    for document, table in operators:
        for index, support in enumerate(table.support):
            if support.level not in levels:
                cause = f"no table of feature levels lists {support.level}"
                yield document.fault(("support", index, "level"), cause, closest(support.level, levels))
            for variable, names in support.types.items():
                for item, name in enumerate(names):
                    if name not in types:
                        where: KeyPath = ("support", index, "types", variable, item)
                        yield document.fault(where, f"no table of data types lists {name}", closest(name, types))


def _latitude_faults(
    owners: Iterable[tuple[Document, OperatorTable | RulesTable]], known: Sequence[str]
) -> Iterator[Fault]:
    for document, table in owners:
        for index, clause in enumerate(table.clauses):
            for item, name in enumerate(clause.latitude):
                if name not in known:
                    where = ("clauses", index, "latitude", item)
                    yield document.fault(where, f"there is no latitude {name!r}", closest(name, known))
