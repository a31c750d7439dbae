"""One fault is one entry with all it was seen on; two faults are never one; what nobody examined stands apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.causes import Cause, causes, examined, first_line
from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.conftest import Ran

CLIP, THRESHOLD = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_THRESHOLD"
TYPES = ("FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT8")
SUBJECTS = {
    "tensor.position": "layout",
    "tensor.strides.padded": "layout",
    "clip.formula": "formula",
    "clip.monotone": "properties",
    "clip.support.level-3-0": "descriptions",
    "execution.repeatable": "state",
}
NINE = {"needs": "9 elements (right with 8)", "acceptable": "3"}

FACTORS = {
    "elements": "count",
    "rank": "rank",
    "input strides": "input strides",
    "ScaleBias": "scaling",
    "an earlier dispatch": "history",
}

Row = Mapping[str, Any]


def failing(
    clause: str,
    operator: str,
    data_type: str,
    details: Mapping[str, str],
    title: str = "input 2 gives 3",
    outcome: str = "fail",
    test: str = "test_sizes.py::test_rows[x]",
    deviation: str = "wrong-value",
    origin: str = "",
) -> dict[str, Any]:
    words = details.get("needs", "").partition(" (")[0]
    file = f"{clause}-{operator}-{data_type}-{abs(hash((title, *details.values())))}.yaml".lower()
    return {
        "clause": clause,
        "operator": operator,
        "data_type": data_type,
        "outcome": outcome,
        "title": title,
        "details": dict(details),
        "case": {"tensors": {"InputTensor": {"sizes": [9]}}},
        "test": test,
        "file": file,
        "needs": [name for word, name in FACTORS.items() if word in words],
        "deviation": deviation,
        "origin": origin,
    }


def row(failure: Row, failures: int = 4) -> dict[str, Any]:
    members = {name: failure[name] for name in ("operator", "data_type", "outcome")}
    return {"id": failure["clause"], "obligation": "implied", "failures": failures, **members}


def causes_of(*failures: Row) -> list[Cause]:
    rows = {(failure["clause"], failure["operator"], failure["data_type"]): row(failure) for failure in failures}
    return causes(rows.values(), failures, SUBJECTS.__getitem__)


def everywhere() -> list[dict[str, Any]]:
    """The tail of a vector loop, on two operators and eight types, each with values and a count of its own."""
    return [
        failing(
            "tensor.position",
            operator,
            data_type,
            {"needs": f"{9 + at} elements (right with {8 + at})", "acceptable": str(at)},
            f"input -{at}.5 gives {at}e+{at}",
            test=f"test_sizes.py::test_{name}[{operator}-{data_type}]",
        )
        for at, data_type in enumerate(TYPES)
        for operator in (CLIP, THRESHOLD)
        for name in ("rows", "sizes")
    ]


def test_one_fault_on_all_operators_and_types_is_one_entry() -> None:
    (cause,) = causes_of(*everywhere())
    assert cause.places == {(operator, data_type) for operator in (CLIP, THRESHOLD) for data_type in TYPES}
    assert cause.tests == ("test_sizes.py::test_rows", "test_sizes.py::test_sizes")
    assert len(cause.failures) == 32, "nothing is lost"
    assert len({failure["file"] for failure in cause.failures}) == 16
    assert len(cause.rows) == 16
    assert cause.cases == 64


@pytest.mark.parametrize(
    "other",
    [
        {"details": {**NINE, "needs": "input strides (right with a packed input)"}},
        {"details": {"said": "ValueError: no"}, "title": "it raised", "deviation": "stopped"},
        {"title": "3 of 9 output elements were not written", "deviation": "unwritten"},
        {"outcome": "crash", "title": "the process crashed (SIGSEGV)"},
    ],
    ids=["needs", "exception", "kind", "outcome"],
)
def test_two_faults_stay_two_entries(other: Mapping[str, Any]) -> None:
    """Each with its own type and file, on one row or on two."""
    for data_type in ("FLOAT32", "INT8"):
        first = failing("tensor.position", CLIP, "FLOAT32", NINE)
        second = failing(
            **{  # type: ignore[arg-type]  # the names are those of the parameters
                "clause": "tensor.position",
                "operator": CLIP,
                "data_type": data_type,
                "details": {**NINE, "acceptable": "4"},
                **other,
            }
        )
        all_causes = causes_of(first, second)
        assert len(all_causes) == 2
        assert not any(cause.folded for cause in all_causes)
        assert sorted(failure["file"] for cause in all_causes for failure in cause.failures) == sorted(
            (first["file"], second["file"])
        )
    alike = causes_of(
        first, failing("tensor.position", THRESHOLD, "INT8", {**NINE, "acceptable": "4"}, "input 7 gives 0")
    )
    assert len(alike) == 1, "the control"


def test_what_needs_more_is_reported_in_a_line_of_its_own() -> None:
    simple = failing("tensor.position", CLIP, "INT8", NINE)
    more = simple | {"details": {**NINE, "needs": "9 elements and ScaleBias (right with 8; right without ScaleBias)"}}
    more["needs"] = ["count", "scaling"]
    (cause,) = causes_of(more | {"file": "more.yaml"}, simple)
    assert [other_cause.failures[0]["file"] for other_cause in cause.needing_more] == ["more.yaml"]
    assert cause.failures == (simple,), "it is not counted among the others"
    for other in ({"data_type": "UINT8"}, {"deviation": "unwritten"}, {"outcome": "crash"}):
        all_causes = causes_of(more | other, simple)
        assert len(all_causes) == 2, other
        assert not any(cause.folded for cause in all_causes)


def test_an_untraced_case_is_of_the_one_fault_that_it_can_be_of() -> None:
    untraced = failing("tensor.position", CLIP, "INT8", NINE)
    outside, other = (
        failing("tensor.position", CLIP, data_type, NINE, origin=origin)
        for data_type, origin in (("INT16", "outside"), ("INT32", "other-element"))
    )
    assert len(causes_of(untraced, outside)) == len(causes_of(untraced, other)) == 1
    assert len(causes_of(outside, other)) == 2
    assert len(causes_of(untraced, outside, other)) == 3, "nobody knows which of the two"
    elsewhere = other | {"details": {**NINE, "origin": "it changes with the input at index [3]: another element's"}}
    assert len(causes_of(other, elsewhere)) == 1, "which element makes no difference"


def test_what_the_pages_leave_open_comes_after_what_they_state() -> None:
    stated_failure = failing("tensor.position", CLIP, "INT8", NINE)
    silent = failing("clip.formula", CLIP, "INT8", {"acceptable": "1"})
    rows = [row(stated_failure), row(silent) | {"obligation": "unspecified"}]
    all_causes = causes(rows, [stated_failure, silent], SUBJECTS.__getitem__)
    assert [cause.clause for cause in all_causes] == ["tensor.position", "clip.formula"]
    all_causes = causes([row(stated_failure), row(silent)], [stated_failure, silent], SUBJECTS.__getitem__)
    assert [cause.clause for cause in all_causes] == ["clip.formula", "tensor.position"], "the control"


def test_a_wrong_value_is_one_however_it_was_found() -> None:
    title = "input -2.5 gives 7 here and -3.0 in a packed tensor"
    beside = failing("tensor.position", CLIP, "INT8", {"needs": NINE["needs"]}, title)
    value = failing("tensor.position", CLIP, "INT16", NINE)
    assert len(causes_of(beside, value)) == 1
    unwritten = beside | {"deviation": "unwritten"}
    assert len(causes_of(unwritten, value)) == 2, "the control"


def test_clauses_are_one_fault_where_they_read_the_same_and_need_the_same() -> None:
    first = failing("tensor.position", CLIP, "INT8", NINE)
    second = failing("tensor.strides.padded", CLIP, "INT8", NINE)
    (cause,) = causes_of(first, second)
    assert [other_cause.clause for other_cause in cause.same] == ["tensor.strides.padded"]
    strided = second | {"details": {**NINE, "needs": "input strides (right with a packed input)"}}
    strided["needs"] = ["input strides"]
    assert len(causes_of(first, strided)) == 2, "it needs something else"
    (cause,) = causes_of(first, second | {"title": "input 9 gives 1", "details": {**NINE, "acceptable": "8"}})
    assert [other_cause.clause for other_cause in cause.same] == ["tensor.strides.padded"], "on another value"
    assert len(causes_of(first, second | {"title": "input 9 gives 1", "data_type": "INT16"})) == 2, "on another type"


def test_what_fails_where_nearly_every_case_is_wrong_follows_from_that() -> None:
    wrong = failing("clip.formula", CLIP, "INT8", {"acceptable": "3"})
    beside = failing("tensor.position", CLIP, "INT8", NINE)
    for failures, blocks in ((100, 1), (70, 2)):
        rows = [row(wrong, failures) | {"cases": 100}, row(beside, 4) | {"cases": 100}]
        assert len(causes(rows, [wrong, beside], SUBJECTS.__getitem__)) == blocks


def test_a_fault_stands_under_the_clause_that_a_run_found_to_explain_it() -> None:
    value = failing("tensor.strides.padded", CLIP, "INT8", {"needs": "input strides (right with a packed input)"})
    beside = failing("tensor.position", CLIP, "INT8", NINE) | {"because": "tensor.strides.padded"}
    (cause,) = causes_of(beside, value)
    assert (cause.clause, [other_cause.clause for other_cause in cause.following]) == (
        "tensor.strides.padded",
        ["tensor.position"],
    )
    assert len(causes_of(beside | {"because": ""}, value)) == 2, "the control"
    assert len(causes_of(beside | {"data_type": "INT16"}, value)) == 2, "nothing else fails there"


def test_a_row_names_the_clause_that_explains_all_of_its_failures() -> None:
    first = failing("tensor.position", CLIP, "INT8", NINE)
    second = failing("tensor.strides.padded", CLIP, "INT8", NINE)
    results = {"clauses": [row(first), row(second)], "failures": [first, second]}
    tables = load_tables()
    rows = explained(results, tables)["clauses"]
    assert [result_row.get("because") for result_row in rows] == [None, "tensor.position"]
    assert [result_row["outcome"] for result_row in rows] == ["fail", "fail"]
    own = second | {"needs": ["input strides"], "title": "input 9 gives 1"}
    both = explained({**results, "failures": [first, second, own]}, tables)["clauses"]
    assert [result_row.get("because") for result_row in both] == [None, None], "it has a fault of its own as well"
    earlier = {**results, "failures": [failure | {"deviation": ""} for failure in (first, second)]}
    assert explained(earlier, tables) == earlier, "nothing is known of deviations"


def test_many_faults_are_reported_in_no_time() -> None:
    """A document of a stranger may hold as many as it likes."""
    words = ["".join(chr(ord("a") + int(digit)) for digit in str(number)) for number in range(2000)]
    failures = [
        failing("tensor.position", CLIP, "INT8", {"acceptable": word}, f"it {word}", deviation="") | {"details": {}}
        for word in words
    ]
    began = time.perf_counter()
    assert len(causes_of(*failures)) == len(words)
    assert time.perf_counter() - began < 10


def test_a_row_with_two_faults_counts_the_tests_of_each() -> None:
    first = failing("tensor.position", CLIP, "INT8", NINE)
    second = failing("tensor.position", CLIP, "INT8", {**NINE, "needs": "rank 5 (right at rank 1)"})
    all_causes = causes([row(first, 100)], [first, second], SUBJECTS.__getitem__)
    assert [cause.cases for cause in all_causes] == [1, 1], "nobody knows how many of the 100 each of them is"
    (alone,) = causes([row(first, 100)], [first], SUBJECTS.__getitem__)
    assert alone.cases == 100


def test_what_nobody_examined_is_no_one_s_fault() -> None:
    known = everywhere()
    spent = {UNEXAMINED: "spent", "acceptable": "3"}
    unknown = [failing("clip.formula", CLIP, "INT8", spent), failing("tensor.position", CLIP, "INT8", spent)]
    all_causes = causes_of(*unknown, *known)
    first, rest = examined(all_causes)
    assert [cause.clause for cause in first] == ["tensor.position"], "though a formula comes before a layout"
    assert [cause.clause for cause in rest] == ["clip.formula"]
    assert [cause.clause for cause in rest[0].same] == ["tensor.position"], "they read the same"
    assert examined(causes_of(*unknown))[0][0].clause == "clip.formula", "and where nothing was, they are what there is"


def test_a_support_clause_with_a_fault_is_reported_under_it() -> None:
    values = failing("tensor.position", CLIP, "FLOAT32", NINE)
    support = failing("clip.support.level-3-0", CLIP, "FLOAT32", {**NINE, "acceptable": "4"})
    state = failing(
        "execution.repeatable",
        CLIP,
        "FLOAT32",
        {
            "needs": "9 elements and an earlier dispatch of the kernel (right with 8; right at its first dispatch)",
            "acceptable": "5",
        },
    )
    (cause,) = causes_of(support, state, values)
    assert (cause.clause, sorted(other_cause.clause for other_cause in cause.following)) == (
        "tensor.position",
        ["clip.support.level-3-0", "execution.repeatable"],
    )
    elsewhere = support | {"data_type": "INT8"}
    assert len(causes_of(elsewhere, values)) == 2, "there nothing else is wrong"
    needs = "an earlier dispatch of the kernel (right at its first dispatch)"
    stateful = state | {"details": {**state["details"], "needs": needs}, "needs": ["history"]}
    assert len(causes_of(stateful, values)) == 2, "it needs no ninth element"
    refused = support | {"title": "refused", "details": {"said": "no"}, "deviation": "refused", "needs": []}
    assert [cause.clause for cause in causes_of(refused, values)] == ["clip.support.level-3-0", "tensor.position"]


def test_what_comes_by_chance_is_reported_first() -> None:
    value = failing("clip.formula", CLIP, "INT8", {"acceptable": "3"})
    chance = failing(
        "execution.repeatable", CLIP, "INT8", {"acceptable": "4", "again": "wrong 1 time of 9"}, deviation="unsteady"
    )
    assert [cause.clause for cause in causes_of(value, chance)] == ["execution.repeatable", "clip.formula"]
    often = chance | {"details": {"acceptable": "5", "again": "wrong 4 times of 9"}, "title": "wrong 4 times"}
    assert len(causes_of(chance, often)) == 1, "how often is chance"
    crashed = {"outcome": "crash", "title": "the process crashed (SIGSEGV)"}
    aborted = {"outcome": "crash", "title": "the process ended (SIGABRT)"}
    assert len(causes_of(chance | crashed, chance | aborted)) == 2, "a crash is no matter of chance for that"
    steady = chance | {"details": {"acceptable": "4"}, "deviation": "wrong-value"}
    assert [cause.clause for cause in causes_of(value, steady)] == ["clip.formula", "execution.repeatable"]


@pytest.mark.size("thorough")
def test_a_run_reports_one_fault_of_two_operators_once_and_everywhere_what_it_needs(
    tmp_path: Path, dmlcts: Callable[..., Ran]
) -> None:
    """On the console, in each document, and in a replay of its file."""
    backend, needs = "dmlcts.suites.mutants.layout:TailOf4Skipped", "5 elements (right with 4)"
    ran = dmlcts(
        "run",
        "--backend",
        backend,
        "--isolation",
        "none",
        "--operator",
        "CLIP,THRESHOLD",
        "--data-type",
        "INT8,UINT16",
        "--clause",
        "tensor.output.complete",
    )
    assert ran.code == 1, ran.out
    heads = [line for line in ran.out.splitlines() if line.startswith("FAIL  ")]
    assert len(heads) == 1, ran.out
    assert f" needs: {needs} replay: " in " ".join(ran.out.split())
    failures = (ran.results or {})["failures"]
    places = {(failure["operator"], failure["data_type"]) for failure in failures if failure["file"]}
    assert len(places) == 4, "each row has its own failure file"
    assert needs in {failure["details"].get("needs") for failure in failures}
    for name in ("results.html", "junit.xml"):
        assert needs in (tmp_path / "results" / name).read_text(encoding="utf-8")
    assert needs in dmlcts("report", "results", "--markdown", "-").out
    files = sorted((tmp_path / "results" / "failures").glob("*.yaml"))
    details_by_path = {path: yaml.safe_load(path.read_text(encoding="utf-8"))["details"] for path in files}
    path = next(path for path, details in details_by_path.items() if details.get("needs") == needs)
    replayed = dmlcts("replay", str(path), "--backend", backend, "--isolation", "none")
    assert (replayed.code, f"  needs        {needs}" in replayed.out.splitlines()) == (1, True), replayed.out
    assert dmlcts("replay", str(path), "--backend", "cpu").code == 0


@pytest.mark.parametrize(
    "case", [{}, {"tensors": 3}, {"tensors": {"a": {"sizes": ["x"]}}}, {"tensors": {"a": {"sizes": 2}}}]
)
def test_a_strangers_case_of_any_form_is_reported(case: Mapping[str, Any]) -> None:
    odd = failing("clip.formula", CLIP, "INT8", NINE) | {"case": case}
    (cause,) = causes_of(odd, failing("clip.formula", CLIP, "FLOAT32", NINE))
    assert (
        cause.cases
        == causes_of(*[failing("clip.formula", CLIP, data_type, NINE) for data_type in ("INT8", "FLOAT32")])[0].cases
    )


def line(title: str, tensors: dict[str, str], **details: str) -> str:
    described = {name: {"data_type": data_type, "sizes": [1]} for name, data_type in tensors.items()}
    return first_line(
        {
            "operator": "ELEMENT_WISE_ADD",
            "data_type": "FLOAT32",
            "title": title,
            "test": "t",
            "details": details,
            "case": {"tensors": described} if tensors else None,
        }
    )


@pytest.mark.parametrize(
    ("headline", "wanted"),
    [
        (
            line("input 362 gives 362", {"A": "INT64", "O": "INT64"}, acceptable="3199001344"),
            "ADD INT64: 362 gives 362, must be 3199001344",
        ),
        (
            line("A 1, B 2 give 5", {"A": "INT8", "B": "INT8", "O": "INT8"}, acceptable="3 or 4"),
            "ADD INT8: A 1, B 2 give 5, must be 3 or 4",
        ),
        (
            line("input 1.0 gives 9.0", {}, acceptable="1.0 to 1.5"),
            "ADD FLOAT32: 1.0 gives 9.0, must be within 1.0 to 1.5",
        ),
        (
            line("refused, though obliged", {"A": "FLOAT32", "O": "INT8"}, said="no"),
            "ADD A FLOAT32, O INT8: refused, though obliged; no",
        ),
        (line("refused, though obliged", {"A": "FLOAT32"}), "ADD FLOAT32: refused, though obliged"),
    ],
)
def test_the_first_line_has_the_types_of_the_case_and_what_is_due(headline: str, wanted: str) -> None:
    assert headline == wanted
