"""Signatures on which quick leaves tests of layouts out meet every pair of levels, but those that take time."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.descriptions import documented_total_size
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.combinations.building import space
from dmlcts.suites.combinations.classifying import levels_of
from dmlcts.suites.combinations.coverage import covered, decoded, encoded
from dmlcts.suites.combinations.factors import counts_of
from dmlcts.suites.combinations.possible import asked
from dmlcts.suites.combinations.rows import cheap_cases, without_dear_levels
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
assert TABLES.factors is not None
FACTORS = TABLES.factors
COUNTS = counts_of(FACTORS)
LEVEL = FeatureLevel("6.4")
CHOSEN = covering_subjects(TABLES, 0)
ALL_LEFT_OUT = {
    table.short_name: [Subject(table, signature, LEVEL, 0, profile=QUICK) for signature in left]
    for name, table in TABLES.operators.items()
    if (left := [signature for signature in signatures(table, LEVEL) if signature not in CHOSEN[name]])
}
LEFT_OUT = {name: left[0] for name, left in ALL_LEFT_OUT.items()}
SHARED = {"POW": "FLOAT32", "QUANTIZED_LINEAR_ADD": "INT8"}
"""Operators with many signatures, which share the rows, and a type of elements whose signatures all are left out."""


def rows_of(subject: Subject, cases: list[Case]) -> np.ndarray:
    """What the cases are, read from what is dispatched."""
    where = space(subject, FACTORS)
    read = []
    for case in cases:
        assert case.recipe is not None
        texts = levels_of(case, subject.table, COUNTS, case.recipe.by_factor["history"])
        assert texts == case.recipe.by_factor
        read.append(encoded(where, texts))
    return decoded(where, read)


@pytest.mark.parametrize("name", [name for name in LEFT_OUT if name not in SHARED])
def test_a_signature_left_out_meets_every_pair_that_is_not_dear(name: str) -> None:
    subject = LEFT_OUT[name]
    where, rows = without_dear_levels(space(subject, FACTORS)), rows_of(subject, list(cheap_cases(subject, TABLES)))
    assert int(asked(where, 2).sum()) > 2000
    assert not (asked(where, 2) & ~covered(where, rows, 2)).any()
    holed = rows[rows[:, where.position["rank"]] != 3]  # a rank is left out: the check above notices
    assert (asked(where, 2) & ~covered(where, holed, 2)).any()


@pytest.mark.parametrize(("name", "data_type"), SHARED.items())
def test_many_signatures_meet_every_pair_among_them(name: str, data_type: str) -> None:
    """Of POW all that have one type of elements do; a signature alone has a quarter of the rows."""
    some = [subject for subject in ALL_LEFT_OUT[name] if subject.signature.data_type.name == data_type]
    where = without_dear_levels(space(some[0], FACTORS))
    rows = [rows_of(subject, list(cheap_cases(subject, TABLES))) for subject in some]
    assert not (asked(where, 2) & ~covered(where, np.concatenate(rows), 2)).any()
    assert all((asked(where, 2) & ~covered(where, row, 2)).any() for row in rows)
    assert max(map(len, rows)) - min(map(len, rows)) <= 1


def test_dear_are_the_largest_tensors_alone() -> None:
    full = space(LEFT_OUT["POW"], FACTORS)
    less = without_dear_levels(full)
    dropped = {
        (factor.name, level)
        for factor, cheap in zip(full.factors, less.factors, strict=True)
        for level, before, after in zip(factor.levels, factor.strengths, cheap.strengths, strict=True)
        if after < before
    }
    assert ("count", "past-2-17") in dropped
    assert dropped <= {
        *(("count", level) for level in ("past-2-17", "past-2-20", "past-2-24")),
        *((layout, "gap-2-24") for layout in ("input-layout", "second-layout", "third-layout", "output-layout")),
    }


def test_inputs_in_one_region_have_one_layout_and_are_bound_to_it() -> None:
    shared = [case for case in cheap_cases(LEFT_OUT["MAX"], TABLES) if case.placement.one_region]
    assert {case.placement.front % 32 for case in shared} == {0, 16}
    for case in shared:
        regions, _ = case.placement.regions(case.operator)
        assert regions["ATensor"] == regions["BTensor"] != regions["OutputTensor"]


def test_larger_total_sizes_are_of_every_tensor_and_larger_regions_leave_them_as_they_are() -> None:
    seen = set()
    for case in cheap_cases(LEFT_OUT["QUANTIZE_LINEAR"], TABLES):
        assert case.recipe is not None
        tensors = case.operator.tensors
        larger = {
            tensor.total_size_in_bytes >= 4 + documented_total_size(tensor.data_type, tensor.sizes, tensor.strides)
            for tensor in tensors.values()
        }
        regions, _ = case.placement.regions(case.operator)
        roomy = {regions[name].size > tensor.total_size_in_bytes for name, tensor in tensors.items()}
        seen.add((case.recipe.by_factor["room"], *larger, *roomy))
    assert seen == {("none", False, False), ("larger-total-size", True, False), ("larger-region", False, True)}
