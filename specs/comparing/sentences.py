"""The sentences of a page against its table and those known: introduction, constraint, aliasing, casts, quotations."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from dmlcts.specs.comparing.known import KnownSentences, digest
from dmlcts.specs.comparing.structs import enumerations, mentions
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.flow import lines_from
from dmlcts.specs.pages.page import Difference, Page
from dmlcts.specs.pages.sentences import Sentence, letters, sentences, shortened
from dmlcts.specs.pages.words import TENSOR, tensors_of

_SHARED = ("DataType", "DimensionCount", "Sizes", "Strides", "Flags", "TotalTensorSizeInBytes")
_SHARED_WORD = re.compile(rf"\b(?:{'|'.join(_SHARED)})\b", re.ASCII)
_ANCHOR = re.compile(r"\b(?:DataType|DimensionCount)\b", re.ASCII)
IN_PLACE = re.compile(r"[Ii]n-place|\b[Aa]lias|현재 위치 실행|별칭")
_REFUSED = re.compile(r"\b(?:not|no|never|cannot|forbidden|prohibited)\b|n't\b|않|없", re.IGNORECASE)
CASTING = re.compile(r"\b(?:cast|casts|casting|converted|rounded)\b|캐스팅|변환")


def compare_introduced(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The level at which the operator was introduced.

    Sentences that mention a level and speak of no introduction ("until level 3.0 the types must agree") are compared
    with the introduction's level only where no sentence of the page is about an introduction.
    """
    expected = f"level {table.introduced}"
    spoken_of = [mention for mention in page.levels if mention.introduced]
    if not page.levels:
        yield Difference(0, "introduced", "level", "nothing", expected)
    for mention in spoken_of or page.levels:
        if mention.level != table.introduced:
            yield Difference(mention.line, "introduced", "level", f"level {mention.level}", expected)
        elif page.locale == "en" and not mention.introduced:
            text = repr(page.lines[mention.line - 1])
            yield Difference(mention.line, "introduced", "sentence", text, f"introduced in {expected}")


def in_common(page: Page) -> tuple[int, frozenset[str], frozenset[str]]:
    """What the page's tensors must have in common: the first line, the words, the tensors named."""
    fields = {field.line for field in page.fields}
    first, words, tensors = 0, set[str](), set[str]()
    before = line = ""
    for index, following in enumerate(page.lines):
        before, line = line or before, following
        if index + 1 in fields or not _SHARED_WORD.search(line):
            continue
        if not (_ANCHOR.search(line) or TENSOR.search(line)):
            continue
        first = first or index + 1
        text = line
        if not TENSOR.search(line):
            text = f"{before} {text}"
        if not line.endswith((".", "。")):
            text = " ".join([text, *lines_from(page.lines, index + 1, 1)])
        words.update(_SHARED_WORD.findall(text))
        tensors.update(TENSOR.findall(text))
    return first, frozenset(words), frozenset(tensors)


def compare_constraint(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """What the page's tensors must have in common."""
    line, words, tensors = in_common(page)
    expected = ", ".join(table.in_common) or "nothing"
    if not line:
        if table.in_common:
            yield Difference(0, "constraint", "in common", "nothing", expected)
        return
    for word in table.in_common:
        if word not in words and (page.locale == "en" or word != "Sizes"):
            yield Difference(line, "constraint", "in common", f"no {word}", expected)
    for extra in sorted(words.difference(table.in_common)):
        yield Difference(line, "constraint", "in common", extra, expected)
    for tensor in tensors_of(table):
        if tensor not in tensors and table.in_common:
            yield Difference(line, "constraint", "tensors", f"no {tensor}", ", ".join(tensors_of(table)))
    for tensor in sorted(tensors.difference(tensors_of(table), _quoted_tensors(table, "constraint.attribute-type"))):
        yield Difference(line, "constraint", "tensors", tensor, ", ".join(tensors_of(table)))


def _quoted_tensors(table: OperatorTable, check: str) -> set[str]:
    """The tensors that the page names where the table quotes it for a check; some of its names are no members."""
    quoted = [clause.quotation.words for clause in table.clauses if clause.check == check and clause.quotation]
    return {tensor for words in quoted for tensor in TENSOR.findall(words)}


def compare_in_place(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """Whether the page permits execution in place, and of which tensors it says so."""
    matches = page.flow.matching(IN_PLACE)
    if not matches and table.in_place and page.locale == "en":
        yield Difference(0, "in-place", "execution", "nothing", "that it is permitted")
    for number, line in matches:
        permitted = not _REFUSED.search(line)
        if permitted != table.in_place:
            words = ("permitted", "not permitted")
            here, there = words if permitted else words[::-1]
            yield Difference(number, "in-place", "execution", f"it is {here}", f"it is {there}")
        elif permitted and len(tensors_of(table)) == 2:
            sentence = [line] if line.endswith((".", "。")) else lines_from(page.lines, number - 1, 2)
            expected = set(tensors_of(table)) & _quoted_tensors(table, "in-place")
            for tensor in expected.difference(TENSOR.findall(" ".join(sentence))):
                yield Difference(number, "in-place", "tensors", f"no {tensor}", ", ".join(tensors_of(table)))


def compare_casting(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """A cast that the table calls undocumented and the page describes, or the other way round."""
    described = page.flow.matching(CASTING)
    for attribute in table.attributes:
        name = re.compile(rf"\b{attribute.name}\b", re.ASCII)
        matches = [(number, line) for number, line in described if name.search(line)]
        if attribute.cast == "undocumented":
            for number, line in matches:
                yield Difference(number, "casting", attribute.name, repr(line), "that the page is silent")
        elif attribute.cast == "documented" and not matches and (described or page.locale == "en"):
            yield Difference(0, "casting", attribute.name, "nothing", "that the page says how it is cast")


def compare_quotations(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The table's quotations on an English page, each at the enumerator that its clause is about."""
    if page.locale != "en":
        return
    flow = page.flow
    clauses: dict[str, list[str]] = {}
    for clause in table.clauses:
        if clause.quotation and clause.quotation.source == "page":
            clauses.setdefault(clause.quotation.words, []).append(clause.id)
    for words, identifiers in clauses.items():
        if not any(True for _ in flow.occurrences(words)):
            yield Difference(0, "quotation", ", ".join(identifiers), "nothing like it", repr(words))
    for prefix, enumerators in enumerations(table):
        places = mentions(page, prefix)
        offsets = [offset for offset, _ in places]
        for clause in table.clauses:
            about = [name for name in enumerators if re.search(rf"\b{name}\b", clause.text)]
            if len(about) != 1 or not clause.quotation or clause.quotation.source != "page":
                continue
            if f"{prefix}_{about[0]}" in clause.quotation.words:
                continue  # it names its enumerator itself
            for occurrence in flow.occurrences(clause.quotation.words):
                index = bisect_left(offsets, occurrence)
                if index and places[index - 1][1] != about[0]:
                    line = flow.line(occurrence)
                    names = places[index - 1][1], about[0]
                    here, wanted = (f"{name}: {clause.quotation.words!r}" for name in names)
                    yield Difference(line, "quotation", clause.id, here, wanted)


def unquoted(page: Page, table: OperatorTable) -> list[Sentence]:
    """The sentences of an English page that share no words with a quotation of the table."""
    quotations = [clause.quotation for clause in table.clauses if clause.quotation is not None]
    quoted = [letters(quotation.words) for quotation in quotations if quotation.source == "page"]

    def is_quoted(sentence: Sentence) -> bool:
        words = letters(sentence.text)
        return any(quote in words or words in quote for quote in quoted)

    return [candidate for candidate in sentences(page) if not is_quoted(candidate)]


def compare_known(page: Page, known: KnownSentences) -> Iterator[Difference]:
    """The sentences of an English page against those that its operator's pages are known to have.

    Before the first sentence that is known stands what a site puts around a page.

    Args:
        page: the page.
        known: the sentences of the pages of its operator that were read for the tables.
    """
    here = [(sentence, digest(sentence.text)) for sentence in sentences(page)]
    first = next((place for place, (_, mark) in enumerate(here) if mark in known), len(here))
    if page.title is not None:
        begun = page.title.line
        first = min(
            first, next((place for place, (sentence, _) in enumerate(here) if sentence.line > begun), len(here))
        )
    for sentence, mark in here[first:]:
        if mark not in known:
            yield Difference(
                sentence.line, "sentence", "a sentence", repr(shortened(sentence.text)), "that no page known has it"
            )
    missing = len(known.always - {mark for _, mark in here})
    if missing:
        text = f"{missing} that the pages known have"
        yield Difference(0, "sentence", "sentences", "nothing of them", text)
