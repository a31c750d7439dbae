"""Judging on an implementation that may take its process with it: what is known to lose it, whom a loss is blamed on.

An implementation that hangs on every tensor of rank 6 would cost the limit for each of hundreds of cases, and say the
same each time. The survey asks each operator for its simplest case of every element type and of every rank; what
loses the process there is a *hazard*. Cases under a hazard are judged where the support table's own clauses ask for
them, and where a test would judge nothing else; the others are left out and counted. A run with a hazard has failed,
so that what is left out cannot make it pass. The survey depends on the implementation alone, not on what was
selected or ran before: every process of a run, a shard and a resumed run find the same hazards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.deviations import Deviation
from dmlcts.suites.batches.attempts import dispatch_many
from dmlcts.suites.batches.batch import Ran
from dmlcts.suites.batches.isolated import Doubted
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import WITHOUT_DISPATCH, Finding, Judgement, value_clauses
from dmlcts.suites.judging.refusals import LOSSES, explained
from dmlcts.suites.judging.together import judgement_of

_SIZE = 2


@dataclass(frozen=True)
class Hazards:
    """What the implementation does not survive.

    Attributes:
        operators: names of operators lost at their very first case.
        data_types: operators with element types lost at their lowest rank.
        ranks: operators with ranks lost at their first element type.
        first: operators with that first element type.
    """

    operators: frozenset[str] = frozenset()
    data_types: frozenset[tuple[str, DataType]] = frozenset()
    ranks: frozenset[tuple[str, int]] = frozenset()
    first: frozenset[tuple[str, DataType]] = field(default=frozenset(), compare=False)

    def __bool__(self) -> bool:
        return bool(self.operators or self.data_types or self.ranks)

    def covers(self, case: Case) -> bool:
        """Whether a dispatch of the case is known to lose the process."""
        if case.expectation in WITHOUT_DISPATCH:
            return False
        operator = case.operator
        return (
            operator.name in self.operators
            or (operator.name, operator.data_type) in self.data_types
            or (operator.name, operator.input.rank) in self.ranks
        )


_NONE = Hazards()


def is_wanted(hazards: Hazards, case: Case, tried: int) -> bool:
    """Whether a case is judged even under a hazard, where a test has tried so many such cases before.

    What a support table's clause lists is tried: all of it on the operator's first element type, one case of it on
    each other type.
    """
    if not any(".support." in clause for clause in value_clauses(case)):
        return False
    return not tried or (case.operator.name, case.data_type) in hazards.first


@dataclass
class _Survey:
    bench: Bench
    known: dict[OperatorDesc, Mishap] = field(default_factory=dict)  # how it was lost already

    def survives(self, operator: OperatorDesc) -> bool:
        """Whether the process is still there after a dispatch of ones; asked twice where it is not."""
        case = _ones(operator)
        lost = self.known.pop(operator, None) or self._lost(case)
        if lost is None:
            return True
        with self.bench.hurried():
            if self._lost(case) is not None:
                return False
        self.bench.unexplained.append((case, lost))
        return True

    def _lost(self, case: Case) -> Mishap | None:
        before = self.bench.losses
        outcome = self.bench.run(case)
        return outcome if isinstance(outcome, Mishap) and self.bench.losses > before else None


def _ones(operator: OperatorDesc) -> Case:
    ones = {name: [1] for name in operator.inputs}
    return Case(operator, Streams.of(ones, operator), "execution.independent")


def _simplest(subject: Subject, rank: int) -> OperatorDesc:
    return subject.describe((_SIZE,) * rank, subject.attributes())


def _first_loss(bench: Bench, subjects: list[list[Subject]]) -> dict[OperatorDesc, Mishap]:
    """How the process is lost, where all that the survey asks for is asked for in a few messages; empty for no loss."""
    cases = []
    for first, *others in subjects:
        cases += [_ones(_simplest(first, rank)) for rank in first.ranks]
        cases += [_ones(_simplest(other, other.ranks[0])) for other in others]
    ended = dispatch_many(bench, cases)
    return {} if ended.lost is None else {cases[ended.number].operator: ended.lost}


def _subjects(bench: Bench) -> Iterator[list[Subject]]:
    """By operator, its element types that the level obliges."""
    for table in bench.tables.operators.values():
        every = [Subject.on(table, data_type, bench.level) for data_type in table.data_types]
        obliged = [subject for subject in every if subject.obliged_ranks]
        if obliged:
            yield obliged


def survey(bench: Bench) -> Hazards:
    """Ask every operator for its simplest case of every element type and of every rank.

    Raises:
        DeviceGone: the device is lost and does not come back.
    """
    by_operator = list(_subjects(bench))
    known = {} if bench.lives is None else _first_loss(bench, by_operator)
    asked, survived = _Survey(bench, known), bench.lives is not None and not known
    operators, data_types, ranks, firsts = set(), set(), set(), set()
    for subjects in by_operator:
        first = subjects[0]
        name = first.table.operator
        firsts.add((name, first.data_type))
        if survived:
            continue  # nothing was lost
        if not asked.survives(_simplest(first, first.ranks[0])):
            operators.add(name)
            continue
        ranks |= {(name, rank) for rank in first.ranks[1:] if not asked.survives(_simplest(first, rank))}
        data_types |= {
            (name, subject.data_type)
            for subject in subjects[1:]
            if not asked.survives(_simplest(subject, subject.ranks[0]))
        }
    return Hazards(frozenset(operators), frozenset(data_types), frozenset(ranks), frozenset(firsts))


def hazards_of(bench: Bench) -> Hazards:
    """The hazards of the bench's implementation, found out once; none where it shares this process.

    Raises:
        DeviceGone: the device is lost and does not come back.
    """
    if not bench.isolated:
        return _NONE
    if bench.hazards is None:
        bench.hazards = survey(bench)
    hazards: Hazards = bench.hazards
    return hazards


def judge_surviving(bench: Bench, case: Case, ran: Ran | None = None) -> Judgement:
    """Judge ``case``; where the process is lost, once more in a fresh one, to learn whether the case is to blame.

    With ``ran`` what became of the case in a batch is judged first.

    A loss that comes again is the case's own. One that does not is the work of what ran before it, or of chance: it
    breaks ``execution.independent``, or ``execution.repeatable`` where the process held ever more memory. Either way
    the finding says so and keeps the outcome.
    """
    before = bench.losses - (ran is not None and ran.lost)
    judgement = judge_case(bench, case) if ran is None else judgement_of(bench, ran)
    if not bench.isolated or bench.losses == before or not any(fault.outcome in LOSSES for fault in judgement.findings):
        return judgement
    again = judge_case(bench, case)
    seen = {finding.outcome for finding in again.findings}
    findings = tuple(explained(finding, seen) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def late_finding(case: Case, doubted: Doubted) -> Finding:
    """What a batch showed of which every case is right alone: a loss that was seen late, or bytes that changed."""
    mishap = doubted.mishap
    if mishap is not None:
        lost = Finding(
            case.clause, mishap.outcome, case, mishap.title, (("said", mishap.text),), deviation=Deviation.STOPPED
        )
        return explained(lost, set())
    details = (("bytes", doubted.changed), ("again", "no such change where each case of the batch is judged alone"))
    title = "bytes outside the memory of a dispatch changed"
    return Finding(
        "tensor.output.bounds", "fail", case, title, details, settled=True, deviation=Deviation.OUTSIDE_CHANGED
    )


def unexplained(bench: Bench) -> tuple[Finding, ...]:
    """What was lost before any test began and did not happen again: reported once, by whoever asks first."""
    lost, bench.unexplained = bench.unexplained, []
    return tuple(
        explained(
            Finding(
                case.clause,
                mishap.outcome,
                case,
                mishap.title or "the device was lost",
                (("said", mishap.text),),
                deviation=Deviation.STOPPED,
            ),
            set(),
        )
        for case, mishap in lost
    )


def judge_hazard(bench: Bench, case: Case) -> Judgement:
    """Judge a case that is known to lose the process: with a shorter limit, and without trying it again."""
    with bench.hurried():
        judgement = judge_case(bench, case)
    detail = ("again", "as the simplest case of its kind does, which was tried before")
    findings = tuple(
        replace(finding, details=(*finding.details, detail), settled=True) if finding.outcome in LOSSES else finding
        for finding in judgement.findings
    )
    return replace(judgement, findings=findings)
