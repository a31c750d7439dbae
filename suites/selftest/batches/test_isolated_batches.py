"""Batches of implementations that take their process with them: each case has the result that it has alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.suites.batches.batch import Ran
from dmlcts.suites.batches.isolated import run_isolated
from dmlcts.suites.batches.plans import Plan, Plans
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Bytes, Masks
from dmlcts.suites.cases.values import Values
from dmlcts.suites.isolation.lives import Life, Unanswered
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.memory import PAGE, SharedMemory, room
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.losses import Hazards, survey
from dmlcts.suites.selftest.batches.test_batches import count_messages
from dmlcts.suites.selftest.isolation import faulty
from dmlcts.suites.selftest.isolation.test_isolation import FAULTY, POSIX, TABLES, ordered

PLACE, COUNT = 7, 20
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="names the pages of Linux")


def opened(seconds: float, number: int | None = None, backend: str = "Obeys", **options: str) -> Bench:
    bench = Bench("isolated", IsolatedBackend(f"{FAULTY}:{backend}", seconds, number), options, TABLES)
    bench.hazards = Hazards()
    return bench


def row(*orders: float, maximum: float = 2000.0) -> list[Case]:
    """Harmless cases, and from a place on those with orders, each of which has others behind it."""
    cases = [ordered(-1.0 - number, sizes=(5 + number,)) for number in range(COUNT)]
    for number, order in enumerate(orders):
        cases[PLACE + 2 * number] = ordered(order, sizes=(5 + number,), maximum=maximum)
    return cases


def reported(
    cases: list[Case],
    *,
    dispatches: bool,
    seconds: float = 20.0,
    number: int | None = None,
    backend: str = "Obeys",
    **options: str,
) -> tuple[Any, ...]:
    """What is said of the cases, as far as it is the same in every process."""
    bench = opened(seconds, number, backend, **options)
    calls = count_messages(bench)
    judge = Judge(bench, raising=False)
    try:
        judgements = judge.all(cases, dispatches=dispatches)
    finally:
        bench.close()
    assert (calls["lives"] > 0) is not dispatches
    findings = [
        [
            (finding.clause, finding.outcome, finding.title, finding.settled, dict(finding.details).get("again"))
            for finding in judgement.findings
        ]
        for judgement in judgements
    ]
    rows = {row: (tally.cases, tally.elements, tally.failures) for row, tally in judge.ledger.tallies.items()}
    return findings, rows, judge.ledger.left_out, judge.ledger.refused, judge.seen.records()


@pytest.mark.parametrize(
    "order, outcome",
    [
        (-1, None),
        pytest.param(faulty.ABORT, "crash", marks=POSIX),
        (faulty.EXIT, "crash"),
        (faulty.QUIT, "crash"),
        pytest.param(faulty.KILL, "resource_error", marks=POSIX),
        (faulty.GARBLE, "crash"),
        pytest.param(faulty.STRAY, "crash", marks=POSIX),
        pytest.param(faulty.NEXT, "crash", marks=POSIX),
        pytest.param(faulty.PEEK, "crash", marks=POSIX),  # which leaves nothing behind, so that pages must be closed
        (faulty.SLACK, "fail"),
        (faulty.LOSE, "device_lost"),
        (faulty.RAISE, "crash"),
        (faulty.SHOUT, None),
        (faulty.POISON, None),
    ],
)
@pytest.mark.size("all", brief=1, thorough=4)
def test_a_fault_in_a_batch_is_reported_for_its_case_as_it_is_alone(order: int, outcome: str | None) -> None:
    cases = row(order)
    together, alone = reported(cases, dispatches=False), reported(cases, dispatches=True)
    assert together == alone
    if order == faulty.POISON:  # the case behind it is lost, and does no harm by itself
        ((clause, *_, again),) = together[0][PLACE + 1]
        assert (clause, again) == (
            "execution.independent",
            "no fault in a fresh process: what ran before it is to blame, or chance",
        )
    else:
        assert [bool(item) for item in together[0]] == [
            place == PLACE and outcome is not None for place in range(COUNT)
        ]
        assert {item[1] for item in together[0][PLACE]} == ({outcome} if outcome else set())


@pytest.mark.size("thorough")
def test_a_crash_at_creation_is_the_case_s() -> None:
    cases = row(-1.0, maximum=faulty.ABORT)
    assert reported(cases, dispatches=False) == reported(cases, dispatches=True)


@pytest.mark.size("thorough")
def test_a_hang_is_the_case_s_and_ends_with_the_limit_of_one_step() -> None:
    result, _, left_out, *_ = reported(row(faulty.HANG), dispatches=False, seconds=1.0)
    assert [place for place, item in enumerate(result) if item] == [PLACE]
    assert (result[PLACE][0][1], left_out) == ("timeout", 0)


@pytest.mark.size("thorough")
def test_slow_steps_have_the_limit_each() -> None:
    bench = opened(1.5, backend="ActsAt", step="each", act="wait")
    assert not any(judgement.findings for judgement in Judge(bench, raising=False).all(row()[:5]))
    bench.close()


@pytest.mark.size("thorough")
def test_a_memory_increase_is_the_case_s() -> None:
    for number, outcomes in ((64 << 20, ["resource_error"]), (1 << 30, [])):
        result, *_ = reported(row(faulty.GROW), dispatches=False, number=number)
        assert [item[1] for item in result[PLACE]] == outcomes
        assert not any(result[:PLACE] + result[PLACE + 1 :])


@POSIX
@pytest.mark.size("thorough")
def test_after_four_losses_the_others_are_left_out() -> None:
    cases = row(*[faulty.ABORT] * 5)
    together, alone = reported(cases, dispatches=False), reported(cases, dispatches=True)
    assert together == alone
    assert together[2] == COUNT - PLACE - 7


@LINUX
def test_a_stray_that_no_case_alone_shows_is_reported_for_the_batch() -> None:
    result, *_ = reported(row(faulty.UNLOCK), dispatches=False)
    ((clause, outcome, _, settled, again),) = [item for some in result for item in some]
    assert (clause, outcome, settled) == ("tensor.output.bounds", "fail", True)
    assert again is not None


@LINUX
@pytest.mark.size("thorough")
def test_what_is_to_run_behind_a_stray_write_finds_its_memory_as_it_was_made() -> None:
    result, *_ = reported(row(faulty.OVERRUN), dispatches=False)
    assert [place for place, item in enumerate(result) if item] == [PLACE]
    assert result[PLACE][0][1] == "crash"


def test_bytes_around_the_memory_of_a_batch_are_looked_at_where_access_cannot_be_forbidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dmlcts.suites.isolation.memory._forbid", lambda mapping, address: False)
    bench = opened(20.0)
    assert bench.lives is not None
    run, spoiled = bench.lives.run, iter([False, True, False])

    def spoiling(whole: Bytes, some: Sequence[Life], work: int) -> Any:
        base_exceptions = run(whole, some, work)
        if next(spoiled):
            lease = SharedMemory.lease_of(whole)
            assert lease is not None
            lease.segment.part(-1, 1)[:] = 0
        return base_exceptions

    monkeypatch.setattr(bench.lives, "run", spoiling)
    seen = [
        [finding for judgement in Judge(bench, raising=False).all(row()) for finding in judgement.findings]
        for _ in range(3)
    ]
    assert [[(item.clause, item.outcome) for item in part] for part in seen] == [
        [],
        [("tensor.output.bounds", "fail")],
        [],
    ]
    bench.close()


def test_all_that_a_child_sees_is_the_same_whatever_is_drawn_but_for_poisoned_outputs() -> None:
    """Nothing of what is expected, nor of what the poison is made with, stands anywhere else."""
    cases = [(example, Plans().of(example.operator, example.placement)) for example in row()]
    output = np.zeros(0, np.bool_)
    for case, plan in cases:
        assert plan is not None
        page = np.zeros(room(plan.size), np.bool_)
        target = plan.regions[case.operator.output_name]
        page[target.offset : target.offset + case.operator.output.total_size_in_bytes] = True
        output = np.concatenate([output, page])
    seen = [shown([(case, plan) for case, plan in cases if plan is not None], Masks(key)) for key in (1, 2)]
    (values, asked), (other, asked_other) = ((whole[: output.size], asked) for whole, asked in seen)
    assert asked == asked_other
    assert np.array_equal(values[~output], other[~output])
    assert values[output].all() and other[output].all()  # noqa: PT018  # zeros are expected, and no byte of them is there
    assert np.mean(values[output] != other[output]) > 0.9


def shown(cases: list[tuple[Case, Plan]], masks: Masks) -> tuple[Bytes, list[dict[str, Any]]]:
    """The memory of a batch as the child finds it, and what it is asked."""
    bench = opened(20.0)
    bench.masks = masks
    asked: list[dict[str, Any]] = []
    values: list[Bytes] = []
    host = bench._device.host
    call = host.call
    assert bench.lives is not None
    run = bench.lives.run

    def looking(whole: Bytes, some: Sequence[Life], work: int) -> Any:
        values.append(whole.copy())
        return run(whole, some, work)

    def calling(do: str, *arguments: Any, **fields: Any) -> Any:
        asked.append({"do": do} | fields)
        return call(do, *arguments, **fields)

    bench.lives.run = looking  # type: ignore[method-assign]
    host.call = calling
    assert all(isinstance(item, Ran) and item.outcome is None for item in run_isolated(bench, cases))
    bench.close()
    return values[0], asked[:-1]


def accepted(maximum: float) -> list[Case]:
    return [
        replace(case, expectation="accepted", clause="clip.support.level-3-0") for case in row(-1.0, maximum=maximum)
    ]


@pytest.mark.parametrize("maximum", [2000.0, pytest.param(faulty.ABORT, marks=POSIX)])
@pytest.mark.size("all", thorough=1)
def test_kernels_that_are_only_made_give_what_they_give_alone(maximum: float) -> None:
    together, alone = (reported(accepted(maximum), dispatches=dispatches) for dispatches in (False, True))
    assert together == alone
    assert [bool(item) for item in together[0]] == [maximum != 2000 and place == PLACE for place in range(COUNT)]


def test_kernels_that_are_only_made_take_one_message() -> None:
    bench = opened(20.0)
    calls = count_messages(bench)
    assert not any(judgement.findings for judgement in Judge(bench).all(accepted(2000.0)))
    assert calls == {"lives": 1}
    bench.close()


def test_a_device_that_is_lost_once_while_kernels_are_made_is_reported(tmp_path: Path) -> None:
    bench = opened(20.0, backend="LostOnce", count=str(tmp_path / "count"))
    judge = Judge(bench, raising=False)
    assert not any(judgement.findings for judgement in judge.all(accepted(faulty.LOSE)))
    (finding,) = judge.ledger.findings
    assert (finding.clause, finding.outcome) == ("execution.independent", "device_lost")
    bench.close()


def test_the_survey_takes_a_few_messages() -> None:
    bench = opened(60.0)
    calls = count_messages(bench)
    hazards = survey(bench)
    assert (bool(hazards), set(calls)) == (False, {"lives"})
    assert hazards.first
    bench.close()


@POSIX
@pytest.mark.size("thorough")
def test_the_survey_finds_what_loses_the_process_behind_what_is_refused() -> None:
    bench = opened(60.0, backend="AbortsOnInt8")
    hazards = survey(bench)
    assert ("ELEMENT_WISE_CLIP", DataType.INT8) in hazards.data_types
    assert not bench.unexplained
    bench.close()


def lives(*orders: float) -> list[Life]:
    return [
        Life(
            ordered(order).operator,
            "five",
            ordered(order).placement.regions(ordered(order).operator)[0],
            PAGE * place,
            1320,
        )
        for place, order in enumerate(orders)
    ]


@POSIX
def test_errors_that_went_with_the_process_are_not_known() -> None:
    bench = opened(20.0)
    memory = bench.allocate(8 * PAGE)
    memory[:] = 0
    assert bench.lives is not None
    ended = bench.lives.run(memory, lives(-1, faulty.RAISE, -1, faulty.ABORT, -1))
    assert [type(base_exception) for base_exception in ended] == [type(None), Unanswered, type(None), WorkerLost]
    again = bench.lives.run(memory, lives(-1, faulty.RAISE, -1, -1))
    assert [base_exception is None for base_exception in again] == [True, False, True, True]
    assert "FloatingPointError" in str(getattr(again[1], "message", ""))
    bench.close()


def test_many_lives_come_in_several_messages_and_forms_are_sent_once() -> None:
    bench = opened(20.0)
    sizes: list[int] = []
    host = bench._device.host
    call = host.call

    def measuring(do: str, *arguments: Any, **fields: Any) -> Any:
        sizes.append(len(str(fields.get("forms", []))))
        return call(do, *arguments, **fields)

    host.call = measuring
    rank = [ordered(-1.0, sizes=(*[1] * 7, 1 + number)) for number in range(150)]
    cases = [
        Case(case.operator, Values.of([float(value)], DataType.FLOAT32), case.clause)
        for value in range(2)
        for case in rank
    ]
    judge = Judge(bench, raising=False)
    assert not any(judgement.findings for judgement in judge.all(cases))
    assert max(sizes) < 1 << 16
    assert sum(size > 100 for size in sizes) < len(sizes)
    assert np.all(np.array(sizes) >= 0)
    bench.close()
