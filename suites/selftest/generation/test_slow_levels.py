"""Levels that take time: a covering array's row has one only for combinations that no other row has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.suites.combinations.building import space
from dmlcts.suites.combinations.constraints import Relation
from dmlcts.suites.combinations.coverage import counts, covered
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Factor, Space
from dmlcts.suites.combinations.possible import asked
from dmlcts.suites.combinations.sight import Row, Sight
from dmlcts.suites.combinations.slow_levels import with_fewer_slow_levels
from dmlcts.suites.generation.profiles import FULL, QUICK, Profile
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.selftest.first_three import first_three

TABLES = first_three()
LEVEL = FeatureLevel("5.0")


def small(strength: int) -> Space:
    """Five factors with slow levels in three of them, one level that masks, and a constraint on two slow ones."""
    levels = (strength,) * 3
    factors = (
        Factor(
            "size", ("few", "many", "most"), "few", frozenset(), (strength, strength, 1), frozenset({"many", "most"})
        ),
        Factor("scale", ("none", "some", "zero"), "none", frozenset({"zero"}), levels),
        Factor("layout", ("packed", "padded", "gap"), "packed", frozenset(), levels, frozenset({"gap"})),
        Factor("place", ("apart", "touching", "first"), "apart", frozenset(), levels),
        Factor("history", ("fresh", "again", "beside"), "fresh", frozenset(), levels, frozenset({"again", "beside"})),
    )
    allowed = frozenset(pair for pair in itertools.product(range(3), range(3)) if pair not in ((0, 2), (2, 1)))
    return Space(factors, (Relation("two", ("size", "layout"), allowed),), strength)


def all_kept(where: Space) -> Space:
    """The space in which no level is slow."""
    return replace(where, factors=tuple(replace(factor, slow=frozenset()) for factor in where.factors))


def slow_levels(where: Space, rows: Sequence[Row]) -> int:
    return sum(
        factor.levels[level] in factor.slow for row in rows for factor, level in zip(where.factors, row, strict=True)
    )


def missing(where: Space, rows: Sequence[Row]) -> int:
    """How many asked combinations of one, two or three levels stand in no row."""
    return sum(
        int((asked(where, together) & ~covered(where, np.array(rows), together)).sum())
        for together in range(1, where.strength + 1)
    )


@pytest.mark.parametrize("strength", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_rows_keep_a_slow_level_only_where_a_combination_would_be_lost(seed: int, strength: int) -> None:
    where = small(strength)
    whole = covering_array(all_kept(where), seed).rows
    fewer = with_fewer_slow_levels(where, whole)
    assert covering_array(where, seed).rows == fewer
    assert missing(where, whole) == missing(where, fewer) == 0
    assert slow_levels(where, fewer) < slow_levels(where, whole)
    tried = 0
    for number, row in enumerate(fewer):
        if Sight(where).parts(row)[1]:
            assert row == whole[number], "what masks others is left alone"
            continue
        for place, factor in enumerate(where.factors):
            ordinary = (*row[:place], factor.index[factor.base], *row[place + 1 :])
            names = {named.name: named.levels[level] for named, level in zip(where.factors, ordinary, strict=True)}
            if factor.levels[row[place]] in factor.slow and where.allows(names):
                tried += 1
                assert missing(where, [*fewer[:number], ordinary, *fewer[number + 1 :]])
    assert tried


def test_nothing_is_changed_where_no_level_is_slow() -> None:
    where = all_kept(small(2))
    rows = covering_array(where, 0).rows
    assert with_fewer_slow_levels(where, rows) == rows


@pytest.mark.parametrize("profile", [QUICK, FULL], ids=lambda profile: profile.name)
def test_the_rows_of_an_operator_have_fewer_slow_levels_and_all_combinations(profile: Profile) -> None:
    subject = Subject.on(TABLES.operator("CLIP"), DataType.FLOAT16, LEVEL, 0, profile)
    where = space(subject, TABLES.factors, profile.combinations)
    rows = covering_array(where, 0).rows
    result = counts(where, np.array(rows))
    assert result["pairs"]["asked"] > 1000
    assert all(group["missing"] == 0 for group in result.values())
    assert slow_levels(where, rows) < 0.9 * slow_levels(where, covering_array(all_kept(where), 0).rows)
