"""One fault that many tests meet costs little after the first ones, and is reported once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.attribution.faults import Faults
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.layout import InputStridesIgnored
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.judging.test_judging import bench, f32

TYPES = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.UINT8, DataType.UINT16, DataType.UINT32)


def counting(backend: type[Reference]) -> Reference:
    """A device that counts its dispatches."""

    class Counting(backend):  # type: ignore[valid-type, misc]  # a class that is given
        dispatched = 0

        def dispatch(self, *value: object, **named: object) -> None:
            Counting.dispatched += 1
            super().dispatch(*value, **named)

    return Counting()


def dispatched(device: Reference) -> int:
    """How many dispatches a counting device has counted."""
    return int(vars(type(device))["dispatched"])


def strided(data_type: DataType, operator: str = "CLIP", last: int = 5) -> Case:
    sizes = (3, 2, last)
    tensors = {"InputTensor": TensorDesc(data_type, sizes, (40, 12, 2)), "OutputTensor": TensorDesc(data_type, sizes)}
    attributes = {"ScaleBias": ScaleBias(1, 0), "Min": f32(1)} | ({"Max": f32(100)} if operator == "CLIP" else {})
    described = OperatorDesc(f"ELEMENT_WISE_{operator}", tensors, attributes)
    return Case(
        described,
        Values.of(np.arange(2, 29), data_type),
        f"{operator.lower()}.formula",
        "tensor.strides.padded",
        placement=Placement(front=64),
    )


def test_what_is_known_is_recognised_on_other_types_and_operators() -> None:
    device = counting(InputStridesIgnored)
    on = bench(device)
    faults = Faults(on)
    costs = []
    for operator in ("CLIP", "THRESHOLD"):
        for data_type in TYPES:
            finding = judge_case(on, strided(data_type, operator)).findings[0]
            before = dispatched(device)
            finding = faults.reported(finding)
            costs.append(dispatched(device) - before)
            assert (finding.clause, finding.needs) == ("tensor.strides.padded", ("input strides",))
            assert (finding.case.data_type, finding.case.operator.name) == (data_type, f"ELEMENT_WISE_{operator}")
            assert finding.case.operator.input.element_count <= 3
            assert finding.case.operator.attributes["ScaleBias"] is None
            assert dict(finding.details)["needs"] == "input strides (right with a packed input)"
            assert judge_case(on, finding.case).findings[0].clause == finding.clause
    assert costs[0] > 20
    assert max(costs[1:]) <= 10, "the same again costs next to nothing"


class TwoFaults(InputStridesIgnored):
    """Strides ignored, and the last of more than twenty elements wrong."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        if y.size > 20:
            y.reshape(-1)[-1] ^= 1
        return y


def test_another_fault_is_not_taken_for_the_known_one() -> None:
    on = bench(TwoFaults())
    faults = Faults(on)
    first = faults.reported(judge_case(on, strided(DataType.INT8, last=2)).findings[0])
    assert first.needs == ("input strides",)
    tensor = TensorDesc(DataType.INT8, (25,))
    packed = strided(DataType.INT8).with_operator(
        OperatorDesc(
            "ELEMENT_WISE_CLIP",
            {"InputTensor": tensor, "OutputTensor": tensor},
            strided(DataType.INT8).operator.attributes,
        )
    )
    second = faults.reported(judge_case(on, replace(packed, layout_clause="tensor.position")).findings[0])
    assert (second.clause, second.needs) == ("tensor.position", ("count",))


def test_a_wrong_value_is_recognised_by_its_clause() -> None:
    class Wrong(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return super().compute(operator, x) ^ 1

    device = counting(Wrong)
    on = bench(device)
    faults = Faults(on)
    costs = []
    for data_type in TYPES:
        before = dispatched(device)
        finding = faults.reported(judge_case(on, strided(data_type)).findings[0])
        costs.append(dispatched(device) - before)
        assert (finding.clause, finding.case.operator.input.element_count) == ("clip.formula", 1)
        assert finding.case.data_type is data_type
    assert max(costs[1:]) <= 4


@pytest.mark.parametrize("of_a_clause, in_all, examined", [(2, 9, 2), (9, 3, 3), (9, 9, 6)])
def test_the_budget_is_kept(of_a_clause: int, in_all: int, examined: int) -> None:
    class WrongBeyond(Reference):
        """Wrong in another way for each type: nothing is recognised."""

        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            if y.size > 20 + TYPES.index(operator.input.data_type):
                y.reshape(-1)[-1] ^= 1
            return y

    on = bench(WrongBeyond())
    faults = Faults(on, of_a_clause, in_all)
    findings = [faults.reported(judge_case(on, strided(data_type)).findings[0]) for data_type in TYPES]
    assert sum(finding.case.operator.input.element_count < 30 for finding in findings) == examined
    assert all(finding.outcome == "fail" for finding in findings), "what is not examined is reported all the same"
    assert [UNEXAMINED in dict(finding.details) for finding in findings] == [False] * examined + [True] * (
        len(TYPES) - examined
    )


@pytest.mark.parametrize("budget", [0, 9])
def test_a_value_that_is_wrong_alone_accuses_no_layout_however_little_is_left(budget: int) -> None:
    class Wrong(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return super().compute(operator, x) ^ (operator.attributes.get("ScaleBias") is not None)

    device = counting(Wrong)
    on = bench(device)
    faults = Faults(on, budget, budget)
    costs = []
    for data_type in TYPES:
        case = replace(strided(data_type), clause="clip.scale-bias.integer")
        before = dispatched(device)
        finding = faults.reported(judge_case(on, case).findings[0])
        costs.append(dispatched(device) - before)
        assert (finding.clause, finding.needs) == ("clip.scale-bias.integer", ("scaling",))
        assert finding.case.operator.input.element_count == 1
        assert UNEXAMINED not in dict(finding.details)
    assert max(costs[1:]) <= 6, "the same again costs next to nothing"


@pytest.mark.parametrize("budget", [0, 9])
def test_a_value_that_is_wrong_without_scale_too_is_reported_under_the_formula_however_little_is_left(
    budget: int,
) -> None:
    class Wrong(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return super().compute(operator, x) ^ 1

    on = bench(Wrong())
    case = replace(strided(DataType.INT16), clause="clip.scale-bias.integer")
    finding = Faults(on, budget, budget).reported(judge_case(on, case).findings[0])
    assert (finding.clause, finding.needs) == ("clip.formula", ())
    assert finding.case.operator.attributes["ScaleBias"] is None


def test_a_refusal_is_as_it_is_however_little_is_left() -> None:
    class Refusing(Reference):
        def create(self, operator: OperatorDesc) -> object:
            raise type("InvalidArgument", (Exception,), {})("not yet")

    finding = judge_case(bench(Refusing()), strided(DataType.INT8)).findings[0]
    assert dict(finding.details)["said"] == "not yet"
    assert UNEXAMINED not in dict(Faults(bench(Refusing()), 0, 0).reported(finding).details)
    value = judge_case(bench(InputStridesIgnored()), strided(DataType.INT8)).findings[0]
    assert UNEXAMINED in dict(Faults(bench(InputStridesIgnored()), 0, 0).reported(value).details), "the control"
