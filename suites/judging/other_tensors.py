"""State: kernels of the same attributes on other tensors, all of them alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding, Judgement, together
from dmlcts.suites.judging.neighbours import (
    BESIDE_OTHER_TENSORS,
    had,
    on_nearly_the_same_tensors,
    refused_by_themselves,
    with_own_faults,
)
from dmlcts.suites.judging.outputs import judge_oracle
from dmlcts.suites.judging.refusals import stopped
from dmlcts.suites.judging.state import with_history

_OTHER_TYPES = 2


def on_other_tensors(subject: Subject, operator: OperatorDesc) -> list[OperatorDesc]:
    """A description of the subject on other tensors: more elements, one, strided ones, and those of other types.

    Attributes stay; of other types they are ordinary ones where their own type is the tensor's.
    """
    sizes, given = operator.output.sizes, operator.attributes
    spread = tuple(2 * stride for stride in TensorDesc(subject.data_type, sizes).element_strides)
    strides = spread if operator.output.strides is None else None
    found = [
        subject.describe((*sizes[:-1], 2 * sizes[-1]), given),
        subject.describe((1,) * len(sizes), given),
        subject.describe(sizes, given, strides, strides),
    ]
    here, size = subject.signature, subject.data_type.itemsize
    others = [one for one in signatures(subject.table) if one.present == here.present and one.types != here.types]
    for other in sorted(others, key=lambda one: one.data_type.itemsize != size)[:_OTHER_TYPES]:
        turned = replace(subject, signature=other)
        kept = not any(item.type == "DML_SCALAR_UNION" for item in subject.table.attributes)
        found.append(turned.describe(sizes, given if kept else turned.attributes()))
    return [one for one in found if one != operator]


def judge_beside_other_tensors(bench: Bench, case: Case) -> Judgement:
    """The kernel runs between kernels of the same attributes on other tensors, which ran before and are alive.

    Some were made before it and some after. Each kind of tensors that differ in much has its turn; those that differ
    in one respect stand beside it together, and one by one where something is wrong then. What is wrong with one of
    those, and not by itself, is told where it is wrong as a case of its own among the tensors next to it.
    """
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    kinds = [[one] for one in filter(bench.obliged, on_other_tensors(subject, case.operator))]
    if near := _near(bench, case):
        kinds.append(near)
    judgements: list[Judgement] = []
    for kind in kinds:
        judgements.append(_told(bench, case, _between(bench, case, kind)))
        if judgements[-1].refused or judgements[-1].unsupported is not None:
            return judgements[-1]  # nothing was dispatched
        if judgements[-1].findings and len(kind) > 1:
            each = (_told(bench, case, _between(bench, case, [one])) for one in kind)
            judgements += (found for found in each if found.findings)
            judgements.append(judgements.pop(len(kinds) - 1))  # if it takes all of them, with all
        if any(judgement.findings for judgement in judgements):
            break
    return together(judgements, "execution.independent") if judgements else judge_oracle(bench, case)


def _near(bench: Bench, case: Case) -> list[OperatorDesc]:
    """The descriptions on nearly the same tensors that stand beside a case together: none in place."""
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    nearly = [] if case.placement.in_place else on_nearly_the_same_tensors(subject, case.operator)
    return [*filter(bench.obliged, nearly)]


def _between(bench: Bench, case: Case, kind: Sequence[OperatorDesc]) -> Judgement:
    """The kernel between kernels of some descriptions, one of each made before it and one after; all ran."""
    first = [(bench.create(one), one) for one in kind]
    kernel = bench.create(case.operator)
    last = [(bench.create(one), one) for one in kind]
    if isinstance(kernel, (Refusal, Mishap)):
        for other, _ in had(first + last):
            bench.closed(other)
        return stopped(bench, case, kernel)
    judgement = with_history(bench, case, "execution.independent", kernel, had(first + last))
    return with_own_faults(judgement, refused_by_themselves(bench, case, first))


def _told(bench: Bench, case: Case, judgement: Judgement) -> Judgement:
    """The judgement, with what is wrong with a neighbour that is right by itself as it is in that one's own company."""
    found: list[Finding] = []
    for one in judgement.findings:
        of_neighbour = one.case.operator != case.operator and one.case.expectation == BESIDE_OTHER_TENSORS
        found += _in_its_own_company(bench, one.case) if of_neighbour else (one,)
    return replace(judgement, findings=tuple(found))


def _in_its_own_company(bench: Bench, case: Case) -> tuple[Finding, ...]:
    """What is wrong with a case beside all that are on nearly its tensors, on a device that has run nothing yet."""
    fresh = bench.fresh()
    try:
        findings = _between(fresh, case, _near(bench, case)).findings
    finally:
        fresh.close()
    return tuple(one for one in findings if one.case.operator == case.operator)
