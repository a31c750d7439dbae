"""What loses its process, looked at closely: the survey, when a test stops asking, and what is said of a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap, Outcome, Refusal
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.judging.judge import ConformanceFailure, Judge
from dmlcts.suites.judging.losses import Hazards, judge_hazard, judge_surviving, survey
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.descriptions import case, described

f32 = np.float32
TABLES = load_tables()
CLIP = "ELEMENT_WISE_CLIP"


def of_one_element(data_type: DataType = DataType.INT8, rank: int = 1, name: str = "CLIP") -> OperatorDesc:
    bounds = {"Min": f32(-2)} | ({"Max": f32(99)} if name == "CLIP" else {})
    return described(name, TensorDesc(data_type, (1,) * rank), **bounds)


def value_case(
    value: int = 0, clause: str = "clip.formula", operator: OperatorDesc | None = None, **changes: Any
) -> Case:
    return case(operator or of_one_element(), [value], clause=clause, layout_clause=None, **changes)


# ------------------------------------------------------------------------------------------ the survey


class Asked(Bench):
    """Runs nothing: notes the type and the sizes of every CLIP, and loses the process on those named, so often.

    Every other operator, and CLIP elsewhere, is refused, which the process survives.
    """

    isolated = True  # a property there

    def __init__(self, lost: Sequence[tuple[str, int]], times: int = 99) -> None:
        super().__init__("asked", Reference(), {}, TABLES)
        self.left = dict.fromkeys(lost, times)
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def run(self, case: Case, poison: Array | None = None) -> Outcome:
        """One case."""
        tensor = case.operator.input
        if case.operator.name == CLIP:
            self.asked.append((tensor.data_type.name, tensor.sizes))
            if self.left.get((tensor.data_type.name, tensor.rank), 0) > 0:
                self.left[tensor.data_type.name, tensor.rank] -= 1
                self.losses += 1
                return Mishap("timeout", "no answer", "it hung")
        return Refusal("not asked for", False)


EVERY = {"FLOAT32": range(1, 9), "FLOAT16": range(1, 9)} | {
    f"{sign}INT{bits}": range(1, 9) for sign in ("", "U") for bits in (8, 16, 32, 64)
}


def test_the_survey_asks_the_first_type_at_every_rank_and_every_other_at_its_lowest() -> None:
    bench = Asked([])
    hazards = survey(bench)
    assert not hazards
    names = [data_type.name for data_type in TABLES.operator("CLIP").data_types]
    assert set(names) == set(EVERY)
    assert bench.asked == [(names[0], (2,) * rank) for rank in range(1, 9)] + [(name, (2,)) for name in names[1:]]
    assert hazards.first == {
        (table.operator, table.data_types[0])
        for table in TABLES.operators.values()
        if Subject.on(table, table.data_types[0], bench.level).obliged_ranks
    }


@pytest.mark.parametrize(
    "lost, hazards",
    [
        ([("FLOAT32", 1)], Hazards(operators=frozenset({CLIP}))),
        ([("FLOAT32", 2)], Hazards(ranks=frozenset({(CLIP, 2)}))),
        ([("FLOAT32", 4), ("FLOAT32", 8)], Hazards(ranks=frozenset({(CLIP, 4), (CLIP, 8)}))),
        ([("FLOAT16", 1)], Hazards(data_types=frozenset({(CLIP, DataType.FLOAT16)}))),
        ([("FLOAT16", 2)], Hazards()),  # not asked
        (
            [("UINT8", 1), ("FLOAT32", 3)],
            Hazards(ranks=frozenset({(CLIP, 3)}), data_types=frozenset({(CLIP, DataType.UINT8)})),
        ),
    ],
)
def test_what_loses_the_process_twice_in_the_survey_is_a_hazard(lost: list[tuple[str, int]], hazards: Hazards) -> None:
    bench = Asked(lost)
    assert survey(bench) == hazards
    assert bench.unexplained == []
    assert (len(bench.asked) == 2) is bool(hazards.operators), "an operator that is lost is asked no further"


def test_what_loses_the_process_once_in_the_survey_is_no_hazard_and_is_reported_later() -> None:
    bench = Asked([("FLOAT32", 3)], times=1)
    assert survey(bench) == Hazards()
    ((test_case, mishap),) = bench.unexplained
    assert (test_case.operator.input.sizes, mishap.outcome) == ((2, 2, 2), "timeout")


@pytest.mark.parametrize(
    "hazards, covered",
    [
        (Hazards(), []),
        (Hazards(operators=frozenset({CLIP})), ["INT8 1", "INT8 2", "UINT8 1", "UINT8 2"]),
        (Hazards(data_types=frozenset({(CLIP, DataType.UINT8)})), ["UINT8 1", "UINT8 2"]),
        (Hazards(ranks=frozenset({(CLIP, 2)})), ["INT8 2", "UINT8 2"]),
    ],
)
def test_a_hazard_covers_what_is_dispatched_of_its_kind(hazards: Hazards, covered: list[str]) -> None:
    assert bool(hazards) is bool(covered)
    cases = {
        f"{kind.name} {rank}": value_case(operator=of_one_element(kind, rank))
        for kind in (DataType.INT8, DataType.UINT8)
        for rank in (1, 2)
    }
    assert [name for name, test_case in cases.items() if hazards.covers(test_case)] == covered
    for expectation in ("refused", "accepted", "either"):
        assert hazards.covers(value_case(expectation=expectation)) is False
    assert not hazards.covers(value_case(operator=of_one_element(name="THRESHOLD")))


# --------------------------------------------------------------------------------------------- judging


class Losing(Bench):
    """An isolated implementation whose process is lost as a list says: by the value, or by the turn of the dispatch."""

    isolated = True  # a property there

    def __init__(self, outcomes: Sequence[str], *, by_turn: bool = False, backend: Any = None) -> None:
        super().__init__("losing", backend or Reference(), {}, TABLES)
        self.outcomes = outcomes
        self.by_turn = by_turn
        self.hazards = Hazards()
        self.dispatched: list[int] = []

    def dispatch(self, kernel: Any, arena: Arena) -> Mishap | None:
        """One dispatch."""
        self.dispatched.append(int(arena.x[0]))
        place = len(self.dispatched) - 1 if self.by_turn else self.dispatched[-1]
        outcome = self.outcomes[place] if place < len(self.outcomes) else ""
        if not outcome:
            return super().dispatch(kernel, arena)
        self.losses += 1
        return Mishap(outcome, "no answer", "it is gone")


class ZeroWrong(Reference):
    """Gives 1 for 0."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """1 for 0."""
        return np.where(x == 0, np.asarray(1, x.dtype), super().compute(operator, x))


def again(finding: Finding) -> str:
    return dict(finding.details)["again"]


@pytest.mark.parametrize(
    "outcomes, tried",
    [
        (["crash"] * 9, 4),
        (["timeout"] * 9, 2),
        (["device_lost", "timeout", "crash", "timeout"] + ["crash"] * 5, 4),
        (["crash", "timeout", "timeout"] + ["crash"] * 6, 3),
        (["crash", "timeout", "", "", "", "resource_error", "", "", ""], 9),
    ],
)
def test_a_test_that_lost_four_processes_or_two_to_timeouts_asks_no_further(outcomes: list[str], tried: int) -> None:
    bench = Losing(outcomes)
    judge = Judge(bench, raising=False)
    judge.all(value_case(value) for value in range(9))
    assert (sorted(set(bench.dispatched)), judge.ledger.left_out) == (list(range(tried)), 9 - tried)


@pytest.mark.parametrize("outcomes, backend, left_out", [(["crash"], Reference(), 1), ([], ZeroWrong(), 0)])
def test_after_a_failure_that_lost_the_process_no_other_example_is_tried(
    outcomes: list[str], backend: Reference, left_out: int
) -> None:
    bench = Losing(outcomes, backend=backend)
    judge = Judge(bench)
    with pytest.raises(ConformanceFailure):
        judge(value_case(0))
    judge(value_case(5))
    assert (judge.ledger.left_out, bench.dispatched[-1]) == (left_out, 0 if left_out else 5)


def test_losses_that_were_expected_are_tried_once_each_however_many() -> None:
    bench = Losing(["crash"] * 6)
    bench.hazards = Hazards(operators=frozenset({CLIP}), first=frozenset({(CLIP, DataType.INT8)}))
    judge = Judge(bench, raising=False)
    judge.all(value_case(value, "clip.support.level-3-0") for value in range(6))
    assert (bench.dispatched, judge.ledger.left_out) == (list(range(6)), 0)
    assert [finding.settled for finding in judge.ledger.findings] == [True] * 6
    assert {again(finding) for finding in judge.ledger.findings} == {
        "as the simplest case of its kind does, which was tried before"
    }


def test_a_wrong_value_of_what_was_expected_to_be_lost_is_reported_as_any_other() -> None:
    (finding,) = judge_hazard(Losing([], backend=ZeroWrong()), value_case(0)).findings
    assert (finding.outcome, finding.settled) == ("fail", False)
    assert "again" not in dict(finding.details)


def test_a_test_whose_every_case_was_left_out_tries_one_at_its_end() -> None:
    bench = Losing(["crash"] * 6)
    bench.hazards = Hazards(operators=frozenset({CLIP}))
    judge = Judge(bench)
    judge.all([value_case(3), value_case(4)])
    assert (bench.dispatched, judge.ledger.left_out) == ([], 2)
    with pytest.raises(ConformanceFailure, match="it is gone") as raised:
        judge.conclude()
    assert (bench.dispatched, len(raised.value.findings)) == ([3], 1)
    assert again(raised.value.findings[0]).startswith("as the simplest case of its kind does")


def test_a_test_that_judged_another_case_or_had_none_tries_nothing_at_its_end() -> None:
    bench = Losing(["", "crash"])
    bench.hazards = Hazards(operators=frozenset({CLIP}))
    judge = Judge(bench)
    judge.conclude()
    judge.all([value_case(0, "threshold.formula", of_one_element(name="THRESHOLD")), value_case(1)])
    judge.conclude()
    assert bench.dispatched == [0]


@pytest.mark.parametrize(
    "second, message, clause",
    [
        ("", "no fault in a fresh process: what ran before it is to blame, or chance", "execution.independent"),
        ("timeout", "timeout in a fresh process: what ran before it is to blame, or chance", "execution.independent"),
        ("crash", "the same in a fresh process: the case itself is to blame", "clip.formula"),
    ],
)
def test_a_loss_is_reported_with_what_a_fresh_process_does(second: str, message: str, clause: str) -> None:
    (finding,) = judge_surviving(Losing(["crash", second], by_turn=True), value_case()).findings
    assert (again(finding), finding.clause, finding.outcome) == (message, clause, "crash")
    assert finding.settled is (second != "crash")
    assert finding.title == ("it is gone" if second == "crash" else "it is gone, not again in a fresh process")


def test_memory_that_a_fresh_process_has_is_what_earlier_dispatches_held() -> None:
    (finding,) = judge_surviving(Losing(["resource_error"], by_turn=True), value_case()).findings
    assert (finding.clause, finding.settled) == ("execution.repeatable", True)


@pytest.mark.parametrize("outcomes", [["crash"], ["crash", "timeout"], [""]])
def test_a_wrong_value_is_judged_once_and_a_loss_twice(outcomes: list[str]) -> None:
    bench = Losing(outcomes, by_turn=True, backend=ZeroWrong())
    judge_surviving(bench, value_case(0))
    assert len(bench.dispatched) == (2 if outcomes[0] else 1)
