"""Whatever a page holds, it is read and compared, or refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.comparing import compare, notes
from dmlcts.specs.pages import PageError, identify, read_page
from dmlcts.suites.selftest.pages.synthetic_pages import EVERY, TABLES, assert_found, synthetic


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
    "DML_ELEMENT_WISE_CLIP_OPERATOR_DESC",
    "struct",
    "{",
    "}",
    "};",
    ";",
    "const",
    "*",
    "FLOAT",
    "Min",
    "DML_TENSOR_DESC",
    "InputTensor",
    "Input",
    "1 to 8",
    "FLOAT32",
    ",",
    "|",
    "---|---|",
    "and above",
    "DML_FEATURE_LEVEL_1_0",
    "DML_FEATURE_LEVEL_",
    "introduced",
    "\n",
    "\n",
    "\r",
    "f(x) =",
    "g(x) =",
    "(",
    ")",
    "[",
    "not",
    "-",
    "+",
    "1",
    "0x",
    "1if",
    "max(",
    "Type:",
    "_Maybenull_",
    "_a_",
    "DataType",
    "Sizes",
    "in-place",
    "DML_ROUNDING_MODE_",
    "cast",
    "\\",
    "'",
    "\ud800",
)


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
    [
        "not " * 200 + "x",
        "-" * 900 + "x",
        "(" * 300 + "x",
        "f(x) = " * 100,
        "max(" * 200,
        "x" * 5000,
        "1" * 900,
        "1if x",
        "'\\d'",
        "x if x else 1",
        "\ud800",
        "lambda: x",
    ],
    ids=range(12),
)
def test_formulas_beyond_the_language_are_differences(formula: str) -> None:
    page = synthetic("ELEMENT_WISE_CLIP", "korean")
    for key, subject in (("f", "formula"), ("g", "scale-bias")):
        text = page.replaced(key, f"{key}(x) = {formula}")
        assert_found("ELEMENT_WISE_CLIP", text, subject, page.at[key])
