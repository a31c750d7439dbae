"""What changes from one implementation to another, operator by operator: ``dmlcts migrate``.

The document (``dmlcts-migration/1``) is built from two finished runs. Rows are compared by clause, operator and data
type, as in a comparison; here each row has a kind, for the two are no equals: the first is left for the second.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.wording import short, type_order
from dmlcts.reports.migrating.specification import DIFFERS, OPEN, SAME, SETTLES, Specification
from dmlcts.reports.summaries.overview import rule_of
from dmlcts.specs.tables import Tables

SCHEMA = "dmlcts-migration/1"

STAYS, DEPARTS, MENDED, SPECIFICATION = "stays", "departs", "mended", "specification"
GONE, ADDED, BOTH, NEITHER, UNJUDGED = "gone", "added", "both", "neither", "unjudged"
KINDS = {
    STAYS: "both as the page says",
    DEPARTS: "the second departs from the page, the first does not",
    MENDED: "the first departs from the page, the second does not",
    SPECIFICATION: "one departs, as its own documentation asks for",
    GONE: "the second does not support it",
    ADDED: "the first does not support it",
    BOTH: "both depart from the page",
    NEITHER: "neither supports it",
    UNJUDGED: "judged for one of the two only",
}
"""What becomes of a row, in words."""

STATES = {
    "changes": "other results",
    "partly": "the same results, other types or descriptions",
    "gone": "no longer there",
    "faults": "a fault of both stays",
    "stays": "nothing changes",
    "unjudged": "judged for one of the two only",
}
"""What becomes of an operator, in words; the first that holds."""

VALUES = (DEPARTS, MENDED, SPECIFICATION)
"""The kinds of rows whose results change, besides those of both that fail in another way."""

_NOT_JUDGED = (Outcome.SKIPPED, Outcome.HARNESS_ERROR)  # the run left it out, or the suite failed: nobody knows
_ALWAYS = (SAME, SETTLES, OPEN)
_LISTED = (DEPARTS, MENDED, SPECIFICATION, BOTH, GONE, ADDED)
Row = Mapping[str, Any]
Key = tuple[str, str, str]


def _keyed(results: Row | None) -> dict[Key, Row]:
    rows = results["clauses"] if results else ()
    return {(row["operator"], row["id"], row["data_type"]): row for row in rows}


def _departs(outcome: Outcome) -> bool:
    """Whether a row departs from the page; a waiver accepts a departure and ends none."""
    return outcome.breaks_conformance or outcome is Outcome.WAIVED


def kind_of(before: Outcome | None, after: Outcome | None, explained: tuple[bool, bool] = (False, False)) -> str:
    """What becomes of a row.

    Args:
        before: its outcome of the first; ``None`` where it has no such row.
        after: its outcome of the second.
        explained: whether each one departs as its own documentation asks for.
    """
    if before is None or after is None or before in _NOT_JUDGED or after in _NOT_JUDGED:
        return UNJUDGED
    if before.did_not_run or after.did_not_run:
        return NEITHER if before.did_not_run and after.did_not_run else ADDED if before.did_not_run else GONE
    if _departs(before) and _departs(after):
        return BOTH
    if not (_departs(before) or _departs(after)):
        return STAYS
    if any(explained):
        return SPECIFICATION
    return MENDED if _departs(before) else DEPARTS


def _documents(
    column: Column, row: Row | None, key: Key, specifications: Iterable[Specification]
) -> tuple[Specification, ...]:
    """What a runtime's own documentation says of a row that departs: the reason first."""
    if row is None or column.results is None or not _departs(Outcome(row["outcome"])):
        return ()
    operator, clause, _ = key
    runtime, failures = column.results["backend"], column.failures.get(key, ())
    own = [sentence for sentence in specifications if (sentence.runtime, sentence.operator) == (runtime, operator)]
    reasons = [sentence for sentence in own if failures and all(map(sentence.explains, failures))]
    return (*reasons[:1], *(sentence for sentence in own if sentence.clause == clause and sentence.relation in _ALWAYS))


def _cell(cell: Row | None, row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    shown = {name: row[name] for name in ("outcome", "cases", "failures")} if cell is None else dict(cell)
    return shown | ({"because": row["because"]} if row.get("because") else {})


def _rows(
    columns: Sequence[Column], departures: Iterable[Row], specifications: Sequence[Specification]
) -> tuple[dict[str, Counter[str]], dict[str, list[dict[str, Any]]]]:
    """How many rows of each operator are of each kind, and those that are listed, alike types together."""
    before, after = (_keyed(column.results) for column in columns)
    cells = {(row["operator"], row["clause"], row["data_type"]): row["cells"] for row in departures}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    groups: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = defaultdict(dict)
    for key in [*cells, *({**before, **after}.keys() - cells.keys())]:
        operator, clause, data_type = key
        rows = before.get(key), after.get(key)
        outcomes = tuple(None if row is None else Outcome(row["outcome"]) for row in rows)
        documents = tuple(
            _documents(column, row, key, specifications) for column, row in zip(columns, rows, strict=True)
        )
        reasons = tuple(any(sentence.relation == DIFFERS for sentence in own) for own in documents)
        kind = kind_of(outcomes[0], outcomes[1], (reasons[0], reasons[1]))
        counts[operator][kind] += 1
        if kind not in _LISTED:
            continue
        group = clause, kind, outcomes, documents
        listed = {
            "clause": clause,
            "data_types": [],
            "kind": kind,
            "alike": outcomes[0] is outcomes[1],
            "cells": [_cell(cell, row) for cell, row in zip(cells.get(key, (None, None)), rows, strict=True)],
            "documents": [[sentence.to_json() for sentence in own] for own in documents],
        }
        groups[operator].setdefault(group, listed)["data_types"].append(data_type)
    return counts, {operator: list(members.values()) for operator, members in groups.items()}


def _behaviours(
    columns: Sequence[Column], behaviours: Iterable[Row], specifications: Sequence[Specification], tables: Tables
) -> dict[str, list[dict[str, Any]]]:
    """What both were seen to do where the page leaves it open; alike types together, those that differ first."""
    runtimes = [column.results["backend"] if column.results else "" for column in columns]
    groups: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = defaultdict(dict)
    for row in behaviours:
        if None in row["cells"]:
            continue
        clause, operator = row["clause"], row["operator"]
        rule = rule_of(clause, tables)
        listed = {
            "clause": clause,
            "data_types": [],
            "text": rule.text,
            "cells": row["cells"],
            "differ": row["differ"],
            "documents": [
                [
                    sentence.to_json() | _followed(sentence, behaviour)
                    for sentence in specifications
                    if (sentence.runtime, sentence.operator, sentence.clause) == (runtime, operator, clause)
                    and sentence.relation in _ALWAYS
                ]
                for runtime, behaviour in zip(runtimes, row["cells"], strict=True)
            ],
        }
        group = groups[operator].setdefault((clause, *row["cells"]), listed)
        group["data_types"].append(row["data_type"])
    return {operator: sorted(rows.values(), key=lambda row: not row["differ"]) for operator, rows in groups.items()}


def _followed(sentence: Specification, behaviour: str) -> dict[str, bool]:
    """Whether a behaviour is what the runtime's own documentation settles; nothing where that settles none."""
    return {"follows": behaviour in sentence.agrees} if sentence.relation == SETTLES else {}


def _missing(first: Row | None, second: Row | None) -> dict[str, tuple[list[str], bool]]:
    """The types of each operator that the first computes and the second does not, and whether these are all of them.

    A type is missing where no obliged row ran that ran of the first.
    """
    before, after = _keyed(first), _keyed(second)
    ran: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for (operator, clause, data_type), row in before.items():
        other = after.get((operator, clause, data_type))
        if other is None or row["obligation"] == "unspecified" or Outcome(row["outcome"]).did_not_run:
            continue
        ran[operator][data_type].append(other["outcome"] != Outcome.NOT_SUPPORTED.value)
    missing = {}
    for operator, types in ran.items():
        names = sorted((name for name, rows in types.items() if not any(rows)), key=type_order)
        missing[operator] = names, len(names) == len(types)
    return missing


def _lacking(column: Row, operator: str) -> list[str]:
    """Why the second has no counterpart of an operator or a part of it, as its backend says."""
    rows = [row for row in column.get("mapping", ()) if not row["to"] and row["what"].split(" ")[0] == short(operator)]
    return [f"{row['what']}: {row['note']}" if row["note"] else row["what"] for row in rows]


def _state(counts: Counter[str], rows: Iterable[Row], behaviours: Iterable[Row], gone: bool) -> str:
    """What becomes of an operator as a whole: one of :data:`STATES`."""
    if gone:
        return "gone"
    other = any(row["kind"] == BOTH and not row["alike"] for row in rows)
    if other or any(counts[kind] for kind in VALUES) or any(row["differ"] for row in behaviours):
        return "changes"
    if counts[GONE] or counts[ADDED]:
        return "partly"
    if counts[BOTH]:
        return "faults"
    return "stays" if counts[STAYS] or counts[NEITHER] else "unjudged"


def migration(
    first: Column, second: Column, tables: Tables, specifications: Sequence[Specification], mixed: bool = False
) -> dict[str, Any]:
    """What changes from ``first`` to ``second`` as one JSON value (``dmlcts-migration/1``).

    Args:
        first: what is left; it ran.
        second: what takes its place; it ran, and its label is another.
        tables: the tables that the runs rest on.
        specifications: what runtimes' own documents say.
        mixed: whether the runs may have used different tables; then the document says so.

    Raises:
        MixedTablesError: the runs were made with different tables, and ``mixed`` is false.
        UsageError: both have one label, or a run judged a clause that ``tables`` does not have.
    """
    columns = (first, second)
    compared = compare(columns, tables, mixed)
    counts, rows = _rows(columns, compared["departures"], specifications)
    behaviours = _behaviours(columns, compared["behaviours"], specifications, tables)
    accuracy: dict[str, list[Row]] = defaultdict(list)
    for row in compared.get("accuracy", ()):
        accuracy[row["operator"]].append({name: row[name] for name in ("types", "cells")})
    missing = _missing(first.results, second.results)
    operators: list[dict[str, Any]] = []
    for operator in sorted(counts):
        listed, seen = rows.get(operator, []), behaviours.get(operator, [])
        kinds = {kind: counts[operator][kind] for kind in KINDS if counts[operator][kind]}
        types, whole = missing.get(operator, ([], False))
        operators.append(
            {
                "operator": operator,
                "state": _state(counts[operator], listed, seen, whole),
                "rows": kinds,
                "missing_types": types,
                "lacking": _lacking(compared["columns"][1], operator) if kinds.keys() & {GONE, NEITHER} else [],
                "clauses": listed,
                "behaviours": seen,
                "accuracy": accuracy[operator],
            }
        )
    clauses = dict.fromkeys(row["clause"] for operator in operators for row in operator["clauses"])
    return {
        "schema": SCHEMA,
        "columns": compared["columns"],
        "uneven": compared["uneven"],
        "changes": any(operator["state"] in ("changes", "partly", "gone") for operator in operators),
        "operators": operators,
        "rules": {clause: _rule(clause, tables) for clause in clauses},
    }


def _rule(clause: str, tables: Tables) -> dict[str, str]:
    """What DirectML's page requires, as the tables say it."""
    rule = rule_of(clause, tables)
    return {name: getattr(rule, name) for name in ("obligation", "text", "quotation", "source", "address")}


def totals(document: Mapping[str, Any]) -> Counter[str]:
    """How many rows of all operators are of each kind."""
    counted: Counter[str] = Counter()
    for operator in document["operators"]:
        counted.update(operator["rows"])
    return counted


def is_incomplete(document: Mapping[str, Any]) -> bool:
    """Whether rows were judged for one of the two only, so that nobody knows whether they change."""
    return bool(totals(document)[UNJUDGED])
