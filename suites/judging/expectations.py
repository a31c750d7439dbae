"""Every expectation by its name in a case, and the judge of a case by it."""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.findings import Expectation, Judgement
from dmlcts.suites.judging.one_value import judge_one_value, judge_plain_layout
from dmlcts.suites.judging.outputs import judge_harmless, judge_oracle
from dmlcts.suites.judging.refusals import judge_accepted, judge_either, judge_refused
from dmlcts.suites.judging.relations import (
    judge_contained,
    judge_idempotent,
    judge_monotone,
    judge_odd,
    judge_stated_relation,
    judge_threshold_equivalence,
)
from dmlcts.suites.judging.state import (
    judge_after_another,
    judge_again,
    judge_beside_another,
    judge_beside_others,
    judge_dispatched_again,
)

EXPECTATIONS: Mapping[str, Expectation] = {
    "oracle": judge_oracle,
    "refused": judge_refused,
    "accepted": judge_accepted,
    "either": judge_either,
    "harmless": judge_harmless,
    "idempotent": judge_idempotent,
    "monotone": judge_monotone,
    "odd": judge_odd,
    "contained": judge_contained,
    "threshold equivalence": judge_threshold_equivalence,
    "stated relation": judge_stated_relation,
    "plain layout": judge_plain_layout,
    "one value": judge_one_value,
    "again": judge_again,
    "beside others": judge_beside_others,
    "dispatched again": judge_dispatched_again,
    "after another": judge_after_another,
    "beside another": judge_beside_another,
}


def judge_case(bench: Bench, case: Case) -> Judgement:
    """Judge ``case`` by the expectation it names, after what it says has to run before."""
    for earlier in case.earlier:
        judge_case(bench, earlier)
    bench.remember(case)
    return EXPECTATIONS[case.expectation](bench, case)
