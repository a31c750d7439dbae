"""Histories of an isolated implementation: programs in one message find what judging each step by step finds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.losses import Hazards
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.batches.test_batches import count_messages
from dmlcts.suites.selftest.batches.test_programs import (
    PACKED,
    ByAddress,
    Keeping,
    PastTheEndAtTheThird,
    RefusingNothing,
    RefusingThresholds,
    RememberingRefusals,
    StumblingOverSizes,
    WrongThresholds,
    cases,
    clip,
    history,
)
from dmlcts.suites.selftest.isolation.test_isolation import POSIX
from dmlcts.suites.selftest.judging.scripted import bench

_HOME = "dmlcts.suites.selftest.batches.{}:{}"
_MARK = "DMLCTS_SELFTEST_MARK"


class Right(Reference):
    """Right."""


class EndsAtTheSecond(Reference):
    """A kernel's second dispatch ends the process."""

    def __init__(self) -> None:
        self.ran: set[OperatorDesc] = set()

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if operator in self.ran:
            os.abort()
        self.ran.add(operator)
        super().dispatch(operator, memory, bindings)


class EndsOnce(Reference):
    """The third dispatch of the first process ends it."""

    count = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.count += 1
        mark = Path(os.environ[_MARK])
        if self.count == 3 and not mark.exists():
            mark.touch()
            os.abort()
        super().dispatch(operator, memory, bindings)


class RaisesAtTheThird(Reference):
    """Every third dispatch raises."""

    count = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.count += 1
        if self.count % 3 == 0:
            raise RuntimeError("the third")
        super().dispatch(operator, memory, bindings)


def isolated(backend: type) -> Bench:
    home = backend.__module__.rpartition(".")[2]  # pytest may have imported it by another name
    result = bench(IsolatedBackend(_HOME.format(home, backend.__name__)))
    result.hazards = Hazards()
    return result


def summary(backend: type, some: list[Case], *, dispatches: bool) -> tuple[Any, ...]:
    """What is found, and how often the implementation was asked for a step of a kernel that lives on."""
    opened = isolated(backend)
    calls = count_messages(opened)
    judge = Judge(opened, raising=False)
    seen = judge.all(some, dispatches=dispatches)
    opened.close()
    tallies = {row: (tally.cases, tally.elements, tally.failures) for row, tally in judge.ledger.tallies.items()}
    result = [
        [(finding.clause, finding.outcome, finding.case.expectation) for finding in judgement.findings]
        for judgement in seen
    ]
    return tallies, result, judge.ledger.refused, calls["create"]


@pytest.mark.size("thorough")
def test_right_histories_are_counted_as_step_by_step_without_a_message_for_each_step() -> None:
    together, alone = (summary(Right, cases(), dispatches=literal) for literal in (False, True))
    assert together[:3] == alone[:3]
    assert not any(together[1])
    assert (together[3], alone[3] > len(cases())) == (0, True)


@pytest.mark.parametrize("backend", [RefusingThresholds, WrongThresholds])
@pytest.mark.size("all", thorough=1)
def test_what_is_wrong_with_another_operator_by_itself_is_not_reported_of_a_history(backend: type) -> None:
    some = [case for case in cases() if not case.operator.name.endswith("THRESHOLD")]
    together, alone = (summary(backend, some, dispatches=literal) for literal in (False, True))
    assert together[:3] == alone[:3]
    assert not any(together[1])


@pytest.mark.parametrize("backend", [RefusingNothing, StumblingOverSizes, RememberingRefusals])
def test_what_comes_of_a_description_that_has_to_be_refused_is_found_as_step_by_step(backend: type) -> None:
    some = [history("after a refusal", clip(PACKED))]
    together, alone = (summary(backend, some, dispatches=literal)[:3] for literal in (False, True))
    assert together == alone
    assert bool(alone[1][0]) == (backend is not StumblingOverSizes)  # which other tests report


@pytest.mark.parametrize("backend", [Keeping, ByAddress, PastTheEndAtTheThird, RaisesAtTheThird])
@pytest.mark.parametrize("expectation", ["again", "many times", "beside others", "dispatched again"])
@pytest.mark.size("thorough", brief=2)
def test_a_fault_in_a_history_is_found_as_in_the_same_process(backend: type, expectation: str) -> None:
    case = history(expectation, clip(PACKED))
    apart = summary(backend, [case], dispatches=False)[1][0]
    shared = Judge(bench(backend()), raising=False).all([case])[0].findings
    assert bool(apart) == bool(shared)


@POSIX
@pytest.mark.size("thorough")
def test_a_step_that_ends_the_process_is_found_and_later_histories_are_judged() -> None:
    """The process is lost again where each is judged by itself; what needs no second dispatch is right."""
    some = [history("dispatched again", clip(PACKED)), *(history("after another", clip(PACKED)) for _ in range(3))]
    together, alone = (summary(EndsAtTheSecond, some, dispatches=literal) for literal in (False, True))
    assert together[1] == alone[1]
    assert [bool(item) for item in together[1]] == [True, *(bool(item) for item in alone[1][1:])]
    assert {item[1] for item in together[1][0]} == {"crash"}


@POSIX
@pytest.mark.size("thorough")
def test_a_loss_that_does_not_come_again_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_MARK, str(tmp_path / "ended"))
    case = history("dispatched again", clip(PACKED))
    result = summary(EndsOnce, [case, case], dispatches=False)[1]
    assert [[item[1] for item in part] for part in result] == [["crash"], ["crash"]]
    assert not any(summary(EndsOnce, [case], dispatches=False)[1]), "control: the mark is there"
