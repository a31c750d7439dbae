"""What quick tries with fewer combinations meets those that the table of factors names, and each level once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.descriptions import documented_total_size
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.combinations.building import counts_of, space
from dmlcts.suites.combinations.classifying import levels_of
from dmlcts.suites.combinations.coverage import covered, decoded, encoded
from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.combinations.possible import asked
from dmlcts.suites.combinations.rows import fewer, fewer_cases
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
assert TABLES.factors is not None
FACTORS = TABLES.factors
COUNTS = counts_of(FACTORS)
LEVEL = FeatureLevel("6.4")
CHOSEN = covering_subjects(TABLES, 0)
LEFT_OUT = [
    Subject(table, left[0], LEVEL, 0, thorough=False)
    for name, table in TABLES.operators.items()
    if (left := [one for one in signatures(table, LEVEL) if one not in CHOSEN[name]])
]


def smaller(subject: Subject) -> Space:
    return fewer(space(subject, FACTORS), FACTORS.remaining)


def rows_of(subject: Subject, cases: list[Case]) -> np.ndarray:
    """What the cases are, read from what is dispatched."""
    where = space(subject, FACTORS)
    read = []
    for case in cases:
        assert case.recipe is not None
        found = levels_of(case, subject.table, COUNTS, case.recipe.by_factor["history"])
        assert found == case.recipe.by_factor
        read.append(encoded(where, found))
    return decoded(where, read)


@pytest.mark.parametrize("one", LEFT_OUT, ids=str)
def test_a_signature_left_out_meets_the_named_pairs_and_each_level(one: Subject) -> None:
    where, rows = smaller(one), rows_of(one, list(fewer_cases(one, TABLES)))
    assert not (asked(where, 2) & ~covered(where, rows, 2)).any()
    for place, factor in enumerate(where.factors):
        wanted = {level for level, strength in enumerate(factor.strengths) if strength}
        assert wanted <= set(rows[:, place].tolist())


def test_the_named_pairs_are_pairs_of_ranks_layouts_placements_and_scale_bias() -> None:
    subject = next(one for one in LEFT_OUT if one.table.short_name == "POW")
    where, full = smaller(subject), space(subject, FACTORS)
    assert 100 < int(asked(where, 2).sum()) < int(asked(full, 2).sum()) / 2
    rows = rows_of(subject, list(fewer_cases(subject, TABLES)))
    rank, scaling = where.factor("rank"), where.factor("scale-bias")
    assert rank is not None
    assert scaling is not None
    ranks, scalings = rows[:, where.position["rank"]], rows[:, where.position["scale-bias"]]
    pairs = {(rank.levels[one], scaling.levels[other]) for one, other in zip(ranks, scalings, strict=True)}
    assert set(product(rank.levels, ("none", "both", "negative"))) <= pairs
    holed = rows[ranks != 3]  # a rank is left out: the check above would tell
    assert (asked(where, 2) & ~covered(where, holed, 2)).any()


def test_inputs_in_one_region_have_one_layout_and_are_bound_to_it() -> None:
    subject = next(one for one in LEFT_OUT if one.table.short_name == "MAX")
    shared = [case for case in fewer_cases(subject, TABLES) if case.placement.one_region]
    assert {case.placement.front % 32 for case in shared} == {0, 16}
    for case in shared:
        regions, _ = case.placement.regions(case.operator)
        assert regions["ATensor"] == regions["BTensor"] != regions["OutputTensor"]


def test_larger_total_sizes_are_of_every_tensor_and_larger_regions_leave_them_as_they_are() -> None:
    subject = next(one for one in LEFT_OUT if one.table.short_name == "QUANTIZE_LINEAR")
    seen = set()
    for case in fewer_cases(subject, TABLES):
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
