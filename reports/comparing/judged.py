"""The table of judged implementations, made from the results that are checked in as examples.

``python -m dmlcts.reports.comparing.judged reports/examples/README.md`` writes it between its marks in a Markdown file.
``--check`` changes nothing and exits 1 if the table is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dmlcts.reports.comparing.baseline import departures_of
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import load_results
from dmlcts.reports.documents.writing import write_text
from dmlcts.reports.summaries.provenance import SHOWN, Provenance, tables_digest
from dmlcts.specs import UsageError
from dmlcts.specs.number_text import many

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_UNABLE = (Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value)


def marks(name: str) -> tuple[str, str]:
    """The two lines that a generated section called ``name`` stands between."""
    return f"<!-- generated: {name} -->", f"<!-- end: {name} -->"


def replaced(text: str, name: str, section: str) -> str:
    """``text`` with the generated section called ``name`` replaced.

    Raises:
        UsageError: the section's two marks do not stand in the text exactly once, in their order.
    """
    begin, end = marks(name)
    head, opening_mark, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (opening_mark and closed) or begin in rest or end in head + tail:
        raise UsageError(f"the marks of {name!r} do not stand there once", f"write {begin} and {end}, a line each")
    return f"{head}{begin}\n{section.strip()}\n{end}{tail}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _departures(results: Mapping[str, Any]) -> str:
    """What departs, by operator: ``ROUND: 2 clauses``; "none" where nothing does."""
    clauses = {(row.operator, row.clause) for row in departures_of(results) if row.outcome not in _UNABLE}
    counted = Counter(operator for operator, _ in clauses)
    parts = [
        f"{operator.removeprefix('ELEMENT_WISE_')}: {many(count, 'clause')}"
        for operator, count in sorted(counted.items())
    ]
    return ", ".join(parts) or "none"


def table(documents: Iterable[Mapping[str, Any]]) -> str:
    """A Markdown table with one line for each results document, sorted by backend and device.

    A line names the digest of its tables and the suite's commit. It is marked where a newer run used other tables.
    Sentences below the table count the runs of older tables and of a modified suite.
    """
    lines = [
        "| backend | device | driver, library | level | profile | operators | verdict | rows that hold | departures "
        "| tables | suite |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    every = list(documents)
    newest = (
        max((str(document["timings"]["finished"]), tables_digest(document["specs"])) for document in every)[1]
        if every
        else ""
    )
    rows = []
    for results in every:
        made = Provenance.of("", results)
        device = results["device"]
        named = device["adapter"] or device["name"]
        software = " · ".join(part for part in (device["driver"], device["library"], device["version"]) if part)
        held = sum(row["outcome"] in ("pass", "characterised") for row in results["clauses"])
        operators = {row["operator"] for row in results["clauses"]}
        cells = (
            f"`{results['backend']}`",
            named,
            software,
            results["feature_level"],
            results["profile"],
            str(len(operators)),
            results["verdict"].replace("_", " "),
            f"{held} of {len(results['clauses'])}",
            _departures(results),
            made.short_tables + ("" if made.tables == newest else " (≠ the newest)"),
            made.suite,
        )
        rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    text = "\n".join([*lines, *sorted(rows)])
    older = sum(tables_digest(document["specs"]) != newest for document in every)
    if older:
        used = f"{older} of {many(len(every), 'run')} used other tables than the newest run ({newest[:SHOWN]})"
        text += f"\n\n{used}; ≠ marks them. Compare rows only where the tables are the same."
    modified = sum(bool(document["suite"]["modified"]) for document in every)
    if modified:
        text += f"\n\n{modified} of {many(len(every), 'run')} used a modified suite, so nobody can repeat them exactly."
    return text


def examples(folder: Path = EXAMPLES) -> list[dict[str, Any]]:
    """The results files checked in under ``folder``, in the order of their names, those of all operators last.

    Raises:
        DocumentError: one of them is no valid results document.
    """
    paths = [*sorted(folder.glob("*.results.json")), *sorted(folder.glob("all_operators/*.results.json.gz"))]
    return [load_results(path) for path in paths]


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m dmlcts.reports.comparing.judged", description=__doc__)
    parser.add_argument("path", type=Path, help="the Markdown file, with the table's marks")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 where it is out of date")
    options = parser.parse_args(arguments)
    text = options.path.read_text(encoding="utf-8")
    wanted = replaced(text, "judged", table(examples()))
    if options.check:
        return int(wanted != text)
    write_text(options.path, wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
