"""The summary at the end of a run: a page that a person reads in ten seconds.

It says everything in words and repeats nothing by colour alone; it fits 80 columns, and falls back to ASCII
where the stream cannot encode more.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.reports.documents.outcomes import Outcome, Verdict, exit_code
from dmlcts.reports.documents.selecting import behaviours_of_selection, rows_of_selection
from dmlcts.reports.documents.waivers import accounts, with_waived
from dmlcts.reports.documents.wording import behaviour_text, places, short, type_order
from dmlcts.reports.summaries.causes import Cause, causes, examined, first_line
from dmlcts.reports.summaries.overview import rule_of
from dmlcts.reports.views.terminal_page import Page
from dmlcts.specs import UsageError
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

CLAUSES_SHOWN = 8
FAULTS_SHOWN = 8
CAUSES_IN_SHORT = 3
FOLDED_SHOWN = 3
NEEDS_SHOWN = 2
PLACES_LENGTH, QUOTED = 200, 240
"""Characters of a fault's sentences: one fault is at most one screen of 24 lines and 80 columns."""
BEHAVIOURS_SHOWN = 12
GAPS_SHOWN = 4

_COLOURS = {Verdict.CONFORMANT: "green", Verdict.NOT_CONFORMANT: "red", Verdict.INCOMPLETE: "yellow"}
_FAULTS = {
    Outcome.CRASH: "CRASH",
    Outcome.TIMEOUT: "TIMEOUT",
    Outcome.DEVICE_LOST: "LOST",
    Outcome.RESOURCE_ERROR: "RESOURCE",
    Outcome.HARNESS_ERROR: "ERROR",
    Outcome.FAIL: "FAIL",
}
_LEGEND = {
    "CRASH": "failing clauses, of which one at least crashes",
    "TIMEOUT": "failing clauses, of which one at least hangs",
    "LOST": "failing clauses, of which one at least loses the device",
    "RESOURCE": "failing clauses, of which one at least runs out of resources",
    "ERROR": "clauses that the suite could not judge",
    "FAIL": "failing clauses",
    "skip": "clauses that did not run",
    "not run": "no clause ran",
    "n/s": "not supported, as the device declares",
    "waived": "failing clauses that a waiver accepts",
    "unlisted": "no feature level lists the type: refused, or accepted with right results",
}
Rows = Sequence[Mapping[str, Any]]


def _shortened(text: str, length: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(row["outcome"])


def _failing(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if _outcome(row).breaks_conformance]


def _head(results: Mapping[str, Any], verdict: Verdict, page: Page) -> None:
    device = results.get("device") or {}
    who = device.get("name") or "unnamed device"
    extras = [device.get("adapter"), " ".join(filter(None, (device.get("library"), device.get("version"))))]
    extras.append(f"driver {device['driver']}" if device.get("driver") else "")
    about = ", ".join(dict.fromkeys(extra for extra in extras if extra and extra != who))
    page.line(
        (with_waived(verdict.words, rows_of_selection(results)), f"bold {_COLOURS[verdict]}"),
        f"  {results.get('backend') or 'no backend'} · {who}{f' ({about})' if about else ''}",
    )
    facts = [
        f"level {results.get('feature_level', '?')}",
        f"profile {results.get('profile', '?')}",
        f"seed {results.get('seed', '?')}",
        *(["strict"] if results.get("strict") else []),
    ]
    chosen = {key: value for key, value in (results.get("selection") or {}).items() if value}
    parts = []
    for key, value in chosen.items():
        words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        parts.append(f"{key.replace('_', ' ')} {words}")
    page.line(" · ".join([*facts, "selected: " + ("; ".join(parts) or "everything")]))


def _tally(rows: Rows, results: Mapping[str, Any], page: Page) -> None:
    cases, elements = sum(row["cases"] for row in rows), sum(row["elements"] for row in rows)
    counts = Counter(_outcome(row) for row in rows)
    outcome_counts = ", ".join(
        f"{counts[outcome]} {outcome.value.replace('_', ' ')}" for outcome in Outcome if counts[outcome]
    )
    seconds = (results.get("timings") or {}).get("seconds")
    spent = f" in {seconds:.1f} s" if seconds is not None else ""
    page.line(
        f"{many(len(rows), 'clause row')}: {outcome_counts or 'none'} · {cases:,} cases, {elements:,} elements{spent}"
    )
    if results.get("interrupted"):
        page.line(("The run was stopped before its end.", "yellow"))


def _cell(rows: Rows, listed: bool) -> tuple[str, str]:
    """What a cell of the matrix says, and its style."""
    if not rows:
        return "—", "dim"
    outcomes = [_outcome(row) for row in rows]
    failing = [outcome for outcome in outcomes if outcome.breaks_conformance]
    if failing:
        return f"✗ {_FAULTS[min(failing)]} {len(failing)}", "bold red"
    idle = [outcome for outcome in outcomes if outcome.did_not_run]
    if len(idle) == len(rows):
        unsupported = all(outcome is Outcome.NOT_SUPPORTED for outcome in idle)
        return ("n/s" if unsupported else "not run"), "yellow"
    if idle:
        return f"skip {len(idle)}", "yellow"
    waived = outcomes.count(Outcome.WAIVED)
    if waived:
        return f"waived {waived}", "yellow"
    return ("✓ pass", "green") if listed else ("✓ unlisted", "green")


def _matrix(rows: Rows, tables: Tables, page: Page, *, only_one_block: bool = False) -> None:
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["operator"], row["data_type"]].append(row)
    operators = sorted({operator for operator, _ in cells})
    data_types = sorted({data_type for _, data_type in cells}, key=type_order)

    def cell(operator: str, data_type: str) -> tuple[str, str]:
        table = tables.operators.get(operator)
        listed = table is None or data_type in {listed.name for listed in table.data_types}
        text, style = _cell(cells.get((operator, data_type), []), listed)
        if page.fit("✓✗") != "✓✗":
            text = text.removeprefix("✓ ").removeprefix("✗ ")
        return page.fit(text), style

    legend_words: dict[str, None] = {}
    widths = [max(len(short(operator)), 11) + 2 for operator in operators]
    if only_one_block and 9 + sum(widths) > page.width:
        return
    first = 0
    while first < len(operators):
        last, used = first, 9
        while last < len(operators) and (last == first or used + widths[last] <= page.width):
            used += widths[last]
            last += 1
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("")
        for operator in operators[first:last]:
            table.add_column(Text(page.fit(short(operator))), min_width=11)
        for data_type in data_types:
            shown = [cell(operator, data_type) for operator in operators[first:last]]
            legend_words |= dict.fromkeys(text.strip("✓✗ ").rstrip("0123456789 ") for text, _ in shown)
            table.add_row(Text(page.fit(data_type)), *(Text(text, style) for text, style in shown))
        page.gap()
        page.table(table)
        first = last
    explained = [f"{word} = {_LEGEND[word]}" for word in _LEGEND if word in legend_words]
    if explained:
        page.line(("; ".join(explained), "dim"))


def _disclosed(results: Mapping[str, Any], page: Page) -> None:
    """What a reader must know of where the answers came from."""
    refusals = ((results.get("device") or {}).get("details") or {}).get("refusals")
    if refusals:
        page.line((f"Forbidden descriptions were refused {refusals}.", "dim"))


def _rule(clause: str, tables: Tables, page: Page) -> None:
    """The words that a clause rests on: its quotation and source, or else its text."""
    try:
        entry = tables.clause(clause)
        if entry.quotation is None:
            page.line(entry.text, indent=2)
        else:
            words = _shortened(entry.quotation.words, QUOTED)
            page.line(f"“{words}”", (f" ({tables.source(clause).title})", "dim"), indent=2)
    except UsageError:
        page.line(("(these tables have no such clause)", "dim"), indent=2)


def _cause(cause: Cause, tables: Tables, page: Page, folder: str) -> None:
    """One clause: where it fails, what it rests on, its first failing case and its needs, the file that replays it."""
    where = _shortened(places(cause.places, tables), PLACES_LENGTH)
    obligation = f" ({cause.rows[0]['obligation']})" if cause.rows else ""
    word = (
        f" fail{'s' if cause.cases == 1 else ''}"
        if cause.outcome is Outcome.FAIL
        else f", the worst: {cause.outcome.value.replace('_', ' ')}"
    )
    page.line(
        (f"{_FAULTS[cause.outcome]}  ", "bold red"),
        (cause.clause or "no single clause", "bold"),
        f"{obligation}: {many(cause.cases, 'case')}{word}{f' · {where}' if where else ''}",
    )
    if cause.clause:
        _rule(cause.clause, tables, page)
    if cause.failures:
        first = cause.failures[0]
        page.line(f"first: {_shortened(first_line(first), PLACES_LENGTH)}", indent=2)
        if first["details"].get("needs"):
            page.line(f"needs: {_shortened(first['details']['needs'], PLACES_LENGTH)}", indent=2)
        replay = next((failure["file"] for failure in cause.failures if failure["file"]), "")
        page.line(f"replay: {folder}failures/{replay}" if replay else f"test: {first['test']}", indent=2, whole=True)
    for similar_cause in cause.needing_more[:NEEDS_SHOWN]:
        needs = _shortened(similar_cause.failures[0]["details"].get("needs", "").partition(" (")[0] or "more", 80)
        page.line(
            f"possibly the same fault: needs {needs} · {_shortened(places(similar_cause.places, tables), 60)}", indent=2
        )
    left = len(cause.needing_more) - NEEDS_SHOWN
    if left > 0:
        page.line(f"possibly the same fault: {many(left, 'fault')} with other needs, in results.json", indent=2)
    for words, members in (("the same fault fails", cause.same), ("it may also cause", cause.following)):
        if members:
            page.line(f"{words}: {_clauses(members, tables, FOLDED_SHOWN)}", indent=2)


def _clauses(members: Sequence[Cause], tables: Tables, most: int = CLAUSES_SHOWN) -> str:
    """Clauses and where they fail: "clip.formula (CLIP on INT8); round.odd (ROUND on FLOAT16)"."""
    places_by_clause: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for member in members:
        places_by_clause[member.clause] |= member.places
    named = [
        f"{clause} ({_shortened(places(where, tables), 80)})" for clause, where in list(places_by_clause.items())[:most]
    ]
    more = f"; and {len(places_by_clause) - most} more" if len(places_by_clause) > most else ""
    return "; ".join(named) + more


def _faults(results: Mapping[str, Any], rows: Rows, tables: Tables, page: Page, folder: str, most: int) -> None:
    all_causes = causes(rows, results.get("failures") or [], lambda clause: rule_of(clause, tables).subject)
    first, rest = examined(all_causes)
    for cause in first[:most]:
        page.gap()
        _cause(cause, tables, page, folder)
    left = len(first) - most
    if left > 0:
        page.gap()
        page.line(f"… and {many(left, 'more fault')}, in results.json")
    if rest:
        page.gap()
        unexamined_causes = [member for cause in rest for member in (cause, *cause.folded)]
        page.line(("Also failing, and not examined", "bold red"), " (the faults above may be the cause):")
        page.line(_clauses(unexamined_causes, tables), indent=2)
        page.line(f"add --clause {unexamined_causes[0].clause} to examine one of them by itself", indent=2)


def _besides(failures: Rows, tables: Tables, page: Page, folder: str) -> None:
    """What broke clauses that were not selected."""
    failures_by_clause: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for failure in failures:
        failures_by_clause[failure["clause"]].append(failure)
    if not failures_by_clause:
        return
    page.gap()
    page.line(("Also failing, and not selected (it does not count):", "bold yellow"))
    for clause in sorted(
        failures_by_clause, key=lambda clause: (min(map(_outcome, failures_by_clause[clause])), clause)
    )[:CLAUSES_SHOWN]:
        first = min(failures_by_clause[clause], key=lambda failure: (_outcome(failure), not failure["file"]))
        where = places({(failure["operator"], failure["data_type"]) for failure in failures_by_clause[clause]}, tables)
        page.line((_FAULTS[_outcome(first)], "yellow"), f"  {clause} · {where}", indent=2)
        page.line(f"first: {_shortened(first['title'], 150)}", indent=4)
        if first["file"]:
            page.line(f"replay: {folder}failures/{first['file']}", indent=4, whole=True)
    if len(failures_by_clause) > CLAUSES_SHOWN:
        page.line(f"… and {many(len(failures_by_clause) - CLAUSES_SHOWN, 'more clause')}, in results.json", indent=2)


def _gaps(results: Mapping[str, Any], rows: Rows, tables: Tables, page: Page) -> None:
    """What was required and did not run."""
    idle = [row for row in rows if _outcome(row).did_not_run]
    if not idle:
        return
    whole = Counter((row["operator"], row["data_type"]) for row in rows)
    missing: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in idle:
        missing[row["operator"], row["data_type"]].add(row["id"])
    entire = {
        place
        for place, clauses in missing.items()
        if len(clauses) == whole[place] and not all(_unclaimed(clause, {place}, results, tables) for clause in clauses)
    }
    page.gap()
    page.line((f"Did not run: {many(len(idle), 'clause row')}", "bold yellow"))
    if entire:
        page.line(f"nothing ran on: {places(entire, tables)}", indent=2)
    partly: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for place, clauses in missing.items():
        if place not in entire:
            for clause in clauses:
                partly[clause].add(place)
    # First what is missing where nearly everything ran: a type that is not claimed explains itself.
    fewest = {clause: min(len(missing[place]) for place in where) for clause, where in partly.items()}
    for clause in sorted(partly, key=lambda clause: (fewest[clause], clause))[:GAPS_SHOWN]:
        own = {short(operator) for operator, _ in partly[clause]}
        others = [name for name in tables.applied_operators(clause) if name not in own]
        why = f" (it also runs {' and '.join(others)} on the same type)" if others else ""
        page.line(f"{clause}: {places(partly[clause], tables)}{why}", indent=2)
    if len(partly) > GAPS_SHOWN:
        page.line(f"… and {many(len(partly) - GAPS_SHOWN, 'more clause')}, in results.json", indent=2)
    unclaimed = {clause: names for clause in partly if (names := _unclaimed(clause, partly[clause], results, tables))}
    if unclaimed:
        operators = list(dict.fromkeys(name for names in unclaimed.values() for name in names))
        lacking = f"{', '.join(operators)} there: implement {'it' if len(operators) == 1 else 'them'}"
        page.line(f"The device does not claim {lacking}, or leave out what needs it:", indent=2)
        page.line(shlex.join(["--clause", ",".join(f"!{clause}" for clause in unclaimed)]), indent=4, whole=True)


def _unclaimed(clause: str, where: set[tuple[str, str]], results: Mapping[str, Any], tables: Tables) -> list[str]:
    """The operators that a clause runs beside its own, and that the device claims on none of some types."""
    claims = (results.get("device") or {}).get("data_types") or {}
    own = {short(operator) for operator, _ in where}

    def is_claimed(name: str) -> bool:
        claimed = claims.get(f"ELEMENT_WISE_{name}")
        return claimed is None or any(data_type in claimed for _, data_type in where)

    return [name for name in tables.applied_operators(clause) if name not in own and not is_claimed(name)]


def _waivers(results: Mapping[str, Any], tables: Tables, page: Page) -> None:
    """What somebody answers for, and which waivers have nothing to waive."""
    for account in accounts(results):
        page.gap()
        if account.waived:
            where = f": {many(account.clauses, 'clause row')} · {places(account.waived, tables)}"
            page.line(("waived  ", "bold yellow"), (account.clause, "bold"), where)
            page.line(f"{_shortened(account.reason, 150)} (until {account.expires})", indent=2)
        else:
            text = f"{account.clause} passes wherever the waiver applies: remove the waiver"
            page.line(("unexpected pass  ", "bold yellow"), text)
        page.line(account.issue, indent=2, whole=True)


def _behaviours(behaviours: Rows, tables: Tables, page: Page) -> None:
    """What the implementation does where the pages are silent."""
    if not behaviours:
        return
    seen: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for behaviour in behaviours:
        text = behaviour_text(behaviour["clause"], behaviour["behaviour"], tables)
        seen[text].add((behaviour["operator"], behaviour["data_type"]))
    page.gap()
    page.line(("Where the pages are silent, this implementation:", "bold"))
    for sentence in sorted(seen)[:BEHAVIOURS_SHOWN]:
        page.line(sentence, (f" · {places(seen[sentence], tables)}", "dim"), indent=2)
    if len(seen) > BEHAVIOURS_SHOWN:
        page.line(f"… and {many(len(seen) - BEHAVIOURS_SHOWN, 'more behaviour')}, in results.json", indent=2)


def _closing(rows: Rows, failures: Rows, verdict: Verdict) -> str:
    failing = {row["id"] for row in _failing(rows)} | {row["clause"] for row in _failing(failures)} - {""}
    outcomes = [_outcome(row) for row in rows]
    facts = []
    if failing:
        facts.append(many(len(failing), "clause") + (" fails" if len(failing) == 1 else " fail"))
    stray = [failure for failure in _failing(failures) if not failure["clause"]]
    if stray:
        facts.append(many(len(stray), "test") + " failed outside any clause")
    idle = sum(outcome.did_not_run for outcome in outcomes)
    if idle:
        facts.append(many(idle, "clause row") + " did not run")
    if not rows:
        facts.append("nothing ran")
    if Outcome.WAIVED in outcomes:
        held = sum(outcome in (Outcome.PASS, Outcome.CHARACTERISED) for outcome in outcomes)
        facts.append(f"{many(held, 'other row')} {'holds' if held == 1 else 'hold'}" if held else "no other row holds")
    if facts:
        return f": {', '.join(facts)}"
    return f": {many(len(rows), 'clause row')} {'holds' if len(rows) == 1 else 'hold'}"


def summary(
    results: Mapping[str, Any],
    tables: Tables,
    console: Console,
    *,
    folder: str | Path | None = None,
    written: Iterable[str | Path] = (),
    replay: str = "",
    brief: bool = False,
    short: bool = False,
) -> None:
    """Print what a run found: verdict, matrix, failures, gaps, observed behaviour, paths, verdict again.

    Args:
        results: a results document; an empty one is summarised as such.
        tables: the spec tables, for what the clauses say.
        console: where to print.
        folder: the results folder, for the paths of the files that replay a failure.
        written: the paths that were written.
        replay: the command that judges all failures again; "" for none.
        brief: the failing clauses and the verdict, and nothing else.
        short: the verdict, at most three causes and what to open next; a matrix only if it fits one block.
    """
    page = Page(console)
    rows: Rows = rows_of_selection(results)
    failures: Rows = results.get("failures") or []
    verdict = Verdict(results.get("verdict") or Verdict.INCOMPLETE)
    if not brief:
        _head(results, verdict, page)
        _tally(rows, results, page)
        _matrix(rows, tables, page, only_one_block=short)
        _disclosed(results, page)
    place = "" if folder is None else f"{Path(folder).as_posix()}/"
    _faults(results, rows, tables, page, place, CAUSES_IN_SHORT if short else FAULTS_SHOWN)
    _besides(results.get("besides") or [], tables, page, place)
    if not brief:
        _waivers(results, tables, page)
    _gaps(results, rows, tables, page)
    if not (brief or short):
        _behaviours(behaviours_of_selection(results), tables, page)
    if not brief or failures or results.get("besides") or any(_outcome(row).did_not_run for row in rows):
        page.gap()
    paths = [str(path) for path in written]
    if paths:
        page.line("Written:")
        for path in paths:
            page.line(path, indent=2, whole=True)
        page.gap()
    if short:
        steps = [f"open {place}results.html", *([replay] if replay else [])]
        page.line(" · ".join(steps), whole=True)
    page.line(
        (with_waived(verdict.words, rows), f"bold {_COLOURS[verdict]}"),
        f"{_closing(rows, failures, verdict)} (exit code {exit_code(verdict)})",
    )
