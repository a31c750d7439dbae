"""A fault of an activation is reported as such, and one of the sum under the sum's clause, whichever test meets it."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.approximate import activations, arithmetic
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.activations.fused import ADD1, LEVEL, TABLES

RELU = OperatorDesc("ACTIVATION_RELU", {})


@pytest.mark.parametrize(
    ("device", "clause", "needs"),
    [
        (activations.ReluIgnored, "add1.activation.relu", ("activation",)),  # type: ignore[attr-defined]
        (arithmetic.Add1TwoOff, "add1.accuracy", ()),  # type: ignore[attr-defined]
    ],
)
def test_which_clause_a_wrong_value_breaks(device: type[Reference], clause: str, needs: tuple[str, ...]) -> None:
    subject = Subject.on(ADD1, DataType.FLOAT32, LEVEL)
    attributes = subject.attributes(FusedActivation=RELU)
    values = subject.distinct(40).each(lambda array: np.where(np.arange(array.size) % 2, -array, array))
    bench = Bench("broken", device(), {}, TABLES)
    case: Case = subject.case("add1.activation.relu", values, attributes)
    (finding, *_) = judge_case(bench, case).findings
    least = smallest(bench, finding)
    assert (least.clause, least.needs) == (clause, needs)
    assert (least.case.operator.activation is None) == (not needs)
    if needs:
        assert dict(least.details)["needs"] == "ACTIVATION_RELU (right without an activation)"
