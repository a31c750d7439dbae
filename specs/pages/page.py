"""What a page says, and the forms of what is said about it: a refusal, or a difference from its table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dmlcts.specs.errors import DmlctsError
from dmlcts.specs.pages.flow import Flow

Locale = Literal["en", "other"]
Kind = Literal["Input", "Optional input", "Output"]
Subject = Literal[
    "formula",
    "struct",
    "support",
    "introduced",
    "constraint",
    "quotation",
    "in-place",
    "scale-bias",
    "enumerators",
    "casting",
    "sentence",
]


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
        levels = sorted(self.levels, key=lambda level: not level.introduced)
        return levels[0].level if levels else None

    @cached_property
    def flow(self) -> Flow:
        """All lines as one text."""
        return Flow(self.lines)
