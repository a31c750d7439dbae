"""The table of factors: a fault in one is reported at its place, and its names are those that the suite knows."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from dmlcts.specs import DataType, FeatureLevel, TableError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.combinations.building import build, space
from dmlcts.suites.combinations.factors import base_levels
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TEXT = resources.files("dmlcts.specs").joinpath("shared", "factors.yaml").read_text("utf-8")
TWICE = "the table of the factors stands twice"

BROKEN = {
    "factor twice": ("- name: spread", "- name: rank", "factor 'rank' stands twice"),
    "level twice": ("{name: two, text: two}", "{name: one, text: two}", "level 'one' stands twice"),
    "no levels": ("    levels_of: ranks\n", "", "needs either `levels` or `levels_of`"),
    "counts in no order": ("counts: [2, 7]", "counts: [7, 2]", "are in no order"),
    "constraint twice": ("- id: order", "- id: sizes", "constraint 'sizes' stands twice"),
    "constraint of nothing": ("    holds: order\n", "", "needs either `when` and `never` or `holds`"),
    "unknown factor": ("when: {count: [one]}", "when: {counts: [one]}", "there is no factor 'counts'"),
    "unknown level": ("when: {count: [one]}", "when: {count: [once]}", "the factor count has no level 'once'"),
    "unknown economy": ("levels: {count: [past-2-24]}", "levels: {count: [past]}", "no level 'past'"),
    "unknown rule": ("holds: order", "holds: orders", "did you mean order?"),
    "strength": ("quick: 2,", "quick: 4,", "4"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_of_factors_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    old, new, words = BROKEN[name]
    assert old in TEXT
    path = tmp_path / "factors.yaml"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TableError) as caught:
        load_tables(path)
    faults = [fault for fault in caught.value.faults if TWICE not in str(fault)]
    assert faults
    assert any(words in str(fault) for fault in faults)
    assert all(fault.line > 1 and fault.file == str(path) and fault.mend for fault in faults)


def test_there_is_one_table_of_factors(tmp_path: Path) -> None:
    (tmp_path / "factors.yaml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(TableError, match=TWICE):
        load_tables(tmp_path)


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16, DataType.UINT8, DataType.INT64])
def test_every_level_can_be_built(data_type: DataType) -> None:
    """Each level with base levels around it, as far as the constraints allow: the builder knows all names."""
    tables = load_tables()
    assert tables.factors is not None
    subject = Subject.on(tables.operator("CLIP"), data_type, FeatureLevel("5.0"), 0, profile=QUICK)
    where = space(subject, tables.factors)
    base = dict(base_levels(where))
    built = 0
    for factor in where.factors:
        for level in factor.levels:
            levels = {**base, factor.name: level}
            if where.allows(levels):
                build(subject, Recipe(tuple(levels.items()), 1), tables.factors)
                built += 1
    assert built > 60 - 10 * (not data_type.is_floating)
