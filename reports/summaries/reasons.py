"""What the head of a page lists: the causes of a run's failures, each once, with the reason that a baseline holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmlcts.reports.documents.wording import places
from dmlcts.reports.summaries.causes import first_line
from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.reports.summaries.overview import Failure, Group, outcome_of
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

RowKey = tuple[str, str, str]
"""Clause id, operator name, data type name."""


@dataclass(frozen=True)
class KnownReasons:
    """Why an implementation departs, as far as a baseline says it.

    Attributes:
        of: the implementation that the baseline is of, in words; "" for none.
        by_row: for each failing row that has one, its reason as a triage has it (``because``, ``since``, ``upstream``).
    """

    of: str = ""
    by_row: Mapping[RowKey, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class CauseLine:
    """One cause.

    Attributes:
        title: what is wrong; Markdown where a person wrote it, else the first line of the smallest failing case.
        known: whether a baseline has a reason for it.
        text: the rest of the reason; Markdown, "" for none.
        since: the releases that have it; Markdown, "" where that is not known.
        upstream: its reports upstream: the label, the address ("" for a file that is no page), the state in words.
        where: the operators and data types that it breaks, in words.
        shown: the numbers on the page of the failing cases that show it, each with its first line.
    """

    title: str
    known: bool
    text: str
    since: str
    upstream: tuple[tuple[str, str, str], ...]
    where: str
    shown: tuple[tuple[int, str], ...]


def upstream_links(reason: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """The reports upstream of a reason: the label, the address or "", the state in words."""
    links = []
    for report in reason["upstream"]:
        state = f"{report['state']} in {report['fixed_in']}" if report.get("fixed_in") else report["state"]
        written = str(report["report"])
        address = str(report.get("address") or (written if written.startswith(("https://", "http://")) else ""))
        links.append((address or written.rpartition("/")[2], address, str(state)))
    return tuple(links)


def cause_lines(
    groups: Iterable[Group], rows: Iterable[Mapping[str, Any]], known: KnownReasons, tables: Tables
) -> tuple[CauseLine, ...]:
    """The causes of a run's failures in the order of the page; those that have one reason are one.

    A failing row that no drawn case shows and no reason covers is listed by its clause, so that nothing is left out.

    Args:
        groups: the failing cases as the page draws them, numbered from 1 through all groups.
        rows: the clause rows of the results.
        known: the reasons.
        tables: the tables, for the names of places.
    """
    failing = {_key(row, "id"): row for row in rows if outcome_of(row).breaks_conformance}
    keys_of_reason: dict[int, list[RowKey]] = {}
    for key in failing:
        if key in known.by_row:
            keys_of_reason.setdefault(id(known.by_row[key]), []).append(key)
    lines: dict[object, CauseLine] = {}
    seen: set[RowKey] = set()

    def add(reason: Mapping[str, Any], shown: tuple[tuple[int, str], ...]) -> None:
        line = lines.get(id(reason))
        if line is not None:
            lines[id(reason)] = _with_reason(reason, (*line.shown, *shown), line.where)
            return
        where = places((key[1:] for key in keys_of_reason.get(id(reason), ())), tables)
        lines[id(reason)] = _with_reason(reason, shown, where)
        seen.update(keys_of_reason.get(id(reason), ()))

    number = 1
    for group in groups:
        members = {
            number + place: member
            for place, member in enumerate((group.head, *group.rest))
            if outcome_of(member.document).breaks_conformance
        }
        reasons: dict[int, tuple[Mapping[str, Any], int]] = {}
        for at, member in members.items():
            key = _key(member.document, "clause")
            seen.add(key)
            if key in known.by_row:
                reasons.setdefault(id(known.by_row[key]), (known.by_row[key], at))
        for reason, at in reasons.values():
            add(reason, ((at, _shown(members[at])),))
        if members and not reasons:
            lines[number] = _of_cases(list(members.values()), ((number, _shown(group.head)),), tables)
        number += 1 + len(group.rest)
    for key in failing:
        if key not in seen and key in known.by_row:
            add(known.by_row[key], ())
    left: dict[str, list[RowKey]] = {}
    for key in failing:
        if key not in seen:
            left.setdefault(key[0], []).append(key)
    for clause, keys_left in left.items():
        outcome = str(failing[keys_left[0]]["outcome"]).replace("_", " ")
        where = places((key[1:] for key in keys_left), tables)
        lines[clause] = CauseLine(f"{clause}: {outcome}", False, "", "", (), where, ())
    return tuple(lines.values())


def _key(member: Mapping[str, Any], clause: str) -> RowKey:
    return str(member[clause]), str(member["operator"]), str(member["data_type"])


def _shown(failure: Failure) -> str:
    return first_line(failure.document).partition("\n")[0]


def _with_reason(reason: Mapping[str, Any], shown: tuple[tuple[int, str], ...], where: str) -> CauseLine:
    title, _, text = str(reason["because"]).strip().partition("\n")
    return CauseLine(title, True, text.strip(), str(reason["since"]), upstream_links(reason), where, shown)


def _of_cases(members: Sequence[Failure], shown: tuple[tuple[int, str], ...], tables: Tables) -> CauseLine:
    where = places({_key(member.document, "clause")[1:] for member in members}, tables)
    if UNEXAMINED in members[0].document["details"] and len(members) > 1:
        return CauseLine(f"{many(len(members), 'case')} that nobody examined", False, "", "", (), where, shown)
    return CauseLine(shown[0][1], False, "", "", (), where, shown)
