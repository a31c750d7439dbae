"""The cases of a subject's covering array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dmlcts.specs.models.factors import LevelsByFactor
from dmlcts.specs.tables import Tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.combinations.building import build, space
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Factor, Space
from dmlcts.suites.generation.subject import Subject

_DEAR = frozenset({"past-2-17", "past-2-20", "past-2-24", "gap-2-24"})
"""Levels that take a hundredth of a second and more."""


def profile_of(subject: Subject) -> str:
    """The profile whose combinations the subject is to have."""
    return "full" if subject.thorough else "quick"


def recipes(subject: Subject, tables: Tables) -> Iterator[Recipe]:
    """The rows of the subject's covering array, each with a seed of its own."""
    array = covering_array(space(subject, tables.factors, profile_of(subject)), subject.seed)
    for index, row in enumerate(array.rows):
        yield Recipe(array.levels(row), (subject.seed << 16) + index)


def planned_cases(
    subject: Subject, tables: Tables, wanted: Callable[[Recipe], bool] = lambda recipe: True
) -> Iterator[Case]:
    """The cases of those rows of the subject's covering array that are wanted, one after another."""
    if tables.factors is not None:
        for recipe in filter(wanted, recipes(subject, tables)):
            yield build(subject, recipe, tables.factors)


def fewer(space: Space, paired: LevelsByFactor) -> Space:
    """The space in which some levels are asked for in pairs, the others once, but for those that take time.

    Args:
        space: the space of the profile.
        paired: the levels that stay combined in pairs, by factor; all of a factor's where none is named.
    """

    def strength(factor: Factor, level: str, asked: int) -> int:
        together = 2 if factor.name in paired and level in (paired[factor.name] or factor.levels) else 1
        return 0 if level in _DEAR else min(together, asked)

    factors = tuple(
        replace(factor, strengths=tuple(strength(factor, level, asked)
                                        for level, asked in zip(factor.levels, factor.strengths, strict=True)))
        for factor in space.factors
    )  # fmt: skip
    return replace(space, factors=factors, strength=min(2, space.strength))


def fewer_cases(subject: Subject, tables: Tables) -> Iterator[Case]:
    """Each level once, and pairs of those that the table of factors names as ``remaining``.

    For signatures whose combinations another one's stand for.
    """
    if tables.factors is not None:
        where = fewer(space(subject, tables.factors, profile_of(subject)), tables.factors.remaining)
        array = covering_array(where, subject.seed)
        for index, row in enumerate(array.rows):
            yield build(subject, Recipe(array.levels(row), (subject.seed << 16) + index), tables.factors)
