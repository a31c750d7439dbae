"""Operator pages read as text.

It reads the text of a page as a browser, a converter or a scraper leaves it: with and without its title and headings,
with the support tables in plain or pipe-separated rows, in English and, for everything that is not prose, in other
languages::

    page = load_page("clip.txt")
    table = identify(page, tables)

:mod:`dmlcts.specs.comparing` finds every point in which the two differ.
"""

from __future__ import annotations

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
    "identify",
    "load_page",
    "read_page",
]
