"""What a migration amounts to, arranged for a reader: shared by the terminal, Markdown and the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.comparing.comparison import departure_cell, example_text
from dmlcts.reports.documents.wording import is_own, short
from dmlcts.reports.migrating.migration import (
    ADDED,
    BOTH,
    DEPARTS,
    GONE,
    MENDED,
    NEITHER,
    SPECIFICATION,
    STATES,
    STAYS,
    UNJUDGED,
    totals,
)
from dmlcts.reports.migrating.specification import DIFFERS, RELATIONS, SETTLES
from dmlcts.reports.summaries.measured import NOTICED
from dmlcts.specs.number_text import many

_LONG = 40
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """What one of both does in a row.

    Attributes:
        kind: "pass", "fail", "none" or "absent", as cells of a comparison.
        words: how it ended, with a sign.
        example: a failing case in one line; "" for none.
        because: the clause whose fault explains that; "" for its own.
        sentences: what the runtime's own documentation says.
    """

    kind: str
    words: str
    example: str
    because: str
    sentences: tuple[Row, ...]


def labels(document: Row) -> tuple[str, str]:
    """What the first and the second are called."""
    first, second = document["columns"]
    return first["label"], second["label"]


def sides(row: Row) -> tuple[Side, Side]:
    """What each of both does in a row of an operator's clauses."""
    first, second = (
        Side(
            *departure_cell(cell, True),
            example_text(cell["example"]) if cell and "example" in cell else "",
            str(cell.get("because", "")) if cell else "",
            tuple(sentences),
        )
        for cell, sentences in zip(row["cells"], row["documents"], strict=True)
    )
    return first, second


def example_of(side: Side, number: int, listed: Sequence[Row]) -> str:
    """The example of a row's first (0) or second side (1); "" if the row of the clause whose fault it is has one."""
    causes = (sides(row)[number] for row in listed if row["clause"] == side.because)
    return "" if any(cause.example for cause in causes) else side.example


def departs(row: Row, document: Row) -> str:
    """Which of both departs from the page, in words."""
    first, second = labels(document)
    match row["kind"]:
        case "departs":
            return f"{second} departs"
        case "mended":
            return f"{first} departs"
        case "specification":
            who = first if sides(row)[0].kind == "fail" else second
            return f"{who} departs, as its own documentation asks for"
        case "gone":
            return f"{second} does not support it"
        case "added":
            return f"{first} does not support it"
        case _:
            return "both depart" + ("" if row["alike"] else ", in another way")


def operators_by_state(document: Row) -> dict[str, list[str]]:
    """The operators of each state that there is, by their short names."""
    names: dict[str, list[str]] = {state: [] for state in STATES}
    for operator in document["operators"]:
        names[operator["state"]].append(short(operator["operator"]))
    return {state: members for state, members in names.items() if members}


def sentences(document: Row, short_labels: bool = False) -> list[str]:
    """What the document amounts to, a sentence each: rows, behaviours that the page leaves open, largest errors.

    Args:
        document: the migration.
        short_labels: whether long labels give way to "the first" and "the second".
    """
    first, second = labels(document)
    if short_labels and len(first) + len(second) > _LONG:
        first, second = "the first", "the second"
    return [
        text for text in (_rows(document, first, second), _behaviours(document), _accuracy(document, second)) if text
    ]


def _rows(document: Row, first: str, second: str) -> str:
    counts = totals(document)
    words = {
        STAYS: "stay",
        DEPARTS: f"depart in {second} alone",
        MENDED: f"depart in {first} alone",
        SPECIFICATION: "depart as their own documentation asks for",
        BOTH: "depart in both",
        GONE: f"are not supported by {second}",
        ADDED: f"are not supported by {first}",
        NEITHER: "are supported by neither",
        UNJUDGED: "were judged for one of the two only",
    }
    parts = [f"{counts[kind]:,} {text}" for kind, text in words.items() if counts[kind]]
    return f"{many(counts.total(), 'row')}, a clause on one element type each: {', '.join(parts)}"


def _behaviours(document: Row) -> str:
    """How many behaviours differ that the page leaves open; "" where none were seen of both."""
    rows = [(row, len(row["data_types"])) for operator in document["operators"] for row in operator["behaviours"]]
    differ = sum(count for row, count in rows if row["differ"])
    total = sum(count for _, count in rows)
    if not total:
        return ""
    return f"{many(total, 'behaviour')} that the page leaves open: {differ:,} differ, {total - differ:,} are alike"


def _accuracy(document: Row, second: str) -> str:
    """On how many operators and types the largest error grew or shrank; "" where nothing was measured of both."""
    counts: Counter[str] = Counter()
    for operator in document["operators"]:
        for row in operator["accuracy"]:
            before, after = (cell and cell["ulp"] for cell in row["cells"])
            if before is None or after is None:
                continue
            grew, shrank = after > before * NOTICED, before > after * NOTICED
            counts["larger" if grew else "smaller" if shrank else "alike"] += 1
    if not counts:
        return ""
    shown = ", ".join(f"{counts[name]} {name}" for name in ("larger", "smaller", "alike") if counts[name])
    return f"largest error of {second} on {many(counts.total(), 'operator and type', 'operators and types')}: {shown}"


def specifications(document: Row) -> list[dict[str, Any]]:
    """The differences of specifications: each sentence with the clause that it stands beside, and where it shows.

    Each has ``operator``, ``sentence``, ``label``, ``data_types``, ``clauses`` (the others that fail because of it)
    and ``example``.
    """
    groups: dict[tuple[str, ...], dict[str, Any]] = {}
    for operator in document["operators"]:
        for row in operator["clauses"]:
            for label, side in zip(labels(document), sides(row), strict=True):
                for sentence in side.sentences:
                    if sentence["relation"] != DIFFERS:
                        continue
                    key = operator["operator"], sentence["clause"], label
                    entry = groups.setdefault(
                        key,
                        {
                            "operator": operator["operator"],
                            "sentence": sentence,
                            "label": label,
                            "data_types": [],
                            "clauses": [],
                            "example": "",
                        },
                    )
                    own = row["clause"] == sentence["clause"]
                    entry["example"] = entry["example"] if entry["example"] and not own else side.example
                    entry["data_types"] += [name for name in row["data_types"] if name not in entry["data_types"]]
                    if not own and row["clause"] not in entry["clauses"]:
                        entry["clauses"].append(row["clause"])
    return list(groups.values())


def listed(operator: Row) -> list[Row]:
    """The rows of an operator whose results are compared: all that are listed but those that one does not support."""
    return [row for row in operator["clauses"] if row["kind"] not in (GONE, ADDED)]


def losses(operator: Row) -> dict[str, list[str]]:
    """The operator's own clauses that the second no longer supports, with their types; not those of missing types."""
    lost: dict[str, list[str]] = defaultdict(list)
    missing = operator["missing_types"]
    for row in operator["clauses"]:
        types = [name for name in row["data_types"] if name not in missing]
        if row["kind"] == GONE and types and is_own(row["clause"], operator["operator"]):
            lost[row["clause"]] += types
    return dict(lost)


def shared_losses(document: Row) -> dict[str, list[str]]:
    """The clauses of all operators that the second no longer supports, with the operators, by their short names."""
    lost: dict[str, list[str]] = defaultdict(list)
    for operator in document["operators"]:
        for row in operator["clauses"]:
            name = short(operator["operator"])
            types = [kind for kind in row["data_types"] if kind not in operator["missing_types"]]
            shared = row["kind"] == GONE and types and not is_own(row["clause"], operator["operator"])
            if shared and name not in lost[row["clause"]]:
                lost[row["clause"]].append(name)
    return {clause: lost[clause] for clause in sorted(lost) if lost[clause]}


def sentence_words(sentence: Row) -> str:
    """How a sentence of a runtime's documentation stands to DirectML's page, and whether the runtime follows it.

    Of a row that fails, no behaviour is known that could follow it.
    """
    relation = RELATIONS[sentence["relation"]]
    if sentence["relation"] != SETTLES or "follows" not in sentence:
        return relation
    return f"{relation}; {'it does that' if sentence['follows'] else 'it does something else'}"


def names_text(names: Sequence[str], most: int = 0) -> str:
    """Names in one line, of many the first so many."""
    if not most or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def to_read(document: Row) -> Iterator[Row]:
    """The operators that have something to read: those that stay as they are and show nothing are left out."""
    for operator in document["operators"]:
        if any(operator[name] for name in ("clauses", "behaviours", "accuracy")):
            yield operator
