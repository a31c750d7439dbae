"""Judging what came back in files, into ordinary results; what must be adaptive did not run, as the verdict says."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.backends import DeviceInfo
from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.documents.outcomes import Outcome, worst
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.reports.views.run_folder import earlier_run, prepare_folder, write_run
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.certification.evidence import Planned
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.judge import Ledger
from dmlcts.suites.offline.cases import Exported, read_export
from dmlcts.suites.offline.recorded import RecordedBackend, RecordedDevice
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.results_page import results_page

_MOST_REPORTED = 8  # failures that are kept of one operator and type; all are counted


@dataclass(frozen=True)
class Judged:
    """The result of judging a folder of outputs.

    Attributes:
        results: the results document.
        cases: how many cases were judged.
        missing: how many have no outputs.
        unreached: rows that the level requires and that no case of the export checks.
        written: the files.
    """

    results: dict[str, Any]
    cases: int
    missing: int
    unreached: int
    written: Sequence[Path]


def judge_folder(cases: str, outputs: str, results: str, extra_tables: tuple[str, ...] = ()) -> Judged:
    """Judge what a runner wrote, and write the results folder.

    Args:
        cases: the folder that ``offline export`` wrote.
        outputs: the folder that the runner wrote.
        results: the results folder.
        extra_tables: files and folders of further operator tables.

    Raises:
        UsageError: a folder is not what it should be, or another run is writing into the results folder.
        BackendUnavailable: there are no outputs.
    """
    begun = datetime.now(UTC)
    exported = read_export(cases, extra_tables, results)
    files = list(exported.files())
    device = RecordedDevice(Path(outputs), [name for name, _ in files])
    settings = replace(exported.settings, backend="offline", isolation="none")
    exported = replace(exported, settings=settings)
    bench = Bench(
        "offline", RecordedBackend(device), {}, settings.tables, exported.level, strict=settings.strict, device=device
    )
    with contextlib.ExitStack() as stack:
        stack.callback(bench.close)
        stack.callback(FolderLock(prepare_folder(settings.results)).release)
        replaced = earlier_run(settings.results)
        records, judged, missing = [], 0, 0
        for group in _groups(files):
            there = [(name, item) for name, item in group if device.has(name)]
            judged, missing = judged + len(there), missing + len(group) - len(there)
            if there:
                records.append(_record(bench, device, there, exported))
        if replaced.words:
            print_line(f"dmlcts: replaces {replaced.words} in {settings.results}")
        replaced.remove()
        return _published(exported, settings, bench.info, records, begun, judged, missing)


def _groups(files: list[tuple[str, Planned]]) -> list[list[tuple[str, Planned]]]:
    """The cases of each operator and type, in their order."""
    groups: dict[tuple[str, str], list[tuple[str, Planned]]] = {}
    for name, item in files:
        groups.setdefault((item.case.operator.name, item.case.data_type.name), []).append((name, item))
    return list(groups.values())


def _record(bench: Bench, device: RecordedDevice, group: list[tuple[str, Planned]], exported: Exported) -> ItemRecord:
    """What the cases of one operator and type show."""
    begun = time.monotonic()
    ledger = Ledger()
    first = group[0][1].case
    test = f"offline::{first.operator.name.removeprefix('ELEMENT_WISE_')}-{first.data_type.name}"
    failures: list[FailureRecord] = []
    broken: dict[str, Outcome] = {}
    for name, item in group:
        device.play(name)
        bench.masks = exported.masks(item)
        with np.errstate(all="ignore"):  # infinities and NaNs are values like any other here
            judgement = judge_case(bench, item.case)
        ledger.count(item.case, judgement)
        for finding in judgement.findings:
            outcome = Outcome(finding.outcome)
            broken[finding.clause] = worst([outcome, broken.get(finding.clause, Outcome.PASS)])
            if len(failures) < _MOST_REPORTED:
                failures.append(failure_of(f"{test}::{name}", bench.tables, finding, exported.settings))
    tallies = []
    for row, tally in ledger.tallies.items():
        unspecified = bench.tables.clause(row[0]).obligation == "unspecified"
        clean = Outcome.CHARACTERISED if unspecified else Outcome.PASS
        outcome = broken.get(row[0], clean if tally.cases else Outcome.NOT_SUPPORTED)
        tallies.append(ClauseTally(*row, outcome, tally.cases, tally.elements, tally.failures, tally.unsupported))
    whole = worst(broken.values()) if broken else Outcome.PASS
    return ItemRecord(test, whole, time.monotonic() - begun, tuple(tallies), (), tuple(failures))


def _published(
    exported: Exported,
    settings: Settings,
    device: DeviceInfo,
    records: list[ItemRecord],
    begun: datetime,
    judged: int,
    missing: int,
) -> Judged:
    info = RunInfo(
        "offline",
        describe_device(device),
        str(exported.level),
        settings.profile,
        settings.seed,
        settings.strict,
        settings.selection,
        begun,
        datetime.now(UTC),
    )
    item_records = grouped_by_fault(records)
    required_rows = list(settings.obliged(exported.level))
    document = build_results(
        item_records, required_rows, info, settings.tables, unsupported=settings.unsupported(device)
    )
    document = explained(document, settings.tables)
    reached = {(tally.clause, tally.operator, tally.data_type) for record in records for tally in record.tallies}
    unreached = sum(row[:3] not in reached for row in required_rows)
    written = write_run(settings.results, document, item_records, results_page(document, settings.tables))
    return Judged(document, judged, missing, unreached, written)
