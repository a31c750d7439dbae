"""The judge that tests use: it counts what was checked, and turns what is wrong into one readable failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dmlcts.reports.characters import one_line, quoted
from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.models import Clause
from dmlcts.specs.tables import Tables
from dmlcts.suites.bench import Bench, Execution
from dmlcts.suites.cases import Case, Placement
from dmlcts.suites.expectations import Finding, Judgement, judge_case, plain, value_clauses
from dmlcts.suites.hazards import hazards_of, is_wanted
from dmlcts.suites.surviving import judge_hazard, judge_surviving, unexplained
from dmlcts.suites.values import Values, text_with_bits

_MOST_SHRINKS = 60
_MOST_STEPWISE = 64
_MOST_SHRUNK_ELEMENTS = 1 << 26
_MOST_LOSSES = 4
_MOST_TIMEOUTS = 2
_SHRINKS_WITH_LOSS = {"timeout": 1, "crash": 6, "device_lost": 6, "resource_error": 2}
_MOST_PLAIN = 1 << 16
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

    def count(self, case: Case, judgement: Judgement) -> None:
        """Add a judged case."""
        if judgement.refused:
            self.refused += 1
            return
        row = (case.operator.name, case.data_type.name)
        if judgement.unsupported is not None:
            self.unsupported = self.unsupported or judgement.unsupported
            for clause in (*judgement.clauses, *judgement.unreached):
                self.tallies.setdefault((clause, *row), Tally()).unsupported += clause in judgement.clauses
            return
        broken = {finding.clause for finding in judgement.findings}
        for clause in dict.fromkeys((*judgement.clauses, *broken)):
            tally = self.tallies.setdefault((clause, *row), Tally())
            tally.cases += 1
            tally.elements += judgement.elements
            tally.failures += clause in broken


class Judge:
    """Judges cases on a bench; one for each test item.

    Calling it judges one case; :meth:`all` judges many and fails once, at the end, with everything wrong.
    """

    def __init__(self, bench: Bench, *, raising: bool = True) -> None:
        self.bench = bench
        self.ledger = Ledger()
        self._raising = raising
        self._losses: dict[Case, Judgement] = {}
        self._unexpected: list[str] = []
        self._hazardous: Case | None = None
        self._tried_hazards = 0
        self._ended = False

    def __call__(self, case: Case) -> Judgement:
        """Judge ``case``; raises ConformanceFailure where something is wrong."""
        return self.all([case])[0]

    def all(self, cases: Iterable[Case]) -> list[Judgement]:
        """Judge every case; raises ConformanceFailure at the end where something is wrong."""
        __tracebackhide__ = True
        judgements = []
        findings: list[Finding] = []
        for case in cases:
            judgement = self._judged(case)
            findings += [one for one in judgement.findings if not any(one is known for known in findings)]
            judgements.append(judgement)
        for finding in unexplained(self.bench):
            self.ledger.count(finding.case, Judgement((finding,)))
            findings.append(finding)
        if findings:
            self._ended = bool(self._losses)
            self.fail(findings)
        return judgements

    def _judged(self, case: Case) -> Judgement:
        """Judge one case, unless it is known what it does to the process, or it has been lost often enough.

        A property-based test runs its failing example again, and smaller ones: the former is answered from memory,
        the latter are not tried, since each might cost the whole time limit.
        """
        if case in self._losses:
            return self._losses[case]
        hazards = hazards_of(self.bench)
        expected = hazards.covers(case)
        spared = expected and not is_wanted(hazards, case, self._tried_hazards)
        if spared:
            self._hazardous = self._hazardous or case
        if self._ended or spared or self._enough():
            self.ledger.left_out += 1
            return Judgement()
        self._tried_hazards += expected
        return self._tried(case, expected=expected)

    def _tried(self, case: Case, *, expected: bool) -> Judgement:
        before = self.bench.losses
        judgement = (judge_hazard if expected else judge_surviving)(self.bench, case)
        self.ledger.count(case, judgement)
        if self.bench.isolated and self.bench.losses > before:
            self._losses[case] = judgement
            if not expected:
                self._unexpected += [finding.outcome for finding in judgement.findings]
        return judgement

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
        row = (clause, operator.name, operator.input.data_type.name)
        known, first = self.ledger.behaviours.get(row, ("", example))
        seen = [*known.split("; "), behaviour] if known else [behaviour]
        self.ledger.behaviours[row] = ("; ".join(dict.fromkeys(seen)), first)
        tally = self.ledger.tallies.setdefault(row, Tally())
        tally.cases = max(1, tally.cases)


def smallest(bench: Bench, finding: Finding) -> Finding:
    """The finding on the smallest case that still shows something wrong.

    A value that is wrong by itself is reduced to a packed tensor of that one element, and then breaks the
    case's value clause; what needs its layout, position or neighbours keeps them, as small as they can be.
    What goes wrong in a packed tensor of as many elements as well, though not in one of a single element, breaks
    ``tensor.position``, whatever the case was about.
    What does not go wrong on a fresh device depends on what ran before, and breaks ``execution.independent``.
    """
    least = _anywhere(bench, _smallest(bench, finding))
    if least.outcome != "fail" or least.clause.startswith("execution."):
        return least
    fresh = bench.fresh()
    try:
        if not judge_case(fresh, least.case).findings:
            title = f"{least.title}, only after other kernels"
            return replace(finding, clause="execution.independent", title=title, suspects=())
        if least.clause == "tensor.output.complete" and least.case.layout_clause is not None:
            count = least.case.operator.input.element_count
            packed = replace(plain(fresh, least.case, least.case.values, count), expectation="oracle")
            if packed.operator != least.case.operator and not judge_case(fresh, packed).findings:
                return replace(least, clause=least.case.layout_clause)  # in a packed tensor all are written
    finally:
        fresh.close()
    return least


def _anywhere(bench: Bench, finding: Finding) -> Finding:
    """The finding in a packed tensor on a fresh device, out of place, where wrong values show there as well."""
    case, count = finding.case, finding.case.operator.input.element_count
    if finding.outcome != "fail" or not finding.wrong or finding.clause != case.layout_clause or count > _MOST_PLAIN:
        return finding
    if finding.clause in ("tensor.position", "tensor.output.complete", "binding.offset"):
        return finding  # a packed tensor has a position, is written and stands at an offset as well
    fresh = bench.fresh()
    try:
        packed = plain(fresh, case, case.values, count)
        found = _again(fresh, replace(packed, layout_clause="tensor.position", expectation="oracle"), "fail")
        return finding if found is None or found.clause != "tensor.position" else _smallest(fresh, found)
    finally:
        fresh.close()


def _smallest(bench: Bench, finding: Finding) -> Finding:
    if finding.settled:
        return finding
    case = finding.case
    for candidate in _single_elements(bench, finding):
        found = _again(bench, candidate, finding.outcome)
        if found is not None:
            return found
    best = finding
    budget, elements = _MOST_SHRINKS, _MOST_SHRUNK_ELEMENTS
    enough = bench.losses + _SHRINKS_WITH_LOSS.get(finding.outcome, _MOST_SHRINKS)  # each costs a process, or the limit
    shrinking = True
    while shrinking and budget > 0 and elements > 0 and bench.losses < enough:
        shrinking = False
        for candidate in _shrunk(case):
            budget -= 1
            elements -= candidate.operator.input.element_count
            found = _again(bench, candidate, finding.outcome)
            if found is not None and found.clause == finding.clause:
                best, case, shrinking = found, candidate, True
                break
            if budget <= 0 or elements <= 0 or bench.losses >= enough:
                break
    return best


def _again(bench: Bench, case: Case, outcome: str) -> Finding | None:
    findings = [finding for finding in judge_case(bench, case).findings if finding.outcome == outcome]
    return findings[0] if findings else None


def _single_elements(bench: Bench, finding: Finding) -> Iterator[Case]:
    case = finding.case
    if finding.clause not in value_clauses(case):
        return
    if case.expectation == "one value":
        limits = np.iinfo(case.data_type.numpy)  # the limits show which integers the bounds became
        for value in finding.suspects:
            yield plain(bench, case, Values.of([limits.min, limits.max, value], case.data_type), 3)
    if case.expectation not in ("oracle", "idempotent", "odd", "contained"):
        return
    for value in finding.suspects:
        yield plain(bench, case, Values.of([value], case.data_type), 1)


def _shrunk(case: Case) -> Iterator[Case]:
    """Simpler variants of a case, the greatest simplification first."""
    source, target = case.operator.input, case.operator.output
    if source.sizes != target.sizes or source.data_type != target.data_type or case.expectation == "one value":
        return
    standard = Placement(in_place=case.placement.in_place)
    if case.placement != standard:
        yield replace(case, placement=standard)
    if source.strides is not None or target.strides is not None:
        yield _resized(case, source.sizes, None, None)
        if source.strides is not None:
            yield _resized(case, source.sizes, None, target.strides)
        if target.strides is not None:
            yield _resized(case, source.sizes, source.strides, None)
    for axis, size in enumerate(source.sizes):
        nearly = size - 1 if size <= _MOST_STEPWISE else size - size // 8
        for smaller in dict.fromkeys((1, size // 2, nearly)):
            if 0 < smaller < size:
                sizes = (*source.sizes[:axis], smaller, *source.sizes[axis + 1 :])
                yield _resized(case, sizes, source.strides, target.strides)


def _resized(
    case: Case, sizes: tuple[int, ...], source: tuple[int, ...] | None, target: tuple[int, ...] | None
) -> Case:
    tensors = {
        "InputTensor": TensorDesc(case.data_type, sizes, source),
        "OutputTensor": TensorDesc(case.data_type, sizes, source if case.placement.in_place else target),
    }
    return case.with_operator(OperatorDesc(case.operator.name, tensors, case.operator.attributes))


def _tensor_text(tensor: TensorDesc) -> str:
    strides = "packed" if tensor.strides is None else f"strides {list(tensor.strides)}"
    return f"{tensor.data_type.name} {list(tensor.sizes)}, {strides}, {tensor.total_size_in_bytes} bytes"


def attribute_text(value: Any) -> str:
    """An attribute as a person reads it, floats with their bits."""
    if value is None:
        return "none"
    if isinstance(value, np.float32):
        return text_with_bits(value)
    if isinstance(value, str):
        return value
    return f"scale {text_with_bits(value.scale)}, bias {text_with_bits(value.bias)}"


def clause_text(tables: Tables, clause: Clause) -> list[str]:
    """The clause with its quotation, source and known disagreements, one line each."""
    source = tables.source(clause.id)
    lines = [f"{clause.id} ({clause.obligation}): {clause.text}"]
    where = f"{source.title} ({source.locale}; {source.revision})"
    lines.append(f'"{clause.quotation.words}", {where}' if clause.quotation else where)
    titles = {item.id: item.title for item in tables.owner(clause.id).sources}
    lines += [f"but {titles[item.source]}: {item.says}" for item in clause.disagreements]
    return lines


def evidence(finding: Finding) -> dict[str, str]:
    """What was asked and what came back: label and text, in the order in which a person wants them."""
    case = finding.case
    source, target = case.operator.input, case.operator.output
    placed = ", in place" if case.placement.in_place else ""
    if source == target:
        told = {"tensors": _tensor_text(source) + placed}
    else:
        told = {"InputTensor": _tensor_text(source), "OutputTensor": _tensor_text(target) + placed}
    told |= {name: attribute_text(value) for name, value in case.operator.attributes.items()}
    return told | dict(finding.details)


def account(tables: Tables, finding: Finding, replay: str) -> str:
    """The full account of a finding: what was asked, what came back, why it is wrong, how to see it again."""
    lines = [f"{finding.case.operator.name} on {finding.case.data_type.name}: {one_line(finding.title)}"]

    def put(label: str, said: str) -> None:
        lines.append(f"  {label:<12} {quoted(said)}")

    for label, said in evidence(finding).items():
        put(label, said)
    for index, line in enumerate(clause_text(tables, tables.clause(finding.clause))):
        put("clause" if index == 0 else "", line)
    put("replay", replay)
    return "\n".join(lines)
