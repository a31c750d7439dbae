"""Drawn programs find faults of state that need several steps, and a failure is the shortest program that shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.documents.writing import dump_yaml, failure_document
from dmlcts.reports.views.dxdispatch import DxDispatchError, model
from dmlcts.specs import OperatorDesc, Region, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.case import Case, Step
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.families.family import Family, family_of, functions_by_clause
from dmlcts.suites.generation.drawn.programs import Drawn, drawn_programs, shortest
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.judging.judge import ConformanceFailure, Judge
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.replay import load_case, replay
from dmlcts.suites.selftest.judging.test_judging import bench

FAMILY = "tensors/test_drawn_programs.py"


def family() -> Family:
    return family_of(PurePosixPath(FAMILY))


class Counted(Kernel):
    """A kernel whose device knows that it is alive."""

    device: Any

    def __init__(self, device: Reference, operator: OperatorDesc) -> None:
        super().__init__(device, operator)
        self.ran = 0

    def dispatch(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.ran += 1
        self.device.now = self
        super().dispatch(memory, bindings)

    def close(self) -> None:
        self.device.alive.remove(self)
        self.device.closings += 1
        super().close()


class Counting(Reference):
    """The control: it counts its kernels, and nothing is wrong with it."""

    def __init__(self) -> None:
        self.alive: list[Counted] = []
        self.closings = 0
        self.now: Counted | None = None

    def create(self, operator: OperatorDesc) -> Kernel:
        made = Counted(self, super().create(operator).operator)
        self.alive.append(made)
        return made


class ThirdAnswersAsTheFirst(Counting):
    """Of three kernels of an operator that are alive, the third one has the attributes of the first."""

    def create(self, operator: OperatorDesc) -> Kernel:
        made = super().create(operator)
        first = self.alive[0].operator
        if len(self.alive) == 3 and first.name == operator.name:
            made.operator = OperatorDesc(operator.name, operator.tensors, first.attributes)
        return made


class SecondDispatchAfterAClosing(Counting):
    """Once a kernel was closed, the second dispatch of another one writes zeros."""

    def write(self, memory: Array, region: Region, tensor: Any, values: Array) -> None:
        wrong = self.now is not None and self.now.ran == 2 and self.closings
        super().write(memory, region, tensor, np.zeros_like(values) if wrong else values)


FAULTS = [
    (ThirdAnswersAsTheFirst, ["create", "create", "create", "dispatch"]),
    (SecondDispatchAfterAClosing, ["close", "create", "create", "dispatch", "dispatch"]),
]


def acts(case: Case) -> list[str]:
    return [next(iter(step.to_json())) for step in case.steps]


def judged(backend: Reference, data_type: str = "FLOAT32") -> Judge:
    """What judged the module alone, on CLIP."""
    settings = Settings.read(operators=["CLIP"], data_types=[data_type], profile="full")
    (probe,) = family().selected(settings, settings.tables.operator("CLIP"))
    on = bench(backend)
    attempt = probe.attempt(on, settings.subject(probe.table, probe.signature, on.level))
    assert attempt.error is None or isinstance(attempt.error, ConformanceFailure), attempt.error
    assert not attempt.judge.ledger.is_empty
    return attempt.judge


def findings_of(backend: Reference, data_type: str = "FLOAT32") -> list[Finding]:
    """What the module alone finds on CLIP."""
    return list(judged(backend, data_type).ledger.findings)


@pytest.mark.parametrize("fault, steps", FAULTS)
@pytest.mark.parametrize("data_type", ["FLOAT32", "INT8"])
def test_a_fault_of_several_steps_is_reported_as_the_shortest_program(
    fault: type[Counting], steps: list[str], data_type: str
) -> None:
    assert findings_of(Counting(), data_type) == [], "the control"
    (finding,) = findings_of(fault(), data_type)
    case = finding.case
    assert finding.clause == "execution.independent"
    assert sorted(acts(case)) == steps
    assert acts(case)[-1] == "dispatch"
    assert case.placement == Placement(), "the usual place, since none is needed"
    for place in range(len(steps)):  # without any one of them nothing is wrong
        fewer = [step for number, step in enumerate(case.steps) if number != place]
        kernels = {step.kernel for step in fewer if step.operator is not None}
        whole = Case(
            case.operator,
            case.values,
            case.clause,
            case.layout_clause,
            "steps",
            steps=tuple(step for step in fewer if step.kernel in kernels),
        )
        assert not judge_case(bench(fault()), whole).findings, place


class SecondDispatch(Counting):
    """Each kernel's second dispatch writes zeros."""

    def write(self, memory: Array, region: Region, tensor: Any, values: Array) -> None:
        again = self.now is not None and self.now.ran == 2
        super().write(memory, region, tensor, np.zeros_like(values) if again else values)


def test_a_fault_of_one_kernel_is_none_of_others() -> None:
    judge = judged(SecondDispatch())
    (finding,) = judge.ledger.findings
    assert (finding.clause, acts(finding.case)) == ("execution.repeatable", ["create", "dispatch", "dispatch"])
    failures = {row[0]: tally.failures for row, tally in judge.ledger.tallies.items() if tally.failures}
    assert list(failures) == ["execution.repeatable"], "also of programs of several kernels"
    right = judged(Counting())
    assert not any(tally.failures for tally in right.ledger.tallies.values()), "the control"


class Wrong(Counting):
    """Every dispatch writes zeros: no fault of state."""

    def write(self, memory: Array, region: Region, tensor: Any, values: Array) -> None:
        super().write(memory, region, tensor, np.zeros_like(values))


def test_what_is_wrong_by_itself_is_no_fault_of_state() -> None:
    findings = findings_of(Wrong())
    assert findings
    assert not any(finding.case.steps or finding.clause.startswith("execution.") for finding in findings)


@pytest.mark.parametrize("fault, steps", FAULTS)
def test_the_failure_file_is_replayed(tmp_path: Path, fault: type[Counting], steps: list[str]) -> None:
    (finding,) = findings_of(fault())
    record = failure_of("t.py::t", load_tables(), finding, Settings.read(results=str(tmp_path)))
    path = tmp_path / record.file
    path.write_text(dump_yaml(failure_document(record, "0")), encoding="utf-8")
    case = load_case(path, load_tables())
    assert case == finding.case
    again = replay(bench(fault()), case, "dmlcts replay")
    assert again.failed
    assert f"step {len(steps)}" in again.text
    assert not replay(bench(Counting()), case, "dmlcts replay").failed, "the control"
    with pytest.raises(DxDispatchError, match="program of steps"):
        model(case.to_json())


@pytest.mark.parametrize(
    "steps, cause",
    [
        ([{"create": 0}], "steps lacks"),
        ([{"close": 0}], "a step of case.steps is none"),
        ([{"dispatch": 0, "values": {}, "placement": Placement().to_json()}], "a step of case.steps is none"),
        ([{"rest": 0}], "a step of case.steps is none"),
        ({}, "case.steps is not a list"),
        ([{"close": 0}] * 65, "case.steps is not a list"),
    ],
)
def test_steps_that_no_run_wrote_are_refused(steps: Any, cause: str) -> None:
    (finding,) = findings_of(SecondDispatch())
    written = finding.case.to_json()
    assert Case.from_json(written) == finding.case, "the control"
    with pytest.raises(UsageError, match=cause):
        Case.from_json({**written, "steps": steps})


def test_a_step_that_no_memory_holds_is_not_replayed(tmp_path: Path) -> None:
    (finding,) = findings_of(SecondDispatch())
    first = finding.case.steps[1]
    assert first.values is not None
    placed = Step(first.kernel, None, first.values, Placement(front=1 << 30))
    for steps, refused in [(finding.case.steps, False), ((finding.case.steps[0], placed, first), True)]:
        case = replace(finding.case, steps=steps)
        record = failure_of("t.py::t", load_tables(), replace(finding, case=case), Settings.read(results=str(tmp_path)))
        path = tmp_path / record.file
        path.write_text(dump_yaml(failure_document(record, "0")), encoding="utf-8")
        with pytest.raises(UsageError, match="bytes of memory") if refused else contextlib.nullcontext():
            load_case(path, load_tables())


def test_quick_draws_none() -> None:
    clip = load_tables().operator("CLIP")
    there = {}
    for name in PROFILES:
        settings = Settings.read(operators=["CLIP"], profile=name)
        listed = any(test.startswith(FAMILY) for test in functions_by_clause(settings).get("execution.independent", []))
        there[name] = (
            bool(family().operators(settings)),
            next(family().selected(settings, clip), None) is not None,
            listed,
        )
    assert there == {"quick": (False,) * 3, "full": (True,) * 3, "certification": (True,) * 3}


def test_programs_follow_from_the_seed_and_can_be_done() -> None:
    first = drawn_programs(0, 60)
    assert len(first) == 60
    drawn_programs.cache_clear()
    assert (drawn_programs(0, 60), drawn_programs(1, 60) == first) == (first, False)
    for program in first:
        alive: set[int] = set()
        for step in program:
            assert (step.kernel in alive) == (step.act != "create")
            alive ^= {step.kernel} if step.act != "dispatch" else set()
    assert max(sum(step.act == "create" for step in program) for program in first) > 3


def test_the_shortest_program_is_one_of_those_that_show_it() -> None:
    def closes_a_kernel_that_ran(program: Drawn) -> bool:
        ran = {step.kernel for step in program if step.act == "dispatch"}
        return any(step.act == "close" and step.kernel in ran for step in program)

    least = shortest(closes_a_kernel_that_ran, 0, 60)
    assert least is not None
    assert [step.act for step in least] == ["create", "dispatch", "close"]
    assert shortest(lambda program: False, 0, 60) is None
