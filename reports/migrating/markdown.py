"""A migration as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dmlcts.reports.comparing.comparison import error_cell, made_with_cells
from dmlcts.reports.documents.wording import short
from dmlcts.reports.migrating import digest
from dmlcts.reports.migrating.migration import STATES
from dmlcts.reports.summaries.characters import escaped
from dmlcts.reports.views.markdown import table
from dmlcts.specs.number_text import many

Row = Mapping[str, Any]


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield from table([escaped(cell) for cell in headings], ([escaped(cell) for cell in row] for row in rows))


def _quoted(words: str, title: str, address: str) -> str:
    """A quotation with its source; addresses are the project's own and lead to the web."""
    source = f"[{escaped(title)}]({address})" if address else escaped(title)
    return f"“{escaped(words)}” ({source})"


def _columns(document: Row) -> Iterator[str]:
    columns = document["columns"]
    rows = []
    for column, made in zip(columns, made_with_cells(columns), strict=True):
        device = column["device"]
        version = " ".join(filter(None, (device["library"], device["version"]))) or device["name"]
        level = column["run"]["feature_level"]
        rows.append([column["label"], version, level, column["verdict"].replace("_", " "), *made])
    yield from _table(["implementation", "version", "level", "verdict", "tables", "suite"], rows)
    yield ""
    yield from (f"- Note: {escaped(note)}." for note in document["uneven"])


def _specifications(document: Row) -> Iterator[str]:
    for entry in digest.specifications(document):
        sentence, rule = entry["sentence"], document["rules"].get(entry["sentence"]["clause"])
        yield ""
        types = ", ".join(entry["data_types"])
        yield f"### {escaped(short(entry['operator']))} `{sentence['clause']}`, {escaped(entry['label'])} on {types}"
        yield ""
        yield escaped(sentence["means"])
        yield ""
        if rule is not None:
            words = _quoted(rule["quotation"] or rule["text"], rule["source"], rule["address"])
            yield f"- DirectML's page: {words}"
        own = _quoted(sentence["quotation"], sentence["title"], sentence["address"])
        yield f"- {escaped(entry['label'])}'s own documentation: {own}"
        if entry["example"]:
            yield f"- Seen: {escaped(entry['example'])}"
        if entry["clauses"]:
            yield f"- For the same reason: {', '.join(f'`{clause}`' for clause in entry['clauses'])}"


def _documented(words: str, sentences: Iterable[Row]) -> str:
    """What was seen of a runtime, and what its own documentation says."""
    own = (
        f"its documentation: “{sentence['quotation']}” ({sentence['title']}; {digest.sentence_words(sentence)})"
        for sentence in sentences
    )
    return "; ".join([words, *own])


def _side(side: digest.Side) -> str:
    because = f" (because of {side.because})" if side.because else ""
    return _documented(f"{side.words}{because}{f': {side.example}' if side.example else ''}", side.sentences)


def _operator(operator: Row, document: Row) -> Iterator[str]:
    first, second = digest.labels(document)
    yield ""
    yield f"### {escaped(short(operator['operator']))}: {STATES[operator['state']]}"
    if operator["missing_types"]:
        yield from ("", f"{escaped(second)} does not have {', '.join(operator['missing_types'])}.")
    for reason in operator["lacking"]:
        yield from ("", f"{escaped(second)}: {escaped(reason)}.")
    rows = []
    for row in digest.listed(operator):
        rule = document["rules"][row["clause"]]
        page = rule["text"] + (f" “{rule['quotation']}”" if rule["quotation"] else "")
        where = f"{row['clause']} ({rule['obligation']})"
        shown = [_side(side) for side in digest.sides(row)]
        rows.append([where, ", ".join(row["data_types"]), page, *shown, digest.departs(row, document)])
    if rows:
        yield ""
        yield from _table(["clause", "types", "DirectML's page", first, second, "departs"], rows)
    lost = digest.losses(operator)
    if lost:
        yield from ("", f"{escaped(second)} does not support:", "")
        yield from (f"- `{clause}` on {', '.join(names)}" for clause, names in lost.items())
    rows = [
        [
            row["clause"],
            ", ".join(row["data_types"]),
            "≠ differ" if row["differ"] else "= alike",
            *(_documented(*cell) for cell in zip(row["cells"], row["documents"], strict=True)),
        ]
        for row in operator["behaviours"]
    ]
    if rows:
        yield from ("", "Where the page leaves it open:", "")
        yield from _table(["clause", "types", "", first, second], rows)
    rows = [[row["types"], *map(error_cell, row["cells"])] for row in operator["accuracy"]]
    if rows:
        yield from ("", "Largest errors in ULP (absolute):", "")
        yield from _table(["types", first, second], rows)


def markdown(document: Row) -> str:
    """The migration as Markdown: what changes on top, then operator by operator."""
    first, second = digest.labels(document)
    lines = [f"## From {escaped(first)} to {escaped(second)}", "", *_columns(document), ""]
    states = digest.operators_by_state(document)
    lines += [f"{many(len(document['operators']), 'operator')}:", ""]
    lines += [f"- {len(names)}: {STATES[state]}: {escaped(', '.join(names))}" for state, names in states.items()]
    for text in digest.sentences(document):
        lines += ["", f"{escaped(text[0].upper() + text[1:])}."]
    entries = list(_specifications(document))
    if entries:
        lines += ["", "## Differences of specifications", *entries]
    lost = digest.shared_losses(document)
    if lost:
        lines += ["", "## Not supported any more on many operators", ""]
        rows = ([clause, document["rules"][clause]["text"], str(len(names))] for clause, names in lost.items())
        lines += _table(["clause", "DirectML's page", "operators"], rows)
    lines += ["", "## Operator by operator"]
    for operator in digest.to_read(document):
        lines += _operator(operator, document)
    return "\n".join(lines) + "\n"
