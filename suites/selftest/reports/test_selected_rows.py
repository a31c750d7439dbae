"""Operators and types that were not selected never look as if they had been judged."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from dmlcts.reports.documents.selecting import rows_of_selection, selects_place
from dmlcts.reports.views import html, markdown
from dmlcts.reports.views.terminal import summary
from dmlcts.suites.selftest.first_three import first_three
from dmlcts.suites.selftest.reports.report_samples import CLIP, ROUND, conformant, failing

TABLES = first_three()
ON_INT8 = {"operators": [CLIP], "data_types": ["INT8"]}


def screen(document: dict[str, Any]) -> str:
    stream = io.StringIO()
    summary(document, TABLES, Console(file=stream, width=80, color_system=None))
    return stream.getvalue()


def types_of_page(document: dict[str, Any]) -> str:
    """The data types of the page's matrices and rows, and the clauses that fail there; no prose."""
    page = html.page(document, TABLES, ())
    body = page[page.index('id="matrix"') : page.index('id="provenance"')]
    return " ".join(re.findall(r'(?<=data-type=")[^"]*|(?<=<th scope="col">)\w+|(?<=href="#)round\.[\w.-]+', body))


VIEWS = {"terminal": screen, "markdown": lambda document: markdown.summary(document, TABLES), "html": types_of_page}


@pytest.mark.parametrize("view", [screen, types_of_page])  # Markdown has lines of failing operators alone
def test_what_was_not_selected_has_no_cell(view: Any) -> None:
    text = view(conformant() | {"selection": ON_INT8})
    assert re.search(r"\bINT8\b", text)
    assert not re.search(r"\bUINT8\b|\bFLOAT32\b", text)
    control = view(conformant())
    assert re.search(r"\bUINT8\b", control)
    assert re.search(r"\bFLOAT32\b", control)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_what_fails_on_a_type_that_was_not_selected_is_shown(view: Any) -> None:
    text = view(failing() | {"selection": {"operators": [ROUND], "data_types": ["FLOAT16"]}})
    assert "FLOAT32" in text
    assert "round.toward-infinity" in text


def test_rows_are_left_out_by_operator_and_by_type() -> None:
    document = conformant()
    assert rows_of_selection(document) == document["clauses"]
    rows = rows_of_selection(document | {"selection": ON_INT8})
    assert {(row["operator"], row["data_type"]) for row in rows} == {(CLIP, "INT8")}
    assert rows_of_selection({}) == []


def test_an_operator_is_selected_by_either_of_its_names() -> None:
    assert selects_place({"operators": ["CLIP"]}, CLIP, "INT8")
    assert selects_place({"operators": CLIP}, CLIP, "INT8")
    assert not selects_place({"operators": [ROUND]}, CLIP, "INT8")
