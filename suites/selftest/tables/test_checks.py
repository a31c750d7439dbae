"""Clauses and tests find each other by what checks a clause, and not by how its id ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.checks import OWN, SHARED
from dmlcts.specs.loading import load_tables
from dmlcts.suites.proof.probes import conformance_tests
from dmlcts.suites.running.markers import Checked, checks
from dmlcts.suites.selftest.tables.test_fourth_operator import table


def markers() -> Iterator[Checked]:
    yield from (test.checked for test in conformance_tests())


def test_every_name_that_a_table_may_write_is_checked_by_a_test() -> None:
    assert {name for marker in markers() for name in marker.names} == {*OWN, *SHARED}


def test_every_level_that_a_table_may_write_is_checked_by_a_test() -> None:
    levels = [marker.level for marker in markers() if "support.level" in marker.names]
    assert sorted(levels, key=str) == [level.value for level in FeatureLevel]


@pytest.mark.parametrize("name", ["formula", "whatever"])
def test_a_clause_is_found_by_its_check_whatever_its_id(name: str, tmp_path: Path) -> None:
    text = table("CEILING", 4007, "ceil(x)", "FLOAT32, FLOAT16").replace("ceiling.formula", f"ceiling.{name}")
    (tmp_path / "ceiling.yaml").write_text(text, encoding="utf-8")
    tables = load_tables(tmp_path)
    ceil = tables.operator("CEILING")
    values = Checked.of(checks("values").mark)
    assert values.clauses(ceil, tables) == (f"ceiling.{name}",)
    assert [str(signature) for operator_table, signature in values.subjects(tables) if operator_table is ceil] == [
        "FLOAT32",
        "FLOAT16",
    ]
    scaled = Checked.of(checks("scale-bias").mark)
    assert scaled.clauses(ceil, tables) == ()
    assert [operator_table for operator_table, _ in scaled.subjects(tables) if operator_table is ceil] == []


def test_a_check_that_decides_on_the_types_alone_is_not_what_the_test_is_about() -> None:
    """So a selection of clauses on values leaves out tests that are about layouts, on every type that has values."""
    tables = load_tables()
    clip = tables.operator("CLIP")
    both, layouts = (
        Checked.of(marked.mark)
        for marked in (checks("values", "tensor.strides.padded"), checks("tensor.strides.padded", on="values"))
    )
    assert list(both.subjects(tables)) == list(layouts.subjects(tables))
    assert [checked.clauses(clip, tables) for checked in (both, layouts)] == [
        ("clip.formula", "tensor.strides.padded"),
        ("tensor.strides.padded",),
    ]


def test_a_clause_about_an_enumerator_is_found_by_it() -> None:
    table = load_tables().operator("ROUND")
    assert table.clause_of("values", "rounding", RoundingMode="TOWARD_ZERO") == "round.toward-zero"
    assert table.clause_of("values", "rounding") == "round.nearest-even"
    assert table.clause_of("values", "rounding", RoundingMode="UPWARD") is None
