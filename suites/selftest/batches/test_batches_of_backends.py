"""Backends that take many steps with one call: each case has the result that it has alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.reference import Array
from dmlcts.suites.selftest.batches.test_isolated_batches import COUNT, PLACE, opened, reported, row
from dmlcts.suites.selftest.batches.test_isolated_programs import Right, summary
from dmlcts.suites.selftest.batches.test_programs import (
    PACKED,
    RefusingNothing,
    RememberingRefusals,
    StumblingOverSizes,
    cases,
    clip,
    history,
)
from dmlcts.suites.selftest.isolation import faulty
from dmlcts.suites.selftest.isolation.test_isolation import POSIX

BATCHING = "ObeysInBatches"


class RightInBatches(faulty.InBatches, Right):
    """Right."""


class RefusingNothingInBatches(faulty.InBatches, RefusingNothing):
    """As the one without batches."""


class StumblingOverSizesInBatches(faulty.InBatches, StumblingOverSizes):
    """As the one without batches."""


class RememberingRefusalsInBatches(faulty.InBatches, RememberingRefusals):
    """As the one without batches."""


class RaisesOnceInBatches(RightInBatches):
    """The process's third dispatch raises."""

    count = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.count += 1
        if self.count == 3:
            raise RuntimeError("the third")
        super().dispatch(operator, memory, bindings)


@pytest.mark.parametrize(
    "order, outcome",
    [
        (-1, None),
        pytest.param(faulty.ABORT, "crash", marks=POSIX),
        (faulty.EXIT, "crash"),
        (faulty.SLACK, "fail"),
        (faulty.LOSE, "device_lost"),
        (faulty.RAISE, "crash"),
    ],
)
@pytest.mark.size("all", brief=2, thorough=4)
def test_a_fault_in_a_batch_is_reported_for_its_case_as_it_is_alone(order: int, outcome: str | None) -> None:
    together = reported(row(order), dispatches=False, backend=BATCHING)
    assert together == reported(row(order), dispatches=True)
    assert [bool(item) for item in together[0]] == [place == PLACE and outcome is not None for place in range(COUNT)]
    assert {item[1] for item in together[0][PLACE]} == ({outcome} if outcome else set())


@pytest.mark.size("thorough")
def test_a_hang_in_a_batch_is_the_case_s() -> None:
    result, _, left_out, *_ = reported(row(faulty.HANG), dispatches=False, seconds=1.0, backend=BATCHING)
    assert [place for place, item in enumerate(result) if item] == [PLACE]
    assert (result[PLACE][0][1], left_out) == ("timeout", 0)


def test_many_lives_take_one_call(tmp_path: Path) -> None:
    log = tmp_path / "steps"
    result, *_ = reported(row(), dispatches=False, backend=BATCHING, log=str(log))
    assert not any(result)
    assert log.read_text() == f"{3 * COUNT}\n", "each is made, dispatched and closed"


@pytest.mark.size("thorough")
def test_a_call_has_64_dispatches_at_most_and_each_call_the_whole_limit(tmp_path: Path) -> None:
    log = tmp_path / "steps"
    many = [case for _ in range(7) for case in row()]
    result, *_ = reported(many, dispatches=False, seconds=1.0, backend=BATCHING, log=str(log), act="wait")
    assert not any(result)
    assert log.read_text().split() == ["192", "192", "36"]


def test_where_a_batch_fails_as_a_whole_each_case_is_dispatched_alone() -> None:
    together = reported(row(faulty.RAISE), dispatches=False, backend=BATCHING, act="raise")
    assert together == reported(row(faulty.RAISE), dispatches=True)


@pytest.mark.size("thorough")
def test_a_device_that_every_batch_loses_is_reported_once_for_each() -> None:
    result, *_ = reported(row(), dispatches=False, backend=BATCHING, act="lose")
    ((clause, outcome, _, settled, again),) = [item for some in result for item in some]
    assert (clause, outcome, settled) == ("execution.independent", "device_lost", True)
    assert again is not None


def test_outcomes_that_are_missing_are_reported() -> None:
    bench = opened(20.0, backend=BATCHING, act="forget")
    (judgement, *others) = Judge(bench, raising=False).all(row())
    bench.close()
    (finding,) = judgement.findings
    assert f"batch gave {3 * COUNT - 1} outcomes for {3 * COUNT} steps" in str(finding)
    assert not any(each.findings for each in others)


def test_histories_in_batches_are_judged_as_step_by_step() -> None:
    together = summary(RightInBatches, cases(), dispatches=False)
    assert together[:3] == summary(Right, cases(), dispatches=True)[:3]
    assert (any(together[1]), together[3]) == (False, 0)


def test_what_runs_behind_a_step_that_raised_is_no_stray_write() -> None:
    some = [history("many times", clip(PACKED)), history("again", clip(PACKED))]
    _, (first, second), *_ = summary(RaisesOnceInBatches, some, dispatches=False)
    assert [outcome for _, outcome, _ in first] == ["crash"]
    assert not second


@pytest.mark.parametrize(
    "backend", [RefusingNothingInBatches, StumblingOverSizesInBatches, RememberingRefusalsInBatches]
)
def test_what_comes_of_a_description_that_has_to_be_refused_is_found_in_batches(backend: type) -> None:
    some = [history("after a refusal", clip(PACKED))]
    alone = summary(backend, some, dispatches=True)[:3]
    assert summary(backend, some, dispatches=False)[:3] == alone
    assert bool(alone[1][0]) == (backend is not StumblingOverSizesInBatches)
