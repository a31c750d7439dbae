"""Every tensor that a constraint names is the odd one of some description, those of one element too."""

from __future__ import annotations

import pytest

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import unconditional_violations
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.conformance.tensors.describing import compared, described, each_odd, packed
from dmlcts.suites.generation.profiles import FULL, QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.selftest.looped_cases import looped

TABLES = load_tables()
CONSTRAINED = [table for table in TABLES.operators.values() if table.constraints]


@looped("table", CONSTRAINED, ids=[table.short_name for table in CONSTRAINED])
@pytest.mark.parametrize("word", ["DataType", "DimensionCount", "Sizes"])
def test_what_a_constraint_names_is_compared(table: OperatorTable, word: str) -> None:
    """In the signature that has every tensor; of one element a tensor keeps that, and has no sizes to compare."""
    whole = max(signatures(table), key=lambda signature: len(signature.present))
    subject = Subject(table, whole, FeatureLevel("6.4"), 0, profile=QUICK)
    kept = [group for group in table.constraints if word != "DataType" or not group.counting]
    named = {
        name
        for group in kept
        if word in group.same and len(group.tensors) > 1
        for name in group.tensors
        if name in subject.types
    }
    single = {name for name, row in table.tensors.items() if row.elements is not None}
    assert set(compared(subject, word)) == (named - single if word == "Sizes" else named)


def test_a_zero_point_stays_one_element_when_it_is_odd() -> None:
    table = TABLES.operator("QUANTIZED_LINEAR_ADD")
    whole = max(signatures(table), key=lambda signature: len(signature.present))
    subject = Subject(table, whole, FeatureLevel("6.4"), 0, profile=QUICK)
    usual = described(subject, packed((2, 3)))
    odd = list(each_odd(subject, "x", packed((2, 3)), packed((2, 3, 1)), {"AZeroPointTensor": subject.data_type}))
    assert [case.operator.tensors["AZeroPointTensor"].sizes for case in odd] == [(1, 1, 1)]
    assert usual.tensors["AZeroPointTensor"].sizes == (1, 1)
    differing = {name for name in usual.tensors if odd[0].operator.tensors[name] != usual.tensors[name]}
    assert differing == {"AZeroPointTensor"}


@pytest.mark.parametrize(
    "data_type, scale, refused",
    [
        ("FLOAT32", "FLOAT32", False),
        ("FLOAT16", "FLOAT16", False),
        ("INT32", "FLOAT32", False),
        ("FLOAT32", "FLOAT16", True),
        ("FLOAT16", "FLOAT32", True),
        ("INT32", "FLOAT16", True),
    ],
)
def test_a_scale_is_of_the_input_s_type_and_of_float32_for_int32(data_type: str, scale: str, refused: bool) -> None:
    types = {"InputTensor": data_type, "ScaleTensor": scale, "ZeroPointTensor": "INT8", "OutputTensor": "INT8"}
    tensors = {name: TensorDesc(DataType[item], (1, 2)) for name, item in types.items()}
    violations = unconditional_violations(OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {}), TABLES)
    assert [violation.clause for violation in violations] == ["quantize-linear.constraint.scale-type"] * refused


def test_a_scale_of_an_input_may_be_0_and_that_of_the_output_may_not() -> None:
    """The formula multiplies with the ones, and divides by the other."""
    table = TABLES.operator("QUANTIZED_LINEAR_ADD")
    zeros: set[str] = set()
    for signature in signatures(table):
        for elements in Subject(table, signature, FeatureLevel("6.4"), 0, profile=FULL).edge_sets():
            zeros |= {
                name for name, values in elements.single.items() if name.endswith("ScaleTensor") and not values.any()
            }
    assert zeros == {"AScaleTensor", "BScaleTensor"}
