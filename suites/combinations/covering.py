"""Covering arrays: few rows of levels in which every combination of so many levels stands at least once.

A library would do for the rows alone (covertable is well kept and permissively licensed), but not for levels that
mask others, nor for levels that are combined less than the rest; and at three levels at once, over the dozen factors
here, it takes twenty seconds an operator and type where this takes a fraction of one.

Rows are made one after another. Each begins with a combination that no row has yet, and takes for every further
factor the level that adds most, among those that the constraints leave (a search with a way back, since they
may leave none). The order of all choices comes from the seed, so that the same seed gives the same rows.
"""

from __future__ import annotations

import bisect
import operator
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.combinations.constraints import Relation
from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.combinations.possible import asked
from dmlcts.suites.combinations.sight import Row, Sight, in_sight
from dmlcts.suites.combinations.slow_levels import with_fewer_slow_levels

_WIDTHS = tuple((last + 1).bit_length() for last in range(256))  # a factor has fewer levels, a space fewer factors


@dataclass(frozen=True)
class CoveringArray:
    """The rows of a space."""

    space: Space
    rows: tuple[Row, ...]

    def levels(self, row: Row) -> tuple[tuple[str, str], ...]:
        """A row's levels by name."""
        return tuple(map(operator.getitem, self._named, row))

    @cached_property
    def _named(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """For each factor its levels, each with the factor's name."""
        return tuple(tuple((factor.name, level) for level in factor.levels) for factor in self.space.factors)


@lru_cache(maxsize=256)  # the tables have 93 spaces in all, and each takes a twentieth of a second
def covering_array(space: Space, seed: int) -> CoveringArray:
    """The rows in which every combination stands that the space asks for.

    Args:
        space: the factors, the constraints and how many levels at once are combined.
        seed: orders what is equally good.
    """
    builder = _Builder(space, seed)
    for together in range(space.strength, 0, -1):
        builder.cover(together)
    return CoveringArray(space, with_fewer_slow_levels(space, builder.rows))


@dataclass(frozen=True)
class _Trial:
    """A row that is being made.

    Attributes:
        row: the levels that it has, by factor, in the order in which they were taken; is added to.
        order: in which factors get their levels.
        masks: those of its levels, counted through, that mask the others; it was begun with them.
        together: how many levels are combined.
    """

    row: dict[int, int]
    order: tuple[int, ...]
    masks: list[int]
    together: int


@lru_cache(maxsize=512)  # spaces have many relations in common
def _kept(relation: Relation, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For each level of each factor what the relation allows that the level is in, as bits."""
    kept = [[0] * size for size in sizes]
    for order, combination in enumerate(relation.allowed):
        for levels, level in zip(kept, combination, strict=True):
            levels[level] |= 1 << order
    return tuple(map(tuple, kept))


class _Builder:
    """Adds rows until nothing is left that was asked for."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.random = random.Random(f"covering {seed}")  # noqa: S311  # an order of rows, no secret
        self.sight = Sight(space)
        self.offsets, self.masking = self.sight.offsets, self.sight.masking
        self.sizes = [len(factor.levels) for factor in space.factors]
        place = space.position
        self.standing: list[int] = []
        self.relations: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in space.factors]
        for number, relation in enumerate(space.relations):
            kept = _kept(relation, tuple(self.sizes[place[name]] for name in relation.factors))
            self.standing.append((1 << len(relation.allowed)) - 1)
            for levels, name in zip(kept, relation.factors, strict=True):
                self.relations[place[name]].append((number, levels))
        self.fewest_first = [-len(known) for known in self.relations]
        self.usable: dict[tuple[int, int], list[int]] = {}
        self.rows: list[Row] = []
        self.left: _Left = _Pairs(np.zeros(0, bool))

    def cover(self, together: int) -> None:
        """Add rows until every asked combination of so many levels stands in one."""
        wanted = asked(self.space, together)
        self.left = _Triples(wanted.copy()) if together > 2 else _Pairs(wanted)
        for row in self.rows:
            self.left.strike(*self.sight.parts(row))
        while self.left.any():
            seed = dict(self._split(flat) for flat in self.left.most_missing(self.random))
            row = self._completed(seed, together)
            self.rows.append(row)
            self.left.strike(*self.sight.parts(row))

    def _split(self, flat: int) -> tuple[int, int]:
        factor = bisect.bisect_right(self.offsets, flat) - 1
        return factor, flat - self.offsets[factor]

    def _completed(self, seed: dict[int, int], together: int) -> Row:
        """The row with the seed's levels that covers most of what is left."""
        rows = []
        standing = list(self.standing)
        for factor, level in seed.items():
            self._narrow(standing, factor, level)
        flat = [self.offsets[factor] + level for factor, level in seed.items()]
        masks = [
            position
            for position, (factor, level) in zip(flat, seed.items(), strict=True)
            if level in self.masking[factor]
        ]
        for _ in range(2 if together < 3 else 1):
            row = dict(seed)
            order = [factor for factor in range(len(self.sizes)) if factor not in row]
            self._shuffle(order)
            order.sort(key=self.fewest_first.__getitem__)
            trial = _Trial(row, (*seed, *order), masks, together)
            if not self._extended(trial, _bits(flat), standing, sparing=True) and not self._extended(
                trial, _bits(flat), standing, sparing=False
            ):
                raise AssertionError(f"no row has {seed}, though it was found possible")
            rows.append(tuple(row[factor] for factor in range(len(self.sizes))))
        return (
            max(rows, key=lambda candidate: self.left.gain(*self.sight.parts(candidate))) if len(rows) > 1 else rows[0]
        )

    def _extended(self, trial: _Trial, chosen: int, standing: list[int], *, sparing: bool) -> bool:
        """Give the row a level of each further factor: whether there are such.

        Args:
            trial: the row.
            chosen: the levels that it has, counted through, as bits.
            standing: see :meth:`_narrow`.
            sparing: whether to take no levels that are combined less.
        """
        row = trial.row
        if len(row) == len(trial.order):
            return True
        factor = trial.order[len(row)]
        offset, related = self.offsets[factor], self.relations[factor]
        for level in self._candidates(factor, trial, chosen, sparing=sparing):
            left = list(standing) if related else standing
            if self._narrow(left, factor, level):
                row[factor] = level
                if self._extended(trial, chosen | 1 << offset + level, left, sparing=sparing):
                    return True
                del row[factor]
        return False

    def _narrow(self, standing: list[int], factor: int, level: int) -> bool:
        """Take a level: whether each constraint on the factor can still be met.

        Args:
            standing: for each constraint what it allows that the levels taken so far are in, as bits; is narrowed.
            factor: the factor.
            level: its level.
        """
        for number, kept in self.relations[factor]:
            left = standing[number] & kept[level]
            if not left:
                return False
            standing[number] = left
        return True

    def _candidates(self, factor: int, trial: _Trial, chosen: int, *, sparing: bool) -> Iterator[int]:
        """The levels of a factor, what adds most first; neither masking nor, sparing, those that are combined less."""
        levels = list(self._usable(factor, trial.together if sparing else 1))
        self._shuffle(levels)
        if trial.together == 1:  # what is combined with few others is dear: the rest of its row is ordinary
            base = self.space.factors[factor].index[self.space.factors[factor].base]
            levels.sort(key=lambda level: level != base)
        if not levels:
            return
        offset = self.offsets[factor]
        gains = self.left.gains([offset + level for level in levels], chosen, trial.masks)
        first = gains.index(max(gains))
        yield levels[first]  # mostly it will do, and the others need no order
        others = [place for place in range(len(levels)) if place != first]
        others.sort(key=gains.__getitem__, reverse=True)  # equal ones stay in their order
        yield from (levels[place] for place in others)

    def _usable(self, factor: int, least: int) -> list[int]:
        """The levels of a factor that mask nothing and are combined with so many others."""
        levels = self.usable.get((factor, least))
        if levels is None:
            strengths, masking = self.space.factors[factor].strengths, self.masking[factor]
            levels = self.usable[factor, least] = [
                level for level in range(self.sizes[factor]) if strengths[level] >= least and level not in masking
            ]
        return levels

    def _shuffle(self, some: list[int]) -> None:
        """As the generator's own, which takes three calls an element."""
        bits = self.random.getrandbits
        for last in range(len(some) - 1, 0, -1):
            width = _WIDTHS[last]
            other = bits(width)
            while other > last:
                other = bits(width)
            some[last], some[other] = some[other], some[last]


class _Left(Protocol):
    """The combinations that were asked for and that no row has yet; levels are counted through."""

    def any(self) -> bool:
        """Whether there is one."""

    def most_missing(self, generator: random.Random) -> list[int]:
        """One of them, of levels that miss many."""

    def gains(self, levels: list[int], chosen: int, masks: list[int]) -> list[int]:
        """How many of them each level adds to a row that has the chosen ones (bits), some of which mask the others."""

    def gain(self, others: list[int], masks: list[int]) -> int:
        """How many of them a row has, each in every order."""

    def strike(self, others: list[int], masks: list[int]) -> None:
        """Take out those that a row has."""


def _bits(levels: Iterable[int]) -> int:
    mask = 0
    for level in levels:
        mask |= 1 << level
    return mask


class _Pairs:
    """Pairs, or single levels, as sets of bits: for each level those that it still has to stand with."""

    def __init__(self, wanted: NDArray[np.bool_]) -> None:
        self.alone = wanted.ndim == 1
        rows = wanted.reshape(-1, 1) if self.alone else wanted
        self.sets = [_bits(np.flatnonzero(row).tolist()) for row in rows]

    def any(self) -> bool:
        """As :meth:`_Left.any`."""
        return any(self.sets)

    def most_missing(self, generator: random.Random) -> list[int]:
        """As :meth:`_Left.most_missing`."""
        counts = [bits.bit_count() for bits in self.sets]
        most = max(counts)
        best = [level for level, count in enumerate(counts) if count == most]
        first = best[generator.randrange(len(best))]
        if self.alone:
            return [first]
        beside = [level for level in range(len(self.sets)) if self.sets[first] >> level & 1]
        return [first, beside[generator.randrange(len(beside))]]

    def gains(self, levels: list[int], chosen: int, masks: list[int]) -> list[int]:
        """As :meth:`_Left.gains`."""
        beside = 1 if self.alone else _bits(masks) if masks else chosen
        sets = self.sets
        return [(sets[level] & beside).bit_count() for level in levels]

    def _sides(self, others: list[int], masks: list[int]) -> Iterator[tuple[int, int]]:
        """Each level of a row with the bits of those that it stands with in sight."""
        if self.alone:
            yield from ((level, 1) for level in (masks or others) if len(masks) < 2)
        elif not masks:
            every = _bits(others)
            yield from ((level, every) for level in others)
        elif len(masks) == 1:
            yield masks[0], _bits(others)
            yield from ((level, 1 << masks[0]) for level in others)
        elif len(masks) == 2:
            yield masks[0], 1 << masks[1]
            yield masks[1], 1 << masks[0]

    def gain(self, others: list[int], masks: list[int]) -> int:
        """As :meth:`_Left.gain`."""
        return sum((self.sets[level] & beside).bit_count() for level, beside in self._sides(others, masks))

    def strike(self, others: list[int], masks: list[int]) -> None:
        """As :meth:`_Left.strike`."""
        for level, beside in self._sides(others, masks):
            self.sets[level] &= ~beside


class _Triples:
    """Triples as a symmetric array over all levels."""

    def __init__(self, wanted: NDArray[np.bool_]) -> None:
        self.left = wanted

    def any(self) -> bool:
        """As :meth:`_Left.any`."""
        return bool(self.left.any())

    def most_missing(self, generator: random.Random) -> list[int]:
        """As :meth:`_Left.most_missing`."""
        chosen: list[int] = []
        view = self.left
        while view.ndim:
            score = view.reshape(view.shape[0], -1).sum(1)
            best = np.flatnonzero(score == score.max())
            flat = int(best[generator.randrange(best.size)])
            chosen.append(flat)
            view = view[flat]
        return chosen

    def gains(self, levels: list[int], chosen: int, masks: list[int]) -> list[int]:
        """As :meth:`_Left.gains`."""
        having = []
        while chosen:
            having.append(chosen.bit_length() - 1)
            chosen ^= 1 << having[-1]
        first = masks[:1] or having
        sums: list[int] = self.left[np.ix_(levels, first, masks[1:] or having)].sum((1, 2)).tolist()
        return sums

    def gain(self, others: list[int], masks: list[int]) -> int:
        """As :meth:`_Left.gain`."""
        return int(np.count_nonzero(self.left[in_sight(others, masks, 3)]))

    def strike(self, others: list[int], masks: list[int]) -> None:
        """As :meth:`_Left.strike`."""
        self.left[in_sight(others, masks, 3)] = False
