"""A certification of chosen operators, of two and three inputs: the statement names them, and all is held to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from dmlcts.reports.certification import archive
from dmlcts.reports.certification.operators import (
    named_operators,
    obliged_operators,
    operator_faults,
    wanted_operators,
)
from dmlcts.reports.certification.verdict import Standing, Status
from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.certification import evidence
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.certification.submissions import Parts, build
from dmlcts.suites.selftest.conftest import Ran

TABLES = load_tables()
LEVEL = FeatureLevel("3.0")
CHOSEN = ("ELEMENT_WISE_IF", "ELEMENT_WISE_LOGICAL_EQUALS", "ELEMENT_WISE_MAX")


@pytest.fixture(scope="module")
def genuine() -> Parts:
    return build(CHOSEN, LEVEL)


@pytest.fixture
def parts(genuine: Parts) -> Parts:
    return genuine.copy()


def faults(parts: Parts) -> list[tuple[str, str]]:
    found = parts.verifier.verify(parts.packed())
    return [(line.check, line.said) for line in found.lines if line.status is Status.FAIL]


@pytest.mark.size("thorough")
def test_a_certification_of_three_operators_passes_and_names_them(parts: Parts) -> None:
    found = parts.verifier.verify(parts.packed())
    assert found.standing is Standing.PASS, "\n".join(found.text())
    said = next(line.said for line in found.lines if line.check == "operators")
    assert said.endswith("IF, LOGICAL_EQUALS, MAX")
    assert said.startswith("3 operators of ")
    assert found.about["operators"] == ", ".join(CHOSEN)
    collecting = replace(parts.verifier, expected=None)  # the tests that had to run, collected from the statement
    assert collecting.verify(parts.packed()).standing is Standing.PASS


@pytest.mark.size("all")
def test_a_certification_of_all_operators_passes() -> None:
    """At a level that owes no sweep; its statement names each of them."""
    made = build((), FeatureLevel("1.0"))
    found = made.verifier.verify(made.packed())
    assert found.standing is Standing.PASS, "\n".join(found.text())
    assert made.statement["operators"] == list(obliged_operators(TABLES, FeatureLevel("1.0")))
    said = next(line.said for line in found.lines if line.check == "operators")
    assert said == f"{len(made.statement['operators'])} operators, all that level 1.0 obliges"


def test_no_sweep_is_owed_where_round_is_not_certified(parts: Parts) -> None:
    found = parts.verifier.verify(parts.packed())
    said = [line.said for line in found.lines if line.check == "sweep"]
    assert said == ["none is owed: FLOAT32 ROUND is not certified"]


def test_an_operator_that_the_statement_names_and_the_run_lacks_is_refused(parts: Parts) -> None:
    """One who claims MIN as well, in statement and command, without having run it."""
    parts.statement["operators"].append("ELEMENT_WISE_MIN")
    parts.statement["command"][-1] += ",min"
    assert ("operators", "the statement names ELEMENT_WISE_MIN, which was not selected in the run") in faults(parts)
    parts.edit(archive.RESULTS, lambda results: results["selection"]["operators"].append("ELEMENT_WISE_MIN"))
    found = faults(parts)
    assert ("operators", "the statement names ELEMENT_WISE_MIN, of which the results have no row") in found
    assert {"results", "evidence"} <= {check for check, _ in found}


@pytest.mark.size("thorough")
def test_a_claim_of_all_operators_on_a_run_of_three_is_refused(parts: Parts) -> None:
    results = json.loads(parts.members[archive.RESULTS])
    parts.statement["operators"] = list(obliged_operators(TABLES, LEVEL))
    parts.statement["command"][-1] = "all"
    assert any("was not selected" in said for _, said in operator_faults(parts.statement, results, TABLES))
    del parts.statement["operators"]  # as a statement of an earlier version, which certifies all
    assert any("was not selected" in said for _, said in operator_faults(parts.statement, results, TABLES))
    parts.edit(archive.RESULTS, lambda results: results.update(selection={}))
    replaced = Parts(parts.members, parts.statement, parts.key, replace(parts.verifier, expected=None))
    found = dict(faults(replaced))
    assert "of which the results have no row" in found["operators"]
    assert "has no record" in found["records"] or "more records are missing" in found["records"]


def test_fewer_rows_than_the_operators_owe_are_refused(parts: Parts) -> None:
    """An operator whose rows are left out of records and results."""

    def without_max(document: dict[str, Any]) -> None:
        document["clauses"] = [row for row in document["clauses"] if row["operator"] != "ELEMENT_WISE_MAX"]

    def tallies_without_max(records: list[dict[str, Any]]) -> None:
        for record in records:
            record["tallies"] = [tally for tally in record["tallies"] if tally["operator"] != "ELEMENT_WISE_MAX"]

    parts.edit(archive.RESULTS, without_max)
    alone = dict(faults(parts))
    assert alone["operators"] == "the statement names ELEMENT_WISE_MAX, of which the results have no row"
    assert "results" in alone
    parts.edit_records(tallies_without_max)
    told = [said for check, said in faults(parts) if check == "results"]
    assert any("ELEMENT_WISE_MAX" in said and "was not run" in said for said in told)


def test_one_row_less_is_refused(parts: Parts) -> None:
    row = next(
        row
        for row in json.loads(parts.members[archive.RESULTS])["clauses"]
        if row["operator"] == "ELEMENT_WISE_IF" and row["obligation"] == "required"
    )
    parts.edit(archive.RESULTS, lambda results: results["clauses"].remove(row))
    assert any(f"the results lack the row {row['id']} ELEMENT_WISE_IF" in said for _, said in faults(parts))


# The evidence of several inputs.


def _gathered(parts: Parts, change: Callable[[Case], Case]) -> Parts:
    """The submission with the outputs of an implementation that was given other inputs than the plan's."""
    planned = evidence.plan(TABLES, LEVEL, 0, "", CHOSEN)
    settings = Settings.read(options=[f"feature_level={LEVEL}"])
    bench = settings.open()
    try:
        found = parts.copy()
        outputs, absent = evidence.gather(bench, [replace(item, case=change(item.case)) for item in planned])
        assert not absent
        found.members[archive.OUTPUTS] = outputs
    finally:
        bench.close()
    return found


def _with(case: Case, name: str, values: Values) -> Case:
    streams = {**dict(case.values.items()), name: values}
    return replace(case, values=Streams(tuple(streams.items())))


def _second_for_first(case: Case) -> Case:
    return _with(case, "BTensor", case.values["ATensor"])


def _first_for_second(case: Case) -> Case:
    return _with(case, "ATensor", case.values["BTensor"])


def _other_condition(case: Case) -> Case:
    if "ConditionTensor" not in case.operator.tensors:
        return case
    values = Values.of(np.array([1], np.uint8), case.operator.tensors["ConditionTensor"].data_type)
    return _with(case, "ConditionTensor", values)


@pytest.mark.parametrize(
    "change, wrong",
    [
        (_second_for_first, {"IF", "LOGICAL_EQUALS", "MAX"}),
        (_first_for_second, {"IF", "LOGICAL_EQUALS", "MAX"}),
        (_other_condition, {"IF"}),
    ],
)
@pytest.mark.size("thorough")
def test_outputs_of_other_operands_are_refused(change: Callable[[Case], Case], wrong: set[str], parts: Parts) -> None:
    made = _gathered(parts, change)
    planned = evidence.plan(TABLES, LEVEL, 0, "", CHOSEN)
    found = evidence.judge(planned, made.members[archive.OUTPUTS], frozenset(), TABLES)
    named = {one.planned.case.operator.name.removeprefix("ELEMENT_WISE_") for one in found}
    assert named == wrong
    for operator in wrong:
        kinds = {one.planned.identity.split()[-2] for one in found if one.planned.case.operator.name.endswith(operator)}
        assert kinds == {"lattice", "sample"}, "both parts of the evidence notice it"
    assert any(check == "evidence" and "wrong output in ELEMENT_WISE_" in said for check, said in faults(made))


def test_outputs_of_the_planned_operands_pass(parts: Parts) -> None:
    """The control of the test above."""
    assert faults(_gathered(parts, lambda case: case)) == []


@pytest.mark.parametrize("place", [0, 0.37, 0.8, 1])
@pytest.mark.size("thorough", brief=1)
def test_one_flipped_bit_of_an_output_is_refused(place: float, parts: Parts) -> None:
    outputs = bytearray(parts.members[archive.OUTPUTS])
    outputs[int(place * (len(outputs) - 1)) // 4 * 4] ^= 0x41
    parts.members[archive.OUTPUTS] = bytes(outputs)
    assert any(check == "evidence" and "(1 elements)" not in said for check, said in faults(parts))


def test_the_plan_s_digest_tells_the_second_input() -> None:
    planned = evidence.plan(TABLES, LEVEL, 0, "", CHOSEN)
    other = [replace(item, case=_second_for_first(item.case)) for item in planned[:1]]
    assert evidence.digest(planned[:1]) != evidence.digest(other)


# The option.


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("all", ()),
        ("ALL", ()),
        ("round, clip", ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND")),
        ("clip,CLIP", ("ELEMENT_WISE_CLIP",)),
    ],
)
def test_operators_are_named_as_everywhere(given: str, wanted: tuple[str, ...]) -> None:
    assert wanted_operators(given, TABLES) == wanted


def test_a_group_is_all_of_its_operators() -> None:
    assert "ELEMENT_WISE_LOGICAL_EQUALS" in wanted_operators("comparisons", TABLES)


@pytest.mark.parametrize("given", ["", ",", "all,clip", "frob"])
def test_what_names_no_operators_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        wanted_operators(given, TABLES)


def test_what_the_level_does_not_oblige_cannot_be_certified(dmlcts: Callable[..., Ran]) -> None:
    assert named_operators((), TABLES, LEVEL) == obliged_operators(TABLES, LEVEL)
    with pytest.raises(UsageError, match=r"feature level 1\.0 obliges nothing of ELEMENT_WISE_BIT_AND"):
        named_operators(("ELEMENT_WISE_BIT_AND",), TABLES, FeatureLevel("1.0"))
    assert named_operators(("ELEMENT_WISE_BIT_AND",), TABLES, FeatureLevel("6.4")) == ("ELEMENT_WISE_BIT_AND",)
    told = dmlcts(
        "certify",
        "--backend",
        "cpu",
        "--option",
        "feature_level=1.0",
        "--operators",
        "bit_and",
        "--draft",
        "--product",
        "P",
        "--vendor",
        "V",
        "-o",
        "s.zip",
    )
    assert told.code == 2
    assert "obliges nothing of ELEMENT_WISE_BIT_AND" in told.err
