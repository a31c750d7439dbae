"""A verdict on selected clauses: failures of the others are listed beside it, and does not count.

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
from dmlcts.reports.documents.wording import short

_REPEATABLE = "execution.repeatable"

LEAVES_OUT = "!"
"""Begins a pattern of clauses that are left out."""


def _names(selection: Mapping[str, Any], kind: str) -> Sequence[str]:
    names = selection.get(kind) or ()
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _patterns(selection: Mapping[str, Any]) -> Sequence[str]:
    return _names(selection, "clauses")


def chooses(patterns: Sequence[str], clause: str) -> bool:
    """Whether some patterns select a clause.

    Args:
        patterns: ids and globs, in any order. One that begins with ``!`` leaves clauses out, whatever the others
            select. Without one that selects, all clauses are selected.
        clause: its id.
    """
    selecting = [pattern for pattern in patterns if not pattern.startswith(LEAVES_OUT)]
    leaving_out = [pattern[1:] for pattern in patterns if pattern.startswith(LEAVES_OUT)]

    def among(globs: Sequence[str]) -> bool:
        return any(fnmatch.fnmatchcase(clause, glob) for glob in globs)

    return (not selecting or among(selecting)) and not among(leaving_out)


def selects(selection: Mapping[str, Any], clause: str) -> bool:
    """Whether a run's selection holds the clause; "", no single clause, is in every selection."""
    return not clause or chooses(_patterns(selection), clause)


def selects_place(selection: Mapping[str, Any], operator: str, data_type: str) -> bool:
    """Whether a run's selection holds an operator, with or without ``ELEMENT_WISE_``, on a data type, by its name."""
    operators = set(map(short, _names(selection, "operators")))
    data_types = set(_names(selection, "data_types"))
    return (not operators or short(operator) in operators) and (not data_types or data_type in data_types)


def rows_of_selection(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The clause rows that a reader is shown: those of selected operators and types, and what went wrong on others.

    Cases of a selected type also try others, such as a description with tensors of two types. One such case says
    little of the other type, so that a row there which holds is left out: it would look like a type that was judged.

    Args:
        results: a results document, or an empty one.
    """
    selection = results.get("selection") or {}
    return [
        row
        for row in results.get("clauses") or ()
        if selects_place(selection, row["operator"], row["data_type"])
        or Outcome(row["outcome"]) not in (Outcome.PASS, Outcome.CHARACTERISED)
    ]


def behaviours_of_selection(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The behaviours that were observed on selected operators and types; those of others have no row to stand by."""
    selection = results.get("selection") or {}
    return [
        behaviour
        for behaviour in results.get("behaviours") or ()
        if selects_place(selection, behaviour["operator"], behaviour["data_type"])
    ]


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
