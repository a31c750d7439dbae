"""What does not go together: the table's constraints as relations, the sets of levels that are allowed.

Most constraints are names in the table. Four need a rule, and have it here: ``sizes`` (there must be sizes of
that rank, spread and kind with so many elements), ``order`` (an order of dimensions needs enough of them),
``same-layout`` (in place, the output has the layout of an input whose memory it may be) and ``equal-inputs`` (inputs
that share a region have one layout).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from dmlcts.specs import DataType
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import ConstraintRow, FactorsTable
from dmlcts.suites.combinations.sizes import dimensions, exists

INPUT_LAYOUTS = ("input-layout", "second-layout", "third-layout")
"""The factors that are the layouts of an operator's inputs of the output's sizes, in the struct's order."""

OUTPUT_LAYOUT = "output-layout"
_LEAST_DIMENSIONS = {"reversed": 2, "permuted": 3}
Levels = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Relation:
    """A constraint on some factors.

    Attributes:
        id: the constraint's id.
        factors: the names of the factors that it is about.
        allowed: what it allows: the positions of their levels.
    """

    id: str
    factors: tuple[str, ...]
    allowed: frozenset[tuple[int, ...]]


def relations_of(
    table: FactorsTable,
    levels: Levels,
    counts: Mapping[str, tuple[int, int]],
    data_type: DataType,
    aliases: tuple[str, ...],
) -> tuple[Relation, ...]:
    """The constraints that the levels of an operator on a type are under.

    Args:
        table: the table of factors.
        levels: the levels of every factor, by its name.
        counts: the least and the greatest number of elements, by level.
        data_type: the type.
        aliases: the factors that are the layouts of the inputs whose memory the output may be.
    """
    named = tuple((name, tuple(names)) for name, names in levels.items())
    return _relations(ByIdentity(table), named, tuple(counts.items()), data_type.is_floating, aliases)


@lru_cache(maxsize=256)  # most types of most operators have the same levels, and then share what follows from them
def _relations(
    table_key: ByIdentity[FactorsTable],
    named: tuple[tuple[str, tuple[str, ...]], ...],
    counted: tuple[tuple[str, tuple[int, int]], ...],
    floating: bool,
    aliases: tuple[str, ...],
) -> tuple[Relation, ...]:
    table, levels, counts = table_key.value, dict(named), dict(counted)
    relations = []
    for row in table.constraints:
        if row.data_types != "all" and (row.data_types == "floating") != floating:
            continue
        if row.holds is None:
            relations += _named(row, levels)
        elif row.holds == "sizes":
            relations += _sizes(row, levels, counts)
        elif row.holds == "order":
            laid = [name for name in (*INPUT_LAYOUTS, OUTPUT_LAYOUT) if name in levels]
            relations += [relation for name in laid for relation in _order(row, levels, name)]
        elif row.holds == "same-layout":
            relations += _same_layout(row, levels, aliases)
        else:
            relations += _equal_inputs(row, levels)
    return tuple(relations)


def _relation(row: ConstraintRow, levels: Levels, names: tuple[str, ...], allowed: set[tuple[str, ...]]) -> Relation:
    index = {name: {level: place for place, level in enumerate(levels[name])} for name in names}
    return Relation(
        row.id,
        names,
        frozenset(
            tuple(index[name][level] for name, level in zip(names, combination, strict=True)) for combination in allowed
        ),
    )


def _named(row: ConstraintRow, levels: Levels) -> list[Relation]:
    sides = {**row.when, **row.never}
    if not set(sides) <= set(levels):
        return []
    names = tuple(sides)
    allowed = {
        combination
        for combination in itertools.product(*(levels[name] for name in names))
        if not all(level in sides[name] for name, level in zip(names, combination, strict=True))
    }
    return [_relation(row, levels, names, allowed)]


def _sizes(row: ConstraintRow, levels: Levels, counts: Mapping[str, tuple[int, int]]) -> list[Relation]:
    names = ("rank", "spread", "sides", "count")
    allowed = {
        combination
        for combination in itertools.product(*(levels[name] for name in names))
        if exists(int(combination[0]), combination[1], combination[2], *counts[combination[3]])
    }
    return [_relation(row, levels, names, allowed)]


def _order(row: ConstraintRow, levels: Levels, layout: str) -> list[Relation]:
    names = ("rank", "spread", layout)
    allowed = {
        combination
        for combination in itertools.product(*(levels[name] for name in names))
        if dimensions(int(combination[0]), combination[1]) >= _LEAST_DIMENSIONS.get(combination[2], 0)
    }
    return [_relation(row, levels, names, allowed)]


def _same_layout(row: ConstraintRow, levels: Levels, aliases: tuple[str, ...]) -> list[Relation]:
    if "in-place" not in levels["placement"]:
        return []
    names = ("placement", OUTPUT_LAYOUT, *aliases)
    allowed = {
        combination
        for combination in itertools.product(*(levels[name] for name in names))
        if combination[0] != "in-place" or combination[1] in combination[2:]
    }
    return [_relation(row, levels, names, allowed)]


def _equal_inputs(row: ConstraintRow, levels: Levels) -> list[Relation]:
    if "one-region" not in levels["placement"]:
        return []
    names = ("placement", *(name for name in INPUT_LAYOUTS if name in levels))
    allowed = {
        combination
        for combination in itertools.product(*(levels[name] for name in names))
        if combination[0] != "one-region" or len(set(combination[1:])) == 1
    }
    return [_relation(row, levels, names, allowed)]
