"""Reading a page: whether its text is the page of an operator at all, and all that it says."""

# ruff: noqa: RUF001 - the look-alikes (wide colons, dashes, Cyrillic words) are what the pages hold

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from dmlcts.specs.files import read_bounded
from dmlcts.specs.pages.flow import Flow
from dmlcts.specs.pages.formulas import read_formulas
from dmlcts.specs.pages.levels import read_levels
from dmlcts.specs.pages.page import Locale, Page, PageError, PageField, PageMember, PageName, Unread
from dmlcts.specs.pages.words import HEADER, IDENTIFIER, c_type, normal

_LONGEST = 200_000
_LONGEST_LINE = 10_000
_MOST_FORMULAS = 200
_ENGLISH = frozenset(("the", "of", "and", "this", "which", "must", "with", "from", "into", "same"))
_TITLE = re.compile(r"[#*\s]*DML_([A-Z0-9_]+)_OPERATOR_DESC\b", re.ASCII)
_STRUCT = re.compile(rf"\bstruct (?P<name>{IDENTIFIER}) ?\{{", re.ASCII)
_ANNOTATION = r"(?:_[A-Za-z]\w*_(?:\([^()]*\))? )"
_TYPE = rf"(?:const )?{IDENTIFIER}(?: ?\*)*"
_FIELD = re.compile(rf"{_ANNOTATION}*(?P<type>{_TYPE})(?:(?<=\*)| )(?P<name>{IDENTIFIER})", re.ASCII)
_MEMBER = re.compile(
    rf"(?P<label>[^:：|;{{}}]{{1,24}})[:：] ?(?P<notes>{_ANNOTATION}*)"
    r"(?P<type>(?:const )?[A-Z][A-Z0-9_]*(?: ?\*)*)",
    re.ASCII,
)


_MOST_BYTES = 4 << 20


def load_page(path: str | Path) -> Page:
    """Read a page from a UTF-8 text file.

    Raises:
        PageError: the file cannot be read, or :func:`read_page` refuses its text.
    """
    name = Path(path).name or str(path)
    try:
        content = read_bounded(path, _MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PageError(name, f"cannot be read: {reason}", "give the path of a page's text") from None
    if len(content) > _MOST_BYTES:
        raise PageError(name, f"is larger than {_MOST_BYTES >> 20} MiB", "give the path of a page's text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PageError(name, f"byte {error.start} is not UTF-8", "save the page as UTF-8 text") from None
    return read_page(text, name)


def read_page(text: str, name: str) -> Page:
    """Read the text of an operator's page.

    Args:
        text: the page as plain text, in any of the layouts that the module describes.
        name: how messages call the page.

    Raises:
        PageError: the text is empty, is no text, is longer than a page, is not the page of an operator, or is
            cut off before its support tables.
    """
    if len(text) > _LONGEST:
        raise PageError(name, f"unreadable: longer than {_LONGEST} characters", "save one page only")
    if "\0" in text or "\ufffd" in text:
        raise PageError(name, "unreadable: it holds bytes that are no text", "save the page as UTF-8 text")
    lines = tuple(normal(line) for line in re.split(r"\r\n|\r|\n", text))
    too_long = next((number for number, line in enumerate(lines, 1) if len(line) > _LONGEST_LINE), 0)
    if too_long:
        cause = f"unreadable: line {too_long} is longer than {_LONGEST_LINE} characters"
        raise PageError(name, cause, "save the page as text, each paragraph on a line of its own")
    if not any(lines):
        raise PageError(name, "the page is empty", "save the page's text again")
    flow = Flow(lines)
    unread: list[Unread] = []
    struct, fields = _read_struct(lines, flow, unread)
    levels, support = read_levels(lines, unread)
    title = _read_title(lines)
    members = tuple(_read_members(lines, unread))
    tensors = any("DML_TENSOR_DESC" in field.type for field in fields)
    if title is None and struct is None and not tensors:
        raise PageError(
            name,
            "not the page of an operator: it has no DML_..._OPERATOR_DESC and no tensor fields",
            "give the text of an operator's page, such as that of DML_ELEMENT_WISE_CLIP_OPERATOR_DESC",
        )
    if not any(table.rows for table in support) and not any(item.subject == "support" for item in unread):
        raise PageError(name, "the page is truncated: it has no support table", "save it to its end")
    formulas = tuple(islice(read_formulas(flow), _MOST_FORMULAS + 1))
    if len(formulas) > _MOST_FORMULAS:
        raise PageError(name, f"unreadable: it has more than {_MOST_FORMULAS} formulas", "save one page only")
    return Page(
        name=name,
        lines=lines,
        locale=_guess_locale(flow.text),
        header=_read_header(lines),
        title=title,
        struct=struct,
        formulas=formulas,
        fields=fields,
        members=members,
        levels=levels,
        support=support,
        unread=tuple(unread),
    )


def _guess_locale(text: str) -> Locale:
    words = Counter(re.findall(r"[^\W\d_]+", text))
    english = sum(count for word, count in words.items() if word.lower() in _ENGLISH)
    foreign = sum(count for word, count in words.items() if not word.isascii())
    return "en" if english >= 3 and english > foreign else "other"


def _read_title(lines: Sequence[str]) -> PageName | None:
    for number, line in enumerate(lines, 1):
        if match := _TITLE.match(line):
            return PageName(number, match[1])
    return None


def _read_header(lines: Sequence[str]) -> str | None:
    headers = [match[0] for line in lines if ".h" in line for match in HEADER.finditer(line)]
    return headers[-1] if headers else None


def _read_struct(
    lines: Sequence[str], flow: Flow, unread: list[Unread]
) -> tuple[PageName | None, tuple[PageField, ...]]:
    fields: list[PageField] = []
    named: PageName | None = None
    match = _STRUCT.search(flow.text)
    end = flow.text.find("}", match.end()) if match else -1
    if match:
        line = flow.line(match.start())
        named = PageName(line, match["name"].removeprefix("DML_").removesuffix("_OPERATOR_DESC"))
        if end < 0:
            unread.append(Unread(line, "struct", "a struct without its closing brace", "a closed struct"))
    if match and end >= 0:
        for statement in re.finditer(r"[^;]+;?", flow.text[match.end() : end]):
            text = statement[0].strip()
            if not text:
                continue
            line = flow.line(match.end() + statement.start() + len(statement[0]) - len(statement[0].lstrip()))
            field = _FIELD.fullmatch(text.removesuffix(";").rstrip()) if text.endswith(";") else None
            if field:
                fields.append(PageField(line, c_type(field["type"]), field["name"]))
            else:
                unread.append(Unread(line, "struct", repr(text), "a field `type name;`"))
    else:
        for number, text in enumerate(lines, 1):
            if text.endswith(";") and (field := _FIELD.fullmatch(text.removesuffix(";").rstrip())):
                fields.append(PageField(number, c_type(field["type"]), field["name"]))
            elif not match and text.endswith(("{", "};")):
                unread.append(Unread(number, "struct", repr(text), "`struct DML_..._OPERATOR_DESC {`"))
    return named, tuple(fields)


def _read_members(lines: Sequence[str], unread: list[Unread]) -> Iterator[PageMember]:
    before = ""
    labels: set[str] = set()
    labelled = re.compile("[:：]")
    for number, line in enumerate(lines, 1):
        if labelled.search(line) and (match := _MEMBER.fullmatch(line)):
            labels.add(match["label"])
            heading = before if re.fullmatch(IDENTIFIER, before) else None
            yield PageMember(number, heading, c_type(match["type"]), "_Maybenull_" in match["notes"])
        before = line or before
    for number, line in enumerate(lines, 1):
        if labelled.split(line, maxsplit=1)[0] in labels and not _MEMBER.fullmatch(line):
            unread.append(Unread(number, "struct", repr(line), "the C type of a member"))
