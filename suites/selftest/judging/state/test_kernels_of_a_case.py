"""State: what is reported of kernels that a case names, and of kernels that could not be had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument, NotSupported
from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.expectations import EXPECTATIONS, judge_case
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.scripted import TABLES, Device, details, f32, judged, only, threshold

OTHER = clip(Min=f32(0))


class Unsupporting(Device):
    """Its backend can express no kernel, or none after the first."""

    def __init__(self, after: int = 0) -> None:
        super().__init__()
        self.after = after

    def create(self, operator: OperatorDesc) -> Kernel:
        """Nothing."""
        if len(self.created) >= self.after:
            raise NotSupported("no such kernel")
        return super().create(operator)


@pytest.mark.parametrize("expectation", sorted({*EXPECTATIONS} - {"refused", "either"}))
def test_where_nothing_could_be_dispatched_no_clause_counts_as_checked(expectation: str) -> None:
    """Refused by an implementation whose level does not oblige it; not expressed by a backend."""
    later = case(clip(tensor(data_type=DataType.INT64)), expectation=expectation)
    judgement = judged(Device(level="3.0"), later)
    assert (judgement.refused, judgement.findings, judgement.clauses) == (True, (), ())
    judgement = judged(Unsupporting(), case(expectation=expectation))
    assert (judgement.unsupported, judgement.findings, judgement.executions) == ("no such kernel", (), ())


def test_a_second_kernel_that_cannot_be_had_leaves_a_refusal_unjudged_and_the_first_closed() -> None:
    device = Unsupporting(after=1)
    judgement = judged(device, case(expectation="after a refusal"))
    assert (judgement.unsupported, device.dispatched, device.closed) == ("no such kernel", [], [clip()])


@pytest.mark.parametrize("first", ["not supported", "refused"])
def test_a_crash_while_the_second_kernel_is_made_is_reported_though_the_first_could_not_be_had(first: str) -> None:
    answers: list[Exception] = [
        NotSupported("no") if first == "not supported" else InvalidArgument("no"),
        OSError("no"),
    ]

    class Answering(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if answers:
                raise answers.pop(0)
            return super().create(operator)

        def __init__(self) -> None:
            super().__init__(level="3.0")

        def refuses(self, operator: OperatorDesc) -> str:
            return ""

    finding = only(judged(Answering(), case(clip(tensor(data_type=DataType.INT64)), expectation="after a refusal")))
    assert (finding.outcome, finding.clause) == ("crash", "execution.independent")


def test_a_kernel_that_is_refused_after_the_first_refusal_is_reported_and_no_more_is_tried() -> None:
    class TwoAtMost(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator == clip() and len(self.created) == 2:
                raise InvalidArgument("two were enough")
            return super().create(operator)

    device = TwoAtMost()
    finding = only(judged(device, case(expectation="after a refusal")))
    assert (finding.clause, details(finding)["said"]) == ("execution.independent", "two were enough")
    assert len(device.dispatched) == 1


def test_a_description_that_is_too_deep_and_accepted_is_reported_and_nothing_is_judged_after_it() -> None:
    class Deep(Device):
        def refuses(self, operator: OperatorDesc) -> str:
            return "" if operator.input.rank > 8 else super().refuses(operator)

    judgement = judged(Deep(), case(expectation="after a refusal"))
    assert only(judgement).case.expectation == "refused"
    assert judgement.elements == 5 * (1 + 2 * 3), "once at first, and three kernels after each of two refusals"


# ----------------------------------------------------------------------------------- kernels that a case names


def named(*beside: OperatorDesc) -> Case:
    return replace(case(expectation="beside others"), beside=beside)


def test_every_dispatch_of_the_cases_own_kernel_is_judged_and_those_of_a_neighbour_once() -> None:
    device = Device()
    judgement = judged(device, named(OTHER, clip(), threshold()))
    assert device.dispatched == [OTHER, clip(), threshold(), threshold(), clip(), OTHER, clip()]
    assert (judgement.findings, judgement.elements, len(judgement.executions)) == ((), 15, 3)


@pytest.mark.parametrize(
    "at, operator",
    [
        (1, OTHER),
        (2, clip()),
        (3, None),
        (4, None),
        (5, clip()),
        (6, None),
        (7, clip()),
    ],
)
def test_a_kernel_of_the_same_operator_is_reported_where_neighbours_spoil_it(
    at: int, operator: OperatorDesc | None
) -> None:
    """Those of other operators are judged by their own tests, and a neighbour's second dispatch by none."""
    findings = judged(Device(spoils=(at,)), named(OTHER, clip(), threshold())).findings
    assert [finding.case.operator for finding in findings] == [operator] * (operator is not None)
    assert all(finding.clause == "tensor.position" for finding in findings)


def test_what_each_other_kernel_gave_is_stated_for_the_element_that_is_wrong() -> None:
    finding_details = details(only(judged(Device(spoils=(7,)), named(OTHER, clip(), threshold()))))
    kernels = [words for label, words in finding_details.items() if label.startswith("kernel ")]
    assert [words.rpartition(": ")[2] for words in kernels] == [
        "gives 0 (0x00) for this element",
        "this one, which is wrong",
        "gives -2 (0xfe) for this element",
    ]


def test_of_two_neighbours_that_are_wrong_the_first_is_reported() -> None:
    class OtherAlwaysWrong(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return np.where(x == 0, np.asarray(2, x.dtype), y) if operator == OTHER else y

    third = clip(Max=f32(2))
    by_itself = only(judged(OtherAlwaysWrong(spoils=(2,)), named(OTHER, third, clip())))
    assert (by_itself.case.operator, by_itself.case.expectation) == (OTHER, "oracle")
    beside_neighbours = only(judged(Device(spoils=(1, 2)), named(OTHER, third, clip())))
    assert (beside_neighbours.case.operator, beside_neighbours.case.beside) == (OTHER, (OTHER, third, clip()))


@pytest.mark.parametrize("at", range(1, 6))
def test_a_neighbours_second_dispatch_is_not_judged_where_it_stands_last_either(at: int) -> None:
    assert bool(judged(Device(spoils=(at,)), named(clip(), OTHER)).findings) is (at != 3)


def test_what_is_wrong_without_neighbours_as_well_is_reported_as_of_the_case_alone() -> None:
    finding = only(judged(Device({0: 1}), named(OTHER, clip())))
    assert (finding.clause, finding.case.beside) == ("tensor.position", (OTHER, clip())), "a fresh device is right"

    class AlwaysWrong(Device):
        def clip(self, x: Array, low: Any, high: Any) -> Array:
            return np.where(x == 0, np.asarray(1, x.dtype), super().clip(x, low, high))

    finding = only(judged(AlwaysWrong(), named(OTHER, clip())))
    assert (finding.case.expectation, finding.case.beside) == ("oracle", ())


@pytest.mark.parametrize(
    "expectation, numbers",
    [
        ("after another", [3]),
        ("beside another", [1, 3]),
        ("dispatched again", [3]),
        ("beside other tensors", [3, 6, 9, 12, 15, 24]),
    ],
)
def test_of_what_ran_before_a_living_neighbour_of_the_operator_is_judged_and_the_case_at_its_end(
    expectation: str, numbers: list[int]
) -> None:
    device = Device()
    judged(device, case(expectation=expectation))
    every = range(1, len(device.dispatched) + 1)
    assert [at for at in every if judged(Device(spoils=(at,)), case(expectation=expectation)).findings] == numbers


def test_a_kernel_is_asked_again_in_place_of_every_input_on_what_it_had_before() -> None:
    class Noting(Reference):
        level = LEVEL

        def dispatch_exact(self, operator: OperatorDesc, table: Any, memory: Array, bindings: Any) -> None:
            input_values = [
                self.read(memory, bindings[name], operator.tensors[name]).tolist() for name in operator.inputs
            ]
            noted.append((bindings, input_values))
            super().dispatch_exact(operator, table, memory, bindings)

    noted: list[tuple[Any, list[list[int]]]] = []
    tensors = {name: tensor((5,)) for name in ("ATensor", "BTensor", "OutputTensor")}
    operator = OperatorDesc("ELEMENT_WISE_MAX", tensors, {})
    values = Streams.of({"ATensor": [1, 2, 3, 4, 5], "BTensor": [5, -1, 9, 2, 6]}, operator)
    test_case = Case(operator, values, "max.formula", expectation="again")
    assert judge_case(Bench("noting", Noting(), {}, load_tables()), test_case).findings == ()
    aliased = [[name for name in operator.inputs if bound[name] == bound["OutputTensor"]] for bound, _ in noted]
    assert [names for names in aliased if names] == [["ATensor"], ["BTensor"]]
    assert aliased[-1] == ["BTensor"]
    (_, before), (_, last) = noted[-2:]
    assert last == before
    assert before != noted[-3][1]


def test_many_dispatches_take_turns_at_two_places_that_tensors_may_stand_at() -> None:
    device = Device()
    judged(device, case(expectation="many times"))
    places = [bound["InputTensor"].offset for bound in device.bindings[1:]]
    assert places == [512, 1040] * 17
    assert {bound["OutputTensor"].offset % 16 for bound in device.bindings} == {0}


class WrongInPlace(Reference):
    """Gives one more than it should in place."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
        super().dispatch(operator, memory, bindings)
        if bindings["InputTensor"] == bindings["OutputTensor"]:
            right = self.read(memory, bindings["OutputTensor"], operator.output)
            self.write(memory, bindings["OutputTensor"], operator.output, right + np.ones((), right.dtype))


class WrongAgain(WrongInPlace):
    """The same, but not at its first two dispatches: that is a matter of how often it ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ran = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
        self.ran += 1
        if self.ran > 2:
            super().dispatch(operator, memory, bindings)
        else:
            Reference.dispatch(self, operator, memory, bindings)


@pytest.mark.parametrize(("device", "clause"), [(WrongInPlace, "clip.in-place"), (WrongAgain, "execution.repeatable")])
def test_what_is_wrong_in_place_by_itself_is_not_reported_as_a_matter_of_repetition(
    device: type[Reference], clause: str
) -> None:
    """Of a kernel's dispatches the third is in place; the case itself is not."""
    asked = replace(case(expectation="again"), layout_clause="execution.repeatable")
    finding = only(judge_case(Bench(device.__name__, device(), {}, TABLES), asked))
    assert finding.clause == clause
    assert finding.case.placement.in_place == (clause == "clip.in-place")
