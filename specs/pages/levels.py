"""Reading a page's feature levels: its support tables, and the levels that its sentences mention."""

# ruff: noqa: RUF001 - the look-alikes (wide colons, dashes, Cyrillic words) are what the pages hold

from __future__ import annotations

import re
from collections.abc import Sequence

from dmlcts.specs.pages.flow import lines_from
from dmlcts.specs.pages.page import Kind, PageLevel, PageRow, PageSupport, Unread
from dmlcts.specs.pages.words import IDENTIFIER, TENSOR, normal

_LEVEL = re.compile(r"\bDML_FEATURE_LEVEL_([A-Za-z0-9_]+)", re.ASCII)
_INTRODUCED = re.compile(
    r"[Ii]ntrodu|도입|導入|引入|推出|zaveden|eingeführt|wprowadz|внедрен|введен|появил|sunul|tanıt|bevezet"
)
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
    rf"(?P<tensor>{IDENTIFIER}) (?P<kind>[^\d|]*?) ?(?P<ranks>{_RANKS}) "
    rf"(?P<types>{IDENTIFIER}(?: ?, ?{IDENTIFIER})*)",
    re.IGNORECASE,
)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        (
            "input",
            "입력",
            "入力",
            "输入",
            "輸入",
            "vstup",
            "eingabe",
            "entrada",
            "entrée",
            "wejście",
            "dane wejściowe",
            "вход",
            "входные данные",
            "giriş",
            "girdi",
            "invoer",
            "indata",
            "inndata",
            "bemenet",
        ),
        "Input",
    ),
    **dict.fromkeys(
        (
            "output",
            "출력",
            "出力",
            "输出",
            "輸出",
            "výstup",
            "ausgabe",
            "salida",
            "saída",
            "sortie",
            "wyjście",
            "dane wyjściowe",
            "выход",
            "выходные данные",
            "çıkış",
            "çıktı",
            "uitvoer",
            "utdata",
            "kimenet",
        ),
        "Output",
    ),
    "optional input": "Optional input",
}
_ROW_SHAPE = "a row of tensor, kind, dimension counts and data types"


def read_levels(lines: Sequence[str], unread: list[Unread]) -> tuple[tuple[PageLevel, ...], tuple[PageSupport, ...]]:
    """The levels mentioned outside the support tables, and the tables; what is neither goes to ``unread``."""
    levels: list[PageLevel] = []
    support: list[PageSupport] = []
    rows: list[PageRow] = []
    titles = ""

    def close() -> None:
        if support:
            last = support.pop()
            support.append(PageSupport(last.line, last.level, last.heading, titles, tuple(rows)))

    for number, line in enumerate(lines, 1):
        if match := _LEVEL.search(line):
            level = match[1].replace("_", ".")
            if _is_heading(lines, number, match):
                close()
                rows, titles = [], ""
                support.append(PageSupport(number, level, normal(_LEVEL.sub("", line)).strip("#* "), "", ()))
            else:
                nearby = lines_from(lines, number - 2, 3)
                introduced = any(_INTRODUCED.search(text) for text in nearby)
                levels.append(PageLevel(number, level, introduced))
        elif not line or _RULE.fullmatch(line):
            continue
        elif row := _read_row(number, line):
            if support:
                rows.append(row)
            else:
                unread.append(Unread(number, "support", repr(line), "no row outside a feature level's table"))
        elif support and (("Tensor" in line and TENSOR.search(line)) or _LISTED_TYPE.search(line)):
            unread.append(Unread(number, "support", repr(line), _ROW_SHAPE))
        elif support and not rows and not titles:
            titles = line
    close()
    return tuple(levels), tuple(support)


def _is_heading(lines: Sequence[str], number: int, level: re.Match[str]) -> bool:
    """Whether the level on line ``number`` heads a support table, rather than standing in a sentence."""
    line = lines[number - 1]
    following = lines_from(lines, number, 3)
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
        if len(cells) != 4 or not TENSOR.fullmatch(cells[0]):
            return None
        tensor, kind, ranks, types = cells
    else:
        match = _PLAIN_ROW.fullmatch(line)
        if match is None or not TENSOR.fullmatch(match["tensor"]):
            return None
        tensor, kind, ranks, types = match.group("tensor", "kind", "ranks", "types")
    names = tuple(name.strip() for name in re.split(r"[,、，]", types))
    numbers = _RANK_CELL.fullmatch(ranks)
    if numbers is None or not all(name.isascii() and name.isidentifier() for name in names):
        return None
    low = int(numbers["low"])
    high = int(numbers["high"]) if numbers["high"] else low
    return PageRow(number, tensor, _KINDS.get(kind.lower()), kind, (low, high), names)
