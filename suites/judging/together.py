"""Cases of a test, judged in batches where that gives the same: small tensors, by the oracle, in this process."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice

from dmlcts.suites.batches.batch import Ran, run
from dmlcts.suites.batches.plans import Plan, Plans
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.expectations import without_silent_points
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Judgement, value_clauses
from dmlcts.suites.judging.outputs import judge_outcome

_MOST_CASES = 256
_LEAST_CASES = 3
_MOST_BYTES = 4 << 20


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
    bench: Bench,
    cases: list[Case],
    alone: Callable[[Case], Judgement],
    count: Callable[[Ran, Judgement], Judgement],
    known: Container[int] = (),
) -> list[Judgement]:
    """Judge some cases, those that a batch takes first.

    Args:
        bench: the bench, whose implementation shares this process.
        cases: what is judged.
        alone: judges one of the others.
        count: is given each member of a batch with its judgement, and gives what the test is given.
        known: the places of cases that need no dispatch.
    """
    plans = [None if place in known else plan_of(bench, case) for place, case in enumerate(cases)]
    if sum(plan is not None for plan in plans) < _LEAST_CASES:
        return [alone(case) for case in cases]
    found: dict[int, Judgement] = {}
    some: list[int] = []
    size = 0
    for place, plan in enumerate(plans):
        if plan is None:
            continue
        if size + plan.room > _MOST_BYTES:
            _run(bench, cases, plans, some, found, count)
            some, size = [], 0
        some.append(place)
        size += plan.room
    _run(bench, cases, plans, some, found, count)
    return [found[place] if place in found else alone(case) for place, case in enumerate(cases)]


def _run(
    bench: Bench,
    cases: list[Case],
    plans: list[Plan | None],
    some: list[int],
    found: dict[int, Judgement],
    count: Callable[[Ran, Judgement], Judgement],
) -> None:
    chosen = [(cases[place], plan) for place in some if (plan := plans[place]) is not None]
    for place, ran in zip(some, run(bench, chosen), strict=True) if chosen else ():
        found[place] = count(ran, judgement_of(bench, ran))


def judgement_of(bench: Bench, ran: Ran) -> Judgement:
    """What the dispatch of a member of a batch came to."""
    case = ran.case
    if ran.outcome is None and ran.execution is None:
        return Judgement((), (*value_clauses(case), *MEMORY_CLAUSES), ran.plan.count)
    came = ran.execution if ran.outcome is None else ran.outcome
    assert came is not None  # noqa: S101  # one of the two is there
    judgement = judge_outcome(bench, case, ran.oracle, came, ran.expected, lambda poison: bench.run(case, poison))
    return without_silent_points(bench, case, judgement)
