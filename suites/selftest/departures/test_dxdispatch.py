"""A failing case as a DxDispatch model: the same memory, the same description."""

from __future__ import annotations

from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.reports.documents.validation import schema
from dmlcts.reports.views.dxdispatch import MOST_ELEMENTS, DxDispatchError, dxdispatch_model, model
from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.generation.drawn.layouts import sizes, strides
from dmlcts.suites.selftest.descriptions import clip


def even_clip(source: TensorDesc, target: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    return clip(source, target, **{"Min": np.float32(-1), "Max": np.float32(1)} | attributes)


def model_of(operator: OperatorDesc, values: list[Any], **placement: Any) -> dict[str, Any]:
    data_type = operator.input.data_type
    case = Case(operator, Values.of(values, data_type), "clip.formula", placement=Placement(**placement))
    written = model(case.to_json(), "why")
    jsonschema.Draft202012Validator(schema("dxdispatch-model")).validate(written)
    return written


def test_one_element_is_reported_in_full() -> None:
    assert model_of(even_clip(TensorDesc(DataType.FLOAT32, (1,))), [-0.0]) == {
        "$comment": "why",
        "resources": {
            "InputTensor": {"initialValuesDataType": "UINT32", "initialValues": [0x80000000]},
            "OutputTensor": {
                "initialValuesDataType": "UINT32",
                "initialValues": {"valueCount": 1, "value": 0xAAAAAAAA},
            },
        },
        "dispatchables": {
            "operator": {
                "type": "DML_OPERATOR_ELEMENT_WISE_CLIP",
                "desc": {
                    "InputTensor": {
                        "DataType": "FLOAT32",
                        "DimensionCount": 1,
                        "Sizes": [1],
                        "TotalTensorSizeInBytes": 4,
                    },
                    "OutputTensor": {
                        "DataType": "FLOAT32",
                        "DimensionCount": 1,
                        "Sizes": [1],
                        "TotalTensorSizeInBytes": 4,
                    },
                    "Min": -1.0,
                    "Max": 1.0,
                },
            }
        },
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "operator",
                "bindings": {"InputTensor": "InputTensor", "OutputTensor": "OutputTensor"},
            },
            {"type": "print", "resource": "OutputTensor"},
        ],
    }


def test_in_place_execution_binds_one_resource_twice() -> None:
    written = model_of(even_clip(TensorDesc(DataType.INT8, (3,))), [1, 2, 3], in_place=True)
    assert list(written["resources"]) == ["InputTensor"]
    assert written["commands"][0]["bindings"] == {"InputTensor": "InputTensor", "OutputTensor": "InputTensor"}
    assert written["commands"][1]["resource"] == "InputTensor"
    assert written["resources"]["InputTensor"]["initialValues"] == [1, 2, 3, 0]  # the total size is a multiple of 4


@pytest.mark.parametrize(
    ("value", "shown"), [(np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan"), (0.1, float(np.float32(0.1)))]
)
def test_attributes_beyond_json_numbers_are_texts(value: float, shown: Any) -> None:
    scale_bias = ScaleBias(np.float32(value), np.float32(2))
    desc = model_of(even_clip(TensorDesc(DataType.FLOAT32, (1,)), ScaleBias=scale_bias, Min=np.float32(value)), [0])[
        "dispatchables"
    ]["operator"]["desc"]
    assert desc["Min"] == shown
    assert desc["ScaleBias"] == {"Scale": shown, "Bias": 2.0}


@given(st.data())
def test_the_input_resource_holds_what_the_arena_holds(data: st.DataObject) -> None:
    shape = data.draw(sizes((1, 2, 3, 4), most=32))
    source = TensorDesc(DataType.INT16, shape, data.draw(strides(shape, padded=True, permuted=True, broadcast=True)))
    operator = even_clip(source, TensorDesc(DataType.INT16, source.sizes))
    case = Case(operator, Values.of(np.arange(1, 60), DataType.INT16), "clip.formula")
    written = model(case.to_json())["resources"]["InputTensor"]["initialValues"]
    arena = Arena.prepare(case)
    memory = np.array(written, np.uint16).view(np.int16)
    steps = [2 * stride for stride in source.element_strides]
    read = np.lib.stride_tricks.as_strided(memory, source.sizes, steps)
    assert read.reshape(-1).tolist() == arena.x.tolist()


def test_a_bulk_recipe_and_a_large_tensor_have_no_model_and_the_limit_has_one() -> None:
    case = Case(even_clip(TensorDesc(DataType.INT32, (2,))), Values.bulk(DataType.INT32, 7), "clip.formula")
    with pytest.raises(DxDispatchError, match="seeded recipe"):
        model(case.to_json())
    model_of(even_clip(TensorDesc(DataType.INT32, (MOST_ELEMENTS,))), [1])
    with pytest.raises(DxDispatchError, match="4097 elements"):
        model_of(even_clip(TensorDesc(DataType.INT32, (MOST_ELEMENTS + 1,))), [1])


@pytest.mark.parametrize("pattern, there", [("0xff", True), ("0x100", False), ("9" * 5000, False), ("-0x1", False)])
def test_a_pattern_beyond_the_type_is_malformed(pattern: str, there: bool) -> None:
    tensor = TensorDesc(DataType.UINT8, (1,))
    case = Case(even_clip(tensor), Values.of([1], DataType.UINT8), "clip.formula").to_json()
    written, because = dxdispatch_model(case | {"values": {"InputTensor": {"bits": [pattern]}}})
    assert (written is not None, "the case is malformed" in because) == (there, not there)


@pytest.mark.parametrize("patterns, there", [(["0x1"], True), ([], False)])
def test_values_without_one_are_malformed(patterns: list[str], there: bool) -> None:
    tensor = TensorDesc(DataType.UINT8, (1,))
    case = Case(even_clip(tensor), Values.of([1], DataType.UINT8), "clip.formula").to_json()
    written, because = dxdispatch_model(case | {"values": {"InputTensor": {"bits": patterns}}})
    assert (written is not None, "the case is malformed" in because) == (there, not there)


@pytest.mark.parametrize(
    "kind, number, expected_fields",
    [
        (DataType.INT64, -2, {"Int64": -2}),
        (DataType.UINT64, 2**64 - 2, {"UInt64": 2**64 - 2}),
        (DataType.INT8, -128, {"Int8": -128}),
        (DataType.UINT16, 7, {"UInt16": 7}),
        (DataType.FLOAT32, 0.5, {"Float32": 0.5}),
        (DataType.FLOAT32, np.inf, {"Float32": "inf"}),
        (DataType.FLOAT16, -1.0, {"UInt16": 0xBC00}),
        (DataType.FLOAT64, 0.5, {"Float64": 0.5}),
    ],
)
def test_a_scalar_union_is_reported_by_its_member(
    kind: DataType, number: float, expected_fields: dict[str, object]
) -> None:
    tensors = {name: TensorDesc(DataType.INT8, (1,)) for name in ("InputTensor", "OutputTensor")}
    union = ScalarUnion.of(kind, number)
    attributes = {"ScaleBias": None, "MinMaxDataType": kind.name, "Min": union, "Max": union}
    operator = OperatorDesc("ELEMENT_WISE_CLIP1", tensors, attributes)
    case = Case(operator, Values.of([1], DataType.INT8), "clip1.formula")
    desc = model(case.to_json())["dispatchables"]["operator"]["desc"]
    assert (desc["Min"], desc["MinMaxDataType"]) == (expected_fields, kind.name)


def test_a_fused_activation_is_reported_without_tensors() -> None:
    tensor = TensorDesc(DataType.FLOAT32, (2,))
    fused = OperatorDesc("ACTIVATION_SHRINK", {}, {"Bias": 0.25, "Threshold": np.inf})
    tensors = dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor)
    operator = OperatorDesc("ELEMENT_WISE_ADD1", tensors, {"FusedActivation": fused})
    values = Streams(tuple((name, Values.of([1.0, 2.0], DataType.FLOAT32)) for name in ("ATensor", "BTensor")))
    written = model(Case(operator, values, "add1.activation.shrink").to_json())
    jsonschema.Draft202012Validator(schema("dxdispatch-model")).validate(written)
    assert written["dispatchables"]["operator"]["desc"]["FusedActivation"] == {
        "type": "DML_OPERATOR_ACTIVATION_SHRINK",
        "desc": {"Bias": 0.25, "Threshold": "inf"},
    }


def test_a_case_whose_values_the_results_do_not_hold_states_so() -> None:
    case = Case(even_clip(TensorDesc(DataType.INT8, (1,))), Values.of([1], DataType.INT8), "clip.formula").to_json()
    assert dxdispatch_model(case)[0] is not None
    del case["values"]
    assert dxdispatch_model(case) == (
        None,
        "no DxDispatch model: its values are too many for the results to hold; give its failure file to replay",
    )
