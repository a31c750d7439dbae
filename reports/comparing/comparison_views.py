"""A comparison as text for a terminal, as Markdown, and as one self-contained page."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.reports.comparing.comparison import (
    departure_cell,
    error_cell,
    example_text,
    grouped_behaviours,
    grouped_departures,
    made_with_cells,
    matrix_cell,
    operator_rows,
    short,
    worst_departures,
)
from dmlcts.reports.documents.wording import type_order
from dmlcts.reports.summaries.characters import escaped, one_line
from dmlcts.reports.views.html import environment, inlined, template
from dmlcts.specs.number_text import many

_FEW_DEPARTURES = 40
"""So many departures are shown unfolded."""

OPERATORS_SHOWN = 30
DEPARTURES_SHOWN = 10
EXAMPLE_SHOWN = 140
_STYLES = {"pass": "", "fail": "bold", "partly": "", "none": "dim", "absent": "dim"}


def _version(column: Mapping[str, Any]) -> str:
    device = column["device"]
    name = " ".join(part for part in (device["library"], device["version"]) if part) or device["name"]
    return f"{name}, {device['adapter']}" if device["adapter"] else str(name)


def _ran(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [column for column in document["columns"] if column["available"]]


def _table(title: str, *headings: str) -> Table:
    made = Table(title=title, title_justify="left")
    for heading in headings:
        made.add_column(Text(heading), overflow="fold")
    return made


def print_comparison(document: Mapping[str, Any], console: Console, *, brief: bool = False) -> None:
    """Print the matrix, every departure with an example of each column, and what is open side by side.

    Args:
        document: a comparison.
        console: where to print.
        brief: only operators on which the columns differ and the worst departures; the rest is counted.
    """
    columns = document["columns"]
    for column, (tables, suite) in zip(columns, made_with_cells(columns), strict=True):
        if column["available"]:
            verdict = column["verdict"].replace("_", " ")
            console.print(Text(one_line(f"{column['label']}: {verdict} ({_version(column)})")))
            console.print(Text(one_line(f"  made with tables {tables}, suite {suite}")))
        else:
            console.print(Text(one_line(f"{column['label']}: unavailable: {column['reason']}")))
    for text in document["uneven"]:
        console.print(Text(one_line(f"note: {text}"), style="bold"))
    ran = _ran(document)
    if not ran:
        return
    which = [number for number, column in enumerate(columns) if column["available"]]
    if brief:
        _print_brief(document, which, console)
        return
    labels = [column["label"] for column in ran]
    table = _table("Clause rows (a clause on one element type)", "operator", "subject", *labels)
    for row in document["matrix"]:
        cells = [matrix_cell(row["cells"][number], True) for number in which]
        table.add_row(
            short(row["operator"]), row["subject"], *(Text(content, _STYLES[kind]) for kind, content in cells)
        )
    console.print(table)
    for row in grouped_departures(document):
        console.print()
        types = ", ".join(row["data_types"])
        named = f"{short(row['operator'])} {row['clause']} ({row['obligation']}) on {types}"
        console.print(Text(one_line(named), style="bold"))
        console.print(Text(one_line(f"  {row['text']}")))
        for number in which:
            cell = row["cells"][number]
            content = departure_cell(cell, True)[1]
            shown = f": {example_text(cell['example'])}" if cell and "example" in cell else ""
            console.print(Text(one_line(f"  {columns[number]['label']}: {content}{shown}")))
    title = "What the pages leave open, where the implementations differ"
    table = _table(title, "clause", "types", *labels)
    for row in grouped_behaviours(document):
        if row["differ"]:
            seen = [Text(row["cells"][number] or "") for number in which]
            table.add_row(row["clause"], ", ".join(row["data_types"]), *seen)
    if table.row_count:
        console.print()
        console.print(table)
    if document.get("accuracy"):
        table = _table("Largest errors in ULP (absolute)", "operator", "types", *labels)
        for row in document["accuracy"]:
            errors = [Text(error_cell(row["cells"][number])) for number in which]
            table.add_row(short(row["operator"]), row["types"], *errors)
        console.print()
        console.print(table)
    for column in ran:
        if column["mapping"]:
            title = f"{column['label']}: what was mapped to what"
            table = _table(title, "what", "mapped to", "seen in the results", "note")
            for mapped in column["mapping"]:
                table.add_row(*(Text(mapped[name]) for name in ("what", "to", "by", "note")))
            console.print()
            console.print(table)


def _shortened(text: str) -> str:
    """A text on one line, cut where it is longer than two lines of a terminal."""
    flat = " ".join(text.split())
    return flat if len(flat) <= EXAMPLE_SHOWN else f"{flat[: EXAMPLE_SHOWN - 1]}…"


def _print_brief(document: Mapping[str, Any], which: Sequence[int], console: Console) -> None:
    """Print the operators on which the columns differ, the worst first, the worst departures, and how much is left.

    Args:
        document: a comparison.
        which: the numbers of the columns that ran.
        console: where to print.
    """
    labels = [document["columns"][number]["label"] for number in which]
    differing = [row for row in operator_rows(document, which) if row.differs]
    alike = len(operator_rows(document, which)) - len(differing)
    if differing:
        console.print()
        console.print(Text("Operators on which they differ: ✗ failing clause rows, ○ not supported"))
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        for heading in ("", *labels):
            table.add_column(Text(one_line(heading)), overflow="fold")
        for row in differing[:OPERATORS_SHOWN]:
            table.add_row(short(row.operator), *map(Text, row.words))
        console.print(table)
    left = len(differing) - OPERATORS_SHOWN
    if left > 0:
        console.print(Text(f"… and {many(left, 'more operator')}"))
    if alike:
        console.print(Text(f"All treat {many(alike, 'operator')} alike."))
    departures = worst_departures(document)
    for departure in departures[:DEPARTURES_SHOWN]:
        console.print()
        types = ", ".join(departure["data_types"])
        named = f"{short(departure['operator'])} {departure['clause']} ({departure['obligation']}) on {types}"
        console.print(Text(one_line(named), style="bold"))
        for number in which:
            cell = departure["cells"][number]
            kind, content = departure_cell(cell, True)
            if kind == "fail":
                shown = f": {_shortened(example_text(cell['example']))}" if "example" in cell else ""
                console.print(Text(one_line(f"  {document['columns'][number]['label']}: {content}{shown}")))
    behaviours = sum(row["differ"] for row in grouped_behaviours(document))
    more = len(departures) - DEPARTURES_SHOWN
    counts = [many(more, "more departure")] if more > 0 else []
    counts += (
        [f"{many(behaviours, 'open behaviour')} that differ{'s' if behaviours == 1 else ''}"] if behaviours else []
    )
    counts += [many(len(document["accuracy"]), "largest error")] if document.get("accuracy") else []
    console.print()
    console.print(Text(f"-v prints {', '.join([*counts, 'the count of rows of each subject'])}."))


def _row(*cells: str) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def _head(*cells: str) -> list[str]:
    return [_row(*cells), f"|{'---|' * len(cells)}"]


def markdown(document: Mapping[str, Any]) -> str:
    """The comparison as Markdown: verdicts, matrix, departures with examples, open behaviours, what was mapped."""
    columns = document["columns"]
    lines = _head("implementation", "version", "verdict", "tables", "suite")
    for column, made in zip(columns, made_with_cells(columns), strict=True):
        if column["available"]:
            verdict = column["verdict"].replace("_", " ")
            lines.append(_row(column["label"], _version(column), verdict, *made))
        else:
            lines.append(_row(column["label"], "", f"unavailable: {column['reason']}", "", ""))
    lines += ["", *(f"- Note: {escaped(text)}." for text in document["uneven"])]
    lines += [""] if document["uneven"] else []
    ran = _ran(document)
    which = [number for number, column in enumerate(columns) if column["available"]]
    labels = [column["label"] for column in ran]
    if not ran:
        return "\n".join(lines) + "\n"
    lines += ["Clause rows, a clause on one element type each: ✓ right, ✗ wrong, ○ not supported.", ""]
    lines += _head("operator", "about", *labels)
    for row in document["matrix"]:
        contents = [matrix_cell(row["cells"][number], True)[1] for number in which]
        lines.append(_row(short(row["operator"]), row["subject"], *contents))
    departures = grouped_departures(document)
    if departures:
        lines += ["", "Where they differ from the pages, with one example each:", ""]
        lines += _head("clause", "types", "implementation", "example")
        for row in departures:
            for number in which:
                cell = row["cells"][number]
                if cell and departure_cell(cell, True)[0] == "fail":
                    shown = example_text(cell["example"]) if "example" in cell else cell["outcome"]
                    lines.append(_row(row["clause"], ", ".join(row["data_types"]), columns[number]["label"], shown))
    behaviours = [row for row in grouped_behaviours(document) if row["differ"]]
    if behaviours:
        lines += ["", "Where the pages leave it open, and they differ from each other:", ""]
        lines += _head("clause", "types", *labels)
        for row in behaviours:
            contents = [row["cells"][number] or "" for number in which]
            lines.append(_row(row["clause"], ", ".join(row["data_types"]), *contents))
    if document.get("accuracy"):
        lines += ["", "The largest errors, in units of the last place (absolute):", ""]
        lines += _head("operator", "types", *labels)
        for row in document["accuracy"]:
            contents = [error_cell(row["cells"][number]) for number in which]
            lines.append(_row(short(row["operator"]), row["types"], *contents))
    if any(column["mapping"] for column in ran):
        lines += [
            "",
            "What was mapped to what; where it is the backend that is seen, ✓ says nothing of the runtime:",
            "",
        ]
        lines += _head("implementation", "what", "mapped to", "seen", "note")
        for column in ran:
            for mapping in column["mapping"]:
                lines.append(
                    _row(column["label"], mapping["what"], mapping["to"] or "nothing", mapping["by"], mapping["note"])
                )
    return "\n".join(lines) + "\n"


def html(document: Mapping[str, Any]) -> str:
    """The comparison as one self-contained page in the style of results.html, its signs readable without colour."""
    departures, behaviours = grouped_departures(document), grouped_behaviours(document)
    accuracy = document.get("accuracy", ())
    named = [*departures, *behaviours]
    rendered = (
        environment()
        .get_template("comparison.html")
        .render(
            **inlined(template("report.css"), template("page.js")),
            columns=document["columns"],
            made_with=made_with_cells(document["columns"]),
            uneven=document["uneven"],
            matrix=document["matrix"],
            labels=[column["label"] for column in document["columns"]],
            departures=departures,
            behaviours=behaviours,
            accuracy=accuracy,
            operators=sorted({row["operator"] for row in [*named, *document["matrix"], *accuracy]}),
            types=sorted({name for row in named for name in row["data_types"]}, key=type_order),
            few=_FEW_DEPARTURES,
            matrix_cell=matrix_cell,
            departure_cell=departure_cell,
            example_text=example_text,
            version=_version,
            error_cell=error_cell,
            made_by=importlib.metadata.version("dmlcts"),
        )
    )
    return rendered.lstrip() + "\n"
