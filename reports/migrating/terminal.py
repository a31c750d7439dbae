"""A migration on a terminal: at most a screen, or operator by operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reports.comparing.comparison import error_cell, made_with_cells
from dmlcts.reports.documents.wording import short
from dmlcts.reports.migrating import digest
from dmlcts.reports.migrating.migration import STATES
from dmlcts.reports.views.terminal_page import Page
from dmlcts.specs.number_text import many

SPECIFICATIONS_SHOWN = 2
_STYLES = {"changes": "bold", "gone": "bold", "partly": "bold", "faults": "yellow", "stays": "", "unjudged": "dim"}
Row = Mapping[str, Any]


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _identity(document: Row, page: Page) -> None:
    page.line((_shortened(" → ".join(digest.labels(document)), page.width - 2), "bold"))
    columns = document["columns"]
    for column, (tables, suite) in zip(columns, made_with_cells(columns), strict=True):
        device = column["device"]
        version = " ".join(filter(None, (device["library"], device["version"]))) or device["name"]
        words = f"{column['verdict'].replace('_', ' ')}, {version}, tables {tables}, suite {suite}"
        page.line(_shortened(words, page.width - 4), indent=2)
    if document["uneven"]:
        page.line((_shortened(f"note: {'; '.join(document['uneven'])}", 2 * page.width - 20), "bold"))


def _states(document: Row, page: Page) -> None:
    """A line for each state that there is, with as many operators as it has room for."""
    for state, names in digest.operators_by_state(document).items():
        words = f" {STATES[state]}: "
        room = page.width - 12 - len(words)
        shown = len(names)
        while shown > 1 and len(digest.names_text(names, shown)) > room:
            shown -= 1
        page.line((str(len(names)), _STYLES[state]), words, digest.names_text(names, shown), indent=2)


def print_summary(document: Row, page: Page) -> None:
    """Print what changes on one screen of 24 lines and 80 columns, whatever the two are."""
    _identity(document, page)
    page.line(f"{many(len(document['operators']), 'operator')}:")
    _states(document, page)
    for text in digest.sentences(document, short_labels=True):
        page.line(text)
    entries = digest.specifications(document)
    meanings: dict[str, list[str]] = {}
    for entry in entries:
        meanings.setdefault(entry["sentence"]["means"], []).append(short(entry["operator"]))
    for means, names in list(meanings.items())[:SPECIFICATIONS_SHOWN]:
        words = f"{digest.names_text(list(dict.fromkeys(names)), 3)}: {means}"
        page.line(("difference of specifications: ", "bold"), _shortened(words, 2 * page.width - 40))
    if len(meanings) > SPECIFICATIONS_SHOWN:
        page.line(f"{many(len(meanings) - SPECIFICATIONS_SHOWN, 'more difference')} of specifications")


def print_operators(document: Row, page: Page) -> None:
    """Print everything, operator by operator."""
    for operator in digest.to_read(document):
        page.gap()
        _operator(operator, document, page)
    lost = digest.shared_losses(document)
    if lost:
        page.gap()
        page.line(("Not supported any more on many operators", "bold"))
        for clause, names in lost.items():
            page.line(f"{clause} on {many(len(names), 'operator')}: {document['rules'][clause]['text']}", indent=2)


def _operator(operator: Row, document: Row, page: Page) -> None:
    first, second = digest.labels(document)
    page.line((f"{short(operator['operator'])}: {STATES[operator['state']]}", "bold"))
    if operator["missing_types"]:
        page.line(f"{second} does not have {', '.join(operator['missing_types'])}", indent=2)
    for reason in operator["lacking"]:
        page.line(f"{second}: {reason}", indent=2)
    for row in digest.listed(operator):
        rule = document["rules"][row["clause"]]
        named = f"{row['clause']} ({rule['obligation']}) on {', '.join(row['data_types'])}"
        page.line((named, "bold"), f": {digest.departs(row, document)}", indent=2)
        page.line(f"DirectML's page: {rule['text']}", indent=4)
        for label, side in zip((first, second), digest.sides(row), strict=True):
            shown = f": {side.example}" if side.example else ""
            because = f" (because of {side.because})" if side.because else ""
            page.line(f"{label}: {side.words}{because}{shown}", indent=4)
            _sentences(side.sentences, label, page)
    for clause, names in digest.losses(operator).items():
        page.line(f"{clause} on {', '.join(names)}: {second} does not support it", indent=2)
    for row in operator["behaviours"]:
        if not row["differ"]:
            continue
        page.line((row["clause"], "bold"), f" on {', '.join(row['data_types'])}, which the page leaves open", indent=2)
        for label, behaviour, sentences in zip((first, second), row["cells"], row["documents"], strict=True):
            page.line(f"{label}: {behaviour}", indent=4)
            _sentences(sentences, label, page)
    for row in operator["accuracy"]:
        errors = "; ".join(
            f"{label} {error_cell(cell) or 'not measured'}"
            for label, cell in zip((first, second), row["cells"], strict=True)
        )
        page.line(f"largest error in ULP (absolute) on {row['types']}: {errors}", indent=2)


def _sentences(sentences: Any, label: str, page: Page) -> None:
    for sentence in sentences:
        page.line(f"{label}'s documentation: {digest.sentence_words(sentence)}", indent=6)
        page.line(f"“{sentence['quotation']}” ({sentence['title']}, {sentence['address']})", indent=6)
