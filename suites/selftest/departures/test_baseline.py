"""A baseline: exactly the known departures agree; a new one, a gone one and another run do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dmlcts.reports.comparing import baseline
from dmlcts.reports.comparing.baseline import Departure
from dmlcts.reports.comparing.findings import page
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results
from dmlcts.reports.documents.validation import DocumentError
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs import UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main

TABLES = load_tables()
CLIP, ROUND = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND"
DEVICE = {
    "name": "d",
    "adapter": "a",
    "driver": "",
    "library": "l",
    "version": "1",
    "feature_level": "5.0",
    "data_types": None,
    "details": {},
}
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
CASE: dict[str, Any] = {
    "operator": ROUND,
    "tensors": {
        name: {"data_type": "FLOAT32", "sizes": [1], "strides": None, "total_size_in_bytes": 4}
        for name in ("InputTensor", "OutputTensor")
    },
    "attributes": {"RoundingMode": "TOWARD_ZERO"},
    "values": {"bits": ["0x3f000000"]},
    "placement": {"in_place": False},
}


def results(*rows: tuple[str, str, str, Outcome], **changed: Any) -> dict[str, Any]:
    tallies = tuple(ClauseTally(*row, 1, 1, int(row[3] is Outcome.FAIL)) for row in rows)
    failures = tuple(
        FailureRecord(
            clause,
            operator,
            data_type,
            outcome,
            "t",
            "title",
            "text",
            CASE,
            "f.yaml",
            {"input": "0.5", "acceptable": "0.0", "got": "1|0", "RoundingMode": "TOWARD_ZERO"},
            "dmlcts replay f.yaml",
        )
        for clause, operator, data_type, outcome in rows
        if outcome is Outcome.FAIL
    )
    run = RunInfo("b", DEVICE, "5.0", "quick", 0, False, {}, WHEN, WHEN)
    required = [(clause, operator, data_type, "required") for clause, operator, data_type, _ in rows]
    made = build_results([ItemRecord("t", Outcome.PASS, 0.0, tallies, (), failures)], required, run, TABLES)
    return made | changed


FORMULA = ("clip.formula", CLIP, "FLOAT32", Outcome.FAIL)
TRUNCATION = ("round.toward-zero", ROUND, "FLOAT16", Outcome.FAIL)
TRUNCATION_32 = ("round.toward-zero", ROUND, "FLOAT32", Outcome.FAIL)
HELD = ("clip.formula", CLIP, "INT8", Outcome.PASS)


def test_a_baseline_knows_what_neither_passes_nor_is_characterised_by_type_in_order() -> None:
    made = baseline.baseline_of(results(FORMULA, HELD, TRUNCATION, TRUNCATION_32))
    assert [(entry.clause, entry.data_types) for entry in made.entries] == [
        ("clip.formula", ("FLOAT32",)),
        ("round.toward-zero", ("FLOAT32", "FLOAT16")),
    ]


def test_a_baseline_survives_its_file_and_keeps_reasons_and_their_grouping(tmp_path: Path) -> None:
    made = baseline.baseline_of(results(FORMULA, TRUNCATION, TRUNCATION_32))
    first = replace(made.entries[0], because="One reason.\n\nAt length.", since="1.0 to 1.2")
    reasoned = replace(made, entries=(first, *made.entries[1:]))
    path = tmp_path / "baseline.yaml"
    baseline.write(reasoned, path)
    known = baseline.load(path)
    assert known == reasoned
    again = baseline.baseline_of(results(FORMULA, TRUNCATION), known)
    assert [(entry.because[:3], entry.since, entry.data_types) for entry in again.entries] == [
        ("One", "1.0 to 1.2", ("FLOAT32",)),
        ("", "", ("FLOAT16",)),
    ]
    baseline.write(again, path)
    assert baseline.load(path) == again


def test_a_reason_stands_once_whatever_it_accounts_for(tmp_path: Path) -> None:
    made = baseline.baseline_of(results(FORMULA, TRUNCATION))
    reasoned = replace(made, entries=tuple(replace(entry, because="The same.") for entry in made.entries))
    baseline.write(reasoned, tmp_path / "baseline.yaml")
    assert (tmp_path / "baseline.yaml").read_text("utf-8").count("The same.") == 1
    assert baseline.load(tmp_path / "baseline.yaml") == reasoned


def test_a_run_that_finds_what_is_known_agrees() -> None:
    run = results(FORMULA, TRUNCATION)
    assert baseline.compare(run, baseline.baseline_of(run)).agrees


def test_a_new_departure_and_a_gone_one_are_distinguished() -> None:
    comparison = baseline.compare(results(TRUNCATION), baseline.baseline_of(results(FORMULA)))
    assert comparison.new == (Departure("round.toward-zero", ROUND, "fail", "FLOAT16"),)
    assert comparison.gone == (Departure("clip.formula", CLIP, "fail", "FLOAT32"),)
    assert not comparison.agrees


def test_another_outcome_of_a_known_row_is_new() -> None:
    crashed = results((*FORMULA[:3], Outcome.CRASH))
    assert not baseline.compare(crashed, baseline.baseline_of(results(FORMULA))).agrees


@pytest.mark.parametrize(
    "changed", [{"backend": "c"}, {"profile": "full"}, {"strict": True}, {"feature_level": "3.0"}], ids=str
)
def test_a_run_under_other_conditions_is_not_compared(changed: dict[str, Any]) -> None:
    known = baseline.baseline_of(results(FORMULA))
    with pytest.raises(UsageError, match="the baseline's"):
        baseline.compare(results(FORMULA, **changed), known)


@pytest.mark.parametrize("changed", [{"interrupted": True}, {"selection": {"operators": [CLIP]}}], ids=str)
def test_a_run_that_is_not_whole_makes_no_baseline(changed: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        baseline.baseline_of(results(FORMULA, **changed))


def test_another_version_of_the_device_is_noted() -> None:
    run = results(FORMULA)
    known = baseline.baseline_of(run)
    later = run | {"device": DEVICE | {"version": "2"}}
    assert baseline.compare(later, known).notes == ("the run's version is '2', the baseline's '1'",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("outcome: fail", "outcome: pass", "not known"),
        ("FLOAT32", "FLOAT33", "not known"),
        ("departures:", "departure:", "lacks departures"),
        ("data_types: [FLOAT32]", "data_types: [FLOAT32, FLOAT32]", "stands twice"),
    ],
)
def test_a_broken_baseline_is_refused_and_states_where(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "baseline.yaml"
    baseline.write(baseline.baseline_of(results(FORMULA)), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DocumentError, match=message):
        baseline.load(path)


def test_the_commands_write_agree_and_disagree(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, arguments)
        return result.exit_code, result.output

    item, two, known = (str(tmp_path / name) for name in ("one.json", "two.json", "known.yaml"))
    write_json(Path(item), results(FORMULA))
    write_json(Path(two), results(FORMULA, TRUNCATION))
    assert run("baseline", "write", item, known)[0] == 0
    assert run("baseline", "check", item, known) == (0, "as known: 1 departure, none new, none gone\n")
    code, text = run("baseline", "check", two, known)
    assert code == 1
    assert text.startswith(f"new:  round.toward-zero on {ROUND} FLOAT16: fail\n")
    code, text = run("findings", two, "--baseline", known)
    assert code == 0
    assert "0 of 2 clause rows hold. 2 do not, for 1 reason." in text


def test_the_page_reports_each_reason_once_with_its_rows_and_models() -> None:
    run = results(FORMULA, HELD, TRUNCATION, TRUNCATION_32)
    made = baseline.baseline_of(run)
    reasoned = baseline.Baseline(
        made.conditions,
        made.device,
        tuple(
            baseline.Entry(e.clause, e.operator, e.outcome, e.data_types, "It adds a half.\n\nBy *FMad*.")
            if e.operator == ROUND
            else e
            for e in made.entries
        ),
    )
    text = page(run, TABLES, reasoned, "dmlcts findings x")
    assert "## 1. It adds a half\n\nBy *FMad*.\n" in text
    assert "## 2. Not explained yet\n" in text
    assert "| ROUND | FLOAT32, FLOAT16 | `round.toward-zero` |" in text
    shown = "RoundingMode = TOWARD_ZERO: input 0.5 gives 1\\|0; acceptable 0.0"
    assert f"- **Smallest case:** ROUND on FLOAT32, {shown}" in text
    assert "1 of 4 clause rows hold. 3 do not, for 2 reasons." in text
    assert f"| tables | {tables_digest(run['specs'])} |" in text
    assert "| date | 2026-01-01 |" in text
    assert "DxDispatch" not in text, "there is no folder of models to link to"
    assert page(run, TABLES, reasoned, "dmlcts findings x") == text


def test_of_a_broken_relation_the_page_shows_what_it_demands_beside_what_was_seen() -> None:
    run = results(("round.odd", ROUND, "FLOAT32", Outcome.FAIL))
    seen = "input 0.5 gives 1.0, input -0.5 gives 0.0"
    related = next(item for item in run["failures"] if item["clause"] == "round.odd")
    related["details"] = {"input": "0.5", "got": "1.0", "property": seen, "RoundingMode": "TOWARD_ZERO"}
    text = page(run, TABLES, None, "c")
    demanded = "Every mode is an odd function, round(-x) = -round(x)."
    assert f"RoundingMode = TOWARD_ZERO: input 0.5 gives 1.0; {seen}\n" in text
    assert f"\n- **Clause:** `round.odd` (implied): {demanded}" in text
    alone = page(results(TRUNCATION), TABLES, None, "c")
    assert "input 0.5 gives 1\\|0; acceptable 0.0" in alone, "a value that is wrong by itself"


def test_what_an_implementation_cannot_do_stands_apart_from_what_it_does_wrong() -> None:
    run = results(("clip.formula", CLIP, "FLOAT16", Outcome.NOT_SUPPORTED), HELD)
    text = page(run, TABLES, None, "c")
    assert "0 do not, for 0 reasons" in text
    assert "## Not judged" in text
    assert "| CLIP | FLOAT16 | `clip.formula` | not_supported |  |" in text
