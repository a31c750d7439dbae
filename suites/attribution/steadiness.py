"""Whether a fault shows every time: by itself, only after what ran before it, or by chance."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from dmlcts.specs.deviations import Deviation, Origin
from dmlcts.specs.number_text import many
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.neighbouring_kernels import on_other_tensors
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement

_TRIES = 8
_FEW_TRIES = 2
_MOST_TRIED = 1 << 20
_SUFFIXES = (1, 4, 16, 64, 256)
_MOST_DEVICES = 40
_NEIGHBOUR_TRIES = 8
_MANY_ELEMENTS = 1 << 16
_WITH_NEIGHBOURS = (
    "beside others",
    "after another",
    "beside another",
    "beside other tensors",
    "after a refusal",
    "steps",
)
_FROM_OUTPUT = "it changes with what the output held before: read from the output"
REPEAT = 100


def _digest(judgement: Judgement) -> bytes:
    """What came back, in few bytes."""
    seen = hashlib.sha256()
    for execution in judgement.executions:
        seen.update(execution.output.tobytes())
    return seen.digest()


def _wrong(judgement: Judgement, outcome: str) -> bool:
    return any(finding.outcome == outcome for finding in judgement.findings)


def restated(bench: Bench, finding: Finding) -> Finding:
    """The finding as its case shows it once more; as it is where that shows something else.

    On a bench that judges steadily it is the same in every run, whatever was drawn when it was found: an implementation
    that reads its output makes values of what stands there.
    """
    if finding.outcome != "fail" or not finding.wrong or finding.settled or finding.case.placement.in_place:
        return finding
    return _alike(finding, [judge_case(bench, finding.case)])


def _alike(finding: Finding, seen: Sequence[Judgement]) -> Finding:
    """The first finding of some judgements that is about the same; else the finding itself."""
    about = (finding.clause, finding.outcome, finding.case)
    similar_findings = (
        candidate
        for judgement in seen
        for candidate in judgement.findings
        if (candidate.clause, candidate.outcome, candidate.case) == about
    )
    return next(similar_findings, finding)


def unsteady(bench: Bench, finding: Finding) -> Finding | None:
    """How a finding that does not come again is reported; ``None`` where it comes every time, and is the same.

    A case that comes out right when it is dispatched again was wrong because of what ran before it, which a fresh
    device shows when the same runs there first, or by chance: then it breaks ``execution.repeatable``. Where it is
    right over one poison every time, and wrong over others, it is a wrong value: read from the output.

    Args:
        bench: what the finding was made on.
        finding: what is wrong, on the case as it was judged first.
    """
    case = finding.case
    if finding.outcome != "fail" or finding.settled:
        return None
    seen = [judge_case(bench, case) for _ in range(_FEW_TRIES)]
    wrong = sum(_wrong(judgement, finding.outcome) for judgement in seen)
    if wrong == len(seen) and len({_digest(judgement) for judgement in seen}) == 1:
        return None
    if case.operator.output.element_count <= _MOST_TRIED:
        more = [judge_case(bench, case) for _ in range(_TRIES - len(seen))]
        wrong += sum(_wrong(judgement, finding.outcome) for judgement in more)
        seen += more
    finding = _alike(finding, seen)
    if not wrong and _reads_its_output(bench, finding):
        return replace(
            finding,
            details=(*finding.details, ("origin", _FROM_OUTPUT)),
            suspects=(),
            settled=True,
            origin=Origin.OUTPUT,
        )
    earlier = () if wrong else history(bench, finding)
    return after(finding, earlier) if earlier else by_chance(finding, wrong + 1, len(seen) + 1)


def _reads_its_output(bench: Bench, finding: Finding) -> bool:
    """Whether a case that is right over one poison, every time, goes wrong over and over with another one each time."""
    if not finding.wrong or finding.case.placement.in_place:
        return False
    with bench.anew():
        seen = [judge_case(bench, finding.case) for _ in range(_TRIES)]
    return sum(_wrong(judgement, finding.outcome) for judgement in seen) >= _FEW_TRIES


def dependent(bench: Bench, finding: Finding, first: Finding) -> Finding:
    """A finding under ``execution.independent`` if its neighbours decide it every time; else as decided by chance.

    With what it is said to need it has to go wrong in every try, in the same way, and alone in none of at least as
    many dispatches: a device that errs now and then errs more often where more is dispatched, and so more often among
    neighbours. Each try has a device that has run nothing yet.

    Args:
        bench: what the finding was made on.
        finding: what is wrong; where its case does not hold the neighbours, they are what ran on ``bench``.
        first: the same as it was found, which is reported where chance decides.
    """
    case = finding.case
    if finding.clause != "execution.independent" or finding.outcome != "fail":
        return finding
    if case.expectation == "on two devices":  # each device here would be a second one as well
        return finding
    expectation = "oracle" if case.expectation in _WITH_NEIGHBOURS else case.expectation
    alone = replace(case, beside=(), earlier=(), steps=(), expectation=expectation)
    holds_neighbours = alone != case
    large = case.operator.output.element_count > _MANY_ELEMENTS
    turns = _turns(bench, case)
    dispatches = turns if large else 3 * turns + len(case.earlier) + 2 * len(case.beside) + len(case.steps)
    joint_judgements: list[Judgement] = []
    single: list[Judgement] = []
    for _ in range(_FEW_TRIES if large else _NEIGHBOUR_TRIES):
        fresh = bench.fresh()
        try:
            single += [judge_case(fresh, alone) for _ in range(dispatches)]
        finally:
            fresh.close()
        joint_judgements.append(_beside_neighbours(bench, case) if holds_neighbours else judge_case(bench, case))
    apart = sum(_wrong(judgement, "fail") for judgement in single)
    together = sum(_wrong(judgement, "fail") for judgement in joint_judgements)
    if not apart and together == len(joint_judgements) and len(set(map(_digest, joint_judgements))) == 1:
        return finding
    return by_chance(first, apart + together + 1, len(single) + len(joint_judgements) + 1)


def _turns(bench: Bench, case: Case) -> int:
    """How many companies a case is dispatched in, one after another."""
    if case.expectation != "beside other tensors":
        return 1
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    return len(on_other_tensors(subject, case.operator)) + 1


def _beside_neighbours(bench: Bench, case: Case) -> Judgement:
    """The case, with all that it holds besides, on a device that has run nothing yet."""
    fresh = bench.fresh()
    try:
        return judge_case(fresh, case)
    finally:
        fresh.close()


def by_chance(finding: Finding, wrong: int, tries: int) -> Finding:
    """The finding as one that does not come every time."""
    times = f"wrong {many(wrong, 'time')} of {tries}"
    title = f"{times}, the same case on the same device" if wrong < tries else f"{times}, never in the same way twice"
    return replace(
        finding,
        clause="execution.repeatable",
        title=f"{finding.title}, {times}: not repeatable",
        details=(*finding.details, ("again", title)),
        suspects=(),
        settled=True,
        repeat=REPEAT,
        deviation=Deviation.UNSTEADY,
    )


def after(finding: Finding, earlier: tuple[Case, ...]) -> Finding:
    """The finding as one that needs other cases before it, which its case then holds."""
    names = ", ".join(f"{case_before.operator.name} on {case_before.data_type.name}" for case_before in earlier)
    return replace(
        finding,
        clause="execution.independent",
        title=f"{finding.title}, only after other kernels",
        suspects=(),
        details=(*finding.details, ("after", names)),
        case=replace(finding.case, earlier=earlier),
        settled=True,
        deviation=Deviation.AFTER_OTHERS,
    )


def history(bench: Bench, finding: Finding) -> tuple[Case, ...]:
    """The fewest cases that make a finding's case go wrong on a fresh device, of those that ran before it; or none."""
    case = finding.case
    ran = list(bench.history)
    first = next((index for index, past_case in enumerate(ran) if past_case is case), len(ran))
    ran = ran[:first]
    left = _MOST_DEVICES

    def shows(cases: Sequence[Case]) -> bool:
        nonlocal left
        left -= 1
        fresh = bench.fresh()
        try:
            return _wrong(judge_case(fresh, replace(case, earlier=tuple(cases))), finding.outcome)
        finally:
            fresh.close()

    lengths = [length for length in _SUFFIXES if length < len(ran)] + [len(ran)]
    kept = next((ran[-length:] for length in lengths if length and shows(ran[-length:])), [])
    step = len(kept) // 2
    while step and left > 0:
        start = 0
        while start < len(kept) and left > 0:
            fewer = kept[:start] + kept[start + step :]
            if fewer and shows(fewer):
                kept = fewer
            else:
                start += step
        step //= 2
    return tuple(kept) if kept and shows(kept) else ()  # once more: what comes by chance may have come just then
