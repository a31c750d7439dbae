"""A kernel is a function of what is bound to it, whatever was made, dispatched and closed before: in drawn programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case, Step
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.placement import Placement, aliases_of
from dmlcts.suites.cases.values import Array, Streams
from dmlcts.suites.conformance.tensors.describing import plane
from dmlcts.suites.generation.drawn.programs import Drawn, DrawnStep, drawn_programs, shortest
from dmlcts.suites.generation.neighbouring_kernels import neighbours, on_nearly_the_same_tensors, ordinary_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, turned_values
from dmlcts.suites.judging.judge import ConformanceFailure, Judge
from dmlcts.suites.judging.outputs import expected_outputs
from dmlcts.suites.running.markers import checks

_SIZES = (3, 4)
_LEAST = 80  # programs of a signature
_MOST_TRIED = 300  # shorter programs, of one that went wrong
_ROLLED = 5


@checks("execution.independent", "execution.repeatable", programs=True)
def test_drawn_programs(subject: Subject, judge: Judge) -> None:
    """Kernels of several descriptions are made, dispatched in any order and closed; a failure is a shortest program."""
    count = subject.profile.programs
    own = signatures(subject.table).index(subject.signature)
    share = min(len(signatures(subject.table)), max(1, count // _LEAST))
    made = _Made(subject, judge.bench)
    cases = dict.fromkeys(made.case(program) for program in drawn_programs(subject.seed, count)[own % share :: share])
    wrong: set[Case] = set()
    try:
        judge.all(
            (case for case in cases if case.steps),
            lambda case, judged: wrong.update([case] if any(finding.case.steps for finding in judged.findings) else []),
        )
    except ConformanceFailure as failure:
        least = _Least(judge.bench, made, wrong)
        shortest_finding = least.finding(subject.seed, count) if wrong else None
        if shortest_finding is None:
            raise
        for clause in {"execution.independent", "execution.repeatable"} - {shortest_finding.clause}:
            judge.ledger.rebook(clause, shortest_finding.clause)
        judge.fail([shortest_finding, *(finding for finding in failure.findings if not finding.case.steps)])


class _Made:
    """Makes cases of drawn programs.

    Args:
        subject: whose kernels are made, beside others.
        bench: for its level and its oracles.
    """

    def __init__(self, subject: Subject, bench: Bench) -> None:
        attributes = subject.revealing()
        operator = subject.describe(plane(subject, *_SIZES), attributes)
        clause = subject.values_clause(attributes)
        self._first = Case(operator, ordinary_values(bench, operator), clause, "execution.independent", "steps")
        self._bench = bench
        self._values: dict[tuple[OperatorDesc, int], Streams] = {}
        self._kernels = list(self._descriptions(subject))

    def _descriptions(self, subject: Subject) -> Iterator[OperatorDesc]:
        """The subject's own, then by turns those with other attributes, on other tensors, of other operators."""
        own = self._first.operator
        beside = neighbours(self._bench, self._first)
        alike = [
            subject.describe(own.output.sizes, subject.attributes()),
            *(operator for operator in beside if operator.name == own.name),
        ]
        others = [operator for operator in beside if operator.name != own.name]
        moved = on_nearly_the_same_tensors(subject, own)
        turns = (operator for turn in zip_longest(alike, moved, others) for operator in turn if operator is not None)
        return (
            description
            for description in dict.fromkeys([own, *turns])
            if self._bench.obliged(description) and self._is_settled(description)
        )

    def _is_settled(self, operator: OperatorDesc) -> bool:
        """Whether the pages say what comes of a description."""
        case = Case(operator, ordinary_values(self._bench, operator), self._first.clause)
        try:
            expected_outputs(self._bench.oracle(operator), case, Arena.prepare(case).inputs)
        except Unconstrained:
            return False
        return True

    def case(self, program: Drawn) -> Case:
        """The case of a program up to its last dispatch; without steps where it has none."""
        operators: dict[int, OperatorDesc] = {}
        steps: list[Step] = []
        length = max((place + 1 for place, drawn_step in enumerate(program) if drawn_step.act == "dispatch"), default=0)
        for step in program[:length]:
            if step.act == "create":
                operators[step.kernel] = self._kernels[step.choice % len(self._kernels)]
                steps.append(Step(step.kernel, operators[step.kernel]))
            elif step.act == "close":
                steps.append(Step(step.kernel))
            else:
                steps.append(self._dispatch(step, operators[step.kernel]))
        return replace(self._first, steps=tuple(steps))

    def _dispatch(self, step: DrawnStep, operator: OperatorDesc) -> Step:
        aliases = aliases_of(self._bench.tables.operator(operator.name), operator)
        places = [Placement(), Placement(output_first=True), Placement(front=1040, gap=48), Placement(slack=16)]
        places.insert(2, Placement(in_place=True, alias=aliases[0]) if aliases else Placement(inputs_turned=True))
        turn = step.choice % len(_TURNS)
        key = (operator, turn)
        if key not in self._values:
            case = Case(operator, ordinary_values(self._bench, operator), self._first.clause)
            self._values[key] = turned_values(case, _TURNS[turn])
        return Step(step.kernel, None, self._values[key], places[step.place % len(places)])


_TURNS: list[Callable[[Array], Array]] = [
    lambda values: values,
    lambda item: item[::-1],
    lambda entry: np.roll(entry, _ROLLED),
    lambda element: np.roll(element[::-1], 1),
]


class _Least:
    """Looks for a shortest program that goes wrong, each on a device that has run nothing yet.

    Args:
        bench: gives such devices.
        made: makes the cases.
        wrong: those of the drawn programs that went wrong, where others had run.
    """

    def __init__(self, bench: Bench, made: _Made, wrong: set[Case]) -> None:
        self._bench, self._made, self._wrong = bench, made, wrong
        self._known: dict[Case, Finding | None] = {}
        self._last: Finding | None = None

    def finding(self, seed: int, count: int) -> Finding | None:
        """What the shortest program shows, ``None`` where none goes wrong on such a device."""
        with self._bench.steadily():
            least = shortest(self._shows, seed, count)
        least_finding = None if least is None else self._known[self._made.case(least)]
        return None if least_finding is None else replace(least_finding, needs=("history",), settled=True)

    def _shows(self, program: Drawn) -> bool:
        case = self._made.case(program)
        if case not in self._known:
            begun = any(self._known.values())
            if not case.steps or len(self._known) >= _MOST_TRIED or not (begun or case in self._wrong):
                return False
            self._known[case] = self._found(case)
        return self._known[case] is not None

    def _found(self, case: Case) -> Finding | None:
        fresh = self._bench.fresh()
        try:
            findings = judge_case(fresh, case).findings
        finally:
            fresh.close()
        return next((finding for finding in findings if finding.case.steps and finding.outcome == "fail"), None)
