"""The cases of a subject's covering array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.combinations.building import build, space
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.generation.subject import Subject

_DEAR = frozenset({"past-2-17", "past-2-20", "past-2-24", "gap-2-24"})
"""Levels that take a hundredth of a second and more."""
_MANY, _SHARES = 24, 4  # of POW's 8 types of elements and 8 of exponents each meets all rows
_Shared = TypeVar("_Shared")


def profile_of(subject: Subject) -> str:
    """The profile whose combinations the subject is to have."""
    return subject.profile.combinations


def recipes(subject: Subject, tables: Tables, *, dear: bool = True) -> Sequence[Recipe]:
    """The rows of the subject's covering array, each with a seed of its own; with the levels that take time or not."""
    whole = space(subject, tables.factors, profile_of(subject))
    return _recipes(whole if dear else without_dear_levels(whole), subject.seed)


@lru_cache(maxsize=256)  # subjects whose spaces are equal share the recipes, and what follows from each
def _recipes(space: Space, seed: int) -> tuple[Recipe, ...]:
    array = covering_array(space, seed)
    return tuple(Recipe(array.levels(row), (seed << 16) + index) for index, row in enumerate(array.rows))


def planned_cases(
    subject: Subject, tables: Tables, wanted: Callable[[Recipe], bool] = lambda recipe: True
) -> Iterator[Case]:
    """The cases of those rows of the subject's covering array that are wanted, one after another."""
    if tables.factors is not None:
        for recipe in filter(wanted, recipes(subject, tables)):
            yield build(subject, recipe, tables.factors)


def without_dear_levels(space: Space) -> Space:
    """The space in which nothing is asked of levels that take time."""
    factors = tuple(
        replace(
            factor,
            strengths=tuple(
                0 if level in _DEAR else strength
                for level, strength in zip(factor.levels, factor.strengths, strict=True)
            ),
        )
        for factor in space.factors
    )
    return replace(space, factors=factors)


def share_of(subject: Subject, rows: Sequence[_Shared]) -> Sequence[_Shared]:
    """The rows that a signature has in quick, where an operator's are so many that they share them; all otherwise."""
    known = signatures(subject.table)
    if len(known) <= _MANY or not subject.profile.shares_out:
        return rows
    place = known.index(subject.signature)
    return rows[(place + place // (2 * _SHARES)) % _SHARES :: _SHARES]


def cheap_cases(subject: Subject, tables: Tables) -> Iterator[Case]:
    """The rows without levels that take time: for signatures on which another one's stand for those."""
    if tables.factors is not None:
        for recipe in share_of(subject, recipes(subject, tables, dear=False)):
            yield build(subject, recipe, tables.factors)
