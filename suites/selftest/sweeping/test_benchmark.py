"""``dmlcts bench``: what it measures, what it writes, and that it notices what became slower."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dmlcts.backends import InvalidArgument
from dmlcts.backends.cpu.device import CpuBackend, CpuDevice
from dmlcts.reports.documents.validation import DocumentError, load_document
from dmlcts.specs import UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.benchmarks.bench_document import costs, dearer, document, load_reference, ratios, slower
from dmlcts.suites.benchmarks.bench_figures import Measured, again_where_dearer, again_where_slower
from dmlcts.suites.benchmarks.command_times import command_times
from dmlcts.suites.benchmarks.engine_cost import (
    Idle,
    Noted,
    best,
    case_cost,
    chosen_operators,
    engine_cost,
    least_of,
    noting,
    small_cases,
)
from dmlcts.suites.benchmarks.judging_speed import Figure
from dmlcts.suites.benchmarks.ordinary_run import ordinary_run_apart
from dmlcts.suites.benchmarks.printing import print_benchmark, print_dearer, print_slower
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.commands.main import main
from dmlcts.suites.judging.judge import ConformanceFailure, Judge

ASKED = Measured("cpu", (), 1, 0, 1, "process")


def figures(judging: float, rint: float = 4e9) -> list[Figure]:
    return [
        Figure("copy", "copying", 5e9, 2),
        Figure("rint", "bare np.rint", rint, 1),
        Figure("compare", "comparing", 3e9, 1),
        Figure("judge", "judging alone", judging, 2, 800e6),
    ]


@pytest.mark.parametrize("now, seen", [(1e9, False), (0.81e9, False), (0.79e9, True)])
def test_a_figure_is_slower_where_it_lost_a_fifth_of_its_share_of_rint(now: float, seen: bool) -> None:
    before = document(figures(1e9), "cpu")
    assert slower(ratios(document(figures(now), "cpu"), before)) == (["judging alone"] if seen else [])


def test_a_machine_that_is_slower_altogether_has_lost_nothing() -> None:
    half = document(figures(0.5e9, rint=2e9), "cpu")
    assert slower(ratios(half, document(figures(1e9), "cpu"))) == []


@pytest.mark.parametrize("later, measured, code", [([1e9], 1, 0), ([0.7e9, 0.9e9], 2, 0), ([0.7e9, 0.75e9], 2, 1)])
def test_what_seems_slower_is_measured_twice_again(
    later: list[float], measured: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before, now = document(figures(1e9), "cpu"), document(figures(0.6e9), "cpu")
    tries: list[Collection[str]] = []

    def measure(asked: Measured, report: Any, only: Collection[str]) -> list[Figure]:
        tries.append(only)
        return figures(later[len(tries) - 1])

    compared = again_where_slower(ASKED, now, before, lambda text: None, measure)
    assert tries == [{"judge"}] * measured
    assert print_slower(compared, "kept.json") == code
    assert ("slower: judging alone: 0.19 of np.rint, 0.25 in kept.json" in capsys.readouterr().out) is bool(code)


def test_what_is_not_slower_is_measured_once() -> None:
    def measure(asked: Measured, report: Any, only: Collection[str]) -> list[Figure]:
        raise AssertionError("measured again")

    same = document(figures(1e9), "cpu")
    assert again_where_slower(ASKED, same, same, lambda text: None, measure) == {"judging alone": (0.25, 0.25)}


def test_figures_that_were_measured_otherwise_are_not_compared() -> None:
    other = [*figures(1e9)[:3], Figure("judge", "judging alone, 1/8 of its inputs", 1e9, 2)]
    with pytest.raises(UsageError, match="no figure in common; measure both with the same options"):
        again_where_slower(ASKED, document(figures(1e9), "cpu"), document(other, "cpu"), lambda text: None)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"backend": "wgpu"}, "describes wgpu, not cpu; write one for it with --json"),
        ({"processors": 4096}, "was measured with 4096 processors; this machine has"),
    ],
)
def test_a_reference_of_another_machine_or_backend_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(document(figures(1e9), "cpu")), encoding="utf-8")
    assert load_reference(path, "cpu")["figures"][3]["of_rint"] == 0.25
    path.write_text(json.dumps({**document(figures(1e9), "cpu"), **change}), encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        load_reference(path, "cpu")


def test_a_bench_counts_the_processors_that_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 9}, raising=False)
    assert document(figures(1e9), "cpu")["processors"] == 3


def test_a_reference_that_is_no_such_document_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("{}", encoding="utf-8")
    ended = CliRunner().invoke(main, ["bench", "--against", str(path)])
    assert (ended.exit_code, "lacks schema" in ended.output) == (2, True), ended.output
    ended = CliRunner().invoke(main, ["bench", "--against", str(tmp_path / "other.json")])
    assert (ended.exit_code, "write one with `dmlcts bench --json FILE`" in ended.output) == (2, True), ended.output


@pytest.mark.size("all")
def test_what_is_written_is_valid_and_printed_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages: list[str] = []
    commands = command_times("cpu", (), messages.append, ["SIGN"])
    timed = ordinary_run_apart("cpu", (), ["SIGN"])
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(document(figures(1e9), "cpu", commands, timed)), encoding="utf-8")
    benchmark = load_document(path, "bench-1", "")
    assert 0 < benchmark["commands"]["help_seconds"] < benchmark["commands"]["quick_run"]["seconds"]
    assert 0 < benchmark["ordinary_run"]["judging_seconds"] < benchmark["ordinary_run"]["seconds"]
    print_benchmark(benchmark)
    out = capsys.readouterr().out
    for words in (
        "judging alone",
        "800 M/s reached",
        "OpenCL CTS",
        "`dmlcts --help`: ",
        "A quick run of CLIP, ROUND, ",
        "Of a quick run in one process",
    ):
        assert words in out
    assert messages == ["how long commands take to begin", messages[1]]


@pytest.mark.size("thorough")
def test_a_command_that_does_not_run_ends_the_benchmark_with_its_words() -> None:
    with pytest.raises(UsageError, match=r"run -q --backend nobody.*ended with exit code 2.*measure with --no-run"):
        command_times("nobody", (), lambda text: None)


def engine(case: float = 50.0, **operators: float) -> dict[str, Any]:
    return {
        "case": {"cases": 9, "case_microseconds": case, "bare_microseconds": 1.0, "ratio": case},
        "operators": [
            {"operator": name, "dispatches": 9, "seconds": ratio, "bare_seconds": 1.0, "ratio": ratio}
            for name, ratio in operators.items()
        ],
    }


class Clock:
    """A clock that goes on by what is done, and by no time of this machine."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_least_of_several_rounds_counts() -> None:
    clock = Clock()
    spent = iter([3.0, 1.0, 2.0])

    def work() -> None:
        clock.now += next(spent)

    assert best(work, 3, clock) == 1.0


def test_calls_are_done_again_with_their_bytes_and_timed_alone() -> None:
    clock = Clock()
    seen: list[Any] = []

    class Device:
        def create(self, operator: Any) -> None:
            clock.now += 5
            seen.append(operator)
            if operator == "refused":
                raise InvalidArgument("not this one")

        def dispatch(self, memory: Any, bindings: Any) -> None:
            clock.now += 2 if len(seen) < 6 else 1  # the first round takes longer
            seen.append((memory.tolist(), bindings))
            memory[:] = 0  # what a dispatch leaves is not what it is given in the next round

    device, noted = Device(), Noted(2, clock)
    memory = np.array([7, 8], np.uint8)
    for operator in ("made", "refused"):
        noted.create(device.create, operator)
    for _ in range(2):
        noted.dispatch(device.dispatch, memory, {"x": 1})
        memory += 1
    clock.now += 1000  # the suite's own time
    noted.settle()
    calls = ["made", "refused", ([7, 8], {"x": 1}), ([8, 9], {"x": 1})]
    assert seen == calls * 2
    assert (noted.seconds, noted.dispatches) == (12.0, 2), "5 + 5 + 1 + 1, the second round's"
    noted.settle()
    assert noted.seconds == 12.0, "nothing is left to do again"


def test_a_ratio_is_of_the_least_of_both() -> None:
    tries = [
        {"operator": "ABS", "dispatches": 4, "seconds": 9.0, "bare_seconds": 0.5},
        {"operator": "ABS", "dispatches": 4, "seconds": 8.0, "bare_seconds": 0.75},
    ]
    expected = {"operator": "ABS", "dispatches": 4, "seconds": 8.0, "bare_seconds": 0.5, "ratio": 16.0}
    assert least_of(tries) == expected
    assert least_of([{**tries[0], "bare_seconds": 0.0}])["ratio"] == 0.0


def test_the_cases_of_the_engine_are_right_where_nothing_is_done() -> None:
    ticks = iter(range(100))
    cost = case_cost(20, 2, lambda: float(next(ticks)))
    assert cost == {"cases": 20, "case_microseconds": 50_000.0, "bare_microseconds": 50_000.0, "ratio": 1.0}
    on = Bench("idle", Idle(), {}, load_tables())
    wrong = [replace(case, placement=Placement()) for case in small_cases(on, 3)]
    with pytest.raises(ConformanceFailure):
        Judge(on).all(wrong)


def test_what_a_run_asks_the_cpu_backend_for_is_noted() -> None:
    tables = load_tables()
    on = Bench("cpu", CpuBackend(), {}, tables)
    create, noted, cases = CpuDevice.create, Noted(1), small_cases(on, 20)
    with noting(noted):
        Judge(on).all(cases)
    assert noted.dispatches == 20
    noted.settle()
    Judge(on).all(cases)
    assert (noted.dispatches, CpuDevice.create) == (20, create), "outside nothing is noted"


@pytest.mark.parametrize("case, seen", [(50.0, []), (62.0, []), (63.0, [""])])
def test_the_engine_is_dearer_where_it_takes_a_quarter_more(case: float, seen: list[str]) -> None:
    before = document(figures(1e9), "cpu", engine=engine(ABS=30.0, ADD=20.0))
    now = document(figures(1e9), "cpu", engine=engine(case, ABS=29.0, CLIP=99.0))
    assert costs(now, before) == {"": (case, 50.0), "ABS": (29.0, 30.0)}
    assert dearer(costs(now, before)) == seen
    assert costs(now, document(figures(1e9), "cpu")) == {}, "a reference that says nothing of it"


@pytest.mark.parametrize("later, code", [([30.0], 0), ([60.0, 31.0], 0), ([60.0, 50.0], 1)])
def test_what_seems_dearer_is_measured_twice_again(
    later: list[float], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = document(figures(1e9), "cpu", engine=engine(ABS=30.0, ADD=20.0))
    now = document(figures(1e9), "cpu", engine=engine(ABS=60.0, ADD=20.0))
    tries: list[list[str]] = []

    def measure(operators: Sequence[str], report: Any) -> dict[str, Any]:
        tries.append(list(operators))
        return engine(ABS=later[len(tries) - 1])

    compared = again_where_dearer(now, before, lambda text: None, measure)
    assert tries == [["ABS"]] * len(later)
    assert print_dearer(compared, "kept.json") == code
    out = capsys.readouterr().out
    assert ("dearer: a quick run of ABS: 50.0 times bare numpy, 30.0 in kept.json" in out) is bool(code)


def test_what_the_engine_costs_is_written_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bench.json"
    for cost in (None, engine(ABS=30.0)):
        path.write_text(json.dumps(document(figures(1e9), "cpu", engine=cost)), encoding="utf-8")
        print_benchmark(load_document(path, "bench-1", ""))
        out = capsys.readouterr().out
        assert ("The engine takes 50.0 µs" in out) is (cost is not None)
        assert ("30.0 times what its 9 dispatches take alone" in out) is (cost is not None)
    path.write_text(json.dumps(document(figures(1e9), "cpu", engine={"case": {}})), encoding="utf-8")
    with pytest.raises(DocumentError):
        load_document(path, "bench-1", "")


def test_operators_are_named_or_all_or_none() -> None:
    assert chosen_operators("none") is None
    assert chosen_operators("ABS, ELEMENT_WISE_ADD") == ["ABS", "ADD"]
    every = chosen_operators("all")
    assert every is not None
    assert len(every) == len(load_tables().operators)
    ended = CliRunner().invoke(main, ["bench", "--engine", "NOBODY"])
    assert (ended.exit_code, "NOBODY" in ended.output) == (2, True), ended.output


@pytest.mark.size("all")
def test_the_engine_is_measured() -> None:
    messages: list[str] = []
    cost_report = engine_cost(["LOGICAL_NOT"], messages.append)
    (operator_cost,) = cost_report["operators"]
    assert (
        operator_cost["operator"],
        operator_cost["dispatches"] > 1000,
        operator_cost["ratio"] > 1,
        cost_report["case"]["ratio"] > 1,
    ) == (
        "LOGICAL_NOT",
        True,
        True,
        True,
    )
    assert len(messages) == 2
