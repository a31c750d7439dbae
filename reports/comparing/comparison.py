"""Several runs side by side: where implementations differ from the pages, and from each other.

The document (``dmlcts-comparison/1``) is built from finished runs alone: their results and the accounts in their
failure files. A backend that could not run is a column that says why.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import load_failure, load_results
from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.reports.summaries.measured import error_text, side_by_side
from dmlcts.reports.summaries.provenance import Provenance, mixture, other_tables, refuse_mixture
from dmlcts.specs import DataType, UsageError
from dmlcts.specs.tables import Tables

SCHEMA = "dmlcts-comparison/1"
_SHOWN = ("title", "given", "input", "acceptable", "got", "property", "said")
_ABOUT_CASES = ("needs", "again", "after", "origin", UNEXAMINED)  # what is said of the case beside what it holds
_DEVICE = ("name", "adapter", "driver", "library", "version", "feature_level")
_ALIKE = ("feature_level", "profile", "seed", "strict", "selection")
_TYPES = [data_type.name for data_type in DataType]


@dataclass(frozen=True)
class Column:
    """One implementation.

    Attributes:
        label: what it is called in the comparison.
        results: its results document; ``None`` where it could not run.
        reason: why it could not; "" where it did.
        accounts: the text of each failure that the results hold no details of, by file name: older ones do not.
    """

    label: str
    results: Mapping[str, Any] | None = None
    reason: str = ""
    accounts: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def failures(self) -> Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]]:
        """The failing cases of each row, by operator, clause and data type."""
        cases: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for failure in self.results["failures"] if self.results else ():
            cases[failure["operator"], failure["clause"], failure["data_type"]].append(failure)
        return dict(cases)


def finished(label: str, folder: str | Path) -> Column:
    """The column of a finished run: of its folder, or of its results alone.

    Raises:
        DocumentError: there are no valid results, or a failure file that is needed is not valid.
    """
    results = load_results(folder)
    files = {failure["file"] for failure in results["failures"] if failure["file"] and not failure.get("details")}
    where = Path(folder) if Path(folder).is_dir() else Path(folder).parent
    accounts = {name: load_failure(where / "failures" / name)["text"] for name in sorted(files)}
    return Column(label, results, "", accounts)


def labelled(account: str) -> Iterator[tuple[str, str]]:
    """The labels of a failure's account, as a failure file holds it, with what stands behind them."""
    for line in account.splitlines()[1:]:
        match = re.fullmatch(r"  (\S+) +(\S.*)", line)
        if match is None:
            continue
        if match.group(1) in ("clause", "replay"):
            return  # what follows is about the clause
        yield match.group(1), match.group(2)


def example(title: str, details: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A failure in short, by label: the attributes as one text, the input, what is acceptable, the output.

    Args:
        title: the failure's title.
        details: label and text, as results hold them.
    """
    summary: dict[str, str] = {"title": title}
    attributes = []
    for label, detail in details:
        if label in _SHOWN:
            summary[label] = detail  # the input's value stands after its tensor
        elif label not in ("tensors", "output", "wrong", "element", "bytes", *_ABOUT_CASES):
            attributes.append(f"{label} = {detail}")
    summary["given"] = ", ".join(attributes)
    return {name: summary[name] for name in _SHOWN if summary.get(name)}


def _cell(column: Column, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a column shows in one row; ``None`` where it was not required, or did not run at all."""
    if row is None or column.results is None:
        return None
    shown: dict[str, Any] = {"outcome": row["outcome"], "cases": row["cases"], "failures": row["failures"]}
    for failure in column.failures.get((row["operator"], row["id"], row["data_type"]), ())[:1]:
        details = failure.get("details") or dict(labelled(column.accounts.get(failure["file"], "")))
        shown["example"] = example(failure["title"], details.items())
        shown["file"] = failure["file"]
    return shown


def _is_clean(cell: Mapping[str, Any] | None) -> bool:
    return cell is None or cell["outcome"] in (Outcome.PASS.value, Outcome.CHARACTERISED.value)


def _departures(columns: Sequence[Column], tables: Tables) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str, str], list[Mapping[str, Any] | None]] = {}
    for number, column in enumerate(columns):
        for row in column.results["clauses"] if column.results else ():
            key = (row["operator"], row["id"], row["data_type"])
            rows.setdefault(key, [None] * len(columns))[number] = row
    order = {clause.id: number for number, clause in enumerate(tables.clauses)}
    departures = []
    for key in sorted(rows, key=lambda key: (key[0], order.get(key[1], 0), _TYPES.index(key[2]))):
        cells = [_cell(column, row) for column, row in zip(columns, rows[key], strict=True)]
        if not all(map(_is_clean, cells)):
            operator, clause, data_type = key
            known = tables.clause(clause)
            departures.append(
                {
                    "operator": operator,
                    "clause": clause,
                    "data_type": data_type,
                    "obligation": known.obligation,
                    "text": known.text,
                    "cells": cells,
                }
            )
    return departures


def _matrix(columns: Sequence[Column], tables: Tables) -> list[dict[str, Any]]:
    """How many rows of each operator and subject ended how, a cell a column."""
    counts: dict[tuple[str, str], list[Counter[str]]] = {}
    order: dict[str, int] = {}
    for clause in tables.clauses:
        order.setdefault(clause.subject, len(order))
    for number, column in enumerate(columns):
        for row in column.results["clauses"] if column.results else ():
            key = (row["operator"], tables.clause(row["id"]).subject)
            counts.setdefault(key, [Counter() for _ in columns])[number][row["outcome"]] += 1
    return [
        {"operator": operator, "subject": subject, "cells": [dict(sorted(cell.items())) or None for cell in cells]}
        for (operator, subject), cells in sorted(counts.items(), key=lambda item: (item[0][0], order[item[0][1]]))
    ]


def _behaviours(columns: Sequence[Column]) -> list[dict[str, Any]]:
    seen: dict[tuple[str, str, str], list[str | None]] = {}
    for number, column in enumerate(columns):
        for behaviour in column.results["behaviours"] if column.results else ():
            key = (behaviour["operator"], behaviour["clause"], behaviour["data_type"])
            seen.setdefault(key, [None] * len(columns))[number] = behaviour["behaviour"]
    return [
        {
            "operator": operator,
            "clause": clause,
            "data_type": data_type,
            "cells": cells,
            "differ": len({cell for cell in cells if cell is not None}) > 1,
        }
        for (operator, clause, data_type), cells in sorted(
            seen.items(), key=lambda item: (item[0][0], item[0][1], _TYPES.index(item[0][2]))
        )
    ]


def _accuracy(columns: Sequence[Column]) -> dict[str, Any]:
    """The largest errors of each operator and signature, a cell a column; nothing where nothing was measured."""

    def cell(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if row is None:
            return None
        worst = {name: row[name] and row[name]["error"] for name in ("ulp", "absolute")}
        return {**worst, "lost": row["apart"].get("lost", 0)}

    measurements = side_by_side([column.results for column in columns])
    rows = [
        {"operator": operator, "types": types, "cells": list(map(cell, rows))} for operator, types, rows in measurements
    ]
    return {"accuracy": rows} if rows else {}


def error_cell(cell: Mapping[str, Any] | None) -> str:
    """A cell of the largest errors: "0.5 (1.2e-07)", in units of the last place and absolute."""
    if cell is None:
        return ""
    lost = f", {cell['lost']:,} lost" if cell["lost"] else ""
    return f"{error_text(cell['ulp'])} ({error_text(cell['absolute'])}){lost}"


def _mapping(details: object) -> list[dict[str, str]]:
    """What a backend says it mapped to what; nothing where its details, which are free, say something else."""
    mapping = details.get("mapping") if isinstance(details, Mapping) else None
    rows = [row for row in mapping if isinstance(row, Mapping)] if isinstance(mapping, list) else []
    return [{name: str(row.get(name) or "") for name in ("what", "to", "by", "note")} for row in rows]


def _described(column: Column) -> dict[str, Any]:
    described: dict[str, Any] = {"label": column.label, "available": column.results is not None}
    if column.results is None:
        return described | {"reason": column.reason}
    results = column.results
    outcomes = Counter(row["outcome"] for row in results["clauses"])
    return described | {
        "reason": "",
        "verdict": results["verdict"],
        "backend": results["backend"],
        "device": {name: str(results["device"].get(name) or "") for name in _DEVICE},
        "mapping": _mapping(results["device"].get("details")),
        "outcomes": {outcome.value: outcomes[outcome.value] for outcome in Outcome if outcomes[outcome.value]},
        "run": {name: results[name] for name in _ALIKE},
        "suite": results["suite"]["version"],
        "made_with": Provenance.of(column.label, results).to_json(),
    }


def provenances(described: Iterable[Mapping[str, Any]]) -> list[Provenance]:
    """What each column of a comparison was made with; nothing is known of one that did not run."""
    return [Provenance.read(column["label"], column.get("made_with", {})) for column in described]


def made_with_cells(described: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The tables and the suite of each column, with a mark where its tables are not the first column's."""
    made = provenances(described)
    return [
        (f"{provenance.short_tables} (≠ {mark})" if mark else provenance.short_tables, provenance.suite)
        for provenance, mark in zip(made, other_tables(made), strict=True)
    ]


def _uneven(described: Sequence[Mapping[str, Any]]) -> list[str]:
    """What keeps the runs from being compared row by row, a sentence each."""
    ran = [column for column in described if column["available"]]
    mixed = mixture(provenances(ran))
    sentences = [mixed] if mixed else []
    for name in _ALIKE:
        values: dict[str, list[str]] = defaultdict(list)
        for column in ran:
            values[str(column["run"][name])].append(column["label"])
        if len(values) > 1:
            text = "; ".join(f"{', '.join(labels)}: {value}" for value, labels in values.items())
            sentences.append(f"the runs differ in {name.replace('_', ' ')} ({text})")
    return sentences


def compare(columns: Sequence[Column], tables: Tables, mixed: bool = False) -> dict[str, Any]:
    """The comparison of ``columns`` as one JSON value (``dmlcts-comparison/1``).

    Args:
        columns: at least one, with labels that differ.
        tables: the tables that the runs rest on.
        mixed: whether runs of different tables may stand side by side; then each of them is marked.

    Raises:
        MixedTablesError: the runs were made with different tables, and ``mixed`` is false.
        UsageError: two columns have one label, or a run judged a clause that ``tables`` does not have.
    """
    labels = [column.label for column in columns]
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        raise UsageError(f"{twice[0]} is compared with itself", "name each backend with its options, or folder, once")
    if not mixed:
        refuse_mixture([Provenance.of(run.label, run.results) for run in columns if run.results is not None])
    described = [_described(column) for column in columns]
    return {
        "schema": SCHEMA,
        "columns": described,
        "uneven": _uneven(described),
        "matrix": _matrix(columns, tables),
        "departures": _departures(columns, tables),
        "behaviours": _behaviours(columns),
        **_accuracy(columns),
    }


# Words and groups that every view of the document shares.


def short(operator: str) -> str:
    """An operator's name as people write it."""
    return operator.removeprefix("ELEMENT_WISE_")


def matrix_cell(cell: Mapping[str, int] | None, available: bool) -> tuple[str, str]:
    """A cell of the matrix: its kind ("pass", "fail", "partly", "none", "absent") and its words.

    The words and their sign show the kind as well, never by colour alone.
    """
    if not available:
        return "absent", ""
    if not cell:
        return "absent", "not required"
    total = sum(cell.values())
    failed = sum(times for name, times in cell.items() if Outcome(name).breaks_conformance)
    missing = sum(times for name, times in cell.items() if Outcome(name).did_not_run)
    if failed:
        return "fail", f"✗ {failed} of {total} fail" + (f", {missing} not supported" if missing else "")
    if missing == total:
        return "none", "○ not supported"
    if missing:
        return "partly", f"✓ {total - missing}, ○ {missing} not supported"
    return "pass", f"✓ {total}"


def departure_cell(cell: Mapping[str, Any] | None, available: bool) -> tuple[str, str]:
    """A cell of a departure: its kind and its words, as in :func:`matrix_cell`."""
    if not available or cell is None:
        return "absent", "" if not available else "not required"
    outcome = Outcome(cell["outcome"])
    if outcome.breaks_conformance:
        return "fail", f"✗ {outcome.value.replace('_', ' ')}"
    if outcome.did_not_run:
        ran = f" ({cell['cases']} cases ran)" if cell["cases"] else ""
        return "none", f"○ {outcome.value.replace('_', ' ')}{ran}"
    return "pass", "✓" if outcome is Outcome.PASS else f"✓ {outcome.value}"


def example_text(fields: Mapping[str, str]) -> str:
    """An example in one line: "Min = 1.0, Max = 0.0: input 0.5 gives 0.0; acceptable 1.0"."""
    if "input" in fields and "got" in fields:
        text = f"input {fields['input'].split(' at index')[0]} gives {fields['got']}"
    else:
        text = fields.get("title", "") + (f" ({fields['said']})" if "said" in fields else "")
    if "acceptable" in fields:
        text += f"; acceptable {fields['acceptable']}"
    elif "property" in fields:
        text += f"; {fields['property']}"
    attributes = ", ".join(part for part in fields.get("given", "").split(", ") if not part.endswith("= none"))
    return f"{attributes}: {text}" if attributes else text


def grouped_departures(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Departures in which somebody fails; element types that all columns treat alike share one entry.

    Each has the members of a departure, ``data_types`` in place of ``data_type``, and the cells of the first type.
    """
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in document["departures"]:
        outcomes = tuple(None if cell is None else cell["outcome"] for cell in row["cells"])
        if not any(outcome is not None and Outcome(outcome).breaks_conformance for outcome in outcomes):
            continue
        key = (row["operator"], row["clause"], outcomes)
        shared = {name: value for name, value in row.items() if name != "data_type"}
        groups.setdefault(key, shared | {"data_types": []})["data_types"].append(row["data_type"])
    return list(groups.values())


def worst_departures(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The departures of :func:`grouped_departures`, the worst first: by outcome, then by how many rows fail so."""

    def badness(row: Mapping[str, Any]) -> tuple[int, int]:
        broken = [
            outcome
            for cell in row["cells"]
            if cell is not None and (outcome := Outcome(cell["outcome"])).breaks_conformance
        ]
        return min(outcome.rank for outcome in broken), -len(broken) * len(row["data_types"])

    return sorted(grouped_departures(document), key=badness)


@dataclass(frozen=True)
class OperatorRow:
    """What the columns of a comparison made of an operator, all clauses and types together.

    Attributes:
        operator: the ``OperatorDesc`` name.
        kinds: "fail", "none" (something is not supported), "pass" or "absent", for each column.
        words: the cells in words: "✗ 12", "○ 3", "✓".
        failing: how many clause rows fail, in all columns together.
    """

    operator: str
    kinds: tuple[str, ...]
    words: tuple[str, ...]
    failing: int

    @property
    def differs(self) -> bool:
        """Whether columns that judged the operator differ in kind."""
        return len(set(self.kinds) - {"absent"}) > 1


def operator_rows(document: Mapping[str, Any], which: Sequence[int]) -> list[OperatorRow]:
    """The operators of a comparison, those with most failing rows first.

    Args:
        document: a comparison.
        which: the numbers of its columns to look at.
    """
    counts: dict[str, list[Counter[str]]] = {}
    for row in document["matrix"]:
        cells = counts.setdefault(row["operator"], [Counter() for _ in which])
        for place, number in enumerate(which):
            cells[place].update(row["cells"][number] or {})
    rows = []
    for operator, cells in counts.items():
        kinds, words, failing = zip(*map(_operator_cell, cells), strict=True)
        rows.append(OperatorRow(operator, kinds, words, sum(failing)))
    return sorted(rows, key=lambda row: (-row.failing, row.operator))


def _operator_cell(counts: Mapping[str, int]) -> tuple[str, str, int]:
    """The kind of a cell, its words, and how many rows fail."""
    failing = sum(count for outcome, count in counts.items() if Outcome(outcome).breaks_conformance)
    idle = sum(count for outcome, count in counts.items() if Outcome(outcome).did_not_run)
    if failing:
        return "fail", f"✗ {failing}", failing
    if idle:
        return "none", f"○ {idle}", 0
    return ("pass", "✓", 0) if counts else ("absent", "", 0)


def grouped_behaviours(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Behaviours; element types that all columns treat alike share one entry, with ``data_types``."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in document["behaviours"]:
        key = (row["operator"], row["clause"], tuple(row["cells"]))
        shared = {name: value for name, value in row.items() if name != "data_type"}
        groups.setdefault(key, shared | {"data_types": []})["data_types"].append(row["data_type"])
    return list(groups.values())
