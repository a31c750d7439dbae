"""State on the signatures that the other tests of state leave out in quick: kernels of one type may keep it.

One ordinary case of each kind, of few elements: dispatched again, beside other kernels, beside kernels on other
tensors, and around a refused description.
"""

from __future__ import annotations

import math

import pytest

from dmlcts.suites.cases.case import Case
from dmlcts.suites.conformance.tensors.describing import plane, rearranged
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_SIZES = (5, 9)


@checks("execution.repeatable", remaining=True)
def test_one_of_every_type_is_dispatched_again(subject: Subject, judge: Judge) -> None:
    """On other values, other offsets, in place and out of place, and on the first values again."""
    _judged(subject, judge, "execution.repeatable", "again")


@checks("execution.independent", remaining=True)
@pytest.mark.parametrize("expectation", ["beside others", "beside other tensors", "after a refusal"])
def test_one_of_every_type_beside_others(subject: Subject, judge: Judge, expectation: str) -> None:
    """Kernels of other attributes, other operators and other tensors are alive or were refused."""
    _judged(subject, judge, "execution.independent", expectation)


@checks("execution.repeatable")
def test_tensors_that_may_be_kept_in_another_order(subject: Subject, judge: Judge) -> None:
    """Broadcast, permuted and larger ones, dispatched again: a copy of one must not be used for other elements."""
    _rearranged(subject, judge)


@checks("execution.repeatable", remaining=True)
def test_tensors_of_every_type_that_may_be_kept_in_another_order(subject: Subject, judge: Judge) -> None:
    """The same on the signatures left out."""
    _rearranged(subject, judge)


def _rearranged(subject: Subject, judge: Judge) -> None:
    attributes, clause = subject.revealing(), "execution.repeatable"
    judge.all(
        Case(
            operator,
            subject.distinct(operator.output.element_count).streams,
            subject.values_clause(attributes),
            clause,
            "again",
        )
        for operator in rearranged(subject, attributes)
    )


def _judged(subject: Subject, judge: Judge, clause: str, expectation: str) -> None:
    attributes = subject.revealing()
    operator = subject.describe(plane(subject, *_SIZES), attributes)
    values = subject.distinct(math.prod(_SIZES)).streams
    judge(Case(operator, values, subject.values_clause(attributes), clause, expectation))
