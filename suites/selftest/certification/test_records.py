"""The records of a certification: a test that judges nothing is not collected, or says why, which is reckoned again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dmlcts.reports.certification.verdict import Line, Status, Verification, collect, first_of_each
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification.reckoning import idle_tests
from dmlcts.suites.families.family import families
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import collected_tests

TABLES = load_tables()
LATER = "test_later_levels_are_characterised["
AT_2_1 = {"tensors/test_descriptions.py::descriptions[CLIP]": ["test_types_and_ranks_of_level_2_1[CLIP-INT8]"]}
NOTHING = {item: set(tests) for item, tests in AT_2_1.items()}
JUDGED: dict[str, set[str]] = {item: set() for item in AT_2_1}


def statement(level: str, data_types: dict[str, list[str]] | None = None) -> dict[str, Any]:
    device = {"data_types": data_types}
    return {"feature_level": level, "profile": "certification", "seed": 0, "device": device}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("operator", ["IS_NAN", "LOGICAL_NOT"])
@pytest.mark.size("thorough")
def test_every_test_that_is_collected_judges_something_at_the_highest_level(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the one about later levels, of which there are none.

    Of few examples and programs: a test that judges nothing with many judges nothing with few.
    """
    few = replace(PROFILES["certification"], examples=5, programs=40)
    monkeypatch.setitem(PROFILES, "certification", few)
    settings = Settings.read(profile="certification", operators=[operator])
    table = TABLES.operator(operator)
    tests = {
        f"{family.path}::{family.item_name(table)}": {probe.name for probe in family.selected(settings, table)}
        for family in families()
    }
    assert {item for item, inside in tests.items() if inside} == set(collected_tests([operator]))
    idle = idle_tests(tests, statement("6.4"), [operator])
    every = set[str]().union(*tests.values())
    assert {test for test in every if test.startswith(LATER)} == set[str]().union(*idle.values())
    assert len(every) > 100


def test_what_a_level_does_not_oblige_need_not_be_judged_and_what_it_does_must_be() -> None:
    assert idle_tests(AT_2_1, statement("1.0"), ["CLIP"]) == NOTHING
    assert idle_tests(AT_2_1, statement("2.1"), ["CLIP"]) == JUDGED


def test_a_type_that_the_device_does_not_claim_need_not_be_judged() -> None:
    """Its rows are required all the same, which the check of the results finds."""
    assert idle_tests(AT_2_1, statement("2.1", {"ELEMENT_WISE_CLIP": ["FLOAT32"]}), ["CLIP"]) == NOTHING
    assert idle_tests(AT_2_1, statement("2.1", {"ELEMENT_WISE_CLIP": ["INT8"]}), ["CLIP"]) == JUDGED


def test_a_judge_that_was_asked_nothing_states_so() -> None:
    bench = Settings.read(options=["feature_level=1.0"]).open()
    try:
        judge = Judge(bench)
        judge.all([])
        assert judge.idle == "nothing to try at feature level 1.0"
        subject = Subject.on(TABLES.operator("CLIP"), DataType.FLOAT32, FeatureLevel("1.0"))
        judge(subject.case(subject.clause("values"), subject.edges()))
        assert judge.idle == ""
    finally:
        bench.close()


def test_all_faults_are_counted_and_the_first_of_each_kind_is_shown() -> None:
    faults = [("a", "one"), ("b", "two"), ("a", "three"), ("a", "four")]
    lines = tuple(collect("records", lambda: first_of_each(Status.FAIL, faults), ()))
    assert lines == (
        Line("records", Status.FAIL, "one (and 2 more of this kind)", 3),
        Line("records", Status.FAIL, "two"),
    )
    assert Verification(lines, draft=False, about={}).summary().startswith("4 faults, the first: one (and 2 more")
    assert list(first_of_each(Status.FAIL, [])) == []
