"""YAML as the project reads it: plain values with their positions, and no surprises of YAML 1.1.

PyYAML does the scanning; the values are built here, from its events, because PyYAML's own construction
silently turns ``-0`` into 0, ``1e-3`` into a text and ``1:30`` into 90. A table that means a number must not
become another one, so every such spelling is refused with its position and the way to write it.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import yaml

from dmlcts.specs.errors import Fault, TableError
from dmlcts.specs.reading.yaml_scalars import STRANGE, Refused, cut, plain_value

KeyPath = tuple[str | int, ...]

"""Where a value stands: mapping keys and list indices from the root, as in ``("clauses", 3, "id")``."""

Position = tuple[int, int]

"""Line and column, both counted from 1."""

MAX_BYTES = 1 << 20

MAX_DEPTH = 32

MAX_FAULTS = 100

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is optional and ten times as fast


@dataclass(frozen=True)
class Document:
    """A YAML document that was read without fault.

    Attributes:
        file: the name that faults are reported under.
        value: dicts with text keys, lists, and ``str``, ``int``, ``float``, ``bool`` or ``None``.
        positions: where each value begins.
        keys: where the key of each mapping entry begins.
        plain: the paths of unquoted texts on one line, whose characters stand in the file as in the value.
    """

    file: str
    value: Any
    positions: Mapping[KeyPath, Position]
    keys: Mapping[KeyPath, Position]
    plain: frozenset[KeyPath]

    def position(self, path: KeyPath) -> Position:
        """Where the value at ``path`` begins, or else its nearest ancestor that is in the document."""
        while path not in self.positions:
            path = path[:-1]
        return self.positions[path]

    def key_position(self, path: KeyPath) -> Position:
        """Where the key of the entry at ``path`` begins; for a list item, where the item begins."""
        return self.keys.get(path) or self.position(path)

    def fault(self, path: KeyPath, cause: str, mend: str, *, at_key: bool = False, offset: int = 0) -> Fault:
        """A fault of the value at ``path``, ``offset`` characters into it, or of its key."""
        line, column = self.key_position(path) if at_key else self.position(path)
        return Fault(self.file, line, column + offset, cause, mend)


def shown(value: object, limit: int = 40) -> str:
    """``value`` as a message shows it: as YAML would write it, on one line, and short."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            text = repr(value)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            text = str(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}\N{HORIZONTAL ELLIPSIS}"


def decode(data: bytes, file: str) -> str:
    """The text of a YAML file.

    Raises:
        TableError: the file is larger than 1 MiB, or is not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise TableError(_too_large(file))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = _position_in(before, len(before))
        cause = f"byte 0x{data[error.start]:02X} is not UTF-8"
        raise TableError(Fault(file, line, column, cause, "save the file as UTF-8")) from None


def read_yaml(text: str, file: str) -> Document:
    """Read one YAML document.

    Args:
        text: the whole file.
        file: its name, for the faults.

    Raises:
        TableError: the text is not YAML, or uses what this project refuses: spellings that YAML versions read
            differently, duplicate keys, anchors and aliases, merge keys, tags, keys that are not text,
            several documents, more than 32 levels, more than 1 MiB. It holds every fault found, up to 100.
    """
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise TableError(_too_large(file))
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    strange = STRANGE.search(text)
    if strange:
        line, column = _position_in(text, strange.start())
        cause = f"the character U+{ord(strange[0]):04X} cannot stand in a table"
        raise TableError(Fault(file, line, column, cause, "remove it, or write it as an escape in double quotes"))
    return _Reader(text, file).document()


def _too_large(file: str) -> Fault:
    return Fault(file, 1, 1, "the file is larger than 1 MiB", "split it into smaller files")


def _position_in(text: str, index: int) -> Position:
    start = text.rfind("\n", 0, index) + 1
    return text.count("\n", 0, start) + 1, index - start + 1


class _Stop(Exception):  # noqa: N818 - it never leaves this module
    """Reading on makes no sense."""


_SYNTAX_MENDS = (
    ("mapping values are not allowed", "put a text that contains ': ' in quotes, and check the indentation"),
    ("unexpected end of stream", "close the quotes"),
    ("could not find expected ':'", "write `key: value`, and check the indentation above"),
    ("unknown escape", "use single quotes, or double the backslash"),
    ("'}'", "close the braces, and put a comma between entries"),
    ("']'", "close the brackets, and put a comma between items"),
    ("cannot start any token", "put a text that begins with this character in quotes"),
)

_YAML_TAGS = "tag:yaml.org,2002:"  # what `!!` stands for

_KEY: KeyPath = (-1,)

"""Where a key is read: keys share the reading of values, but no value stands at this path."""


def _events(text: str) -> Iterator[Any]:
    """PyYAML's events of ``text``.

    From 0.2.6 on, libyaml refuses what is nested 1,000 levels deep, and reports that before it has reported the outer
    levels, for its scanner reads ahead. PyYAML's own scanner has no such limit, so it goes on from there.
    """
    event_count = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            event_count += 1
            yield event
    except yaml.MarkedYAMLError as error:
        if "nesting depth" not in (error.problem or ""):
            raise
        yield from itertools.islice(yaml.parse(text, Loader=yaml.SafeLoader), event_count, None)


class _Reader:
    """Builds the values of one document from PyYAML's events, collecting faults on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.lines = text.splitlines()
        self.file = file
        self.faults: list[Fault] = []
        self.positions: dict[KeyPath, Position] = {}
        self.keys: dict[KeyPath, Position] = {}
        self.plain: set[KeyPath] = set()
        self.spans: list[tuple[int, int]] = []
        self.last: Position = (1, 1)
        self.events = self.scan()

    def document(self) -> Document:
        value: Any = None
        try:
            value = self.root()
            self.check_tabs()
        except _Stop:
            pass  # the fault that stopped the reading is among self.faults
        if self.faults:
            raise TableError(*sorted(self.faults, key=lambda fault: (fault.line, fault.column)))
        positions, keys = MappingProxyType(self.positions), MappingProxyType(self.keys)
        return Document(self.file, value, positions, keys, frozenset(self.plain))

    def scan(self) -> Iterator[Any]:
        try:
            yield from _events(self.text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            position = self.place(mark) if mark else self.last
            self.syntax_fault(position, error.problem or error.context or "it cannot be read")
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
            # The scanner converts escapes and version numbers without looking at their range.
            self.syntax_fault(self.last, "an escape or a directive near here is out of range")

    def syntax_fault(self, position: Position, problem: str) -> None:
        mend = next((mend for part, mend in _SYNTAX_MENDS if part in problem), "correct it here or above")
        line, column = position
        before = self.lines[line - 1][:column] if self.lines else ""
        if before.endswith("\t") or before.lstrip(" ").startswith("\t"):
            problem, mend = "a tab stands where YAML allows only spaces", "indent with spaces"
        self.stop(position, f"the file is not YAML: {problem}", mend)

    def place(self, mark: Any) -> Position:
        """Line and column of one of PyYAML's marks."""
        if mark.line < len(self.lines):
            return mark.line + 1, mark.column + 1
        # The end of the file, which libyaml puts on a line of its own.
        return (len(self.lines), len(self.lines[-1]) + 1) if self.lines else (1, 1)

    def stop(self, position: Position, cause: str, mend: str) -> None:
        self.faults.append(Fault(self.file, *position, cause, mend))
        raise _Stop

    def fault(self, position: Position, cause: str, mend: str) -> None:
        if len(self.faults) >= MAX_FAULTS:
            self.stop(position, f"there are more than {MAX_FAULTS} faults in this file", "mend the others first")
        self.faults.append(Fault(self.file, *position, cause, mend))

    def next(self) -> Any:
        event = next(self.events)
        self.last = self.place(event.start_mark)
        return event

    def root(self) -> Any:
        self.next()
        event = self.next()
        if isinstance(event, yaml.StreamEndEvent):
            self.stop((1, 1), "the file is empty", "write a document, or remove the file")
        event = self.next()
        if isinstance(event, yaml.ScalarEvent) and not event.value and not event.style:
            self.stop((1, 1), "the document is empty", "write a document, or remove the file")
        value = self.node(event, (), 1)
        self.next()
        if not isinstance(self.next(), yaml.StreamEndEvent):
            self.stop(self.last, "a second document begins here", "keep one document in a file, without `---` lines")
        return value

    def node(self, event: Any, path: KeyPath, depth: int) -> Any:
        position = self.place(event.start_mark)
        self.positions[path] = position
        if isinstance(event, yaml.AliasEvent):
            self.fault(position, f"the alias *{cut(event.anchor or '')} is not allowed", "write the value out")
            return None
        if event.anchor is not None:
            self.fault(position, f"the anchor &{cut(event.anchor)} is not allowed", "remove it")
        if event.tag is not None:
            self.fault(
                position,
                f"the tag {cut(event.tag.replace(_YAML_TAGS, '!!'))} is not allowed",
                "remove it; use quotes to make a text",
            )
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path, position)
        if depth > MAX_DEPTH:
            self.stop(position, f"the document is nested more than {MAX_DEPTH} levels deep", "flatten it")
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(path, depth)
        return self.mapping(path, depth)

    def scalar(self, event: Any, path: KeyPath, position: Position) -> Any:
        self.spans.append((event.start_mark.index, event.end_mark.index))
        text: str = event.value
        if event.style:
            if not text.isprintable() and any("\ud800" <= character <= "\udfff" for character in text):
                self.fault(position, "a lone surrogate is no character", "write the character itself")
            return text
        if event.start_mark.line == event.end_mark.line:
            self.plain.add(path)
        try:
            return plain_value(text)
        except Refused as refused:
            self.fault(position, refused.cause, refused.mend)
            return None

    def sequence(self, path: KeyPath, depth: int) -> list[Any]:
        items: list[Any] = []
        event = self.next()
        while not isinstance(event, yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items)), depth + 1))
            event = self.next()
        return items

    def mapping(self, path: KeyPath, depth: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        event = self.next()
        while not isinstance(event, yaml.MappingEndEvent):
            key, position = self.key(event, depth), self.place(event.start_mark)
            value_path = (*path, "" if key is None else key)
            if key in entries:
                first = self.keys[value_path]
                cause = f"the key {shown(key)} stands twice in this mapping, first on line {first[0]}"
                self.fault(position, cause, "remove one of them")
            self.keys.setdefault(value_path, position)
            value = self.node(self.next(), value_path, depth + 1)
            if key is not None:
                entries[key] = value
            event = self.next()
        return entries

    def key(self, event: Any, depth: int) -> str | None:
        """The key that ``event`` begins, or ``None`` after a fault."""
        position = self.place(event.start_mark)
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and not event.style:
            self.fault(position, "merge keys (<<) are not allowed", "write the entries out")
            return None
        before = len(self.faults)
        key = self.node(event, _KEY, depth + 1)
        self.positions.pop(_KEY, None)
        self.plain.discard(_KEY)
        if isinstance(key, str):
            return key
        if len(self.faults) == before:
            self.fault(position, f"the key is {shown(key)}, not a text", "put it in quotes, or name it otherwise")
        return None

    def check_tabs(self) -> None:
        """Refuse tabs between the scalars: libyaml takes some that other readers refuse."""
        starts = [start for start, _ in self.spans]
        comment_end = -1
        for match in re.finditer(r"\t|(?<!\S)#[^\n]*", self.text):
            before = bisect.bisect_right(starts, match.start()) - 1
            if match.start() < comment_end or (before >= 0 and match.start() < self.spans[before][1]):
                continue
            if match[0] != "\t":
                comment_end = match.end()
                continue
            position = _position_in(self.text, match.start())
            self.fault(position, "a tab stands where YAML allows only spaces", "indent with spaces")
