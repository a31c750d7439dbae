"""Sentences that no clause quotes: listed, and compared by digests where the operator's pages are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from dmlcts.specs.comparing import compare, notes
from dmlcts.specs.comparing.known import KnownSentences, document_of, known_sentences
from dmlcts.specs.loading import load_tables
from dmlcts.specs.pages import read_page
from dmlcts.specs.pages.sentences import sentences
from dmlcts.suites.commands.spec import spec
from dmlcts.suites.selftest.pages.synthetic_pages import Synthetic, page_of

TABLES = load_tables()
POW = TABLES.operators["ELEMENT_WISE_POW"]
ADD1 = TABLES.operators["ELEMENT_WISE_ADD1"]
IS_INFINITY = TABLES.operators["ELEMENT_WISE_IS_INFINITY"]
PROSE = (
    "Of two numbers the left one is the base, which may be negative.",
    "Until DML_FEATURE_LEVEL_3_0, both have to be of one type.",
    "An output of -inf stands for an overflow below 2 elements.",
)  # our own words, as a page might put them
EDITS: dict[str, Callable[[str], str]] = {
    "a word left out": lambda text: text.replace("may be negative", "may negative"),
    "a negation": lambda text: text.replace("may be negative", "may not be negative"),
    "another word": lambda text: text.replace("the left one", "the right one"),
    "another number": lambda text: text.replace("2 elements", "3 elements"),
    "another level in a remark": lambda text: text.replace("LEVEL_3_0, both", "LEVEL_4_0, both"),
    "a sign": lambda text: text.replace("-inf", "inf"),
    "a sentence more": lambda text: text.replace(PROSE[0], f"{PROSE[0]} It must not be zero on any device."),
    "a sentence less": lambda text: text.replace(PROSE[1], ""),
}


def page() -> Synthetic:
    made = page_of(POW, "plain")
    made.lines[made.at["introduced"] - 1 : made.at["introduced"] - 1] = PROSE
    return made


def known() -> KnownSentences:
    row = document_of([read_page(page().text, "page.txt")], TABLES)["operators"]["ELEMENT_WISE_POW"]
    return KnownSentences(frozenset(row["always"]))


def differences(text: str, sentences_known: KnownSentences | None) -> list[str]:
    return [str(difference) for difference in compare(read_page(text, "page.txt"), POW, sentences_known)]


def test_a_page_that_is_known_has_no_differences() -> None:
    assert differences(page().text, known()) == []


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_where_no_clause_quotes_is_found(edit: Callable[[str], str]) -> None:
    text = edit(page().text)
    assert text != page().text
    assert any("sentence" in line for line in differences(text, known()))


@pytest.mark.parametrize(
    "layout",
    [
        lambda text: text.replace("Of two numbers", "  -  Of two\tnumbers"),
        lambda text: text.replace("which may be", "which\nmay be"),
        lambda text: text.replace("DML_FEATURE_LEVEL_3_0", "`DML_FEATURE_LEVEL_3_0`"),
        lambda text: "Note\nAccess to this site requires a login.\n" + text,
    ],
    ids=["bullet", "broken line", "code", "a site's words before the page"],
)
def test_layout_is_no_edit(layout: Callable[[str], str]) -> None:
    assert layout(page().text) != page().text
    assert differences(layout(page().text), known()) == []


def test_sentences_that_no_clause_quotes_are_listed() -> None:
    read = read_page(page().text, "page.txt")
    text = "\n".join(notes(read, POW))
    assert all(sentence in text for sentence in PROSE)
    assert "is not known" in text
    assert "is not known" not in "\n".join(notes(read, POW, known()))


def test_a_level_in_a_remark_is_no_introduction() -> None:
    text = page().text
    assert differences(text, None) == []
    assert any("introduced" in line for line in differences(text.replace("introduced in", "mentioned in"), None))


def test_a_fused_operator_is_optional_on_the_page() -> None:
    text = page_of(ADD1, "plain").text
    assert compare(read_page(text, "page.txt"), ADD1) == ()
    without = text.replace("_Maybenull_ const DML_OPERATOR_DESC*", "const DML_OPERATOR_DESC*")
    assert without != text
    assert [difference.item for difference in compare(read_page(without, "page.txt"), ADD1)] == [
        "type of the member FusedActivation"
    ]


def test_a_quotation_that_names_its_enumerator_stands_where_it_stands() -> None:
    """Its words begin before the enumerator's name, behind that of the one before."""
    assert compare(read_page(page_of(IS_INFINITY, "plain").text, "page.txt"), IS_INFINITY) == ()


def test_what_is_kept_are_digests_of_operators_that_exist() -> None:
    for name, row in known_sentences().items():
        assert name in TABLES.operators
        assert row.always
        assert all(len(mark) == 12 and int(mark, 16) >= 0 for mark in row.always | row.some)


def test_the_kept_file_can_be_printed_anew(tmp_path) -> None:
    path = tmp_path / "pow.txt"
    path.write_text(page().text, encoding="utf-8")
    printed = CliRunner().invoke(spec, ["compare", "--known", str(path)]).output
    assert "dmlcts/known-sentences/1" in printed
    assert all(mark in printed for mark in known().always)
    assert len(known().always) == len({sentence.text for sentence in sentences(read_page(page().text, "page.txt"))})
