"""A description that had to be refused still has to be refused once its case was made smaller."""

from __future__ import annotations

import pytest

from dmlcts.specs import DataType, TensorDesc
from dmlcts.specs.rules import unconditional_violations
from dmlcts.suites.attribution.faults import Faults
from dmlcts.suites.attribution.needs import needed_as_it_is
from dmlcts.suites.attribution.shrink import asks_the_same
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.descriptions import AcceptsEverything
from dmlcts.suites.selftest.descriptions import clip
from dmlcts.suites.selftest.judging.test_judging import bench

TYPE = DataType.FLOAT32


REFUSED = {
    "tensor.elements.maximum": clip(TensorDesc(TYPE, (1, 1 << 16, 1 << 16))),
    "tensor.rank.minimum": clip(TensorDesc(TYPE, (), None, 4)),
    "tensor.rank.maximum": clip(TensorDesc(TYPE, (2, 3, 1, 1, 2, 1, 1, 1, 5))),
    "tensor.size.zero": clip(TensorDesc(TYPE, (3, 0, 5), None, 4)),
    "tensor.total-size.minimum": clip(TensorDesc(TYPE, (3, 5), None, 56)),
    "clip.constraint.data-type": clip(TensorDesc(TYPE, (3, 5)), TensorDesc(DataType.INT32, (3, 5))),
    "clip.constraint.dimension-count": clip(TensorDesc(TYPE, (3, 5)), TensorDesc(TYPE, (1, 3, 5))),
    "clip.constraint.sizes": clip(TensorDesc(TYPE, (3, 5)), TensorDesc(TYPE, (5, 3))),
}


@pytest.mark.parametrize("clause", REFUSED)
def test_the_case_that_is_kept_breaks_the_rule_of_its_clause(clause: str) -> None:
    on = bench(AcceptsEverything())
    case = Case(REFUSED[clause], Values.of([2.0], TYPE), clause, None, "refused")
    (finding,) = judge_case(on, case).findings
    finding = Faults(on).reported(finding)
    assert clause in {
        unconditional_violation.clause
        for unconditional_violation in unconditional_violations(finding.case.operator, on.tables)
    }
    assert "needs" not in dict(finding.details), "a description that is legal without a condition says nothing of it"
    assert not needed_as_it_is(on, finding).needs


def test_what_keeps_breaking_the_rule_is_made_smaller() -> None:
    on = bench(AcceptsEverything())
    case = Case(REFUSED["tensor.rank.maximum"], Values.of([2.0], TYPE), "tensor.rank.maximum", None, "refused")
    (finding,) = judge_case(on, case).findings
    assert Faults(on).reported(finding).case.operator.output.sizes == (1,) * 9


def test_a_case_of_another_expectation_may_become_any_other() -> None:
    on = bench(AcceptsEverything())
    legal = Case(clip(TensorDesc(TYPE, (3, 5))), Values.of([2.0], TYPE), "clip.formula", None, "accepted")
    assert asks_the_same(on, legal)
