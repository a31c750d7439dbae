"""Cases of a test, judged in batches where that gives the same: small tensors.

Those that the oracle judges are dispatched once each; those with a history are programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Protocol

from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.suites.batches.attempts import attempt_many
from dmlcts.suites.batches.batch import Ran, run
from dmlcts.suites.batches.isolated import Doubted, run_isolated, run_programs_isolated
from dmlcts.suites.batches.notes import Notes, NotToBeNoted
from dmlcts.suites.batches.plans import Plan, plan_on
from dmlcts.suites.batches.programs import Dispatch, Ended, Program, run_programs
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Outcome
from dmlcts.suites.judging.expectations import EXPECTATIONS, without_silent_points
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, WITHOUT_DISPATCH, Finding, Judgement
from dmlcts.suites.judging.outputs import judge_outcome
from dmlcts.suites.judging.refusals import explained, stopped

_MOST_CASES = 256
_LEAST_CASES = 3
_MOST_BYTES = 8 << 20
_HISTORIES = frozenset(
    (
        "after a refusal",
        "again",
        "many times",
        "beside others",
        "dispatched again",
        "after another",
        "beside another",
        "beside other tensors",
        "steps",
    )
)
"""Expectations whose steps follow from the case alone, where nothing is wrong."""


class Judging(Protocol):
    """What judges the cases, and counts them."""

    def alone(self, case: Case, otherwise: Callable[[Judgement], Judgement] | None = None) -> Judgement:
        """Judge one case by itself.

        Args:
            case: the case.
            otherwise: is given the judgement where the case is right by itself, and gives what it is instead.
        """

    def member(self, ran: Ran) -> Judgement:
        """Judge what became of a member of a batch."""

    def doubtful(self, case: Case, doubted: Doubted) -> Judgement:
        """Judge what is wrong with a batch of which every case is right alone."""

    def history(self, ended: Ended, judgement: Judgement) -> Judgement:
        """Count a case whose program left nothing to look at; gives what the test is given."""

    def is_due(self, case: Case) -> bool:
        """Whether a batch may hold the case, as things are now."""


def plan_of(bench: Bench, case: Case) -> Plan | None:
    """The plan of a case that may be judged in a batch; ``None`` of another."""
    return plan_on(bench, case) if case.expectation == "oracle" and not case.earlier else None


def chunks(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Some cases at a time, in their order; what the iterable raises comes after the cases before it."""
    source = iter(cases)
    while True:
        chunk: list[Case] = []
        try:
            chunk.extend(islice(source, _MOST_CASES))
        except BaseException:
            if chunk:
                yield chunk
            raise
        if not chunk:
            return
        yield chunk


def judged_together(bench: Bench, cases: list[Case], judge: Judging) -> list[Judgement]:
    """Judge some cases, those that a batch takes first.

    Args:
        bench: the bench.
        cases: what is judged.
        judge: judges each, and counts it.
    """
    plans = [plan_of(bench, case) if judge.is_due(case) else None for case in cases]
    judgements_by_place: dict[int, Judgement] = {}
    if sum(plan is not None for plan in plans) >= _LEAST_CASES:
        _judge_members(bench, cases, plans, judgements_by_place, judge)
    programs = {
        place: program
        for place, case in enumerate(cases)
        if case.expectation in _HISTORIES and judge.is_due(case) and (program := program_of(bench, case)) is not None
    }
    _judge_programs(bench, programs, judgements_by_place, judge)
    return _alone(bench, cases, judgements_by_place, judge)


def _batches(rooms: Mapping[int, int]) -> Iterator[list[int]]:
    """Places whose bytes go into an arena together, in their order.

    Args:
        rooms: bytes that each takes, by its place.
    """
    some: list[int] = []
    size = 0
    for place, room in rooms.items():
        if some and size + room > _MOST_BYTES:
            yield some
            some, size = [], 0
        some.append(place)
        size += room
    if some:
        yield some


def _judge_members(
    bench: Bench,
    cases: list[Case],
    plans: list[Plan | None],
    judgements_by_place: dict[int, Judgement],
    judge: Judging,
) -> None:
    for some in _batches({place: plan.room for place, plan in enumerate(plans) if plan is not None}):
        _run(bench, cases, plans, some, judgements_by_place, judge)


def _alone(
    bench: Bench, cases: list[Case], judgements_by_place: Mapping[int, Judgement], judge: Judging
) -> list[Judgement]:
    """Judge those cases alone that are not judged yet; kernels that are only made are made at once before.

    A loss that comes at one of those, and not again where it is judged alone, is for the next test to report.
    """
    places = [
        place
        for place, case in enumerate(cases)
        if place not in judgements_by_place and _is_attempt(bench, case, judge)
    ]
    some = [cases[place].operator for place in places] if len(places) >= _LEAST_CASES else []
    ended = attempt_many(bench, some)
    known = {places[number]: outcome for number, outcome in ended.known.items()}
    judgements = []
    for place, case in enumerate(cases):
        if place in judgements_by_place:
            judgements.append(judgements_by_place[place])
            continue
        bench.attempted = (case.operator, known[place]) if place in known else None
        losses = bench.losses
        judgements.append(judge.alone(case))
        bench.attempted = None
        if ended.lost is not None and place == places[ended.number] and bench.losses == losses:
            bench.unexplained.append((case, ended.lost))
    return judgements


def _is_attempt(bench: Bench, case: Case, judge: Judging) -> bool:
    """Whether an isolated implementation is asked to make a kernel for the case, and nothing else."""
    made_alone = case.expectation in WITHOUT_DISPATCH and not case.earlier
    return bench.lives is not None and made_alone and judge.is_due(case)


def _run(
    bench: Bench,
    cases: list[Case],
    plans: list[Plan | None],
    some: list[int],
    judgements_by_place: dict[int, Judgement],
    judge: Judging,
) -> None:
    """Run a batch, and judge its members as far as the process is not lost too often."""
    chosen = [(cases[place], plan) for place in some if (plan := plans[place]) is not None]
    if not chosen or not judge.is_due(chosen[0][0]):
        return
    ended: Iterator[Ran | Doubted] = run(bench, chosen) if bench.lives is None else run_isolated(bench, chosen)
    number = 0
    for outcome in ended:
        judgements = [judge.member(outcome)] if isinstance(outcome, Ran) else _doubted(outcome, judge)
        judgements_by_place.update(zip(some[number:], judgements, strict=False))
        number += len(judgements)
        if (
            (isinstance(outcome, Doubted) or outcome.lost)
            and number < len(some)
            and not judge.is_due(cases[some[number]])
        ):
            return


def _doubted(doubted: Doubted, judge: Judging) -> list[Judgement]:
    """Judge each case alone; where none shows anything, what the batch showed."""
    judgements = [judge.alone(case) for case in doubted.cases]
    if (doubted.mishap or doubted.changed) and not any(judgement.findings for judgement in judgements):
        judgements[doubted.place] = judge.doubtful(doubted.cases[doubted.place], doubted)
    return judgements


def _left(ran: Ran) -> Outcome:
    """What a dispatch that has to be looked at left, or why it did not come back."""
    outcome = ran.execution if ran.outcome is None else ran.outcome
    assert outcome is not None  # noqa: S101  # one of the two is there
    return outcome


@lru_cache(maxsize=1 << 12)
def right(clause: str, layout_clause: str | None, count: int) -> Judgement:
    """The result of a case whose dispatch is as it has to be.

    Args:
        clause: the case's.
        layout_clause: the case's.
        count: how many elements its output has.
    """
    values = (clause,) if layout_clause is None else (clause, layout_clause)
    return Judgement((), (*values, *MEMORY_CLAUSES), count)


def judgement_of(bench: Bench, ran: Ran) -> Judgement:
    """The result of a batch's member whose dispatch is not as it has to be."""
    case = ran.case
    judgement = judge_outcome(bench, case, ran.oracle, _left(ran), ran.expected, lambda poison: bench.run(case, poison))
    return without_silent_points(bench, case, judgement)


def program_of(bench: Bench, case: Case) -> tuple[Program, Judgement] | None:
    """The program of a case with a history, and what it is judged where nothing is wrong; ``None`` of another."""
    among = case.expectation == "beside others"  # which dispatches those that the case names
    if case.earlier or (case.beside and not among) or plan_on(bench, case) is None:
        return None
    notes = Notes(bench)
    try:
        judgement = EXPECTATIONS[case.expectation](notes, case)
    except NotToBeNoted:
        return None
    program = notes.program(case)
    return (program, judgement) if program.dispatches and program.room <= _MOST_BYTES else None


def _judge_programs(
    bench: Bench,
    programs: dict[int, tuple[Program, Judgement]],
    judgements_by_place: dict[int, Judgement],
    judge: Judging,
) -> None:
    for some in _batches({place: program.room for place, (program, _) in programs.items()}):
        if bench.lives is not None and not judge.is_due(programs[some[0]][0].case):
            return  # the process was lost often enough
        losses = bench.losses
        try:
            run = run_programs if bench.lives is None else run_programs_isolated
            ended = list(run(bench, [programs[place][0] for place in some]))
        except Unconstrained:
            continue  # whoever judges them alone knows which may be
        number = 0
        for outcome in ended:
            if isinstance(outcome, Doubted):
                judgements = _doubted(outcome, judge)
            elif outcome.stopped is None and not outcome.suspects:
                judgements = [judge.history(outcome, programs[some[number]][1])]
            else:
                judgements = [judge.alone(outcome.program.case, partial(_seen, bench, outcome))]
            judgements_by_place.update(zip(some[number:], judgements, strict=False))
            number += len(judgements)
        if bench.losses > losses:
            return


def _seen(bench: Bench, ended: Ended, alone: Judgement) -> Judgement:
    """What a program showed that its case does not show by itself: a fault of state.

    Of other kernels than the case's own nothing follows: they may be wrong by themselves.
    """
    case = ended.program.case
    findings: list[Finding] = []
    if isinstance(ended.stopped, Mishap) and isinstance(ended.last, Dispatch) and ended.last.judged:
        findings += stopped(bench, replace(ended.last.case, expectation="oracle"), ended.stopped).findings
    for suspect in ended.suspects:
        own = replace(suspect.case, expectation="oracle")
        again = partial(bench.run, own)
        findings += judge_outcome(bench, own, suspect.oracle, _left(suspect), suspect.expected, again).findings
    mine = (finding for finding in findings if finding.case.operator == case.operator)
    state_findings = (
        replace(own_finding, case=case, clause=case.layout_clause or case.clause, suspects=()) for own_finding in mine
    )
    # A process that was killed may have been killed from outside: the case alone, in a fresh one, was not.
    findings = [explained(each, set()) if each.outcome == "resource_error" else each for each in state_findings]
    return replace(alone, findings=tuple(findings)[:1])
