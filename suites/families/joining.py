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
    idle = {one.test.partition("::")[2]: one.reason for one in probes if one.outcome.did_not_run}
    outcome = worst(_of_those_that_ran(one.outcome for one in probes))
    reason = "; ".join(dict.fromkeys(idle.values())) if outcome.did_not_run else ""
    return ItemRecord(
        test=test,
        outcome=outcome,
        seconds=seconds,
        tallies=_tallies(tally for one in probes for tally in one.tallies),
        behaviours=tuple(dict.fromkeys(seen for one in probes for seen in one.behaviours)),
        failures=tuple(failure for one in probes for failure in one.failures),
        left_out=sum(one.left_out for one in probes),
        combinations=_combinations(seen for one in probes for seen in one.combinations),
        reason=reason,
        accuracy=tuple(seen for one in probes for seen in one.accuracy),
        idle=idle,
    )


def _of_those_that_ran(outcomes: Iterable[Outcome]) -> list[Outcome]:
    found = list(outcomes)
    return [outcome for outcome in found if not outcome.did_not_run] or found


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
            cases=sum(one.cases for one in found),
            elements=sum(one.elements for one in found),
            failures=sum(one.failures for one in found),
            unsupported=sum(one.unsupported for one in found),
            types=tuple(sorted({name for one in found for name in one.types})),
        )
        for row, found in alike.items()
    )


def _combinations(combinations: Iterable[LevelsSeen]) -> tuple[LevelsSeen, ...]:
    rows: dict[tuple[str, str], set[str]] = defaultdict(set)
    for seen in combinations:
        rows[seen.operator, seen.data_type] |= set(seen.rows)
    return tuple(LevelsSeen(*subject, tuple(sorted(found))) for subject, found in sorted(rows.items()))
