"""Every edit of a page's sentences that matters is found."""

from __future__ import annotations

import re

import pytest

from dmlcts.specs.comparing import compare, notes
from dmlcts.specs.pages import read_page
from dmlcts.suites.selftest.pages.synthetic_pages import (
    EDITED,
    ENGLISH,
    TABLES,
    assert_found,
    differences,
    edited_page,
    quotations,
    synthetic,
)


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
    table = TABLES.operators[operator]
    tensors = {name: row.model_copy(update={"may_alias": ()}) for name, row in table.tensors.items()}
    stricter = table.model_copy(update={"tensors": tensors})
    page_differences = compare(read_page(page.text, "page.txt"), stricter)
    assert [(item.subject, item.where) for item in page_differences] == [("in-place", where)]


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
