"""No row that a level obliges is left without a test, whatever the quick profile shares out, on every seed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import dmlcts.suites.conformance
from dmlcts.specs import FeatureLevel
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.combinations.coverage import combinations_of
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.running.markers import Checked
from dmlcts.suites.running.options import Settings

_Row = tuple[str, str, str]


def _markers() -> Iterator[Checked]:
    """The markers of every test that judges a backend."""
    room = dmlcts.suites.conformance
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        if module.name.rsplit(".", 1)[-1].startswith("test_"):
            for name, test in vars(importlib.import_module(module.name)).items():
                if name.startswith("test_"):
                    yield from (Checked.of(mark) for mark in getattr(test, "pytestmark", []) if mark.name == "checks")


def _tried(settings: Settings, tables: Tables) -> set[_Row]:
    """The rows that some test is about."""
    result = set()
    for checked in _markers():
        for table, signature in checked.subjects(tables, settings.covering):
            for clause in checked.clauses(table, tables):
                result.add((clause, table.operator, signature.data_type.name))
    return result


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_quick_has_a_test_for_every_row_that_is_required(seed: int) -> None:
    settings = Settings.read(profile="quick", seed=seed)
    tried = _tried(settings, settings.tables)
    required = {row[:3] for row in settings.obliged(FeatureLevel("6.4"))}
    assert len(required) > 1000, "there are rows to look for"
    assert sorted(required - tried) == []


def test_every_clause_of_a_check_counts_and_not_its_first_alone() -> None:
    """MODULUS_FLOOR's relation on the sign is of signed types, others of all integers, or of floating-point types."""
    settings = Settings.read()
    table = settings.tables.operator("MODULUS_FLOOR")
    relation = Checked(("relation",), (), None)
    types = {signature.data_type.name for other, signature in relation.subjects(settings.tables) if other is table}
    integers = {"INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"}
    assert types == {*integers, "FLOAT32", "FLOAT16"}


def test_results_state_which_signatures_stand_for_the_others() -> None:
    tables, level = Settings.read().tables, FeatureLevel("6.4")
    subjects = [(name, "INT8") for name in ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT")]
    seen = set()
    for seed in range(4):
        result = combinations_of([], tables, level, "quick", subjects, seed)
        chosen = covering_subjects(tables, seed)
        assert set(result["shared_out"]) == {"ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT"}, "CLIP is tried on all"
        for row in result["combinations"]:
            operator = row["operator"]
            tried = any(signature.data_type.name == "INT8" for signature in chosen[operator])
            assert (row["pairs"]["asked"] > 0) == (row["pairs"]["missing"] > 0) == tried
            if operator in result["shared_out"]:
                assert result["shared_out"][operator] == sorted(map(str, chosen[operator]))
                assert len(chosen[operator]) < len(signatures(tables.operators[operator]))
            seen.add(tried)
    assert seen == {True, False}
    assert "shared_out" not in combinations_of([], tables, level, "full", subjects[:1])
