"""Identifiers hold plain words: a stranger guesses from them what a function, a class or a module does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from dmlcts.suites.selftest.house.test_rooms import ROOT, TOPS

WORDS = frozenset(
    {"told", "tell", "tells", "telling", "say", "says", "saying", "said", "owed", "owe", "owes", "company"}
    | {"station", "stations", "crew", "crews", "lane", "lanes", "flight", "flights", "growth", "standin", "standins"}
)
"""Words that no part of an identifier is: each has a plainer one, such as reported, required, neighbours, memory."""
PHRASES = frozenset({"met_by", "came_to", "comes_to", "stand_in", "stand_ins", "stands_in"})
ALONE = frozenset({"one", "found", "given", "once", "met"})
"""Words that are no identifier by themselves; within one they have something to be about."""

EXCEPTIONS = {
    ("specs/models/clauses.py", "says"): "a key of the tables",
    ("suites/commands/sweep.py", "lanes"): "the option --lanes, as the command receives it",
}
"""Identifiers that stay, with the reason."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w+")
_ALONE = "|".join(sorted(WORDS | ALONE))
_BY_ITSELF = re.compile(
    rf"(?:\b(?:def|for|as|lambda)|\A|[(,=.\n]) *(?:{_ALONE})\b *(?:[-+*/%&|^@<>:=,)(\n]|(?:in|if)\b)"
)
"""Where a module's text may define a word by itself: what prose seldom holds, for each such module is parsed."""


def words_of(identifier: str) -> list[str]:
    """The words of an identifier, in lower case: of ``_MOST_TIMES`` and ``MostTimes`` alike "most" and "times"."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", identifier)
    return [part.lower() for part in parts]


@cache
def is_barred(identifier: str) -> bool:
    """Whether an identifier holds a word, or a phrase, that no identifier is to hold."""
    words = words_of(identifier)
    joined = f"_{'_'.join(words)}_"
    phrased = any(f"_{phrase}_" in joined for phrase in PHRASES)
    return phrased or identifier in ALONE or not WORDS.isdisjoint(words)


def defined(text: str) -> Iterator[str]:
    """The identifiers that a module defines: functions, classes, parameters, variables, attributes and aliases."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def barred(text: str) -> set[str]:
    """The identifiers that a module defines and that hold such a word."""
    names = {name for name in set(_IDENTIFIER.findall(text)) if not name.islower() or "_" in name}
    may = any(map(is_barred, names)) or _BY_ITSELF.search(text)  # the others need not be parsed, which takes long
    return set(filter(is_barred, defined(text))) if may else set()


def test_no_identifier_holds_a_word_that_a_stranger_must_learn() -> None:
    seen = set()
    for path in (ROOT / "conftest.py", *(path for top in TOPS for path in sorted((ROOT / top).rglob("*.py")))):
        module = path.relative_to(ROOT).as_posix()
        parts = filter(is_barred, module.removesuffix(".py").split("/"))
        seen |= {(module, name) for name in (*parts, *barred(path.read_text(encoding="utf-8")))}
    assert seen - EXCEPTIONS.keys() == set()
    assert EXCEPTIONS.keys() - seen == set(), "an exception that nothing needs"


@pytest.mark.parametrize(
    "planted, plain",
    [
        ("def told_once(): ...", "def reported_once(): ..."),
        ("class SweepCrew: ...", "class SweepWorkers: ..."),
        ("_MOST_OWED = 3", "_MOST_REQUIRED = 3"),
        ("for one in range(3):\n    one()", "for one_value in range(3):\n    one_value()"),
        ("import x as met\nmet()", "import x as common_type\ncommon_type()"),
        ("def test_gaps_are_told(): ...", "def test_gaps_are_reported(): ..."),
        ("device.stand_in = 1", "device.standing = 1"),
        ("once = 3", "first = 3"),
        ("once: int = 3", "first: int = 3"),
        ("x.once += 1", "x.first += 1"),
        ("once, first = f()", "second, first = f()"),
        ("[x for once in y]", "[x for first in y]"),
        ("def f(x, *, given): ...", "def f(x, *, values): ..."),
        ("with x as found: ...", "with x as place: ..."),
        ("f = lambda met: 1", "f = lambda x: 1"),
        ("def f(x):\n    said = x\n", "def f(x):\n    text = x\n"),
    ],
)
def test_a_planted_word_is_seen_and_a_plain_one_is_not(planted: str, plain: str) -> None:
    assert len(barred(planted)) == 1
    assert not barred(plain)
