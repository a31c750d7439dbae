"""The record of which tests kill which mutant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dmlcts.reports.documents.validation import DocumentError
from dmlcts.reports.documents.writing import write_json
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main
from dmlcts.suites.proof.probes import probes
from dmlcts.suites.proof.prove import Unnamed
from dmlcts.suites.proof.record import (
    OtherRecordError,
    load_record,
    name_of,
    record,
    summary,
    surviving_results,
)
from dmlcts.suites.selftest.proof.fatal_job import doubled_unless_fatal

KEPT = Path(__file__).parents[3] / "reports" / "examples" / "kills.json.gz"


@pytest.mark.size("thorough")
def test_a_mutant_is_judged_by_every_test_until_each_fails_and_recorded(tmp_path: Any) -> None:
    made = record(0, 1, lambda line: None, ["IsInfinitySupportLevel21Refused"])
    killing = made["tests"]
    assert made["mutants"] == {"IsInfinitySupportLevel21Refused": list(range(len(killing)))}
    assert "descriptions::test_types_and_ranks_of_level_2_1" in killing
    assert "combinations::test_every_combination" in killing
    tried = {name_of(probe) for probe in probes(load_tables(), 0) if probe.table.short_name == "IS_INFINITY"}
    assert set(killing) < tried
    write_json(tmp_path / "kills.json", made)
    assert load_record(tmp_path / "kills.json") == made


def test_a_summary_states_what_kills_alone() -> None:
    alone = {"tests": ["a::test_b", "a::test_c", "d::test_e"], "mutants": {"One": [0], "Two": [0, 1], "None": []}}
    assert summary(alone) == [
        "    2    1 alone  a::test_b",
        "    1    0 alone  a::test_c",
        "    0    0 alone  d::test_e",
        "family a: 2 that no other family kills",
        "nothing kills None",
    ]


def test_the_kept_record_has_a_test_that_kills_each_mutant() -> None:
    kept = load_record(KEPT)
    assert kept["suite"]["modified"] is False
    assert len(kept["mutants"]) > 2000
    assert all(kept["mutants"].values())
    assert not kept["lost"]
    shown = CliRunner().invoke(main, ["selftest", "--kills", str(KEPT)])
    assert (shown.exit_code, shown.output.splitlines()) == (0, summary(kept))


def test_what_is_no_record_is_refused(tmp_path: Any) -> None:
    write_json(tmp_path / "kills.json", {"schema": "dmlcts-kills/1", "seed": 0, "tests": [], "mutants": {"One": ["a"]}})
    with pytest.raises(DocumentError, match="mutants"):
        load_record(tmp_path / "kills.json")


def test_a_mutant_that_is_not_there_is_named() -> None:
    with pytest.raises(Unnamed, match="Nobody"):
        record(0, 1, lambda line: None, ["Nobody"])


@pytest.mark.size("thorough")
@pytest.mark.parametrize("fatal", [2, 99])
def test_a_job_that_ends_its_process_is_reported_and_the_others_finish(fatal: int) -> None:
    jobs = [(number, fatal) for number in range(6)]
    results = dict(surviving_results(doubled_unless_fatal, jobs, 2))
    assert results == {(number, fatal): None if number == fatal else 2 * number for number in range(6)}


@pytest.mark.size("all")
def test_a_record_that_was_cut_off_is_continued_without_judging_again(tmp_path: Path) -> None:
    path = tmp_path / "kills.json"
    lines: list[str] = []
    first = record(0, 1, lines.append, ["IsInfinitySupportLevel21Refused"], path)
    assert load_record(path) == first
    second = record(0, 1, lines.append, ["IsInfinitySupportLevel21Refused", "IsNanSupportLevel30Refused"], path)
    assert second["mutants"].keys() == {"IsInfinitySupportLevel21Refused", "IsNanSupportLevel30Refused"}
    assert [line.partition(":")[0] for line in lines] == [
        "[1/1] IsInfinitySupportLevel21Refused",
        "[2/2] IsNanSupportLevel30Refused",
    ]


@pytest.mark.parametrize("member", ["seed", "suite"])
def test_a_record_of_another_seed_or_suite_is_not_continued(member: str, tmp_path: Path) -> None:
    path = tmp_path / "kills.json"
    other = {"seed": 1} if member == "seed" else {"suite": {"version": "0.1"}}
    write_json(path, {"schema": "dmlcts-kills/1", "seed": 0, "tests": [], "mutants": {}} | other)
    with pytest.raises(OtherRecordError, match=member):
        record(0, 1, lambda line: None, ["IsInfinitySupportLevel21Refused"], path)
