"""A triage: each failure of a run, its cause, the reason that a baseline holds, and the reports upstream.

The document (``dmlcts-triage/1``, ``schemas/triage-1.json``) is built from a run and a baseline alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dmlcts.reports.comparing.baseline import Baseline, Departure, Entry, UpstreamReport
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.summaries.causes import Cause, causes, first_line
from dmlcts.reports.summaries.characters import one_line
from dmlcts.reports.summaries.overview import judged_name, rule_of
from dmlcts.reports.summaries.provenance import Provenance
from dmlcts.reports.summaries.reasons import KnownReasons, RowKey
from dmlcts.specs.tables import Tables

SCHEMA = "dmlcts-triage/1"
_DEVICE = ("name", "adapter", "driver", "library", "version")
_FAILURE = ("clause", "operator", "data_type", "outcome", "title", "test", "file", "replay")


def triage_of(results: Mapping[str, Any], tables: Tables, baseline: Baseline | None) -> dict[str, Any]:
    """The triage of a run.

    Args:
        results: a results document.
        tables: the spec tables, for the subjects of clauses.
        baseline: where the reasons are; ``None`` for a triage without them.
    """
    causing = causes(results["clauses"], results["failures"], lambda clause: rule_of(clause, tables).subject)
    rows = [row for row in results["clauses"] if Outcome(row["outcome"]).breaks_conformance]
    reasons = _reasons(rows, baseline)
    reason_of = {key: number for number, reason in enumerate(reasons) for key in _keys(reason["rows"])}
    cause_of: dict[int, int] = {}
    for number, cause in enumerate(causing):
        for member in (cause, *cause.folded):
            cause_of |= {id(failure): number for failure in member.failures}
    return {
        "schema": SCHEMA,
        "backend": results["backend"],
        "device": {name: str(results["device"].get(name) or "") for name in _DEVICE},
        "made_with": Provenance.of("", results).to_json(),
        "reasons": reasons,
        "causes": [_cause(cause, reason_of) for cause in causing],
        "failures": [
            {**{name: failure[name] for name in _FAILURE}, "cause": cause_of.get(id(failure))}
            for failure in results["failures"]
        ],
    }


def _reasons(rows: Iterable[Mapping[str, Any]], baseline: Baseline | None) -> list[dict[str, Any]]:
    """The reasons of failing rows in their order; rows without a reason are in none."""
    grouped: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        entry = _entry(row, baseline)
        if entry is not None and entry.because:
            grouped.setdefault((entry.because, entry.since, entry.upstream), []).append(row)
    return [
        {
            "because": because,
            "since": since,
            "upstream": [report.to_json() for report in upstream],
            "rows": list(_grouped(members)),
        }
        for (because, since, upstream), members in grouped.items()
    ]


def _entry(row: Mapping[str, Any], baseline: Baseline | None) -> Entry | None:
    """The entry of a baseline for a row of a results document."""
    if baseline is None:
        return None
    return baseline.entry(Departure(row["id"], row["operator"], row["outcome"], row["data_type"]))


def _grouped(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    types: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        types.setdefault((row["id"], row["operator"]), []).append(row["data_type"])
    for (clause, operator), names in types.items():
        yield {"clause": clause, "operator": operator, "data_types": names}


def _keys(rows: Iterable[Mapping[str, Any]]) -> Iterator[RowKey]:
    return ((row["clause"], row["operator"], name) for row in rows for name in row["data_types"])


def _cause(cause: Cause, reason_of: Mapping[RowKey, int]) -> dict[str, Any]:
    rows = list(_grouped(cause.rows))
    folded: list[dict[str, Any]] = [
        {"clause": member.clause, "how": how, "rows": list(_grouped(member.rows))}
        for how, members in (
            ("the same", cause.same),
            ("needs more", cause.needing_more),
            ("follows", cause.following),
        )
        for member in members
    ]
    every = [*_keys(rows), *(key for member in folded for key in _keys(member["rows"]))]
    return {
        "clause": cause.clause,
        "outcome": cause.outcome.value,
        "shows": first_line(cause.failures[0]) if cause.failures else "",
        "replay": str(cause.failures[0]["replay"]) if cause.failures else "",
        "deviation": cause.fault.deviation.value if cause.fault else "",
        "needs": sorted(cause.fault.needs) if cause.fault else [],
        "cases": cause.cases,
        "examined": cause.examined,
        "rows": rows,
        "explains": folded,
        "reasons": sorted({reason_of[key] for key in every if key in reason_of}),
    }


def reasons_by_row(triage: Mapping[str, Any]) -> dict[RowKey, Mapping[str, Any]]:
    """The reason of each failing row that has one, by clause, operator and data type."""
    return {key: reason for reason in triage["reasons"] for key in _keys(reason["rows"])}


def known_reasons(results: Mapping[str, Any], baseline: Baseline) -> KnownReasons:
    """The reasons that a baseline has for the failing rows of a run, for the pages of the run."""
    rows = [row for row in results["clauses"] if Outcome(row["outcome"]).breaks_conformance]
    of = judged_name(str(baseline.conditions["backend"]), baseline.device)
    return KnownReasons(of, reasons_by_row({"reasons": _reasons(rows, baseline)}))


def reason_title(reason: Mapping[str, Any]) -> str:
    """The first line of a reason, which says what is wrong."""
    return str(reason["because"]).strip().partition("\n")[0]


def lines(triage: Mapping[str, Any]) -> Iterator[str]:
    """The triage for a terminal: a cause, its reasons and their reports upstream, a line each."""
    for cause in triage["causes"]:
        shown = cause["shows"].partition("\n")[0] or f"{cause['clause']}: {cause['outcome']}"
        yield one_line(f"{cause['clause'] or 'no single clause'} · {shown}")
        for number in cause["reasons"]:
            reason = triage["reasons"][number]
            yield one_line(f"  because: {reason_title(reason)}")
            for report in reason["upstream"]:
                state = UpstreamReport(**report).words
                yield one_line(f"  upstream: {report.get('address') or report['report']} ({state})")
        if not cause["reasons"]:
            yield "  no reason yet"


def unexplained(triage: Mapping[str, Any]) -> int:
    """How many causes have no reason."""
    return sum(not cause["reasons"] for cause in triage["causes"])


def baseline_for(results: Mapping[str, Any], baselines: Sequence[Baseline]) -> Baseline | None:
    """The baseline of the implementation that a run judged; ``None`` where there is none.

    It is one of the same backend and library, best of the same adapter and version.
    """

    def likeness(baseline: Baseline) -> list[bool]:
        return [baseline.device.get(name) == str(results["device"][name]) for name in ("adapter", "version")]

    same = [
        baseline
        for baseline in baselines
        if baseline.conditions["backend"] == results["backend"]
        and baseline.device.get("library") == str(results["device"]["library"])
    ]
    return max(same, key=likeness, default=None)
