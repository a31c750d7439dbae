"""State: kernels on other tensors, all of them alive; and programs, which make, dispatch and close several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dmlcts.specs import OperatorDesc
from dmlcts.suites.batches.notes import Notes
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case, Step
from dmlcts.suites.cases.memory import Arena, Bytes
from dmlcts.suites.cases.outcomes import Execution, Mishap, Refusal
from dmlcts.suites.generation.neighbouring_kernels import on_nearly_the_same_tensors, on_other_tensors, ordinary_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import (
    MEMORY_CLAUSES,
    Array,
    Finding,
    Judgement,
    is_mishap,
    operator_text,
    together,
)
from dmlcts.suites.judging.neighbours import (
    BESIDE_OTHER_TENSORS,
    closed,
    had,
    is_out,
    judge_on_a_fresh_device,
    refused_by_themselves,
    with_own_faults,
)
from dmlcts.suites.judging.outputs import judge_dispatch, judge_oracle, judge_run
from dmlcts.suites.judging.refusals import stopped, stride_clause
from dmlcts.suites.judging.state import with_history

_STATE = ("execution.independent", "execution.repeatable", *MEMORY_CLAUSES)


def judge_beside_other_tensors(bench: Bench, case: Case) -> Judgement:
    """The judgement of a kernel between others of its attributes on other tensors, which ran before and are alive.

    Some were made before it and some after. Each kind of tensors that differ in much has its turn; those that differ
    in one respect stand beside it together, and one by one where something is wrong then. What is wrong with one of
    those, and not by itself, is reported where it is wrong as a case of its own among the tensors next to it.
    """
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    kinds = [[neighbour] for neighbour in filter(bench.obliged, on_other_tensors(subject, case.operator))]
    if near := _near(bench, case):
        kinds.append(near)
    judgements: list[Judgement] = []
    for kind in kinds:
        judgements.append(_reported(bench, case, _between(bench, case, kind)))
        if judgements[-1].refused or judgements[-1].unsupported is not None:
            return judgements[-1]  # nothing was dispatched
        if judgements[-1].findings and len(kind) > 1:
            each = (_reported(bench, case, _between(bench, case, [neighbour])) for neighbour in kind)
            judgements += (candidate for candidate in each if candidate.findings)
            judgements.append(judgements.pop(len(kinds) - 1))  # if it takes all of them, with all
        if any(judgement.findings for judgement in judgements):
            break
    return together(judgements, "execution.independent") if judgements else judge_oracle(bench, case)


def _near(bench: Bench, case: Case) -> list[OperatorDesc]:
    """The descriptions on nearly the same tensors that stand beside a case together: none in place."""
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    nearly = [] if case.placement.in_place else on_nearly_the_same_tensors(subject, case.operator)
    return [*filter(bench.obliged, nearly)]


def _between(bench: Bench, case: Case, kind: Sequence[OperatorDesc]) -> Judgement:
    """The kernel between kernels of some descriptions, one of each made before it and one after; all ran."""
    first = [(bench.create(neighbour), neighbour) for neighbour in kind]
    kernel = bench.create(case.operator)
    last = [(bench.create(neighbour), neighbour) for neighbour in kind]
    if isinstance(kernel, (Refusal, Mishap)):
        for other, _ in had(first + last):
            bench.closed(other)
        return stopped(bench, case, kernel)
    judgement = with_history(bench, case, "execution.independent", kernel, had(first + last))
    return with_own_faults(judgement, refused_by_themselves(bench, case, first))


def _reported(bench: Bench, case: Case, judgement: Judgement) -> Judgement:
    """The judgement; a neighbour that is wrong, but not by itself, becomes a case among its own neighbours."""
    findings: list[Finding] = []
    for finding in judgement.findings:
        of_neighbour = finding.case.operator != case.operator and finding.case.expectation == BESIDE_OTHER_TENSORS
        findings += _beside_its_own_neighbours(bench, finding.case) if of_neighbour else (finding,)
    return replace(judgement, findings=tuple(findings))


def _beside_its_own_neighbours(bench: Bench, case: Case) -> tuple[Finding, ...]:
    """What is wrong with a case beside all that are on nearly its tensors, on a device that has run nothing yet."""
    fresh = bench.fresh()
    try:
        findings = _between(fresh, case, _near(bench, case)).findings
    finally:
        fresh.close()
    return tuple(finding for finding in findings if finding.case.operator == case.operator)


def judge_steps(bench: Bench, case: Case) -> Judgement:
    """Each dispatch of a program is what the oracle says, whatever steps came before it.

    All use one memory, filled anew each time, as in a batch. What is wrong by itself as well is no fault of state: of
    the case's operator it is reported as such; another's own tests report it. A wrong dispatch that is right by
    itself is reported as the last of a program of the steps up to it. A kernel that cannot be had by itself either is
    left out with its steps.
    """
    if not case.steps:
        return judge_oracle(bench, replace(case, expectation="oracle"))
    run = _Running(bench, case)
    for place, step in enumerate(case.steps):
        if not run.goes_on(place, step):
            break
    run.end()
    if run.without and not run.judgements:
        return stopped(bench, replace(case, expectation="oracle", steps=()), run.without[0])
    seen = [judgement for judgement in run.judgements if not judgement.findings]
    executions = tuple(execution for judgement in run.judgements for execution in judgement.executions)
    whole = Judgement(tuple(run.state_findings[:1]), _STATE, sum(judgement.elements for judgement in seen), executions)
    return with_own_faults(whole, run.faults)


class _Running:
    """A program that is being run step by step.

    Args:
        bench: what it runs on.
        case: its case.

    Attributes:
        judgements: those of the dispatches.
        state_findings: what is wrong with its state.
        faults: what is wrong with kernels of the case's operator by themselves.
        without: why kernels were not to be had.
    """

    def __init__(self, bench: Bench, case: Case) -> None:
        self._bench, self._case = bench, case
        self._alive: dict[int, tuple[Any, OperatorDesc]] = {}
        self._memory: Bytes | None = None
        self.judgements: list[Judgement] = []
        self.state_findings: list[Finding] = []
        self.faults: list[Finding] = []
        self.without: list[Refusal | Mishap] = []

    def goes_on(self, place: int, step: Step) -> bool:
        """Do a step; gives whether the next one has to be tried."""
        bench = self._bench
        if step.operator is not None:
            kernel = bench.create(step.operator)
            if not isinstance(kernel, (Refusal, Mishap)):
                self._alive[step.kernel] = (kernel, step.operator)
                return True
            own = self._own(step.operator, Step(step.kernel, None, ordinary_values(bench, step.operator)))
            self.without.append(kernel)
            if not is_out(bench, self._case, own, kernel, self.faults):
                self._note(place, step, stopped(bench, own, kernel))
            return not self.state_findings
        if step.kernel not in self._alive:
            return True
        if step.values is None:
            mishaps = closed(bench, self._case, [self._alive.pop(step.kernel)])
            for mishap in mishaps:
                self._note(place, step, stopped(bench, replace(self._case, expectation="oracle", steps=()), mishap))
            return not mishaps
        kernel, operator = self._alive[step.kernel]
        own = self._own(operator, step)
        judged = self._judged(kernel, own)
        self.judgements.append(judged)
        if not judged.findings:
            return True
        alone = judge_on_a_fresh_device(bench, own).findings
        if not alone:
            self._note(place, step, judged)
        elif operator.name == self._case.operator.name:
            self.faults += (finding for finding in alone[:1] if not is_mishap(finding))
        return not self.state_findings and judged.findings[0].outcome == "fail"

    def end(self) -> None:
        """Close what is left; after a loss nothing is."""
        lost = any(finding.outcome != "fail" for judged in self.judgements for finding in judged.findings)
        for kernel, _ in () if lost else self._alive.values():
            self._bench.closed(kernel)

    def _judged(self, kernel: Any, own: Case) -> Judgement:
        """Dispatch a kernel on the memory that all dispatches use, and judge what comes back."""
        bench = self._bench
        if isinstance(bench, Notes):
            return judge_dispatch(bench, kernel, own, bench.oracle(own.operator))

        def run(arena: Arena) -> Execution | Mishap:
            memory = self._room()[: arena.memory.size]
            arena = arena.poisoned(own)
            memory[:] = arena.memory
            if (mishap := bench.dispatch(kernel, replace(arena, memory=memory))) is not None:
                return mishap
            arena.memory[:] = memory
            history = bench.histories.dispatched(kernel, own.operator)
            if bench.watch is not None:
                bench.watch(own, history)
            return bench.seen(own, arena)

        def repeated(poison: Array) -> Execution | Mishap:
            arena = bench.prepare(own)
            arena.fill_output(own, poison)
            return run(arena)

        return judge_run(bench, own, bench.oracle(own.operator), run, repeated)

    def _room(self) -> Bytes:
        """The memory that all dispatches use."""
        if self._memory is None:
            operators = {step.kernel: step.operator for step in self._case.steps if step.operator is not None}
            placed = [step for step in self._case.steps if step.values is not None]
            self._memory = self._bench.allocate(
                max(step.placement.regions(operators[step.kernel])[1] for step in placed)
            )
        return self._memory

    def _own(self, operator: OperatorDesc, step: Step) -> Case:
        """A dispatch of the program as a case of its own."""
        subject = Subject.of(self._bench.tables.operator(operator.name), operator, self._bench.level)
        clause = subject.in_place_clause if step.placement.in_place else "binding.same-resource"
        if any(tensor.strides is not None for tensor in operator.tensors.values()):
            clause = stride_clause(operator)
        values = subject.scaled_values_clause(operator.attributes)
        return Case(operator, step.values or subject.ones, values, clause, "oracle", step.placement)

    def _note(self, place: int, step: Step, judged: Judgement) -> None:
        """Note what is wrong behind some steps, as a case whose program ends there."""
        steps = self._case.steps[: place + 1]
        several = sum(program_step.operator is not None for program_step in steps) > 1
        clause = "execution.independent" if several else "execution.repeatable"
        case = replace(self._case, layout_clause=clause, steps=steps)
        if step.values is not None:
            own = self._own(self._alive[step.kernel][1], step)
            case = replace(own, layout_clause=clause, expectation="steps", steps=steps)
        step_lines = [
            (f"step {number}", _step_text(program_step, case.operator))
            for number, program_step in enumerate(steps, start=1)
        ]
        for finding in judged.findings[:1]:
            title = f"{finding.title}, the last of {len(steps)} steps"
            details = (*finding.details, *step_lines)
            self.state_findings.append(
                replace(finding, clause=clause, case=case, title=title, suspects=(), details=details)
            )


def _step_text(step: Step, operator: OperatorDesc) -> str:
    if step.operator is not None:
        return f"make kernel {step.kernel}: {operator_text(step.operator, operator)}"
    if step.values is None:
        return f"close kernel {step.kernel}"
    return f"dispatch kernel {step.kernel}{', in place' if step.placement.in_place else ''}"
