"""Which rows of a results document fail for another clause's fault alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reports.summaries.causes import Row, causes
from dmlcts.reports.summaries.overview import rule_of
from dmlcts.specs.tables import Tables


def explained(results: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    """The results with ``because`` in each failing row of which another clause's fault explains all that failed.

    Args:
        results: a results document; one of an earlier version, which knows no deviations, stays as it is.
        tables: the spec tables, for the subjects of clauses.
    """
    if not any(failure.get("deviation") for failure in results["failures"]):
        return dict(results)
    own: set[tuple[str, str, str]] = set()
    other: dict[tuple[str, str, str], str] = {}
    for cause in causes(results["clauses"], results["failures"], lambda clause: rule_of(clause, tables).subject):
        own |= {_key(row) for row in cause.rows}
        for folded_cause in cause.folded:
            if folded_cause.clause == cause.clause:
                own |= {_key(row) for row in folded_cause.rows}
            else:
                other |= {_key(row): cause.clause for row in folded_cause.rows}
    rows = [
        row | {"because": other[_key(row)]} if _key(row) in other and _key(row) not in own else row
        for row in results["clauses"]
    ]
    return {**results, "clauses": rows}


def _key(row: Row) -> tuple[str, str, str]:
    return row["id"], row["operator"], row["data_type"]
