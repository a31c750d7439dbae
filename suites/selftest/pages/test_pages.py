"""Pages against tables: synthetic pages compare clean in every layout, and what is no page is refused.

``DMLCTS_PAGES=folder`` adds a test for each real page (``*.txt``) in that folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.specs.comparing import compare, notes
from dmlcts.specs.errors import DmlctsError
from dmlcts.specs.pages import Page, PageError, formulas, identify, load_page, read_page
from dmlcts.specs.pages.flow import Flow
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.pages.synthetic_pages import (
    TABLES,
    differences,
    edited_page,
    every_page,
    rows_of,
    show,
    synthetic,
)

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
def test_what_was_not_checked_is_stated(operator: str, layout: str) -> None:
    page = read_page(synthetic(operator, layout).text, "page.txt")
    text = " ".join(notes(page, TABLES.operators[operator]))
    assert ("quotations" in text) == (layout == "korean")
    assert ("Sizes" in text) == (layout == "korean")
    assert ("names no operator" in text) == (layout == "stripped")


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


# --------------------------------------------------------------------------------- identifying, refusing


def test_each_difference_is_one_readable_line() -> None:
    page = synthetic("ELEMENT_WISE_CLIP", "plain")
    text = page.edited("row 5.0 InputTensor", "INT64, ", "", 1)
    lines = [str(item) for item in differences("ELEMENT_WISE_CLIP", text)]
    assert lines == [
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
        ("DML_ELEMENT_WISE_CLIP_OPERATOR_DESC\n" + "g(x) = [" * 23_750, "unreadable: line 2 is longer than"),
        ("x" * 10_001, "unreadable: line 1 is longer than"),
    ],
)
def test_texts_that_are_no_page_are_refused_with_cause_and_mend(text: str, cause: str) -> None:
    with pytest.raises(PageError, match=cause) as caught:
        read_page(text, "page.txt")
    assert str(caught.value) == f"page.txt: {caught.value.cause}; {caught.value.mend}"
    assert isinstance(caught.value, DmlctsError)
    assert caught.value.mend


@pytest.mark.parametrize("formula", ["f(x) = ", "g(x)= ", "g(x) = [", "f(x) =\n"])
def test_a_page_of_nothing_but_formulas_is_refused_before_all_are_read(
    formula: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[int] = []
    whole = formulas._expression_end

    def counted(flow: Flow, start: int) -> int:
        ends.append(start)
        return whole(flow, start)

    monkeypatch.setattr(formulas, "_expression_end", counted)
    page = synthetic("ELEMENT_WISE_CLIP", "plain").text
    hostile = "\n".join([formula * 1000] * (190_000 // len(formula) // 1000))
    with pytest.raises(PageError, match=r"unreadable: it has more than 200 formulas; save"):
        read_page(f"{page}\n{hostile}", "page.txt")
    assert len(ends) <= 201


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
