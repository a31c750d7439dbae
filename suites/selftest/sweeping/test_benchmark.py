"""``dmlcts bench``: what it measures, what it writes, and that it notices what became slower."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dmlcts.reports.documents.validation import load_document
from dmlcts.specs import UsageError
from dmlcts.suites.benchmarks.bench_document import document, load_reference, ratios, slower
from dmlcts.suites.benchmarks.bench_figures import Measured, again_where_slower
from dmlcts.suites.benchmarks.command_times import command_times
from dmlcts.suites.benchmarks.judging_speed import Figure
from dmlcts.suites.benchmarks.ordinary_run import ordinary_run_apart
from dmlcts.suites.benchmarks.printing import print_benchmark, print_slower
from dmlcts.suites.commands.main import main

ASKED = Measured("cpu", (), 1, 0, 1, "process")


def figures(judging: float, rint: float = 4e9) -> list[Figure]:
    return [
        Figure("copy", "copying", 5e9, 2), Figure("rint", "bare np.rint", rint, 1),
        Figure("compare", "comparing", 3e9, 1), Figure("judge", "judging alone", judging, 2, 800e6),
    ]  # fmt: skip


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

    def measure(asked: Measured, told: Any, only: Collection[str]) -> list[Figure]:
        tries.append(only)
        return figures(later[len(tries) - 1])

    compared = again_where_slower(ASKED, now, before, lambda text: None, measure)
    assert tries == [{"judge"}] * measured
    assert print_slower(compared, "kept.json") == code
    assert ("slower: judging alone: 0.19 of np.rint, 0.25 in kept.json" in capsys.readouterr().out) is bool(code)


def test_what_is_not_slower_is_measured_once() -> None:
    def measure(asked: Measured, told: Any, only: Collection[str]) -> list[Figure]:
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
        ({"backend": "wgpu"}, "tells of wgpu, not of cpu; write one for it with --json"),
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


def test_a_reference_that_is_no_such_document_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("{}", encoding="utf-8")
    ended = CliRunner().invoke(main, ["bench", "--against", str(path)])
    assert (ended.exit_code, "lacks schema" in ended.output) == (2, True), ended.output
    ended = CliRunner().invoke(main, ["bench", "--against", str(tmp_path / "other.json")])
    assert (ended.exit_code, "write one with `dmlcts bench --json FILE`" in ended.output) == (2, True), ended.output


@pytest.mark.size("all")
def test_what_is_written_is_valid_and_printed_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    commands = command_times("cpu", (), told.append, ["SIGN"])
    timed = ordinary_run_apart("cpu", (), ["SIGN"])
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(document(figures(1e9), "cpu", commands, timed)), encoding="utf-8")
    found = load_document(path, "bench-1", "")
    assert 0 < found["commands"]["help_seconds"] < found["commands"]["quick_run"]["seconds"]
    assert 0 < found["ordinary_run"]["judging_seconds"] < found["ordinary_run"]["seconds"]
    print_benchmark(found)
    out = capsys.readouterr().out
    for words in ("judging alone", "800 M/s reached", "OpenCL CTS", "`dmlcts --help`: ", "A quick run of CLIP, ROUND, ",
                  "Of a quick run in one process"):  # fmt: skip
        assert words in out
    assert told == ["how long commands take to begin", told[1]]


def test_a_command_that_does_not_run_ends_the_benchmark_with_its_words() -> None:
    with pytest.raises(UsageError, match=r"run -q --backend nobody.*ended with exit code 2.*measure with --no-run"):
        command_times("nobody", (), lambda text: None)
