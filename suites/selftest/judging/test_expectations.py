"""Every expectation, looked at closely: what it asks of an implementation, what it finds, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.judging.expectations import EXPECTATIONS, judge_case
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Finding, Judgement
from dmlcts.suites.judging.refusals import support_clause
from dmlcts.suites.mutants.reference import Array, Kernel
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

# ------------------------------------------------------------------------------- stopping, and passing

PASSING = {
    "oracle": (case(), 1),
    "idempotent": (case(), 2),
    "monotone": (case(), 1),
    "odd": (case(rounding(FLOAT), (2.5, -1.25, 0, 7, np.inf), clause="round.odd"), 2),
    "contained": (case(clip(ScaleBias=ScaleBias(0.5, 1))), 1),
    "threshold equivalence": (case(clip(Max=f32(127))), 2),
    "plain layout": (case(clip(tensor(strides=(2,)))), 2),
    "one value": (case(clip(Min=f32(np.nan)), (-128, 127, 0, 3, 2)), 1),
    "again": (case(), 14),
    "beside others": (case(), 29),
    "harmless": (case(), 1),
    "left open": (case(), 1),
}


@pytest.mark.parametrize("expectation", PASSING)
def test_what_is_right_passes_and_is_counted(expectation: str) -> None:
    test_case, dispatches = PASSING[expectation]
    device = Device()
    judgement = judged(device, replace(test_case, expectation=expectation))
    assert (judgement.findings, judgement.refused) == ((), False)
    assert len(device.dispatched) == dispatches
    assert judgement.executions[0].x.tolist() == test_case.values.first.array(5).tolist()
    assert judgement.elements % 5 == 0
    assert judgement.elements >= 5
    assert {"tensor.position"} <= set(judgement.clauses)


@pytest.mark.parametrize("expectation", PASSING)
def test_an_exception_at_any_dispatch_is_a_crash(expectation: str) -> None:
    test_case, dispatches = PASSING[expectation]
    for fails in range(dispatches):
        judgement = judged(Device(fails=fails), replace(test_case, expectation=expectation))
        assert {finding.outcome for finding in judgement.findings} == {"crash"}, fails
        assert only(judgement).case.expectation in (expectation, "oracle")


@pytest.mark.parametrize("expectation", [*PASSING, "accepted", "either"])
def test_closing_may_not_fail(expectation: str) -> None:
    test_case, _ = PASSING.get(expectation, (case(), 0))
    device = Device()
    judged(device, replace(test_case, expectation=expectation))
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))
    for closes in range(len(device.created)):
        judgement = judged(Device(closes=closes), replace(test_case, expectation=expectation))
        assert {finding.outcome for finding in judgement.findings} == {"crash"}, closes


@pytest.mark.parametrize("expectation", [*PASSING, "accepted", "either"])
def test_a_refusal_is_a_failure_where_the_level_obliges(expectation: str) -> None:
    test_case, _ = PASSING.get(expectation, (case(), 0))
    refusing = Device(refuse=lambda _: "on principle")
    judgement = judged(refusing, replace(test_case, expectation=expectation))
    if expectation == "either":
        assert (judgement.findings, judgement.refused) == ((), True)
        return
    finding = only(judgement)
    assert (finding.outcome, finding.clause) == ("fail", f"{test_case.operator.name[13:].lower()}.support.level-3-0")
    assert finding.title == "refused, though feature level 5.0 obliges it to accept"
    assert details(finding) == {"said": "on principle"}


def test_a_refusal_is_legitimate_where_the_level_does_not_oblige() -> None:
    test_case = case(clip(tensor(data_type=DataType.INT64)))
    judgement = judged(Device(level="3.0"), test_case)
    assert judgement == Judgement(refused=True)
    assert judged(Device(level="3.0"), replace(test_case, expectation="again")).refused
    assert judged(Device(level="3.0"), replace(test_case, expectation="beside others")).refused


@pytest.mark.parametrize(("level", "may_be_refused"), [("3.0", True), ("5.0", False)])
def test_one_type_of_a_later_level_lets_a_description_be_refused_for_that(level: str, may_be_refused: bool) -> None:
    """The condition's type is of every level."""
    wide, condition = tensor((2,), DataType.INT64), tensor((3,), DataType.UINT8)
    tensors = {"ConditionTensor": condition, "ATensor": wide, "BTensor": wide, "OutputTensor": wide}
    test_case = case(values=[1]).with_operator(OperatorDesc("ELEMENT_WISE_IF", tensors, {}))
    test_case = replace(test_case, clause="if.constraint.sizes", layout_clause=None, expectation="refused")
    judgement = judge_case(Bench("refusing", Device(level=level), {}, load_tables()), test_case)
    assert (judgement.findings, judgement.refused) == ((), may_be_refused)


def test_what_must_be_refused() -> None:
    zero = case(clip(tensor((0,), total_size_in_bytes=4)), expectation="refused", clause="tensor.size.zero")
    judgement = judged(Device(), zero)
    assert judgement == Judgement((), ("tensor.size.zero", "tensor.position"))
    later = case(clip(tensor((0,), DataType.INT64, total_size_in_bytes=4)), expectation="refused")
    assert judged(Device(level="3.0"), later).refused
    unlisted = case(clip(tensor((0,), DataType.FLOAT64, total_size_in_bytes=4)), expectation="refused")
    assert not judged(Device(level="3.0"), unlisted).refused


class Raising(Device):
    """Raises while creating."""

    def create(self, operator: OperatorDesc) -> Kernel:
        raise MemoryError("while creating")


@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_an_exception_while_creating_is_never_a_refusal(expectation: str) -> None:
    test_case, _ = PASSING.get(expectation, (case(), 0))
    finding = only(judged(Raising(), replace(test_case, expectation=expectation)))
    assert (finding.outcome, finding.title) == ("resource_error", "the implementation ran out of resources")
    assert finding.clause == test_case.clause
    message, at = details(finding)["said"].split("\n")
    assert message == "MemoryError: while creating"
    assert re.fullmatch(r'at .*test_expectations\.py:\d+ in create: raise MemoryError\("while creating"\)', at)


def test_accepting_dispatches_nothing() -> None:
    for expectation in ("accepted", "either"):
        device = Device()
        judgement = judged(device, case(expectation=expectation))
        assert judgement == Judgement((), ("clip.formula", "tensor.position"))
        assert device.dispatched == []


def test_accepting_what_must_be_refused_closes_it_too() -> None:
    class AcceptsAll(Device):
        def refuses(self, operator: OperatorDesc) -> str:
            return ""

    zero = case(clip(tensor((0,), total_size_in_bytes=4)), expectation="refused", clause="tensor.size.zero")
    judgement = judged(AcceptsAll(), zero)
    assert only(judgement).title == "accepted, though it must be refused"
    assert judgement.clauses == ("tensor.size.zero", "tensor.position")
    assert only(judged(AcceptsAll(closes=0), zero)).outcome == "crash"


# ---------------------------------------------------------------------------- which clause is to blame


@pytest.mark.parametrize(
    "data_type, rank, level, clause",
    [
        (DataType.FLOAT32, 4, "5.0", "clip.support.level-1-0"),
        (DataType.FLOAT32, 3, "5.0", "clip.support.level-3-0"),
        (DataType.INT8, 4, "5.0", "clip.support.level-2-1"),
        (DataType.INT64, 4, "5.0", "clip.support.level-5-0"),
        (DataType.INT64, 4, "3.0", "clip.formula"),
        (DataType.INT8, 9, "5.0", "clip.formula"),
    ],
)
def test_support_is_required_to_the_lowest_level(data_type: DataType, rank: int, level: str, clause: str) -> None:
    operator = clip(tensor((1,) * rank, data_type))
    assert support_clause(bench(Device(), level=FeatureLevel.parse(level)), operator) == clause


def test_a_crash_that_the_values_alone_do_not_cause_is_the_layouts() -> None:
    class CrashesOnStrides(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            if operator.input.strides is not None:
                raise ZeroDivisionError
            return super().compute(operator, x)

    strided = case(clip(tensor(strides=(2,))))
    assert only(judged(CrashesOnStrides(), strided)).clause == "tensor.position"
    assert only(judged(CrashesOnStrides(), replace(strided, layout_clause=None))).clause == "clip.formula"
    assert only(judged(Device(fails=0), strided)).clause == "clip.formula"


def test_the_packed_variant_is_as_large_but_not_larger_than_it_need_be() -> None:
    for count, packed in ((70_000, 65_536), (7, 7)):
        device = Device(fails=0)
        judged(device, case(clip(tensor((count,)))))
        assert [operator.input.sizes for operator in device.dispatched] == [(count,), (packed,)]
    device = Device(refuse=lambda operator: "zero" if not operator.input.element_count else "")
    test_case = case(clip(tensor((0,))), expectation="accepted")
    bench_of = bench(device)
    bench_of.obliged = lambda operator: True  # type: ignore[method-assign]
    assert only(judge_case(bench_of, test_case)).clause == "tensor.position"
    assert [operator.input.sizes for operator in device.created] == [(1,)]


@pytest.mark.parametrize(
    "attributes, refuse",
    [
        ({"ScaleBias": ScaleBias(2, 1)}, lambda operator: "scale" if operator.attributes["ScaleBias"] else ""),
        (
            {"Min": f32(3), "Max": f32(-2)},
            lambda operator: "order" if operator.attributes["Min"] > operator.attributes["Max"] else "",
        ),
        (
            {"Min": f32(1), "Max": f32(1)},
            lambda operator: "equal" if operator.attributes["Min"] == operator.attributes["Max"] else "",
        ),
    ],
)
def test_refused_attributes_break_the_clause_of_the_case(attributes: Any, refuse: Any) -> None:
    test_case = case(clip(**attributes), clause="clip.scale-bias", layout_clause=None)
    device = Device(refuse=refuse)
    assert only(judged(device, test_case)).clause == "clip.scale-bias"
    assert device.closed == device.created
    assert only(judged(Device(refuse=lambda _: "all"), test_case)).clause == "clip.support.level-3-0"


@pytest.mark.parametrize(
    "value, data_type, clause",
    [
        (np.nan, DataType.FLOAT16, "clip.formula"),
        (-np.inf, DataType.FLOAT16, "clip.formula"),
        (1 / 3, DataType.FLOAT16, "clip.cast.float16"),
        (0.25, DataType.FLOAT16, "clip.formula"),
        (-70000.0, DataType.FLOAT16, "clip.cast.float16-overflow"),
        (0.25, DataType.INT8, "clip.cast.integer"),
        (np.nan, DataType.INT8, "clip.formula"),
    ],
)
def test_a_refused_bound_breaks_the_clause_on_its_cast_where_it_is_a_number_that_the_type_has_not(
    value: float, data_type: DataType, clause: str
) -> None:
    bound = f32(value)
    test_case = case(clip(tensor((5,), data_type), Min=bound), values=(-2, 0, 1, 2, 3), layout_clause=None)

    def refuse(operator: OperatorDesc) -> str:
        return "no such bound" if operator.attributes["Min"].tobytes() == bound.tobytes() else ""

    assert only(judged(Device(refuse=refuse), test_case)).clause == clause


# --------------------------------------------------------------------------------------- wrong values


def test_the_simplest_wrong_value_is_shown_with_what_was_acceptable() -> None:
    device = Device({-100: 5, 0: 6, 3: 7})
    finding = only(judged(device, case()))
    assert finding.title == "input 0 gives 6"
    assert details(finding) == {
        "input": "0 (0x00) at index [2]",
        "acceptable": "0 (0x00)",
        "got": "6 (0x06)",
        "wrong": "3 of 5 elements",
    }
    assert finding.suspects == ((0,), (3,), (-100,))
    assert finding.wrong == 3


def test_suspects_are_a_few_distinct_values() -> None:
    test_case = case(clip(tensor((50,))), [*range(4, 14)])
    finding = only(judged(Device(dict.fromkeys(range(14), 0)), test_case))
    assert finding.wrong == 50
    assert [int(value) for (value,) in finding.suspects] == [4, 5, 6, 7, 8, 9]
    for count, suspects in ((48, ((4,),)), (47, ((4,), (5,)))):  # only so many of the simplest are looked through
        test_case = case(clip(tensor((count + 1,))), [4] * count + [5])
        assert only(judged(Device({4: 0, 5: 0}), test_case)).suspects == suspects


def test_acceptable_values_are_listed_or_named() -> None:
    operator = clip(FLOAT, Min=f32(np.nan))
    finding = only(judged(Device({5: 4}), case(operator, (1, 2, 5, 1, 2))))
    assert details(finding)["acceptable"] == "3.0 (0x40400000) or any NaN"
    finding = only(judged(Device({5: 4}), case(clip(FLOAT), (1, 2, 5, 1, 2))))
    assert details(finding)["acceptable"] == "3.0 (0x40400000)"
    operator = threshold(FLOAT, Min=f32(-1), ScaleBias=ScaleBias(0, np.inf))
    finding = only(judged(Device({5: 4}), case(operator, (np.inf, 2, 5, 1, 2)), strict=True))
    assert details(finding)["acceptable"] == "inf (0x7f800000)"


def test_memory_is_accounted_for() -> None:
    class Spoils(Device):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            for offset in (bindings["InputTensor"].offset, bindings["InputTensor"].offset + 2, memory.size - 3):
                memory[offset] ^= 1

    read, stray = judged(Spoils(), case()).findings
    assert (read.clause, read.title) == ("tensor.input.unchanged", "2 bytes of the input changed")
    assert details(read) == {"bytes": "2 changed, the first at offset 512 of the memory"}
    assert (stray.clause, stray.title) == ("tensor.output.bounds", "1 byte outside the output's total size changed")
    words = r"1 changed, the first (\d+) bytes after the output's end \(offset (\d+) of the memory\)"
    shown = re.fullmatch(words, details(stray)["bytes"])
    regions, size = case().placement.regions(case().operator)
    target = regions["OutputTensor"]
    end = target.offset + case().operator.output.total_size_in_bytes
    assert shown is not None
    assert (int(shown[1]), int(shown[2])) == (size - 3 - end, size - 3)

    class SpoilsBefore(Device):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            memory[bindings["OutputTensor"].offset - 2] ^= 1

    before = only(judged(SpoilsBefore(), case()))
    assert details(before)["bytes"].startswith("1 changed, the first 2 bytes before the output's beginning (offset ")
    for expectation in ("idempotent", "plain layout"):
        judgement = judged(Spoils(), case(expectation=expectation))
        assert [finding.clause for finding in judgement.findings] == [read.clause, stray.clause]
        assert judgement.clauses == ("clip.formula", "tensor.position", *MEMORY_CLAUSES[1:])
        assert (judgement.elements, len(judgement.executions)) == (5, 1)


def test_unwritten_elements_are_distinguished_from_wrong_ones() -> None:
    class WritesTwo(Device):
        def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
            self.view(memory, region, tensor)[1:3] = values[1:3]

    missing, wrong = judged(WritesTwo({0: 1}), case()).findings
    assert (missing.clause, missing.title) == ("tensor.output.complete", "3 of 5 output elements were not written")
    assert details(missing) == {"element": "the first at index [0]"}
    assert missing.wrong == 3
    assert (wrong.clause, wrong.wrong, wrong.suspects) == ("tensor.position", 1, ((0,),))
    failing = only(judged(WritesTwo(fails=1), case()))  # the second dispatch, which distinguishes the two, fails
    assert (failing.clause, failing.wrong) == ("tensor.position", 3)


def test_a_wrong_value_that_is_what_both_memories_would_hold_was_written_all_the_same() -> None:
    """1, for -2: the complement of what is expected, and the first value that no input becomes."""
    below = clip(Min=np.float32(-3), Max=np.float32(-1))
    finding = only(judged(Device({-2: 1}), case(below)))
    assert (finding.clause, finding.wrong) == ("tensor.position", 1)


def test_in_place_a_value_left_as_it_was_is_a_wrong_value() -> None:
    finding = only(judged(Device({100: 100}), case(placement=Placement(in_place=True))))
    assert (finding.clause, finding.wrong) == ("tensor.position", 1)


def test_nothing_is_wrong_or_judged_unless_stated() -> None:
    assert Finding("clip.formula", "fail", case(), "title").wrong == 0
    assert Judgement().elements == 0
