"""Cases of a test, judged in batches where that gives the same: small tensors, in this process.

Those that the oracle judges are dispatched once each; those with a history are programs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Protocol

from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.suites.batches.batch import Ran, run
from dmlcts.suites.batches.notes import Notes, NotToBeNoted
from dmlcts.suites.batches.plans import Plan, Plans
from dmlcts.suites.batches.programs import Dispatch, Ended, Program, run_programs
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.judging.expectations import EXPECTATIONS, without_silent_points
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Finding, Judgement, value_clauses
from dmlcts.suites.judging.outputs import judge_outcome
from dmlcts.suites.judging.refusals import stopped

_MOST_CASES = 256
_LEAST_CASES = 3
_MOST_BYTES = 4 << 20
_HISTORIES = frozenset((
    "again", "many times", "beside others", "dispatched again", "after another", "beside another",
    "beside other tensors",
))  # fmt: skip
"""Expectations whose steps follow from the case alone, where nothing is wrong."""


class Counting(Protocol):
    """Takes account of what was judged in batches, and judges the other cases."""

    def alone(self, case: Case, otherwise: Callable[[Judgement], Judgement] | None = None) -> Judgement:
        """Judge a case by itself, and count it.

        Args:
            case: the case.
            otherwise: is given the judgement where the case is right by itself, and gives what it is instead.
        """

    def member(self, ran: Ran, judgement: Judgement) -> Judgement:
        """Count a member of a batch; gives what the test is given."""

    def history(self, ended: Ended, judgement: Judgement) -> Judgement:
        """Count a case whose program left nothing to look at; gives what the test is given."""


def plan_of(bench: Bench, case: Case) -> Plan | None:
    """The plan of a case that may be judged in a batch; ``None`` of another."""
    if case.expectation != "oracle" or case.earlier:
        return None
    if bench.plans is None:
        bench.plans = Plans()
    found: Plan | None = bench.plans.of(case.operator, case.placement)
    return found


def chunks(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Some cases at a time, in their order; what the iterable raises comes after the cases before it."""
    source = iter(cases)
    while True:
        found: list[Case] = []
        try:
            found.extend(islice(source, _MOST_CASES))
        except BaseException:
            if found:
                yield found
            raise
        if not found:
            return
        yield found


def judged_together(
    bench: Bench, cases: list[Case], counting: Counting, known: Container[int] = ()
) -> list[Judgement]:  # fmt: skip
    """Judge some cases, those that a batch takes first.

    Args:
        bench: the bench, whose implementation shares this process.
        cases: what is judged.
        counting: is given each with its judgement.
        known: the places of cases that need no dispatch.
    """
    plans = [None if place in known else plan_of(bench, case) for place, case in enumerate(cases)]
    found: dict[int, Judgement] = {}
    if sum(plan is not None for plan in plans) >= _LEAST_CASES:
        _judge_members(bench, cases, plans, found, counting)
    programs: dict[int, tuple[Program, Judgement]] = {}
    for place, case in enumerate(cases):
        if case.expectation in _HISTORIES and place not in known and (program := program_of(bench, case)) is not None:
            programs[place] = program
    _judge_programs(bench, programs, found, counting)
    return [found[place] if place in found else counting.alone(case) for place, case in enumerate(cases)]


def _judge_members(
    bench: Bench, cases: list[Case], plans: list[Plan | None], found: dict[int, Judgement], counting: Counting
) -> None:  # fmt: skip
    some: list[int] = []
    size = 0
    for place, plan in enumerate(plans):
        if plan is None:
            continue
        if size + plan.room > _MOST_BYTES:
            _run(bench, cases, plans, some, found, counting)
            some, size = [], 0
        some.append(place)
        size += plan.room
    _run(bench, cases, plans, some, found, counting)


def _run(
    bench: Bench, cases: list[Case], plans: list[Plan | None], some: list[int], found: dict[int, Judgement],
    counting: Counting,
) -> None:  # fmt: skip
    chosen = [(cases[place], plan) for place in some if (plan := plans[place]) is not None]
    for place, ran in zip(some, run(bench, chosen), strict=True) if chosen else ():
        found[place] = counting.member(ran, judgement_of(bench, ran))


def judgement_of(bench: Bench, ran: Ran) -> Judgement:
    """What the dispatch of a member of a batch came to."""
    case = ran.case
    if ran.outcome is None and ran.execution is None:
        return Judgement((), (*value_clauses(case), *MEMORY_CLAUSES), ran.plan.count)
    came = ran.execution if ran.outcome is None else ran.outcome
    assert came is not None  # noqa: S101  # one of the two is there
    judgement = judge_outcome(bench, case, ran.oracle, came, ran.expected, lambda poison: bench.run(case, poison))
    return without_silent_points(bench, case, judgement)


def program_of(bench: Bench, case: Case) -> tuple[Program, Judgement] | None:
    """The program of a case with a history, and what it is judged where nothing is wrong; ``None`` of another."""
    if case.earlier or case.beside:
        return None
    notes = Notes(bench)
    try:
        judgement = EXPECTATIONS[case.expectation](notes, case)
    except NotToBeNoted:
        return None
    program = notes.program(case)
    return (program, judgement) if program.dispatches and program.room <= _MOST_BYTES else None


def _judge_programs(
    bench: Bench, programs: dict[int, tuple[Program, Judgement]], found: dict[int, Judgement], counting: Counting
) -> None:  # fmt: skip
    some: list[int] = []
    size = 0
    for place, (program, _) in programs.items():
        if size + program.room > _MOST_BYTES:
            _run_some(bench, programs, some, found, counting)
            some, size = [], 0
        some.append(place)
        size += program.room
    _run_some(bench, programs, some, found, counting)


def _run_some(
    bench: Bench, programs: dict[int, tuple[Program, Judgement]], some: list[int], found: dict[int, Judgement],
    counting: Counting,
) -> None:  # fmt: skip
    if not some:
        return
    try:
        ended = list(run_programs(bench, [programs[place][0] for place in some]))
    except Unconstrained:
        return  # whoever judges them alone knows which may be
    for place, one in zip(some, ended, strict=True):
        case = one.program.case
        if one.stopped is None and not one.suspects:
            found[place] = counting.history(one, programs[place][1])
        else:
            found[place] = counting.alone(case, partial(_seen, bench, one))


def _seen(bench: Bench, ended: Ended, alone: Judgement) -> Judgement:
    """What a program showed that its case does not show by itself: a fault of state.

    Of other kernels than the case's own nothing follows: they may be wrong by themselves.
    """
    case = ended.program.case
    found: list[Finding] = []
    if isinstance(ended.stopped, Mishap) and isinstance(ended.last, Dispatch) and ended.last.judged:
        found += stopped(bench, replace(ended.last.case, expectation="oracle"), ended.stopped).findings
    for one in ended.suspects:
        own = replace(one.case, expectation="oracle")
        again = partial(bench.run, own)
        found += judge_outcome(bench, own, one.oracle, one.execution, one.expected, again).findings
    mine = (finding for finding in found if finding.case.operator == case.operator)
    told = (replace(one, case=case, clause=case.layout_clause or case.clause, suspects=()) for one in mine)
    return replace(alone, findings=tuple(told)[:1])
