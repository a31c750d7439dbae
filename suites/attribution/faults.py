"""One fault, met by many tests: examined once or twice, recognised after that.

Bringing a finding down to its smallest case costs some hundred dispatches and a device that has run nothing yet. Most
findings of a run show what earlier ones showed, on another operator or type: they are recognised by judging the
smallest known case with their own operator, type and attributes, and that without each of its needs. What is not so
is examined, within a budget for each clause and one for all of them. A value that is wrong in a tensor of its own is
told under its own clause whatever is left of that: the tests that a process ran before must not decide what is accused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from dmlcts.reports.summaries.once import UNEXAMINED
from dmlcts.specs import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.attribution.blame import needing, smallest
from dmlcts.suites.attribution.element import of_its_value
from dmlcts.suites.attribution.needs import confirmed, with_needs
from dmlcts.suites.attribution.shrink import Effort, again, resizable, single_elements
from dmlcts.suites.attribution.simpler import SCALING
from dmlcts.suites.attribution.steadiness import restated
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.findings import Finding

MOST_OF_A_CLAUSE = 3
MOST_IN_ALL = 30

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

    def told(self, finding: Finding) -> Finding:
        """The finding on a small case, under the clause that it breaks: recognised, or else examined."""
        if finding.settled:
            return finding
        with self._bench.steadily():
            return self._told(finding)

    def _told(self, finding: Finding) -> Finding:
        alone = self._alone(finding)
        recognised = self._recognised(finding, alone)
        if recognised is not None:
            return recognised
        if self._left <= 0 or self._examined[finding.clause] >= self._of_a_clause:
            if "said" in dict(finding.details):
                return finding  # a refusal, or what was raised: it needs no smaller case to be understood
            if alone is not None:
                least = needing(self._bench, alone, Effort())
                self._known[least.clause, least.outcome].append(least)
                return least
            stated = restated(self._bench, finding)
            return replace(stated, details=(*stated.details, (UNEXAMINED, _SPENT)))
        self._left -= 1
        least = smallest(self._bench, finding)
        if not least.repeat:  # what chance decides says nothing of the clause: its next finding may be of another kind
            self._examined[finding.clause] += 1
        self._known[finding.clause, finding.outcome].append(least)
        if least.clause != finding.clause:
            self._known[least.clause, least.outcome].append(least)
        return least

    def _recognised(self, finding: Finding, alone: Finding | None) -> Finding | None:
        """The finding, where it has the needs of a known fault."""
        if alone is not None:
            alone = of_its_value(self._bench, alone)
            return self._confirmed(alone, [one for one in self._known[alone.clause, alone.outcome] if _is_alone(one)])
        for fault in self._known[finding.clause, finding.outcome]:
            if fault.settled or _is_alone(fault):
                continue
            moved = transplanted(fault, finding)
            found = None if moved is None else again(self._bench, moved, finding.outcome)
            told = None if found is None or found.clause != fault.clause else self._confirmed(found, [fault])
            if told is not None:
                return told
        return None

    def _alone(self, finding: Finding) -> Finding | None:
        """The first value of the finding that is wrong in a packed tensor of its own; ``None`` where none is."""
        if finding.outcome != "fail":
            return None
        tried = (again(self._bench, one, finding.outcome) for one in single_elements(self._bench, finding))
        return next((found for found in tried if found is not None), None)

    def _confirmed(self, found: Finding, faults: list[Finding]) -> Finding | None:
        """A finding that has the needs of one of the faults."""
        for needs in dict.fromkeys(fault.needs for fault in faults):
            seen = confirmed(self._bench, found, needs)
            if seen is not None:
                return with_needs(seen)
        return None


def faults_of(bench: Bench) -> Faults:
    """The faults that were found on the bench so far."""
    if bench.faults is None:
        bench.faults = Faults(bench)
    found: Faults = bench.faults
    return found


def _is_alone(fault: Finding) -> bool:
    """Whether a fault shows in a single element, by its value alone."""
    return fault.case.operator.output.element_count == 1 and fault.case.layout_clause is None


def transplanted(fault: Finding, finding: Finding) -> Case | None:
    """A fault's smallest case with the operator, the type, the attributes and the values of another finding."""
    case, known = finding.case, fault.case
    if known.expectation != case.expectation or not resizable(known) or not resizable(case) or known.beside:
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
        case, operator=operator, layout_clause=known.layout_clause, placement=known.placement, recipe=None,
    )  # fmt: skip
