"""Fewer slow levels in the rows of a covering array: a row keeps one only for combinations that no other row has.

Rows are made for as many combinations as they can hold, so most of them end with a history or a large tensor, which
take several times as long as an ordinary case. Later rows have many of those combinations as well. A row that needs a
slow level for none of its combinations gets the base level in its place. What the array covers stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.combinations.possible import asked
from dmlcts.suites.combinations.sight import Row, Sight, in_sight


def with_fewer_slow_levels(space: Space, rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, of which some have the base level where they had a slow one.

    Every combination that is asked for still stands in a row. Rows with several slow levels come first. A row whose
    levels mask others stays as it is, and so does one that no constraint allows the base level.

    Args:
        space: what the rows are of.
        rows: a covering array of it.
    """
    slow = {
        place: frozenset(factor.index[name] for name in factor.slow)
        for place, factor in enumerate(space.factors)
        if factor.slow
    }
    kept = list(rows)
    if not slow:
        return tuple(kept)
    combinations = _Combinations(space, rows)
    for number in sorted(range(len(rows)), key=lambda place: -_slow_levels(rows[place], slow)):
        for place in sorted(slow, reverse=True):  # the last ones, histories, take most time
            row = kept[number]
            base = space.factors[place].index[space.factors[place].base]
            if row[place] not in slow[place] or combinations.needs(row, place):
                continue
            ordinary = (*row[:place], base, *row[place + 1 :])
            if space.allows(_named(space, ordinary)):
                combinations.count(row, -1)
                combinations.count(ordinary, 1)
                kept[number] = ordinary
    return tuple(kept)


def _slow_levels(row: Row, slow: dict[int, frozenset[int]]) -> int:
    return sum(row[place] in levels for place, levels in slow.items())


def _named(space: Space, row: Row) -> dict[str, str]:
    return {factor.name: factor.levels[level] for factor, level in zip(space.factors, row, strict=True)}


class _Combinations:
    """How many rows have each combination; levels are counted through."""

    def __init__(self, space: Space, rows: Sequence[Row]) -> None:
        self._sight = Sight(space)
        self._asked = [asked(space, together) for together in range(1, space.strength + 1)]
        self._counts = [np.zeros(wanted.shape, np.int32) for wanted in self._asked]
        for row in rows:
            self.count(row, 1)

    def count(self, row: Row, change: int) -> None:
        """Count the combinations that a row has in sight, or count them out."""
        parts = self._sight.parts(row)
        for together, counts in enumerate(self._counts, 1):
            counts[in_sight(*parts, together)] += change

    def needs(self, row: Row, place: int) -> bool:
        """Whether no other row has some asked combination of a row's level, or a level of the row masks the others.

        Args:
            row: the row.
            place: the place of the level's factor.
        """
        flat, masks = self._sight.parts(row)
        if masks:
            return True
        level = flat.pop(place)
        for together, (wanted, counts) in enumerate(zip(self._asked, self._counts, strict=True), 1):
            rest = np.ix_(*([flat] * (together - 1)))
            if (wanted[level][rest] & (counts[level][rest] < 2)).any():  # the row itself is one
                return True
        return False
