"""What was measured of errors, as tables: of one implementation in full, of several the largest errors side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.reports.documents.wording import short
from dmlcts.reports.summaries.characters import one_line
from dmlcts.reports.summaries.measured import (
    bound_near_worst,
    bounded_error,
    error_of_bound,
    error_text,
    operands,
    percent,
    remark,
    result,
    share_of_bound,
    share_within,
    side_by_side,
    ulp_text,
)
from dmlcts.reports.summaries.provenance import Provenance, mixture, other_tables
from dmlcts.reports.views.markdown import cell, code, table

Column = tuple[str, Mapping[str, Any] | None]
"""A label, and a results document; ``None`` where there is none."""

EXPLAINED_BRIEFLY = (
    "First the largest error as a share of the bound that is judged there, in units of the last place at the real "
    "result, with operands and result; any: any value is permitted. lost: NaN or infinity for a real result within "
    "the range. Subnormals that may be flushed, and what has no finite real result, are not among them."
)
HEADINGS = ("operator", "types", "ULP", "at", "got", "judged", "strict", "absolute", "≤ ½ ULP", "results")
EXPLAINED = (
    "ULP: the largest error in units of the last place at the real result, with its operands and what came out; where "
    "any value is permitted there, also the largest where a bound is judged. lost: NaN or infinity for a real result "
    "within the range. judged, strict: how far those bounds reach there (any: no bound). absolute: the largest "
    "absolute error. ≤ ½ ULP: the share of results that near. Subnormals that may be flushed, and what has no finite "
    "real result, are not among them."
)


def cells(results: Mapping[str, Any]) -> Iterator[list[str]]:
    """The rows of one run's table, as :data:`HEADINGS` names them."""
    for operator, types, (row,) in side_by_side([results]):
        assert row is not None  # noqa: S101 - of one column every row is there
        worst = row["ulp"]
        bounds = [bound_near_worst(row, strict=strict) for strict in (False, True)] if row["range"] else []
        reach = ["any" if bound is None else error_text(bound) for bound in bounds] or ["", ""]
        lost, bounded = row["apart"].get("lost", 0), bounded_error(row)
        largest = error_text(worst["error"]) if worst else "none"
        yield [
            short(operator),
            types,
            largest
            + (f", {error_text(bounded)} where bounded" if bounded is not None else "")
            + (f", and {lost:,} lost" if lost else ""),
            operands(row, worst) if worst else "",
            result(row, worst) if worst else "",
            *reach,
            error_text(row["absolute"]["error"]) if row["absolute"] else "none",
            percent(share_within(row, 0.5)),
            f"{row['elements']:,}",
        ]


def remarks(results: Mapping[str, Any]) -> Iterator[str]:
    """What a wide bound lets pass, a sentence an operator and signature: results that are right and have no digit."""
    for operator, types, (row,) in side_by_side([results]):
        sentence = "" if row is None else remark(row)
        if sentence:
            yield f"{short(operator)} on {types}: {sentence}"


def several(columns: Sequence[Column]) -> Iterator[list[str]]:
    """The rows of a comparison: operator, types, and the largest error of each implementation, in ULP and absolute."""
    for operator, types, rows in side_by_side([results for _, results in columns]):
        errors = []
        for row in rows:
            if row is None:
                errors.append("")
                continue
            absolute = f" ({error_text(row['absolute']['error'])})" if row["absolute"] else ""
            lost = f", {row['apart']['lost']:,} lost" if row["apart"].get("lost") else ""
            errors.append((error_text(row["ulp"]["error"]) if row["ulp"] else "none") + absolute + lost)
        yield [short(operator), types, *errors]


def made_with(columns: Sequence[Column]) -> Iterator[str]:
    """What each column was made with, a line each; before them a line where their tables differ."""
    made = [Provenance.of(label, results) for label, results in columns if results]
    if mixture(made):
        yield f"Note: {mixture(made)}"
    for provenance, mark in zip(made, other_tables(made), strict=True):
        yield f"{provenance.label}: {provenance}" + (f" (≠ {mark})" if mark else "")


def print_accuracy(columns: Sequence[Column], console: Console) -> None:
    """Print what was measured: of one run in full, of several side by side."""
    for line in made_with(columns):
        console.print(Text(one_line(line)), soft_wrap=True)
    if len(columns) > 1:
        made = Table(title=_SEVERAL, title_justify="left")
        for heading in ("operator", "types", *(label for label, _ in columns)):
            made.add_column(Text(one_line(heading)), overflow="fold")
        for several_cells in several(columns):
            made.add_row(*(Text(one_line(content)) for content in several_cells))
        console.print(made)
        return
    label, results = columns[0]
    console.print(Text(one_line(f"Largest errors of {label}"), style="bold"))
    for line in _entries(results or {}, max(40, console.width)):
        console.print(Text(line), soft_wrap=True)
    console.print(Text(EXPLAINED_BRIEFLY))
    for sentence in remarks(results or {}):
        console.print(Text(one_line(sentence)))


def _entries(results: Mapping[str, Any], width: int) -> Iterator[str]:
    """The lines of each operator and signature, the largest share of the bound first; none is longer than ``width``."""
    rows = [(operator, types, row) for operator, types, (row,) in side_by_side([results]) if row is not None]
    rows.sort(key=lambda entry: -share_of_bound(entry[2]))
    for operator, types, row in rows:
        share = share_of_bound(row)
        first = f"{error_of_bound(row):28}  {short(operator)} on {types}"
        lost = row["apart"].get("lost", 0)
        strict = bound_near_worst(row, strict=True) if row["range"] else None
        absolute = error_text(row["absolute"]["error"]) if row["absolute"] else "none"
        facts = [f"{lost:,} lost"] if lost else []
        facts += [f"strict bound {ulp_text(strict)}"] if strict is not None else []
        facts += [f"absolute {absolute}", f"{percent(share_within(row, 0.5))} of {row['elements']:,} within ½ ULP"]
        lines = [first, "; ".join(facts)]
        if row["ulp"]:
            lines.insert(1, f"{operands(row, row['ulp'])} gives {result(row, row['ulp'])}")
        start = f"{share:5.2f}  " if share >= 0 else "  any  "
        for number, line in enumerate(lines):
            yield from textwrap.wrap(
                one_line(line),
                width,
                initial_indent=" " * 7 if number else start,
                subsequent_indent=" " * 9,
                drop_whitespace=True,
            )


_SEVERAL = "Largest errors in ULP (absolute)"


def markdown(columns: Sequence[Column]) -> str:
    """The same as Markdown."""
    made = [f"- {code(line)}" for line in made_with(columns)]
    if len(columns) == 1:
        label, results = columns[0]
        lines = [f"Largest errors of {code(label)}.", "", *made, ""]
        lines += table(HEADINGS, ([cell(text) for text in row] for row in cells(results or {})))
        lines += ["", EXPLAINED]
        remark_lines = [f"- {cell(sentence)}" for sentence in remarks(results or {})]
        lines += ["", *remark_lines] if remark_lines else []
    else:
        lines = [f"{_SEVERAL}.", "", *made, ""]
        headings = ["operator", "types", *(cell(label) for label, _ in columns)]
        lines += table(headings, ([cell(text) for text in row] for row in several(columns)))
    return "\n".join(lines) + "\n"
