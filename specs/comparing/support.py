"""The support tables of a page against those of its table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.models import OperatorTable, SupportRow
from dmlcts.specs.pages.page import Difference, Page, PageSupport


def _odd_words(page: Page) -> Iterator[Difference]:
    """Headings and column titles of support tables that are not worded like those of the other levels."""
    for item, words in (
        ("heading", [table.heading for table in page.support]),
        ("column titles", [table.titles for table in page.support]),
    ):
        usual = Counter(words).most_common(1)[0][0]
        for table, here in zip(page.support, words, strict=True):
            if here != usual:
                actual = repr(here) if here else "nothing"
                yield Difference(table.line, "support", f"level {table.level}, {item}", actual, repr(usual))


def compare_support(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The levels that have a support table, and every row."""
    there = {support.level: support for support in table.support}
    seen: set[str] = set()
    yield from _odd_words(page)
    for support in page.support:
        item = f"level {support.level}"
        if support.level in seen:
            yield Difference(support.line, "support", item, "it twice", "it once")
        elif support.level not in there:
            known = ", ".join(there)
            yield Difference(support.line, "support", item, "that it has a table", f"tables for {known} only")
        else:
            rows = table.support_rows(there[support.level])
            yield from _compare_rows(page, support, rows)
        seen.add(support.level)
    for level in there:
        if level not in seen:
            yield Difference(0, "support", f"level {level}", "nothing", "that it has a table")


def _compare_rows(page: Page, support: PageSupport, expected_rows: tuple[SupportRow, ...]) -> Iterator[Difference]:
    there = {row.tensor: row for row in expected_rows}
    seen: set[str] = set()
    for row in support.rows:
        item = f"level {support.level}, {row.tensor}"
        if row.tensor in seen:
            yield Difference(row.line, "support", item, "a second row", "one row")
            continue
        seen.add(row.tensor)
        if row.tensor not in there:
            yield Difference(row.line, "support", item, "a row", "none")
            continue
        expected = there[row.tensor]
        kind = row.kind
        if kind is None and page.locale == "other" and re.fullmatch(r"\S+", row.kind_word):
            kind = "Output" if row.tensor.startswith("Output") else "Input"
        if kind != expected.kind:
            yield Difference(row.line, "support", f"{item}, kind", row.kind_word or "nothing", expected.kind)
        if row.ranks != expected.dimension_counts:
            here, wanted = ("{} to {}".format(*ranks) for ranks in (row.ranks, expected.dimension_counts))
            yield Difference(row.line, "support", f"{item}, dimension counts", here, wanted)
        for name, count in Counter(row.data_types).items():
            if name not in DataType.__members__:
                yield Difference(row.line, "support", item, f"{name}, which is no data type", f"no {name}")
            elif name not in expected.data_types:
                yield Difference(row.line, "support", item, name, f"no {name}")
            if count > 1:
                yield Difference(row.line, "support", item, f"{name} {count} times", f"{name} at most once")
        for name in expected.data_types:
            if name not in row.data_types:
                yield Difference(row.line, "support", item, f"no {name}", name)
    for tensor in there:
        if tensor not in seen:
            yield Difference(0, "support", f"level {support.level}, {tensor}", "nothing", "a row")
