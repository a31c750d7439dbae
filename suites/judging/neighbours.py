"""What is wrong among the kernels that a case's own is put beside: with one of them by itself, or only beside others.

Which they are is chosen in :mod:`dmlcts.suites.generation.neighbouring_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dmlcts.specs import OperatorDesc
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Refusal, Unsupported
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation.neighbouring_kernels import ordinary_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding, Judgement, is_mishap
from dmlcts.suites.judging.outputs import judge_dispatch, judge_oracle
from dmlcts.suites.judging.refusals import stride_clause

Made = list[tuple[Any, OperatorDesc]]
"""Kernels, or why there is none, with their descriptions."""

BESIDE_OTHER_TENSORS = "beside other tensors"
"""The expectation of a kernel between kernels on other tensors."""


def own_case(bench: Bench, case: Case, operator: OperatorDesc, values: Streams) -> Case:
    """A neighbour on a memory like the case's, as a case of its own: by its values or, with strides, by those."""
    subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
    strided = any(tensor.strides is not None for tensor in operator.tensors.values())
    layout_clause = stride_clause(operator) if strided else None
    clause = subject.scaled_values_clause(operator.attributes)
    return Case(operator, values, clause, layout_clause, placement=case.placement)


def judge_on_a_fresh_device(bench: Bench, case: Case) -> Judgement:
    """The case judged where nothing ran before it."""
    fresh = bench.fresh()
    try:
        return judge_oracle(fresh, case)
    finally:
        fresh.close()


def by_itself(bench: Bench, case: Case, own: Case) -> tuple[Finding, ...] | None:
    """What is wrong with a case's neighbour where nothing ran before it as well; ``None`` where nothing is.

    It is reported for kernels of the case's operator. What is wrong with another operator is left to its own tests, not
    reported again beside each that takes its tensors; and what stops a dispatch may do so at silent points alone.
    """
    findings = judge_on_a_fresh_device(bench, own).findings
    first_findings = findings[:1] if own.operator.name == case.operator.name else ()
    return tuple(finding for finding in first_findings if not is_mishap(finding)) if findings else None


def is_settled(alone: Judgement) -> bool:
    """Whether a case is wrong, refused or unsupported whatever its history."""
    return bool(alone.findings) or alone.refused or alone.unsupported is not None


def by_its_place(bench: Bench, case: Case) -> Judgement | None:
    """A dispatch of several as a case of its own, about its place; ``None`` where nothing is wrong then.

    What is wrong in place, or at an offset, by itself says nothing of how often a kernel ran.
    """
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    place_clause = subject.in_place_clause if case.placement.in_place else "binding.same-resource"
    own = replace(
        case,
        clause=subject.scaled_values_clause(case.operator.attributes),
        expectation="oracle",
        layout_clause=place_clause,
        recipe=None,
    )
    judgement = judge_on_a_fresh_device(bench, own)
    return judgement if judgement.findings else None


def with_own_faults(judgement: Judgement, faults: Sequence[Finding]) -> Judgement:
    """The judgement of a case among neighbours; where it is right, one fault that a neighbour has by itself."""
    return judgement if judgement.findings or not faults else replace(judgement, findings=tuple(faults[:1]))


def stops_by_itself(bench: Bench, case: Case) -> bool:
    """Whether a kernel is not made, or not closed, also where nothing ran before."""
    fresh = bench.fresh()
    try:
        kernel = fresh.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return True
        fresh.run_unjudged(kernel, case)
        return fresh.closed(kernel) is not None
    finally:
        fresh.close()


def closed(bench: Bench, case: Case, others: list[tuple[Any, OperatorDesc]]) -> list[Mishap]:
    """Close a case's neighbouring kernels; what goes wrong, but for those that close as badly without it."""
    mishaps = [(mishap, operator) for kernel, operator in others if (mishap := bench.closed(kernel)) is not None]
    return [
        mishap
        for mishap, neighbour in mishaps
        if not stops_by_itself(bench, replace(case, operator=neighbour, values=ordinary_values(bench, neighbour)))
    ]


def as_own_case(bench: Bench, judgement: Judgement, case: Case, neighbours_alive: Sequence[OperatorDesc]) -> Judgement:
    """What is wrong with one of several kernels, as its own case, which holds all of them."""
    if not judgement.findings:
        return judgement
    clause = case.clause
    if case.layout_clause is not None:
        table = bench.tables.operator(case.operator.name)
        clause = Subject.of(table, case.operator, bench.level).values_clause(case.operator.attributes)
    own = replace(case, clause=clause, expectation="beside others", beside=tuple(neighbours_alive), recipe=None)
    return replace(judgement, findings=tuple(replace(finding, case=own) for finding in judgement.findings))


def is_out(bench: Bench, case: Case, other: Case, kernel: Refusal | Mishap, faults: list[Finding]) -> bool:
    """Whether a neighbour cannot be had by itself either; a refusal that breaks a clause is added to ``faults``."""
    if isinstance(kernel, (Mishap, Unsupported)):
        return stops_by_itself(bench, other)
    findings = by_itself(bench, case, own_case(bench, case, other.operator, other.values))
    faults += findings or ()
    return findings is not None


def judged_before(
    bench: Bench, case: Case, kernel: Any, neighbours_alive: Sequence[OperatorDesc], *, among_others: bool = False
) -> tuple[Finding, ...]:
    """What is wrong with a kernel that runs before another: by itself, or beside those that are alive.

    Args:
        bench: the bench.
        case: what it runs on.
        kernel: the kernel.
        neighbours_alive: the descriptions of all that are alive, where their tensors are the case's.
        among_others: whether they are on other tensors. What is not wrong by itself is then reported as a case among
            those next to it, which is still to be judged.
    """
    try:
        judged = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    except Unconstrained:  # bounds that are not of another type: whatever comes of them is right
        return ()
    if not judged.findings:
        return ()
    findings = by_itself(bench, case, own_case(bench, case, case.operator, case.values))
    if findings is None and len(neighbours_alive) > 1:
        clause = "execution.independent"
        neighbour_findings = as_own_case(bench, judged, replace(case, layout_clause=clause), neighbours_alive).findings[
            :1
        ]
        return tuple(replace(finding, clause=clause, suspects=()) for finding in neighbour_findings)
    if findings is None and among_others and not any(map(is_mishap, judged.findings)):
        own = replace(case, expectation=BESIDE_OTHER_TENSORS, layout_clause="execution.independent", recipe=None)
        return tuple(replace(finding, case=own) for finding in judged.findings[:1])
    return findings or ()


def had(made: Made) -> Made:
    """The kernels among them."""
    return [(kernel, operator) for kernel, operator in made if not isinstance(kernel, (Refusal, Mishap))]


def refused_by_themselves(bench: Bench, case: Case, made: Made) -> list[Finding]:
    """What is wrong with refusing neighbours, where they are refused by themselves as well."""
    refused = [operator for kernel, operator in made if isinstance(kernel, Refusal) and kernel.obliged]
    own = (own_case(bench, case, operator, ordinary_values(bench, operator)) for operator in dict.fromkeys(refused))
    return [finding for case_alone in own for finding in by_itself(bench, case, case_alone) or ()]
