"""Every edit of a page's formulas that matters is found."""

# ruff: noqa: RUF001 - dashes and signs that pages hold

from __future__ import annotations

import re

from dmlcts.specs.comparing import compare
from dmlcts.specs.pages import read_page
from dmlcts.suites.selftest.pages.synthetic_pages import TABLES, assert_found, differences, edited_page, synthetic


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
        "x * bias + scale",
        "x + scale * bias",
        "(x + bias) * scale",
        "x * scale - bias",
        "x * scale",
        "x * scale + bias + 1",
        "x * scale + bias * 2",
        "x / scale + bias",
        "x × scale + bias",
        "x scale + bias",
    ):
        assert_found(operator, page.edited("g", "x * scale + bias", new), "scale-bias", page.at["g"])
    assert_found(operator, page.replaced("g"), "scale-bias", 0, "nothing")


def test_a_formula_that_is_not_the_oracles_is_found() -> None:
    table = TABLES.operator("CLIP")
    wrong = table.model_copy(update={"formula": "min(Max, max(x, Min))"})
    page = read_page(synthetic("ELEMENT_WISE_CLIP", "plain").text, "page.txt")
    assert [item.item for item in compare(page, wrong)] == ["meaning of the formula"]
