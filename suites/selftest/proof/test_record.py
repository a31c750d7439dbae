"""The record of which tests kill which mutant."""

from __future__ import annotations

from typing import Any

import pytest

from dmlcts.reports.documents.validation import DocumentError
from dmlcts.reports.documents.writing import write_json
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.proof.probes import probes
from dmlcts.suites.selftest.proof.prove import Unnamed
from dmlcts.suites.selftest.proof.record import load_record, name_of, record, summary


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


def test_a_summary_says_what_kills_alone() -> None:
    alone = {"tests": ["a::test_b", "a::test_c", "d::test_e"], "mutants": {"One": [0], "Two": [0, 1], "None": []}}
    assert summary(alone) == [
        "    2    1 alone  a::test_b",
        "    1    0 alone  a::test_c",
        "    0    0 alone  d::test_e",
        "family a: 2 that no other family kills",
        "nothing kills None",
    ]


def test_what_is_no_record_is_refused(tmp_path: Any) -> None:
    write_json(tmp_path / "kills.json", {"schema": "dmlcts-kills/1", "seed": 0, "tests": [], "mutants": {"One": ["a"]}})
    with pytest.raises(DocumentError, match="mutants"):
        load_record(tmp_path / "kills.json")


def test_a_mutant_that_is_not_there_is_named() -> None:
    with pytest.raises(Unnamed, match="Nobody"):
        record(0, 1, lambda line: None, ["Nobody"])
