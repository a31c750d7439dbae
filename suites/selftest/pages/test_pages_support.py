"""Every edit of a page's support tables that matters is found."""

# ruff: noqa: RUF001 - dashes and signs that pages hold

from __future__ import annotations

import pytest

from dmlcts.specs.datatypes import DataType
from dmlcts.suites.selftest.pages.synthetic_pages import (
    LAYOUTS,
    TABLES,
    assert_found,
    differences,
    edited_page,
    replacing,
    rows_of,
    show,
    synthetic,
)


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
            message = f"{name} 2 times" if name in types else f"the page says {name};"
            assert_found(operator, text, "support", page.at[key], f"level {level}", message)


@edited_page
def test_unknown_repeated_and_broken_data_types_are_found(operator: str, layout: str) -> None:
    page = synthetic(operator, layout)
    for old, new, message in (
        ("FLOAT16", "FLAOT16", "FLAOT16, which is no data type"),
        ("FLOAT16", "FLOAT16, FLOAT16", "FLOAT16 2 times"),
        ("FLOAT32,", "FLOAT32", "unreadable"),
        ("FLOAT32, ", ", ", "unreadable"),
        ("FLOAT32, ", "and ", "unreadable"),
    ):
        text, rows = page.edited_rows(operator, replacing(old, new))
        assert len(rows) == len(list(rows_of(operator)))
        for key, *_ in rows:
            assert_found(operator, text, "support", page.at[key], message)


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
