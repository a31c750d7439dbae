"""The checks of the table of factors: every name that its constraints and economies use must exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmlcts.specs.checking.common_checks import Loaded, repeated
from dmlcts.specs.errors import Fault
from dmlcts.specs.models import FactorsTable
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath


def factor_faults(loaded: Loaded[FactorsTable]) -> Iterator[Fault]:
    """What is wrong with a table of factors, looked at by itself."""
    document, table = loaded.document, loaded.table
    yield from repeated(document, ("factors",), [factor.name for factor in table.factors], "factor", "name")
    yield from repeated(document, ("constraints",), [row.id for row in table.constraints], "constraint", "id")
    known: dict[str, list[str]] = {}
    for index, factor in enumerate(table.factors):
        path: KeyPath = ("factors", index)
        known[factor.name] = [level.name for level in factor.levels]
        yield from repeated(document, (*path, "levels"), known[factor.name], "level", "name")
        if bool(factor.levels) == (factor.levels_of is not None):
            cause = f"the factor {factor.name} needs either `levels` or `levels_of`"
            yield document.fault(path, cause, "list its levels, or say where they come from")
        for item, level in enumerate(factor.levels):
            if level.counts is not None and not 1 <= level.counts[0] <= level.counts[1]:
                yield document.fault(
                    (*path, "levels", item, "counts"), "the numbers are in no order", "write the least and the greatest"
                )
    for index, constraint in enumerate(table.constraints):
        path = ("constraints", index)
        if bool(constraint.when and constraint.never) == (constraint.holds is not None):
            cause = f"the constraint {constraint.id} needs either `when` and `never` or `holds`"
            yield document.fault(path, cause, "name levels that do not go together, or the rule")
        for key, named in (("when", constraint.when), ("never", constraint.never)):
            yield from _unknown(document, (*path, key), named, known)
    for index, economy in enumerate(table.economies):
        yield from _unknown(document, ("economies", index, "levels"), economy.levels, known)


def _unknown(
    document: Document, path: KeyPath, named: Mapping[str, tuple[str, ...]], known: Mapping[str, list[str]]
) -> Iterator[Fault]:
    for factor, levels in named.items():
        if factor not in known:
            yield document.fault((*path, factor), f"there is no factor {factor!r}", closest(factor, known), at_key=True)
            continue
        for index, level in enumerate(levels):
            if known[factor] and level not in known[factor]:
                cause = f"the factor {factor} has no level {level!r}"
                yield document.fault((*path, factor, index), cause, closest(level, known[factor]))
