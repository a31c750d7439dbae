"""Releases of one package side by side in time: for each departure the first and the last release that has it.

The document (``dmlcts-history/1``, ``schemas/history-1.json``) is built from finished runs alone. A release that could
not be judged is listed with its reason, and says nothing about any departure.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import DocumentError, load_document
from dmlcts.reports.documents.wording import type_order
from dmlcts.reports.summaries.characters import escaped, one_line
from dmlcts.reports.summaries.overview import selection_text
from dmlcts.reports.summaries.provenance import Provenance, mixture, other_tables
from dmlcts.reports.views.html import environment, inlined, template
from dmlcts.specs import DataType

SCHEMA = "dmlcts-history/1"
DEPARTS, HOLDS, OPEN, UNJUDGED = "departs", "holds", "open", "unjudged"
MARKS = {DEPARTS: "✗", HOLDS: "✓", OPEN: "·", UNJUDGED: " "}
"""The sign of each state."""
_HOW = ("selection", "profile", "seed", "strict")
_CLEAN = {Outcome.PASS.value, Outcome.CHARACTERISED.value}
_OPEN = {Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value}
_TYPES = [data_type.name for data_type in DataType]
LEGEND = "✗ departs, ✓ holds, · not required or not supported by that release, blank: not judged."
"""What the signs mean."""


@dataclass(frozen=True)
class Release:
    """A release of the package.

    Args:
        version: its version.
        results: its results document; None where it could not be judged.
        reason: why it could not; "" where it was.
    """

    version: str
    results: Mapping[str, Any] | None = None
    reason: str = ""


def history_of(package: str, releases: Sequence[Release]) -> dict[str, Any]:
    """The document of a history.

    Args:
        package: what the releases are of.
        releases: the oldest first.
    """
    rows: dict[tuple[str, str, str], list[str]] = {}
    for place, release in enumerate(releases):
        for row in release.results["clauses"] if release.results else ():
            states = rows.setdefault((row["operator"], row["id"], row["data_type"]), _before(releases))
            outcome = row["outcome"]
            states[place] = HOLDS if outcome in _CLEAN else OPEN if outcome in _OPEN else DEPARTS
    grouped: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (operator, clause, data_type), states in rows.items():
        if DEPARTS in states:
            grouped.setdefault((operator, clause, tuple(states)), []).append(data_type)
    departures = [
        {
            "operator": operator,
            "clause": clause,
            "data_types": sorted(types, key=_TYPES.index),
            "states": list(states),
            **_span([entry.version for entry in releases], states),
        }
        for (operator, clause, states), types in sorted(grouped.items())
    ]
    return {
        "schema": SCHEMA,
        "package": package,
        "judged": next(({name: entry.results[name] for name in _HOW} for entry in releases if entry.results), None),
        "releases": [
            {
                "version": entry.version,
                "reason": entry.reason,
                "feature_level": entry.results["feature_level"] if entry.results else "",
                "verdict": entry.results["verdict"] if entry.results else "",
                "rows": len(entry.results["clauses"]) if entry.results else 0,
                **({"made_with": Provenance.of(entry.version, entry.results).to_json()} if entry.results else {}),
            }
            for entry in releases
        ],
        "departures": departures,
    }


def _before(releases: Sequence[Release]) -> list[str]:
    """What is known of a row before any release has said anything of it."""
    return [UNJUDGED if release.results is None else OPEN for release in releases]


def _span(versions: Sequence[str], states: Sequence[str]) -> dict[str, str]:
    """The first and last release that departs, and what is known of the releases around them."""
    there = [place for place, state in enumerate(states) if state == DEPARTS]
    judged = [place for place, state in enumerate(states) if state in (DEPARTS, HOLDS)]
    first, last = there[0], there[-1]
    right_before = [place for place in judged if place < first]
    right_after = [place for place in judged if place > last]
    begins = f"after {versions[right_before[-1]]}" if right_before else "the oldest that was judged on it"
    ends = f"gone by {versions[right_after[0]]}" if right_after else "the newest that was judged on it"
    return {"first": versions[first], "last": versions[last], "begins": begins, "ends": ends}


def load_history(path: str | Path) -> dict[str, Any]:
    """Read a history that was written before, and check that it says what its own states amount to.

    Raises:
        DocumentError: it cannot be read, is no history, or was altered; with its JSON pointer, cause and mend.
    """
    hint = "give a file that `dmlcts history --json` wrote"
    document = load_document(path, "history-1", hint)
    versions = [release["version"] for release in document["releases"]]

    def refuse(pointer: str, cause: str) -> DocumentError:
        return DocumentError(str(path), pointer, cause, "it was altered since it was written; write it again")

    for place, version in enumerate(versions):
        if version in versions[:place]:
            raise refuse(f"/releases/{place}/version", f"version {version} stands twice")
    for number, row in enumerate(document["departures"]):
        pointer, states = f"/departures/{number}", row["states"]
        if len(states) != len(versions):
            raise refuse(f"{pointer}/states", f"has {len(states)} states of {len(versions)} releases")
        for place, (release, state) in enumerate(zip(document["releases"], states, strict=True)):
            if (state == UNJUDGED) != (release["verdict"] == ""):
                judged = "was judged" if release["verdict"] else "was not judged"
                raise refuse(f"{pointer}/states/{place}", f'is "{state}" where {release["version"]} {judged}')
        for member, due in _span(versions, states).items():
            if row[member] != due:
                raise refuse(f"{pointer}/{member}", f'is "{row[member]}" where the states amount to "{due}"')
    return document


def short(operator: str) -> str:
    """An operator's name without the family's."""
    return operator.removeprefix("ELEMENT_WISE_")


def _how(document: Mapping[str, Any]) -> str:
    """What was judged of every release, and how; "" where that is not known."""
    how = document.get("judged")
    if not how:
        return ""
    strict = ", strict" if how["strict"] else ""
    chosen = selection_text(how["selection"]) or "everything"
    return f"Judged: {chosen}; profile {how['profile']}, seed {how['seed']}{strict}."


def _made_with(document: Mapping[str, Any]) -> list[str]:
    """What each release was judged with; "" for one that was not judged."""
    made = [Provenance.read(entry["version"], entry.get("made_with", {})) for entry in document["releases"]]
    return [
        (
            ""
            if not release["verdict"]
            else f"{provenance} (≠ {mark})"
            if mark
            else str(provenance)
            if provenance.tables
            else "not recorded"
        )
        for release, provenance, mark in zip(document["releases"], made, other_tables(made), strict=True)
    ]


def _mixed(document: Mapping[str, Any]) -> str:
    """Which releases were judged with which tables; "" where all were judged with the same."""
    judged = (release for release in document["releases"] if release["verdict"])
    return mixture([Provenance.read(release["version"], release.get("made_with", {})) for release in judged])


def _without_departures(document: Mapping[str, Any]) -> str:
    """What is said where no departure is known; "" where one is."""
    if document["departures"]:
        return ""
    if any(release["verdict"] for release in document["releases"]):
        return "No release departs from the pages in what was judged."
    return "No release could be judged: nothing is known of departures."


def _cells(row: Mapping[str, Any]) -> list[str]:
    types = ", ".join(row["data_types"])
    since, until = f"{row['first']} ({row['begins']})", f"{row['last']} ({row['ends']})"
    return [
        short(row["operator"]),
        row["clause"],
        types,
        since,
        until,
        "".join(MARKS[state] for state in row["states"]),
    ]


_HEAD = ("operator", "clause", "types", "first", "last", "release by release")


def print_history(document: Mapping[str, Any], console: Console) -> None:
    """Print the releases and, for each departure, since and until when it exists."""
    if _how(document):
        console.print(Text(one_line(_how(document))))
    if _mixed(document):
        console.print(Text(one_line(f"note: {_mixed(document)}"), style="bold"))
    for release, made in zip(document["releases"], _made_with(document), strict=True):
        verdict = release["verdict"].replace("_", " ") if release["verdict"] else f"not judged: {release['reason']}"
        console.print(Text(one_line(f"{document['package']} {release['version']}: {verdict}")))
        if made:
            console.print(Text(one_line(f"  made with {made}")))
    table = Table(title="Departures", title_justify="left")
    for heading in _HEAD:
        table.add_column(Text(heading), overflow="fold")
    for row in document["departures"]:
        table.add_row(*map(Text, _cells(row)))
    nothing = _without_departures(document)
    console.print(Text(nothing) if nothing else table)
    if not nothing:
        console.print(Text(LEGEND))


def _row(*cells: str) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def markdown(document: Mapping[str, Any]) -> str:
    """The history as Markdown."""
    lines = [f"## {escaped(document['package'])}", ""]
    lines += [escaped(_how(document)), ""] if _how(document) else []
    lines += [f"Note: {escaped(_mixed(document))}.", ""] if _mixed(document) else []
    lines += [_row("release", "level", "verdict", "made with"), "|---|---|---|---|"]
    for release, made in zip(document["releases"], _made_with(document), strict=True):
        verdict = release["verdict"].replace("_", " ") if release["verdict"] else f"not judged: {release['reason']}"
        lines.append(_row(release["version"], release["feature_level"], verdict, made))
    nothing = _without_departures(document)
    lines += ["", nothing or LEGEND]
    if not nothing:
        lines += ["", _row(*_HEAD), "|---" * len(_HEAD) + "|"]
        lines += [_row(*_cells(row)) for row in document["departures"]]
    return "\n".join(lines) + "\n"


def html(document: Mapping[str, Any]) -> str:
    """The history as one self-contained page in the style of results.html, its signs readable without colour."""
    departures = document["departures"]
    rendered = (
        environment()
        .get_template("history.html")
        .render(
            **inlined(template("report.css"), template("page.js")),
            package=document["package"],
            releases=document["releases"],
            departures=departures,
            operators=sorted({row["operator"] for row in departures}),
            types=sorted({name for row in departures for name in row["data_types"]}, key=type_order),
            marks=MARKS,
            legend=LEGEND,
            how=_how(document),
            mixed=_mixed(document),
            made_with=_made_with(document),
            nothing=_without_departures(document),
            made_by=importlib.metadata.version("dmlcts"),
        )
    )
    return rendered.lstrip() + "\n"
