"""What "needs 12 elements" may say: the wrong element itself is still there where fewer come out right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.attribution.faults import Faults
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.judging.test_judging import bench

Places = Callable[[int], "slice | range | list[int]"]


def wrong_at(places: Places) -> type[Reference]:
    """An implementation of which the elements at some places are wrong, by how many there are."""

    class WrongThere(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x).copy()
            there = np.arange(y.size)[places(y.size)]  # type: ignore[index]  # what a list of places is
            y.reshape(-1)[there] ^= 1
            return y

    return WrongThere


def long(data_type: DataType = DataType.INT8, count: int = 60) -> Case:
    tensor = TensorDesc(data_type, (count,))
    operator = OperatorDesc(
        "ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor}, {"RoundingMode": "TOWARD_ZERO"}
    )
    return Case(operator, Values.of(np.arange(count) % 50, data_type), "round.toward-zero", "tensor.position")


def long_clip(data_type: DataType = DataType.INT8, count: int = 60) -> Case:
    tensor = TensorDesc(data_type, (count,))
    operator = OperatorDesc(
        "ELEMENT_WISE_CLIP",
        {"InputTensor": tensor, "OutputTensor": tensor},
        {"ScaleBias": None, "Min": np.float32(-100), "Max": np.float32(100)},
    )
    return Case(operator, Values.of(np.arange(count) % 50, data_type), "clip.formula", "tensor.position")


PLACES: dict[str, tuple[Places, str, str]] = {
    "one element": (lambda n: [11] if n > 11 else [], "element", "element 11 (right at the others)"),
    "all from one on": (lambda n: slice(11, None), "tail", "elements from 11 on (right before them)"),
    "some from one on": (lambda n: slice(11, None, 4), "elements", "element 11 and others after it (right before it)"),
    "the last of many": (lambda n: [n - 1] if n > 39 else [], "count", "40 elements (right with 39)"),
    "all of many": (lambda n: slice(0, n if n > 39 else 0), "count", "40 elements (right with 39)"),
    "the first of many": (lambda n: [0] if n > 39 else [], "count", "40 elements (right with 39)"),
    "the last of one number": (
        lambda n: [n - 1] if n in (29, 60) else [],
        "count",
        "29 elements (right with 28 and with 58)",
    ),
}


def reported(backend: type[Reference], case: Case) -> Finding:
    on = bench(backend())
    return smallest(on, judge_case(on, case).findings[0])


@pytest.mark.parametrize("name", PLACES)
def test_a_number_of_elements_is_needed_only_where_a_wrong_element_stays(name: str) -> None:
    places, factor, text = PLACES[name]
    finding = reported(wrong_at(places), long_clip())
    if name != "the last of one number":
        assert (finding.clause, finding.needs) == ("tensor.position", (factor,))
        assert dict(finding.details)["needs"] == text
        return
    assert finding.needs == ("count",)
    assert "29 elements" in dict(finding.details)["needs"] or "60 elements" in dict(finding.details)["needs"]


def test_a_known_element_is_recognised_on_another_type_and_another_one_is_not() -> None:
    def places(size: int) -> list[int]:
        return [11] if size > 11 else []

    on = bench(wrong_at(places)())
    faults = Faults(on)
    first, second = (
        faults.reported(judge_case(on, long_clip(literal)).findings[0]) for literal in (DataType.INT8, DataType.INT16)
    )
    assert first.needs == second.needs == ("element",)
    assert dict(first.details)["needs"] == dict(second.details)["needs"] == "element 11 (right at the others)"

    class AllOfSixteenBits(wrong_at(places)):  # type: ignore[misc]  # a class that is made
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            return y ^ 1 if operator.input.data_type is DataType.INT16 and y.size > 11 else y

    on = bench(AllOfSixteenBits())
    faults = Faults(on)
    first, second = (
        faults.reported(judge_case(on, long_clip(literal)).findings[0]) for literal in (DataType.INT8, DataType.INT16)
    )
    assert (first.needs, second.needs) == (("element",), ("count",)), "the control"
