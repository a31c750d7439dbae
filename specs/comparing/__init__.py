"""Operator pages against their tables: every point in which one differs, and what could not be compared.

Microsoft edits the pages; this room says which table has to follow, and in what::

    for difference in compare(page, table):
        print(difference)

What cannot be compared (the quotations, on a translated page) is listed by :func:`notes`, never passed over.
"""

from __future__ import annotations

from dmlcts.specs.comparing.formulas import compare_formula, compare_scale_bias
from dmlcts.specs.comparing.known import KnownSentences, digest
from dmlcts.specs.comparing.sentences import (
    CASTING,
    IN_PLACE,
    compare_casting,
    compare_constraint,
    compare_in_place,
    compare_introduced,
    compare_known,
    compare_quotations,
    in_common,
    unquoted,
)
from dmlcts.specs.comparing.structs import compare_enumerators, compare_fields, compare_members, compare_names
from dmlcts.specs.comparing.support import compare_support
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.page import Difference, Page
from dmlcts.specs.pages.sentences import shortened


def compare(page: Page, table: OperatorTable, known: KnownSentences | None = None) -> tuple[Difference, ...]:
    """Every difference between the page and the table: by line, then what the page lacks.

    Args:
        page: the page.
        table: the operator's table.
        known: the sentences that the operator's pages are known to have; ``None`` where they are not.
    """
    differences = [
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
        *(compare_known(page, known) if known is not None and page.locale == "en" else ()),
        *(
            Difference(unread_line.line, unread_line.subject, "unreadable", unread_line.text, unread_line.expected)
            for unread_line in page.unread
        ),
    ]
    return tuple(sorted(dict.fromkeys(differences), key=lambda item: (item.where == 0, item.where)))


def notes(page: Page, table: OperatorTable, known: KnownSentences | None = None) -> tuple[str, ...]:
    """What :func:`compare` could not check on this page, one line each.

    Of an English page these are the sentences that no clause quotes; whether they changed is compared where the
    operator's sentences are known.
    """
    lines: list[str] = []
    if page.title is None and page.struct is None:
        lines.append("the page names no operator; its table was chosen by its struct and formula")
    if page.locale == "en":
        state = "" if known is not None else ", and what it said before is not known"
        listed = [sentence for sentence in unquoted(page, table) if known is None or digest(sentence.text) in known]
        lines += [
            f"line {sentence.line}: no clause quotes this sentence{state}: {shortened(sentence.text)!r}"
            for sentence in listed
        ]
        return tuple(lines)
    quotations = {
        clause.quotation.words for clause in table.clauses if clause.quotation and clause.quotation.source == "page"
    }
    unchecked = [f"the table's {len(quotations)} quotations"]
    if "Sizes" in table.in_common and "Sizes" not in in_common(page)[1]:
        unchecked.append("whether Sizes must agree")
    if not IN_PLACE.search(page.flow.text):
        unchecked.append("whether execution in place is permitted")
    if not CASTING.search(page.flow.text):
        unchecked.append("whether casts are described")
    return (*lines, *(f"the page is not in English; not checked: {item}" for item in unchecked))


__all__ = ["compare", "notes"]
