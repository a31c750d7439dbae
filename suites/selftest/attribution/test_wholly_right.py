"""What a fault is said to need: without it the case is right by every clause, not only by the one that is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.running.accounts import evidence
from dmlcts.suites.running.replay import replay

TABLES = load_tables()


class TakenForPacked(Reference):
    """Reads and writes every tensor as if it were packed, where :meth:`packs` says so."""

    level = LEVEL

    def packs(self, bindings: Mapping[str, Region]) -> bool:
        return True

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        if self.packs(bindings):
            tensors = {name: TensorDesc(tensor.data_type, tensor.sizes) for name, tensor in operator.tensors.items()}
            operator = OperatorDesc(operator.name, tensors, operator.attributes)
        super().dispatch_exact(operator, table, memory, bindings)


class TakenForPackedInPlace(TakenForPacked):
    """The same in place alone."""

    def packs(self, bindings: Mapping[str, Region]) -> bool:
        return bindings["InputTensor"] == bindings["OutputTensor"]


class OddInTwoModes(Reference):
    """One mode is not odd; in the others 2.5 and -2.5 are off by :attr:`off`, alike."""

    off = 0

    def round(self, x: Array, mode: str) -> Array:
        right = super().round(x, mode)
        if mode == "TOWARD_INFINITY":
            return np.where(x == 2.5, np.asarray(7, x.dtype), right)
        return np.where(np.abs(x) == 2.5, right + np.sign(x) * self.off, right).astype(x.dtype)


class OddButWrongInTwoModes(OddInTwoModes):
    off = 4


def in_place() -> Case:
    tensor = TensorDesc(DataType.FLOAT32, (6,), (3,))
    operator = OperatorDesc("ELEMENT_WISE_SQRT", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None})
    values = Values.of([4, 9, 16, 25, 36, 49], DataType.FLOAT32)
    return Case(operator, values, "sqrt.accuracy", "sqrt.in-place", placement=Placement(in_place=True))


def odd() -> Case:
    tensor = TensorDesc(DataType.FLOAT32, (3,))
    operator = OperatorDesc(
        "ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor}, {"RoundingMode": "TOWARD_INFINITY"}
    )
    return Case(operator, Values.of([1, 2.5, 4], DataType.FLOAT32), "round.odd", expectation="odd")


def on(backend: Reference) -> Bench:
    return Bench("x", backend, {}, TABLES)


def least(backend: Reference, case: Case) -> Finding:
    """The finding as it is reported; nothing is wrong where nothing is planted."""
    control = Reference()
    control.level = LEVEL
    assert not judge_case(on(control), case).findings
    first = judge_case(on(backend), case).findings[0]
    return smallest(on(backend), first)


def out_of_place(case: Case) -> Case:
    return replace(case, placement=replace(case.placement, in_place=False))


def test_in_place_is_not_needed_by_what_breaks_another_clause_out_of_place() -> None:
    finding = least(TakenForPacked(), in_place())
    assert finding.case.placement.in_place
    assert {item.clause for item in judge_case(on(TakenForPacked()), out_of_place(finding.case)).findings}
    assert evidence(finding)["needs"] == "input strides (right with a packed input)"
    assert finding.clause == "tensor.strides.padded"


def test_in_place_is_needed_by_what_is_right_out_of_place() -> None:
    finding = least(TakenForPackedInPlace(), in_place())
    assert not judge_case(on(TakenForPackedInPlace()), out_of_place(finding.case)).findings
    assert evidence(finding)["needs"] == "input strides and in place (right with a packed input; right out of place)"
    assert finding.clause == "sqrt.in-place"


def test_a_relation_that_holds_between_wrong_values_makes_no_case_right() -> None:
    finding = least(OddButWrongInTwoModes(), odd())
    assert (finding.clause, finding.title) == ("round.odd", "input 2.5 gives 7.0, input -2.5 gives -3.0")
    assert "needs" not in evidence(finding)
    text = evidence(least(OddInTwoModes(), odd()))["needs"]
    assert text == "TOWARD_INFINITY (right with HALVES_TO_NEAREST_EVEN and TOWARD_ZERO)"


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (TakenForPacked, "input strides (right with a packed input)"),
        (TakenForPackedInPlace, "input strides and in place (right with a packed input; right out of place)"),
    ],
)
def test_a_replay_states_what_the_case_needs_on_the_backend_that_it_is_replayed_on(
    backend: type[TakenForPacked], text: str
) -> None:
    case = least(TakenForPacked(), in_place()).case
    assert f"  needs        {text}" in replay(on(backend()), case, "x", needs=True).text.splitlines()
    assert "  needs " not in replay(on(backend()), case, "x").text
