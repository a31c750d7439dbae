"""Which kernels a case's own is put beside, of all operators' tables, what only those make wrong, and what is refused
between two of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument, NotSupported
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation.neighbouring_kernels import (
    _by_attributes,
    _in_turn,
    _number_of,
    _takes,
    mismatched,
    neighbours,
    two_neighbours,
)
from dmlcts.suites.mutants.reference import Array, Kernel
from dmlcts.suites.selftest.descriptions import case, clip, described
from dmlcts.suites.selftest.judging.scripted import Device, details, judged, only, threshold
from dmlcts.suites.selftest.judging.state.test_state import AlwaysWrong

TABLES = load_tables()
BENCH = Bench("planted", Device(), {}, TABLES)
LENGTHS = range(1, 61)
FLOAT32, UINT8 = DataType.FLOAT32, DataType.UINT8
ALIKE = {"CLIP1", "THRESHOLD"}


def case_on(name: str, *sizes: int, data_type: DataType = FLOAT32, **attributes: Any) -> Case:
    """A case of an operator of one input."""
    return case(described(name, TensorDesc(data_type, sizes), **{"ScaleBias": None, **attributes}), (1, 2))


def clips(*sizes: int, data_type: DataType = FLOAT32) -> Case:
    return case_on("CLIP", *sizes, data_type=data_type, Min=np.float32(-2), Max=np.float32(3))


def names(operators: list[OperatorDesc]) -> set[str]:
    return {TABLES.operator(operator.name).short_name for operator in operators}


def test_six_other_operators_stand_beside_those_with_its_attributes_always_and_the_rest_in_turn() -> None:
    """ScaleBias, which most have, makes none alike."""
    seen: Counter[str] = Counter()
    for count in LENGTHS:
        operator_names = names(neighbours(BENCH, clips(count)))
        assert len(operator_names) == 7
        seen.update(operator_names)
    assert {name for name, times in seen.items() if times == len(LENGTHS)} == {"CLIP", *ALIKE}
    assert len(seen) == 29, "every operator with a FLOAT32 input and output"


def test_only_what_the_level_obliges_stands_beside() -> None:
    operators = neighbours(BENCH, clips(5, data_type=DataType.FLOAT64))
    assert names(operators) == {"BIT_NOT", "IDENTITY"}, "CLIP itself is not there on FLOAT64"
    assert all(BENCH.obliged(operator) for operator in operators)
    assert len(names(neighbours(BENCH, clips(5, data_type=UINT8)))) == 7, "the control"


def test_of_many_with_its_attributes_three_come_first_and_the_others_have_their_turn() -> None:
    """As where a third party's tables hold a dozen operators with one attribute."""
    threshold, identity = TABLES.operator("THRESHOLD"), TABLES.operator("IDENTITY")
    copies = [threshold.model_copy(update={"operator": f"ELEMENT_WISE_OWN{number}"}) for number in range(5)]
    clip1 = TABLES.operator("CLIP1")  # two of CLIP's attributes
    firsts: Counter[str] = Counter()
    for count in LENGTHS:
        others = _by_attributes(TABLES.operator("CLIP"), [identity, *copies, clip1])
        operator_tables = _in_turn(others, _number_of(clips(count)))
        assert [table.operator for table in operator_tables[:3]] == [
            clip1.operator,
            copies[0].operator,
            copies[1].operator,
        ]
        assert sorted(table.operator for table in operator_tables[3:]) == sorted(
            operator_table.operator for operator_table in [identity, *copies[2:]]
        )
        firsts[operator_tables[3].operator] += 1
    assert len(firsts) == 4


def test_two_neighbours_are_of_the_operator_and_of_another_with_its_attributes_or_any() -> None:
    others: Counter[str] = Counter()
    for count in LENGTHS:
        own, other = two_neighbours(BENCH, clips(count))
        assert own.name == "ELEMENT_WISE_CLIP"
        assert own.attributes["ScaleBias"] == ScaleBias(2, 1)
        others.update(names([other]))
    assert "CLIP" not in others
    alike = sum(others[name] for name in ALIKE)
    assert len(LENGTHS) / 5 < alike < len(LENGTHS) / 2, "two of six"
    assert len(others) > 10


def test_of_an_operator_with_several_variants_one_is_taken() -> None:
    mode = TABLES.operator("ROUND").attribute("RoundingMode")
    assert mode is not None
    test_case = case_on("ROUND", 5, RoundingMode=mode.enumerators[0])
    assert [neighbour.name for neighbour in two_neighbours(BENCH, test_case)].count("ELEMENT_WISE_ROUND") == 1


@pytest.mark.parametrize(
    "present, takes",
    [
        (("InputTensor", "ScaleTensor", "OutputTensor"), True),
        (("InputTensor", "ScaleTensor", "ZeroPointTensor", "OutputTensor"), True),
        (("InputTensor", "OutputTensor"), False),
        (("InputTensor", "ZeroPointTensor", "OutputTensor"), False),
        (("InputTensor", "ScaleTensor", "BTensor", "OutputTensor"), False),
    ],
)
def test_an_operator_takes_tensors_of_its_names_without_those_that_may_be_absent(
    present: tuple[str, ...], takes: bool
) -> None:
    assert _takes(TABLES.operator("QUANTIZE_LINEAR"), present) is takes


def test_what_is_refused_has_other_attributes_and_four_more_elements_along_the_last_dimension() -> None:
    test_case = clips(2, 3, 4)
    odd = mismatched(BENCH, test_case)
    assert (odd.output.sizes, odd.output.total_size_in_bytes) == ((2, 3, 8), 192)
    assert odd.input == test_case.operator.input
    assert odd.attributes == {"ScaleBias": ScaleBias(2, 1), "Min": np.float32(2), "Max": np.float32(6)}


def test_where_sizes_need_not_be_equal_too_few_bytes_are_refused() -> None:
    free = TABLES.operator("CLIP").model_copy(update={"constraints": ()})
    tables = replace(TABLES, operators={**TABLES.operators, free.operator: free})
    odd = mismatched(Bench("planted", Device(), {}, tables), clips(2, 3, 4))
    assert (odd.output.sizes, odd.output.total_size_in_bytes) == ((2, 3, 8), 4)


BESIDE = case(expectation="beside other tensors")
IN_PLACE = Placement(in_place=True)


class SpoiledBy(Device):
    """The case's kernel is wrong while a kernel lives whose description fits, and only then."""

    def __init__(self, fits: Callable[[OperatorDesc], bool], **more: Any) -> None:
        super().__init__(**more)
        self.fits = fits

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
        alive = [
            description
            for description in self.created
            if self.created.count(description) > self.closed.count(description)
        ]
        spoiled = operator == clip() and any(self.fits(description) for description in alive if description != clip())
        self.spoils = (len(self.dispatched) + 1,) if spoiled else ()
        super().dispatch(operator, memory, bindings)


def kinds() -> list[OperatorDesc]:
    """The other tensors, in their order."""
    device = Device()
    assert judged(device, BESIDE).findings == ()
    return list(dict.fromkeys(operator for operator in device.created if operator != clip()))


def test_each_kind_of_other_tensors_stands_on_both_sides_of_the_kernel_and_ran_before_it() -> None:
    device = Device()
    judgement = judged(device, BESIDE)
    operators, near = kinds()[:-4], kinds()[-4:]
    assert len(operators) >= 4
    assert device.created == [
        made for group in [*([operator] for operator in operators), near] for made in (*group, clip(), *group)
    ]
    assert device.dispatched == [
        ran for group in [*([operator] for operator in operators), near] for ran in (*group, *group, clip())
    ]
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))
    assert (judgement.elements, len(judgement.executions)) == (5 * (len(operators) + 1), len(operators) + 1)
    assert "execution.independent" in judgement.clauses


def test_those_that_differ_in_one_respect_stand_beside_it_together_and_are_reported_one_by_one_where_one_suffices() -> (
    None
):
    """The strides of the input, those of the output, one element for all, and the total sizes."""
    near = kinds()[-4:]
    strides = [(operator.input.strides, operator.output.strides) for operator in near]
    assert strides == [((2,), None), (None, (2,)), ((0,), None), (None, None)]
    assert near[3].output.total_size_in_bytes > clip().output.total_size_in_bytes
    for guilty in near:
        finding = only(judged(SpoiledBy(lambda operator, guilty=guilty: operator == guilty), BESIDE))  # type: ignore[misc]
        assert (finding.clause, finding.case) == ("execution.independent", BESIDE)
        assert [label for label, _ in finding.details if label.startswith("kernel")] == ["kernel 1"]


def test_what_it_takes_all_of_them_for_is_reported_with_all() -> None:
    class Four(SpoiledBy):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Any) -> None:
            alive = {
                description
                for description in self.created
                if self.created.count(description) > self.closed.count(description)
            }
            self.fits = lambda _: len(alive) > 4
            super().dispatch(operator, memory, bindings)

    finding = only(judged(Four(lambda _: True), BESIDE))
    ran = [label for label, _ in finding.details if label.startswith("kernel")]
    assert ran == [f"kernel {number}" for number in (1, 2, 3, 4)]
    assert judged(Four(lambda _: True), replace(BESIDE, placement=IN_PLACE)).findings == (), "not tried in place"


@pytest.mark.parametrize("number", range(4))
def test_what_one_kind_makes_wrong_is_reported_with_it_and_no_other_is_tried(number: int) -> None:
    guilty = kinds()[number]
    device = SpoiledBy(lambda operator: operator == guilty)
    finding = only(judged(device, BESIDE))
    assert (finding.clause, finding.outcome, finding.case) == ("execution.independent", "fail", BESIDE)
    ran = {label: detail for label, detail in finding.details if label.startswith("kernel")}
    assert list(ran) == ["kernel 1"], "both kernels have one description"
    assert ran["kernel 1"].endswith(": ran before")
    assert list(dict.fromkeys(operator for operator in device.created if operator != clip())) == kinds()[: number + 1]
    assert sorted(map(repr, device.closed)) == sorted(map(repr, device.created))


def test_other_tensors_that_cannot_be_had_are_left_out_and_the_kernel_is_judged() -> None:
    def refuses(operator: OperatorDesc) -> str:
        return "" if operator == clip() else "no other tensors"

    device = Device(refuse=refuses)
    judgement = judged(device, BESIDE)
    assert judgement.findings == ()
    assert set(device.created) == {clip()}
    assert len(judgement.executions) == len(kinds()[:-4]) + 1
    assert only(judged(AlwaysWrong(refuse=refuses), BESIDE)).case.expectation == "oracle"


def test_where_nothing_else_is_obliged_the_kernel_is_judged_alone() -> None:
    class ClaimsNothing(Device):
        @property
        def info(self) -> Any:
            return replace(super().info, data_types={"ELEMENT_WISE_CLIP": ()})

    device = ClaimsNothing()
    judgement = judged(device, BESIDE)
    assert (judgement.findings, device.created, device.closed) == ((), [clip()], [clip()])
    assert len(judgement.executions) == 1


def test_of_named_neighbours_only_the_case_s_own_kernel_must_be_had() -> None:
    def without(name: OperatorDesc) -> Device:
        class Cannot(Device):
            def create(self, operator: OperatorDesc) -> Kernel:
                if operator == name:
                    raise NotSupported("no way to say that")
                return super().create(operator)

        return Cannot()

    named = case(expectation="beside others", beside=(threshold(), clip()))
    lacking = without(threshold())
    assert judged(lacking, named).findings == ()
    assert lacking.dispatched == [clip()] * 3
    lacking = without(clip())
    judgement = judged(lacking, named)
    assert (judgement.findings, judgement.unsupported) == ((), "no way to say that")
    assert lacking.dispatched == []
    assert lacking.closed == lacking.created
    assert lacking.created[0] == threshold(), "then it is tried in other sizes"


def test_named_neighbours_are_reported_with_what_each_kernel_gave() -> None:
    named = case(expectation="beside others", beside=(threshold(), clip()))
    finding_details = details(only(judged(SpoiledBy(lambda operator: operator == threshold()), named)))
    assert finding_details["kernel 1"].startswith("ELEMENT_WISE_THRESHOLD")
    assert ": gives -2" in finding_details["kernel 1"]
    assert finding_details["kernel 2"].endswith(": this one, which is wrong")
    wrong = only(judged(AlwaysWrong(), named))
    assert (wrong.case.beside, wrong.case.expectation) == ((), "oracle"), "wrong without neighbours too"


def test_a_neighbour_that_never_closes_once_it_has_run_is_another_clauses_business() -> None:
    class ClosesUnused(Device):
        """A THRESHOLD kernel closes as long as it has not run."""

        def create(self, operator: OperatorDesc) -> Kernel:
            kernel = super().create(operator)
            usual = kernel.close

            def close() -> None:
                if operator.name == threshold().name and any(
                    description.name == operator.name for description in self.dispatched
                ):
                    raise OSError("closing fails")
                usual()

            kernel.close = close  # type: ignore[method-assign]  # of this kernel
            return kernel

    assert judged(ClosesUnused(), case(expectation="beside another")).findings == ()


def test_a_refusal_while_a_kernel_lives_is_reported_for_the_kernel_refused() -> None:
    class OneAtATime(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator == clip() and len(self.created) > len(self.closed):
                raise InvalidArgument("one at a time")
            return super().create(operator)

    device = OneAtATime()
    assert details(only(judged(device, BESIDE)))["said"] == "one at a time"
    assert device.closed == device.created


def test_neighbours_that_could_not_be_had_gave_nothing_to_report() -> None:
    absent = clip(Min=np.float32(1))
    named = case(expectation="beside others", beside=(threshold(), absent, clip()))
    device = SpoiledBy(
        lambda operator: operator == threshold(), refuse=lambda operator: "no" if operator == absent else ""
    )
    finding_details = details(only(judged(device, named)))
    assert ": gives " in finding_details["kernel 1"]
    assert ": gives " not in finding_details["kernel 2"]


@pytest.mark.parametrize("clause", ["execution.independent", "clip.formula"])
def test_a_case_of_no_layout_keeps_its_clause_among_others(clause: str) -> None:
    test_case = case(values=(-2, 0, 1, 3, 5), clause=clause, layout_clause=None, expectation="beside others")
    assert only(judged(SpoiledBy(lambda _: True), test_case)).case.clause == clause


@pytest.mark.parametrize("expectation, order", [("after another", "before"), ("beside another", "after")])
def test_others_are_closed_before_the_kernel_is_made_or_after_it_ran(expectation: str, order: str) -> None:
    events: list[tuple[str, OperatorDesc]] = []

    class Recording(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            events.append(("made", operator))
            kernel = super().create(operator)
            usual = kernel.close

            def close() -> None:
                events.append(("closed", operator))
                usual()

            kernel.close = close  # type: ignore[method-assign]  # of this kernel
            return kernel

    assert judged(Recording(), case(expectation=expectation)).findings == ()
    others = [index for index, (what, description) in enumerate(events) if what == "closed" and description != clip()]
    made = events.index(("made", clip()))
    assert len(others) == 2
    assert all(index < made for index in others) == (order == "before")


class WrongScaling(Device):
    """Whatever has a ScaleBias gives the last value of all, among any neighbours."""

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return np.full_like(x, x.reshape(-1)[-1])


@pytest.mark.parametrize("expectation", ["beside others", "beside another"])
def test_a_neighbour_of_the_same_operator_that_is_wrong_by_itself_is_reported_as_a_case_of_its_own(
    expectation: str,
) -> None:
    finding = only(judged(WrongScaling(), case(expectation=expectation)))
    assert (finding.clause, finding.case.clause) == ("clip.scale-bias.integer", "clip.scale-bias.integer")
    assert (finding.case.expectation, finding.case.beside) == ("oracle", ())
    assert finding.case.operator.attributes["ScaleBias"] is not None
    assert only(judged(WrongScaling(), finding.case)).clause == finding.clause, "it can be replayed"
    assert judged(Device(), finding.case).findings == ()


def test_each_kernel_of_named_neighbours_that_is_of_the_case_s_operator_is_judged() -> None:
    scaled, other = clip(ScaleBias=ScaleBias(2, 1)), clip(Min=np.float32(1))
    named = case(expectation="beside others", beside=(clip(), scaled, other, threshold()))
    assert only(judged(WrongScaling(), named)).case.operator == scaled, "wrong by itself"

    class Spoils(Device):
        """Another kernel of the case's operator is wrong where a THRESHOLD kernel lives."""

        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            if operator == other and threshold() in self.created:
                y.reshape(-1)[0] = 77
            return y

    finding = only(judged(Spoils(), named))
    assert (finding.clause, finding.case.operator) == ("tensor.position", other)
    assert finding.case.beside == named.beside
    assert only(judged(Spoils(), finding.case)).case == finding.case
    assert judged(Device(), named).findings == judged(Device(), finding.case).findings == ()


def test_a_kernel_that_ran_before_and_is_wrong_only_beside_neighbours_is_reported_with_them() -> None:
    own = two_neighbours(BENCH, BESIDE)[0]

    class Spoils(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            if operator == own and clip() in self.created:
                y.reshape(-1)[0] = 77
            return y

    finding = only(judged(Spoils(), case(expectation="beside another")))
    assert (finding.clause, finding.case.operator) == ("execution.independent", own)
    assert (finding.case.beside[:2], len(finding.case.beside)) == ((clip(), own), 3)
    assert only(judged(Spoils(), finding.case)).clause == "execution.independent"


def test_a_kernel_on_another_type_whose_bounds_no_page_casts_is_not_judged() -> None:
    class Wrong(Device):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return np.zeros_like(y) if operator.input.data_type is UINT8 else y

    test_case = replace(BESIDE, operator=clip(Min=np.float32(-100.5)))
    assert judged(Wrong(), test_case).findings == ()
