"""Whole runs on implementations that crash, hang and lose their device: everything else is judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmlcts.suites.selftest.isolation.killing import kill_runs
from dmlcts.suites.selftest.strangers.fuzzing import fuzz

FAULTY = "dmlcts.suites.selftest.isolation.faulty"
ROUND = ("--operator", "ROUND", "--data-type", "FLOAT16")


def reported(results: dict[str, Any]) -> set[tuple[str, str]]:
    return {(failure["outcome"], failure["clause"]) for failure in results["failures"]}


@pytest.mark.size("all")
def test_abort_on_rank_7_and_hang_on_rank_6_are_named_and_all_else_is_judged(
    tmp_path: Path, dmlcts: Callable[..., Any]
) -> None:
    """The whole selection takes seconds; the full quick profile is a command in the documentation."""
    chosen = (
        "--operator",
        "ROUND",
        "--data-type",
        "FLOAT32",
        "--timeout",
        "1",
        "--clause",
        "round.support.*,round.nearest-even,tensor.rank.*",
    )
    ran = dmlcts("run", "--backend", f"{FAULTY}:AbortsOn7HangsOn6", *chosen)
    assert ran.code == 1, ran.out + ran.err
    assert ran.results["verdict"] == "NOT_CONFORMANT"
    assert reported(ran.results) == {("crash", "round.support.level-3-0"), ("timeout", "round.support.level-3-0")}
    rows = {row["id"]: row["outcome"] for row in ran.results["clauses"]}
    assert rows.pop("round.support.level-3-0") == "crash"
    assert set(rows.values()) <= {"pass", "characterised"}, rows
    (crash,) = [failure for failure in ran.results["failures"] if failure["outcome"] == "crash"]
    path = str(tmp_path / "results" / "failures" / crash["file"])
    again = dmlcts("replay", path, "--backend", f"{FAULTY}:AbortsOn7HangsOn6")
    assert (again.code, "SIGABRT" in again.out) == (1, True), again.out + again.err
    assert dmlcts("replay", path, "--backend", "cpu").code == 0
    control = dmlcts("run", "--backend", f"{FAULTY}:Slow", *chosen)
    assert (control.code, control.results["left_out"]) == (0, 0), control.out + control.err


@pytest.mark.size("all")
def test_an_element_type_that_aborts_is_blamed_and_the_others_pass(dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts(
        "run",
        "--backend",
        f"{FAULTY}:AbortsOnInt8",
        "--operator",
        "CLIP",
        "--data-type",
        "INT8,INT16",
        "--clause",
        "clip.cast.integer,clip.formula",
    )
    assert ran.code == 1, ran.out + ran.err
    by_type = {(row["data_type"], row["outcome"]) for row in ran.results["clauses"]}
    assert ("INT8", "crash") in by_type
    assert {outcome for data_type, outcome in by_type if data_type == "INT16"} == {"pass"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("at", ["20", "75"], ids=["before the tests", "in a test"])
@pytest.mark.size("thorough")
def test_a_device_lost_once_is_blamed_on_its_case_and_comes_back(
    tmp_path: Path, dmlcts: Callable[..., Any], at: str
) -> None:
    options = ("-o", f"at={at}", "-o", f"count={tmp_path / 'count'}")
    ran = dmlcts("run", "--backend", f"{FAULTY}:LostAt", *ROUND, "--clause", "round.nearest-even,binding.*", *options)
    assert ran.code == 1, ran.out + ran.err
    assert reported(ran.results) == {("device_lost", "execution.independent")}
    assert "not again in a fresh process" in ran.results["failures"][0]["title"]
    again = dmlcts("run", "--backend", f"{FAULTY}:LostAt", *ROUND, "--clause", "round.nearest-even,binding.*", *options)
    assert again.code == 0, "the control: it is lost once in all"


@pytest.mark.size("thorough")
def test_workers_killed_at_random_are_blamed_and_nothing_else() -> None:
    summary = kill_runs(2, seed=1)
    assert summary.wrong == []
    assert summary.runs == 2


def test_what_strangers_hand_in_is_read_or_refused() -> None:
    findings = fuzz(160, seed=1)
    assert findings.wrong == []
    kinds = {name.split()[0] for name in findings.counts}
    assert kinds >= {"failure", "results", "journal", "yaml"}
    assert sum(findings.counts.values()) == 160


def test_the_fuzzing_sees_what_it_looks_for() -> None:
    from dmlcts.specs import UsageError
    from dmlcts.suites.selftest.strangers.fuzzing import Findings

    def fail(error: Exception) -> Callable[[], None]:
        def read() -> None:
            raise error

        return read

    findings = Findings()
    findings.record("x", 1, fail(UsageError("a word")))
    assert findings.wrong == []
    findings.record("x", 2, fail(KeyError("missing")))
    assert findings.wrong == ["x 2: KeyError: 'missing'"]
