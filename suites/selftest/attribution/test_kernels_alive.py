"""Kernels that influence each other: the wrong one is shown with its own data, beside the fewest that suffice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from dmlcts.reports.documents.validation import schema
from dmlcts.reports.views.dxdispatch import model
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants import state
from dmlcts.suites.mutants.reference import Kernel, Reference
from dmlcts.suites.running.accounts import evidence
from dmlcts.suites.selftest.attribution.test_steadiness import transient
from dmlcts.suites.selftest.judging.test_judging import bench

FAULTS = [
    state.AttributesMissingInTheCacheKey,
    state.AttributesOfTheFirstKernel,
    state.AttributesOfTheLastKernel,
    state.MinSharedBetweenOperators,
    state.MinOfTheOtherOperator,
    state.ClosingReleasesOthers,
]


PADDED = TensorDesc(DataType.FLOAT32, (3, 4, 5, 2), (120, 30, 6, 3))
OTHER_TENSORS = [  # the fault, a tensor that shows it, and what is said of the kernel beside the wrong one
    (state.StridesOfTheLastKernel, PADDED, "on FLOAT32 [3, 4, 5, 2]"),
    (state.ElementCountOfTheLastKernel, PADDED, "on FLOAT32 [1, 1, 1, 1]"),
    (state.ElementCountOfTheLastKernel, TensorDesc(DataType.FLOAT32, (100,)), "on FLOAT32 [1]"),
    (state.DataTypeOfTheLastKernel, TensorDesc(DataType.FLOAT32, (100,)), "INT32 [100]"),
]


def among(operator: str = "CLIP", data_type: DataType = DataType.FLOAT32) -> Case:
    subject = Subject.on(load_tables().operator(operator), data_type, FeatureLevel("5.0"), 0, profile=QUICK)
    attributes = subject.revealing()
    return subject.case(
        subject.values_clause(attributes),
        subject.distinct(100),
        attributes,
        expectation="beside others",
        layout_clause="execution.independent",
    )


def least(fault: type[Reference], case: Case) -> Finding:
    assert not judge_case(bench(Reference()), case).findings, "the control"
    on = bench(fault())
    return smallest(on, judge_case(on, case).findings[0])


@pytest.mark.parametrize("fault", FAULTS)
def test_the_pair_that_suffices_is_named_and_shows_it_by_itself(fault: type[Reference]) -> None:
    finding = least(fault, among())
    assert finding.clause == "execution.independent"
    assert len(finding.case.beside) == 2
    assert finding.case.operator in finding.case.beside
    (other,) = [operator for operator in finding.case.beside if operator != finding.case.operator]
    assert finding.title.endswith(f" beside {other.name}")
    assert finding.case.operator.input.element_count == 1
    again = judge_case(bench(fault()), Case.from_json(finding.case.to_json())).findings
    assert [finding.clause for finding in again] == ["execution.independent"]
    assert not judge_case(bench(Reference()), finding.case).findings


@pytest.mark.parametrize("fault, tensor, text", OTHER_TENSORS)
def test_a_kernel_on_other_tensors_is_named_where_it_is_at_fault(
    fault: type[Reference], tensor: TensorDesc, text: str
) -> None:
    case = replace(among(), expectation="beside other tensors")
    tensors = dict.fromkeys(case.operator.tensors, tensor)
    case = replace(case, operator=OperatorDesc(case.operator.name, tensors, case.operator.attributes))
    assert not judge_case(bench(Reference()), case).findings, "the control"
    assert not judge_case(bench(fault()), replace(case, expectation="beside others")).findings, "none of the others"
    (finding,) = judge_case(bench(fault()), case).findings
    assert finding.clause == "execution.independent"
    assert text in dict(finding.details)["kernel 1"]
    small = smallest(bench(fault()), finding)
    assert (small.clause, small.case.operator.output.element_count <= 2) == ("execution.independent", True)
    again = judge_case(bench(fault()), Case.from_json(small.case.to_json())).findings
    assert [finding.clause for finding in again] == ["execution.independent"]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operator, data_type", [("ROUND", DataType.FLOAT32), ("CLIP", DataType.INT8)])
def test_the_data_shown_belong_to_the_kernel_that_is_wrong(
    fault: type[Reference], operator: str, data_type: DataType
) -> None:
    on = bench(fault())
    findings = judge_case(on, among(operator, data_type)).findings
    if not findings:
        pytest.skip("no kernel beside this one has a fault")
    finding = smallest(on, findings[0])
    value = finding.case.values.first.array(1)
    report = evidence(finding)
    acceptance = on.vector_oracle(finding.case.operator).acceptance(value)
    got = value.dtype.type(report["got"].split()[0]) if value.dtype.kind == "f" else int(report["got"].split()[0])
    assert not acceptance.admits(np.array([got], value.dtype)).any()
    assert float(report["input"].split()[0]) == float(value[0])
    names = [report[f"kernel {number}"] for number in (1, 2)]
    assert sum("this one, which is wrong" in name for name in names) == 1
    assert sum("for this element" in name for name in names) == 1
    mine = next(name for name in names if "this one" in name)
    assert mine.startswith(finding.case.operator.name)


def test_a_kernel_that_is_wrong_by_itself_is_no_neighbours_doing() -> None:
    finding = least(state.MinSharedBetweenOperators, among())

    class AlwaysWrong(Reference):
        def compute(self, operator: Any, x: Any) -> Any:
            return super().compute(operator, x) + 1

    assert [item.clause for item in judge_case(bench(AlwaysWrong()), finding.case).findings] == [
        "execution.independent"
    ]
    assert smallest(bench(AlwaysWrong()), judge_case(bench(AlwaysWrong()), finding.case).findings[0]).clause != (
        "execution.independent"
    )


def test_a_neighbour_that_is_wrong_when_it_is_dispatched_again_is_no_other_kernels_doing() -> None:
    class ErrsAgain(Reference):
        """A kernel with a Min of 2 gives zeros from its second dispatch on."""

        class Second(Kernel):
            times = 0

            def dispatch(self, memory: Any, bindings: Any) -> None:
                super().dispatch(memory, bindings)
                self.times += 1
                if self.times > 1 and self.operator.attributes.get("Min") == 2:
                    output = self.operator.output
                    self.device.write(memory, bindings[self.operator.output_name], output, np.zeros(output.sizes))

        def create(self, operator: OperatorDesc) -> Kernel:
            super().create(operator)
            return self.Second(self, operator)

    finding = least(ErrsAgain, among())
    assert (finding.clause, finding.case.expectation, finding.case.beside) == ("execution.repeatable", "again", ())
    assert judge_case(bench(ErrsAgain()), finding.case).findings, "it can be replayed"


@pytest.mark.parametrize("period", [2, 3, 7, 11, 61])
def test_what_goes_wrong_by_chance_is_no_other_kernels_doing(period: int) -> None:
    planted = transient(period)
    on = bench(planted())
    case = among()
    findings = next(seen for _ in range(60) if (seen := judge_case(on, case).findings))
    finding = smallest(on, findings[0])
    assert finding.clause == "execution.repeatable"


@pytest.mark.parametrize("fault", [state.MinSharedBetweenOperators, state.AttributesMissingInTheCacheKey])
def test_a_dxdispatch_model_holds_all_kernels(fault: type[Reference]) -> None:
    finding = least(fault, among())
    written = model(finding.case.to_json())
    jsonschema.Draft202012Validator(schema("dxdispatch-model")).validate(written)
    made = [written["dispatchables"][name]["type"].removeprefix("DML_OPERATOR_") for name in written["dispatchables"]]
    assert made == [operator.name for operator in finding.case.beside], "in the order in which they are made"
    dispatched = [command["dispatchable"] for command in written["commands"] if command["type"] == "dispatch"]
    assert sorted(dispatched) == sorted([*written["dispatchables"]] * 2)
    for place, command in enumerate(written["commands"]):
        if command["type"] == "print":
            assert written["commands"][place - 1]["dispatchable"] == "operator", "its own output is printed"


def test_a_dxdispatch_model_holds_what_ran_before() -> None:
    example, two = among("ROUND"), among("CLIP")
    case = Case(two.operator, two.values, two.clause, earlier=(example, example))
    written = model(case.to_json())
    jsonschema.Draft202012Validator(schema("dxdispatch-model")).validate(written)
    assert [command.get("dispatchable", "print") for command in written["commands"]] == [
        "before1.operator",
        "before2.operator",
        "operator",
        "print",
    ]
    for command in written["commands"]:
        assert set(command.get("bindings", {}).values()) <= set(written["resources"])


def test_a_case_among_others_takes_them_along() -> None:
    case = least(state.MinSharedBetweenOperators, among()).case
    (other,) = [operator for operator in case.beside if operator != case.operator]
    tensor = TensorDesc(DataType.FLOAT32, (1, 3))
    wider = OperatorDesc(case.operator.name, dict.fromkeys(case.operator.tensors, tensor), case.operator.attributes)
    moved = case.with_operator(wider)
    assert wider in moved.beside
    assert OperatorDesc(other.name, wider.tensors, other.attributes) in moved.beside
    assert judge_case(bench(state.MinSharedBetweenOperators()), moved).findings


def test_neighbours_without_the_case_itself_are_refused() -> None:
    written = least(state.MinSharedBetweenOperators, among()).case.to_json()
    alone = [kernel for kernel in written["beside"] if kernel["attributes"] != written["attributes"]]
    assert len(alone) == 1
    with pytest.raises(UsageError, match=r"beside does not hold the case's own kernel"):
        Case.from_json({**written, "beside": alone})
    with pytest.raises(UsageError, match="beside"):
        Case.from_json({**written, "beside": 5})
