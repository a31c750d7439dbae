"""A kernel made, dispatched and closed in one message has the result that it has in three."""

from __future__ import annotations

import time

import pytest

from dmlcts.suites.cases.outcomes import Execution, Mishap, Outcome, Refusal
from dmlcts.suites.isolation.process import MOST_STEPS
from dmlcts.suites.selftest.isolation.test_isolation import HARMLESS, POSIX, opened, ordered, step_by_step

STEPS = ("create", "dispatch", "close")
ABORTS = pytest.param("abort", marks=POSIX)


def summary_of(outcome: Outcome) -> tuple[object, ...]:
    """An outcome as far as it is the same in every process."""
    if isinstance(outcome, Mishap):
        return (type(outcome), outcome.outcome, outcome.title, outcome.text.split("\n")[0])
    return (type(outcome), *((outcome.text, outcome.obliged) if isinstance(outcome, Refusal) else ()))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("act", ["refuse", "raise", "lose", "nothing", ABORTS])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.size("thorough", brief=1)
def test_each_step_gives_the_same_at_once_and_one_by_one(step: str, act: str) -> None:
    bench = opened("ActsAt", step=step, act=act)
    try:
        assert bench.at_once(HARMLESS)
        at_once, losses = bench.run(HARMLESS), bench.losses
        assert summary_of(at_once) == summary_of(step_by_step(bench, HARMLESS))
        assert bench.losses == 2 * losses
        assert isinstance(at_once, Execution) == (act == "nothing")
        assert isinstance(at_once, Refusal) == ((act, step) == ("refuse", "create"))
    finally:
        bench.close()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.size("thorough")
def test_a_hang_in_any_step_ends_with_the_limit_of_one(step: str) -> None:
    bench = opened("ActsAt", 1.5, step=step, act="hang")
    try:
        started = time.monotonic()
        outcome = bench.run(HARMLESS)
        assert isinstance(outcome, Mishap)
        assert outcome.outcome == "timeout"
        assert time.monotonic() - started < 1.5 * MOST_STEPS + 20, "and not with its end"
    finally:
        bench.close()


@pytest.mark.size("thorough")
def test_each_step_has_the_whole_limit() -> None:
    bench = opened("ActsAt", 1.5, step="each", act="wait")
    try:
        started = time.monotonic()
        assert isinstance(bench.run(HARMLESS), Execution)
        assert time.monotonic() - started > 1.5, "longer than one step may take"
    finally:
        bench.close()


def test_large_memories_are_dispatched_step_by_step() -> None:
    bench = opened()
    try:
        assert not bench.at_once(ordered(-1.0, sizes=(1 << 20,)))
        assert isinstance(bench.run(ordered(-1.0, sizes=(1 << 20,))), Execution)
    finally:
        bench.close()
