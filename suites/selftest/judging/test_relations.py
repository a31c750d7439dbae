"""Relations between elements and dispatches: each is looked at, and names what breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.findings import Finding, plain
from dmlcts.suites.judging.one_value import adopted_oracle
from dmlcts.suites.judging.relations import same_values
from dmlcts.suites.mutants.reference import Array
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.scripted import (
    FLOAT,
    Device,
    bench,
    details,
    f32,
    judged,
    only,
    rounding,
    threshold,
)


def wrongly(expectation: str, test_case: Case, wrong: dict[Any, Any], **changes: Any) -> Finding:
    judgement = judged(Device(wrong, **changes), replace(test_case, expectation=expectation))
    assert judgement.clauses == (test_case.clause, *([test_case.layout_clause] if test_case.layout_clause else []))
    return only(judgement)


def test_idempotence_is_looked_at() -> None:
    finding = wrongly("idempotent", case(), {3: 2})
    assert (finding.clause, finding.title) == ("clip.formula", "applied again to 3 it gives 2")
    assert details(finding) == {
        "input": "100 (0x64) at index [4]",
        "got": "3 (0x03)",
        "property": finding.title,
        "wrong": "1 of 5 elements",
    }
    assert (finding.wrong, finding.suspects) == (1, ((100,),))


def test_a_property_names_a_few_suspects() -> None:
    finding = wrongly("idempotent", case(clip(tensor((9,))), range(4, 13)), {3: 2})
    assert [int(value) for (value,) in finding.suspects] == [4, 5, 6, 7, 8, 9]
    assert finding.wrong == 9


def test_order_is_looked_at() -> None:
    finding = wrongly("monotone", case(values=(3, 2, 1, 0, -100)), {1: -1})
    assert finding.title == "input 0 gives 0, the larger input 1 gives -1"
    assert finding.suspects == ((1,),)
    assert wrongly("monotone", case(clip(tensor((2,))), (1, 0)), {1: -1}).wrong == 1
    test_case = case(clip(FLOAT), (np.nan, 2, 1, 0, -1), expectation="monotone")
    assert judged(Device(), test_case).findings == ()
    assert only(judged(Device({1: np.nan}), test_case)).title == "input 0.0 gives 0.0, the larger input 1.0 gives NaN"
    nothing = case(clip(FLOAT), [np.nan], expectation="monotone")
    assert judged(Device(), nothing).findings == ()


def test_subnormals_stand_outside_the_order() -> None:
    smallest = np.finfo(np.float32).smallest_normal
    below = np.nextafter(smallest, f32(0))
    test_case = case(clip(FLOAT), (below, -below, 1, 0, -1), expectation="monotone")
    assert judged(Device({below: 2, -below: -2}), test_case).findings == ()
    for outputs, title in (
        ((smallest, 1, 0, -1, -2), "input 1.1754944e-38 gives 2.0, the larger input 1.0 gives 1.0"),
        ((-smallest, 1, 0, -1, -2), "input -1.1754944e-38 gives 2.0, the larger input 0.0 gives 0.0"),
    ):
        assert wrongly("monotone", case(clip(FLOAT), outputs), {outputs[0]: 2}).title == title
    half = clip(tensor((5,), DataType.FLOAT16))  # whose subnormals are preserved
    assert wrongly("monotone", case(half, (2.0**-20, 1, 0, -1, -2)), {2.0**-20: 2}).wrong == 1


class OfNan(Device):
    """Gives something else of a NaN at the second dispatch: applied again, or in the packed tensor."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.fixed = f32(value)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        return np.where(np.isnan(x), self.fixed, y) if len(self.dispatched) > 1 else y


def test_what_is_free_need_not_be_the_same_again() -> None:
    layout = clip(tensor((1, 5), DataType.FLOAT32, strides=(9, 2)))
    for expectation, operator in (("idempotent", clip(FLOAT)), ("plain layout", layout)):
        test_case = case(operator, (np.nan, 2, 1, 0, -1), expectation=expectation)
        for free in (-2, 3, np.nan):
            assert judged(OfNan(free), test_case).findings == (), free
        assert only(judged(OfNan(1), test_case)).wrong == 1


def test_open_bounds_are_no_free_choice() -> None:
    class OtherBoundOnStrides(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return y if operator.input.strides is None else np.maximum(y, np.int8(2))

    test_case = case(clip(tensor((1, 5), strides=(9, 2)), Min=f32(np.nan)), expectation="plain layout")
    assert only(judged(OtherBoundOnStrides(), test_case)).wrong == 3


def test_oddness_is_looked_at() -> None:
    test_case = case(rounding(FLOAT), (2.5, 1, 0, 7, np.inf), clause="round.odd")
    finding = wrongly("odd", test_case, {2.5: 3})
    assert finding.title == "input 2.5 gives 3.0, input -2.5 gives -2.0"
    assert finding.wrong == 1


def test_the_range_is_looked_at() -> None:
    wild = clip(ScaleBias=ScaleBias(-1, 0))
    values = (-2, -1, 0, 1, 2)
    assert judged(Device(), case(wild, values, expectation="contained")).findings == ()
    for output in (4, -3, 127, -128):
        finding = wrongly("contained", case(wild, values), {1: output})
        assert finding.title == f"input 1 gives {output}, outside -2 to 3"
    for output in (3, -2):
        assert judged(Device({1: output}), case(wild, values, expectation="contained")).findings == ()
    finding = wrongly("contained", case(clip(FLOAT, Min=f32(-1.5), Max=f32(2.5))), {0: 2.75, 3: np.nan})
    assert finding.title == "input 0.0 gives 2.75, outside -1.5 to 2.5"
    assert finding.wrong == 1
    finding = wrongly("contained", case(clip(FLOAT, Min=f32(-1.5), Max=f32(2.5))), {0: -2})
    assert finding.title == "input 0.0 gives -2.0, outside -1.5 to 2.5"
    finding = wrongly("contained", case(clip(FLOAT, Min=f32(2.5), Max=f32(2.5))), {0: 5})
    assert finding.title == "input 0.0 gives 5.0, not 2.5"


def test_the_range_is_as_wide_as_any_acceptable_bound() -> None:
    half = tensor((5,), DataType.FLOAT16)
    for attributes, wrong in (({"Min": f32(0.1)}, {}), ({"Max": f32(70000)}, {}), ({"Max": f32(70000)}, {3: 65504})):
        test_case = case(clip(half, **attributes), (-np.inf, np.inf, 0, 3, 100), expectation="contained")
        assert judged(Device(wrong), test_case).findings == ()
    test_case = case(threshold(half, Min=f32(0.1)), (-np.inf, np.inf, 0, 3, 100), expectation="contained")
    below, above = np.float16(0.1), np.nextafter(np.float16(0.1), np.float16(1))
    for output in (below, above):
        assert judged(Device({0: output}), test_case).findings == ()
    rounds = case(rounding(half), (-np.inf, 0, 1, 2, np.inf), expectation="contained")
    assert judged(Device(), rounds).findings == ()


def test_clip_and_threshold_are_compared() -> None:
    class ClipsWrongly(Device):
        def clip(self, x: Array, low: Any, high: Any) -> Array:
            return np.where(x == 3, 2, super().clip(x, low, high)).astype(x.dtype)

    test_case = case(
        clip(Max=f32(127), ScaleBias=ScaleBias(1, 1)), (-100, -3, 2, 5, 100), expectation="threshold equivalence"
    )
    device = ClipsWrongly()
    finding = only(judged(device, test_case))
    assert finding.title == "CLIP gives 2, THRESHOLD 3"
    assert device.created[1] == threshold(ScaleBias=ScaleBias(1, 1))


def test_a_layout_is_compared_with_the_packed_one() -> None:
    class WrongOnStrides(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return y if operator.input.strides is None else np.where(x == 3, 2, y).astype(y.dtype)

    test_case = case(clip(tensor((1, 5), strides=(9, 2))), expectation="plain layout")
    device = WrongOnStrides()
    judgement = judged(device, test_case)
    assert only(judgement).clause == "tensor.position"
    assert only(judgement).title == "input 3 gives 2 here and 3 in a packed tensor"
    assert device.created[1].input == tensor((5,))
    assert len(judgement.executions) == 2
    assert only(judged(WrongOnStrides(), replace(test_case, layout_clause=None))).clause == "clip.formula"


@pytest.mark.parametrize(
    "data_type, level, sizes",
    [
        (DataType.INT8, "5.0", (7,)),
        (DataType.INT8, "2.1", (1, 1, 1, 7)),
        (DataType.INT64, "3.0", (7,)),
        (DataType.FLOAT64, "5.0", (7,)),
        (DataType.FLOAT32, "1.0", (1, 1, 1, 7)),
    ],
)
def test_the_plain_tensor_has_the_lowest_rank_there_is(data_type: DataType, level: str, sizes: tuple[int, ...]) -> None:
    strided = case(
        clip(tensor((2, 3), data_type, strides=(9, 2))), expectation="idempotent", placement=Placement(in_place=True)
    )
    plain_case = plain(bench(Device(level=level)), strided, Values.of([1], data_type), 7)
    assert plain_case.operator == clip(tensor(sizes, data_type))
    assert (plain_case.layout_clause, plain_case.expectation, plain_case.placement) == (None, "idempotent", Placement())


def test_one_value_is_taken_from_the_limits() -> None:
    test_case = case(clip(Min=f32(np.nan)), (-128, 127, 0, 3, 1), expectation="one value")
    finding = only(judged(Device({3: 2}), test_case))
    assert finding.title == "input 3 gives 2, though the limits of the type show Min = 0"
    execution = judged(Device(), test_case).executions[0]
    for attributes, casts in (
        ({"Min": f32(np.nan)}, {"Min": 0}),
        ({"Max": f32(1e9)}, {"Max": 127}),
        ({"Min": f32(1e9)}, {"Min": 127}),
        ({"Min": f32(-1e9), "Max": f32(1e9)}, {"Min": -128, "Max": 127}),
        ({}, {}),
    ):
        test_case = case(clip(**attributes), (3, -128, 127, 0, 1), expectation="one value")
        execution = judged(Device(), test_case).executions[0]
        for strict in (False, True):
            oracle, taken = adopted_oracle(bench(Device(), strict=strict), test_case, execution)
            assert taken == casts
            assert oracle.latitudes == oracle.law.latitudes(test_case.data_type, strict=strict)


def test_two_runs_may_differ_where_latitude_is() -> None:
    tiny = 2.0**-140
    a = np.array([0.0, np.nan, tiny, -tiny, tiny, 1, np.nan, 2.0**-126, 0], f32)
    b = np.array([-0.0, np.nan, 0, 0, 2 * tiny, 2, 1, 0, 2.0**-126], f32)
    # two subnormals compare equal where comparisons flush, so that either may be selected
    assert same_values(a, b).tolist() == [True, True, True, True, True, False, False, False, False]
    halves = np.array([0.0, np.nan, 2.0**-20, 2.0**-20, 1], np.float16)
    others = np.array([-0.0, np.nan, 2.0**-20, 0, 1], np.float16)
    assert same_values(halves, others).tolist() == [True, True, True, False, True]  # FLOAT16 keeps its subnormals
    assert same_values(b, a).tolist() == same_values(a, b).tolist()
    zeros_and_ones = np.array([0, tiny, 1, 1], f32), np.array([1, 1, 0, tiny], f32)
    assert not same_values(*zeros_and_ones).any()  # what is flushed becomes 0, not another number
    assert same_values(np.array([1, 2]), np.array([1, 3])).tolist() == [True, False]
