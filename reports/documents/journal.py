"""The journal of a run, ``records.jsonl``: what each test found, on disk as soon as it was found.

The first line says what the run is; a line of its kind follows for the collection, for every finished test, and for
the end. Each line is written in one piece and handed to the system at once, so that whatever ends the run leaves
all finished tests on disk. A last line that is not whole is what such an end leaves behind, and is passed over.
A sweep's journal is made of such lines as well; what stands in them is the sweep's business.

A journal that replaces an earlier run's begins on disk with its first record: until then the earlier files stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

from dmlcts.reports.documents.records import ItemRecord, RecordError
from dmlcts.reports.documents.validation import DocumentError, parse_json, values_in
from dmlcts.reports.documents.writing import TEMPORARY
from dmlcts.specs import UsageError
from dmlcts.specs.files import open_plain

SCHEMA = "dmlcts-records/1"
NAME = "records.jsonl"
_MOST_LINE = 8 << 20
_MOST_FILE = 256 << 20
_MOST_VALUES = 2_000_000
_HINT = "give the results folder of a run that this version of dmlcts wrote"


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"


@dataclass(frozen=True)
class Collection:
    """What a run set out to do: ``items`` tests of the ``total`` that the whole selection has."""

    items: int
    total: int


@dataclass(frozen=True)
class JournalContent:
    """A journal as it was read.

    Attributes:
        path: where it stands.
        header: what the run is: settings, device, suite and tables.
        collection: ``None`` where the run did not come so far.
        records: of the finished tests.
        ended: whether the run ended as it should.
        finished: when, where it says so; the journals of earlier versions do not.
        whole: bytes up to the end of the last whole line.
    """

    path: Path
    header: dict[str, Any]
    collection: Collection | None
    records: tuple[ItemRecord, ...]
    ended: bool
    whole: int = field(compare=False, default=0)
    finished: datetime | None = None


def _open(path: Path, mode: str) -> BinaryIO:
    return cast(BinaryIO, open(path, mode, buffering=0))  # the journal closes it


class Journal:
    """A journal that is being written.

    Args:
        path: the file; it must not exist, unless ``keep`` says how much of it stays, or it is one of ``replaces``.
        keep: bytes of an existing journal that stay; what follows them is cut off.
        open_file: opens the file, for tests.
        command: the command that continues what the journal is of.
        replaces: files of an earlier run, this one too where it is not kept. They are removed once the first record is
            on disk, and nothing is written in their place before.

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        keep: int | None = None,
        open_file: Callable[[Path, str], BinaryIO] | None = None,
        command: str = "dmlcts run",
        replaces: Sequence[Path] = (),
    ) -> None:
        self.path = path
        self._command = command
        self._open = open_file or _open
        self._replaces = tuple(replaces)
        self._waiting = b""
        self._end = keep or 0
        self._stream: BinaryIO | None = None
        with_the_first = keep is None and bool(replaces) and (path in self._replaces or not path.exists())
        if not with_the_first:
            self._opened("xb" if keep is None else "r+b")

    def _opened(self, mode: str) -> None:
        try:
            self._stream = self._open(self.path, mode)
            self._stream.truncate(self._end)
            self._stream.seek(self._end)
        except OSError as error:
            raise self._unwritable(error) from None

    def begin(self, kind: str, content: Mapping[str, Any]) -> None:
        """Write a line that says what the journal is of; where an earlier one stands, together with the first record.

        Raises:
            UsageError: as :meth:`append`.
        """
        if self._stream is None:
            self._waiting += _line({kind: dict(content)})
        else:
            self._write(_line({kind: dict(content)}))

    def append(self, kind: str, content: Mapping[str, Any]) -> None:
        """Write one line, and hand it to the system.

        Raises:
            UsageError: it cannot be written; the lines before it are untouched and whole.
        """
        line = _line({kind: dict(content)})
        if self._stream is None:
            self._replace(self._waiting + line)
        else:
            self._write(line)
            self.settle()

    def settle(self) -> None:
        """Remove what this run replaces, where that still stands: its results are about to be written.

        Raises:
            UsageError: it cannot be removed, or the journal cannot be written.
        """
        if self._stream is None:
            self._replace(self._waiting)
        else:
            try:
                self._remove()
            except OSError as error:
                raise self._unwritable(error) from None

    def _remove(self) -> None:
        replaced, self._replaces = self._replaces, ()
        for path in replaced:
            path.unlink(missing_ok=True)

    def _replace(self, lines: bytes) -> None:
        """Write the first lines beside their place, remove what was there, and put them there."""
        place = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            with contextlib.closing(self._open(place, "xb")) as stream:
                _whole(stream, lines)
            self._remove()
            os.replace(place, self.path)
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
        self._waiting, self._end = b"", len(lines)
        self._opened("r+b")

    def _write(self, line: bytes) -> None:
        assert self._stream is not None  # noqa: S101  # whoever calls looked
        try:
            _whole(self._stream, line)
        except OSError as error:
            self._cut(self._stream)
            raise self._unwritable(error) from None
        self._end += len(line)

    def _cut(self, stream: BinaryIO) -> None:
        try:
            stream.truncate(self._end)
            stream.seek(self._end)
        except OSError:
            return  # a line that is not whole stays, and is passed over by whoever reads

    def _unwritable(self, error: OSError) -> UsageError:
        reason = error.strerror or str(error)
        mend = f"what was found until now is kept: free some space and continue with `{self._command} --resume`"
        return UsageError(f"cannot write {self.path}: {reason}", mend)

    def close(self) -> None:
        """Close the file; calling it again does nothing."""
        if self._stream is not None:
            self._stream.close()


def _whole(stream: BinaryIO, lines: bytes) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
    stream.flush()


@dataclass(frozen=True)
class JournalLine:
    """One whole line of a journal.

    Attributes:
        path: the journal's.
        number: of the line, from 1 on.
        kind: what it is about.
        content: what it says.
        end: bytes of the journal up to its end.
        hint: what to do where a journal is broken.
    """

    path: Path
    number: int
    kind: str
    content: dict[str, Any]
    end: int
    hint: str

    def fail(self, cause: str) -> NoReturn:
        """Refuse the journal for what this line says.

        Raises:
            DocumentError: always.
        """
        _fail(self.path, self.number, cause, self.hint)


def _fail(path: Path, number: int, cause: str, hint: str) -> NoReturn:
    raise DocumentError(f"{path}:{number}", "", cause, hint)


def _parsed(path: Path, number: int, line: bytes, hint: str) -> tuple[str, Any]:
    document = parse_json(line, f"{path}:{number}", hint)
    if not isinstance(document, dict) or len(document) != 1:
        _fail(path, number, "is no line of a journal", hint)
    ((kind, content),) = document.items()
    if not isinstance(content, dict):
        _fail(path, number, "is no line of a journal", hint)
    return kind, content


def journal_lines(path: Path, hint: str = _HINT) -> Iterator[JournalLine]:
    """The whole lines of a journal, one after another; a last line that is torn is passed over.

    Args:
        path: the journal's.
        hint: what to do where it is broken.

    Raises:
        DocumentError: it cannot be read, is no journal by far, or a line that is not the last is broken.
    """
    end = 0
    try:
        if os.path.getsize(path) > _MOST_FILE:
            raise DocumentError(str(path), "", "is larger than any journal", hint)
        with open_plain(path) as stream:  # opening a pipe would wait for whoever writes into it
            number = values = 0
            while line := stream.readline(_MOST_LINE + 1):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) > _MOST_LINE:
                        _fail(path, number, "is longer than any line of a journal", hint)
                    return  # the last line, torn
                values += values_in(line)
                if values > _MOST_VALUES:
                    _fail(path, number, f"brings the values to more than {_MOST_VALUES:,}", hint)
                end += len(line)
                yield JournalLine(path, number, *_parsed(path, number, line, hint), end, hint)
    except FileNotFoundError:
        raise DocumentError(str(path), "", "does not exist", hint) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DocumentError(str(path), "", f"cannot be read ({reason})", hint) from None


def _counted(line: JournalLine) -> Collection:
    counts = [line.content.get(name) for name in ("items", "total")]
    if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
        line.fail("does not say how many tests there are")
    return Collection(line.content["items"], line.content["total"])


def _time(written: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(written)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_journal(place: str | Path) -> JournalContent:
    """Read a journal, given its path or the folder that holds it.

    Raises:
        DocumentError: there is none, it is of another version, or a line that is not the last is broken.
    """
    path = Path(place)
    if path.is_dir():
        path /= NAME
    header: dict[str, Any] | None = None
    collection = None
    records: dict[str, ItemRecord] = {}
    ended = False
    finished = None
    whole = 0
    for line in journal_lines(path):
        if header is None and (line.kind != "run" or line.content.get("schema") != SCHEMA):
            line.fail(f"does not begin a journal of the format {SCHEMA}")
        match line.kind:
            case "run" if header is not None:
                line.fail("begins the journal a second time")
            case "run":
                header = line.content
            case "collected":
                collection = _counted(line)
            case "item":
                try:
                    record = ItemRecord.from_json(line.content)
                except RecordError as error:
                    line.fail(str(error))
                if record.test in records:
                    line.fail(f"holds {record.test} a second time")
                records[record.test] = record
            case "end":
                ended, finished = True, _time(line.content.get("finished"))
            case _:
                line.fail(f"is of the unknown kind {line.kind[:40]!r}")
        whole = line.end
    if header is None:
        raise DocumentError(str(path), "", "is empty", _HINT)
    return JournalContent(path, header, collection, tuple(records.values()), ended, whole, finished)
