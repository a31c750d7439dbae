"""State: the same answer again, after other kernels, and beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from itertools import compress
from typing import Any

import numpy as np

from dmlcts.backends import BackendUnavailable
from dmlcts.specs import OperatorDesc, UsageError
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap, Refusal, Unsupported
from dmlcts.suites.cases.placement import MOVED_FRONT, Placement, aliases_of
from dmlcts.suites.generation.distinct import little_changed, middle_reversed
from dmlcts.suites.generation.neighbouring_kernels import neighbours, ordinary_values, refusable, two_neighbours
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.judging.findings import (
    MEMORY_CLAUSES,
    Array,
    Finding,
    Judgement,
    operator_text,
    reversed_values,
    together,
    turned_values,
    with_neighbours,
)
from dmlcts.suites.judging.neighbours import (
    BESIDE_OTHER_TENSORS,
    as_own_case,
    by_its_place,
    by_itself,
    closed,
    had,
    is_out,
    is_settled,
    judge_on_a_fresh_device,
    judged_before,
    own_case,
    refused_by_themselves,
    with_own_faults,
)
from dmlcts.suites.judging.outputs import expected_outputs, judge_dispatch, judge_oracle
from dmlcts.suites.judging.refusals import attempt, stopped, wrongly_accepted

_ELSEWHERE = Placement(front=MOVED_FRONT, gap=48)
_placed = lru_cache(maxsize=64)(Placement)
_MANY_DISPATCHES = 34  # more than two times sixteen: rings of descriptors, queries and buffers have such lengths


def judge_again(bench: Bench, case: Case) -> Judgement:
    """A kernel judged again and again: on its values, on others at other places, in place, and on the first ones again.

    The dispatch after the one in place has its inputs where they were. The next ones differ from those before them in
    little, at one place: in the elements in the middle, in one element, in those in the middle of one input alone. A
    device that compares what it holds with what it is given may look at the ends, count differences, or forget an
    input. Among them is one with all elements in another order: what a broadcast input holds is another then. Then one
    tensor after another moves alone. At the end the output is the memory of another input.
    """
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if is_settled(alone):
        return alone
    third = max(1, case.operator.output.element_count // 3)
    turns: list[Callable[[Array], Array]] = [
        lambda array: array,
        lambda array: array[::-1],
        lambda array: np.roll(array, third),
        lambda array: array[::-1],
        lambda array: array,
        middle_reversed,
        lambda array: array[::-1],
    ]
    aliases = aliases_of(bench.tables.operator(case.operator.name), case.operator)
    in_place = [_placed(in_place=True, alias=alias_name) for alias_name in aliases] or [_placed(inputs_turned=True)]
    turned = _placed(output_first=True)
    places = [case.placement, _ELSEWHERE, in_place[0], _placed(), turned, turned, turned]
    again = [
        case.changed(values=turned_values(case, turn), placement=place)
        for turn, place in zip(turns, places, strict=True)
    ]
    results = expected_outputs(bench.oracle(case.operator), case, Arena.prepare(case).inputs)
    again += [case.changed(values=values, placement=turned) for values in little_changed(case, results)]
    for name in case.operator.tensors:  # which alone moves, and back
        again += [
            again[-number].changed(placement=place)
            for number, place in ((2, _placed(output_first=True, apart=name)), (1, turned))
        ]
    again += [again[-1].changed(placement=place) for place in in_place[1:]]
    return _by_one_kernel(bench, case, again)


def judge_many_times(bench: Bench, case: Case) -> Judgement:
    """A kernel judged at more dispatches than a device may have slots for, on other values each time, at two places."""
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if is_settled(alone):
        return alone
    places = [case.placement, _ELSEWHERE]
    again = [
        case.changed(values=turned_values(case, partial(np.roll, shift=number)), placement=places[number % 2])
        for number in range(_MANY_DISPATCHES)
    ]
    return _by_one_kernel(bench, case, again)


def _by_one_kernel(bench: Bench, case: Case, again: list[Case]) -> Judgement:
    """The dispatches of one kernel, one after the other."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    oracle = bench.oracle(case.operator)
    judgements = [judge_dispatch(bench, kernel, repetition, oracle) for repetition in again]
    wrong = next((repetition for repetition, judged in zip(again, judgements, strict=True) if judged.findings), None)
    whole = _finished(bench, case, [kernel], judgements)
    alone = None if wrong is None else by_its_place(bench, wrong)
    return whole if alone is None else alone


def _finished(bench: Bench, case: Case, kernels: list[Any], judgements: list[Judgement]) -> Judgement:
    """Close the kernels, and put the judgements together under the case's state clause, pointing at the case."""
    mishaps = [mishap for mishap in map(bench.closed, kernels) if mishap is not None]
    judgements += [stopped(bench, case, mishap) for mishap in mishaps]
    clause = case.layout_clause or case.clause
    whole = together(judgements, clause)
    findings = tuple(
        replace(finding, case=finding.case if finding.case.beside else case, clause=clause, suspects=())
        for finding in whole.findings
    )
    return replace(whole, findings=findings)


def judge_beside_others(bench: Bench, case: Case) -> Judgement:
    """The kernel judged while kernels of other attributes and operators live, and after those were closed.

    What is wrong with one of the others is reported as a case of its own, with all kernels that were alive.
    """
    if case.beside:
        return _judge_among(bench, case)
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if is_settled(alone):
        return alone
    cases = [case.changed(operator, expectation="oracle") for operator in neighbours(bench, case)]
    cases.insert(len(cases) // 2, case)
    cases.append(case)  # closing one of two kernels of one description leaves the other
    kernels = [bench.create(other.operator) for other in cases]
    faults: list[Finding] = []  # of neighbours, which they have by themselves
    wanted = [
        other is case or not isinstance(kernel, (Refusal, Mishap)) or not is_out(bench, case, other, kernel, faults)
        for kernel, other in zip(kernels, cases, strict=True)
    ]
    kernels, cases = list(compress(kernels, wanted)), list(compress(cases, wanted))
    neighbour_operators = [other.operator for other in cases]
    for kernel, other in zip(kernels, cases, strict=True):
        if isinstance(kernel, (Refusal, Mishap)):
            made = [candidate for candidate in kernels if not isinstance(candidate, (Refusal, Mishap))]
            return _finished(bench, case, made, [stopped(bench, replace(other, expectation="oracle"), kernel)])
    mine, everyone = cases.index(case), [*zip(kernels, cases, strict=True)]
    judgements = []
    known: dict[OperatorDesc, tuple[Finding, ...] | None] = {}
    by_turns = [everyone[mine], everyone[0], everyone[mine]]
    for kernel, other in [*everyone, *everyone[::-1], *by_turns]:
        judged = judge_dispatch(bench, kernel, other, bench.oracle(other.operator))
        if judged.findings and other is not case:
            if other.operator not in known:
                known[other.operator] = by_itself(bench, case, own_case(bench, case, other.operator, case.values))
            alone_too = known[other.operator]
            if alone_too is not None:
                faults += alone_too
                continue
        judgements.append(_as_state(as_own_case(bench, judged, other, neighbour_operators), other))
    others = [(kernel, neighbour.operator) for kernel, neighbour in everyone[:mine] + everyone[mine + 1 :]]
    judgements += [stopped(bench, case, mishap) for mishap in closed(bench, case, others)]
    last = judge_dispatch(bench, kernels[mine], case, bench.oracle(case.operator))
    judgements.append(as_own_case(bench, last, case, neighbour_operators))
    return with_own_faults(_finished(bench, case, [kernels[mine]], judgements), faults)


def _judge_among(bench: Bench, case: Case) -> Judgement:
    """The kernel among those that the case names; each is dispatched in their order and in the reverse of it."""
    made: list[tuple[OperatorDesc, Any]] = []
    for operator in case.beside:
        kernel = bench.create(operator)
        if not isinstance(kernel, (Refusal, Mishap)):
            made.append((operator, kernel))
        elif isinstance(kernel, Unsupported) and operator == case.operator:
            for _, neighbour in made:  # nothing can be said of it: no dispatch was seen that went right
                bench.closed(neighbour)
            return stopped(bench, case, kernel)
        elif operator == case.operator:
            return _finished(bench, case, [neighbour for _, neighbour in made], [stopped(bench, case, kernel)])
    outputs: dict[OperatorDesc, Array] = {}
    judgements = []
    wrong: dict[OperatorDesc, Judgement] = {}
    for place, (operator, kernel) in enumerate([*made, *made[::-1]]):
        neighbour = case if operator == case.operator else replace(case, operator=operator)
        if operator.name != case.operator.name or (place >= len(made) and neighbour is not case):  # or was judged
            output = bench.left_by(kernel, operator, case)
            if output is not None:
                outputs[operator] = output
            continue
        judged = judge_dispatch(bench, kernel, neighbour, bench.oracle(operator))
        if operator == case.operator:
            judgements.append(judged)
        elif judged.findings:
            wrong.setdefault(operator, judged)
    mine = [operator for operator, _ in made].index(case.operator)  # a second kernel of its description is another one
    own = made[mine][1]
    others = [(kernel, operator) for operator, kernel in made[:mine] + made[mine + 1 :]]
    judgements += [stopped(bench, case, mishap) for mishap in closed(bench, case, others)]
    judgements.append(judge_dispatch(bench, own, case, bench.oracle(case.operator)))
    judgement = _finished(bench, case, [own], judgements)
    alone = replace(case, expectation="oracle", beside=())
    if judgement.findings and by_itself(bench, alone, alone) is not None:
        return judge_oracle(bench, alone)
    faults: list[Finding] = []
    for operator, judged in wrong.items():
        if judgement.findings or faults:
            break
        findings = by_itself(bench, case, own_case(bench, case, operator, case.values))
        if findings is None:
            neighbour_judgement = as_own_case(bench, judged, replace(case, operator=operator), case.beside)
            judgement = _finished(bench, case, [], [judgement, neighbour_judgement])
        faults += findings or ()
    findings_beside = tuple(with_neighbours(finding, outputs) for finding in judgement.findings)
    return with_own_faults(replace(judgement, findings=findings_beside), faults)


def _as_state(judgement: Judgement, case: Case) -> Judgement:
    """The values of a neighbouring kernel speak about the state's clause only."""
    return judgement.checking((case.layout_clause or case.clause, *MEMORY_CLAUSES))


def judge_dispatched_again(bench: Bench, case: Case) -> Judgement:
    """A kernel that ran on other values before, at another place and at its own: the cheap part of :func:`judge_again`.

    What it keeps of a dispatch it may keep until the memory is another.
    """
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return stopped(bench, case, kernel)
    return with_history(bench, case, "execution.repeatable", kernel, [(kernel, case.operator)])


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
    made = [(bench.create(operator), operator) for operator in two_neighbours(bench, case)]
    judgement = with_history(bench, case, "execution.independent", kernel, had(made), closed_first=not alive)
    return with_own_faults(judgement, refused_by_themselves(bench, case, made))


def judge_after_a_refusal(bench: Bench, case: Case) -> Judgement:
    """Kernels beside refused descriptions: one that ran before, one that did not, and one made after each refusal.

    The descriptions have other attributes, and unlike sizes, types or too many dimensions. One that is accepted breaks
    its own constraint; of unlike sizes, or where no kernel need be there any more, the case is judged alone.
    """
    before = [bench.create(case.operator), bench.create(case.operator)]
    made = [kernel for kernel in before if not isinstance(kernel, (Refusal, Mishap))]
    oracle, clause = bench.oracle(case.operator), "execution.independent"
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    judgements = [stopped(bench, case, kernel) for kernel in before if isinstance(kernel, (Refusal, Mishap))]
    refused, faults = list[OperatorDesc](), list[Finding]()
    if not judgements:
        judgements.append(judge_dispatch(bench, made[0], case, oracle))
        for number, odd in enumerate(refusable(bench, case)):
            outcome = attempt(bench, odd)
            if outcome is None:
                faults += wrongly_accepted(bench, odd, subject.ones)
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
            judgements += [judge_dispatch(bench, kernel, case, oracle) for kernel in (after, *made)]
            judgements += [
                stopped(bench, case, mishap) for mishap in [bench.closed(after)] if isinstance(mishap, Mishap)
            ]
    judgements += [stopped(bench, case, mishap) for mishap in map(bench.closed, made) if isinstance(mishap, Mishap)]
    if len(made) < len(before) and not any(judgement.findings for judgement in judgements):
        return judgements[0]  # refused, or not to be expressed: nothing was dispatched
    if not refused and len(made) == len(before):
        return with_own_faults(judge_oracle(bench, replace(case, expectation="oracle")), faults)
    lines = [f"{operator_text(odd)}: was refused" for odd in refused]
    return with_own_faults(_by_history(bench, case, together(judgements, clause), clause, lines), faults)


def judge_on_two_devices(bench: Bench, case: Case) -> Judgement:
    """A kernel on each of two devices by turns, both open; then the first one's, after the second was closed.

    A wrong one stays as it is, since fresh devices are second ones as well; the bench goes on with another device.
    """
    alone = judge_oracle(bench, replace(case, expectation="oracle"))
    if is_settled(alone):
        return alone
    mine = bench.create(case.operator)
    turned = case.changed(values=reversed_values(case))
    try:
        with closing(bench.fresh()) as second:
            theirs = second.create(case.operator)
            bad = [
                (on, kernel)
                for on, kernel in ((bench, mine), (second, theirs))
                if isinstance(kernel, (Refusal, Mishap))
            ]
            judgements = [stopped(on, case, kernel) for on, kernel in bad]
            if not judgements:
                turns = [(second, theirs, case), (bench, mine, turned), (second, theirs, turned), (bench, mine, case)]
                judgements = [judge_dispatch(on, kernel, its, bench.oracle(its.operator)) for on, kernel, its in turns]
                judgements += [
                    stopped(second, case, mishap) for mishap in [second.closed(theirs)] if mishap is not None
                ]
    except (BackendUnavailable, UsageError) as error:
        if isinstance(error, BackendUnavailable) and not isinstance(error.__cause__, WorkerLost):
            bench.closed(mine)
            return Judgement((), (case.layout_clause or case.clause,), unsupported=str(error))
        judgements = [stopped(bench, case, bench.recovered(error.__cause__ or error))]
    made = [] if isinstance(mine, (Refusal, Mishap)) else [mine]
    if made and not any(judgement.findings for judgement in judgements):
        judgements.append(judge_dispatch(bench, mine, case, bench.oracle(case.operator)))
    whole = _finished(bench, case, made, judgements)
    if whole.findings:
        bench.reopen()
    return replace(whole, findings=tuple(replace(finding, settled=True) for finding in whole.findings))


def with_history(
    bench: Bench,
    case: Case,
    clause: str,
    kernel: Any,
    before: list[tuple[Any, OperatorDesc]],
    *,
    closed_first: bool = False,
) -> Judgement:
    """Dispatch what runs before, then the case; what only its history makes wrong breaks ``clause``.

    Of kernels of its operator that stay alive, what comes of each description is judged once.

    Args:
        bench: the bench.
        case: what is judged.
        clause: the clause on its history.
        kernel: its kernel, ``None`` where it is made only after the others.
        before: kernels with their descriptions; the case's own may be among them.
        closed_first: whether the others are closed before the case's kernel is made.
    """
    values, moved = reversed_values(case), case.placement.moved
    alive = [case.operator, *(operator for other, operator in before if other is not kernel)]
    faults: list[Finding] = []
    judged_too = not closed_first  # it costs as much as the case does
    known: set[OperatorDesc] = set()
    for other, operator in before:
        own = values if operator.tensors == case.operator.tensors else ordinary_values(bench, operator)
        earlier = case.changed(operator, own, moved)
        if judged_too and other is not kernel and operator.name == case.operator.name and operator not in known:
            known.add(operator)
            faults += judged_before(
                bench,
                earlier,
                other,
                alive if own is values else [],
                among_others=case.expectation == BESIDE_OTHER_TENSORS,
            )
            continue
        mishap = bench.run_unjudged(other, earlier)
        if mishap is None and other is kernel:
            mishap = bench.run_unjudged(kernel, earlier.changed(placement=case.placement))
        if mishap is not None and other is kernel:
            bench.closed(kernel)
            return stopped(bench, case, mishap)
    mishaps: list[Mishap] = []
    others = [(other, operator) for other, operator in before if other is not kernel]
    if closed_first:
        mishaps += closed(bench, case, others)
        kernel = bench.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return stopped(bench, case, kernel)
    judgement = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    mishaps += [mishap] if (mishap := bench.closed(kernel)) is not None else []
    if not closed_first:
        mishaps += closed(bench, case, others)
    if mishaps:
        return stopped(bench, case, mishaps[0])
    neighbour_operators = dict.fromkeys(operator for other, operator in before if other is not kernel)
    ran = (f"{operator_text(operator, case.operator)}: ran before" for operator in neighbour_operators)
    history_judgement = _by_history(bench, case, judgement.checking((*judgement.clauses, clause)), clause, ran)
    return with_own_faults(history_judgement, faults)


def _by_history(bench: Bench, case: Case, judgement: Judgement, clause: str, lines: Iterable[str]) -> Judgement:
    """The judgement of a case with a history: what is wrong breaks ``clause``, but where it is without one too."""
    if not judgement.findings:
        return judgement
    alone = judge_on_a_fresh_device(bench, replace(case, expectation="oracle"))
    if is_settled(alone):
        return alone  # wrong whatever ran before
    ran = tuple((f"kernel {number}", line) for number, line in enumerate(lines, start=1))
    findings = tuple(
        replace(finding, clause=clause, suspects=(), details=(*finding.details, *ran))
        for finding in judgement.findings[:1]
    )
    return replace(judgement, findings=findings)
