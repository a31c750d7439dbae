"""A page against its table: every difference, and what could not be compared."""

from __future__ import annotations

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.comparing_formulas import compare_formula, compare_scale_bias
from dmlcts.specs.pages.comparing_sentences import (
    CASTING,
    IN_PLACE,
    compare_casting,
    compare_constraint,
    compare_in_place,
    compare_introduced,
    compare_quotations,
    in_common,
)
from dmlcts.specs.pages.comparing_structs import compare_enumerators, compare_fields, compare_members, compare_names
from dmlcts.specs.pages.comparing_support import compare_support
from dmlcts.specs.pages.page import Difference, Page


def compare(page: Page, table: OperatorTable) -> tuple[Difference, ...]:
    """Every difference between the page and the table: by line, then what the page lacks."""
    found = [
        *compare_names(page, table),
        *compare_fields(page, table),
        *compare_members(page, table),
        *compare_formula(page, table),
        *compare_scale_bias(page, table),
        *compare_enumerators(page, table),
        *compare_introduced(page, table),
        *compare_constraint(page, table),
        *compare_in_place(page, table),
        *compare_casting(page, table),
        *compare_support(page, table),
        *compare_quotations(page, table),
        *(Difference(one.line, one.subject, "unreadable", one.text, one.expected) for one in page.unread),
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda item: (item.where == 0, item.where)))


def notes(page: Page, table: OperatorTable) -> tuple[str, ...]:
    """What :func:`compare` could not check on this page, one line each; none for a whole English page."""
    said: list[str] = []
    if page.title is None and page.struct is None:
        said.append("the page names no operator; its table was chosen by its struct and formula")
    if page.locale == "en":
        return tuple(said)
    quotations = {clause.quotation.words for clause in table.clauses
                  if clause.quotation and clause.quotation.source == "page"}  # fmt: skip
    unchecked = [f"the table's {len(quotations)} quotations"]
    if "Sizes" in table.in_common and "Sizes" not in in_common(page)[1]:
        unchecked.append("whether Sizes must agree")
    if not IN_PLACE.search(page.flow.text):
        unchecked.append("whether execution in place is permitted")
    if not CASTING.search(page.flow.text):
        unchecked.append("whether casts are described")
    return (*said, *(f"the page is not in English; not checked: {item}" for item in unchecked))
