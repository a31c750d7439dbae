"""Pages made from the tables, in our own words and the short quotations that the tables hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

import pytest

from dmlcts.specs.comparing import compare
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages import Difference, read_page
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.first_three import first_three

TABLES: Tables = first_three()
"""The tables whose pages were read; pages of the whole family are compared in ``selftest/family``."""
LAYOUTS = ("plain", "stripped", "pipes", "korean", "czech-header")
ENGLISH = tuple(layout for layout in LAYOUTS if layout != "korean")
EVERY = [(operator, layout) for operator in TABLES.operators for layout in LAYOUTS]
Row = tuple[str, str, tuple[str, ...], tuple[int, int]]
FIRST = next(iter(TABLES.operators))
EDITED = [pair for pair in EVERY if pair[0] == FIRST or pair[1] in ("pipes", "korean", "czech-header")]
every_page = pytest.mark.parametrize("operator, layout", EVERY)
CAST = " are cast "  # in the quotation that states how FLOAT attributes are cast, where there is one
edited_page = pytest.mark.parametrize("operator, layout", EDITED)


@dataclass
class Synthetic:
    """A page with the line number of everything that a test edits, by name."""

    lines: list[str] = field(default_factory=list)
    at: dict[str, int] = field(default_factory=dict)

    def add(self, line: str = "", key: str = "") -> None:
        self.lines.append(line)
        if key:
            self.at[key] = len(self.lines)

    def line(self, key: str) -> str:
        return self.lines[self.at[key] - 1]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def edited(self, key: str, old: str, new: str, count: int = -1) -> str:
        """The text with ``old`` replaced by ``new`` on the line called ``key``."""
        line = self.line(key)
        assert old in line, (key, old, line)
        return self.replaced(key, line.replace(old, new, count))

    def replaced(self, key: str, *lines: str) -> str:
        number = self.at[key]
        return "\n".join([*self.lines[: number - 1], *lines, *self.lines[number:]])

    def edited_rows(self, operator: str, edit: Callable[[str], str]) -> tuple[str, list[Row]]:
        """The text with every row of the support tables edited, and the rows that the edit changed."""
        rows = [row for row in rows_of(operator) if edit(self.line(row[0])) != self.line(row[0])]
        numbers = {self.at[row[0]] for row in rows}
        return "\n".join(edit(line) if n in numbers else line for n, line in enumerate(self.lines, 1)), rows

    def swapped(self, first: str, second: str) -> str:
        lines = list(self.lines)
        here, there = self.at[first] - 1, self.at[second] - 1
        lines[here], lines[there] = lines[there], lines[here]
        return "\n".join(lines)


def quotations(table: OperatorTable) -> list[str]:
    clause_quotations = [clause.quotation for clause in table.clauses]
    return list(dict.fromkeys(item.words for item in clause_quotations if item and item.source == "page"))


def enumerators(table: OperatorTable) -> list[str]:
    return [name for attribute in table.attributes for name in attribute.enumerators]


def quotation_of(table: OperatorTable, enumerator: str) -> str:
    """The quotation of the clause about the enumerator."""
    clause = next(clause for clause in table.clauses if re.match(rf"{enumerator}\b", clause.text))
    assert clause.quotation is not None
    return clause.quotation.words


def replacing(pattern: str, new: str) -> Callable[[str], str]:
    return lambda line: re.sub(pattern, new, line)


@cache
def synthetic(operator: str, layout: str) -> Synthetic:
    return page_of(TABLES.operators[operator], layout)


def page_of(table: OperatorTable, layout: str) -> Synthetic:
    operator = table.operator
    page = Synthetic()
    korean, stripped = layout == "korean", layout == "stripped"
    name = f"DML_{operator}_OPERATOR_DESC"
    if layout == "czech-header":
        for word in ("Přihlásit", "", "Hledat podle témat", ""):
            page.add(word)
    if not stripped:
        page.add(f"{name} {'구조' if korean else 'structure'} (directml.h)", "title")
    write_meaning(page, table, korean)
    write_struct(page, table, korean, stripped)
    casts = " ".join(item.name for item in table.attributes if item.cast == "documented")
    if casts:
        quoted = (words for words in quotations(table) if CAST in words)
        sentence = next(quoted, f"These are cast to the type of the tensor: {casts}")
        page.add(f"{casts} 캐스팅" if korean else f"{sentence}.", "cast")
    level = f"DML_FEATURE_LEVEL_{table.introduced.replace('.', '_')}"
    if korean:
        page.add(f"연산자 {level}", "introduced")
        page.add("도입.")
    else:
        page.add(f"It is part of DirectML since it was introduced in {level}.", "introduced")
    tensors = [item.name for item in table.struct if "TENSOR" in item.type]
    if korean:
        page.add(f"{' 및 '.join(tensors)}: DataType, DimensionCount 및 크기가 같습니다.", "constraint")
    else:
        shared = next(words for words in quotations(table) if "DimensionCount" in words)
        page.add(f"{' and '.join(tensors)} {shared}.", "constraint")
    write_support(page, table, korean, pipes=layout in ("pipes", "korean"))
    page.add("헤더 | directml.h |" if korean else "Header directml.h", "header")
    return page


def write_meaning(page: Synthetic, table: OperatorTable, korean: bool) -> None:
    if table.page_formula:
        page.add(table.page_formula, "f")
    if korean:
        page.add("별칭: OutputTensor 및 InputTensor.", "in-place")
        page.add("요소마다 계산한 값을 텐서에 기록합니다.")
        return
    page.add("This text is made for the test; its operator is the one in the table.")
    elsewhere = ("DML_", "DimensionCount", "Supported", "f(x)", "g(x)", CAST)
    meanings = {quotation_of(table, enumerator) for enumerator in enumerators(table)}
    for words in quotations(table):
        if "alias" in words:
            page.add(f"It works in-place, so {words}.", "in-place")
        elif "max(a,b)" in words:
            other = ", and min(a,b) returns the smaller one" if "min(" in table.formula else ""
            page.add(f"Here {words}{other}.", "definition")
        elif words not in meanings and not any(mark in words for mark in elsewhere):
            page.add(f"We rest on this: {words}.")


def write_struct(page: Synthetic, table: OperatorTable, korean: bool, stripped: bool) -> None:
    if not stripped:
        page.add(f"struct DML_{table.operator}_OPERATOR_DESC {{", "struct")
    for item in table.struct:
        type_name, star = item.type.removesuffix("*"), "*" * item.type.endswith("*")
        page.add(f"  {type_name:<22} {star}{item.name};", f"field {item.name}")
    if not stripped:
        page.add("};")
    for item in table.struct:
        if not stripped:
            page.add(item.name)
        optional = "_Maybenull_ " if "SCALE_BIAS" in item.type or "OPERATOR_DESC" in item.type else ""
        page.add(f"{'형식' if korean else 'Type'}: {optional}{item.type}", f"member {item.name}")
        for attribute in table.attributes:
            if attribute.name != item.name:
                continue
            for enumerator in attribute.enumerators:
                meaning = "반올림합니다." if korean else f"{quotation_of(table, enumerator)}."
                page.add(f"- {item.type}_{enumerator}: {meaning}", f"enumerator {enumerator}")
            if attribute.formula and korean:
                page.add(f"함수 g(x) = {attribute.formula}", "g")
                page.add("를 먼저 계산합니다.")
            elif attribute.formula:
                page.add(f"It works by applying the function g(x) = {attribute.formula} to every element.", "g")


def write_support(page: Synthetic, table: OperatorTable, korean: bool, pipes: bool) -> None:
    for support in table.support:
        page.add()
        level = f"DML_FEATURE_LEVEL_{support.level.replace('.', '_')}"
        page.add(f"{level} {'이상' if korean else 'and above'}", f"level {support.level}")
        titles = "텐서,종류,차원,형식" if korean else "Tensor,Kind,Ranks,Supported data types"
        page.add(cells(titles.split(","), pipes), f"titles {support.level}")
        if pipes:
            page.add("---|---|---|---|")
        for row in table.support_rows(support):
            low, high = row.dimension_counts
            ranks = str(low) if low == high else f"{low}~{high}개" if korean else f"{low} to {high}"
            kind = {"Input": "입력", "Output": "출력"}.get(row.kind, row.kind) if korean else row.kind
            line = cells([row.tensor, kind, ranks, ", ".join(row.data_types)], pipes)
            page.add(line, f"row {support.level} {row.tensor}")


def cells(texts: list[str], pipes: bool) -> str:
    return " | ".join(texts) + " |" if pipes else " ".join(texts)


@lru_cache(maxsize=4)
def differences(operator: str, text: str) -> tuple[Difference, ...]:
    return compare(read_page(text, "page.txt"), TABLES.operators[operator])


def is_reported(operator: str, text: str, subject: str, where: int, *words: str) -> bool:
    """Whether a difference about ``subject`` at line ``where`` says all ``words``."""
    return any(
        item.subject == subject and item.where == where and all(word in str(item) for word in words)
        for item in differences(operator, text)
    )


def show(operator: str, text: str) -> str:
    return "\n".join(map(str, differences(operator, text))) or "no difference was reported"


def assert_found(operator: str, text: str, subject: str, where: int, *words: str) -> None:
    assert is_reported(operator, text, subject, where, *words), (subject, where, words, show(operator, text))


def rows_of(operator: str) -> Iterator[Row]:
    table = TABLES.operators[operator]
    for support in table.support:
        for row in table.support_rows(support):
            key = f"row {support.level} {row.tensor}"
            yield key, support.level, row.data_types, row.dimension_counts
