"""Which table describes a page's operator."""

from __future__ import annotations

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.page import Page, PageError
from dmlcts.specs.pages.words import compact
from dmlcts.specs.tables import Tables


def identify(page: Page, tables: Tables) -> OperatorTable:
    """The table that describes the page's operator.

    The title decides, then the struct's name; a page that lost both is recognised by its struct's fields and
    its formula.

    Raises:
        PageError: the operator has no table, or the fields and the formula fit no table, or several.
    """
    named = [name.operator for name in (page.title, page.struct) if name]
    for operator in named:
        if operator in tables.operators:
            return tables.operators[operator]
    known = ", ".join(table.short_name for table in tables.operators.values())
    if named:
        mend = f"write its table, or give a page of {known}"
        raise PageError(page.name, f"no table describes {named[0]}", mend)
    scores = {operator: _likeness(page, table) for operator, table in tables.operators.items()}
    best = max(scores.values(), default=0)
    likeliest = [operator for operator, score in scores.items() if score == best]
    if best < 3:
        raise PageError(page.name, "its struct and formula fit no table", f"give a page of {known}")
    if len(likeliest) > 1:
        raise PageError(
            page.name,
            f"it has no title, and its struct and formula fit {' and '.join(likeliest)} equally",
            "put the page's title, DML_..._OPERATOR_DESC, on its first line",
        )
    return tables.operators[likeliest[0]]


def _likeness(page: Page, table: OperatorTable) -> int:
    """Fields in common less the others, and a formula counts as three fields."""
    here = {(field.name, field.type) for field in page.fields}
    there = {(field.name, field.type) for field in table.struct}
    formulas = {compact(formula.text) for formula in page.formulas if formula.function != "g"}
    expected = {compact(table.page_formula)} if table.page_formula else set()
    return len(here & there) - len(here ^ there) + 3 * (formulas == expected)
