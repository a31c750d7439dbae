"""State: kernels dispatched again, and among others; which clause a change of answers breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.generation.neighbouring_kernels import mismatched
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import MEMORY_CLAUSES
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.scripted import (
    FLOAT,
    TABLES,
    Device,
    details,
    f32,
    judged,
    only,
    rounding,
    threshold,
)


def test_a_kernel_is_asked_again_in_thirteen_ways() -> None:
    device = Device()
    judgement = judged(device, case(expectation="again"))
    first, *streams = device.inputs
    values = [-100, -2, 0, 3, 100]
    assert first == values
    little = [-100, -2, 3, 3, 100]  # of five results the middle one alone differs
    rolled, middle = [100, *values[:-1]], [-100, 3, 0, -2, 100]
    assert streams == [values, values[::-1], rolled, values[::-1], values, middle, values[::-1], *[values, little] * 3]
    assert set(judgement.clauses) == {"tensor.position", "clip.formula", *MEMORY_CLAUSES}
    assert (judgement.elements, len(judgement.executions)) == (65, 13)
    default, moved, in_place, back, output_first, *last = device.bindings[1:]
    assert [*last[:4], last[5], last[7]] == [output_first] * 6
    for name, bound in (("InputTensor", last[4]), ("OutputTensor", last[6])):
        assert [member for member in bound if bound[member] != output_first[member]] == [name], "it moves alone"
        assert bound[name].offset > max(region.end for region in output_first.values())
    assert default == back == device.bindings[0]
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


@pytest.mark.parametrize("at", range(2, 15))
def test_state_between_dispatches_is_the_state_clauses(at: int) -> None:
    test_case = case(expectation="again")
    finding = only(judged(Device(spoils=(at,)), test_case))
    assert (finding.clause, finding.outcome, finding.case, finding.suspects) == (
        "tensor.position",
        "fail",
        test_case,
        (),
    )
    finding = only(judged(Device(spoils=(at,)), replace(test_case, layout_clause=None)))
    assert finding.clause == "clip.formula"
    assert judged(Device(spoils=(15,)), test_case).findings == ()


def test_only_the_first_finding_of_several_is_reported() -> None:
    finding = only(judged(Device(spoils=(3, 4, 5)), case(expectation="again")))
    assert finding.title.startswith("input 100 gives 1")
    alone = judged(Device({0: 1}), case(expectation="again"))
    assert len(alone.executions) == 1
    assert only(alone).case.expectation == "oracle"


def test_a_kernel_that_is_refused_the_second_time_is_reported() -> None:
    class RunsOneTime(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if self.created:
                raise InvalidArgument("one kernel was enough")
            return super().create(operator)

    finding = only(judged(RunsOneTime(), case(expectation="again")))
    assert (finding.outcome, details(finding)) == ("fail", {"said": "one kernel was enough"})


def neighbours(operator: OperatorDesc) -> list[OperatorDesc]:
    device = Device()
    judged(device, case(operator, (-2, 0, 1, 3, 5), expectation="beside others"))
    return [other for other in device.created if other != operator]


def test_neighbours_are_all_that_the_tensors_allow() -> None:
    double = ScaleBias(2, 1)
    low, high = f32(3), f32(7)
    one_number, one_factor = (f32(2), f32(40)), (ScaleBias(2, 0), ScaleBias(1, 1))
    other_sign = ScaleBias(2, -1)
    assert neighbours(clip()) == [
        clip(Min=low, Max=high),
        clip(Min=low, Max=high, ScaleBias=double),
        clip(Min=one_number[0], Max=high),
        clip(Min=low, Max=one_number[1]),
        *(clip(Min=low, Max=high, ScaleBias=scale_bias) for scale_bias in one_factor),
        clip(Min=-low, Max=high),
        clip(Min=low, Max=high, ScaleBias=other_sign),
        threshold(Min=f32(2)),
        threshold(Min=f32(2), ScaleBias=double),
    ]
    low, high = f32(2), f32(6)
    modes = TABLES.operator("ROUND").attribute("RoundingMode").enumerators  # type: ignore[union-attr]
    clips = [clip(FLOAT, Min=low, Max=high), clip(FLOAT, Min=low, Max=high, ScaleBias=double)]
    thresholds = [threshold(FLOAT, Min=low), threshold(FLOAT, Min=low, ScaleBias=double)]
    rounds = [rounding(FLOAT, mode) for mode in (modes[-1], *modes[:-1])]
    operators = neighbours(clip(FLOAT))
    nearly = [
        clip(FLOAT, Min=f32(1), Max=high),
        clip(FLOAT, Min=low, Max=one_number[1]),
        *(clip(FLOAT, Min=low, Max=high, ScaleBias=scale_bias) for scale_bias in one_factor),
        clip(FLOAT, Min=-low, Max=high),
        clip(FLOAT, Min=low, Max=high * f32(1 + 2.0**-20)),
        *(
            clip(FLOAT, Min=low, Max=high, ScaleBias=scale_bias)
            for scale_bias in (other_sign, ScaleBias(2 + 2.0**-19, 1))
        ),
    ]
    assert len(operators) == 15
    assert sorted(map(repr, operators)) == sorted(map(repr, [*clips, *nearly, *thresholds, *rounds]))
    assert len(neighbours(clip(tensor((5,), strides=(2,))))) == 4, "of strided tensors those that differ in all"
    assert sorted(map(repr, neighbours(rounding(FLOAT)))) == sorted(
        map(repr, [*clips, *thresholds, *(operator for operator in rounds if operator != rounding(FLOAT))])
    )


def test_a_kernel_is_asked_among_others_in_both_directions_and_alone_again() -> None:
    device = Device()
    test_case = case(expectation="beside others")
    judgement = judged(device, test_case)
    assert set(judgement.clauses) == {"tensor.position", *MEMORY_CLAUSES, "clip.formula"}
    assert (judgement.elements, len(judgement.executions)) == (140, 28)
    among, turns = device.dispatched[-28:-4], device.dispatched[-4:-1]
    assert among[:12] == among[:11:-1]
    assert among[5] == among[11] == among[12] == among[18] == device.dispatched[-1] == clip()
    assert turns == [clip(), among[0], clip()], "by turns with another one"
    assert device.closed[-1] == clip()
    assert device.closed[-12:-1].count(clip()) == 1, "another one of the same description is closed before the end"


@pytest.mark.parametrize("back", range(1, 29))
def test_state_between_kernels_is_the_state_clauses(back: int) -> None:
    device = Device()
    test_case = case(values=(-2, 0, 1, 3, 5), expectation="beside others")
    judged(device, test_case)
    at = len(device.dispatched) - back + 1
    finding = only(judged(Device(spoils=(at,)), test_case))
    wrong = device.dispatched[at - 1]
    assert (finding.clause, finding.suspects) == ("tensor.position", ())
    assert replace(finding.case, operator=clip(), clause="clip.formula", beside=()) == test_case
    assert finding.case.operator == wrong, "the data shown belong to the kernel that is wrong"
    assert finding.case.beside == tuple(device.dispatched[-28:-16])


def test_a_kernel_that_is_wrong_alone_is_not_asked_among_others() -> None:
    device = Device({0: 1})
    finding = only(judged(device, case(expectation="beside others")))
    assert finding.case.expectation == "oracle"
    assert len(device.dispatched) == 1


def test_without_a_state_clause_the_values_clause_is_checked() -> None:
    judgement = judged(Device(), case(layout_clause=None, expectation="beside others"))
    assert set(judgement.clauses) == {"clip.formula", *MEMORY_CLAUSES}


def test_another_operator_that_is_wrong_by_itself_is_its_own_tests_business() -> None:
    closed = []

    class ThresholdsWrongly(Device):
        def threshold(self, x: Array, low: Any) -> Array:
            return np.zeros_like(x)

        def close(self) -> None:
            closed.append(self)

    assert judged(ThresholdsWrongly(), case(expectation="beside others")).findings == ()
    assert len(closed) == 2  # a fresh device for each of the two neighbours


def test_a_neighbour_that_is_refused_beside_others_is_reported() -> None:
    class OneOfAKind(Device):
        """Refuses a second description while a kernel lives."""

        def create(self, operator: OperatorDesc) -> Kernel:
            if len(self.created) > len(self.closed):
                raise InvalidArgument("one kernel at a time")
            return super().create(operator)

    finding = only(judged(OneOfAKind(), case(expectation="beside others")))
    assert finding.outcome == "fail"
    assert details(finding) == {"said": "one kernel at a time"}


def without_scale_bias(name: str) -> Device:
    """Refuses ScaleBias of an operator always."""

    class WithoutScaleBias(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator.attributes.get("ScaleBias") is not None and operator.name == name:
                raise InvalidArgument("no ScaleBias")
            return super().create(operator)

    return WithoutScaleBias()


@pytest.mark.parametrize("expectation", ["beside others", "beside another", "after another"])
def test_a_neighbour_of_the_same_operator_that_is_refused_on_its_own_too_is_reported_as_a_case_of_its_own(
    expectation: str,
) -> None:
    test_case = case(expectation=expectation)
    judgement = judged(without_scale_bias(clip().name), test_case)
    finding = only(judgement)
    assert (finding.clause, finding.outcome) == ("clip.scale-bias.integer", "fail")
    assert (finding.case.expectation, finding.case.beside) == ("oracle", ())
    assert finding.case.operator.attributes["ScaleBias"] == ScaleBias(2, 1)
    assert only(judged(without_scale_bias(clip().name), finding.case)).clause == finding.clause, "it can be replayed"
    assert 0 < len(judgement.executions) <= len(judged(Device(), test_case).executions)
    assert judged(without_scale_bias(threshold().name), test_case).findings == (), (
        "of another operator its own tests report"
    )


def test_a_second_kernel_of_the_same_description_is_one_of_the_others() -> None:
    twice = replace(case(expectation="beside others"), beside=(clip(), clip(), threshold()))
    device = Device()
    assert judged(device, twice).findings == ()
    assert (device.created, len(device.closed)) == ([clip(), clip(), threshold()], 3)
    assert device.dispatched == [clip(), clip(), threshold(), threshold(), clip(), clip(), clip()]
    for at in (1, 2, 5, 6, 7):
        assert judged(Device(spoils=(at,)), twice).findings != ()


@pytest.mark.parametrize("order", [(clip(), threshold()), (threshold(), clip())])
def test_of_kernels_that_a_case_names_its_own_must_not_be_refused(order: tuple[OperatorDesc, ...]) -> None:
    named = replace(case(expectation="beside others"), beside=order)
    without = Device(refuse=lambda operator: "no" if operator == threshold() else "")
    assert judged(without, named).findings == ()
    assert without.dispatched == [clip()] * 3
    refusing = Device(refuse=lambda operator: "never again" if operator == clip() else "")
    finding = only(judged(refusing, named))
    assert (finding.outcome, details(finding)) == ("fail", {"said": "never again"})
    assert sorted(map(repr, refusing.closed)) == sorted(map(repr, refusing.created))


def test_a_case_that_loses_what_set_it_apart_from_a_neighbour_keeps_one_of_the_two() -> None:
    scaled, plain = clip(ScaleBias=ScaleBias(2, 1)), clip()
    operators_alive = replace(case(scaled, expectation="beside others"), beside=(plain, scaled, threshold()))
    assert operators_alive.with_operator(plain).beside == (plain, threshold())
    assert judged(Device(), operators_alive.with_operator(plain)).findings == ()


@pytest.mark.parametrize("at", [2, 17, 35])
def test_a_kernel_that_errs_at_a_later_dispatch_is_not_repeatable(at: int) -> None:
    """One dispatch of another kernel comes first: the case alone."""
    test_case = case(expectation="many times", layout_clause="execution.repeatable")
    finding = only(judged(Device(spoils=(at,)), test_case))
    assert (finding.clause, finding.case) == ("execution.repeatable", test_case)
    assert judged(Device(spoils=(36,)), test_case).findings == ()
    device = Device()
    judged(device, test_case)
    assert (len(device.dispatched), len(device.created)) == (35, 2)
    assert len({tuple(values) for values in device.inputs}) == 5


class ErrsAgain(Device):
    """Each kernel is right at its first dispatch and wrong afterwards."""

    def create(self, operator: OperatorDesc) -> Kernel:
        device, times = self, [0]

        class Forgetful(Kernel):
            def dispatch(self, memory: Array, bindings: Any) -> None:
                times[0] += 1
                device.spoils = (len(device.dispatched) + 1,) if times[0] > 1 else ()
                super().dispatch(memory, bindings)

        return Forgetful(self, super().create(operator).operator)


def test_a_kernel_that_errs_when_dispatched_again_breaks_repeatability() -> None:
    finding = only(judged(ErrsAgain(), case(expectation="dispatched again")))
    assert (finding.clause, finding.outcome) == ("execution.repeatable", "fail")


def test_a_kernel_that_fails_to_close_after_it_was_dispatched_again_is_reported() -> None:
    assert only(judged(Device(closes=0), case(expectation="dispatched again"))).outcome == "crash"


def test_a_neighbour_whose_dispatch_fails_is_another_clauses_business() -> None:
    class ThresholdFails(Device):
        def threshold(self, x: Array, low: Any) -> Array:
            raise ZeroDivisionError("no thresholds")

    assert judged(ThresholdFails(), case(expectation="beside another")).findings == ()


def test_the_only_other_operator_on_equal_tensors_comes_beside_a_kernel() -> None:
    device = Device()
    judged(device, case(expectation="beside another"))
    assert threshold(Min=f32(2)) in device.dispatched


def test_a_device_that_was_opened_to_try_a_refused_neighbour_is_closed() -> None:
    closed = []

    class WithoutScaleBias(Device):
        def refuses(self, operator: OperatorDesc) -> str:
            return "no ScaleBias" if operator.attributes.get("ScaleBias") is not None else super().refuses(operator)

        def close(self) -> None:
            closed.append(self)

    judged(WithoutScaleBias(), case(expectation="beside others"))
    assert len(closed) == 5  # one for each of the five neighbours that have ScaleBias


class ThresholdCloses(Device):
    """Closing a THRESHOLD kernel fails, always or where the device has made one of another operator too."""

    always = True

    def create(self, operator: OperatorDesc) -> Kernel:
        kernel = super().create(operator)
        if operator.name == "ELEMENT_WISE_THRESHOLD":
            usual, device = kernel.close, self

            def close() -> None:
                if device.always or len({operator.name for operator in device.created}) > 1:
                    raise OSError("closing fails")
                usual()

            kernel.close = close  # type: ignore[method-assign]  # of this kernel
        return kernel


class ThresholdClosesAlone(ThresholdCloses):
    always = False


@pytest.mark.parametrize("expectation", ["after another", "beside another", "beside others"])
def test_a_neighbour_that_never_closes_is_another_clauses_business(expectation: str) -> None:
    assert judged(ThresholdCloses(), case(expectation=expectation)).findings == ()
    assert only(judged(ThresholdClosesAlone(), case(expectation=expectation))).outcome == "crash"


def test_a_kernel_of_named_neighbours_that_never_closes_is_another_clauses_business() -> None:
    test_case = case(expectation="beside others", beside=(threshold(), clip()))
    assert judged(ThresholdCloses(), test_case).findings == ()
    assert only(judged(ThresholdClosesAlone(), test_case)).outcome == "crash"


HISTORIES = ["dispatched again", "after another", "beside another"]


@pytest.mark.parametrize("expectation", HISTORIES)
def test_what_ran_before_ran_on_the_values_in_reverse_at_another_place(expectation: str) -> None:
    device = Device()
    judged(device, case(expectation=expectation))
    assert device.inputs[0] == [100, 3, 0, -2, -100]
    assert device.inputs[-1] == [-100, -2, 0, 3, 100]
    assert (device.bindings[0]["InputTensor"].offset, device.bindings[-1]["InputTensor"].offset) == (1040, 512)


def test_a_kernel_that_fails_before_it_is_judged_is_reported_and_closed() -> None:
    device = Device(fails=0)
    finding = only(judged(device, case(expectation="dispatched again")))
    assert (finding.outcome, "dispatching fails" in details(finding)["said"]) == ("crash", True)
    assert device.closed == device.created


@pytest.mark.parametrize("expectation", [*HISTORIES, "beside others", "beside other tensors"])
def test_where_the_kernel_is_refused_all_others_are_closed(expectation: str) -> None:
    device = Device(refuse=lambda operator: "never" if operator == clip() else "")
    assert details(only(judged(device, case(expectation=expectation)))) == {"said": "never"}
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))


class AlwaysWrong(Device):
    """Gives 1 for 0, on a fresh device too."""

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        return np.where(x == 0, 1, super().clip(x, low, high)).astype(x.dtype)


@pytest.mark.parametrize("expectation", HISTORIES)
def test_what_is_wrong_whatever_ran_before_is_reported_as_of_the_case_alone(expectation: str) -> None:
    finding = only(judged(AlwaysWrong(), case(expectation=expectation)))
    assert (finding.clause, finding.case.expectation) == ("tensor.position", "oracle")


class SpoiledByOthers(Device):
    """The case's kernel is wrong in value, and writes before its output, where a kernel of another description ran."""

    ended = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
        others = {repr(description) for description in self.dispatched} - {repr(clip())}
        self.spoils = (len(self.dispatched) + 1,) if operator == clip() and others else ()
        super().dispatch(operator, memory, bindings)
        if self.spoils:
            memory[bindings["OutputTensor"].offset - 1] ^= 255

    def close(self) -> None:
        type(self).ended += 1


@pytest.mark.parametrize("expectation", HISTORIES[1:])
def test_what_only_others_make_wrong_is_reported_once_with_each_of_them(expectation: str) -> None:
    SpoiledByOthers.ended = 0
    finding = only(judged(SpoiledByOthers(), case(expectation=expectation)))
    assert finding.clause == "execution.independent"
    ran = {label: detail for label, detail in finding.details if label.startswith("kernel")}
    assert list(ran) == ["kernel 1", "kernel 2"]
    assert [detail.split()[0] for detail in ran.values()] == ["ELEMENT_WISE_CLIP,", "ELEMENT_WISE_THRESHOLD,"]
    assert SpoiledByOthers.ended == 1, "the device that showed the case right by itself is closed"


@pytest.mark.parametrize("expectation", ["beside others", *HISTORIES])
def test_an_operator_whose_tensors_no_other_takes_has_no_neighbours(expectation: str) -> None:
    alone = replace(TABLES, operators={"ELEMENT_WISE_CLIP": TABLES.operator("ELEMENT_WISE_CLIP")})
    assert judge_case(Bench("alone", Device(), {}, alone), case(expectation=expectation)).findings == ()


def test_where_the_output_is_no_inputs_memory_a_kernel_is_asked_with_its_inputs_turned() -> None:
    class Comparing(Reference):
        level = LEVEL

        def dispatch_exact(self, operator: OperatorDesc, table: Any, memory: Array, bindings: Any) -> None:
            placed.append(bindings)
            super().dispatch_exact(operator, table, memory, bindings)

    placed: list[Any] = []
    numbers, truth = tensor((5,), DataType.FLOAT32), tensor((5,), DataType.UINT8)
    tensors = {"ATensor": numbers, "BTensor": numbers, "OutputTensor": truth}
    operator = OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", tensors, {})
    values = Values.of([1, 2, 3], DataType.FLOAT32)
    streams = Streams((("ATensor", values), ("BTensor", values)))
    test_case = Case(operator, streams, "logical-equals.formula", expectation="again")
    assert judge_case(Bench("comparing", Comparing(), {}, load_tables()), test_case).findings == ()
    assert [it["BTensor"].offset < it["ATensor"].offset for it in placed[1:]][:5] == [False, False, True, False, False]
    assert len(placed) == 1 + 7 + 3 + 2 * 3, "the values, all of whose results are alike, then each input changed"


def operators_alive(name: str) -> set[str]:
    """The other operators that come beside one, over thirty sizes."""

    class Noting(Reference):
        level = LEVEL

        def create(self, operator: OperatorDesc) -> Kernel:
            made.add(operator.name)
            return super().create(operator)

    made: set[str] = set()
    device = Bench("noting", Noting(), {}, load_tables())
    for count in range(1, 31):
        floats = tensor((count,), DataType.FLOAT32)
        attributes = clip().attributes if name == clip().name else {"ScaleBias": None}
        operator = replace(clip(floats), name=name, attributes=attributes)
        judge_case(device, case(operator, [1, 2], clause="tensor.position", expectation="beside another"))
    return made - {name}


def test_of_the_operators_that_share_no_attributes_with_one_each_has_its_turn() -> None:
    assert len(operators_alive("ELEMENT_WISE_ABS")) > 6


def test_of_the_operators_that_share_attributes_with_one_not_always_the_same_comes_beside_it() -> None:
    assert len(operators_alive("ELEMENT_WISE_CLIP")) > 3


class LeavesToTheNext(Device):
    """The attributes of a refused description are left to the kernel made after it."""

    left: Mapping[str, Any] = {}

    def create(self, operator: OperatorDesc) -> Kernel:
        try:
            kernel = super().create(operator)
        except InvalidArgument:
            self.left = operator.attributes
            raise
        if self.left:
            kernel.operator, self.left = replace(operator, attributes=self.left), {}
        return kernel


class LeavesToTheLast(Device):
    """The attributes of a refused description are left to the kernel made before it."""

    last: Kernel | None = None

    def create(self, operator: OperatorDesc) -> Kernel:
        try:
            self.last = super().create(operator)
        except InvalidArgument:
            if self.last is not None:
                self.last.operator = replace(self.last.operator, attributes=operator.attributes)
            raise
        return self.last


@pytest.mark.parametrize("leaves", [LeavesToTheNext, LeavesToTheLast])
def test_what_a_refused_description_leaves_behind_is_reported_with_it(leaves: type[Device]) -> None:
    test_case = case(values=(-2, 0, 1, 3, 5), expectation="after a refusal")
    finding = only(judged(leaves(), test_case))
    assert (finding.clause, finding.outcome, finding.case) == ("execution.independent", "fail", test_case)
    assert details(finding)["kernel 1"].endswith(": was refused")
    device = Device()
    judgement = judged(device, test_case)
    assert (judgement.findings, judgement.elements) == ((), 5 * (1 + 3 * 3))
    assert "execution.independent" in judgement.clauses
    assert (device.created, len(device.closed)) == ([clip()] * 5, 5)


def test_a_kernel_that_is_refused_only_after_a_refusal_is_reported() -> None:
    class NoMore(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if self.created and operator == clip():
                raise InvalidArgument("no more after a refusal")
            return super().create(operator)

    device = NoMore()
    finding = only(judged(device, case(expectation="after a refusal")))
    assert (finding.clause, finding.outcome) == ("execution.independent", "fail")
    assert details(finding)["said"] == "no more after a refusal"
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))


@pytest.mark.parametrize("answer", ["accepts", "crashes"])
def test_a_description_that_should_be_refused_and_is_accepted_breaks_its_own_constraint(answer: str) -> None:
    class Lenient(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator.input.sizes == operator.output.sizes:
                return super().create(operator)
            if answer == "crashes":
                raise OSError("no such sizes")
            return Kernel(self, operator)

    device = Lenient()
    findings = judged(device, case(expectation="after a refusal")).findings
    assert [finding.clause for finding in findings] == ["clip.constraint.sizes"] * (answer == "accepts")
    for finding in findings:
        assert finding.case.expectation == "refused"
        assert only(judged(Lenient(), finding.case)).clause == finding.clause, "it can be replayed"
        assert judged(Device(), finding.case).findings == ()
    assert len(device.created) == 3, "two before it, and one to be judged alone"
    assert device.closed == device.created
    wrong = only(judged(AlwaysWrong(), case(expectation="after a refusal")))
    assert (wrong.clause, wrong.case.expectation) == ("tensor.position", "oracle")


@pytest.mark.parametrize("name", sorted(load_tables().operators))
def test_a_mismatched_description_must_be_refused_and_has_other_attributes(name: str) -> None:
    tables = load_tables()
    subject = Subject.on(tables.operators[name], tables.operators[name].data_types[0], FeatureLevel(LEVEL))
    operator = subject.describe(subject.flat(3), subject.attributes())
    test_case = Case(operator, subject.distinct(3).streams, "execution.independent")
    odd = mismatched(Bench("none", Device(), {}, tables), test_case)
    assert violations(odd, FeatureLevel(LEVEL), tables) != ()
    changeable = [item for item in subject.table.attributes if item.type != FUSED]
    assert (odd.attributes != operator.attributes) == bool(changeable)
