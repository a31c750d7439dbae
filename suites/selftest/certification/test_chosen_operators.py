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
    verification = parts.verifier.verify(parts.packed())
    return [(line.check, line.wording) for line in verification.lines if line.status is Status.FAIL]


@pytest.mark.size("thorough")
def test_a_certification_of_three_operators_passes_and_names_them(parts: Parts) -> None:
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    text = next(line.wording for line in verification.lines if line.check == "operators")
    assert text.endswith("IF, LOGICAL_EQUALS, MAX")
    assert text.startswith("3 operators of ")
    assert verification.about["operators"] == ", ".join(CHOSEN)
    collecting = replace(parts.verifier, expected=None)  # the tests that had to run, collected from the statement
    assert collecting.verify(parts.packed()).standing is Standing.PASS


@pytest.mark.size("all")
def test_a_certification_of_all_operators_passes() -> None:
    """At a level that requires no sweep; its statement names each of them."""
    made = build((), FeatureLevel("1.0"))
    verification = made.verifier.verify(made.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    assert made.statement["operators"] == list(obliged_operators(TABLES, FeatureLevel("1.0")))
    text = next(line.wording for line in verification.lines if line.check == "operators")
    assert text == f"{len(made.statement['operators'])} operators, all that level 1.0 obliges"


def test_no_sweep_is_required_where_round_is_not_certified(parts: Parts) -> None:
    verification = parts.verifier.verify(parts.packed())
    texts = [line.wording for line in verification.lines if line.check == "sweep"]
    assert texts == ["none is required: FLOAT32 ROUND is not certified"]


def test_an_operator_that_the_statement_names_and_the_run_lacks_is_refused(parts: Parts) -> None:
    """One who claims MIN as well, in statement and command, without having run it."""
    parts.statement["operators"].append("ELEMENT_WISE_MIN")
    parts.statement["command"][-1] += ",min"
    assert ("operators", "the statement names ELEMENT_WISE_MIN, which was not selected in the run") in faults(parts)
    parts.edit(archive.RESULTS, lambda results: results["selection"]["operators"].append("ELEMENT_WISE_MIN"))
    result = faults(parts)
    assert ("operators", "the statement names ELEMENT_WISE_MIN, of which the results have no row") in result
    assert {"results", "evidence"} <= {check for check, _ in result}


@pytest.mark.size("thorough")
def test_a_claim_of_all_operators_on_a_run_of_three_is_refused(parts: Parts) -> None:
    results = json.loads(parts.members[archive.RESULTS])
    parts.statement["operators"] = list(obliged_operators(TABLES, LEVEL))
    parts.statement["command"][-1] = "all"
    assert any("was not selected" in text for _, text in operator_faults(parts.statement, results, TABLES))
    del parts.statement["operators"]  # as a statement of an earlier version, which certifies all
    assert any("was not selected" in text for _, text in operator_faults(parts.statement, results, TABLES))
    parts.edit(archive.RESULTS, lambda results: results.update(selection={}))
    replaced = Parts(parts.members, parts.statement, parts.key, replace(parts.verifier, expected=None))
    result = dict(faults(replaced))
    assert "of which the results have no row" in result["operators"]
    assert "has no record" in result["records"] or "more records are missing" in result["records"]


def test_fewer_rows_than_the_operators_require_are_refused(parts: Parts) -> None:
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
    texts = [text for check, text in faults(parts) if check == "results"]
    assert any("ELEMENT_WISE_MAX" in text and "was not run" in text for text in texts)


def test_one_row_less_is_refused(parts: Parts) -> None:
    row = next(
        row
        for row in json.loads(parts.members[archive.RESULTS])["clauses"]
        if row["operator"] == "ELEMENT_WISE_IF" and row["obligation"] == "required"
    )
    parts.edit(archive.RESULTS, lambda results: results["clauses"].remove(row))
    assert any(f"the results lack the row {row['id']} ELEMENT_WISE_IF" in text for _, text in faults(parts))


# The evidence of several inputs.


def _gathered(parts: Parts, change: Callable[[Case], Case]) -> Parts:
    """The submission with the outputs of an implementation that was given other inputs than the plan's."""
    planned = evidence.plan(TABLES, LEVEL, 0, "", CHOSEN)
    settings = Settings.read(options=[f"feature_level={LEVEL}"])
    bench = settings.open()
    try:
        result = parts.copy()
        outputs, absent = evidence.gather(bench, [replace(item, case=change(item.case)) for item in planned])
        assert not absent
        result.members[archive.OUTPUTS] = outputs
    finally:
        bench.close()
    return result


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
    wrongs = evidence.judge(planned, made.members[archive.OUTPUTS], frozenset(), TABLES)
    named = {item.planned.case.operator.name.removeprefix("ELEMENT_WISE_") for item in wrongs}
    assert named == wrong
    for operator in wrong:
        kinds = {
            item.planned.identity.split()[-2] for item in wrongs if item.planned.case.operator.name.endswith(operator)
        }
        assert kinds == {"lattice", "sample"}, "both parts of the evidence notice it"
    assert any(check == "evidence" and "wrong output in ELEMENT_WISE_" in text for check, text in faults(made))


def test_outputs_of_the_planned_operands_pass(parts: Parts) -> None:
    """The control of the test above."""
    assert faults(_gathered(parts, lambda case: case)) == []


@pytest.mark.parametrize("place", [0, 0.37, 0.8, 1])
@pytest.mark.size("thorough", brief=1)
def test_one_flipped_bit_of_an_output_is_refused(place: float, parts: Parts) -> None:
    outputs = bytearray(parts.members[archive.OUTPUTS])
    outputs[int(place * (len(outputs) - 1)) // 4 * 4] ^= 0x41
    parts.members[archive.OUTPUTS] = bytes(outputs)
    assert any(check == "evidence" and "(1 elements)" not in text for check, text in faults(parts))


def test_the_plan_s_digest_covers_the_second_input() -> None:
    planned = evidence.plan(TABLES, LEVEL, 0, "", CHOSEN)
    other = [replace(item, case=_second_for_first(item.case)) for item in planned[:1]]
    assert evidence.digest(planned[:1]) != evidence.digest(other)


# The option.


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("all", ()),
        ("ALL", ()),
        ("round, clip", ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND")),
        ("clip,CLIP", ("ELEMENT_WISE_CLIP",)),
    ],
)
def test_operators_are_named_as_everywhere(text: str, wanted: tuple[str, ...]) -> None:
    assert wanted_operators(text, TABLES) == wanted


def test_a_group_is_all_of_its_operators() -> None:
    assert "ELEMENT_WISE_LOGICAL_EQUALS" in wanted_operators("comparisons", TABLES)


@pytest.mark.parametrize("text", ["", ",", "all,clip", "frob"])
def test_what_names_no_operators_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        wanted_operators(text, TABLES)


def test_what_the_level_does_not_oblige_cannot_be_certified(dmlcts: Callable[..., Ran]) -> None:
    assert named_operators((), TABLES, LEVEL) == obliged_operators(TABLES, LEVEL)
    with pytest.raises(UsageError, match=r"feature level 1\.0 obliges nothing of ELEMENT_WISE_BIT_AND"):
        named_operators(("ELEMENT_WISE_BIT_AND",), TABLES, FeatureLevel("1.0"))
    assert named_operators(("ELEMENT_WISE_BIT_AND",), TABLES, FeatureLevel("6.4")) == ("ELEMENT_WISE_BIT_AND",)
    ran = dmlcts(
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
    assert ran.code == 2
    assert "obliges nothing of ELEMENT_WISE_BIT_AND" in ran.err
