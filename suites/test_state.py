"""A kernel is a function of what is bound to it: dispatched again, beside others, in any order."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import ScaleBias
from dmlcts.suites import lattice
from dmlcts.suites.checks import checks
from dmlcts.suites.judge import Judge
from dmlcts.suites.subjects import Subject


@checks("execution.repeatable")
def test_a_kernel_is_dispatched_again(subject: Subject, judge: Judge) -> None:
    """One kernel on other values, other offsets, in place and out of place, and on the first values again."""
    judge.all(
        subject.case(
            subject.values_clause(attributes), values, attributes,
            expectation="again", layout_clause="execution.repeatable",
        )
        for attributes in (subject.revealing(), subject.attributes())
        for values in (subject.distinct(300), lattice.inputs(subject.data_type)[:300])
    )  # fmt: skip


@checks("execution.independent")
def test_kernels_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """Beside kernels of other attributes and other operators, in both orders, and after those are closed."""
    sets = [subject.revealing(), subject.attributes()]
    if subject.table.has_scale_bias:
        sets.append({**subject.revealing(), "ScaleBias": ScaleBias(1.0, 0.0)})
    values = np.concatenate([subject.distinct(100), lattice.inputs(subject.data_type)])
    clause = "execution.independent"
    judge.all(
        subject.case(subject.values_clause(one), values, one, expectation="beside others", layout_clause=clause)
        for one in sets
    )
