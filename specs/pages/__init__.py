"""Operator pages read as text, and every point in which one differs from its table.

Microsoft edits the pages; this package tells which table has to follow, and in what. It reads the text of a
page as a browser, a converter or a scraper leaves it: with and without its title and headings, with the
support tables in plain or pipe-separated rows, in English and, for everything that is not prose, in other
languages::

    page = load_page("clip.txt")
    table = identify(page, tables)
    for difference in compare(page, table):
        print(difference)

What cannot be compared (the quotations, on a translated page) is said by :func:`notes`, never passed over.
"""

from __future__ import annotations

from dmlcts.specs.pages.comparing import compare, notes
from dmlcts.specs.pages.identifying import identify
from dmlcts.specs.pages.page import (
    Difference,
    Kind,
    Locale,
    Page,
    PageError,
    PageField,
    PageFormula,
    PageLevel,
    PageMember,
    PageName,
    PageRow,
    PageSupport,
    Subject,
    Unread,
)
from dmlcts.specs.pages.reading import load_page, read_page

__all__ = [
    "Difference",
    "Kind",
    "Locale",
    "Page",
    "PageError",
    "PageField",
    "PageFormula",
    "PageLevel",
    "PageMember",
    "PageName",
    "PageRow",
    "PageSupport",
    "Subject",
    "Unread",
    "compare",
    "identify",
    "load_page",
    "notes",
    "read_page",
]
