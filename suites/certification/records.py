"""The records of a submission: one for each item, none that says less than a run's, no test that a reason hides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dmlcts.reports.certification.structure import Context
from dmlcts.reports.certification.verdict import Statements, Status, first_of_each
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.specs.number_text import many

_LEAST_CASES = 2  # a run makes some twenty for each tally


def check_records(context: Context, expected: Sequence[str] | None) -> Statements:
    """Every item of the profile has exactly one record, and there is no other; each says what its tests judged.

    Args:
        context: the submission, and what it is compared with.
        expected: the node ids of the items that had to run; ``None`` to collect them here.
    """
    records = context.submission.records
    wanted = expected_tests(context) if expected is None else expected
    faults = [*_misplaced(records, wanted), *_contradicting(records)]
    yield from first_of_each(Status.FAIL, faults)
    hollow = [*_hollow(records), *_hidden(context, set(wanted))]
    yield from first_of_each(Status.OPEN if context.draft else Status.FAIL, hollow)
    if not faults and not hollow:
        yield Status.PASS, f"{many(len(wanted), 'item')}, each once"


def expected_tests(context: Context) -> list[str]:
    """The node ids of the profile's items of the operators that are certified, collected here."""
    from dmlcts.suites.running.pytest_run import collected_tests

    return collected_tests(_selected(context), context.statement["profile"], context.statement["seed"])


def _selected(context: Context) -> Sequence[str]:
    """The operators that were selected in the run: those of the statement, which is a check of its own."""
    selected: Sequence[str] = context.submission.results["selection"].get("operators", ())
    return selected


def _misplaced(records: Sequence[ItemRecord], expected: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Records that stand there twice, that are missing, and that are no test's."""
    held, expected_counts = Counter(record.test for record in records), Counter(expected)
    yield from (("repeated", f"{test} has {times} records") for test, times in sorted(held.items()) if times > 1)
    yield from (("missing", f"{test} has no record") for test in sorted(set(expected_counts) - set(held)))
    yield from (("unknown", f"{test} is no test of this suite") for test in sorted(set(held) - set(expected_counts)))


def _contradicting(records: Sequence[ItemRecord]) -> Iterator[tuple[str, str]]:
    """Records whose outcome is not that of their parts."""
    for record in records:
        parts = [*(tally.outcome for tally in record.tallies), *(failure.outcome for failure in record.failures)]
        worst = min(parts, default=record.outcome)
        if worst.breaks_conformance and not record.outcome.breaks_conformance:
            yield "outcome", f"{record.test} is {record.outcome.value} with a {worst.value} in it"
        elif Outcome.WAIVED in (record.outcome, worst):
            yield "waived", f"{record.test} is waived in its record, where a run never writes that"


def _hollow(records: Sequence[ItemRecord]) -> Iterator[tuple[str, str]]:
    """Records that say less than any run's do."""
    cases = tallies = 0
    for record in records:
        idle = record.outcome.did_not_run
        if not record.tallies and not idle and not record.failures:
            yield "empty", f"{record.test} is {record.outcome.value} and checked nothing"
        if not record.tallies and idle and not record.reason.strip():
            yield "unreasoned", f"{record.test} is {record.outcome.value} without a reason"
        for tally in record.tallies:
            cases, tallies = cases + tally.cases, tallies + 1
            if not tally.cases and not tally.outcome.did_not_run and not tally.outcome.breaks_conformance:
                yield "caseless", f"{record.test} is {tally.outcome.value} on {tally.clause} without a case"
    if cases < _LEAST_CASES * tallies:
        yield "few", f"{cases:,} cases for {tallies:,} tallies: a certification run makes more"


def _hidden(context: Context, expected: set[str]) -> Iterator[tuple[str, str]]:
    """Tests that did not run, and that would have judged something on any device; their reason excuses nothing."""
    from dmlcts.suites.certification.reckoning import idle_tests

    silent = [
        silent_record
        for silent_record in context.submission.records
        if silent_record.test in expected and (silent_record.idle or _did_not_run(silent_record))
    ]
    named = {silent_record.test: silent_record.idle for silent_record in silent if silent_record.idle}
    allowed = idle_tests(named, context.statement, _selected(context))
    for record in sorted(silent, key=lambda record: record.test):
        if _did_not_run(record) and not record.idle:
            yield "unnamed", f"{record.test} is {record.outcome.value} and names no test that judged nothing"
        for test, reason in sorted(record.idle.items()):
            if test not in allowed.get(record.test, ()):
                suffix = f" ({reason.strip()})" if reason.strip() else ""
                place = record.test.partition("::")[0]
                yield "hidden", f"{place}::{test} judged nothing{suffix}, and has something to judge on every device"


def _did_not_run(record: ItemRecord) -> bool:
    return record.outcome.did_not_run
