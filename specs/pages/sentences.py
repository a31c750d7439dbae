"""The sentences of a page's prose: without headings, code, formulas on lines of their own, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.specs.pages.page import Page
from dmlcts.specs.pages.words import IDENTIFIER

_END = re.compile(r"(?<=[.!?])[\"”')\]]* +(?=[\"“(\[]*(?:[A-Z0-9•*-]|\bf\())")
_CODE = re.compile(r"\bstruct\b.*\{|\}|.*;$|[#|].*|.*\|.*|[-|: ]+$", re.ASCII)
_FORMULA = re.compile(r"[fg]\([^)]*\) ?=.*|.*(?:&&|\|\|)\)?.*", re.ASCII)
_LAYOUT = re.compile("[\\s*`'\"\\\\\u201c\u201d\u2018\u2019]+")
_DASHES = dict.fromkeys(map(ord, "\u2013\u2212"), "-")
_BULLET = re.compile(r"[-•*] +")
_LEAST_WORDS = 4
_MOST_SHOWN = 120
_HEADINGS = (
    "Syntax",
    "Members",
    "Remarks",
    "Availability",
    "Tensor constraints",
    "Tensor support",
    "In this article",
    "Note",
)
_AFTER_THE_PAGE = ("Requirements", "See also", "Feedback", "Additional resources")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page: the line on which it begins, and its words."""

    line: int
    text: str


def letters(text: str) -> str:
    """The text without what layouts change: white space, bullets, quotation marks, marks of code and emphasis."""
    bullet = _BULLET.match(text)
    bare = _LAYOUT.sub("", text[bullet.end() if bullet else 0 :])
    return bare.translate(_DASHES).lower()


def shortened(text: str) -> str:
    """The text, or its beginning where it is long."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def sentences(page: Page) -> list[Sentence]:
    """The sentences of the page's prose, in order; none of a page that is not in English."""
    return list(_parted(page)) if page.locale == "en" else []


def _runs(page: Page) -> Iterator[list[tuple[int, str]]]:
    """Stretches of lines of prose, each line with its number; what is no prose parts them."""
    headings = {*_HEADINGS, *(field.name for field in page.fields), *(support.titles for support in page.support)}
    members = {member.line for member in page.members}
    levels = {support.line for support in page.support}
    rows = {row.line for support in page.support for row in support.rows}
    last = max([*rows, 0])
    run: list[tuple[int, str]] = []
    in_struct = False
    for number, line in enumerate(page.lines, 1):
        in_struct = in_struct or bool(re.match(r"(?:typedef )?struct \w+ ?\{", line))
        closed = in_struct and "}" in line
        is_prose = (
            bool(line)
            and not in_struct
            and number not in members | levels | rows
            and not (line.strip("#* ") in headings or _FORMULA.fullmatch(line) or _CODE.fullmatch(line))
        )
        if closed:
            in_struct = False
        if last and number > last and line.strip("#* ") in _AFTER_THE_PAGE:
            break
        if is_prose and not (_is_heading(line) and not run):
            run.append((number, line))
            continue
        if is_prose:
            continue
        if line or not _goes_on(run):
            if run:
                yield run
            run = []
    if run:
        yield run


def _is_heading(line: str) -> bool:
    """Whether a line that begins a stretch is no sentence: it has few words and no full stop."""
    return not line.endswith((".", "!", "?", ",", ":")) and len(line.split()) < _LEAST_WORDS


def _goes_on(run: list[tuple[int, str]]) -> bool:
    """Whether an empty line stands in the midst of a sentence, as converters leave them around inline code."""
    return bool(run) and not run[-1][1].endswith((".", "!", "?", ":"))


def _parted(page: Page) -> Iterator[Sentence]:
    for run in _runs(page):
        starts: list[tuple[int, int]] = []
        text = ""
        for number, line in run:
            starts.append((len(text), number))
            text += f"{line} "
        offset = 0
        for part in _END.split(text):
            words = part.strip()
            place = text.index(part, offset)
            offset = place + len(part)
            place += len(part) - len(part.lstrip())
            begun = next(number for start, number in reversed(starts) if start <= place)
            if len(re.findall(IDENTIFIER, words)) >= _LEAST_WORDS:
                yield Sentence(begun, words)
