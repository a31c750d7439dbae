"""What findings say: acceptable values, operators on one line, attributes, and what a case is made again of."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.outcome import Acceptance
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Array, Values
from dmlcts.suites.judging.findings import Finding, acceptable_text, attribute_text, filled_with, operator_text
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.descriptions import clip

f32 = np.float32
TABLES = load_tables()
INT8 = TensorDesc(DataType.INT8, (5,))


def halves(*numbers: float) -> Array:
    return np.array(numbers, np.float16)


@pytest.mark.parametrize(
    "acceptance, expected_text",
    [
        (Acceptance(DataType.FLOAT16, (halves(1, 5),), np.array([True, False]), strict=True), "any value"),
        (Acceptance(DataType.FLOAT16, (halves(1, 5),), np.array([False, True]), strict=True), "1.0 (0x3c00)"),
        (Acceptance(DataType.FLOAT16, (halves(1), halves(-1)), None, strict=True), "1.0 (0x3c00) or -1.0 (0xbc00)"),
        (Acceptance(DataType.FLOAT16, (halves(1), halves(np.nan)), None, strict=True), "1.0 (0x3c00) or any NaN"),
        (
            Acceptance(DataType.FLOAT16, (halves(1),), None, strict=True, spans=((halves(2), halves(3)),)),
            "1.0 (0x3c00) or 2.0 (0x4000) to 3.0 (0x4200)",
        ),
        (
            Acceptance(DataType.FLOAT16, (halves(5),), None, strict=True, spans=((halves(5), halves(5)),)),
            "5.0 (0x4500)",
        ),
        (
            Acceptance(DataType.FLOAT16, (halves(5),), None, strict=True, spans=((halves(4), halves(6)),)),
            "4.0 (0x4400) to 6.0 (0x4600)",
        ),
        (
            Acceptance(DataType.FLOAT16, (halves(5),), None, strict=True, spans=((halves(1), halves(2)),) * 2),
            "5.0 (0x4500) or 1.0 (0x3c00) to 2.0 (0x4000)",
        ),
        (
            Acceptance(
                DataType.FLOAT16,
                (halves(3),),
                None,
                strict=True,
                spans=((halves(2), halves(4)), (halves(-1), halves(2)), (halves(7), halves(7))),
            ),
            "7.0 (0x4700) or -1.0 (0xbc00) to 4.0 (0x4400)",
        ),
        (
            Acceptance(DataType.FLOAT16, (halves(0),), None, strict=True, spans=((halves(-0.0), halves(0)),)),
            "0.0 (0x0000) or -0.0 (0x8000)",
        ),
    ],
)
def test_what_is_acceptable_is_stated_with_its_bits(acceptance: Acceptance, expected_text: str) -> None:
    assert acceptable_text(acceptance, DataType.FLOAT16) == expected_text


def test_of_several_elements_the_one_that_is_asked_for_is_reported() -> None:
    acceptance = Acceptance(DataType.FLOAT16, (halves(1, 2, 3),), None, strict=True)
    assert [acceptable_text(acceptance, DataType.FLOAT16, index) for index in range(3)] == [
        "1.0 (0x3c00)",
        "2.0 (0x4000)",
        "3.0 (0x4200)",
    ]


LINES = {
    "ELEMENT_WISE_CLIP, ScaleBias none, Min -2.0, Max 3.0": clip(),
    "ELEMENT_WISE_CLIP, ScaleBias (2.0, -1.0), Min 0.1, Max inf": clip(
        ScaleBias=ScaleBias(2, -1), Min=f32(0.1), Max=f32(np.inf)
    ),
    "ELEMENT_WISE_ROUND, RoundingMode TOWARD_ZERO": OperatorDesc(
        "ELEMENT_WISE_ROUND", clip().tensors, {"RoundingMode": "TOWARD_ZERO"}
    ),
    "ELEMENT_WISE_CLIP1, ScaleBias none, MinMaxDataType INT8, Min -2, Max 3": OperatorDesc(
        "ELEMENT_WISE_CLIP1",
        clip().tensors,
        {
            "ScaleBias": None,
            "MinMaxDataType": "INT8",
            "Min": ScalarUnion.of(DataType.INT8, -2),
            "Max": ScalarUnion.of(DataType.INT8, 3),
        },
    ),
    "ELEMENT_WISE_ADD1, FusedActivation (ACTIVATION_LINEAR, Alpha 2.0, Beta -1.0)": OperatorDesc(
        "ELEMENT_WISE_ADD1",
        {"ATensor": INT8, "BTensor": INT8, "OutputTensor": INT8},
        {"FusedActivation": OperatorDesc("ACTIVATION_LINEAR", {}, {"Alpha": f32(2), "Beta": f32(-1)})},
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_an_operator_is_stated_on_one_line(line: str) -> None:
    operator = LINES[line]
    assert operator_text(operator) == line
    assert operator_text(operator, operator) == line
    other = clip(TensorDesc(DataType.INT8, (9,)))
    assert operator_text(operator, other) == f"{line}, on INT8 [5]"
    assert operator_text(clip(TensorDesc(DataType.INT8, (5,), (2,))), other).endswith("on INT8 [5], strides [2]")


def test_a_bound_in_a_union_is_shown_with_its_bits_and_its_type() -> None:
    assert attribute_text(ScalarUnion.of(DataType.INT8, -2)) == "-2 (0xfe) as INT8"
    assert attribute_text(ScalarUnion.of(DataType.FLOAT32, 1.0)) == "1.0 (0x3f800000) as FLOAT32"


def test_a_tensor_of_one_element_is_filled_with_one() -> None:
    single, many = TensorDesc(DataType.FLOAT32, (1,)), TensorDesc(DataType.FLOAT32, (3,))
    tensors = {
        "InputTensor": many,
        "ScaleTensor": single,
        "ZeroPointTensor": TensorDesc(DataType.UINT8, (1,)),
        "OutputTensor": TensorDesc(DataType.UINT8, (3,)),
    }
    operator = OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {})
    inputs: dict[str, Array] = {
        "InputTensor": np.array([1, 2, 3], f32),
        "ScaleTensor": np.full(3, 2, f32),
        "ZeroPointTensor": np.full(3, 7, np.uint8),
    }
    streams = filled_with(Case(operator, Values.of([0], DataType.FLOAT32), "quantize-linear.formula"), inputs)
    assert {name: values.array(len(values)).tolist() for name, values in streams.items()} == {
        "InputTensor": [1, 2, 3],
        "ScaleTensor": [2],
        "ZeroPointTensor": [7],
    }


def test_a_finding_states_nothing_of_itself_unless_asked() -> None:
    finding = Finding("clip.formula", "fail", Case(clip(), Values.of([0], DataType.INT8), "clip.formula"), "title")
    assert (finding.wrong, finding.index, finding.repeat, finding.settled) == (0, -1, 0, False)


@pytest.mark.parametrize("beyond, kept", [(0, True), (1, False)])
def test_of_many_judgements_those_of_64_kibibytes_keep_their_dispatches(beyond: int, kept: bool) -> None:
    def placed(tail: int) -> Case:
        values = Values.of([1], DataType.INT8)
        return Case(clip(), values, "clip.formula", placement=Placement(tail=tail))

    tail = (1 << 16) - placed(0).placement.regions(clip())[1] + 16 * beyond
    assert placed(tail).placement.regions(clip())[1] == (1 << 16) + 16 * beyond
    judge = Judge(Bench("x", Reference(), {}, TABLES))
    assert [bool(judgement.executions) for judgement in judge.all([placed(tail)])] == [kept]
