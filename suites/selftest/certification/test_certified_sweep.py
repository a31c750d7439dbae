"""The sweep of a certification: accepted where it is whole, refused where it is another, has a gap or hides a fault."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.reports.certification.drafts import sweep_fault, waived_verdict
from dmlcts.reports.certification.verdict import Status
from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.results import describe_device, environment
from dmlcts.reports.documents.validation import load_results, parse_document
from dmlcts.reports.documents.waivers import Waivers
from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification.sweep import certification_plan, check_sweep
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import execute
from dmlcts.suites.selftest.departures.test_waivers import waivers
from dmlcts.suites.sweeping.blocks.totals import Totals
from dmlcts.suites.sweeping.conducting import Sweep
from dmlcts.suites.sweeping.record import document
from dmlcts.suites.sweeping.worker_pools.processes import Processes
from dmlcts.suites.sweeping.worker_pools.workers import Description, Orders

TABLES = load_tables()
LEVEL = FeatureLevel("5.0")
DEVICE = describe_device(SimpleNamespace(name="mine", feature_level="5.0"))


def swept(wrong: int = 0) -> dict[str, Any]:
    """The record of a sweep that judged every pattern of every mode, ``wrong`` of each wrong."""
    settings = Settings.read(operators=["ROUND"], data_types=["FLOAT32"], feature_level="5.0")
    description = Description(DEVICE, "5.0", {}, True, environment())
    sweep = Sweep(settings, "quick", description, certification_plan(TABLES, LEVEL))
    for number, target in enumerate(sweep.plan.targets):
        sweep.totals[number] = Totals(
            blocks=256, elements=target.elements, exact=target.elements - wrong, wrong=wrong, failing=min(wrong, 1)
        )
    sweep.done = {block.id for block in sweep.plan.blocks()}
    sweep.finished = datetime.now(UTC)
    made = json.dumps(document(sweep, 1)).encode()
    return parse_document(made, "sweep-1", "sweep.json")


def context(record: dict[str, Any] | None, *, draft: bool = False, value: Waivers | None = None) -> Any:
    whole = record or swept()
    statement = {name: whole[name] for name in ("backend", "device", "feature_level", "seed")}
    submission = SimpleNamespace(
        sweep=record, results={"suite": whole["suite"]}, waivers=value or Waivers(), members={}
    )
    return SimpleNamespace(
        submission=submission,
        statement=statement,
        draft=draft,
        reference=SimpleNamespace(tables=TABLES),
        operators=tuple(TABLES.operators),
    )


def test_a_whole_sweep_passes() -> None:
    lines = list(check_sweep(context(swept())))
    assert lines == [(Status.PASS, "3 modes of FLOAT32 ROUND, 12,884,901,888 outputs")]
    assert len(certification_plan(TABLES, LEVEL).targets) == 3


@pytest.mark.parametrize("backend", ["cpu", "dmlcts.suites.mutants.reference:Reference"])
@pytest.mark.size("all", thorough=1)
def test_a_run_and_a_sweep_name_the_same_device(backend: str, tmp_path: Path) -> None:
    """Also where the device's own words are not all: who refuses is found out by asking it."""
    settings = Settings.read(
        backend=backend,
        results=str(tmp_path),
        operators=["ROUND"],
        data_types=["FLOAT16"],
        clauses=["round.toward-zero"],
        feature_level="5.0",
        isolation="process",
    )
    execute(settings, quiet=True)
    report = load_results(tmp_path)
    processes = Processes(Orders(backend, (), str(tmp_path), "5.0"))
    try:
        assert processes.describe().device == report["device"]
    finally:
        processes.close()


def test_a_missing_sweep_is_a_fault_but_of_a_draft() -> None:
    missing = "the sweep of FLOAT32 ROUND is missing"
    for draft, status in ((False, Status.FAIL), (True, Status.OPEN)):
        asked = context(swept(), draft=draft)
        asked.submission.sweep = None
        assert list(check_sweep(asked)) == [(status, missing)]
    assert sweep_fault(SimpleNamespace(sweep=None)) == "missing"  # type: ignore[arg-type]


def test_a_level_without_round_requires_none() -> None:
    asked = context(swept())
    asked.statement["feature_level"] = "1.0"
    asked.submission.sweep = None
    assert list(check_sweep(asked)) == [(Status.PASS, "none is required: FLOAT32 ROUND is not certified")]
    asked.submission.sweep = swept()
    assert list(check_sweep(asked)) == [(Status.FAIL, "no sweep is required, and there is one")]


def test_a_failing_sweep_is_reported_and_a_waiver_holds_for_it() -> None:
    failing = swept(wrong=3)
    assert failing["verdict"] == "NOT_CONFORMANT"
    text = "the sweep of FLOAT32 ROUND is NOT_CONFORMANT"
    assert list(check_sweep(context(failing))) == [(Status.FAIL, text)]
    assert list(check_sweep(context(failing, draft=True))) == [(Status.OPEN, text)]
    modes = ("round.nearest-even", "round.toward-zero", "round.toward-infinity")
    item = waivers(clause=modes[0], operator="ROUND", data_type="FLOAT32")
    assert waived_verdict(failing, item) is Verdict.NOT_CONFORMANT  # a waiver is of one clause
    entries = [
        entry for clause in modes for entry in waivers(clause=clause, operator="ROUND", data_type="FLOAT32").entries
    ]
    value = replace(item, entries=tuple(entries))
    assert waived_verdict(failing, value) is Verdict.CONFORMANT
    assert [status for status, _ in check_sweep(context(failing, value=value))] == [Status.PASS]


def first(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda record: change(record["sweeps"][0])


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda record: record.update(backend="other"), "its backend differs"),
        (lambda record: record["device"].update(driver="other"), "its device differs"),
        (lambda record: record.update(feature_level="2.1"), "its feature_level differs"),
        (lambda record: record.update(seed=9), "its seed differs"),
        (lambda record: record["suite"].update(version="9"), "its suite differs"),
        (lambda record: record.update(specs={}), "its specs differs"),
        (lambda record: record.update(strict=True), "its strict differs"),
        (lambda record: record.update(selection={}), "its selection differs"),
        (lambda record: record.update(interrupted=True), "its interrupted differs"),
        (lambda record: record["environment"].update(isolation="none"), "in which code of the implementation ran"),
        (lambda record: record["environment"].pop("isolation"), "in which code of the implementation ran"),
        (lambda record: record["sweeps"].pop(), "was not swept"),
        (lambda record: record["sweeps"].append(record["sweeps"][0]), "stands there twice"),
        (first(lambda row: row.update(target="ROUND-FLOAT32 RoundingMode=UP")), "is no target of this sweep"),
        (first(lambda row: row.update(elements=16, exact=16)), "16 of 4,294,967,296 patterns were judged"),
        (first(lambda row: row.update(exact=1)), "its counts do not add up"),
        (first(lambda row: row.update(wrong=1, exact=row["exact"] - 1)), "something is wrong, and no clause fails"),
        (first(lambda row: row.update(strays=1)), "something is wrong, and no clause fails"),
        (first(lambda row: row.update(unwritten=1)), "something is wrong, and no clause fails"),
        (lambda record: record.update(verdict="INCOMPLETE"), "calls itself INCOMPLETE, its rows amount to CONFORMANT"),
    ],
)
def test_a_sweep_that_was_altered_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    record = swept()
    asked = context(copy.deepcopy(record))
    asked.statement = copy.deepcopy(asked.statement)
    asked.submission.results = copy.deepcopy(asked.submission.results)
    change(asked.submission.sweep)
    lines = list(check_sweep(asked))
    assert {status for status, _ in lines} == {Status.FAIL}
    assert any(message in text for _, text in lines), lines
