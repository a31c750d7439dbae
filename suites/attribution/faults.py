"""One fault, shown by many tests: examined once or twice, recognised after that.

Bringing a finding down to its smallest case costs some hundred dispatches and a device that has run nothing yet. Most
findings of a run show what earlier ones showed, on another operator or type: they are recognised by judging the
smallest known case with their own operator, type and attributes, and that without each of its needs. What is not so
is examined, within a budget for each clause and one for all of them. A value that is wrong in a tensor of its own is
reported under its own clause whatever is left of that: what is accused must not depend on the tests that a process ran
before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import replace

from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.attribution.blame import needing, smallest
from dmlcts.suites.attribution.element import of_its_value
from dmlcts.suites.attribution.inputs import Tried, is_of_one_input, ranged
from dmlcts.suites.attribution.needs import confirmed, with_needs
from dmlcts.suites.attribution.positions import PLACES
from dmlcts.suites.attribution.shrink import Effort, again, judged, resizable, single_elements
from dmlcts.suites.attribution.simpler import SCALING, scaled_clauses, subject_of, without_scale_bias
from dmlcts.suites.attribution.steadiness import restated
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.findings import Finding

MOST_OF_A_CLAUSE = 3
MOST_IN_ALL = 30

_OF_EXTENT = {"count", "shape", "rank", *PLACES}

_SPENT = "this is the case as a test met it: what a run spends on smaller ones went to the faults found before"


class Faults:
    """The faults that were found on one bench.

    Args:
        bench: what is judged.
        of_a_clause: how many findings of one clause are examined.
        in_all: how many are examined at all.
    """

    def __init__(self, bench: Bench, of_a_clause: int = MOST_OF_A_CLAUSE, in_all: int = MOST_IN_ALL) -> None:
        self._bench = bench
        self._of_a_clause = of_a_clause
        self._left = in_all
        self._examined: Counter[str] = Counter()
        self._known: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        self._ranges: dict[tuple[str, Hashable], tuple[Finding, Tried]] = {}

    def reported(self, finding: Finding) -> Finding:
        """The finding on a small case, under the clause that it breaks: recognised, or else examined."""
        if finding.settled:
            return finding
        with self._bench.steadily():
            return self._reported(finding)

    def _reported(self, finding: Finding) -> Finding:
        alone = self._alone(finding)
        known = self._shown_already(alone)
        if known is not None:
            return known
        recognised = self._recognised(finding, alone)
        if recognised is not None:
            return self._ranged(recognised)
        if self._left <= 0 or self._examined[finding.clause] >= self._of_a_clause:
            if "said" in dict(finding.details):
                return finding  # a refusal, or what was raised: it needs no smaller case to be understood
            if alone is not None:
                least = self._ranged(self._explained(needing(self._bench, alone, Effort())))
                self._known[least.clause, least.outcome].append(least)
                return least
            stated = self._explained(restated(self._bench, finding))
            return stated if stated.because else replace(stated, details=(*stated.details, (UNEXAMINED, _SPENT)))
        self._left -= 1
        least = self._ranged(self._explained(smallest(self._bench, finding)))
        if not least.repeat:  # what chance decides says nothing of the clause: its next finding may be of another kind
            self._examined[finding.clause] += 1
        self._known[finding.clause, finding.outcome].append(least)
        if least.clause != finding.clause:
            self._known[least.clause, least.outcome].append(least)
        return least

    def _shown_already(self, alone: Finding | None) -> Finding | None:
        """What was shown of the same operator, type and attributes, where the value is among those that it stands for.

        That needs no dispatch: all inputs of that range are known to be wrong.
        """
        if alone is None or not is_of_one_input(alone):
            return None
        shown, seen = self._ranges.get((alone.clause, alone.case.operator.kind), (None, None))
        return shown if seen is not None and seen.spans(alone.case.values.first.array(1)[0]) else None

    def _ranged(self, least: Finding) -> Finding:
        """A wrong value with the range of the inputs that are wrong; found once for operators without numbers."""
        known = self._shown_already(least)
        key = (least.clause, least.case.operator.kind)
        if known is not None or key in self._ranges or not is_of_one_input(least):
            return known or least
        if least.because or _has_numbers(least.case.operator):
            return least
        shown, seen = ranged(self._bench, least)
        if shown.needs != least.needs:  # at another input: what is needed has to be seen there as well
            there = confirmed(self._bench, shown, least.needs)
            shown = least if there is None else with_needs(there)
        self._ranges[key] = shown, seen
        return shown

    def _recognised(self, finding: Finding, alone: Finding | None) -> Finding | None:
        """The finding, where it has the needs of a known fault."""
        if alone is not None:
            alone = of_its_value(self._bench, alone)
            known = [fault_alone for fault_alone in self._known[alone.clause, alone.outcome] if _is_alone(fault_alone)]
            match = self._confirmed(alone, known)
            return None if match is None else self._explained(match)
        for fault in self._known[finding.clause, finding.outcome]:
            if fault.settled or _is_alone(fault):
                continue
            moved = transplanted(fault, finding)
            match = None if moved is None else again(self._bench, moved, finding.outcome)
            repetition = None if match is None or match.clause != fault.clause else self._confirmed(match, [fault])
            if repetition is not None:
                return replace(repetition, because=fault.because)
        return None

    def _explained(self, finding: Finding) -> Finding:
        """The finding, with the clause of a known fault of its operator that explains it, and with that fault's needs.

        A known fault explains it where its smallest case goes wrong with the finding's type, attributes and values,
        and where the finding's case comes out right without each thing that the fault needs. A value that is wrong by
        itself in a test of something else is explained by what is known of the operator's values.
        """
        if finding.because or finding.outcome != "fail" or finding.repeat or not finding.wrong:
            return finding
        if _is_alone(finding):
            return self._explained_by_its_value(finding)
        for fault in self._others(finding):
            implied = _OF_EXTENT & set(fault.needs) if not finding.needs else set(fault.needs) - set(finding.needs)
            moved = None if implied or not fault.needs else transplanted(fault, finding, whatever=True)
            if moved is None or again(self._bench, moved, "fail") is None:
                continue  # any fault that needs strides is gone with a single element as well
            seen = confirmed(self._bench, replace(finding, details=_without_needs(finding)), fault.needs)
            if seen is not None:
                return replace(with_needs(seen), because=fault.clause)
        return finding

    def _explained_by_its_value(self, finding: Finding) -> Finding:
        """A single wrong element, in a test of types and ranks or of ScaleBias that its value does not hang on."""
        bench, case = self._bench, finding.case
        subject, attributes = subject_of(bench, case), case.operator.attributes
        plain = {name: None if isinstance(value, ScaleBias) else value for name, value in attributes.items()}
        clause = subject.values_clause(plain)
        if clause == finding.clause or SCALING in finding.needs:
            return finding
        scaled = case.clause in scaled_clauses(subject.table) and plain != attributes
        if not scaled and bench.tables.clause(finding.clause).subject != "descriptions":
            return finding
        for fault in self._others(finding):
            if fault.clause == clause and _is_alone(fault) and fault.case.data_type is case.data_type:
                wrong = not scaled or any(
                    judged(bench, unscaled_case).findings for unscaled_case in without_scale_bias(bench, finding)
                )
                if wrong and (not fault.needs or confirmed(bench, finding, fault.needs) is not None):
                    return replace(finding, because=clause)
        return finding

    def _others(self, finding: Finding) -> list[Finding]:
        """The faults of the finding's operator that break other clauses, one for each clause and what it needs."""
        name = finding.case.operator.name
        others: dict[tuple[str, tuple[str, ...], DataType | None], Finding] = {}
        for known_fault in (fault for faults in self._known.values() for fault in faults):
            stands = (
                known_fault.outcome == "fail"
                and known_fault.wrong
                and not (known_fault.because or known_fault.settled or known_fault.repeat)
            )
            if stands and known_fault.clause != finding.clause and known_fault.case.operator.name == name:
                kind = known_fault.case.data_type if _is_alone(known_fault) else None
                others.setdefault((known_fault.clause, known_fault.needs, kind), known_fault)
        return sorted(others.values(), key=lambda other: len(other.needs))

    def _alone(self, finding: Finding) -> Finding | None:
        """The first value of the finding that is wrong in a packed tensor of its own; ``None`` where none is."""
        if finding.outcome != "fail":
            return None
        tried = (again(self._bench, single, finding.outcome) for single in single_elements(self._bench, finding))
        return next((candidate for candidate in tried if candidate is not None), None)

    def _confirmed(self, finding: Finding, faults: list[Finding]) -> Finding | None:
        """A finding that has the needs of one of the faults."""
        for needs in dict.fromkeys(fault.needs for fault in faults):
            seen = confirmed(self._bench, finding, needs)
            if seen is not None:
                return with_needs(seen)
        return None


def faults_of(bench: Bench) -> Faults:
    """The faults that were found on the bench so far."""
    if bench.faults is None:
        bench.faults = Faults(bench)
    faults: Faults = bench.faults
    return faults


def _has_numbers(operator: OperatorDesc) -> bool:
    """Whether what is wrong may hang on a number among the attributes: each would have a range of its own."""
    return any(value is not None and not isinstance(value, str) for value in operator.attributes.values())


def _without_needs(finding: Finding) -> tuple[tuple[str, str], ...]:
    return tuple((label, text) for label, text in finding.details if label != "needs")


def _is_alone(fault: Finding) -> bool:
    """Whether a fault shows in a single element, by its value alone."""
    return fault.case.operator.output.element_count == 1 and fault.case.layout_clause is None


def transplanted(fault: Finding, finding: Finding, *, whatever: bool = False) -> Case | None:
    """A fault's smallest case with the operator, the type, the attributes and the values of another finding.

    Args:
        fault: what is known.
        finding: the other one.
        whatever: also where the two are judged by different expectations; then by the fault's.
    """
    case, known = finding.case, fault.case
    judged_alike = whatever or known.expectation == case.expectation
    if not judged_alike or not resizable(known) or not resizable(case) or known.beside:
        return None
    if known.operator.tensors.keys() != case.operator.tensors.keys():
        return None
    tensors = {}
    for name, tensor in known.operator.tensors.items():
        total = TensorDesc(tensor.data_type, tensor.sizes, tensor.strides).total_size_in_bytes
        excess = tensor.total_size_in_bytes - total
        data_type = case.operator.tensors[name].data_type
        own = TensorDesc(data_type, tensor.sizes, tensor.strides)
        tensors[name] = TensorDesc(data_type, tensor.sizes, tensor.strides, own.total_size_in_bytes + excess)
    attributes = dict(case.operator.attributes)
    if SCALING not in fault.needs:
        attributes |= {name: None for name, value in attributes.items() if isinstance(value, ScaleBias)}
    operator = OperatorDesc(case.operator.name, tensors, attributes)
    return replace(
        case,
        operator=operator,
        layout_clause=known.layout_clause,
        placement=known.placement,
        recipe=None,
        expectation=known.expectation,
        clause=known.clause if whatever else case.clause,
    )
