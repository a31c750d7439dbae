"""A kernel is a function of what is bound to it: dispatched again, beside others, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.suites import lattice
from dmlcts.suites.arena import Arena
from dmlcts.suites.bench import Mishap, Refusal
from dmlcts.suites.cases import Case, Placement
from dmlcts.suites.checks import checks
from dmlcts.suites.expectations import Finding, Judgement, judge_execution
from dmlcts.suites.judge import Judge
from dmlcts.suites.subjects import Subject


def _dispatch(judge: Judge, kernel: Any, case: Case) -> list[Finding]:
    """One dispatch of an existing kernel, judged."""
    oracle = judge.bench.oracle(case.operator)
    arena = Arena.prepare(case)
    expected = oracle.expected(arena.x)
    run = judge.bench.run_on(kernel, case, arena, expected)
    if isinstance(run, Mishap):
        judgement = Judgement((Finding(case.clause, run.outcome, case, run.text),), (case.clause,))
    else:
        judgement = judge_execution(case, oracle, run, expected)
    judge.ledger.count(case, judgement)
    return list(judgement.findings)


def _variants(subject: Subject, clause: str) -> list[Case]:
    """Equal descriptions but for the attributes, whose results differ for most of the values."""
    inputs = lattice.inputs(subject.data_type)[:300]
    return [
        subject.case(subject.values_clause(attributes), inputs, attributes, layout_clause=clause)
        for attributes in subject.typical()
    ]


@checks("execution.repeatable")
def test_a_kernel_is_dispatched_again(subject: Subject, judge: Judge) -> None:
    """One kernel on other values, other offsets, in place and out of place, and on the first values again."""
    findings: list[Finding] = []
    base = _variants(subject, "execution.repeatable")[0]
    made = judge.bench.create(base.operator)
    if isinstance(made, (Refusal, Mishap)):
        judge(base)
        return
    inputs = base.values.array(len(base.values))
    streams = [inputs, inputs[::-1], np.roll(inputs, 11), inputs]
    placements = [Placement(), Placement(front=1040, gap=48), Placement(in_place=True), Placement(output_first=True)]
    for values, placement in zip(streams, placements, strict=True):
        again = subject.case(base.clause, values, dict(base.operator.attributes), layout_clause="execution.repeatable",
                             placement=placement)  # fmt: skip
        findings += _dispatch(judge, made, again)
    closed = judge.bench.closed(made)
    if closed is not None:
        findings.append(Finding(base.clause, closed.outcome, base, closed.text))
    if findings:
        judge.fail(findings)


@checks("execution.independent")
def test_kernels_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """Kernels with other attributes are created first and dispatched in turn, in both orders."""
    findings: list[Finding] = []
    cases = _variants(subject, "execution.independent")
    made = []
    for case in cases:
        kernel = judge.bench.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            judge(case)
            return
        made.append((kernel, case))
    for kernel, case in [*made, *reversed(made), *made]:
        findings += _dispatch(judge, kernel, case)
    for kernel, case in made:
        closed = judge.bench.closed(kernel)
        if closed is not None:
            findings.append(Finding(case.clause, closed.outcome, case, closed.text))
    if findings:
        judge.fail(findings)
