"""DML_SCALAR_UNION: numbers of any type, exactly, and the rule that its type is that of the tensor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScalarUnion, TensorDesc
from dmlcts.specs.loading import tables_of_files
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.rules.violations import violations
from dmlcts.specs.tables import Tables

INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]
GRAD = """\
format: dmlcts/operator/2
operator: ELEMENT_WISE_CLIP_LIKE
code: 4000
introduced: "1.0"
summary: Like CLIP1.
sources: [{id: page, title: A page, revision: today}]
struct:
  - {name: ATensor, type: const DML_TENSOR_DESC*}
  - {name: BTensor, type: const DML_TENSOR_DESC*}
  - {name: OutputTensor, type: const DML_TENSOR_DESC*}
  - {name: MinMaxDataType, type: DML_TENSOR_DATA_TYPE}
  - {name: Min, type: DML_SCALAR_UNION}
tensors:
  ATensor: {name: a, kind: input, type: T}
  BTensor: {name: b, kind: input, type: U}
  OutputTensor: {kind: output, type: T}
attributes:
  - {name: MinMaxDataType, type: DML_TENSOR_DATA_TYPE, same_as: OutputTensor}
  - {name: Min, type: DML_SCALAR_UNION, data_type: MinMaxDataType, role: low}
support:
  - {level: "2.0", dimension_counts: [1, 8], types: {T: [INT64, INT8], U: [UINT8]}}
  - {level: "1.0", dimension_counts: [4, 4], tensor_dimension_counts: {BTensor: [3, 4]}, types: {T: [INT8], U: [UINT8]}}
formula: max(Min, a)
clauses:
  - {id: clip-like.formula, check: values, text: So., obligation: required, subject: formula, sources: [page]}
"""


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda item: item.name)
@given(data=st.data())
def test_integers_come_back_exactly(data_type: DataType, data: st.DataObject) -> None:
    limits = np.iinfo(data_type.numpy)
    number = data.draw(st.integers(int(limits.min), int(limits.max)))
    union = ScalarUnion.of(data_type, number)
    assert (int(union.value), union.value.dtype) == (number, data_type.numpy)
    assert union == ScalarUnion(data_type, number % (1 << 8 * data_type.itemsize))


@pytest.mark.parametrize(("name", "bits"), [("FLOAT16", 0x7E01), ("FLOAT32", 0xFFC0_1234), ("FLOAT64", 0x7FF0 << 48)])
def test_the_bits_of_floating_point_numbers_are_kept(name: str, bits: int) -> None:
    union = ScalarUnion(DataType[name], bits)
    assert int(np.asarray(union.value).view(DataType[name].bits_dtype)) == bits


def test_numbers_are_rounded_to_the_floating_type() -> None:
    assert ScalarUnion.of(DataType.FLOAT16, 65519.996).value == np.float16(65504)
    assert np.isinf(ScalarUnion.of(DataType.FLOAT16, 65520.0).value)


@pytest.mark.parametrize("number", [128, -129, 0.5, float("nan"), float("inf")])
def test_what_an_integer_type_does_not_hold_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="INT8 does not hold"):
        ScalarUnion.of(DataType.INT8, number)
    assert ScalarUnion.of(DataType.INT8, -128).value == -128


def test_bits_beyond_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="no pattern of UINT8"):
        ScalarUnion(DataType.UINT8, 256)


def clip_like(
    min_type: str = "INT64", a: DataType = DataType.INT64, b: DataType = DataType.UINT8, rank: int = 4, b_rank: int = 4
) -> OperatorDesc:
    tensors = {
        "ATensor": TensorDesc(a, (1,) * rank),
        "BTensor": TensorDesc(b, (1,) * b_rank),
        "OutputTensor": TensorDesc(a, (1,) * rank),
    }
    union = ScalarUnion.of(DataType[min_type], 3)
    return OperatorDesc("ELEMENT_WISE_CLIP_LIKE", tensors, {"MinMaxDataType": min_type, "Min": union})


def test_descriptions_hold_unions_by_their_content() -> None:
    assert clip_like() == clip_like()
    assert clip_like() != clip_like("INT8")
    assert clip_like().attributes["Min"] == ScalarUnion.of(DataType.INT64, 3)


@pytest.fixture(scope="module")
def tables() -> Tables:
    files = [*builtin_files(), TableFile("clip_like.yaml", "clip_like.yaml", GRAD.encode())]
    return tables_of_files(files, runnable=False)


@pytest.mark.parametrize(
    ("operator", "level", "wanted"),
    [
        (clip_like(), "2.0", []),
        (clip_like("INT8"), "2.0", ["clip-like.constraint.attribute-type"]),
        (clip_like(), "1.0", ["clip-like.support.later-level"]),
        (clip_like("INT8", DataType.INT8), "1.0", []),
        (clip_like("INT8", DataType.INT8, rank=3), "1.0", ["clip-like.support.later-level"]),
        (clip_like("INT8", DataType.INT8, b_rank=3), "1.0", []),
        (clip_like("INT8", DataType.INT8, b_rank=2), "1.0", ["clip-like.support.later-level"]),
        (clip_like("INT64", DataType.INT64, DataType.INT8), "2.0", ["clip-like.support.unlisted"]),
        (clip_like("INT32", DataType.INT32), "2.0", ["clip-like.support.unlisted"] * 2),
    ],
)
def test_rules_hold_for_each_tensor(tables: Tables, operator: OperatorDesc, level: str, wanted: list[str]) -> None:
    assert [violation.clause for violation in violations(operator, FeatureLevel.parse(level), tables)] == wanted


def test_records_name_the_type_of_most_inputs() -> None:
    of = {name: TensorDesc(DataType[name], (1,)) for name in ("UINT8", "FLOAT16", "INT32")}
    chosen = {"ConditionTensor": of["UINT8"], "ATensor": of["FLOAT16"], "BTensor": of["FLOAT16"]}
    assert OperatorDesc("ELEMENT_WISE_IF", {**chosen, "OutputTensor": of["FLOAT16"]}).data_type is DataType.FLOAT16
    compared = {"ATensor": of["INT32"], "BTensor": of["INT32"], "OutputTensor": of["UINT8"]}
    assert OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", compared).data_type is DataType.INT32
    counted = {"InputTensor": of["INT32"], "OutputTensor": of["UINT8"]}
    assert OperatorDesc("ELEMENT_WISE_BIT_COUNT", counted).data_type is DataType.INT32
