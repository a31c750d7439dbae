"""Covering arrays: few rows of levels in which every combination of so many levels stands at least once.

A library would do for the rows alone (covertable is well kept and permissively licensed), but not for levels that
mask others, nor for levels that are combined less than the rest; and at three levels at once, over the dozen factors
here, it takes twenty seconds an operator and type where this takes a fraction of one.

Rows are made one after another. Each begins with a combination that no row has yet, and takes for every further
factor the level that adds most, among those that the constraints leave (a search with a way back, since they
may leave none). The order of all choices comes from the seed, so that the same seed gives the same rows.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.combinations.possible import asked, flat_offsets

Row = tuple[int, ...]
"""The position of the chosen level of each factor, in the factors' order."""


@dataclass(frozen=True)
class CoveringArray:
    """The rows of a space."""

    space: Space
    rows: tuple[Row, ...]

    def levels(self, row: Row) -> tuple[tuple[str, str], ...]:
        """A row's levels by name."""
        return tuple(
            (factor.name, factor.levels[place]) for factor, place in zip(self.space.factors, row, strict=True)
        )  # fmt: skip


@lru_cache(maxsize=64)
def covering_array(space: Space, seed: int) -> CoveringArray:
    """The rows in which every combination stands that the space asks for.

    Args:
        space: the factors, the constraints and how many levels at once are combined.
        seed: orders what is equally good.
    """
    builder = _Builder(space, seed)
    for together in range(space.strength, 0, -1):
        builder.cover(together)
    return CoveringArray(space, tuple(builder.rows))


class _Builder:
    """Adds rows until nothing is left that was asked for."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.random = random.Random(f"covering {seed}")  # noqa: S311  # an order of rows, no secret
        self.offsets = flat_offsets(space)
        self.sizes = [len(factor.levels) for factor in space.factors]
        self.masking = [
            frozenset(factor.index[name] for name in factor.masks) for factor in space.factors
        ]  # fmt: skip
        place = space.position
        self.relations: list[list[tuple[tuple[int, ...], NDArray[np.bool_]]]] = [[] for _ in space.factors]
        for relation in space.relations:
            scope = tuple(place[name] for name in relation.factors)
            allowed = np.zeros([self.sizes[factor] for factor in scope], bool)
            for one in relation.allowed:
                allowed[one] = True
            for factor in scope:
                self.relations[factor].append((scope, allowed))
        self.rows: list[Row] = []
        self.left: NDArray[np.bool_] = np.zeros(0, bool)

    def cover(self, together: int) -> None:
        """Add rows until every asked combination of so many levels stands in one."""
        self.left = asked(self.space, together).copy()
        for row in self.rows:
            self._strike(row, together)
        while self.left.any():
            seed = self._most_missing()
            row = self._completed(seed, together)
            self.rows.append(row)
            self._strike(row, together)

    def _most_missing(self) -> dict[int, int]:
        """A combination that no row has, of levels that miss many."""
        chosen: list[int] = []
        view = self.left
        while view.ndim:
            score = view.reshape(view.shape[0], -1).sum(1)
            best = np.flatnonzero(score == score.max())
            flat = int(best[self.random.randrange(best.size)])
            chosen.append(flat)
            view = view[flat]
        return dict(self._split(flat) for flat in chosen)

    def _split(self, flat: int) -> tuple[int, int]:
        factor = int(np.searchsorted(self.offsets, flat, "right")) - 1
        return factor, flat - int(self.offsets[factor])

    def _completed(self, seed: dict[int, int], together: int) -> Row:
        """The row with the seed's levels that covers most of what is left."""
        rows = []
        for _ in range(2 if together < 3 else 1):
            row = dict(seed)
            order = [factor for factor in range(len(self.sizes)) if factor not in row]
            self.random.shuffle(order)
            order.sort(key=lambda factor: -len(self.relations[factor]))
            if not self._extended(row, order, together, sparing=True) and not self._extended(
                row, order, together, sparing=False
            ):
                raise AssertionError(f"no row has {seed}, though it was found possible")
            rows.append(tuple(row[factor] for factor in range(len(self.sizes))))
        return max(rows, key=lambda one: self._gain(one, together)) if len(rows) > 1 else rows[0]

    def _extended(self, row: dict[int, int], order: Sequence[int], together: int, *, sparing: bool) -> bool:
        if not order:
            return True
        factor, rest = order[0], order[1:]
        for level in self._candidates(factor, row, together, sparing=sparing):
            row[factor] = level
            if self._possible(factor, row) and self._extended(row, rest, together, sparing=sparing):
                return True
            del row[factor]
        return False

    def _candidates(self, factor: int, row: dict[int, int], together: int, *, sparing: bool) -> list[int]:
        """The levels of a factor, what adds most first; neither masking nor, sparing, those that are combined less."""
        strengths = self.space.factors[factor].strengths
        least = together if sparing else 1
        levels = [
            level for level in range(self.sizes[factor])
            if strengths[level] >= least and level not in self.masking[factor]
        ]  # fmt: skip
        self.random.shuffle(levels)
        if together == 1:  # what is combined with few others is dear: the rest of its row is ordinary
            base = self.space.factors[factor].index[self.space.factors[factor].base]
            levels.sort(key=lambda level: level != base)
        offset = int(self.offsets[factor])
        chosen = np.array([int(self.offsets[other]) + level for other, level in row.items()])
        masks = [int(self.offsets[other]) + level for other, level in row.items() if level in self.masking[other]]
        flat = np.array(levels) + offset
        left = self.left
        if together == 1:
            gains = left[flat].astype(int)
        elif together == 2:
            gains = left[flat[:, None], np.array(masks or chosen)].sum(1)
        elif not masks:
            gains = left[np.ix_(flat, chosen, chosen)].sum((1, 2))
        elif len(masks) == 1:
            gains = left[np.ix_(flat, np.array(masks), chosen)].sum((1, 2))
        else:
            gains = left[np.ix_(flat, np.array(masks[:1]), np.array(masks[1:]))].sum((1, 2))
        return [levels[place] for place in np.argsort(-gains, kind="stable")]

    def _possible(self, factor: int, row: dict[int, int]) -> bool:
        """Whether each constraint on the factor can still be met."""
        for scope, allowed in self.relations[factor]:
            index = tuple(row.get(other, _ALL) for other in scope)
            if not np.any(allowed[index]):
                return False
        return True

    def _flat(self, row: Row) -> list[int]:
        return [int(offset) + level for offset, level in zip(self.offsets, row, strict=True)]

    def _covered(self, row: Row, together: int) -> tuple[NDArray[np.intp], ...]:
        """The index of all combinations of so many levels that the row covers, each in every order."""
        flat = self._flat(row)
        masks = [flat[factor] for factor, level in enumerate(row) if level in self.masking[factor]]
        others = [one for one in flat if one not in masks]
        free = together - len(masks)
        if free < 0:
            return tuple(np.zeros(0, np.intp) for _ in range(together))
        found = [
            order for rest in itertools.combinations(others, free) for order in itertools.permutations((*masks, *rest))
        ]
        return tuple(np.array(found, np.intp).reshape(-1, together).T)

    def _strike(self, row: Row, together: int) -> None:
        self.left[self._covered(row, together)] = False

    def _gain(self, row: Row, together: int) -> int:
        return int(np.count_nonzero(self.left[self._covered(row, together)]))


_ALL = slice(None)
