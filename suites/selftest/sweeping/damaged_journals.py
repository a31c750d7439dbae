"""A catalogue of damaged sweep journals: what happens to files, and what somebody could write into one.

Each begins as the whole journal of a sweep of ROUND on FLOAT16: the header, then the blocks of three modes, the last
of them (TOWARD_INFINITY) with wrong values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Lines = list[bytes]
Change = Callable[[Lines], bytes]


@dataclass(frozen=True)
class Damage:
    """One damaged journal.

    Attributes:
        name: in a few words.
        why: how it comes about, or what it would gain whoever wrote it.
        wording: what the refusal says, besides the journal's path; "" where the journal is still good.
        change: makes it of a whole journal's lines, each with its line break.
    """

    name: str
    why: str
    wording: str
    change: Change


def _whole(change: Callable[[bytes], bytes]) -> Change:
    return lambda lines: change(b"".join(lines))


def _line(number: int, change: Callable[[bytes], bytes]) -> Change:
    return lambda lines: b"".join([*lines[:number], change(lines[number]), *lines[number + 1 :]])


def _edited(number: int, edit: Callable[[Any], Any]) -> Change:
    """The journal with one line read, edited in place, and written again."""

    def change(line: bytes) -> bytes:
        document = json.loads(line)
        edit(document)
        return json.dumps(document).encode() + b"\n"

    return _line(number, change)


def _totals(number: int = 1, **changes: Any) -> Change:
    """The journal with other totals of a block; ``None`` takes a member out."""

    def edit(document: Any) -> None:
        totals = document["block"]["totals"]
        totals.update(changes)
        for name in [name for name, value in totals.items() if value is None]:
            del totals[name]

    return _edited(number, edit)


def _block(edit: Callable[[Any], object]) -> Change:
    return _edited(1, lambda document: edit(document["block"]))


def _wrong(edit: Callable[[Any], object]) -> Change:
    """The journal with the totals edited of the block that has wrong values."""
    return _edited(3, lambda document: edit(document["block"]["totals"]))


def _hidden(totals: Any) -> None:
    totals["exact"] += totals.pop("wrong")


def _first_of(totals: Any, list_name: str, place: int, value: Any) -> None:
    totals[list_name][0][place] = value


_NOT_JSON = "is no JSON"
_NO_LINE = "is no line of a journal"
_NO_SUM = "which does not come out"
_SUSPECT = [1.0, 15361, 0, 0, 4096]

DAMAGES = (
    # what happens to files
    Damage("whole", "the control", "", _whole(lambda data: data)),
    Damage(
        "torn at its end", "killed while it wrote: a sweep is resumed from this", "", _whole(lambda data: data[:-30])
    ),
    Damage("no block yet", "stopped before the first block", "", lambda lines: lines[0]),
    Damage(
        "lines in another order",
        "blocks come in as they are finished",
        "",
        lambda lines: lines[0] + lines[3] + lines[1] + lines[2],
    ),
    Damage(
        "Windows' line breaks",
        "copied by a program that changes them",
        "",
        _whole(lambda data: data.replace(b"\n", b"\r\n")),
    ),
    Damage("empty", "a full disk took the file, not its name", "is empty", _whole(lambda data: b"")),
    Damage("torn in its first line", "killed at the very beginning", "is empty", lambda lines: lines[0][:-20]),
    Damage(
        "zeros in the middle",
        "the machine lost power: space was given, data never came",
        _NOT_JSON,
        _line(2, lambda line: bytes(len(line) - 1) + b"\n"),
    ),
    Damage("zeros behind its end", "the same, at the end of the file", "", _whole(lambda data: data + bytes(4096))),
    Damage("random bytes", "another program's file", _NOT_JSON, _whole(lambda data: bytes(range(256)) + b"\n")),
    Damage("UTF-16", "saved by an editor", "is no", _whole(lambda data: data.decode().encode("utf-16"))),
    Damage(
        "bytes that are no UTF-8",
        "a flipped bit",
        "is not UTF-8 text",
        _line(1, lambda line: line.replace(b"id", b"i\xff")),
    ),
    Damage("cut in the middle", "a line lost its end", _NOT_JSON, _line(1, lambda line: line[:50] + b"\n")),
    Damage("a line break lost", "two lines became one", _NOT_JSON, _line(1, lambda line: line.rstrip(b"\n"))),
    Damage("a blank line", "edited by hand", _NOT_JSON, _line(1, lambda line: b"\n" + line)),
    Damage(
        "a line of 64 MiB",
        "a line that never ends asks for all memory",
        "is longer than any line of a journal",
        _line(1, lambda line: b'{"block": "' + b"x" * (64 << 20) + b'"}\n'),
    ),
    # lines that are no lines of a journal
    Damage("a list", "JSON, but no object", _NO_LINE, _line(1, lambda line: b"[1, 2]\n")),
    Damage("a number", "likewise", _NO_LINE, _line(1, lambda line: b"17\n")),
    Damage(
        "a block that is a list",
        "an object within, but none inside",
        _NO_LINE,
        _line(1, lambda line: b'{"block": [1]}\n'),
    ),
    Damage(
        "two things in a line",
        "which of the two counts?",
        _NO_LINE,
        _edited(1, lambda document: document.update(sweep={})),
    ),
    Damage(
        "a key twice",
        "readers differ in which one they take",
        _NOT_JSON,
        _line(1, lambda line: line.replace(b'"elements"', b'"exact": 1, "elements"')),
    ),
    Damage(
        "NaN", "no JSON, though Python reads it", _NOT_JSON, _line(1, lambda line: line.replace(b"65536", b"NaN", 1))
    ),
    Damage(
        "a number of 5,000 digits",
        "reading it takes time that grows with its square",
        _NOT_JSON,
        _line(1, lambda line: line.replace(b"65536", b"9" * 5000, 1)),
    ),
    Damage(
        "nested 100,000 deep",
        "a parser that calls itself runs out of stack",
        _NOT_JSON,
        _line(1, lambda line: b'{"block": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    ),
    Damage(
        "nested 100 deep",
        "deeper than any line, and not too deep to parse",
        "levels deep",
        _line(1, lambda line: b'{"block": {"id": ' + b"[" * 100 + b"]" * 100 + b"}}\n"),
    ),
    Damage(
        "an unknown kind",
        "written by a later version",
        "is of the unknown kind 'surprise'",
        _line(1, lambda line: b'{"surprise": {}}\n'),
    ),
    Damage(
        "no header",
        "its first line was lost",
        "does not begin a journal of the format",
        lambda lines: b"".join(lines[1:]),
    ),
    Damage(
        "a second header",
        "two journals joined",
        "is of the unknown kind 'sweep'",
        lambda lines: b"".join([*lines, lines[0]]),
    ),
    Damage(
        "an earlier version's header",
        "written before the format changed",
        _NO_LINE,
        _line(0, lambda line: b'{"format": "dmlcts-sweep-journal/1", "plan": "x", "seed": 0}\n'),
    ),
    Damage(
        "a later version's header",
        "written after it changed again",
        "does not begin a journal of the format",
        _edited(0, lambda document: document["sweep"].update(schema="dmlcts-sweep-journal/3")),
    ),
    Damage(
        "a run's journal",
        "the wrong file under this name",
        "does not begin a journal of the format",
        _line(0, lambda line: b'{"run": {"schema": "dmlcts-records/1"}}\n'),
    ),
    # blocks that are none of this sweep's
    Damage(
        "an unknown block",
        "of another plan",
        "which is no block of this sweep",
        _block(lambda block: block.update(id="9:0x0+0x10000")),
    ),
    Damage(
        "half of a block",
        "two halves would count twice",
        "which is no block of this sweep",
        _block(lambda block: block.update(id="0:0x0+0x8000")),
    ),
    Damage(
        "a block without a name",
        "nothing to count it by",
        "does not say which block it is about",
        _block(lambda block: block.pop("id")),
    ),
    Damage(
        "a block named by a number",
        "likewise",
        "does not say which block it is about",
        _block(lambda block: block.update(id=0)),
    ),
    Damage(
        "a block without totals",
        "nothing came of it",
        "does not say which block it is about",
        _block(lambda block: block.pop("totals")),
    ),
    Damage(
        "a block with something else",
        "a member that nobody reads may be meant to",
        "does not say which block",
        _block(lambda block: block.update(verdict="CONFORMANT")),
    ),
    Damage(
        "a block twice",
        "the second could replace what the first found",
        "a second time",
        lambda lines: b"".join([*lines, lines[1]]),
    ),
    # totals that are none
    Damage("totals that are a list", "no object", "they are no object", _block(lambda block: block.update(totals=[]))),
    Damage("totals with an unknown member", "such as a method's name", "there is no 'blame'", _totals(blame=1)),
    Damage("a negative count", "makes up for wrong values elsewhere", "is no count", _totals(exact=-1)),
    Damage("a count that is true", "true is 1 to Python", "is no count", _totals(blocks=True)),
    Damage("a count with a fraction", "65535.5 elements", "is no count", _totals(exact=65535.5)),
    Damage("a count in quotes", "text that adds up otherwise", "is no count", _totals(exact="65536")),
    Damage("a count beyond all patterns", "more than 64 bits", "is no count", _totals(elements=1 << 70)),
    Damage(
        "an exponent that is a word",
        "keys are numbers",
        "is no exponent",
        _wrong(lambda totals: totals["exponents"].update(big=1)),
    ),
    Damage(
        "a class that does not exist",
        "counted where nobody looks",
        "there is no 'good'",
        _wrong(lambda totals: totals["classes"].update(good=1)),
    ),
    Damage("a stage that does not exist", "likewise", "there is no 'lunch'", _totals(seconds={"lunch": 1.0})),
    Damage(
        "endless seconds",
        "a number that overflows",
        "is beyond all bounds",
        _line(1, lambda line: re.sub(rb'("generate"): [-0-9.e]+', rb"\1: 1e999", line)),
    ),
    Damage("examples that are no list", "an object instead", "no list of at most", _totals(suspects={})),
    Damage("a thousand examples", "more than are ever kept", "no list of at most", _totals(suspects=[_SUSPECT] * 1000)),
    Damage(
        "an example of four numbers",
        "one is missing",
        "an example is no list of 5",
        _wrong(lambda totals: totals["suspects"][0].pop()),
    ),
    Damage(
        "a tensor with an unknown fate",
        "no outcome",
        "nothing that becomes of a tensor",
        _totals(troubles=[[0, 65536, "fine", "all is well"]]),
    ),
    # totals that do not account for the block
    Damage(
        "one element of 65,536",
        "the rest was never judged: the sweep would be CONFORMANT all the same",
        _NO_SUM,
        _totals(exact=1),
    ),
    Damage(
        "one element, and said so",
        "the same, with the count of elements put right",
        _NO_SUM,
        _totals(exact=1, elements=1, classes={"normal": 1}),
    ),
    Damage("no element", "a block that did nothing", _NO_SUM, _totals(exact=None, elements=None, classes=None)),
    Damage(
        "twice its elements", "makes up for a block that is missing", _NO_SUM, _totals(exact=131072, elements=131072)
    ),
    Damage("two blocks in one", "likewise", _NO_SUM, _totals(blocks=2)),
    Damage("wrong values called exact", "hides them, but not their exponents", _NO_SUM, _wrong(_hidden)),
    Damage(
        "wrong values without examples",
        "nothing left to show or to replay",
        _NO_SUM,
        _wrong(lambda totals: totals.pop("suspects")),
    ),
    Damage(
        "wrong values that did not fail",
        "a block is counted as one that held",
        _NO_SUM,
        _wrong(lambda totals: totals.pop("failing")),
    ),
    Damage("examples without wrong values", "blames what is right", _NO_SUM, _totals(suspects=[_SUSPECT])),
    Damage(
        "an example from elsewhere",
        "in no tensor of this block",
        _NO_SUM,
        _wrong(lambda totals: _first_of(totals, "suspects", 3, 1 << 20)),
    ),
    Damage(
        "an example that is no FLOAT16",
        "more bits than its type has",
        _NO_SUM,
        _wrong(lambda totals: _first_of(totals, "suspects", 1, 1 << 16)),
    ),
    Damage(
        "an example in a tensor of 2^40 elements",
        "asks for terabytes where it is looked at again",
        _NO_SUM,
        _wrong(lambda totals: _first_of(totals, "suspects", 4, 1 << 40)),
    ),
    Damage("a stopped tensor that nobody saw", "without what became of it", _NO_SUM, _totals(stopped=1, failing=1)),
    Damage(
        "a stopped tensor of 2^40 elements",
        "asks for terabytes where it is looked at again",
        _NO_SUM,
        _totals(stopped=1, failing=1, troubles=[[0, 1 << 40, "fail", "said"]]),
    ),
    Damage(
        "elements that were not judged, for no reason",
        "left out, and nothing failed",
        _NO_SUM,
        _totals(exact=1, elements=1, classes={"normal": 1}, unjudged=65535, failing=1),
    ),
    Damage(
        "more unwritten than there are",
        "a count beyond the block",
        _NO_SUM,
        _totals(unwritten=70000, failing=1, troubles=[[0, 65536, "fail", "said"]]),
    ),
    Damage(
        "classes that do not add up",
        "the clauses of NaN and infinity would hold on nothing",
        _NO_SUM,
        _totals(classes={"nan": 2046}),
    ),
)
