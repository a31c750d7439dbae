"""Groups of operators, for ``--operator``: data of the tables."""

from __future__ import annotations

import pytest

from dmlcts.specs import TableError, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.family.stated_tables import SIGN, stated_tables


def named(group: str) -> set[str]:
    return {table.short_name for table in family().selected(group)}


def test_every_operator_is_in_a_group() -> None:
    assert all(table.groups for table in family().operators.values())


def test_groups_hold_what_their_names_state() -> None:
    assert named("rounding") == {"ROUND", "CEIL", "FLOOR"}
    assert named("logic") == {f"LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT")}
    assert {"LOGICAL_EQUALS", "LOGICAL_LESS_THAN_OR_EQUAL", "IS_NAN"} <= named("comparisons")
    assert len(named("bits")) == 7
    assert {"CLIP", "CLIP1", "THRESHOLD", "MAX", "MIN"} <= named("bounds")


def test_an_operator_is_selected_by_its_name() -> None:
    assert named("clip") == named("ELEMENT_WISE_CLIP") == {"CLIP"}


def test_what_is_neither_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        UsageError, match=r"no table describes the operator 'rotation'; choose one of ABS, .* or a group: .*rounding"
    ):
        family().selected("rotation")


def test_a_run_takes_groups_and_operators() -> None:
    chosen = Settings.read(operators=("rounding,CLIP", "ROUND")).operators
    rounding = [table.operator for table in load_tables().groups["rounding"]]
    assert list(chosen) == [*rounding, "ELEMENT_WISE_CLIP"]  # each once


def test_a_group_is_not_called_like_an_operator() -> None:
    with pytest.raises(TableError, match="clip is an operator's name"):
        stated_tables(sign_of=SIGN.replace("summary: SIGN_OF.", "summary: SIGN_OF.\ngroups: [clip]"))
    assert stated_tables(sign_of=SIGN.replace("summary: SIGN_OF.", "summary: SIGN_OF.\ngroups: [signs]"))
