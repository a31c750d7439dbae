"""A triage: every failure has its cause, and a cause the reasons and reports that the baseline holds for its rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dmlcts.reports.comparing import baseline
from dmlcts.reports.comparing.baseline import UpstreamReport
from dmlcts.reports.comparing.triage import baseline_for, known_reasons, lines, reasons_by_row, triage_of, unexplained
from dmlcts.reports.documents.validation import DocumentError, load_document
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.summaries.overview import judged_name
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.departures.test_baseline import FORMULA, HELD, ROUND, TABLES, TRUNCATION, results

FILED = UpstreamReport("round.md", "filed", "https://example.invalid/7")
FIXED = UpstreamReport("round-2.md", "fixed", "", "1.2")


def two_faults() -> dict[str, Any]:
    """A run in which CLIP and ROUND are wrong in ways of their own."""
    run = results(FORMULA, HELD, TRUNCATION)
    for failure in run["failures"]:
        failure["title"] = f"input 0.5 gives 1.0 on {failure['operator']}"
    return run


def reasoned(run: dict[str, Any]) -> baseline.Baseline:
    """The baseline of a run with a reason, and two reports upstream, for what fails on ROUND."""
    made = baseline.baseline_of(run)
    entries = tuple(
        replace(entry, because="It adds a half.\n\nBy FMad.", since="1.0", upstream=(FILED, FIXED))
        if entry.operator == ROUND
        else entry
        for entry in made.entries
    )
    return replace(made, entries=entries)


def test_reports_upstream_survive_the_file_and_another_write(tmp_path: Path) -> None:
    run = results(FORMULA, TRUNCATION)
    baseline.write(reasoned(run), tmp_path / "known.yaml")
    kept = baseline.load(tmp_path / "known.yaml")
    assert kept == reasoned(run)
    again = baseline.baseline_of(run, kept)
    assert [entry.upstream for entry in again.entries] == [(), (FILED, FIXED)]


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("state: filed", "state: lost", "not known"),
        ("https://", "javascript:", "malformed"),
        ("- report:", "- reported:", "lacks report"),
    ],
)
def test_a_malformed_report_upstream_is_refused(tmp_path: Path, old: str, new: str, cause: str) -> None:
    path = tmp_path / "known.yaml"
    baseline.write(reasoned(results(TRUNCATION)), path)
    assert baseline.load(path), "the control"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DocumentError, match=cause):
        baseline.load(path)


def test_a_triage_leads_from_a_failure_to_its_cause_its_reason_and_the_reports() -> None:
    run = two_faults()
    triage = triage_of(run, TABLES, reasoned(run))
    (failure,) = [each for each in triage["failures"] if each["operator"] == ROUND]
    cause = triage["causes"][failure["cause"]]
    assert cause["rows"] == [{"clause": "round.toward-zero", "operator": ROUND, "data_types": ["FLOAT16"]}]
    (reason,) = [triage["reasons"][number] for number in cause["reasons"]]
    assert (reason["because"], reason["since"]) == ("It adds a half.\n\nBy FMad.", "1.0")
    assert reason["upstream"] == [FILED.to_json(), FIXED.to_json()]
    assert unexplained(triage) == 1, "what fails on CLIP has no reason"
    assert reasons_by_row(triage) == {("round.toward-zero", ROUND, "FLOAT16"): reason}


def test_without_a_baseline_causes_stand_without_reasons() -> None:
    triage = triage_of(two_faults(), TABLES, None)
    assert (len(triage["causes"]), unexplained(triage), triage["reasons"]) == (2, 2, [])
    assert "  no reason yet" in list(lines(triage))


def test_a_run_takes_the_baseline_of_its_backend_and_library_and_best_of_its_version() -> None:
    run = results(TRUNCATION)
    made = baseline.baseline_of(run)
    other = replace(made, device={**made.device, "library": "another"})
    older = replace(made, device={**made.device, "version": "0.9"})
    assert baseline_for(run, [other]) is None
    assert baseline_for(run, [other, older]) is older
    assert baseline_for(run, [older, made, other]) is made


def test_the_command_prints_the_triage_and_writes_it(tmp_path: Path) -> None:
    run, known, written = (tmp_path / name for name in ("run.json", "known.yaml", "triage.json"))
    write_json(run, two_faults())
    baseline.write(reasoned(results(TRUNCATION)), known)
    done = CliRunner().invoke(main, ["baseline", "triage", str(run), str(known), "--json", str(written)])
    assert done.exit_code == 0
    assert "  because: It adds a half.\n" in done.output
    assert "  upstream: https://example.invalid/7 (filed)\n  upstream: round-2.md (fixed in 1.2)\n" in done.output
    assert "2 causes, 1 without a reason\n" in done.output
    assert load_document(written, "triage-1", "") == triage_of(two_faults(), TABLES, baseline.load(known))


def test_the_page_of_a_run_takes_the_reasons_of_its_failing_rows() -> None:
    run = two_faults()
    known = known_reasons(run, reasoned(run))
    assert {key[1] for key in known.by_row} == {ROUND}
    assert {reason["since"] for reason in known.by_row.values()} == {"1.0"}
    assert known.of == judged_name(run["backend"], run["device"])
    assert known_reasons(run | {"clauses": []}, reasoned(run)).by_row == {}
