"""An item is a family of tests on an operator: what it runs, what its record says, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.journal import read_journal
from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.suites.cases.bench import Bench, DeviceGone
from dmlcts.suites.families import items
from dmlcts.suites.families.family import Attempt, Probe
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.proof.probes import probes
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import Run
from dmlcts.suites.selftest.conftest import Ran

ROUNDING = "values/test_rounding.py::rounding[ROUND]"


def of_round(folder: Path, backend: str = "cpu", **inputs: Any) -> Settings:
    """The rounding of ROUND on FLOAT16: a dozen tests of one family, and some of others."""
    return Settings.read(
        backend=backend,
        operators=["ROUND"],
        data_types=["FLOAT16"],
        clauses=["round.*"],
        isolation="none",
        results=str(folder / "results"),
        **inputs,
    )


def at_level_1_0(folder: Path, operators: str, data_types: str, clauses: str) -> Settings:
    """Clauses of some operators and types on a cpu backend that claims the first level."""
    return Settings.read(
        operators=[operators],
        data_types=[data_types],
        clauses=[clauses],
        isolation="none",
        options=["feature_level=1.0"],
        results=str(folder / "results"),
    )


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tests that were tried, in order."""
    names: list[str] = []
    attempt = Probe.attempt

    def noted(self: Probe, bench: Bench, subject: Subject) -> Attempt:
        names.append(self.name)
        return attempt(self, bench, subject)

    monkeypatch.setattr(Probe, "attempt", noted)
    return names


def test_a_run_tries_what_the_proof_tries(tmp_path: Path, tried: list[str]) -> None:
    settings = of_round(tmp_path)
    run = pytest_run.execute(settings, quiet=True)
    assert run.verdict is Verdict.CONFORMANT
    wanted = [
        probe.name
        for probe in probes(settings.tables, settings.seed)
        if probe.table.short_name == "ROUND"
        and probe.data_type.name == "FLOAT16"
        and any(map(settings.selects_clause, probe.clauses))
    ]
    assert sorted(tried) == sorted(wanted)
    assert len(run.records) < len(tried) / 2
    assert ROUNDING in {record.test for record in run.records}
    assert run.collection is not None
    assert run.collection.items == len(run.records)


def test_an_operator_of_many_signatures_begins_before_those_of_few(tmp_path: Path) -> None:
    settings = at_level_1_0(tmp_path, "ABS,POW,SQRT", "FLOAT16", "*.support.later-level")
    run = pytest_run.execute(settings, quiet=True)
    of_one_family = [record.test for record in run.records if "::descriptions[" in record.test]
    assert [name.partition("[")[2].rstrip("]") for name in of_one_family] == ["POW", "ABS", "SQRT"]


WRONG = "dmlcts.suites.mutants.values.rounding:AwayIsHalvesUp"


def test_a_failing_test_keeps_no_other_from_running_and_is_named(tmp_path: Path, tried: list[str]) -> None:
    pytest_run.execute(of_round(tmp_path / "right"), quiet=True)
    right = tried.copy()
    tried.clear()
    run = pytest_run.execute(of_round(tmp_path / "wrong", WRONG), quiet=True)
    assert (run.verdict, tried) == (Verdict.NOT_CONFORMANT, right)
    (record,) = [item for item in run.records if item.test == ROUNDING]
    assert record.outcome is Outcome.FAIL
    names = {failure.test for failure in record.failures}
    assert "values/test_rounding.py::test_ties_of_every_exponent[ROUND-FLOAT16-TOWARD_INFINITY]" in names
    assert {name.partition("::")[2] for name in names} <= set(tried)
    assert len(names) > 1, "of each test its own"


def test_with_maxfail_1_a_run_ends_behind_the_first_failing_item(tmp_path: Path) -> None:
    run = pytest_run.execute(of_round(tmp_path, WRONG), quiet=True, most_failures=1)
    whole = pytest_run.execute(of_round(tmp_path / "whole", WRONG), quiet=True)
    assert [record.outcome for record in run.records].count(Outcome.FAIL) == 1
    assert run.interrupted
    assert len(run.records) < len(whole.records)


def third_ends_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> list[str]:
    """Let the third test of a run end with an error."""
    names: list[str] = []
    attempt = Probe.attempt

    def raising(**value: object) -> None:
        raise error

    def ended(self: Probe, bench: Bench, subject: Subject) -> Attempt:
        names.append(self.name)
        return attempt(replace(self, function=raising) if len(names) == 3 else self, bench, subject)

    monkeypatch.setattr(Probe, "attempt", ended)
    return names


def of_rounding(run: Run) -> ItemRecord:
    return next(record for record in run.records if record.outcome is not Outcome.PASS)


def test_what_breaks_is_a_fault_of_the_suite_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: list[str]
) -> None:
    names = third_ends_with(monkeypatch, RuntimeError("no such thing"))
    run = pytest_run.execute(of_round(tmp_path), quiet=True)
    assert run.verdict is Verdict.INCOMPLETE
    record = of_rounding(run)
    assert (record.outcome, record.failures[0].title) == (Outcome.HARNESS_ERROR, "RuntimeError: no such thing")
    assert record.failures[0].test.endswith(names[2])
    assert "no such thing" in record.failures[0].text
    assert run.complete


def test_a_device_that_is_gone_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = third_ends_with(monkeypatch, DeviceGone("the device was lost"))
    run = pytest_run.execute(of_round(tmp_path), quiet=True)
    assert (run.verdict, len(names), run.complete) == (Verdict.NOT_CONFORMANT, 3, False)
    record = of_rounding(run)
    assert record.outcome is Outcome.DEVICE_LOST
    assert all(reason == "not tried: the device was lost" for reason in record.idle.values())


def test_tests_that_judge_nothing_are_named_with_their_reason(tmp_path: Path) -> None:
    settings = at_level_1_0(tmp_path, "CLIP", "INT8,FLOAT32", "clip.support*")
    run = pytest_run.execute(settings, quiet=True)
    (record,) = [item for item in run.records if "::descriptions[" in item.test]
    assert record.outcome is Outcome.PASS, "others of its tests judged something"
    assert record.idle["test_types_and_ranks_of_level_2_1[CLIP-INT8]"].strip()
    assert not any("FLOAT32" in name for name in record.idle if "level_1_0" in name)


@pytest.mark.parametrize("text, several", [("", False), ("1", False), ("2", True), ("auto", True)])
def test_one_process_is_this_one(monkeypatch: pytest.MonkeyPatch, text: str, several: bool) -> None:
    monkeypatch.setattr(pytest_run, "usable_processors", lambda: 4)
    words = pytest_run.pytest_arguments(Settings.read(), workers=text)
    assert ("xdist.plugin" in words, "-n" in words) == (several, several)
    monkeypatch.setattr(pytest_run, "usable_processors", lambda: 1)
    assert ("-n" in pytest_run.pytest_arguments(Settings.read(), workers=text)) == (text == "2")


@pytest.mark.size("thorough")
def test_an_implementation_judged_with_n_1_is_in_the_process_of_the_run(
    tmp_path: Path, dmlcts: Callable[..., Ran]
) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "mine.py").write_text(
        "import os\nfrom pathlib import Path\nfrom dmlcts.backends.cpu import CpuBackend\n\n\n"
        "class Mine(CpuBackend):\n    def open(self, **options):\n"
        "        with Path('processes.txt').open('a') as file:\n            print(os.getpid(), file=file)\n"
        "        return super().open(**options)\n",
        encoding="utf-8",
    )
    words = ("--operator", "IS_NAN", "--data-type", "FLOAT16", "--clause", "is-nan.formula", "--isolation", "none")
    seen = []
    for number in "12":
        (tmp_path / "processes.txt").unlink(missing_ok=True)
        ran = dmlcts("run", "--backend", "mine.py:Mine", *words, "-n", number)
        assert ran.code == 0, ran.out + ran.err
        seen.append(len(set((tmp_path / "processes.txt").read_text(encoding="utf-8").split())))
    assert seen[0] == 1
    assert seen[1] > 1, "the control"
    assert {record.test for record in read_journal(tmp_path / "results").records}


def test_the_record_of_an_item_that_breaks_outside_its_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*value: object) -> ItemRecord:
        raise RuntimeError("no record")

    monkeypatch.setattr(items, "joined", broken)
    run = pytest_run.execute(of_round(tmp_path), quiet=True)
    assert run.verdict is Verdict.INCOMPLETE
    assert {record.outcome for record in run.records} == {Outcome.HARNESS_ERROR}
    assert "no record" in run.records[0].failures[0].title
