"""The summary of a run in Markdown, for a pull request or a job's summary page.

What comes from the results document is only ever written inside code spans or code blocks: there, neither
Markdown nor HTML nor a mention of a person means anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import escape

from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.selecting import behaviours_of_selection
from dmlcts.reports.documents.waivers import accounts, with_waived
from dmlcts.reports.documents.wording import places, short, type_order
from dmlcts.reports.summaries.characters import as_text, one_line
from dmlcts.reports.summaries.known import Known, known_implementations, likenesses
from dmlcts.reports.summaries.overview import Cell, Entry, Failure, Matrix, Overview, grouped, outcome_of, overview
from dmlcts.reports.summaries.provenance import SHOWN, tables_digest
from dmlcts.specs import UsageError
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

MOST_FAILURES = 10
MOST_CLAUSES = 40
MOST_TESTS = 6
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the file which GitHub Actions shows on a run's page."""

_MOST_BYTES = 900_000  # GitHub takes a mebibyte a step
_SIGNS = {Verdict.CONFORMANT: "✅", Verdict.NOT_CONFORMANT: "❌", Verdict.INCOMPLETE: "⚠️"}
_CELLS = {
    Outcome.WAIVED: "waived",
    Outcome.SKIPPED: "skipped",
    Outcome.NOT_SUPPORTED: "n/s",
    Outcome.CHARACTERISED: "◇",
    Outcome.PASS: "✓",
}


def code(text: object) -> str:
    """A code span that shows the text as it is, on one line."""
    flat = one_line(" ".join(str(text).split()))
    if len(flat) > 300:
        flat = flat[:299] + "…"
    if not flat:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def cell(text: object) -> str:
    """A code span in a cell of a table.

    GitHub splits a row at its bars before it looks for code spans, and takes the backslash of an escaped one
    away; a backslash of the text's own must not come before it.
    """
    return code(text).replace("\\|", "\\ |").replace("|", "\\|")


def block(text: object, language: str = "text") -> Iterator[str]:
    """The lines of a fenced code block that shows the text as it is."""
    lines = as_text("\n".join(str(text).splitlines())).split("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0))
    yield f"{fence}{language}"
    yield from lines
    yield fence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; cells are Markdown already."""
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def identity(results: Mapping[str, Any]) -> str:
    """Who was judged, and by what, in one line."""
    device = results["device"]
    library = " ".join(filter(None, (device["library"], device["version"])))
    pairs = [("", results["backend"]), ("", device["adapter"]), ("driver ", device["driver"]), ("library ", library)]
    pairs += [("level ", results["feature_level"]), ("profile ", results["profile"]), ("seed ", results["seed"])]
    suite = results["suite"]
    commit = f" {suite['commit'][:12]}" if suite["commit"] else ""
    pairs.append(("suite ", f"{suite['version']}{commit}{' modified' if suite['modified'] else ''}"))
    pairs.append(("tables ", tables_digest(results["specs"])[:SHOWN]))
    return " · ".join(f"{label}{code(value)}" for label, value in pairs if str(value))


def _text_of(outcome_cell: Cell | None) -> str:
    if outcome_cell is None:
        return ""
    if outcome_cell.broken:
        return f"**✗ {outcome_cell.broken}** {outcome_cell.outcome.value.replace('_', ' ')}"
    return _CELLS[outcome_cell.outcome]


def _worst(matrix: Matrix, column: int) -> Cell | None:
    """A data type's cells of all subjects as one."""
    cells = [candidate for _, line in matrix.lines if (candidate := line[column]) is not None]
    if not cells:
        return None
    first = min(cells, key=lambda subject_cell: subject_cell.outcome)
    outcome = first.outcome
    if outcome is Outcome.CHARACTERISED and any(subject_cell.outcome is Outcome.PASS for subject_cell in cells):
        outcome = Outcome.PASS
    return Cell(
        outcome,
        sum(subject_cell.clauses for subject_cell in cells),
        sum(subject_cell.broken for subject_cell in cells),
        first.anchor,
    )


def _matrix(view: Overview) -> Iterator[str]:
    """The operators that fail, a line each, and the others in words."""
    failing = sorted((matrix for matrix in view.matrices if matrix.broken), key=lambda matrix: -matrix.broken)
    if failing:
        types = sorted({name for matrix in failing for name in matrix.data_types}, key=type_order)
        rows = []
        for matrix in failing:
            cells = []
            for name in types:
                worst = _worst(matrix, matrix.data_types.index(name)) if name in matrix.data_types else None
                fine = worst is not None and worst.outcome in (Outcome.PASS, Outcome.CHARACTERISED)
                cells.append("✓ unlisted" if fine and name in matrix.unlisted else _text_of(worst))
            rows.append([short(matrix.operator), *cells])
        yield from table(["", *types], rows)
        yield ""
    others = [matrix for matrix in view.matrices if not matrix.broken]
    partly = [matrix for matrix in others if matrix.outcome not in (Outcome.PASS, Outcome.CHARACTERISED)]
    holding = len(others) - len(partly)
    if holding:
        noun = "other operator" if failing else "operator"
        yield f"{many(holding, noun)} {'holds' if holding == 1 else 'hold'}."
    if partly:
        names = ", ".join(code(short(matrix.operator)) for matrix in partly)
        yield f"No failure, but clauses that were waived, not supported or did not run: {names}."


def _ended(entry: Entry) -> str:
    """How a clause ended, and which clauses' faults explain that."""
    broken = [row for row in entry.rows if outcome_of(row).breaks_conformance]
    reasons = sorted({str(row.get("because") or "") for row in broken})
    outcome = entry.outcome.value.replace("_", " ")
    return outcome if "" in reasons or not reasons else f"{outcome}, because of {cell(', '.join(reasons))}"


def _broken(view: Overview) -> Iterator[str]:
    broken = [entry for entry in view.entries if entry.outcome.breaks_conformance]
    if not broken:
        return
    yield ""
    yield "### Broken clauses"
    yield ""
    rows = [
        [cell(entry.rule.id), _ended(entry), cell(entry.where), cell(entry.rule.quotation or entry.rule.text)]
        for entry in broken[:MOST_CLAUSES]
    ]
    yield from table(["clause", "outcome", "where", "what it says"], rows)
    if len(broken) > MOST_CLAUSES:
        yield ""
        yield f"{many(len(broken) - MOST_CLAUSES, 'further clause')} in `results.json`."


def _failure(failure: Failure) -> Iterator[str]:
    document = failure.document
    yield "<details>"
    # no Markdown is read in a summary: only what the suite itself words may stand there
    rule = failure.rule.id if failure.rule else "no single clause"
    headline = f"{rule}: {document['outcome']}, {short(document['operator'])} {document['data_type']}"
    yield f"<summary>{escape(headline)}</summary>"
    yield ""
    width = max((len(label) for label in document["details"]), default=0)
    details = [f"{label:<{width}}  {detail}" for label, detail in document["details"].items()]
    yield from block("\n".join([document["title"], *details]))
    if document["replay"]:
        yield ""
        yield from block(document["replay"], "sh")
    yield ""
    yield "</details>"


def _tests_text(tests: Sequence[str]) -> str:
    named = ", ".join(map(code, tests[:MOST_TESTS]))
    more = f" and {many(len(tests) - MOST_TESTS, 'more test')}" if len(tests) > MOST_TESTS else ""
    return f"by {named}{more}"


def _failures(view: Overview, tables: Tables) -> Iterator[str]:
    if not view.failures:
        return
    yield ""
    yield f"### {many(len(view.failures), 'failing case')}"
    yield ""
    groups = grouped(view.failures, tables)
    for group in groups[:MOST_FAILURES]:
        yield from _failure(group.head)
        if group.rest:
            yield ""
            seen = f"Seen on {code(group.seen)}, {_tests_text(group.tests)}."
            yield f"{many(len(group.rest), 'case')} {group.rest_is}. {seen}"
            yield ""
    left = sum(1 + len(group.rest) for group in groups[MOST_FAILURES:])
    if left:
        yield ""
        yield f"{many(left, 'further case')} in `results.html`."


def _waivers(results: Mapping[str, Any], tables: Tables) -> Iterator[str]:
    entries = accounts(results)
    if not entries:
        return
    yield ""
    yield "### Waivers"
    yield ""
    rows = [
        [
            cell(account.clause),
            cell(places(account.waived, tables) if account.waived else "nothing: remove it"),
            cell(account.reason),
            cell(account.issue),
            account.expires,
        ]
        for account in entries
    ]
    yield from table(["clause", "waives", "because", "issue", "until"], rows)


def _silence(view: Overview, known: Sequence[Known]) -> Iterator[str]:
    behaviours = behaviours_of_selection(view.results)
    if not behaviours:
        return
    yield ""
    alike = likenesses(view.results, known)
    beside = "; ".join(f"{likeness.alike} of {likeness.shared} as {code(likeness.name)}" for likeness in alike[:4])
    seen = many(len(behaviours), "behaviour")
    yield f"Where the pages are silent: {seen} observed{f' ({beside})' if beside else ''}."


def summary(results: Mapping[str, Any], tables: Tables, known: Sequence[Known] | None = None) -> str:
    """The results document as a Markdown summary.

    Args:
        results: a valid results document.
        tables: the tables to take the clauses' words from.
        known: the implementations to compare the observed behaviours with; ``None`` for those shipped.
    """
    view = overview(results, tables)
    name = results["device"]["name"] or results["backend"]
    words = with_waived(view.verdict.words, view.rows)
    lines = [f"## {_SIGNS[view.verdict]} {words}: {code(name)}", "", view.sentence, "", identity(results)]
    if view.selection:
        lines += ["", f"Only a selection was judged: {code(view.selection)}."]
    refusals = (results["device"]["details"] or {}).get("refusals")
    if refusals:
        lines += ["", f"Forbidden descriptions were refused {code(refusals)}."]
    lines += ["", *_matrix(view), *_broken(view), *_waivers(results, tables), *_failures(view, tables)]
    lines += _silence(view, known_implementations() if known is None else known)
    text = "\n".join(lines) + "\n"
    return text if len(text.encode()) <= _MOST_BYTES else "\n".join(lines[:5]) + "\n\nToo long to show here.\n"


def append_to_step(text: str) -> Path:
    """Append a text to the file that ``$GITHUB_STEP_SUMMARY`` names; gives its path.

    Raises:
        UsageError: it names none, or one that cannot be written.
    """
    named = os.environ.get(STEP_SUMMARY, "")
    try:
        with Path(named).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        cause = f"${STEP_SUMMARY} names {named!r}, which cannot be written: {reason}"
        raise UsageError(cause, f"unset {STEP_SUMMARY}") from None
    return Path(named)
