"""Every tensor that a constraint names is the odd one of some description, those of one element too."""

from __future__ import annotations

import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.conformance.tensors.describing import compared, described, each_odd, packed
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
CONSTRAINED = [table for table in TABLES.operators.values() if table.constraints]


@pytest.mark.parametrize("table", CONSTRAINED, ids=[table.short_name for table in CONSTRAINED])
@pytest.mark.parametrize("word", ["DataType", "DimensionCount", "Sizes"])
def test_what_a_constraint_names_is_compared(table: OperatorTable, word: str) -> None:
    """In the signature that has every tensor; of one element a tensor keeps that, and has no sizes to compare."""
    whole = max(signatures(table), key=lambda one: len(one.present))
    subject = Subject(table, whole, FeatureLevel("6.4"), 0, thorough=False)
    named = {name for group in table.constraints if word in group.same and len(group.tensors) > 1
             for name in group.tensors if name in subject.types}  # fmt: skip
    single = {name for name, row in table.tensors.items() if row.elements is not None}
    assert set(compared(subject, word)) == (named - single if word == "Sizes" else named)


def test_a_zero_point_stays_one_element_when_it_is_odd() -> None:
    table = TABLES.operator("QUANTIZED_LINEAR_ADD")
    whole = max(signatures(table), key=lambda one: len(one.present))
    subject = Subject(table, whole, FeatureLevel("6.4"), 0, thorough=False)
    usual = described(subject, packed((2, 3)))
    odd = list(each_odd(subject, "x", packed((2, 3)), packed((2, 3, 1)), {"AZeroPointTensor": subject.data_type}))
    assert [one.operator.tensors["AZeroPointTensor"].sizes for one in odd] == [(1, 1, 1)]
    assert usual.tensors["AZeroPointTensor"].sizes == (1, 1)
    differing = {name for name in usual.tensors if odd[0].operator.tensors[name] != usual.tensors[name]}
    assert differing == {"AZeroPointTensor"}
