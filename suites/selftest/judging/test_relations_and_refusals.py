"""Relations of several operators, and refusals: which operator and which clause are named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import NotSupported
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Judgement
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.scripted import Device, f32, judged, only

TABLES = load_tables()


class Right(Reference):
    """The reference, one more than is right where an operator's second operand is such."""

    level = LEVEL
    wrong: Mapping[str, int] | None = None

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The results."""
        y = super().compute_exact(operator, inputs)
        divisor = (self.wrong or {}).get(operator.name.removeprefix("ELEMENT_WISE_"))
        return y if divisor is None else np.where(inputs[1] == divisor, y + 1, y)


def remainders(device: Reference) -> Judgement:
    """What DIVIDE(a, b) * b + MODULUS_TRUNCATE(a, b) == a is judged to be."""
    kind = TensorDesc(DataType.INT32, (4,))
    operator = OperatorDesc("ELEMENT_WISE_DIVIDE", {"ATensor": kind, "BTensor": kind, "OutputTensor": kind}, {})
    values = Streams.of({"ATensor": [7, 9, 8, 5], "BTensor": [2, 2, 3, 4]}, operator)
    test_case = Case(operator, values, "divide.remainder", expectation="stated relation")
    return judge_case(Bench("x", device, {}, TABLES), test_case)


@pytest.mark.parametrize(
    "wrong, expected",
    [
        ({"MODULUS_TRUNCATE": 2}, ("ELEMENT_WISE_MODULUS_TRUNCATE", "modulus-truncate.formula", 2)),
        ({"MODULUS_TRUNCATE": 2, "DIVIDE": 3}, ("ELEMENT_WISE_MODULUS_TRUNCATE", "modulus-truncate.formula", 2)),
        ({"DIVIDE": 2}, ("ELEMENT_WISE_DIVIDE", "divide.remainder", 2)),
    ],
)
def test_the_operator_that_gave_what_it_may_not_is_reported_for_its_own_elements(
    wrong: dict[str, int], expected: tuple[str, str, int]
) -> None:
    device = Right()
    device.wrong = wrong
    judgement = remainders(device)
    finding = only(judgement)
    assert (finding.case.operator.name, finding.clause, finding.wrong) == expected
    assert judgement.clauses == ("divide.remainder",)
    assert "; MODULUS_TRUNCATE gives " in finding.title


def stated(name: str, clause: str, a: list[int], b: list[int], device: Reference) -> Mapping[str, str]:
    """The details of the only finding on a relation of an operator of two INT32 inputs."""
    kind = TensorDesc(DataType.INT32, (len(a),))
    tensors = {"ATensor": kind, "BTensor": kind, "OutputTensor": kind}
    operator = OperatorDesc(f"ELEMENT_WISE_{name}", tensors, {})
    values = Streams.of({"ATensor": a, "BTensor": b}, operator)
    test_case = Case(operator, values, clause, expectation="stated relation")
    return dict(only(judge_case(Bench("x", device, {}, TABLES), test_case)).details)


def test_the_input_that_is_shown_is_what_the_relation_gave_to_the_operator() -> None:
    """MAX(a, a) == a is not about the case's own b; of MAX(a, b) == MAX(b, a) the case's own dispatch is shown."""
    device = Right()
    device.wrong = {"MAX": 16777217}
    details = stated("MAX", "max.idempotent", [5, 16777217], [0, 0], device)
    assert details["input"] == "ATensor 16777217 (0x01000001), BTensor 16777217 (0x01000001) at index [1]"
    assert details["got"] == "16777218 (0x01000002)"
    details = stated("MAX", "max.commutative", [16777217], [3], device)
    assert details["input"] == "ATensor 16777217 (0x01000001), BTensor 3 (0x00000003) at index [0]"
    assert details["got"] == "16777217 (0x01000001)"


def test_every_dispatch_of_a_relation_that_holds_is_given_back() -> None:
    judgement = remainders(Right())
    assert (judgement.findings, judgement.clauses, judgement.elements) == ((), ("divide.remainder",), 4)
    assert [run.output.tolist() for run in judgement.executions] == [[3, 4, 2, 1], [3, 4, 2, 1], [1, 1, 2, 1]]


@pytest.mark.parametrize("step", ["create", "dispatch_exact"])
def test_a_relation_ends_where_another_operator_crashes(step: str) -> None:
    def crash(self: Reference, operator: OperatorDesc, *rest: Any) -> Any:
        if operator.name == "ELEMENT_WISE_MODULUS_TRUNCATE":
            raise OSError("no remainders")
        return getattr(Right, step)(self, operator, *rest)

    finding = only(remainders(type("Crashing", (Right,), {step: crash})()))
    assert (finding.outcome, finding.case.operator.name) == ("crash", "ELEMENT_WISE_MODULUS_TRUNCATE")


# ------------------------------------------------------------------------------------------- refusals


def strided(name: str) -> OperatorDesc:
    packed, apart = tensor(), tensor(strides=(2,))
    tensors = {"InputTensor": packed, "OutputTensor": packed} | {name: apart}
    return OperatorDesc("ELEMENT_WISE_CLIP", tensors, clip().attributes)


@pytest.mark.parametrize("name", ["InputTensor", "OutputTensor"])
def test_strides_of_one_tensor_that_are_refused_break_their_clause_in_a_test_of_state(name: str) -> None:
    def refuse(operator: OperatorDesc) -> str:
        return "no strides" if any(tensor_desc.strides is not None for tensor_desc in operator.tensors.values()) else ""

    test_case = case(strided(name), layout_clause="execution.repeatable")
    assert only(judged(Device(refuse=refuse), test_case)).clause == "tensor.strides.output"


def test_a_packed_tensor_that_is_refused_breaks_no_clause_on_strides_in_a_test_of_state() -> None:
    test_case = case(clip(tensor((1, 5))), layout_clause="execution.repeatable")
    refusing = Device(refuse=lambda operator: "no two dimensions" if operator.input.rank == 2 else "")
    assert only(judged(refusing, test_case)).clause == "clip.support.level-3-0"


@pytest.mark.parametrize(
    "low, high, clause",
    [
        (1 / 3, 70000.0, "clip.cast.float16-overflow"),
        (-70000.0, 1 / 3, "clip.cast.float16-overflow"),
        (1 / 3, 2.5, "clip.cast.float16"),
    ],
)
def test_of_two_refused_bounds_the_overflow_is_reported(low: float, high: float, clause: str) -> None:
    bounded = clip(tensor(data_type=DataType.FLOAT16), Min=f32(low), Max=f32(high))
    refusing = Device(refuse=lambda operator: "no such bounds" if operator.attributes == bounded.attributes else "")
    assert only(judged(refusing, case(bounded, (-2, 0, 1, 2, 3), layout_clause=None))).clause == clause


@pytest.mark.parametrize("expectation", ["oracle", "plain layout"])
def test_a_shape_that_a_backend_cannot_express_is_missing_for_the_clause_on_the_layout(expectation: str) -> None:
    class OneDimension(Device):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator.input.rank > 1:
                raise NotSupported("one dimension alone")
            return super().create(operator)

    judgement = judged(OneDimension(), case(clip(tensor((1, 5))), expectation=expectation))
    assert (judgement.clauses, judgement.unsupported) == (("tensor.position",), "one dimension alone")
    assert "clip.formula" in judgement.unreached
