"""The cases of a subject's covering array."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dmlcts.specs.tables import Tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.combinations.building import build, space
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.generation.subject import Subject


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
