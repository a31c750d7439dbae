"""Operator pages read as text, and every point in which one differs from its table.

Microsoft edits the pages; this module tells which table has to follow, and in what. It reads the text of a
page as a browser, a converter or a scraper leaves it: with and without its title and headings, with the
support tables in plain or pipe-separated rows, in English and, for everything that is not prose, in other
languages::

    page = load_page("clip.txt")
    table = identify(page, tables)
    for difference in compare(page, table):
        print(difference)

What cannot be compared (the quotations, on a translated page) is said by :func:`notes`, never passed over.
"""

# ruff: noqa: RUF001 - the look-alikes (wide colons, dashes, Cyrillic words) are what the pages hold

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import DmlctsError, FormulaError
from dmlcts.specs.formula import Expression, parse
from dmlcts.specs.models import OperatorTable, SupportTable
from dmlcts.specs.tables import Tables

Locale = Literal["en", "other"]
Kind = Literal["Input", "Output"]
Subject = Literal[
    "formula", "struct", "support", "introduced", "constraint", "quotation", "in-place", "scale-bias",
    "enumerators", "casting",
]  # fmt: skip

_LONGEST = 200_000
_LONGEST_FORMULA = 300


class PageError(DmlctsError):
    """A text that cannot be compared at all: ``cause`` says why, ``mend`` what to do about it."""

    def __init__(self, name: str, cause: str, mend: str) -> None:
        super().__init__(f"{name}: {cause}; {mend}")
        self.name = name
        self.cause = cause
        self.mend = mend


@dataclass(frozen=True)
class Difference:
    """One point in which a page and its table differ.

    Attributes:
        where: the page's line, from 1; 0 for what the page lacks.
        subject: what it is about.
        item: the thing within the subject: "level 3.0, InputTensor", "field Min".
        page: what the page says.
        table: what the table says.
    """

    where: int
    subject: Subject
    item: str
    page: str
    table: str

    def __str__(self) -> str:
        place = f"line {self.where}" if self.where else "missing"
        return f"{place}: {self.subject}: {self.item}: the page says {self.page}; the table says {self.table}"


@dataclass(frozen=True)
class PageFormula:
    """A formula such as ``f(x) = max(x, Min)``: the function's letter, and both sides as written."""

    line: int
    function: str
    left: str
    right: str

    @property
    def text(self) -> str:
        """The whole formula, its white space normalised."""
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class PageField:
    """A field of the operator's struct, its type in the tables' spelling (``const DML_TENSOR_DESC*``)."""

    line: int
    type: str
    name: str


@dataclass(frozen=True)
class PageMember:
    """The type that the description of a member gives; without headings its name is unknown."""

    line: int
    name: str | None
    type: str
    optional: bool


@dataclass(frozen=True)
class PageRow:
    """A row of a support table; ``kind`` is ``None`` where ``kind_word`` is no known word."""

    line: int
    tensor: str
    kind: Kind | None
    kind_word: str
    ranks: tuple[int, int]
    data_types: tuple[str, ...]


@dataclass(frozen=True)
class PageSupport:
    """A support table: its level ("3.0"), the words of its heading and of its column titles, its rows."""

    line: int
    level: str
    heading: str
    titles: str
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class PageLevel:
    """A feature level mentioned outside the support tables; ``introduced``: in the words of introduction."""

    line: int
    level: str
    introduced: bool


@dataclass(frozen=True)
class PageName:
    """The name of an operator (``ELEMENT_WISE_CLIP``) and where the page gives it."""

    line: int
    operator: str


@dataclass(frozen=True)
class Unread:
    """A line that is about ``subject`` and could not be understood."""

    line: int
    subject: Subject
    text: str
    expected: str


@dataclass(frozen=True)
class Page:
    """What an operator's page says, read without regard to any table.

    Attributes:
        name: how the page is called in messages: its file name.
        lines: the page's lines, their white space normalised.
        locale: whether its prose is English.
        header: the C header it names.
        title: the operator that its title names.
        struct: the operator whose struct it shows.
        formulas: its formulas ``f(x) = ...`` and ``g(x) = ...``, in order.
        fields: the fields of the struct, in order.
        members: the types in the descriptions of the members, in order.
        levels: feature levels mentioned outside the support tables.
        support: its support tables, in order.
        unread: lines that should have been understood and were not.
    """

    name: str
    lines: tuple[str, ...]
    locale: Locale
    header: str | None
    title: PageName | None
    struct: PageName | None
    formulas: tuple[PageFormula, ...]
    fields: tuple[PageField, ...]
    members: tuple[PageMember, ...]
    levels: tuple[PageLevel, ...]
    support: tuple[PageSupport, ...]
    unread: tuple[Unread, ...]

    @property
    def operator(self) -> str | None:
        """The operator's name, from the title or else the struct; ``None`` where the page has neither."""
        named = self.title or self.struct
        return named.operator if named else None

    @property
    def introduced(self) -> str | None:
        """The level at which the operator was introduced."""
        said = sorted(self.levels, key=lambda level: not level.introduced)
        return said[0].level if said else None

    @cached_property
    def _flow(self) -> _Flow:
        return _Flow(self.lines)


class _Flow:
    """All lines as one text, single spaces between words, with the way back from an offset to a line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
        self.text = " ".join(line for _, line in numbered)
        self.numbers = [number for number, _ in numbered]
        self.starts: list[int] = []
        offset = 0
        for _, line in numbered:
            self.starts.append(offset)
            offset += len(line) + 1

    def line(self, offset: int) -> int:
        return self.numbers[bisect_right(self.starts, offset) - 1]

    def begins_line(self, offset: int) -> bool:
        return self.starts[bisect_right(self.starts, offset) - 1] == offset

    def end_of_line(self, offset: int) -> int:
        following = bisect_right(self.starts, offset)
        return self.starts[following] - 1 if following < len(self.starts) else len(self.text)

    def matching(self, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
        """The lines on which a match of ``pattern`` begins, with their numbers."""
        numbers = dict.fromkeys(self.line(found.start()) for found in pattern.finditer(self.text))
        return [(number, self.lines[number - 1]) for number in numbers]

    def occurrences(self, words: str) -> Iterator[int]:
        """The offsets at which ``words`` stand as whole words, white space normalised."""
        wanted = _normal(words)
        offset = self.text.find(wanted)
        while offset >= 0:
            around = self.text[max(0, offset - 1) : offset], self.text[offset + len(wanted) : offset + len(wanted) + 1]
            if not any(re.match(r"\w", character) for character in around):
                yield offset
            offset = self.text.find(wanted, offset + 1)


# ---------------------------------------------------------------------------------------------- reading

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_ENGLISH = frozenset(("the", "of", "and", "this", "which", "must", "with", "from", "into", "same"))
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_TITLE = re.compile(r"[#*\s]*DML_([A-Z0-9_]+)_OPERATOR_DESC\b", re.ASCII)
_STRUCT = re.compile(rf"\bstruct (?P<name>{_IDENTIFIER}) ?\{{", re.ASCII)
_HEADER = re.compile(r"\b[A-Za-z0-9_]+\.h\b", re.ASCII)
_ANNOTATION = r"(?:_[A-Za-z]\w*_(?:\([^()]*\))? )"
_TYPE = rf"(?:const )?{_IDENTIFIER}(?: ?\*)*"
_FIELD = re.compile(rf"{_ANNOTATION}*(?P<type>{_TYPE})(?:(?<=\*)| )(?P<name>{_IDENTIFIER})", re.ASCII)
_MEMBER = re.compile(
    rf"(?P<label>[^:：|;{{}}]{{1,24}})[:：] ?(?P<notes>{_ANNOTATION}*)"
    r"(?P<type>(?:const )?[A-Z][A-Z0-9_]*(?: ?\*)*)",
    re.ASCII,
)
_FUNCTION = re.compile(rf"\b([A-Za-z]) ?\( ?({_IDENTIFIER}(?: ?, ?{_IDENTIFIER})*) ?\) ?=(?!=) ?", re.ASCII)
_TOKEN = re.compile(
    rf" ?(?:(?P<operand>{_IDENTIFIER}|\d+(?:\.\d+)?)|(?P<operator>[-+*/%^<>=!&|?·×÷−]+)|(?P<open>[(\[])"
    r"|(?P<close>[)\]])|(?P<comma>,))",
    re.ASCII,
)
_LEVEL = re.compile(r"\bDML_FEATURE_LEVEL_([A-Za-z0-9_]+)", re.ASCII)
_INTRODUCED = re.compile(
    r"[Ii]ntrodu|도입|導入|引入|推出|zaveden|eingeführt|wprowadz|внедрен|введен|появил|sunul|tanıt|bevezet"
)
_TENSOR = re.compile(r"\b[A-Za-z_]\w*Tensor\w*\b", re.ASCII)
_LISTED_TYPE = re.compile(r"\b(?:FLOAT|U?INT)\d+\b", re.ASCII)
_RULE = re.compile(r"[\s|:+=-]+")
_FROM = "from|von|vom|van|von|od|de|da|från|fra|desde|от|с"
_TO = (
    "to|through|bis zu|bis|až do|až|do|à|al|a|até|tot|til|till|ila|–|—|‑|‒|−|-|~|～|〜|∼|до|по|至|到|"
    r"から|부터|에서|\.\.\.?|…"
)
_COUNTER = "개|개의|차원|까지|個|个|次元|まで"
_RANKS = rf"(?:(?:{_FROM}) )?\d{{1,3}}(?: ?(?:{_TO}) ?\d{{1,3}})? ?(?:{_COUNTER})?"
_RANK_CELL = re.compile(
    rf"(?:(?:{_FROM}) )?(?P<low>\d{{1,3}})(?: ?(?:{_TO}) ?(?P<high>\d{{1,3}}))? ?(?:{_COUNTER})?",
    re.IGNORECASE,
)
_PLAIN_ROW = re.compile(
    rf"(?P<tensor>{_IDENTIFIER}) (?P<kind>[^\d|]*?) ?(?P<ranks>{_RANKS}) "
    rf"(?P<types>{_IDENTIFIER}(?: ?, ?{_IDENTIFIER})*)",
    re.IGNORECASE,
)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        (
            "input", "입력", "入力", "输入", "輸入", "vstup", "eingabe", "entrada", "entrée", "wejście",
            "dane wejściowe", "вход", "входные данные", "giriş", "girdi", "invoer", "indata", "inndata",
            "bemenet",
        ),
        "Input",
    ),
    **dict.fromkeys(
        (
            "output", "출력", "出力", "输出", "輸出", "výstup", "ausgabe", "salida", "saída", "sortie",
            "wyjście", "dane wyjściowe", "выход", "выходные данные", "çıkış", "çıktı", "uitvoer", "utdata",
            "kimenet",
        ),
        "Output",
    ),
}  # fmt: skip
_ROW_SHAPE = "a row of tensor, kind, dimension counts and data types"


def _normal(text: str) -> str:
    return " ".join(text.translate(_INVISIBLE).split())


def _type(text: str) -> str:
    return re.sub(r" ?\*", "*", " ".join(text.split()))


def load_page(path: str | Path) -> Page:
    """Read a page from a UTF-8 text file.

    Raises:
        PageError: the file cannot be read, or :func:`read_page` refuses its text.
    """
    name = Path(path).name or str(path)
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PageError(name, f"cannot be read: {reason}", "give the path of a page's text") from None
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
        PageError: the text is empty, is no text, is not the page of an operator, or is cut off before its
            support tables.
    """
    if len(text) > _LONGEST:
        raise PageError(name, f"unreadable: longer than {_LONGEST} characters", "save one page only")
    if "\0" in text or "\ufffd" in text:
        raise PageError(name, "unreadable: it holds bytes that are no text", "save the page as UTF-8 text")
    lines = tuple(_normal(line) for line in re.split(r"\r\n|\r|\n", text))
    if not any(lines):
        raise PageError(name, "the page is empty", "save the page's text again")
    flow = _Flow(lines)
    unread: list[Unread] = []
    struct, fields = _read_struct(lines, flow, unread)
    levels, support = _read_levels(lines, unread)
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
    return Page(
        name=name,
        lines=lines,
        locale=_guess_locale(flow.text),
        header=_read_header(lines),
        title=title,
        struct=struct,
        formulas=tuple(_read_formulas(flow)),
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
        if found := _TITLE.match(line):
            return PageName(number, found[1])
    return None


def _read_header(lines: Sequence[str]) -> str | None:
    headers = [found[0] for line in lines if ".h" in line for found in _HEADER.finditer(line)]
    return headers[-1] if headers else None


def _read_struct(
    lines: Sequence[str], flow: _Flow, unread: list[Unread]
) -> tuple[PageName | None, tuple[PageField, ...]]:
    fields: list[PageField] = []
    named: PageName | None = None
    found = _STRUCT.search(flow.text)
    end = flow.text.find("}", found.end()) if found else -1
    if found:
        line = flow.line(found.start())
        named = PageName(line, found["name"].removeprefix("DML_").removesuffix("_OPERATOR_DESC"))
        if end < 0:
            unread.append(Unread(line, "struct", "a struct without its closing brace", "a closed struct"))
    if found and end >= 0:
        for statement in re.finditer(r"[^;]+;?", flow.text[found.end() : end]):
            text = statement[0].strip()
            if not text:
                continue
            line = flow.line(found.end() + statement.start() + len(statement[0]) - len(statement[0].lstrip()))
            field = _FIELD.fullmatch(text.removesuffix(";").rstrip()) if text.endswith(";") else None
            if field:
                fields.append(PageField(line, _type(field["type"]), field["name"]))
            else:
                unread.append(Unread(line, "struct", repr(text), "a field `type name;`"))
    else:
        for number, text in enumerate(lines, 1):
            if text.endswith(";") and (field := _FIELD.fullmatch(text.removesuffix(";").rstrip())):
                fields.append(PageField(number, _type(field["type"]), field["name"]))
            elif not found and text.endswith(("{", "};")):
                unread.append(Unread(number, "struct", repr(text), "`struct DML_..._OPERATOR_DESC {`"))
    return named, tuple(fields)


def _read_members(lines: Sequence[str], unread: list[Unread]) -> Iterator[PageMember]:
    before = ""
    labels: set[str] = set()
    labelled = re.compile("[:：]")
    for number, line in enumerate(lines, 1):
        if labelled.search(line) and (found := _MEMBER.fullmatch(line)):
            labels.add(found["label"])
            heading = before if re.fullmatch(_IDENTIFIER, before) else None
            yield PageMember(number, heading, _type(found["type"]), "_Maybenull_" in found["notes"])
        before = line or before
    for number, line in enumerate(lines, 1):
        if labelled.split(line, maxsplit=1)[0] in labels and not _MEMBER.fullmatch(line):
            unread.append(Unread(number, "struct", repr(line), "the C type of a member"))


def _read_formulas(flow: _Flow) -> Iterator[PageFormula]:
    for found in _FUNCTION.finditer(flow.text):
        end = _expression_end(flow, found.end())
        if found[1] != "g" and flow.begins_line(found.start()):
            end = min(flow.end_of_line(max(found.end(), end) - 1), found.end() + _LONGEST_FORMULA)
        right = flow.text[found.end() : end].strip().rstrip(".,;:。").rstrip()
        left = f"{found[1]}({', '.join(_normal(name) for name in found[2].split(','))})"
        yield PageFormula(flow.line(found.start()), found[1], left, right)


def _expression_end(flow: _Flow, start: int) -> int:
    """Where the expression that begins at ``start`` ends and the sentence around it goes on."""
    position = end = start
    depth = 0
    operand_due = True
    while (token := _TOKEN.match(flow.text, position)) and position - start < _LONGEST_FORMULA:
        if token["open"]:
            depth += 1
            operand_due = True
        elif token["close"] and depth > 0:
            depth -= 1
            operand_due = False
        elif depth == 0 and (token["close"] or token["comma"] or (token["operand"] and not operand_due)):
            break
        else:
            operand_due = not token["operand"]
        position = token.end()
        if depth == 0 and not operand_due:
            end = position
    if depth > 0:
        return min(flow.end_of_line(start), start + _LONGEST_FORMULA)
    return end


def _read_levels(lines: Sequence[str], unread: list[Unread]) -> tuple[tuple[PageLevel, ...], tuple[PageSupport, ...]]:
    levels: list[PageLevel] = []
    support: list[PageSupport] = []
    rows: list[PageRow] = []
    titles = ""

    def close() -> None:
        if support:
            last = support.pop()
            support.append(PageSupport(last.line, last.level, last.heading, titles, tuple(rows)))

    for number, line in enumerate(lines, 1):
        if found := _LEVEL.search(line):
            level = found[1].replace("_", ".")
            if _is_heading(lines, number, found):
                close()
                rows, titles = [], ""
                support.append(PageSupport(number, level, _normal(_LEVEL.sub("", line)).strip("#* "), "", ()))
            else:
                nearby = _following(lines, number - 2, 3)
                introduced = any(_INTRODUCED.search(text) for text in nearby)
                levels.append(PageLevel(number, level, introduced))
        elif not line or _RULE.fullmatch(line):
            continue
        elif row := _read_row(number, line):
            if support:
                rows.append(row)
            else:
                unread.append(Unread(number, "support", repr(line), "no row outside a feature level's table"))
        elif support and (("Tensor" in line and _TENSOR.search(line)) or _LISTED_TYPE.search(line)):
            unread.append(Unread(number, "support", repr(line), _ROW_SHAPE))
        elif support and not rows and not titles:
            titles = line
    close()
    return tuple(levels), tuple(support)


def _following(lines: Sequence[str], start: int, count: int) -> list[str]:
    """The next lines from index ``start`` on that are not empty."""
    return list(islice((lines[index] for index in range(max(start, 0), len(lines)) if lines[index]), count))


def _is_heading(lines: Sequence[str], number: int, level: re.Match[str]) -> bool:
    """Whether the level on line ``number`` heads a support table, rather than standing in a sentence."""
    line = lines[number - 1]
    following = _following(lines, number, 3)
    if any(_INTRODUCED.search(text) for text in (line, *following[:1])):
        return False
    if not line[: level.start()].strip("#*- ") and re.search(r"[^\W\d_]", line[level.end() :]):
        return True
    return any(_read_row(0, text) for text in following)


def _read_row(number: int, line: str) -> PageRow | None:
    if "Tensor" not in line:
        return None
    if "|" in line:
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) != 4 or not _TENSOR.fullmatch(cells[0]):
            return None
        tensor, kind, ranks, types = cells
    else:
        found = _PLAIN_ROW.fullmatch(line)
        if found is None or not _TENSOR.fullmatch(found["tensor"]):
            return None
        tensor, kind, ranks, types = found.group("tensor", "kind", "ranks", "types")
    names = tuple(name.strip() for name in re.split(r"[,、，]", types))
    numbers = _RANK_CELL.fullmatch(ranks)
    if numbers is None or not all(name.isascii() and name.isidentifier() for name in names):
        return None
    low = int(numbers["low"])
    high = int(numbers["high"]) if numbers["high"] else low
    return PageRow(number, tensor, _KINDS.get(kind.lower()), kind, (low, high), names)


# ------------------------------------------------------------------------------------------ identifying


def identify(page: Page, tables: Tables) -> OperatorTable:
    """The table that describes the page's operator.

    The title decides, then the struct's name; a page that lost both is recognised by its struct's fields and
    its formula.

    Raises:
        PageError: the operator has no table, or the fields and the formula fit no table, or several.
    """
    named = [name.operator for name in (page.title, page.struct) if name]
    for operator in named:
        if operator in tables.operators:
            return tables.operators[operator]
    known = ", ".join(table.short_name for table in tables.operators.values())
    if named:
        mend = f"write its table, or give a page of {known}"
        raise PageError(page.name, f"no table describes {named[0]}", mend)
    scores = {operator: _likeness(page, table) for operator, table in tables.operators.items()}
    best = max(scores.values(), default=0)
    likeliest = [operator for operator, score in scores.items() if score == best]
    if best < 3:
        raise PageError(page.name, "its struct and formula fit no table", f"give a page of {known}")
    if len(likeliest) > 1:
        raise PageError(
            page.name,
            f"it has no title, and its struct and formula fit {' and '.join(likeliest)} equally",
            "put the page's title, DML_..._OPERATOR_DESC, on its first line",
        )
    return tables.operators[likeliest[0]]


def _likeness(page: Page, table: OperatorTable) -> int:
    """Fields in common less the others, and a formula counts as three fields."""
    here = {(field.name, field.type) for field in page.fields}
    there = {(field.name, field.type) for field in table.struct}
    formulas = {_compact(formula.text) for formula in page.formulas if formula.function != "g"}
    expected = {_compact(table.page_formula)} if table.page_formula else set()
    return len(here & there) - len(here ^ there) + 3 * (formulas == expected)


# -------------------------------------------------------------------------------------------- comparing

_SHARED = ("DataType", "DimensionCount", "Sizes", "Strides", "Flags", "TotalTensorSizeInBytes")
_SHARED_WORD = re.compile(rf"\b(?:{'|'.join(_SHARED)})\b", re.ASCII)
_ANCHOR = re.compile(r"\b(?:DataType|DimensionCount)\b", re.ASCII)
_IN_PLACE = re.compile(r"[Ii]n-place|\b[Aa]lias|현재 위치 실행|별칭")
_REFUSED = re.compile(r"\b(?:not|no|never|cannot|forbidden|prohibited)\b|n't\b|않|없", re.IGNORECASE)
_DEFINITIONS = {"max": "larger", "min": "smaller"}
_CASTING = re.compile(r"\b(?:cast|casts|casting|converted|rounded)\b|캐스팅|변환")


def compare(page: Page, table: OperatorTable) -> tuple[Difference, ...]:
    """Every difference between the page and the table: by line, then what the page lacks."""
    found = [
        *_compare_names(page, table),
        *_compare_fields(page, table),
        *_compare_members(page, table),
        *_compare_formula(page, table),
        *_compare_scale_bias(page, table),
        *_compare_enumerators(page, table),
        *_compare_introduced(page, table),
        *_compare_constraint(page, table),
        *_compare_in_place(page, table),
        *_compare_casting(page, table),
        *_compare_support(page, table),
        *_compare_quotations(page, table),
        *(Difference(one.line, one.subject, "unreadable", one.text, one.expected) for one in page.unread),
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda item: (item.where == 0, item.where)))


def notes(page: Page, table: OperatorTable) -> tuple[str, ...]:
    """What :func:`compare` could not check on this page, one line each; none for a whole English page."""
    said: list[str] = []
    if page.title is None and page.struct is None:
        said.append("the page names no operator; its table was chosen by its struct and formula")
    if page.locale == "en":
        return tuple(said)
    quotations = {clause.quotation.words for clause in table.clauses
                  if clause.quotation and clause.quotation.source == "page"}  # fmt: skip
    unchecked = [f"the table's {len(quotations)} quotations"]
    if "Sizes" in table.constraints and "Sizes" not in _shared(page)[1]:
        unchecked.append("whether Sizes must agree")
    if not _IN_PLACE.search(page._flow.text):
        unchecked.append("whether execution in place is permitted")
    if not _CASTING.search(page._flow.text):
        unchecked.append("whether casts are described")
    return (*said, *(f"the page is not in English; not checked: {item}" for item in unchecked))


def _compact(formula: str) -> str:
    """The formula without the white space that means nothing."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", _normal(formula))


def _tensors(table: OperatorTable) -> tuple[str, ...]:
    return tuple(field.name for field in table.struct if "DML_TENSOR_DESC" in field.type)


def _compare_names(page: Page, table: OperatorTable) -> Iterator[Difference]:
    for place, named in (("title", page.title), ("struct", page.struct)):
        if named and named.operator != table.operator:
            yield Difference(named.line, "struct", f"operator in the {place}", named.operator, table.operator)
    source = next((source for source in table.sources if source.id == "page"), None)
    header = _HEADER.search(source.title) if source else None
    if page.header and header and page.header != header[0]:
        line = max(number for number, text in enumerate(page.lines, 1) if page.header in text)
        yield Difference(line, "struct", "header", page.header, header[0])


def _compare_fields(page: Page, table: OperatorTable) -> Iterator[Difference]:
    there = {field.name: field.type for field in table.struct}
    here: dict[str, PageField] = {}
    for field in page.fields:
        item = f"field {field.name}"
        if field.name in here:
            yield Difference(field.line, "struct", item, "it twice", "it once")
        elif field.name not in there:
            yield Difference(field.line, "struct", item, f"{field.type} {field.name}", "no such field")
        elif field.type != there[field.name]:
            yield Difference(field.line, "struct", item, field.type, there[field.name])
        here.setdefault(field.name, field)
    for name, type_name in there.items():
        if name not in here:
            yield Difference(0, "struct", f"field {name}", "nothing", f"{type_name} {name}")
    order = [name for name in here if name in there]
    expected = [name for name in there if name in here]
    for name, wanted in zip(order, expected, strict=True):
        if name != wanted:
            said, there_said = ", ".join(order), ", ".join(expected)
            yield Difference(here[name].line, "struct", "order of the fields", said, there_said)
            return


def _compare_members(page: Page, table: OperatorTable) -> Iterator[Difference]:
    types = {field.name: field.type for field in table.struct}
    headed = {member.name for member in page.members if member.name}
    for name in types:
        if headed and name not in headed:
            yield Difference(0, "struct", f"member {name}", "nothing about its type", types[name])
    remaining = list(types.values())
    for member in page.members:
        item = f"type of the member {member.name or '(its heading is lost)'}"
        if member.name and member.name not in types:
            yield Difference(member.line, "struct", item, member.type, "no such member")
            continue
        if member.name and member.type != types[member.name]:
            yield Difference(member.line, "struct", item, member.type, types[member.name])
        if not member.name:
            if member.type not in remaining:
                yield Difference(member.line, "struct", item, member.type, "no further member of this type")
                continue
            del remaining[: remaining.index(member.type) + 1]
        of_scale_bias = "DML_SCALE_BIAS" in member.type
        if member.optional != of_scale_bias:
            texts = ("optional (_Maybenull_)", "not optional")
            said, wanted = texts if member.optional else texts[::-1]
            yield Difference(member.line, "scale-bias" if of_scale_bias else "struct", item, said, wanted)


def _parsed(text: str, names: Sequence[str]) -> Expression | str:
    """The expression, or why the expression language has none for it."""
    try:
        return parse(text, names)
    except FormulaError as error:
        return error.cause
    except RecursionError:
        return "the formula is nested too deeply"


def _compare_text(
    formula: PageFormula, subject: Subject, expected: str, meaning: str, names: Sequence[str]
) -> Iterator[Difference]:
    """The formula against the text ``expected``, and against the expression ``meaning`` of the oracle."""
    if _compact(formula.text) != _compact(expected):
        here = _parsed(formula.right, names)
        if isinstance(here, str):
            said = f"{formula.text} ({here})"
        elif here == _parsed(meaning, names):
            said = f"{formula.text} (it means the same)"
        else:
            said = formula.text
        yield Difference(formula.line, subject, "formula", said, expected)
        return
    here, there = _parsed(formula.right, names), _parsed(meaning, names)
    if not isinstance(here, str) and not isinstance(there, str) and here != there:
        oracle = f"{meaning} to the oracle"
        yield Difference(formula.line, subject, "meaning of the formula", formula.text, oracle)


def _compare_formula(page: Page, table: OperatorTable) -> Iterator[Difference]:
    formulas = [formula for formula in page.formulas if formula.function != "g"]
    if table.page_formula is None:
        for formula in formulas:
            yield Difference(formula.line, "formula", "formula", formula.text, "that the page has none")
        return
    if not formulas:
        yield Difference(0, "formula", "formula", "nothing", table.page_formula)
    for formula in formulas:
        names = ("x", *table.float_attributes)
        yield from _compare_text(formula, "formula", table.page_formula, table.formula, names)
    yield from _compare_definitions(page, table.page_formula)


def _compare_definitions(page: Page, formula: str) -> Iterator[Difference]:
    """What an English page says min and max return: each that the formula uses, once it says it of one."""
    text = page._flow.text
    if page.locale != "en" or not any(f"{name}(a,b)" in text for name in _DEFINITIONS):
        return
    for name, word in _DEFINITIONS.items():
        if f"{name}(" not in formula:
            continue
        said = [*re.finditer(rf"\b{name}\(a,b\) returns the (\w+)", text)]
        if not said:
            yield Difference(0, "formula", f"meaning of {name}", "nothing", f"the {word} value")
        for found in said:
            if found[1] != word:
                line, item = page._flow.line(found.start()), f"meaning of {name}"
                yield Difference(line, "formula", item, f"the {found[1]} value", f"the {word} value")


def _compare_scale_bias(page: Page, table: OperatorTable) -> Iterator[Difference]:
    formulas = [formula for formula in page.formulas if formula.function == "g"]
    attribute = next((item for item in table.attributes if item.type == "DML_SCALE_BIAS"), None)
    if attribute is None or attribute.formula is None:
        for formula in formulas:
            yield Difference(formula.line, "scale-bias", "formula", formula.text, "no ScaleBias")
        return
    if not formulas:
        yield Difference(0, "scale-bias", "formula", "nothing", f"g(x) = {attribute.formula}")
    for formula in formulas:
        expected = f"g(x) = {attribute.formula}"
        yield from _compare_text(formula, "scale-bias", expected, attribute.formula, ("x", "scale", "bias"))


def _enumerations(table: OperatorTable) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each enumeration's C type, which begins its enumerators' names, with the enumerators."""
    types = {field.name: field.type for field in table.struct}
    for attribute in table.attributes:
        if attribute.type == "ENUM" and attribute.name in types:
            yield types[attribute.name], attribute.enumerators


def _mentions(page: Page, prefix: str) -> list[tuple[int, str]]:
    """Where the page mentions enumerators that begin with ``prefix``: offset and the rest of the name."""
    pattern = re.compile(rf"\b{re.escape(prefix)}_(\w*)", re.ASCII)
    return [(found.start(), found[1]) for found in pattern.finditer(page._flow.text)]


def _compare_enumerators(page: Page, table: OperatorTable) -> Iterator[Difference]:
    for prefix, enumerators in _enumerations(table):
        lines: dict[str, int] = {}
        for offset, name in _mentions(page, prefix):
            lines.setdefault(name, page._flow.line(offset))
        for name, line in lines.items():
            if name not in enumerators:
                yield Difference(line, "enumerators", prefix, f"{prefix}_{name}", "no such enumerator")
        for name in enumerators:
            if name not in lines:
                yield Difference(0, "enumerators", prefix, "nothing", f"{prefix}_{name}")
        order = [name for name in lines if name in enumerators]
        expected = [name for name in enumerators if name in lines]
        wrong = next((name for name, wanted in zip(order, expected, strict=True) if name != wanted), None)
        if wrong is not None:
            yield Difference(lines[wrong], "enumerators", f"order of {prefix}", ", ".join(order), ", ".join(expected))


def _compare_introduced(page: Page, table: OperatorTable) -> Iterator[Difference]:
    expected = f"level {table.introduced}"
    if not page.levels:
        yield Difference(0, "introduced", "level", "nothing", expected)
    for mention in page.levels:
        if mention.level != table.introduced:
            yield Difference(mention.line, "introduced", "level", f"level {mention.level}", expected)
        elif page.locale == "en" and not mention.introduced:
            said = repr(page.lines[mention.line - 1])
            yield Difference(mention.line, "introduced", "sentence", said, f"introduced in {expected}")


def _shared(page: Page) -> tuple[int, frozenset[str], frozenset[str]]:
    """What the page's tensors must have in common: the first line, the words, the tensors named."""
    fields = {field.line for field in page.fields}
    first, words, tensors = 0, set[str](), set[str]()
    before = line = ""
    for index, following in enumerate(page.lines):
        before, line = line or before, following
        if index + 1 in fields or not _SHARED_WORD.search(line):
            continue
        if not (_ANCHOR.search(line) or _TENSOR.search(line)):
            continue
        first = first or index + 1
        text = line
        if not _TENSOR.search(line):
            text = f"{before} {text}"
        if not line.endswith((".", "。")):
            text = " ".join([text, *_following(page.lines, index + 1, 1)])
        words.update(_SHARED_WORD.findall(text))
        tensors.update(_TENSOR.findall(text))
    return first, frozenset(words), frozenset(tensors)


def _compare_constraint(page: Page, table: OperatorTable) -> Iterator[Difference]:
    line, words, tensors = _shared(page)
    expected = ", ".join(table.constraints) or "nothing"
    if not line:
        if table.constraints:
            yield Difference(0, "constraint", "in common", "nothing", expected)
        return
    for word in table.constraints:
        if word not in words and (page.locale == "en" or word != "Sizes"):
            yield Difference(line, "constraint", "in common", f"no {word}", expected)
    for extra in sorted(words.difference(table.constraints)):
        yield Difference(line, "constraint", "in common", extra, expected)
    for tensor in _tensors(table):
        if tensor not in tensors and table.constraints:
            yield Difference(line, "constraint", "tensors", f"no {tensor}", ", ".join(_tensors(table)))
    for tensor in sorted(tensors.difference(_tensors(table))):
        yield Difference(line, "constraint", "tensors", tensor, ", ".join(_tensors(table)))


def _compare_in_place(page: Page, table: OperatorTable) -> Iterator[Difference]:
    said = page._flow.matching(_IN_PLACE)
    if not said and table.in_place and page.locale == "en":
        yield Difference(0, "in-place", "execution", "nothing", "that it is permitted")
    for number, line in said:
        permitted = not _REFUSED.search(line)
        if permitted != table.in_place:
            words = ("permitted", "not permitted")
            here, there = words if permitted else words[::-1]
            yield Difference(number, "in-place", "execution", f"it is {here}", f"it is {there}")
        elif permitted and len(_tensors(table)) == 2:
            sentence = [line] if line.endswith((".", "。")) else _following(page.lines, number - 1, 2)
            for tensor in set(_tensors(table)).difference(_TENSOR.findall(" ".join(sentence))):
                yield Difference(number, "in-place", "tensors", f"no {tensor}", ", ".join(_tensors(table)))


def _compare_casting(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """A cast that the table calls undocumented and the page describes, or the other way round."""
    described = page._flow.matching(_CASTING)
    for attribute in table.attributes:
        name = re.compile(rf"\b{attribute.name}\b", re.ASCII)
        said = [(number, line) for number, line in described if name.search(line)]
        if attribute.cast == "undocumented":
            for number, line in said:
                yield Difference(number, "casting", attribute.name, repr(line), "that the page is silent")
        elif attribute.cast == "documented" and not said and (described or page.locale == "en"):
            yield Difference(0, "casting", attribute.name, "nothing", "that the page says how it is cast")


def _odd_words(page: Page) -> Iterator[Difference]:
    """Headings and column titles of support tables that are not worded like those of the other levels."""
    for item, words in (
        ("heading", [table.heading for table in page.support]),
        ("column titles", [table.titles for table in page.support]),
    ):
        usual = Counter(words).most_common(1)[0][0]
        for table, here in zip(page.support, words, strict=True):
            if here != usual:
                said = repr(here) if here else "nothing"
                yield Difference(table.line, "support", f"level {table.level}, {item}", said, repr(usual))


def _compare_support(page: Page, table: OperatorTable) -> Iterator[Difference]:
    there = {support.level: support for support in table.support}
    seen: set[str] = set()
    yield from _odd_words(page)
    for support in page.support:
        item = f"level {support.level}"
        if support.level in seen:
            yield Difference(support.line, "support", item, "it twice", "it once")
        elif support.level not in there:
            known = ", ".join(there)
            yield Difference(support.line, "support", item, "that it has a table", f"tables for {known} only")
        else:
            yield from _compare_rows(page, support, there[support.level])
        seen.add(support.level)
    for level in there:
        if level not in seen:
            yield Difference(0, "support", f"level {level}", "nothing", "that it has a table")


def _compare_rows(page: Page, support: PageSupport, table: SupportTable) -> Iterator[Difference]:
    there = {row.tensor: row for row in table.rows}
    seen: set[str] = set()
    for row in support.rows:
        item = f"level {support.level}, {row.tensor}"
        if row.tensor in seen:
            yield Difference(row.line, "support", item, "a second row", "one row")
            continue
        seen.add(row.tensor)
        if row.tensor not in there:
            yield Difference(row.line, "support", item, "a row", "none")
            continue
        expected = there[row.tensor]
        kind = row.kind
        if kind is None and page.locale == "other" and re.fullmatch(r"\S+", row.kind_word):
            kind = "Output" if row.tensor.startswith("Output") else "Input"
        if kind != expected.kind:
            yield Difference(row.line, "support", f"{item}, kind", row.kind_word or "nothing", expected.kind)
        if row.ranks != expected.dimension_counts:
            here, wanted = ("{} to {}".format(*ranks) for ranks in (row.ranks, expected.dimension_counts))
            yield Difference(row.line, "support", f"{item}, dimension counts", here, wanted)
        for name, count in Counter(row.data_types).items():
            if name not in DataType.__members__:
                yield Difference(row.line, "support", item, f"{name}, which is no data type", f"no {name}")
            elif name not in expected.data_types:
                yield Difference(row.line, "support", item, name, f"no {name}")
            if count > 1:
                yield Difference(row.line, "support", item, f"{name} {count} times", f"{name} at most once")
        for name in expected.data_types:
            if name not in row.data_types:
                yield Difference(row.line, "support", item, f"no {name}", name)
    for tensor in there:
        if tensor not in seen:
            yield Difference(0, "support", f"level {support.level}, {tensor}", "nothing", "a row")


def _compare_quotations(page: Page, table: OperatorTable) -> Iterator[Difference]:
    if page.locale != "en":
        return
    flow = page._flow
    clauses: dict[str, list[str]] = {}
    for clause in table.clauses:
        if clause.quotation and clause.quotation.source == "page":
            clauses.setdefault(clause.quotation.words, []).append(clause.id)
    for words, identifiers in clauses.items():
        if not any(True for _ in flow.occurrences(words)):
            yield Difference(0, "quotation", ", ".join(identifiers), "nothing like it", repr(words))
    for prefix, enumerators in _enumerations(table):
        places = _mentions(page, prefix)
        for clause in table.clauses:
            about = [name for name in enumerators if re.search(rf"\b{name}\b", clause.text)]
            if len(about) != 1 or not clause.quotation or clause.quotation.source != "page":
                continue
            for found in flow.occurrences(clause.quotation.words):
                told = [name for offset, name in places if offset < found]
                if told and told[-1] != about[0]:
                    line = flow.line(found)
                    here, wanted = (f"{name}: {clause.quotation.words!r}" for name in (told[-1], about[0]))
                    yield Difference(line, "quotation", clause.id, here, wanted)
