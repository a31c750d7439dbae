"""The judge that tests use: it counts what was checked, and turns what is wrong into one readable failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.batches.batch import Ran
from dmlcts.suites.batches.isolated import Doubted
from dmlcts.suites.batches.programs import Ended
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.coverage import Seen
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import MEMORY_CLAUSES, Finding, Judgement
from dmlcts.suites.judging.losses import (
    hazards_of,
    is_wanted,
    judge_hazard,
    judge_surviving,
    late_finding,
    unexplained,
)
from dmlcts.suites.judging.refusals import LOSSES, known_unsupported
from dmlcts.suites.judging.together import chunks, judged_together, judgement_of, right
from dmlcts.suites.measuring.dispatches import Measurements

_MOST_LOSSES = 4
_MOST_TIMEOUTS = 2
_MOST_KEPT_BYTES = 1 << 16
_Row = tuple[str, str, str]


class ConformanceFailure(AssertionError):  # noqa: N818  # a verdict, not an error of the suite
    """The implementation broke a clause; ``findings`` says which and how, the worst first."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__(f"{findings[0].clause}: {findings[0].title}")
        self.findings = findings


@dataclass
class Tally:
    """What was checked under one clause, operator and data type."""

    cases: int = 0
    elements: int = 0
    failures: int = 0
    unsupported: int = 0  # further cases that the backend could not express, for this clause's sake
    types: set[str] = field(default_factory=set)  # the signatures of the cases, where there can be several
    beside: Counter[tuple[str, str]] = field(default_factory=Counter)  # failures of kernels of other subjects, by those


@dataclass
class Ledger:
    """What one test item did, mutable while it runs.

    Attributes:
        tallies: by clause id, operator and data type.
        behaviours: by the same, the behaviour seen and an example of it.
        findings: what is wrong; with hypothesis, what the last failing example showed.
        refused: how many cases the implementation had the right to refuse.
        left_out: how many cases were not tried, because the process is known not to survive them.
        unsupported: what the backend said of the first case that it could not express; "" where there is none.
    """

    tallies: dict[_Row, Tally] = field(default_factory=dict)
    behaviours: dict[_Row, tuple[str, str]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    refused: int = 0
    left_out: int = 0
    unsupported: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no case was judged."""
        return not any(tally.cases for tally in self.tallies.values())

    def rows(self, case: Case, clauses: Iterable[str], types: str = "") -> list[Tally]:
        """The tallies of what cases like one are checked for, to be counted in one after another.

        Args:
            case: the case.
            clauses: ids of the clauses that are checked.
            types: as in :meth:`count`.
        """
        name, data_type = case.operator.name, case.data_type.name
        tallies = [self._tally(clause, name, data_type) for clause in dict.fromkeys(clauses)]
        for tally in tallies if types else ():
            tally.types.add(types)
        return tallies

    def _tally(self, clause: str, operator: str, data_type: str) -> Tally:
        tally = self.tallies.get(row := (clause, operator, data_type))
        if tally is None:  # setdefault would make another with every case
            tally = self.tallies[row] = Tally()
        return tally

    def count(self, case: Case, judgement: Judgement, types: str = "") -> None:
        """Add a judged case; ``types`` names its signature, where its operator has several."""
        if judgement.refused:
            self.refused += 1
            return
        row = (case.operator.name, case.data_type.name)
        if judgement.unsupported is not None:
            self.unsupported = self.unsupported or judgement.unsupported
            for clause in (*judgement.clauses, *judgement.unreached):
                self._tally(clause, *row).unsupported += clause in judgement.clauses
            return
        if not judgement.findings:
            for tally in self.rows(case, judgement.clauses, types):
                tally.cases += 1
                tally.elements += judgement.elements
            return
        broken = {finding.clause: finding.case for finding in judgement.findings[::-1]}
        for clause in dict.fromkeys((*judgement.clauses, *broken)):
            other = broken[clause].operator.name if clause in broken else row[0]
            if other != row[0] and clause not in judgement.clauses:  # another operator's, of a relation with this one
                tally = self._tally(clause, other, broken[clause].data_type.name)
                tally.cases, tally.failures = tally.cases + 1, tally.failures + 1
                continue
            tally = self._tally(clause, *row)
            tally.cases += 1
            tally.elements += judgement.elements
            tally.types |= {types} if types else set()
            if clause in broken:
                tally.failures += 1
                shown = (broken[clause].operator.name, broken[clause].data_type.name)
                tally.beside[shown] += shown != row

    def rebook(self, clause: str, other: str) -> None:
        """Count what broke a clause under another one, which it turned out to break on a shorter program."""
        for row, tally in list(self.tallies.items()):
            if row[0] == clause and tally.failures:
                moved = self.tallies.setdefault((other, *row[1:]), Tally(tally.failures))
                moved.failures, tally.failures = moved.failures + tally.failures, 0
                moved.beside, tally.beside = moved.beside + tally.beside, Counter()


class Judge:
    """Judges cases on a bench; one for each test item.

    Calling it judges one case; :meth:`all` judges many and fails once, at the end, with everything wrong.
    """

    def __init__(self, bench: Bench, *, raising: bool = True) -> None:
        self.bench = bench
        self.ledger = Ledger()
        self.seen = Seen(bench.tables, bench.level)
        self.measured = Measurements(bench.tables, strict=bench.strict)
        bench.forget()
        self._raising = raising
        self._wrong: dict[Case, Judgement] = {}
        self._lost = False
        self._unexpected: list[str] = []
        self._hazardous: Case | None = None
        self._tried_hazards = 0
        self._ended = False

    def __call__(self, case: Case) -> Judgement:
        """Judge ``case``; raises ConformanceFailure where something is wrong."""
        judgements: list[Judgement] = []
        self.all([case], lambda _, judgement: judgements.append(judgement))  # with its dispatches, however large
        return judgements[0]

    def all(
        self,
        cases: Iterable[Case],
        report: Callable[[Case, Judgement], None] = lambda case, judgement: None,
        *,
        dispatches: bool = False,
    ) -> list[Judgement]:
        """Judge every case; raises ConformanceFailure at the end where something is wrong.

        Args:
            cases: what is judged, many small ones at a time.
            report: is given each with its judgement, also where something is wrong.
            dispatches: whether the judgements hold their dispatches, which is slower; those of small tensors alone,
                since many would hold gigabytes.
        """
        __tracebackhide__ = True
        judgements = []
        findings: list[Finding] = []
        for case, judgement in self._each(cases, dispatches=dispatches):
            findings += [
                candidate for candidate in judgement.findings if not any(candidate is known for known in findings)
            ]
            report(case, judgement)
            judgements.append(_without_large(case, judgement))
        for finding in unexplained(self.bench):
            self.ledger.count(finding.case, Judgement((finding,)))
            findings.append(finding)
        if findings:
            self._ended = self._lost
            self.fail(findings)
        return judgements

    def _each(self, cases: Iterable[Case], *, dispatches: bool) -> Iterator[tuple[Case, Judgement]]:
        """The cases, each with its judgement."""
        if dispatches or (self.bench.isolated and self.bench.lives is None):
            for case in cases:
                yield case, self.alone(case)
            return
        for some in chunks(cases):
            yield from zip(some, judged_together(self.bench, some, self), strict=True)

    def is_due(self, case: Case) -> bool:
        """Whether a batch may hold the case: not one known to be wrong or lethal; none after some losses."""
        if self._wrong and case in self._wrong:
            return False
        if self.bench.inexpressible and known_unsupported(self.bench, case) is not None:
            return False
        if not self.bench.isolated:
            return True
        return not (self._ended or self._enough() or hazards_of(self.bench).covers(case))

    def member(self, ran: Ran) -> Judgement:
        """Judge what became of a member of a batch, and count it."""
        if self._wrong and ran.case in self._wrong:  # one that failed in the same batch is answered from memory
            return self._wrong[ran.case]
        if ran.is_right:
            return self._right(ran)
        if self.bench.isolated:
            return self._tried(ran.case, expected=False, ran=ran)
        return self._counted(ran, judgement_of(self.bench, ran))

    def _right(self, ran: Ran) -> Judgement:
        """Count a member of a batch with which nothing is wrong: most are so, and have rows with others of theirs."""
        case, noted = ran.case, ran.group.noted
        self.seen.note(case, ran.history, ran.plan.noted)
        key = (case.clause, case.layout_clause)
        known: list[Tally] | None = noted.get(key)
        judgement = right(*key, ran.plan.count)
        if known is None:
            known = noted[key] = self.ledger.rows(case, judgement.clauses, self._types(case))
        for tally in known:
            tally.cases += 1
            tally.elements += judgement.elements
        if case.layout_clause is None:
            self.measured.note(case.operator, ran.inputs, ran.output)
        return judgement

    def doubtful(self, case: Case, doubted: Doubted) -> Judgement:
        """Count what is wrong with a batch of which every case is right alone."""
        judgement = Judgement((late_finding(case, doubted),))
        self.ledger.count(case, judgement)
        self._wrong[case] = judgement
        if doubted.mishap is not None:
            self._lost = True
            self._unexpected.append(doubted.mishap.outcome)
        return judgement

    def history(self, ended: Ended, judgement: Judgement) -> Judgement:
        """As :meth:`dmlcts.suites.judging.together.Judging.history`."""
        for step, history in ended.noted:
            self.seen.note(step.case, history, step.plan.noted)
        case = ended.program.case
        self.ledger.count(case, judgement, self._types(case))
        return judgement

    def _counted(self, ran: Ran, judgement: Judgement) -> Judgement:
        """Count a member of a batch; gives the judgement to report."""
        case = ran.case
        if ran.outcome is None:
            self.seen.note(case, ran.history, ran.plan.noted)
        self.ledger.count(case, judgement, self._types(case))
        if judgement.findings:
            self._wrong[case] = _without_large(case, judgement)
        memory = any(finding.clause in MEMORY_CLAUSES for finding in judgement.findings)
        if ran.outcome is None and case.layout_clause is None and not memory:
            self.measured.note(case.operator, ran.inputs, ran.output)
        return judgement

    def alone(self, case: Case, otherwise: Callable[[Judgement], Judgement] | None = None) -> Judgement:
        """Judge one case, unless it is known what it does to the process, or it has been lost often enough.

        A property-based test runs its failing example again: it is answered from memory, so that what came by chance
        is reported by the judge, and not missed by the library. Where the process was lost no other example is
        tried, since each might cost the whole time limit.

        Args:
            case: the case.
            otherwise: is given the judgement where the case is right by itself, and gives what it is instead.
        """
        if self._wrong and case in self._wrong:
            return self._wrong[case]
        if self.bench.inexpressible and (known := known_unsupported(self.bench, case)) is not None:
            self.ledger.count(case, known)
            return known
        hazards = hazards_of(self.bench)
        expected = hazards.covers(case)
        spared = expected and not is_wanted(hazards, case, self._tried_hazards)
        if spared:
            self._hazardous = self._hazardous or case
        if self._ended or spared or self._enough():
            self.ledger.left_out += 1
            return Judgement()
        self._tried_hazards += expected
        return self._tried(case, expected=expected, otherwise=otherwise)

    def _tried(
        self,
        case: Case,
        *,
        expected: bool,
        ran: Ran | None = None,
        otherwise: Callable[[Judgement], Judgement] | None = None,
    ) -> Judgement:
        before = self.bench.losses - (ran is not None and ran.lost)
        self.bench.watch = self.seen.note
        if ran is not None and ran.outcome is None:
            self.seen.note(case, ran.history, ran.plan.noted)
        try:
            judgement = judge_hazard(self.bench, case) if expected else judge_surviving(self.bench, case, ran)
        finally:
            self.bench.watch = None
        if otherwise is not None and not (judgement.findings or judgement.refused or judgement.unsupported):
            judgement = otherwise(judgement)
            if self.bench.isolated:  # a loss that did not come again
                self._unexpected += [
                    candidate.outcome for candidate in judgement.findings if candidate.outcome in LOSSES
                ]
        self.ledger.count(case, judgement, self._types(case))
        self._measure(case, judgement)
        if judgement.findings:
            self._wrong[case] = _without_large(case, judgement)  # tests outlive their run
        if self.bench.isolated and self.bench.losses > before:
            self._lost = True
            if not expected:
                self._unexpected += [finding.outcome for finding in judgement.findings]
        return judgement

    def _measure(self, case: Case, judgement: Judgement) -> None:
        """Measure how far values are from the real numbers: of ordinary tensors, whose memory is as it has to be."""
        if case.expectation != "oracle" or case.layout_clause is not None:
            return
        if judgement.executions and not any(finding.clause in MEMORY_CLAUSES for finding in judgement.findings):
            execution = judgement.executions[0]
            self.measured.note(case.operator, execution.inputs, execution.output)

    def _types(self, case: Case) -> str:
        """The case's signature in words; "" where its operator has one type and no optional tensor."""
        table = self.bench.tables.operator(case.operator.name)
        return "" if table.of_one_type_variable else str(Signature.of(case.operator, table))

    def _enough(self) -> bool:
        """Whether the process has been lost often enough in this test; hazards, which were expected, do not count."""
        return len(self._unexpected) >= _MOST_LOSSES or self._unexpected.count("timeout") >= _MOST_TIMEOUTS

    def conclude(self) -> None:
        """End a test: where every case was left out, one is judged all the same, so that nothing passes unseen."""
        __tracebackhide__ = True
        if self._hazardous is not None and self.ledger.is_empty:
            judgement = self._tried(self._hazardous, expected=True)
            if judgement.findings:
                self.fail(judgement.findings)

    @property
    def idle(self) -> str:
        """Why no case was judged, for people; "" where one was, or where the process is known not to survive any."""
        ledger = self.ledger
        if not ledger.is_empty:
            return ""
        if ledger.unsupported:
            return f"the backend cannot express it: {ledger.unsupported}"
        if ledger.tallies:
            return ""
        if ledger.refused:
            return f"not supported, and not obliged at feature level {self.bench.level}"
        return "" if ledger.left_out else f"nothing to try at feature level {self.bench.level}"

    def expected(self, subject: Subject, attributes: Mapping[str, Any], elements: Elements) -> Array:
        """An acceptable result for each of some elements, 1-D, of packed tensors."""
        operator = subject.describe(subject.flat(elements.count), attributes)
        with np.errstate(all="ignore"):
            return self.bench.oracle(operator).expected(elements.spread)

    def fail(self, findings: Iterable[Finding]) -> None:
        """Fail the test with ``findings``."""
        __tracebackhide__ = True
        self.ledger.findings = tuple(findings)
        if self._raising:
            raise ConformanceFailure(self.ledger.findings)

    def run(self, case: Case) -> Execution | None:
        """Judge ``case`` and give its (first) dispatch; ``None`` where the implementation had the right to refuse."""
        __tracebackhide__ = True
        judgement = self(case)
        return judgement.executions[0] if judgement.executions else None

    def characterise(self, clause: str, operator: OperatorDesc, behaviour: str, example: str = "") -> None:
        """Record what the implementation does where the pages leave it open."""
        row = (clause, operator.name, operator.data_type.name)
        known, first = self.ledger.behaviours.get(row, ("", example))
        seen = [*known.split("; "), behaviour] if known else [behaviour]
        self.ledger.behaviours[row] = ("; ".join(dict.fromkeys(seen)), first)
        tally = self.ledger.tallies.setdefault(row, Tally())
        tally.cases = max(1, tally.cases)


def _without_large(case: Case, judgement: Judgement) -> Judgement:
    """The judgement, with its dispatches where their memory is small; strides make that of few elements large."""
    if not judgement.executions:
        return judgement
    size = case.placement.regions(case.operator)[1]
    return judgement if size <= _MOST_KEPT_BYTES else replace(judgement, executions=())
