"""`dmlcts spec compare` on pages of the whole family, made from the tables: clean; each planted fault is reported."""

from __future__ import annotations

from dmlcts.specs.comparing import compare
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages import identify, read_page
from dmlcts.suites.mutants.first_three import FIRST_THREE
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.looped_cases import looped
from dmlcts.suites.selftest.pages.synthetic_pages import Synthetic, page_of

TABLES = [table for table in family().operators.values() if table.operator not in FIRST_THREE]
every_table = looped("table", TABLES, ids=lambda table: table.short_name)


def reported(table: OperatorTable, text: str) -> list[str]:
    return [str(difference) for difference in compare(read_page(text, "page.txt"), table)]


def by_cases(page: Synthetic, table: OperatorTable) -> str:
    """The page with each case of its formula on a line of its own, as the pages print them."""
    return page.replaced("f", *(table.page_formula or "").split("; "))


@every_table
def test_a_faithful_page_has_no_differences(table: OperatorTable) -> None:
    page = page_of(table, "plain")
    assert identify(read_page(page.text, "page.txt"), family()) is table
    assert reported(table, page.text) == []
    if table.page_formula:
        assert reported(table, by_cases(page, table)) == []


@every_table
def test_another_formula_is_reported(table: OperatorTable) -> None:
    page = page_of(table, "plain")
    if table.page_formula is None:
        (text,) = reported(table, page.text.replace("This text", "f(x) = x + 1\nThis text"))
        assert "that the page has none" in text
        return
    left, right = table.page_formula.split(" = ", 1)
    text = reported(table, page.replaced("f", f"{left} = 3 + {right}"))
    assert any(item.startswith("line ") and "formula" in item and "3 + " in item for item in text), text
    cases = table.page_formula.split("; ")
    if len(cases) > 1:
        text = reported(table, page.replaced("f", *cases[:-1], "7, otherwise"))
        assert any(f"case {len(cases)} of the formula" in item for item in text), text


@every_table
def test_what_a_support_row_lacks_is_reported(table: OperatorTable) -> None:
    page = page_of(table, "plain")
    for support in table.support:
        for row in table.support_rows(support):
            key = f"row {support.level} {row.tensor}"
            if len(row.data_types) > 1:
                texts = reported(table, page.edited(key, f"{row.data_types[0]}, ", "", 1))
                assert any(f"no {row.data_types[0]}" in text and row.tensor in text for text in texts), (key, texts)
            texts = reported(table, page.edited(key, row.data_types[-1], f"{row.data_types[-1]}, INT4"))
            assert any("INT4" in text for text in texts), (key, texts)


@every_table
def test_a_changed_sentence_is_reported(table: OperatorTable) -> None:
    page = page_of(table, "plain")
    shared = page.line("constraint")
    word = "Sizes" if "Sizes" in shared else "DimensionCount"
    assert any(word in item for item in reported(table, page.replaced("constraint", shared.replace(word, "Flags"))))
    if table.in_place:
        assert any(
            "in-place" in item for item in reported(table, page.edited("in-place", "permitted", "not permitted"))
        )
    else:
        text = page.text + "\nIt works in-place, so the output tensor is permitted to alias the input tensor."
        assert any("in-place" in item for item in reported(table, text))


def test_the_page_may_name_enumerators_in_another_order_before_its_list() -> None:
    table = family().operator("IS_INFINITY")
    page = page_of(table, "plain")
    assert page.text.index("MODE_POSITIVE") < page.text.index("MODE_EITHER")  # the formula
    assert reported(table, page.text) == []
    texts = reported(table, page.swapped("enumerator EITHER", "enumerator NEGATIVE"))
    assert any("order of DML_IS_INFINITY_MODE" in text for text in texts), texts


def test_what_a_subnormal_logarithm_breaks_quotes_the_function() -> None:
    """Not what the page says of 0 alone: a subnormal that is neither kept nor flushed breaks the same clause."""
    clause = load_tables().clause("log.accuracy")
    assert clause.quotation is not None
    assert clause.quotation.words == "f(x) = ln(x)"
    assert "subnormal" in clause.text
