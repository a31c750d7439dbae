"""Levels of single cases: read from what a case is, whoever made it, and taken away one factor at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.cases.values import Values
from dmlcts.suites.combinations.building import build, removable, space, without
from dmlcts.suites.combinations.classifying import levels_of
from dmlcts.suites.combinations.factors import base_levels, counts_of
from dmlcts.suites.combinations.rows import planned_cases
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.first_three import first_three

TABLES = first_three()
FACTORS = TABLES.factors
assert FACTORS is not None
COUNTS = counts_of(FACTORS)


def subject(table: OperatorTable, data_type: DataType) -> Subject:
    return Subject.on(table, data_type, FeatureLevel("5.0"), 0, QUICK)


@pytest.mark.parametrize(
    ("sizes", "strides", "wanted"),
    [
        ((1, 1), None, {"rank": "2", "spread": "one", "sides": "ordinary", "count": "one", "input-layout": "none"}),
        ((4, 8), (8, 1), {"spread": "two", "sides": "powers-of-two", "count": "vector", "input-layout": "packed"}),
        ((3, 5, 7), (35, 7, 1), {"spread": "all", "sides": "primes", "count": None}),
        ((3, 5, 7), (1, 3, 15), {"input-layout": "reversed"}),
        ((3, 5, 7), (5, 1, 15), {"input-layout": "permuted"}),
        ((3, 5, 7), (36, 7, 1), {"input-layout": "padded"}),
        ((3, 5, 7), (0, 7, 1), {"input-layout": "broadcast"}),
        ((2, 2), (1 << 16, 1), {"input-layout": "gap-2-16"}),
        ((2, 2), (1 << 24, 1), {"input-layout": "gap-2-24"}),
        ((2, 1, 600), None, {"spread": "two", "sides": "long-rows", "count": "hundreds"}),
        ((600, 1, 2), None, {"sides": "long-columns"}),
        ((1, 6, 1), None, {"spread": "one", "sides": "long-columns", "count": "tail"}),
        ((2, 2, 1, 2), None, {"spread": None}),
    ],
)
def test_levels_are_read_from_descriptions(sizes: Any, strides: Any, wanted: dict[str, Any]) -> None:
    table = TABLES.operator("ROUND")
    tensor = TensorDesc(DataType.FLOAT32, sizes, strides)
    operator = OperatorDesc(
        table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, {"RoundingMode": "TOWARD_ZERO"}
    )
    texts = levels_of(Case(operator, Values.of([0.3], DataType.FLOAT32), "round.toward-zero"), table, COUNTS)
    assert {name: texts[name] for name in wanted} == wanted
    assert texts["RoundingMode"] == "TOWARD_ZERO"


@pytest.mark.parametrize(
    ("data_type", "low", "high", "scale_bias", "bounds", "scaling"),
    [
        ("FLOAT32", -1.0, 1.0, None, "ordinary", "none"),
        ("FLOAT32", 1.0, 1.0, (1, 0), "equal", "identity"),
        ("FLOAT32", 2.0, 1.0, (2, 0), "inverted", "scale-only"),
        ("FLOAT32", -np.inf, 1.0, (1, 3), "infinite", "bias-only"),
        ("FLOAT32", np.nan, 1.0, (2, 3), "no-number", "both"),
        ("FLOAT32", -0.0, 1.0, (-2, 3), "negative-zero", "negative"),
        ("FLOAT32", -1.0, float(np.finfo(np.float32).max), (0.1, 0), "extreme", "inexact"),
        ("FLOAT64", -1.0, float(np.finfo(np.float32).max), (1, 0), "extreme", "identity"),  # which no level lists
        ("FLOAT16", 0.1, 1.0, (0.1, 0), "inexact", "inexact"),
        ("FLOAT16", 0.5, 70000.0, (64, 0), "beyond", "large"),
        ("INT8", 0.5, 70.0, (0.5, 0), "inexact", "inexact"),
        ("INT8", 0.0, 128.0, (2, -1), "beyond", "negative"),
        ("INT8", 0.0, np.inf, (0, 1), "beyond", "zero"),
        ("INT8", 0.0, 127.0, (64, 0), "extreme", "overflowing"),
        ("INT8", np.nan, 127.0, (0.0625, 0), "no-number", "tiny"),
        ("INT8", 3.0, 120.0, (np.inf, 0), "ordinary", None),
    ],
)
def test_levels_are_read_from_attributes(
    data_type: str, low: float, high: float, scale_bias: Any, bounds: str, scaling: str | None
) -> None:
    item = subject(TABLES.operator("CLIP"), DataType[data_type])
    attributes = {
        "Min": np.float32(low),
        "Max": np.float32(high),
        "ScaleBias": None if scale_bias is None else ScaleBias(*scale_bias),
    }
    texts = levels_of(item.case("clip.formula", [1], attributes, placement=Placement(gap=0)), item.table, COUNTS)
    assert (texts["bounds"], texts["scale-bias"], texts["placement"]) == (bounds, scaling, "touching")


# -- one factor less -----------------------------------------------------------------------------------------------


def test_a_case_without_one_factor_has_its_base_level_and_all_others() -> None:
    bench = Bench("reference", Reference(), {}, TABLES)
    item = subject(TABLES.operator("CLIP"), DataType.FLOAT16)
    base = base_levels(space(item, FACTORS))
    tried = 0
    for case in list(planned_cases(item, TABLES))[:40]:
        assert case.recipe is not None
        for factor in removable(bench, case):
            less = without(bench, case, factor)
            assert less is not None
            assert less.recipe is not None
            wanted = {**case.recipe.by_factor, factor: base[factor]}
            assert levels_of(less, item.table, COUNTS, wanted["history"]) == wanted
            tried += 1
        for factor, level in case.recipe.levels:
            if level == base[factor]:
                assert without(bench, case, factor) is None
    assert tried > 100
    plain = item.case("clip.formula", [1.0])
    assert removable(bench, plain) == ()
    assert without(bench, plain, "count") is None


def test_a_case_of_base_levels_alone_is_an_ordinary_one() -> None:
    assert FACTORS is not None
    item = subject(TABLES.operator("ROUND"), DataType.FLOAT32)
    where = space(item, FACTORS)
    levels = base_levels(where)
    assert where.allows(dict(levels))
    case = build(item, Recipe(tuple(levels.items()), 3), FACTORS)
    assert case.operator.input.strides is None
    assert case.clause == "round.nearest-even"
    assert case.layout_clause == "tensor.position"
    assert case.expectation == "oracle"
