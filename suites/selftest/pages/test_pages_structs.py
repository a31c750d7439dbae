"""Every edit of a page's struct, members and enumerators that matters is found."""

from __future__ import annotations

from itertools import pairwise

from dmlcts.suites.selftest.pages.synthetic_pages import (
    TABLES,
    Synthetic,
    assert_found,
    edited_page,
    enumerators,
    synthetic,
)


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
