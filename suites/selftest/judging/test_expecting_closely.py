"""Every expectation, looked at closely: what it asks of an implementation, what it finds, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import EXPECTATIONS, judge_case
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Finding, Judgement, plain
from dmlcts.suites.judging.one_value import adopted_oracle
from dmlcts.suites.judging.refusals import support_clause
from dmlcts.suites.judging.relations import same_values
from dmlcts.suites.selftest.first_three import first_three
from dmlcts.suites.selftest.mutants.reference import Array, Kernel, Reference

f32 = np.float32
TABLES = first_three()


def bench(backend: Any, **changes: Any) -> Bench:
    return Bench("planted", backend, {}, TABLES, **changes)


def tensor(sizes: tuple[int, ...] = (5,), data_type: DataType = DataType.INT8, **more: Any) -> TensorDesc:
    return TensorDesc(data_type, sizes, **more)


def clip(source: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    source = source or tensor()
    return OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": source, "OutputTensor": source},
                        {"ScaleBias": None, "Min": f32(-2), "Max": f32(3)} | attributes)  # fmt: skip


def threshold(source: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    source = source or tensor()
    return OperatorDesc("ELEMENT_WISE_THRESHOLD", {"InputTensor": source, "OutputTensor": source},
                        {"ScaleBias": None, "Min": f32(-2)} | attributes)  # fmt: skip


def rounding(source: TensorDesc, mode: str = "HALVES_TO_NEAREST_EVEN") -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": source, "OutputTensor": source}, {"RoundingMode": mode})


FLOAT = tensor((5,), DataType.FLOAT32)


def case(operator: OperatorDesc | None = None, values: Any = (-100, -2, 0, 3, 100), **changes: Any) -> Case:
    operator = operator or clip()
    return replace(
        Case(operator, Values.of(values, operator.input.data_type), "clip.formula", "tensor.position"), **changes
    )


class Device(Reference):
    """Notes what is asked of it; a fault is a function of the values, or of how often it was asked.

    Args:
        wrong: input values to the wrong outputs they give.
        fails: after how many dispatches it raises an exception.
        spoils: at which dispatches the first output element is wrong.
        refuse: says why a description is refused, beyond the rules.
        closes: how many kernels close before closing one fails; ``None`` where all close.
    """

    def __init__(self, wrong: Any = None, *, fails: int = 999, spoils: tuple[int, ...] = (), refuse: Any = None,
                 closes: int | None = None, level: str = "5.0") -> None:  # fmt: skip
        self.wrong = wrong or {}
        self.fails = fails
        self.spoils = spoils
        self.refuse = refuse
        self.closes = closes
        self.level = level
        self.created: list[OperatorDesc] = []
        self.dispatched: list[OperatorDesc] = []
        self.closed: list[OperatorDesc] = []
        self.inputs: list[list[Any]] = []
        self.bindings: list[Mapping[str, Region]] = []

    def refuses(self, operator: OperatorDesc) -> str:
        return (self.refuse(operator) if self.refuse else "") or super().refuses(operator)

    def create(self, operator: OperatorDesc) -> Kernel:
        kernel = super().create(operator)
        self.created.append(operator)
        device = self

        class Noting(Kernel):
            def close(self) -> None:
                if device.closes is not None and len(device.closed) >= device.closes:
                    raise OSError("closing fails")
                device.closed.append(operator)

        return Noting(self, kernel.operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.dispatched.append(operator)
        self.bindings.append(bindings)
        if len(self.dispatched) > self.fails:
            raise ZeroDivisionError("dispatching fails")
        super().dispatch(operator, memory, bindings)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        self.inputs.append(x.reshape(-1).tolist())
        y = super().compute(operator, x).copy()
        for value, given in self.wrong.items():
            y[x == value] = given
        if len(self.dispatched) in self.spoils:
            y.reshape(-1)[0] = 1
        return y


def judged(backend: Device, one: Case, **changes: Any) -> Judgement:
    return judge_case(bench(backend, **changes), one)


def only(judgement: Judgement) -> Finding:
    (finding,) = judgement.findings
    return finding


def details(finding: Finding) -> dict[str, str]:
    return dict(finding.details)


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
    "again": (case(), 5),
    "beside others": (case(), 12),
    "harmless": (case(), 1),
}


@pytest.mark.parametrize("expectation", PASSING)
def test_what_is_right_passes_and_is_counted(expectation: str) -> None:
    one, dispatches = PASSING[expectation]
    device = Device()
    judgement = judged(device, replace(one, expectation=expectation))
    assert (judgement.findings, judgement.refused) == ((), False)
    assert len(device.dispatched) == dispatches
    assert judgement.executions[0].x.tolist() == one.values.first.array(5).tolist()
    assert judgement.elements % 5 == 0
    assert judgement.elements >= 5
    assert {"tensor.position"} <= set(judgement.clauses)


@pytest.mark.parametrize("expectation", PASSING)
def test_an_exception_at_any_dispatch_is_a_crash(expectation: str) -> None:
    one, dispatches = PASSING[expectation]
    for fails in range(dispatches):
        judgement = judged(Device(fails=fails), replace(one, expectation=expectation))
        assert {finding.outcome for finding in judgement.findings} == {"crash"}, fails
        assert only(judgement).case.expectation in (expectation, "oracle")


@pytest.mark.parametrize("expectation", [*PASSING, "accepted", "either"])
def test_closing_may_not_fail(expectation: str) -> None:
    one, _ = PASSING.get(expectation, (case(), 0))
    device = Device()
    judged(device, replace(one, expectation=expectation))
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))
    for closes in range(len(device.created)):
        judgement = judged(Device(closes=closes), replace(one, expectation=expectation))
        assert {finding.outcome for finding in judgement.findings} == {"crash"}, closes


@pytest.mark.parametrize("expectation", [*PASSING, "accepted", "either"])
def test_a_refusal_is_a_failure_where_the_level_obliges(expectation: str) -> None:
    one, _ = PASSING.get(expectation, (case(), 0))
    refusing = Device(refuse=lambda _: "on principle")
    judgement = judged(refusing, replace(one, expectation=expectation))
    if expectation == "either":
        assert (judgement.findings, judgement.refused) == ((), True)
        return
    finding = only(judgement)
    assert (finding.outcome, finding.clause) == ("fail", f"{one.operator.name[13:].lower()}.support.level-3-0")
    assert finding.title == "refused, though feature level 5.0 obliges it to accept"
    assert details(finding) == {"said": "on principle"}


def test_a_refusal_is_legitimate_where_the_level_does_not_oblige() -> None:
    one = case(clip(tensor(data_type=DataType.INT64)))
    judgement = judged(Device(level="3.0"), one)
    assert judgement == Judgement(refused=True)
    assert judged(Device(level="3.0"), replace(one, expectation="again")).refused
    assert judged(Device(level="3.0"), replace(one, expectation="beside others")).refused


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
    one, _ = PASSING.get(expectation, (case(), 0))
    finding = only(judged(Raising(), replace(one, expectation=expectation)))
    assert (finding.outcome, finding.title) == ("resource_error", "the implementation ran out of resources")
    assert finding.clause == one.clause
    said, at = details(finding)["said"].split("\n")
    assert said == "MemoryError: while creating"
    assert re.fullmatch(r'at .*test_expecting_closely\.py:\d+ in create: raise MemoryError\("while creating"\)', at)


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
        (DataType.FLOAT32, 4, "5.0", "clip.support.level-1-0"), (DataType.FLOAT32, 3, "5.0", "clip.support.level-3-0"),
        (DataType.INT8, 4, "5.0", "clip.support.level-2-1"), (DataType.INT64, 4, "5.0", "clip.support.level-5-0"),
        (DataType.INT64, 4, "3.0", "clip.formula"), (DataType.INT8, 9, "5.0", "clip.formula"),
    ],
)  # fmt: skip
def test_support_is_owed_to_the_lowest_level(data_type: DataType, rank: int, level: str, clause: str) -> None:
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
    one = case(clip(tensor((0,))), expectation="accepted")
    bench_of = bench(device)
    bench_of.obliged = lambda operator: True  # type: ignore[method-assign]
    assert only(judge_case(bench_of, one)).clause == "tensor.position"
    assert [operator.input.sizes for operator in device.created] == [(1,)]


@pytest.mark.parametrize(
    "attributes, refuse",
    [
        ({"ScaleBias": ScaleBias(2, 1)}, lambda operator: "scale" if operator.attributes["ScaleBias"] else ""),
        ({"Min": f32(3), "Max": f32(-2)},
         lambda operator: "order" if operator.attributes["Min"] > operator.attributes["Max"] else ""),
        ({"Min": f32(1), "Max": f32(1)},
         lambda operator: "equal" if operator.attributes["Min"] == operator.attributes["Max"] else ""),
    ],
)  # fmt: skip
def test_refused_attributes_break_the_clause_of_the_case(attributes: Any, refuse: Any) -> None:
    one = case(clip(**attributes), clause="clip.scale-bias", layout_clause=None)
    device = Device(refuse=refuse)
    assert only(judged(device, one)).clause == "clip.scale-bias"
    assert device.closed == device.created
    assert only(judged(Device(refuse=lambda _: "all"), one)).clause == "clip.support.level-3-0"


# --------------------------------------------------------------------------------------- wrong values


def test_the_simplest_wrong_value_is_shown_with_what_was_acceptable() -> None:
    device = Device({-100: 5, 0: 6, 3: 7})
    finding = only(judged(device, case()))
    assert finding.title == "input 0 gives 6"
    assert details(finding) == {
        "input": "0 (0x00) at index [2]", "acceptable": "0 (0x00)", "got": "6 (0x06)", "wrong": "3 of 5 elements",
    }  # fmt: skip
    assert finding.suspects == ((0,), (3,), (-100,))
    assert finding.wrong == 3


def test_suspects_are_a_few_distinct_values() -> None:
    one = case(clip(tensor((50,))), [*range(4, 14)])
    finding = only(judged(Device(dict.fromkeys(range(14), 0)), one))
    assert finding.wrong == 50
    assert [int(value) for (value,) in finding.suspects] == [4, 5, 6, 7, 8, 9]
    for count, suspects in ((48, ((4,),)), (47, ((4,), (5,)))):  # only so many of the simplest are looked through
        one = case(clip(tensor((count + 1,))), [4] * count + [5])
        assert only(judged(Device({4: 0, 5: 0}), one)).suspects == suspects


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


def test_unwritten_elements_are_told_from_wrong_ones() -> None:
    class WritesTwo(Device):
        def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
            self.view(memory, region, tensor)[1:3] = values[1:3]

    missing, wrong = judged(WritesTwo({0: 1}), case()).findings
    assert (missing.clause, missing.title) == ("tensor.output.complete", "3 of 5 output elements were not written")
    assert details(missing) == {"element": "the first at index [0]"}
    assert missing.wrong == 3
    assert (wrong.clause, wrong.wrong, wrong.suspects) == ("tensor.position", 1, ((0,),))
    failing = only(judged(WritesTwo(fails=1), case()))  # the second dispatch, which tells the two apart, fails
    assert (failing.clause, failing.wrong) == ("tensor.position", 3)


def test_in_place_a_value_left_as_it_was_is_a_wrong_value() -> None:
    finding = only(judged(Device({100: 100}), case(placement=Placement(in_place=True))))
    assert (finding.clause, finding.wrong) == ("tensor.position", 1)


def test_nothing_is_wrong_or_judged_unless_said() -> None:
    assert Finding("clip.formula", "fail", case(), "title").wrong == 0
    assert Judgement().elements == 0


# ----------------------------------------------------------------------------------------- properties


def wrongly(expectation: str, one: Case, wrong: dict[Any, Any], **changes: Any) -> Finding:
    judgement = judged(Device(wrong, **changes), replace(one, expectation=expectation))
    assert judgement.clauses == (one.clause, *([one.layout_clause] if one.layout_clause else []))
    return only(judgement)


def test_idempotence_is_looked_at() -> None:
    finding = wrongly("idempotent", case(), {3: 2})
    assert (finding.clause, finding.title) == ("clip.formula", "applied again to 3 it gives 2")
    assert details(finding) == {
        "input": "100 (0x64) at index [4]", "got": "3 (0x03)", "property": finding.title, "wrong": "1 of 5 elements",
    }  # fmt: skip
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
    one = case(clip(FLOAT), (np.nan, 2, 1, 0, -1), expectation="monotone")
    assert judged(Device(), one).findings == ()
    assert only(judged(Device({1: np.nan}), one)).title == "input 0.0 gives 0.0, the larger input 1.0 gives NaN"
    nothing = case(clip(FLOAT), [np.nan], expectation="monotone")
    assert judged(Device(), nothing).findings == ()


def test_oddness_is_looked_at() -> None:
    one = case(rounding(FLOAT), (2.5, 1, 0, 7, np.inf), clause="round.odd")
    finding = wrongly("odd", one, {2.5: 3})
    assert finding.title == "input 2.5 gives 3.0, input -2.5 gives -2.0"
    assert finding.wrong == 1


def test_the_range_is_looked_at() -> None:
    wild = clip(ScaleBias=ScaleBias(-1, 0))
    values = (-2, -1, 0, 1, 2)
    assert judged(Device(), case(wild, values, expectation="contained")).findings == ()
    for given in (4, -3, 127, -128):
        finding = wrongly("contained", case(wild, values), {1: given})
        assert finding.title == f"input 1 gives {given}, outside -2 to 3"
    for given in (3, -2):
        assert judged(Device({1: given}), case(wild, values, expectation="contained")).findings == ()
    finding = wrongly("contained", case(clip(FLOAT, Min=f32(-1.5), Max=f32(2.5))), {0: 2.75, 3: np.nan})
    assert finding.title == "input 0.0 gives 2.75, outside -1.5 to 2.5"
    assert finding.wrong == 1
    finding = wrongly("contained", case(clip(FLOAT, Min=f32(-1.5), Max=f32(2.5))), {0: -2})
    assert finding.title == "input 0.0 gives -2.0, outside -1.5 to 2.5"


def test_the_range_is_as_wide_as_any_acceptable_bound() -> None:
    half = tensor((5,), DataType.FLOAT16)
    for attributes, wrong in (({"Min": f32(0.1)}, {}), ({"Max": f32(70000)}, {}), ({"Max": f32(70000)}, {3: 65504})):
        one = case(clip(half, **attributes), (-np.inf, np.inf, 0, 3, 100), expectation="contained")
        assert judged(Device(wrong), one).findings == ()
    one = case(threshold(half, Min=f32(0.1)), (-np.inf, np.inf, 0, 3, 100), expectation="contained")
    below, above = np.float16(0.1), np.nextafter(np.float16(0.1), np.float16(1))
    for given in (below, above):
        assert judged(Device({0: given}), one).findings == ()
    rounds = case(rounding(half), (-np.inf, 0, 1, 2, np.inf), expectation="contained")
    assert judged(Device(), rounds).findings == ()


def test_clip_and_threshold_are_compared() -> None:
    class ClipsWrongly(Device):
        def clip(self, x: Array, low: Any, high: Any) -> Array:
            return np.where(x == 3, 2, super().clip(x, low, high)).astype(x.dtype)

    one = case(
        clip(Max=f32(127), ScaleBias=ScaleBias(1, 1)), (-100, -3, 2, 5, 100), expectation="threshold equivalence"
    )
    device = ClipsWrongly()
    finding = only(judged(device, one))
    assert finding.title == "CLIP gives 2, THRESHOLD 3"
    assert device.created[1] == threshold(ScaleBias=ScaleBias(1, 1))


def test_a_layout_is_compared_with_the_packed_one() -> None:
    class WrongOnStrides(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return y if operator.input.strides is None else np.where(x == 3, 2, y).astype(y.dtype)

    one = case(clip(tensor((1, 5), strides=(9, 2))), expectation="plain layout")
    device = WrongOnStrides()
    judgement = judged(device, one)
    assert only(judgement).clause == "tensor.position"
    assert only(judgement).title == "input 3 gives 2 here and 3 in a packed tensor"
    assert device.created[1].input == tensor((5,))
    assert len(judgement.executions) == 2
    assert only(judged(WrongOnStrides(), replace(one, layout_clause=None))).clause == "clip.formula"


@pytest.mark.parametrize(
    "data_type, level, sizes",
    [(DataType.INT8, "5.0", (7,)), (DataType.INT8, "2.1", (1, 1, 1, 7)), (DataType.INT64, "3.0", (7,)),
     (DataType.FLOAT64, "5.0", (7,)), (DataType.FLOAT32, "1.0", (1, 1, 1, 7))],
)  # fmt: skip
def test_the_plain_tensor_has_the_lowest_rank_there_is(data_type: DataType, level: str, sizes: tuple[int, ...]) -> None:
    strided = case(clip(tensor((2, 3), data_type, strides=(9, 2))), expectation="idempotent",
                   placement=Placement(in_place=True))  # fmt: skip
    found = plain(bench(Device(level=level)), strided, Values.of([1], data_type), 7)
    assert found.operator == clip(tensor(sizes, data_type))
    assert (found.layout_clause, found.expectation, found.placement) == (None, "idempotent", Placement())


def test_one_value_is_taken_from_the_limits() -> None:
    one = case(clip(Min=f32(np.nan)), (-128, 127, 0, 3, 1), expectation="one value")
    finding = only(judged(Device({3: 2}), one))
    assert finding.title == "input 3 gives 2, though the limits of the type show Min = 0"
    execution = judged(Device(), one).executions[0]
    for attributes, casts in (
        ({"Min": f32(np.nan)}, {"Min": 0}), ({"Max": f32(1e9)}, {"Max": 127}), ({"Min": f32(1e9)}, {"Min": 127}),
        ({"Min": f32(-1e9), "Max": f32(1e9)}, {"Min": -128, "Max": 127}), ({}, {}),
    ):  # fmt: skip
        one = case(clip(**attributes), (3, -128, 127, 0, 1), expectation="one value")
        execution = judged(Device(), one).executions[0]
        for strict in (False, True):
            oracle, taken = adopted_oracle(bench(Device(), strict=strict), one, execution)
            assert taken == casts
            assert oracle.latitudes == oracle.law.latitudes(one.data_type, strict=strict)


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
    assert same_values(np.array([1, 2]), np.array([1, 3])).tolist() == [True, False]


# ---------------------------------------------------------------------------------------------- state


def test_a_kernel_is_asked_again_in_four_ways() -> None:
    device = Device()
    judgement = judged(device, case(expectation="again"))
    first, *streams = device.inputs
    values = [-100, -2, 0, 3, 100]
    assert first == values
    assert streams == [values, values[::-1], [100, *values[:-1]], values]
    assert set(judgement.clauses) == {"tensor.position", "clip.formula", *MEMORY_CLAUSES}
    assert (judgement.elements, len(judgement.executions)) == (20, 4)
    default, moved, in_place, output_first = device.bindings[1:]
    assert default == device.bindings[0]
    assert moved["InputTensor"].offset == 1040
    assert moved["OutputTensor"].offset == 1040 + 16 + 48
    assert in_place["InputTensor"] == in_place["OutputTensor"]
    assert output_first["OutputTensor"].offset < output_first["InputTensor"].offset
    assert device.created == [clip(), clip()]
    device = Device()
    judged(device, case(clip(tensor((10,))), range(9), expectation="again"))
    assert device.inputs[3] == [7, 8, 0, 0, 1, 2, 3, 4, 5, 6]
    device = Device()
    judged(device, case(clip(tensor((4,))), [2, 1], expectation="again"))
    assert device.inputs[3] == [1, 2, 1, 2]
    assert judged(Device(), replace(case(), values=Values.bulk(DataType.INT8, 5), expectation="again")).findings == ()


@pytest.mark.parametrize("at", [2, 3, 4, 5])
def test_state_between_dispatches_is_the_state_clauses(at: int) -> None:
    one = case(expectation="again")
    finding = only(judged(Device(spoils=(at,)), one))
    assert (finding.clause, finding.outcome, finding.case, finding.suspects) == ("tensor.position", "fail", one, ())
    finding = only(judged(Device(spoils=(at,)), replace(one, layout_clause=None)))
    assert finding.clause == "clip.formula"
    assert judged(Device(spoils=(6,)), one).findings == ()


def test_only_the_first_finding_of_several_is_told() -> None:
    finding = only(judged(Device(spoils=(3, 4, 5)), case(expectation="again")))
    assert finding.title.startswith("input 100 gives 1")
    alone = judged(Device({0: 1}), case(expectation="again"))
    assert len(alone.executions) == 1
    assert only(alone).case.expectation == "oracle"


def test_a_kernel_that_is_refused_the_second_time_is_told() -> None:
    class Once(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if self.created:
                raise InvalidArgument("one kernel was enough")
            return super().create(operator)

    finding = only(judged(Once(), case(expectation="again")))
    assert (finding.outcome, details(finding)) == ("fail", {"said": "one kernel was enough"})


def neighbours(operator: OperatorDesc) -> list[OperatorDesc]:
    device = Device()
    judged(device, case(operator, (-2, 0, 1, 3, 5), expectation="beside others"))
    return [other for other in device.created if other != operator]


def test_neighbours_are_all_that_the_tensors_allow() -> None:
    double = ScaleBias(2, 1)
    low, high = f32(3), f32(7)
    assert neighbours(clip()) == [
        clip(Min=low, Max=high), clip(Min=low, Max=high, ScaleBias=double),
        threshold(Min=f32(2)), threshold(Min=f32(2), ScaleBias=double),
    ]  # fmt: skip
    low, high = f32(2), f32(6)
    modes = TABLES.operator("ROUND").attribute("RoundingMode").enumerators  # type: ignore[union-attr]
    clips = [clip(FLOAT, Min=low, Max=high), clip(FLOAT, Min=low, Max=high, ScaleBias=double)]
    thresholds = [threshold(FLOAT, Min=low), threshold(FLOAT, Min=low, ScaleBias=double)]
    rounds = [rounding(FLOAT, mode) for mode in (modes[-1], *modes[:-1])]
    found = neighbours(clip(FLOAT))
    assert len(found) == 7
    assert sorted(map(repr, found)) == sorted(map(repr, [*clips, *thresholds, *rounds]))
    assert sorted(map(repr, neighbours(rounding(FLOAT)))) == sorted(
        map(repr, [*clips, *thresholds, *(one for one in rounds if one != rounding(FLOAT))])
    )


def test_a_kernel_is_asked_among_others_in_both_directions_and_alone_again() -> None:
    device = Device()
    one = case(expectation="beside others")
    judgement = judged(device, one)
    assert set(judgement.clauses) == {"tensor.position", *MEMORY_CLAUSES, "clip.formula"}
    assert (judgement.elements, len(judgement.executions)) == (55, 11)
    among = device.dispatched[-11:-1]
    assert among[:5] == among[:4:-1]
    assert among[2] == among[7] == device.dispatched[-1] == clip()
    assert device.closed[-1] == clip()
    assert clip() not in device.closed[-5:-1]


@pytest.mark.parametrize("back", range(1, 12))
def test_state_between_kernels_is_the_state_clauses(back: int) -> None:
    device = Device()
    one = case(values=(-2, 0, 1, 3, 5), expectation="beside others")
    judged(device, one)
    at = len(device.dispatched) - back + 1
    finding = only(judged(Device(spoils=(at,)), one))
    wrong = device.dispatched[at - 1]
    assert (finding.clause, finding.suspects) == ("tensor.position", ())
    assert replace(finding.case, operator=clip(), clause="clip.formula", beside=()) == one
    assert finding.case.operator == wrong, "the data shown belong to the kernel that is wrong"
    assert finding.case.beside == tuple(device.dispatched[-11:-6])


def test_a_kernel_that_is_wrong_alone_is_not_asked_among_others() -> None:
    device = Device({0: 1})
    finding = only(judged(device, case(expectation="beside others")))
    assert finding.case.expectation == "oracle"
    assert len(device.dispatched) == 1


def test_without_a_state_clause_the_values_clause_is_checked() -> None:
    judgement = judged(Device(), case(layout_clause=None, expectation="beside others"))
    assert set(judgement.clauses) == {"clip.formula", *MEMORY_CLAUSES}


def test_a_neighbour_that_is_wrong_by_itself_is_another_clauses_business() -> None:
    closed = []

    class ThresholdsWrongly(Device):
        def threshold(self, x: Array, low: Any) -> Array:
            return np.zeros_like(x)

        def close(self) -> None:
            closed.append(self)

    assert judged(ThresholdsWrongly(), case(expectation="beside others")).findings == ()
    assert len(closed) == 4  # a fresh device for each of the two neighbours, each time it was wrong


def test_a_neighbour_that_is_refused_beside_others_is_told() -> None:
    class OneOfAKind(Device):
        """Refuses a second description while a kernel lives."""

        def create(self, operator: OperatorDesc) -> Kernel:
            if len(self.created) > len(self.closed):
                raise InvalidArgument("one kernel at a time")
            return super().create(operator)

    finding = only(judged(OneOfAKind(), case(expectation="beside others")))
    assert finding.outcome == "fail"
    assert details(finding) == {"said": "one kernel at a time"}


def test_a_neighbour_that_is_refused_on_its_own_too_is_another_clauses_business() -> None:
    class WithoutScaleBias(Device):
        """Refuses ScaleBias, which a neighbour has, always."""

        def create(self, operator: OperatorDesc) -> Kernel:
            if operator.attributes.get("ScaleBias") is not None:
                raise InvalidArgument("no ScaleBias")
            return super().create(operator)

    assert judged(WithoutScaleBias(), case(expectation="beside others")).findings == ()
    without = judged(WithoutScaleBias(), case(expectation="beside others")).executions
    assert len(without) < len(judged(Device(), case(expectation="beside others")).executions)
