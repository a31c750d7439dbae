"""One fault is reported once: in the report by its smallest case, at the terminal in full the first time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord, ItemRecord
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.reports.report_samples import failure


def item(test: str, *failures: FailureRecord) -> ItemRecord:
    named = tuple(dataclasses.replace(failure, test=test) for failure in failures)
    return ItemRecord(test, Outcome.FAIL, 1.0, (), (), named)


def sized(failure_record: FailureRecord, count: int, **changes: Any) -> FailureRecord:
    tensor = failure_record.case["tensors"]["InputTensor"] | {"sizes": [count]}
    case = failure_record.case | {"tensors": {"InputTensor": tensor, "OutputTensor": tensor}}
    return dataclasses.replace(failure_record, case=case, **changes)


ONE, TWO = failure("input -0.5 gives 0.0", "0xbf000000"), failure("input -1.5 gives -1.0", "0xbfc00000")


def test_the_smallest_case_stands_for_all_that_show_the_fault() -> None:
    records = [item("a", sized(ONE, 7)), item("b", TWO), item("c", sized(ONE, 3))]
    for order in (records, records[::-1]):
        item_records = sorted(grouped_by_fault(order), key=lambda record: record.test)
        assert [record.test for record in item_records] == ["a", "b", "c"]
        assert [[failure.title for failure in record.failures] for record in item_records] == [[TWO.title]] * 3
        assert {failure.file for record in item_records for failure in record.failures} == {TWO.file}
        assert [record.failures[0].test for record in item_records] == ["a", "b", "c"]
        first = item_records[0].failures[0]
        assert first.text == f"{ONE.title}; the smallest case of the same fault:\n\n{TWO.text}"
    assert sum(len(record.failures) for record in item_records) == 3


@pytest.mark.parametrize("sizes", [["x"], "x", None, [[1]], [2]])
def test_a_strangers_case_of_any_form_is_reported(sizes: Any) -> None:
    odd = dataclasses.replace(ONE, case={"tensors": {"InputTensor": {"sizes": sizes}}}, file="odd.yaml")
    item_records = grouped_by_fault([item("a", odd), item("b", sized(TWO, 9))])
    assert {failure.title for record in item_records for failure in record.failures} == {ONE.title}


def test_of_equal_cases_the_one_with_the_shortest_title_is_reported() -> None:
    """Not the one whose file happens to have the first name."""
    for names in ("ab", "ba"):
        near, far = (
            dataclasses.replace(failure_record, file=f"{name}.yaml")
            for failure_record, name in zip((ONE, TWO), names, strict=True)
        )
        for order in ([item("x", near), item("y", far)], [item("x", far), item("y", near)]):
            assert {record.failures[0].title for record in grouped_by_fault(order)} == {ONE.title}


def test_what_differs_stays_apart() -> None:
    needing = dataclasses.replace(sized(ONE, 5), details={"needs": "41 elements (right with 40)"}, needs=("count",))
    alike = dataclasses.replace(sized(TWO, 4), details={"needs": "37 elements (right with 36)"}, needs=("count",))
    strided = dataclasses.replace(ONE, needs=("input strides",))
    others = [
        ONE,
        strided,
        needing,
        dataclasses.replace(ONE, data_type="FLOAT16"),
        dataclasses.replace(ONE, clause="round.odd"),
        dataclasses.replace(ONE, outcome=Outcome.WAIVED),
        dataclasses.replace(ONE, outcome=Outcome.CRASH),
        dataclasses.replace(ONE, outcome=Outcome.CRASH),
        dataclasses.replace(ONE, file=""),
    ]
    records = [item(str(number), other) for number, other in enumerate(others)]
    assert grouped_by_fault(records) == records
    (first, second) = grouped_by_fault([item("a", needing), item("b", alike)])
    assert first.failures[0].title == second.failures[0].title == TWO.title, "as many elements are not needed"


def test_a_test_reports_a_fault_once() -> None:
    (item_record,) = grouped_by_fault([item("a", sized(ONE, 7), TWO)])
    assert [failure.title for failure in item_record.failures] == [TWO.title]


def test_a_run_reports_a_fault_in_full_once(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts(
        "run",
        "--backend",
        "dmlcts.suites.mutants.values.rounding:NearestHalvesUp",
        "--isolation",
        "none",
        "--operator",
        "ROUND",
        "--clause",
        "round.nearest-even",
        "-v",
    )
    assert ran.code == 1, ran.out
    rows = {(row["operator"], row["data_type"]) for row in (ran.results or {})["clauses"] if row["outcome"] == "fail"}
    failures = [entry for entry in (ran.results or {})["failures"] if entry["clause"] == "round.nearest-even"]
    assert len({element["test"] for element in failures}) > 8
    assert len({current["file"] for current in failures}) == len(rows) == 2
    for name in {failure_row["file"] for failure_row in failures}:
        assert (tmp_path / "results" / "failures" / name).is_file()
    assert ran.out.count("  clause       round.nearest-even") == 1
    assert ran.out.count("(round.nearest-even, as reported above)") > 8
    assert {(failure_row["operator"], failure_row["data_type"]) for failure_row in failures} == rows
