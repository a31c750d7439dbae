"""The results of a run whose waived fault several tests show follow from its records."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest

from dmlcts.reports.certification.verdict import Status
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, ItemRecord
from dmlcts.reports.documents.results import build_results
from dmlcts.reports.documents.waivers import read
from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification import verify
from dmlcts.suites.selftest.reports.report_samples import FAILURES, ROUND, RUN

WAIVER = {
    "clause": "round.toward-infinity",
    "operator": "ROUND",
    "data_type": "FLOAT32",
    "device": "Example NX-2",
    "vendor": "0x1d6b",
    "reason": "Halves are rounded up on this chip.",
    "issue": "https://example.org/issues/7",
    "expires": str(date(2027, 1, 31)),
    "suite": "1.0.*",
}


def test_failures_of_one_fault_in_several_tests_follow_from_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load_tables()
    tally = ClauseTally("round.toward-infinity", ROUND, "FLOAT32", Outcome.FAIL, 3, 300, 1)
    records = [
        ItemRecord(name, Outcome.FAIL, 1.0, (tally,), (), tuple(replace(failure, test=name) for failure in FAILURES))
        for name in ("test_all.py::test_a", "test_all.py::test_b")
    ]
    waivers = read({"format": "dmlcts/waivers/1", "waivers": [WAIVER]}, "waivers.yaml")
    results = build_results(grouped_by_fault(waivers.apply(records)), [], RUN, tables)
    assert len(results["failures"]) < sum(len(record.failures) for record in records), "they are grouped"
    results = explained(results | waivers.reported(results), tables)
    monkeypatch.setattr(verify, "_required_rows", lambda _: [])
    context = SimpleNamespace(
        submission=SimpleNamespace(results=results, records=records, waivers=waivers),
        statement={"feature_level": "5.0", "verdict": results["verdict"]},
        reference=SimpleNamespace(tables=tables),
        now=datetime(2026, 11, 28, tzinfo=UTC),
        draft=False,
    )
    (line,) = verify.check_results(context)
    assert line[0] is Status.PASS, line
