"""Evidence that is wrong, reported as any other failure: its smallest case, its clause, and a file that replays it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.results import suite_version
from dmlcts.reports.documents.writing import dump_yaml, failure_document, write_text
from dmlcts.reports.views.run_folder import prepare_failures
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.certification import evidence
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.judging.losses import judge_surviving
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings

MOST_REPORTED = 8
"""Failures that are reported in full, one for each clause, operator and element type; the rest is counted."""


@dataclass(frozen=True)
class Broken:
    """A planned case that has no output, or a wrong one.

    Attributes:
        planned: the case.
        wording: what was seen when the evidence was gathered.
    """

    planned: evidence.Planned
    wording: str


def broken(
    planned: Sequence[evidence.Planned],
    outputs: bytes,
    absent: Sequence[evidence.Absent],
    tables: Tables,
    waived: Callable[[str, str, str], object],
) -> list[Broken]:
    """The cases that a verifier will not accept.

    Args:
        planned: the plan.
        outputs: the output elements that :func:`dmlcts.suites.certification.evidence.gather` returned.
        absent: the cases that have none.
        tables: the spec tables.
        waived: whether a waiver covers a clause, operator and data type (``None`` where none does).
    """
    missing = frozenset(item.case for item in absent)
    broken_cases = [Broken(planned[item.case], f"no output: {item.outcome}, {item.wording}") for item in absent]
    for wrong in evidence.judge(planned, outputs, missing, tables):
        case = wrong.planned.case
        if waived(case.clause, case.operator.name, case.data_type.name) is None:
            broken_cases.append(Broken(wrong.planned, wrong.wording))
    return broken_cases


def print_failures(
    bench: Bench, broken_cases: Sequence[Broken], settings: Settings, print_line: Callable[[str], None]
) -> None:
    """Say what is wrong with the evidence, and write the files that replay it into the results folder.

    Raises:
        UsageError: a file cannot be written.
    """
    first: dict[tuple[str, str, str], Broken] = {}
    for failure in broken_cases:
        case = failure.planned.case
        first.setdefault((case.clause, case.operator.name, case.data_type.name), failure)
    records: dict[str, FailureRecord] = {}
    for failure in list(first.values())[:MOST_REPORTED]:
        for record in _failures(bench, failure, settings):
            records.setdefault(record.file, record)
    folder = prepare_failures(settings.results)
    for name, record in records.items():
        write_text(folder / name, dump_yaml(failure_document(record, suite_version())))
        print_line(f"\n{record.text}")
    more = len(first) - MOST_REPORTED
    if more > 0:
        print_line(f"\n… and of {more} more clauses, operators and element types")
    print_line(f"\ndmlcts: the evidence is wrong in {many(len(broken_cases), 'case')}")


def _failures(bench: Bench, failure: Broken, settings: Settings) -> list[FailureRecord]:
    case = failure.planned.case
    with bench.steadily():
        findings = [smallest(bench, finding) for finding in judge_surviving(bench, case).findings]
    if not findings:
        details = (("seen", failure.wording), ("again", "dispatched again, the same case came out right"))
        findings = [
            Finding(
                "execution.repeatable",
                "fail",
                case,
                "wrong once, and right again",
                details,
                deviation=Deviation.UNSTEADY,
            )
        ]
    test = f"evidence::{failure.planned.identity}"
    return [failure_of(test, bench.tables, finding, settings) for finding in findings]
