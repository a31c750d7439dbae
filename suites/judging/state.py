"""State: the same answer again, after other kernels, and beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Refusal, Unsupported
from dmlcts.suites.cases.placement import Placement, aliases_of
from dmlcts.suites.cases.values import Streams, text_with_bits
from dmlcts.suites.generation.distinct import little_changed, middle_reversed
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Array, Finding, Judgement, operator_text, streams_of
from dmlcts.suites.judging.neighbours import neighbours, refusable, two_neighbours
from dmlcts.suites.judging.outputs import judge_dispatch, judge_oracle
from dmlcts.suites.judging.refusals import attempt, stopped

_MANY_DISPATCHES = 34  # more than two times sixteen: rings of descriptors, queries and buffers have such lengths


def _together(judgements: list[Judgement], clause: str) -> Judgement:
    """Several dispatches as one judgement; what is wrong with a value breaks ``clause``."""
    findings = tuple(finding for judgement in judgements for finding in judgement.findings)
    checked = dict.fromkeys(name for judgement in judgements for name in judgement.clauses)
    executions = tuple(execution for judgement in judgements for execution in judgement.executions)
    elements = sum(judgement.elements for judgement in judgements)
    return Judgement(findings[:1], (clause, *checked), elements, executions)


def judge_again(bench: Bench, case: Case) -> Judgement:
    """A kernel judged again and again: on its values, on others at other places, in place, and on the first ones again.

    The last dispatches differ from those before them in little, at one place: in the elements in the middle, in one
    element, in those in the middle of one input alone. A device that compares what it holds with what it is given may
    look at the ends, count differences, or forget an input. At the end the output is the memory of another input.
    """
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if _is_told_alone(alone):
        return alone
    third = max(1, case.operator.output.element_count // 3)
    turns: list[Callable[[Array], Array]] = [
        lambda one: one, lambda one: one[::-1], lambda one: np.roll(one, third), lambda one: one, middle_reversed
    ]  # fmt: skip
    aliases = aliases_of(bench.tables.operator(case.operator.name), case.operator)
    in_place = [Placement(in_place=True, alias=one) for one in aliases] or [Placement(inputs_turned=True)]
    turned = Placement(output_first=True)
    places = [case.placement, Placement(front=1040, gap=48), in_place[0], turned, turned]
    again = [replace(case, values=_turned(case, turn), placement=place)
             for turn, place in zip(turns, places, strict=True)]  # fmt: skip
    for run in alone.executions:
        again += [replace(case, values=values, placement=turned) for values in little_changed(case, run.output)]
    again += [replace(again[-1], placement=place) for place in in_place[1:]]
    return _by_one_kernel(bench, case, again)


def judge_many_times(bench: Bench, case: Case) -> Judgement:
    """A kernel judged at more dispatches than a device may have slots for, on other values each time, at two places."""
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if _is_told_alone(alone):
        return alone
    places = [case.placement, Placement(front=1040, gap=48)]
    again = [
        replace(case, values=_turned(case, partial(np.roll, shift=number)), placement=places[number % 2])
        for number in range(_MANY_DISPATCHES)
    ]
    return _by_one_kernel(bench, case, again)


def _is_told_alone(alone: Judgement) -> bool:
    """Whether a case is wrong, refused or unsupported whatever its history."""
    return bool(alone.findings) or alone.refused or alone.unsupported is not None


def _by_one_kernel(bench: Bench, case: Case, again: list[Case]) -> Judgement:
    """The dispatches of one kernel, one after the other."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    oracle = bench.oracle(case.operator)
    return _finished(bench, case, [kernel], [judge_dispatch(bench, kernel, one, oracle) for one in again])


def _turned(case: Case, turn: Callable[[Array], Array]) -> Streams:
    """The case's values in another order, each tensor's by itself."""
    inputs = case.operator.inputs
    return streams_of(case, (turn(values.array(inputs[name].element_count)) for name, values in case.values.items()))


def _finished(bench: Bench, case: Case, kernels: list[Any], judgements: list[Judgement]) -> Judgement:
    """Close the kernels, and put the judgements together under the case's state clause, pointing at the case."""
    mishaps = [mishap for mishap in map(bench.closed, kernels) if mishap is not None]
    judgements += [stopped(bench, case, mishap) for mishap in mishaps]
    clause = case.layout_clause or case.clause
    whole = _together(judgements, clause)
    told = tuple(
        replace(finding, case=finding.case if finding.case.beside else case, clause=clause, suspects=())
        for finding in whole.findings
    )
    return replace(whole, findings=told)


def judge_beside_others(bench: Bench, case: Case) -> Judgement:
    """The kernel judged while kernels of other attributes and operators live, and after those were closed.

    What is wrong with one of the others is told as a case of its own, with all kernels that were alive.
    """
    if case.beside:
        return _judge_among(bench, case)
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if _is_told_alone(alone):
        return alone
    cases = [replace(case, operator=operator, expectation="oracle") for operator in neighbours(bench, case)]
    cases.insert(len(cases) // 2, case)
    cases.append(case)  # closing one of two kernels of one description leaves the other
    kernels = [bench.create(other.operator) for other in cases]
    wanted = [
        other is case or not isinstance(kernel, (Refusal, Mishap)) or not _stops_by_itself(bench, other)
        for kernel, other in zip(kernels, cases, strict=True)
    ]
    kernels, cases = list(compress(kernels, wanted)), list(compress(cases, wanted))
    for kernel, other in zip(kernels, cases, strict=True):
        if isinstance(kernel, (Refusal, Mishap)):
            made = [one for one in kernels if not isinstance(one, (Refusal, Mishap))]
            return _finished(bench, case, made, [stopped(bench, replace(other, expectation="oracle"), kernel)])
    judgements = []
    for kernel, other in [*zip(kernels, cases, strict=True), *zip(kernels[::-1], cases[::-1], strict=True)]:
        judged = judge_dispatch(bench, kernel, other, bench.oracle(other.operator))
        if judged.findings and other is not case and _wrong_by_itself(bench, other):
            continue  # another clause's business
        judgements.append(_as_state(_told_of(bench, judged, other, cases), other))
    mine = cases.index(case)
    others = [(kernel, one.operator) for kernel, one in zip(kernels, cases, strict=True)]
    judgements += [stopped(bench, case, mishap) for mishap in _closed(bench, case, others[:mine] + others[mine + 1 :])]
    last = judge_dispatch(bench, kernels[mine], case, bench.oracle(case.operator))
    judgements.append(_told_of(bench, last, case, cases))
    return _finished(bench, case, [kernels[mine]], judgements)


def _told_of(bench: Bench, judgement: Judgement, case: Case, everyone: list[Case]) -> Judgement:
    """What is wrong with one of several kernels, as its own case, which holds all of them."""
    clause = case.clause
    if case.layout_clause is not None:
        table = bench.tables.operator(case.operator.name)
        clause = Subject.of(table, case.operator, bench.level).values_clause(case.operator.attributes)
    company = tuple(one.operator for one in everyone)
    own = replace(case, clause=clause, expectation="beside others", beside=company, recipe=None)
    return replace(judgement, findings=tuple(replace(finding, case=own) for finding in judgement.findings))


def _judge_among(bench: Bench, case: Case) -> Judgement:
    """The kernel among those that the case names; each is dispatched in their order and in the reverse of it."""
    made: list[tuple[OperatorDesc, Any]] = []
    for operator in case.beside:
        kernel = bench.create(operator)
        if not isinstance(kernel, (Refusal, Mishap)):
            made.append((operator, kernel))
        elif isinstance(kernel, Unsupported):
            if operator == case.operator:  # nothing can be said of it: no dispatch was seen that went right
                for _, one in made:
                    bench.closed(one)
                return stopped(bench, case, kernel)
        elif operator == case.operator:
            return _finished(bench, case, [one for _, one in made], [stopped(bench, case, kernel)])
    given: dict[OperatorDesc, Array] = {}
    judgements = []
    for operator, kernel in [*made, *made[::-1]]:
        if operator == case.operator:
            judgements.append(judge_dispatch(bench, kernel, case, bench.oracle(operator)))
            continue
        arena = bench.prepare(case)
        if bench.dispatch(kernel, arena) is None:
            given[operator] = arena.output(case)
    mine = [operator for operator, _ in made].index(case.operator)  # a second kernel of its description is another one
    own = made[mine][1]
    others = [(kernel, operator) for operator, kernel in made[:mine] + made[mine + 1 :]]
    judgements += [stopped(bench, case, mishap) for mishap in _closed(bench, case, others)]
    judgements.append(judge_dispatch(bench, own, case, bench.oracle(case.operator)))
    judgement = _finished(bench, case, [own], judgements)
    if judgement.findings and _wrong_by_itself(bench, replace(case, expectation="oracle", beside=())):
        return judge_oracle(bench, replace(case, expectation="oracle", beside=()))
    told = tuple(_with_company(finding, given) for finding in judgement.findings)
    return replace(judgement, findings=told)


def _with_company(finding: Finding, given: Mapping[OperatorDesc, Array]) -> Finding:
    """The finding with each kernel that was alive, and what it gave for the element that is shown."""
    case = finding.case
    details = []
    for number, operator in enumerate(case.beside, start=1):
        said = operator_text(operator)
        if operator == case.operator:
            said += ": this one, which is wrong"
        elif operator in given and finding.index >= 0:
            said += f": gives {text_with_bits(given[operator][finding.index])} for this element"
        details.append((f"kernel {number}", said))
    return replace(finding, details=(*finding.details, *details))


def _wrong_by_itself(bench: Bench, case: Case) -> bool:
    """Whether a case is wrong also where nothing ran before it."""
    fresh = bench.fresh()
    try:
        return bool(judge_oracle(fresh, case).findings)
    finally:
        fresh.close()


def _stops_by_itself(bench: Bench, case: Case) -> bool:
    """Whether a kernel is not made, or not closed, also where nothing ran before: that is another clause's business."""
    fresh = bench.fresh()
    try:
        kernel = fresh.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return True
        fresh.run_unjudged(kernel, case)
        return fresh.closed(kernel) is not None
    finally:
        fresh.close()


def _closed(bench: Bench, case: Case, others: list[tuple[Any, OperatorDesc]]) -> list[Mishap]:
    """Close kernels that kept the case company; what goes wrong there, but for those that close as badly without it."""
    mishaps = [(bench.closed(kernel), operator) for kernel, operator in others]
    return [mishap for mishap, one in mishaps if mishap is not None
            and not _stops_by_itself(bench, replace(case, operator=one, values=_ordinary(bench, one)))]  # fmt: skip


def _ordinary(bench: Bench, operator: OperatorDesc) -> Streams:
    subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
    return subject.distinct(operator.output.element_count).streams


def _as_state(judgement: Judgement, case: Case) -> Judgement:
    """The values of a neighbouring kernel speak about the state's clause only."""
    return replace(judgement, clauses=(case.layout_clause or case.clause, *MEMORY_CLAUSES))


def judge_dispatched_again(bench: Bench, case: Case) -> Judgement:
    """A kernel that ran on other values at another place before: the cheap part of :func:`judge_again`."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    return _with_history(bench, case, "execution.repeatable", kernel, [(kernel, case.operator)])


def judge_after_another(bench: Bench, case: Case) -> Judgement:
    """A kernel of other attributes on equal tensors, and one of another operator, ran before and were closed."""
    return _behind_others(bench, case, alive=False)


def judge_beside_another(bench: Bench, case: Case) -> Judgement:
    """The kernel runs while such kernels, which ran before, are alive: :func:`judge_beside_others` at less cost."""
    return _behind_others(bench, case, alive=True)


def _behind_others(bench: Bench, case: Case, *, alive: bool) -> Judgement:
    kernel = bench.create(case.operator) if alive else None
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    others = []
    for operator in two_neighbours(bench, case):
        other = bench.create(operator)
        if not isinstance(other, (Refusal, Mishap)):  # one that cannot be had is another clause's business
            others.append((other, operator))
    return _with_history(bench, case, "execution.independent", kernel, others, closed_first=not alive)


def judge_beside_other_tensors(bench: Bench, case: Case) -> Judgement:
    """The kernel runs between two kernels of the same attributes on other tensors, which ran before and are alive.

    One was made before it and one after; each kind of other tensors has its turn.
    """
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    judgements: list[Judgement] = []
    for operator in filter(bench.obliged, subject.on_other_tensors(case.operator)):
        made = [bench.create(one) for one in (operator, case.operator, operator)]
        others = [(one, operator) for one in made[::2] if not isinstance(one, (Refusal, Mishap))]
        if isinstance(made[1], (Refusal, Mishap)):
            for other, _ in others:
                bench.closed(other)
            return stopped(bench, case, made[1])
        judgements.append(_with_history(bench, case, "execution.independent", made[1], others))
        if judgements[-1].findings:
            break
    return _together(judgements, "execution.independent") if judgements else judge_oracle(bench, case)


def judge_after_a_refusal(bench: Bench, case: Case) -> Judgement:
    """Kernels beside refused descriptions: one that ran before, one that did not, and one made after each refusal.

    The descriptions have other attributes, and unlike sizes, types or too many dimensions. One that is accepted, or
    after which no kernel need be there any more, is another clause's business: of unlike sizes, or where the device is
    lost, the case is judged alone.
    """
    before = [bench.create(case.operator), bench.create(case.operator)]
    made = [one for one in before if not isinstance(one, (Refusal, Mishap))]
    oracle, clause = bench.oracle(case.operator), "execution.independent"
    judgements = [stopped(bench, case, one) for one in before if isinstance(one, (Refusal, Mishap))][:1]
    refused: list[OperatorDesc] = []
    if not judgements:
        judgements.append(judge_dispatch(bench, made[0], case, oracle))
        for number, odd in enumerate(refusable(bench, case)):
            outcome = attempt(bench, odd)
            if isinstance(outcome, Mishap) or (outcome is None and number == 0):
                refused = []
                break
            if outcome is None:
                continue
            refused.append(odd)
            after = bench.create(case.operator)
            if isinstance(after, (Refusal, Mishap)):
                judgements.append(stopped(bench, case, after))
                break
            judgements += [judge_dispatch(bench, one, case, oracle) for one in (after, *made)]
            judgements += [stopped(bench, case, one) for one in [bench.closed(after)] if isinstance(one, Mishap)]
    judgements += [stopped(bench, case, one) for one in map(bench.closed, made) if isinstance(one, Mishap)]
    if not refused and len(made) == len(before):
        return judge_oracle(bench, replace(case, expectation="oracle"))
    judgement = _together(judgements, clause)
    return _by_history(bench, case, judgement, clause, [f"{operator_text(odd)}: was refused" for odd in refused])


def _with_history(
    bench: Bench, case: Case, clause: str, kernel: Any, before: list[tuple[Any, OperatorDesc]], *,
    closed_first: bool = False,
) -> Judgement:  # fmt: skip
    """Dispatch what runs before, whatever comes of it, then the case.

    What only its history makes wrong breaks ``clause``.

    Args:
        bench: the bench.
        case: what is judged.
        clause: the clause on its history.
        kernel: its kernel, ``None`` where it is made only after the others.
        before: kernels with their descriptions; the case's own may be among them.
        closed_first: whether the others are closed before the case's kernel is made.
    """
    values, moved = _turned(case, lambda one: one[::-1]), replace(case.placement, front=1040)
    for other, operator in before:
        own = values if operator.tensors == case.operator.tensors else _ordinary(bench, operator)
        earlier = replace(case, operator=operator, values=own, placement=moved)
        mishap = bench.run_unjudged(other, earlier)
        if mishap is not None and other is kernel:
            bench.closed(kernel)
            return stopped(bench, case, mishap)
    mishaps: list[Mishap] = []
    others = [(other, operator) for other, operator in before if other is not kernel]
    if closed_first:
        mishaps += _closed(bench, case, others)
        kernel = bench.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return stopped(bench, case, kernel)
    judgement = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    mishaps += [mishap] if (mishap := bench.closed(kernel)) is not None else []
    if not closed_first:
        mishaps += _closed(bench, case, others)
    if mishaps:
        return stopped(bench, case, mishaps[0])
    company = dict.fromkeys(operator for other, operator in before if other is not kernel)
    ran = [f"{operator_text(operator, case.operator)}: ran before" for operator in company]
    return _by_history(bench, case, replace(judgement, clauses=(*judgement.clauses, clause)), clause, ran)


def _by_history(bench: Bench, case: Case, judgement: Judgement, clause: str, company: list[str]) -> Judgement:
    """The judgement of a case with a history: what is wrong breaks ``clause``, but where it is without one too."""
    if not judgement.findings:
        return judgement
    fresh = bench.fresh()
    try:
        alone = judge_oracle(fresh, replace(case, expectation="oracle"))
    finally:
        fresh.close()
    if _is_told_alone(alone):
        return alone  # wrong whatever ran before
    ran = tuple((f"kernel {number}", said) for number, said in enumerate(company, start=1))
    told = tuple(replace(finding, clause=clause, suspects=(), details=(*finding.details, *ran))
                 for finding in judgement.findings[:1])  # fmt: skip
    return replace(judgement, findings=told)
