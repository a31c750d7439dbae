"""The records of an item's probes as one record: what it amounts to in a run's results is what they amount to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dmlcts.reports.documents.outcomes import Outcome, worst
from dmlcts.reports.documents.records import ClauseTally, ItemRecord, LevelsSeen


def joined(test: str, seconds: float, probes: Sequence[ItemRecord]) -> ItemRecord:
    """The record of an item.

    Where some of its probes judged something, those that did not take nothing away from that; they are named.

    Args:
        test: the item's node id.
        seconds: how long it took.
        probes: the records of its probes, in the order in which they ran.
    """
    idle = {probe.test.partition("::")[2]: probe.reason for probe in probes if probe.outcome.did_not_run}
    outcome = worst(_of_those_that_ran(probe.outcome for probe in probes))
    reason = "; ".join(dict.fromkeys(idle.values())) if outcome.did_not_run else ""
    return ItemRecord(
        test=test,
        outcome=outcome,
        seconds=seconds,
        tallies=_tallies(tally for probe in probes for tally in probe.tallies),
        behaviours=tuple(dict.fromkeys(seen for probe in probes for seen in probe.behaviours)),
        failures=tuple(failure for probe in probes for failure in probe.failures),
        left_out=sum(probe.left_out for probe in probes),
        combinations=_combinations(seen for probe in probes for seen in probe.combinations),
        reason=reason,
        accuracy=tuple(seen for probe in probes for seen in probe.accuracy),
        idle=idle,
    )


def _of_those_that_ran(outcomes: Iterable[Outcome]) -> list[Outcome]:
    all_outcomes = list(outcomes)
    return [outcome for outcome in all_outcomes if not outcome.did_not_run] or all_outcomes


def _tallies(tallies: Iterable[ClauseTally]) -> tuple[ClauseTally, ...]:
    """One tally for each clause, subject and outcome.

    Those of other outcomes stay apart: a waiver, and a selection of clauses, take some outcomes of a row and leave
    others.
    """
    alike: dict[tuple[str, str, str, Outcome], list[ClauseTally]] = defaultdict(list)
    for tally in tallies:
        alike[tally.clause, tally.operator, tally.data_type, tally.outcome].append(tally)
    return tuple(
        ClauseTally(
            *row,
            cases=sum(clause_tally.cases for clause_tally in group),
            elements=sum(clause_tally.elements for clause_tally in group),
            failures=sum(clause_tally.failures for clause_tally in group),
            unsupported=sum(clause_tally.unsupported for clause_tally in group),
            types=tuple(sorted({name for clause_tally in group for name in clause_tally.types})),
        )
        for row, group in alike.items()
    )


def _combinations(combinations: Iterable[LevelsSeen]) -> tuple[LevelsSeen, ...]:
    rows: dict[tuple[str, str], set[str]] = defaultdict(set)
    for seen in combinations:
        rows[seen.operator, seen.data_type] |= set(seen.rows)
    return tuple(LevelsSeen(*subject, tuple(sorted(codes))) for subject, codes in sorted(rows.items()))
