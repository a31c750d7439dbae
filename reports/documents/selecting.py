"""A verdict on selected clauses: what was found of the others is told beside it, and does not count.

The cases of a selected clause often show something of another one (a value that is wrong whatever the layout, a
byte outside the output). That belongs to the other clause. A crash, a hang or a lost device counts whatever was
selected, as no waiver covers it either. So does a case of a selected clause that is wrong now and right at another
time: where chance decides, that it came right once says of no clause that it holds.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome, worst
from dmlcts.reports.documents.records import FailureRecord, ItemRecord

_REPEATABLE = "execution.repeatable"


def _patterns(selection: Mapping[str, Any]) -> Sequence[str]:
    patterns = selection.get("clauses") or ()
    return [patterns] if isinstance(patterns, str) else [str(pattern) for pattern in patterns]


def selects(selection: Mapping[str, Any], clause: str) -> bool:
    """Whether a run's selection holds the clause; "", no single clause, is in every selection."""
    patterns = _patterns(selection)
    return not patterns or not clause or any(fnmatch.fnmatchcase(clause, pattern) for pattern in patterns)


def _counts(selection: Mapping[str, Any], clause: str, outcome: Outcome) -> bool:
    if selects(selection, clause) or outcome < Outcome.FAIL:
        return True
    return clause == _REPEATABLE and outcome.breaks_conformance


def within(items: Iterable[ItemRecord], selection: Mapping[str, Any]) -> list[ItemRecord]:
    """The records with what they hold of selected clauses alone; a test that only broke others passed."""
    return [_within(item, selection) for item in items] if _patterns(selection) else list(items)


def _within(item: ItemRecord, selection: Mapping[str, Any]) -> ItemRecord:
    tallies = tuple(tally for tally in item.tallies if _counts(selection, tally.clause, tally.outcome))
    failures = tuple(record for record in item.failures if _counts(selection, record.clause, record.outcome))
    behaviours = tuple(behaviour for behaviour in item.behaviours if selects(selection, behaviour.clause))
    outcome = item.outcome
    if outcome.breaks_conformance and (len(tallies) < len(item.tallies) or len(failures) < len(item.failures)):
        outcomes = {*(tally.outcome for tally in item.tallies), *(failure.outcome for failure in item.failures)}
        if outcome in outcomes:  # what it ended as is what one of its clauses was found to be
            left = [*(tally.outcome for tally in tallies), *(failure.outcome for failure in failures)]
            outcome = worst([*left, Outcome.PASS])
    return dataclasses.replace(item, outcome=outcome, tallies=tallies, failures=failures, behaviours=behaviours)


def besides(items: Iterable[ItemRecord], selection: Mapping[str, Any]) -> list[FailureRecord]:
    """The failures of clauses that were not selected."""
    return [
        failure
        for item in items
        for failure in item.failures
        if not _counts(selection, failure.clause, failure.outcome)
    ]
