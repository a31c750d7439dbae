"""Pages against tables: synthetic pages compare clean in every layout, and every edit that matters is found.

The pages are generated from the tables, in our own words and the short quotations that the tables hold.
``DMLCTS_PAGES=folder`` adds a test for each real page (``*.txt``) in that folder.
"""

# ruff: noqa: RUF001 - dashes and signs that pages hold

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import DmlctsError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages import Difference, Page, PageError, compare, identify, load_page, notes, read_page
from dmlcts.specs.tables import Tables

TABLES: Tables = load_tables()
LAYOUTS = ("plain", "stripped", "pipes", "korean", "czech-header")
ENGLISH = tuple(layout for layout in LAYOUTS if layout != "korean")
EVERY = [(operator, layout) for operator in TABLES.operators for layout in LAYOUTS]
Row = tuple[str, str, tuple[str, ...], tuple[int, int]]
FIRST = next(iter(TABLES.operators))
EDITED = [pair for pair in EVERY if pair[0] == FIRST or pair[1] in ("pipes", "korean", "czech-header")]
every_page = pytest.mark.parametrize("operator, layout", EVERY)
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
    found = [clause.quotation for clause in table.clauses]
    return list(dict.fromkeys(item.words for item in found if item and item.source == "page"))


def enumerators(table: OperatorTable) -> list[str]:
    return [name for attribute in table.attributes for name in attribute.enumerators]


def says(table: OperatorTable, enumerator: str) -> str:
    """The quotation of the clause about the enumerator."""
    clause = next(clause for clause in table.clauses if re.match(rf"{enumerator}\b", clause.text))
    assert clause.quotation is not None
    return clause.quotation.words


def replacing(pattern: str, new: str) -> Callable[[str], str]:
    return lambda line: re.sub(pattern, new, line)


@cache
def synthetic(operator: str, layout: str) -> Synthetic:
    table = TABLES.operators[operator]
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
        page.add(f"{casts} 캐스팅" if korean else f"These are cast to the type of the tensor: {casts}.", "cast")
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
    page.add("This text is made for the test; the operator of which it tells is the one in the table.")
    elsewhere = ("DML_", "DimensionCount", "Supported", "f(x)", "g(x)")
    told = {says(table, enumerator) for enumerator in enumerators(table)}
    for words in quotations(table):
        if "alias" in words:
            page.add(f"It works in-place, so {words}.", "in-place")
        elif "max(a,b)" in words:
            other = ", and min(a,b) returns the smaller one" if "min(" in table.formula else ""
            page.add(f"Here {words}{other}.", "definition")
        elif words not in told and not any(mark in words for mark in elsewhere):
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
        optional = "_Maybenull_ " if "SCALE_BIAS" in item.type else ""
        page.add(f"{'형식' if korean else 'Type'}: {optional}{item.type}", f"member {item.name}")
        for attribute in table.attributes:
            if attribute.name != item.name:
                continue
            for enumerator in attribute.enumerators:
                meaning = "반올림합니다." if korean else f"{says(table, enumerator)}."
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
        for row in support.rows:
            low, high = row.dimension_counts
            ranks = str(low) if low == high else f"{low}~{high}개" if korean else f"{low} to {high}"
            kind = {"Input": "입력", "Output": "출력"}[row.kind] if korean else row.kind
            line = cells([row.tensor, kind, ranks, ", ".join(row.data_types)], pipes)
            page.add(line, f"row {support.level} {row.tensor}")


def cells(texts: list[str], pipes: bool) -> str:
    return " | ".join(texts) + " |" if pipes else " ".join(texts)


@lru_cache(maxsize=4)
def differences(operator: str, text: str) -> tuple[Difference, ...]:
    return compare(read_page(text, "page.txt"), TABLES.operators[operator])


def found(operator: str, text: str, subject: str, where: int, *words: str) -> bool:
    """Whether a difference about ``subject`` at line ``where`` says all ``words``."""
    return any(
        item.subject == subject and item.where == where and all(word in str(item) for word in words)
        for item in differences(operator, text)
    )


def show(operator: str, text: str) -> str:
    return "\n".join(map(str, differences(operator, text))) or "no difference was reported"


def assert_found(operator: str, text: str, subject: str, where: int, *words: str) -> None:
    assert found(operator, text, subject, where, *words), (subject, where, words, show(operator, text))


def rows_of(operator: str) -> Iterator[Row]:
    for support in TABLES.operators[operator].support:
        for row in support.rows:
            key = f"row {support.level} {row.tensor}"
            yield key, support.level, row.data_types, row.dimension_counts


# ------------------------------------------------------------------------------------------- clean pages


@every_page
def test_a_faithful_page_has_no_differences(operator: str, layout: str) -> None:
    page = read_page(synthetic(operator, layout).text, "page.txt")
    table = identify(page, TABLES)
    assert table.operator == operator
    assert compare(page, table) == ()
    assert page.locale == ("other" if layout == "korean" else "en")
    assert page.operator == (None if layout == "stripped" else operator)
    assert page.introduced == table.introduced
    assert page.header == "directml.h"
    assert [item.level for item in page.support] == [item.level for item in table.support]
    assert [(item.name, item.type) for item in page.fields] == [(item.name, item.type) for item in table.struct]


@every_page
def test_what_was_not_checked_is_said(operator: str, layout: str) -> None:
    page = read_page(synthetic(operator, layout).text, "page.txt")
    said = " ".join(notes(page, TABLES.operators[operator]))
    assert ("quotations" in said) == (layout == "korean")
    assert ("Sizes" in said) == (layout == "korean")
    assert ("names no operator" in said) == (layout == "stripped")


MEANINGLESS: tuple[Callable[[str], str], ...] = (
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
    lambda text: text.replace("\n", "\n\n"),
    lambda text: "\n  " + text.replace(" ", "  ").replace("\n", " \t\n\u00a0") + "\n\n",
    lambda text: text.replace("InputTensor", "Input\u200bTensor"),
    lambda text: re.sub("^(?=DML_FEATURE)", "### ", text, flags=re.MULTILINE),
)


@every_page
def test_what_means_nothing_makes_no_difference(operator: str, layout: str) -> None:
    for change in MEANINGLESS:
        text = change(synthetic(operator, layout).text)
        assert differences(operator, text) == (), show(operator, text)


@every_page
def test_the_order_of_data_types_makes_no_difference(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for key, _, types, _ in rows_of(operator):
        assert differences(operator, page.edited(key, ", ".join(types), ", ".join(reversed(types)))) == ()


# --------------------------------------------------------------------------------------- support tables


@edited_page
def test_every_data_type_removed_from_any_row_is_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for name in [item.name for item in DataType]:
        text, edited = page.edited_rows(operator, replacing(rf", {name}\b|\b{name}, ", ""))
        for key, level, types, _ in edited:
            assert name in types
            assert_found(operator, text, "support", page.at[key], f"level {level}", f"the page says no {name};")
        assert len(edited) == sum(name in types for _, _, types, _ in rows_of(operator))


@edited_page
def test_every_data_type_added_to_any_row_is_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for name in [item.name for item in DataType]:
        text, rows = page.edited_rows(operator, replacing("FLOAT32", f"FLOAT32, {name}"))
        for key, level, types, _ in rows:
            says = f"{name} 2 times" if name in types else f"the page says {name};"
            assert_found(operator, text, "support", page.at[key], f"level {level}", says)


@edited_page
def test_unknown_repeated_and_broken_data_types_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for old, new, says in (
        ("FLOAT16", "FLAOT16", "FLAOT16, which is no data type"),
        ("FLOAT16", "FLOAT16, FLOAT16", "FLOAT16 2 times"),
        ("FLOAT32,", "FLOAT32", "unreadable"),
        ("FLOAT32, ", ", ", "unreadable"),
        ("FLOAT32, ", "and ", "unreadable"),
    ):
        text, rows = page.edited_rows(operator, replacing(old, new))
        assert len(rows) == len(list(rows_of(operator)))
        for key, *_ in rows:
            assert_found(operator, text, "support", page.at[key], says)


@edited_page
def test_changed_ranks_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    ranks = r"^(\w+ [| ]*\w+ [| ]*)\d[^|F]*?( \|| F)"
    for new in ("4 to 5", "1 to 7", "2~8", "5", "1 or 8", "up to 4", "many", "8 dimensions", "4+"):
        text, rows = page.edited_rows(operator, replacing(ranks, rf"\g<1>{new}\g<2>"))
        assert len(rows) == len(list(rows_of(operator)))
        for key, *_ in rows:
            assert_found(operator, text, "support", page.at[key])


@pytest.mark.parametrize(
    "ranks",
    ["1 to 8", "1-8", "1–8", "1 ~ 8", "1~8개", "1 bis 8", "od 1 do 8", "de 1 à 8", "1 až 8", "1から8まで"],
)
def test_ranks_are_read_in_many_notations(ranks: str) -> None:
    for layout in LAYOUTS:
        page = synthetic("ELEMENT_WISE_CLIP", layout)
        old = "1~8개" if layout == "korean" else "1 to 8"
        assert differences("ELEMENT_WISE_CLIP", page.edited("row 5.0 OutputTensor", old, ranks)) == ()


@edited_page
def test_changed_kinds_and_tensors_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    words = ("입력", "출력") if layout == "korean" else ("Input", "Output")
    for key, level, _, _ in rows_of(operator):
        tensor = key.rsplit(" ", 1)[1]
        old, new = words if tensor == "InputTensor" else words[::-1]
        mark = "| " if layout in ("pipes", "korean") else " "
        text = page.edited(key, f"{mark}{old} ", f"{mark}{new} ")
        assert_found(operator, text, "support", page.at[key], "kind")
        text = page.edited(key, tensor, "ATensor")
        assert_found(operator, text, "support", page.at[key], f"level {level}, ATensor")
        assert_found(operator, text, "support", 0, f"level {level}, {tensor}")
        assert_found(operator, page.edited(key, tensor, "Data"), "support", page.at[key], "unreadable")


def test_an_unknown_word_for_the_kind_is_accepted_only_where_the_page_is_translated() -> None:
    name = "ELEMENT_WISE_CLIP"
    page = synthetic(name, "korean")
    assert differences(name, page.edited("row 5.0 OutputTensor", "출력", "Sarrera")) == ()
    page = synthetic(name, "pipes")
    text = page.edited("row 5.0 OutputTensor", "| Output", "| Sarrera")
    assert_found(name, text, "support", page.at["row 5.0 OutputTensor"], "Sarrera")


@edited_page
def test_removed_and_repeated_rows_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for key, level, _, _ in rows_of(operator):
        assert_found(operator, page.replaced(key), "support", 0, f"level {level}", "nothing")
        text = page.replaced(key, page.line(key), page.line(key))
        assert_found(operator, text, "support", page.at[key] + 1, f"level {level}", "second row")


@edited_page
def test_added_removed_and_renamed_levels_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for support in TABLES.operators[operator].support:
        key = f"level {support.level}"
        old = support.level.replace(".", "_")
        text = page.edited(key, old, "6_1")
        assert_found(operator, text, "support", page.at[key], "level 6.1")
        assert_found(operator, text, "support", 0, key)
        assert_found(operator, page.replaced(key), "support", 0, key)
        assert_found(operator, page.edited(key, old, "9_9"), "support", page.at[key], "level 9.9")
        row = page.line(f"row {support.level} InputTensor")
        added = page.replaced(key, page.line(key).replace(old, "6_4"), row, page.line(key))
        assert_found(operator, added, "support", page.at[key], "level 6.4")
        assert_found(operator, page.replaced(key, page.line(key), page.line(key)), "support", page.at[key])
        bare = page.edited(key, " 이상" if layout == "korean" else " and above", "")
        assert any("heading" in item.item for item in differences(operator, bare)), show(operator, bare)
    first = TABLES.operators[operator].support[0].level
    orphan = page.at[f"row {first} InputTensor"] - 1
    assert_found(operator, page.replaced(f"level {first}"), "support", orphan, "outside a feature level's table")


@edited_page
def test_column_titles_that_change_for_one_level_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    levels = [support.level for support in TABLES.operators[operator].support]
    for level in levels[1:]:
        old, new = ("형식", "없음") if layout == "korean" else ("Supported", "Unsupported")
        text = page.edited(f"titles {level}", old, new)
        assert_found(operator, text, "support", page.at[f"level {level}"], "column titles")


# --------------------------------------------------------------------------------------- struct, members


@edited_page
def test_changed_fields_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for item in TABLES.operators[operator].struct:
        key = f"field {item.name}"
        text = page.edited(key, item.name, f"{item.name}2")
        assert_found(operator, text, "struct", page.at[key], f"field {item.name}2")
        assert_found(operator, text, "struct", 0, key)
        assert_found(operator, page.replaced(key), "struct", 0, key)
        text = page.replaced(key, page.line(key), page.line(key))
        assert_found(operator, text, "struct", page.at[key] + 1, "twice")
        old = item.type.removesuffix("*").split()[-1]
        assert_found(operator, page.edited(key, old, "UINT"), "struct", page.at[key], key, "UINT")
        if "const" in item.type:
            assert_found(operator, page.edited(key, "const ", ""), "struct", page.at[key], key)
            assert_found(operator, page.edited(key, "*", ""), "struct", page.at[key], key)


@edited_page
def test_added_reordered_and_broken_fields_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    names = [item.name for item in TABLES.operators[operator].struct]
    for first, second in pairwise(names):
        text = page.swapped(f"field {first}", f"field {second}")
        assert_found(operator, text, "struct", page.at[f"field {first}"], "order")
    key = f"field {names[-1]}"
    text = page.replaced(key, page.line(key), "  FLOAT Epsilon;")
    assert_found(operator, text, "struct", page.at[key] + 1, "FLOAT Epsilon")
    assert_found(operator, page.edited(key, ";", ""), "struct", 0 if layout == "stripped" else page.at[key])
    if layout != "stripped":
        other = page.edited("struct", operator, "ELEMENT_WISE_ABS")
        assert_found(operator, other, "struct", page.at["struct"], "ELEMENT_WISE_ABS")
        other = page.edited("title", operator, "ELEMENT_WISE_ABS")
        assert_found(operator, other, "struct", page.at["title"], "ELEMENT_WISE_ABS")
        assert_found(operator, page.text.replace("};", ""), "struct", page.at["struct"], "closing brace")
        assert_found(operator, page.edited("struct", "struct ", ""), "struct", page.at["struct"], "unread")
    text = page.edited("header", "directml.h", "other.h")
    assert_found(operator, text, "struct", page.at["header"], "other.h")


@edited_page
def test_changed_member_types_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for item in TABLES.operators[operator].struct:
        key = f"member {item.name}"
        old = item.type.removesuffix("*").split()[-1]
        assert_found(operator, page.edited(key, old, "UINT"), "struct", page.at[key], "UINT")
        assert_found(operator, page.edited(key, old, "a number"), "struct", page.at[key], "a number")
        if "SCALE_BIAS" in item.type:
            text = page.edited(key, "_Maybenull_ ", "")
            assert_found(operator, text, "scale-bias", page.at[key], "not optional")
        else:
            text = page.edited(key, ": ", ": _Maybenull_ ")
            assert_found(operator, text, "struct", page.at[key], "optional")
        if layout != "stripped":
            assert_found(operator, page.replaced(key), "struct", 0, key)


@edited_page
def test_changed_enumerators_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    names = enumerators(TABLES.operators[operator])
    for name in names:
        key = f"enumerator {name}"
        text = page.edited(key, name, "UPWARD")
        assert_found(operator, text, "enumerators", page.at[key], "UPWARD")
        assert_found(operator, text, "enumerators", 0, name)
        assert_found(operator, page.replaced(key), "enumerators", 0, name)
    for first, second in pairwise(names):
        text = page.swapped(f"enumerator {first}", f"enumerator {second}")
        assert_found(operator, text, "enumerators", page.at[f"enumerator {first}"], "order")
        if layout != "korean":
            here, there = page.line(f"enumerator {first}"), page.line(f"enumerator {second}")
            mixed = Synthetic(list(page.lines), page.at)
            mixed.lines[page.at[f"enumerator {first}"] - 1] = f"{here.split(':')[0]}:{there.split(':')[1]}"
            mixed.lines[page.at[f"enumerator {second}"] - 1] = f"{there.split(':')[0]}:{here.split(':')[1]}"
            for name in (first, second):
                assert_found(operator, mixed.text, "quotation", page.at[f"enumerator {name}"])


# --------------------------------------------------------------------------------------------- formulas


@edited_page
def test_changed_formulas_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    if "f" not in page.at:
        added = page.replaced("in-place", "f(x) = round(x)", page.line("in-place"))
        assert_found(operator, added, "formula", page.at["in-place"], "round(x)")
        return
    where = page.at["f"]
    line = page.line("f")
    edits = [
        line.replace("max", "m").replace("min", "max").replace("m(M", "min(M").replace("m(x", "min(x"),
        line.replace("Min", "Q").replace("Max", "Min").replace("Q", "Max"),
        line.replace("(x) =", "(y) ="),
        line.replace("f(x)", "h(x)"),
        line + " + 1",
        line + " if x is finite",
        line[:-1],
        line.replace("x, M", "-x, M"),
        line.replace(", ", "; "),
    ]
    for edit in edits:
        assert edit != line
        assert_found(operator, page.replaced("f", edit), "formula", where)
    right = line.index("=") + 1
    for token in re.compile(r"\w+|[^\w\s]").finditer(line, right):
        edit = line[: token.start()] + line[token.end() :]
        assert_found(operator, page.replaced("f", edit), "formula", where)
    assert_found(operator, page.replaced("f"), "formula", 0, "nothing")
    redundant = page.replaced("f", line.replace("= ", "= (") + ")")
    assert_found(operator, redundant, "formula", where, "it means the same")
    if layout != "korean":
        for old, new in (("larger", "smaller"), ("smaller", "larger")):
            if old in page.line("definition"):
                text = page.edited("definition", old, new)
                assert_found(operator, text, "formula", page.at["definition"], f"the {new}")


@edited_page
def test_a_formula_may_be_spaced_and_broken_otherwise(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    if "f" in page.at and layout == "korean":
        for line in (
            page.line("f").replace(" ", ""),
            page.line("f") + ".",
            page.line("f").replace(", ", ",\n"),
        ):
            assert differences(operator, page.replaced("f", line)) == ()


@edited_page
def test_changed_scale_and_bias_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    if "g" not in page.at:
        added = page.replaced("in-place", page.line("in-place"), "g(x) = x * scale + bias")
        assert_found(operator, added, "scale-bias", page.at["in-place"] + 1)
        return
    for new in (
        "x * bias + scale", "x + scale * bias", "(x + bias) * scale", "x * scale - bias", "x * scale",
        "x * scale + bias + 1", "x * scale + bias * 2", "x / scale + bias", "x × scale + bias",
        "x scale + bias",
    ):  # fmt: skip
        assert_found(operator, page.edited("g", "x * scale + bias", new), "scale-bias", page.at["g"])
    assert_found(operator, page.replaced("g"), "scale-bias", 0, "nothing")


def test_a_formula_that_is_not_the_oracles_is_found() -> None:
    table = TABLES.operator("CLIP")
    wrong = table.model_copy(update={"formula": "min(Max, max(x, Min))"})
    page = read_page(synthetic("ELEMENT_WISE_CLIP", "plain").text, "page.txt")
    assert [item.item for item in compare(page, wrong)] == ["meaning of the formula"]


# -------------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize("operator, layout", [pair for pair in EDITED if pair[1] in ENGLISH])
def test_every_changed_word_of_a_quotation_is_found(operator: str, layout: str) -> None:
    text = synthetic(operator, layout).text
    for words in quotations(TABLES.operators[operator]):
        tokens = words.split()
        places = range(len(tokens)) if layout == "plain" else [len(tokens) // 2]
        for place in places:
            changed = " ".join([*tokens[:place], f"{tokens[place]}s", *tokens[place + 1 :]])
            assert_found(operator, text.replace(words, changed), "quotation", 0, repr(words))


@pytest.mark.parametrize("operator, layout", [pair for pair in EDITED if pair[1] in ENGLISH])
def test_a_quotation_may_be_broken_over_lines(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    words = "OutputTensor is permitted to alias InputTensor during binding"
    assert differences(operator, page.edited("in-place", words, words.replace("alias ", "alias\n"))) == ()


@edited_page
def test_a_changed_introduction_is_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    old = TABLES.operators[operator].introduced.replace(".", "_")
    text = page.edited("introduced", old, "4_0")
    assert_found(operator, text, "introduced", page.at["introduced"], "level 4.0")
    assert_found(operator, page.replaced("introduced"), "introduced", 0)
    if layout != "korean":
        text = page.edited("introduced", "introduced", "deprecated")
        assert_found(operator, text, "introduced", page.at["introduced"], "deprecated")


@edited_page
def test_a_changed_constraint_is_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    where = page.at["constraint"]
    words = ["DataType", "DimensionCount", *(["Sizes"] if layout != "korean" else [])]
    for word in words:
        assert_found(operator, page.edited("constraint", word, ""), "constraint", where, f"no {word}")
    text = page.edited("constraint", "DataType", "DataType, Strides")
    assert_found(operator, text, "constraint", where, "says Strides")
    for tensor in ("InputTensor", "OutputTensor"):
        text = page.edited("constraint", tensor, "ScaleTensor")
        assert_found(operator, text, "constraint", where, f"no {tensor}")
        assert_found(operator, text, "constraint", where, "says ScaleTensor")
    assert_found(operator, page.replaced("constraint"), "constraint", 0)


@edited_page
def test_changed_permission_to_alias_is_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    where = page.at["in-place"]
    denial = " 않습니다" if layout == "korean" else " It is not."
    denied = page.replaced("in-place", page.line("in-place") + denial)
    assert_found(operator, denied, "in-place", where, "not permitted")
    text = page.edited("in-place", "InputTensor", "BTensor")
    assert_found(operator, text, "in-place", where, "no InputTensor")
    if layout != "korean":
        assert_found(operator, page.replaced("in-place"), "in-place", 0)
    else:
        without = read_page(page.replaced("in-place"), "page.txt")
        assert "in place" in " ".join(notes(without, TABLES.operators[operator]))
    stricter = TABLES.operators[operator].model_copy(update={"in_place": False})
    said = compare(read_page(page.text, "page.txt"), stricter)
    assert [(item.subject, item.where) for item in said] == [("in-place", where)]


@edited_page
def test_changed_casts_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for attribute in TABLES.operators[operator].attributes:
        if attribute.cast == "documented":
            text = page.edited("cast", attribute.name, "Other")
            assert_found(operator, text, "casting", 0, attribute.name)
        elif attribute.cast == "undocumented":
            sentence = f"{attribute.name} {'캐스팅' if layout == 'korean' else 'is cast to the type.'}"
            text = page.replaced("in-place", page.line("in-place"), sentence)
            assert_found(operator, text, "casting", page.at["in-place"] + 1, attribute.name)


@pytest.mark.parametrize("layout", ["stripped", "korean"])
@pytest.mark.parametrize("operator", list(TABLES.operators))
def test_every_token_of_the_fixed_parts_counts(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    last = TABLES.operators[operator].support[-1].level
    parts = [key for key in page.at if key.startswith(("field ", f"row {last}", "level ")) or key == "f"]
    for key in parts:
        line = page.line(key)
        for token in re.finditer(r"\w+|[^\w\s|]", line):
            changed = f"{line[: token.start()]}Q{line[token.end() :]}"
            text = page.replaced(key, changed)
            if token[0] not in ("입력", "출력"):
                assert differences(operator, text), changed


# --------------------------------------------------------------------------------- identifying, refusing


def test_each_difference_is_one_readable_line() -> None:
    page = synthetic("ELEMENT_WISE_CLIP", "plain")
    text = page.edited("row 5.0 InputTensor", "INT64, ", "", 1)
    said = [str(item) for item in differences("ELEMENT_WISE_CLIP", text)]
    assert said == [
        f"line {page.at['row 5.0 InputTensor']}: support: level 5.0, InputTensor: the page says no INT64; "
        "the table says INT64"
    ]
    assert show("ELEMENT_WISE_CLIP", page.replaced("f")).startswith("missing: formula: ")


@pytest.mark.parametrize("operator", list(TABLES.operators))
def test_a_page_without_names_is_recognised_after_any_one_edit(operator: str) -> None:
    page = synthetic(operator, "stripped")
    fields = [key for key in page.at if key.startswith("field ")]
    texts = [page.replaced(key) for key in page.at if key != "g"]
    texts += [page.edited(key, ";", "2;") for key in fields]
    for text in texts:
        assert identify(read_page(text, "page.txt"), TABLES).operator == operator


def test_the_structs_name_decides_where_the_title_is_lost_or_unknown() -> None:
    page = synthetic("ELEMENT_WISE_ROUND", "plain")
    assert identify(read_page(page.replaced("title"), "page.txt"), TABLES).short_name == "ROUND"
    misspelt = page.edited("title", "_ROUND_", "_RUOND_")
    assert identify(read_page(misspelt, "page.txt"), TABLES).short_name == "ROUND"


def test_an_operator_without_a_table_is_refused() -> None:
    text = synthetic("ELEMENT_WISE_ROUND", "plain").text.replace("ELEMENT_WISE_ROUND", "ELEMENT_WISE_ABS")
    with pytest.raises(PageError, match=r"no table describes ELEMENT_WISE_ABS; .*CLIP, ROUND, THRESHOLD"):
        identify(read_page(text, "abs.txt"), TABLES)


def test_a_page_that_fits_several_tables_is_refused() -> None:
    twin = TABLES.operator("CLIP").model_copy(update={"operator": "ELEMENT_WISE_CLIP1"})
    tables = Tables({**TABLES.operators, twin.operator: twin}, TABLES.rules, TABLES.latitudes, TABLES.digests)
    page = read_page(synthetic("ELEMENT_WISE_CLIP", "stripped").text, "page.txt")
    with pytest.raises(PageError, match="ELEMENT_WISE_CLIP and ELEMENT_WISE_CLIP1 equally; put"):
        identify(page, tables)


def test_a_page_that_fits_no_table_is_refused() -> None:
    lines = ["const DML_TENSOR_DESC *ATensor;", "DML_FEATURE_LEVEL_1_0 and above", "ATensor Input 4 FLOAT32"]
    with pytest.raises(PageError, match="fit no table"):
        identify(read_page("\n".join(lines), "page.txt"), TABLES)


@pytest.mark.parametrize(
    "text, cause",
    [
        ("", "page is empty"),
        (" \n\t\r\n\u00a0", "page is empty"),
        ("Nothing to see here", "not the page of an operator"),
        ("DML_FEATURE_LEVEL enumeration\nDML_FEATURE_LEVEL_1_0 and above", "not the page of an operator"),
        ("DML_ELEMENT_WISE_CLIP_OPERATOR_DESC structure (directml.h)", "truncated"),
        ("DML_ELEMENT_WISE_CLIP_OPERATOR_DESC\nDML_FEATURE_LEVEL_5_0 and above\nTensor Kind", "truncated"),
        ("PK\x03\x04\0\0", "unreadable"),
        ("caf\ufffd", "unreadable"),
        ("x" * 200_001, "unreadable"),
    ],
)
def test_texts_that_are_no_page_are_refused_with_cause_and_mend(text: str, cause: str) -> None:
    with pytest.raises(PageError, match=cause) as caught:
        read_page(text, "page.txt")
    assert str(caught.value) == f"page.txt: {caught.value.cause}; {caught.value.mend}"
    assert isinstance(caught.value, DmlctsError)
    assert caught.value.mend


def refused(text: str) -> bool:
    try:
        read_page(text, "page.txt")
    except PageError as error:
        return re.search("empty|truncated|not the page", error.cause) is not None
    return False


@edited_page
def test_a_page_cut_off_anywhere_is_refused_or_differs(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    last = page.at["header"] - 1
    for number in range(0, last, 3):
        text = "\n".join(page.lines[:number])
        assert refused(text) or differences(operator, text), number


def test_files_are_read_and_refused(tmp_path: Path) -> None:
    good = tmp_path / "clip.txt"
    good.write_bytes(b"\xef\xbb\xbf" + synthetic("ELEMENT_WISE_CLIP", "czech-header").text.encode())
    page: Page = load_page(good)
    assert page.name == "clip.txt"
    assert compare(page, identify(page, TABLES)) == ()
    bad = tmp_path / "latin.txt"
    bad.write_bytes(b"caf\xe9")
    missing = tmp_path / "missing.txt"
    for path, cause in ((bad, "byte 3 is not UTF-8"), (missing, "cannot be read"), (tmp_path, "read")):
        with pytest.raises(PageError, match=cause):
            load_page(path)


# ------------------------------------------------------------------------------------------------- chaos


def examine(text: str) -> None:
    """Read, identify and compare; only PageError may come of it."""
    try:
        page = read_page(text, "page.txt")
    except PageError:
        return
    for table in TABLES.operators.values():
        assert all("\n" not in str(item) for item in compare(page, table))
        notes(page, table)
    try:
        identify(page, TABLES)
    except PageError:
        return


quick = settings(max_examples=60, deadline=None, database=None)
PIECES = (
    "DML_ELEMENT_WISE_CLIP_OPERATOR_DESC", "struct", "{", "}", "};", ";", "const", "*", "FLOAT", "Min",
    "DML_TENSOR_DESC", "InputTensor", "Input", "1 to 8", "FLOAT32", ",", "|", "---|---|", "and above",
    "DML_FEATURE_LEVEL_1_0", "DML_FEATURE_LEVEL_", "introduced", "\n", "\n", "\r", "f(x) =", "g(x) =", "(", ")",
    "[", "not", "-", "+", "1", "0x", "1if", "max(", "Type:", "_Maybenull_", "_a_", "DataType", "Sizes", "in-place",
    "DML_ROUNDING_MODE_", "cast", "\\", "'", "\ud800",
)  # fmt: skip


@quick
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    examine(text)


@quick
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=60).map(" ".join))
def test_any_jumble_of_a_pages_words_is_read_or_refused(text: str) -> None:
    examine("const DML_TENSOR_DESC *InputTensor;\nDML_FEATURE_LEVEL_1_0 and above\nInputTensor Input 4 INT8\n" + text)


@quick
@given(st.sampled_from(EVERY), st.integers(0), st.integers(0, 80), st.text(max_size=8))
def test_any_edit_of_a_page_is_compared_or_refused(pair: tuple[str, str], start: int, cut: int, new: str) -> None:
    text = synthetic(*pair).text
    place = start % len(text)
    examine(text[:place] + new + text[place + cut :])


@pytest.mark.parametrize(
    "formula",
    ["not " * 200 + "x", "-" * 900 + "x", "(" * 300 + "x", "f(x) = " * 100, "max(" * 200, "x" * 5000, "1" * 900,
     "1if x", "'\\d'", "x if x else 1", "\ud800", "lambda: x"],
    ids=range(12),
)  # fmt: skip
def test_formulas_beyond_the_language_are_differences(formula: str) -> None:
    page = synthetic("ELEMENT_WISE_CLIP", "korean")
    for key, subject in (("f", "formula"), ("g", "scale-bias")):
        text = page.replaced(key, f"{key}(x) = {formula}")
        assert_found("ELEMENT_WISE_CLIP", text, subject, page.at[key])


# -------------------------------------------------------------------------------------------- real pages

FOLDER = os.environ.get("DMLCTS_PAGES")

if FOLDER:
    REAL = sorted(Path(FOLDER).glob("*.txt"))

    def test_the_folder_holds_pages() -> None:
        assert REAL, f"no *.txt in DMLCTS_PAGES={FOLDER}"

    @pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
    def test_a_real_page_and_its_table_agree(path: Path) -> None:
        page = load_page(path)
        assert [str(item) for item in compare(page, identify(page, TABLES))] == []
