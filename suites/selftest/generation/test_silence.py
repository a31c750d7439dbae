"""Every silent point is reached: a table's clause that no case reaches would be characterised by nobody."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.silence import at_silent_points
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")


def reached(name: str) -> set[tuple[str, str]]:
    table = TABLES.operator(name)
    return {
        (point.clause.id, signature.data_type.name)
        for signature in signatures(table, LEVEL)
        for _, point, _ in at_silent_points(Subject(table, signature, LEVEL, 0, profile=QUICK))
    }


@pytest.mark.parametrize("name", TABLES.operators)
def test_every_silent_point_is_reached_on_every_type(name: str) -> None:
    table = TABLES.operator(name)
    required = {
        (clause.id, data_type.name)
        for clause in table.clauses
        if clause.check == "silent"
        for data_type in TABLES.obliged(clause, table, LEVEL)
    }
    assert reached(name) == required


def test_what_is_reached_is_at_the_point_and_stands_beside_ordinary_elements() -> None:
    table = TABLES.operator("SIGN")
    subject = Subject(table, signatures(table, LEVEL)[0], LEVEL, 0, profile=QUICK)
    (nans,) = [elements for _, point, elements in at_silent_points(subject) if point.clause.id == "sign.nan"]
    half = nans.count // 2
    assert np.isnan(nans.first[:half]).all()
    assert not np.isnan(nans.first[half:]).any()


def test_ordinary_bounds_are_tried_before_bounds_that_are_nan() -> None:
    table = TABLES.operator("CLIP1")
    subject = Subject(table, signatures(table, LEVEL)[0], LEVEL, 0, profile=QUICK)
    result = [value for value, point, _ in at_silent_points(subject) if point.clause.id == "clip1.nan.bound"]
    assert result
    assert all(any(np.isnan(value[name].value) for name in ("Min", "Max")) for value in result)
