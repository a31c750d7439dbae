"""The folder that a run or a sweep leaves: written whole or not at all, and nothing of it removed by a mistake.

:func:`write_run` writes what a run leaves: ``results.json`` and its views, and a replay file for each failure.

:func:`prepare_folder` finds out before a run, not after it, that the results folder cannot be used; it removes nothing.
:func:`earlier_run` and :func:`earlier_sweep` find what the folder holds of an earlier one, to be removed as soon as
there is something new: a misspelt backend, a device that cannot be reached or a wrong option leaves all as it was.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.journal import NAME as JOURNAL
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.selecting import within
from dmlcts.reports.documents.validation import FAILURE_FORMAT
from dmlcts.reports.documents.writing import (
    SWEEP_JOURNAL,
    SWEEP_PREFIX,
    TEMPORARY,
    dump_yaml,
    failure_document,
    reason,
    write_bytes,
    write_json,
    write_text,
)
from dmlcts.reports.views.html import PAGE_MARK
from dmlcts.reports.views.junit import SUITES_NAME, junit_xml
from dmlcts.specs import UsageError
from dmlcts.specs.number_text import many

_MOST_NAME = 80


def _is_ours(path: Path) -> bool:
    """Whether a file in the results folder is one that a run wrote."""
    try:
        if path.suffix == ".yaml":
            return path.read_text(encoding="utf-8").startswith(f"format: {FAILURE_FORMAT}\n")
        if path.suffix == ".jsonl":
            with path.open("rb") as stream:
                return stream.readline(1 << 20).startswith(b'{"run": {"schema": "dmlcts-records/')
        if path.suffix == ".json":
            document = json.loads(path.read_text(encoding="utf-8"))
            return isinstance(document, dict) and str(document.get("schema")).startswith("dmlcts-results/")
        marks = (f'<testsuites name="{SUITES_NAME}"', PAGE_MARK)
        return any(mark in path.read_text(encoding="utf-8")[:500] for mark in marks)
    except (OSError, ValueError, RecursionError):
        return False


@dataclass(frozen=True)
class Earlier:
    """What an earlier run or sweep left in a results folder.

    Attributes:
        files: that it wrote.
        words: what they are of: "the run of cpu of 2026-11-27, 5 files"; "" where there are none.
    """

    files: tuple[Path, ...]
    words: str

    def remove(self) -> None:
        """Remove the files; one that is gone already is none to remove.

        Raises:
            UsageError: one cannot be removed.
        """
        try:
            for path in self.files:
                path.unlink(missing_ok=True)
        except OSError as error:
            cause = f"cannot remove {error.filename}: {reason(error)}"
            raise UsageError(cause, "choose another folder with --results") from None


def _described(kind: str, document: Mapping[str, Any], files: int) -> str:
    """Which run or sweep wrote some files, as its own header or record says."""
    timings = document.get("timings")
    started = document.get("started") or (timings.get("started") if isinstance(timings, Mapping) else None)
    backend = str(document.get("backend") or "a backend")[:_MOST_NAME]
    day = f" of {started[:10]}" if isinstance(started, str) else ""
    return f"the {kind} of {backend}{day}, {many(files, 'file')}"


def _header(path: Path, kind: str) -> Mapping[str, Any]:
    """What the first line of a journal says; empty where that cannot be read."""
    try:
        with path.open("rb") as stream:
            header = json.loads(stream.readline(1 << 20))[kind]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return header if isinstance(header, Mapping) else {}


def _record(path: Path) -> Mapping[str, Any]:
    """A record, ``results.json`` say; empty where it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, Mapping) else {}


def _leftovers(folder: Path) -> Iterator[Path]:
    """What writers that were killed left behind; nobody writes here now, for the folder is locked."""
    yield from folder.glob(f".*{TEMPORARY}")
    yield from folder.glob(f"failures/.*{TEMPORARY}")


def _earlier(folder: Path, kind: str, files: Iterable[Path], journal: str, record: str) -> Earlier:
    paths = [path for path in files if path.is_file()]
    description = ""
    if paths:
        document = _header(folder / journal, kind) or _record(folder / record)
        description = _described(kind, document, len(paths))
    return Earlier((*_leftovers(folder), *paths), description)


def earlier_run(folder: Path, *, keep_records: bool = False) -> Earlier:
    """What an earlier run left here: failures, ``results.json``, ``results.html``, ``junit.xml`` and the journal.

    It has to be removed before a new run's results are written, so that a run that is killed cannot be mistaken for the
    one before. Files that this project did not write are none of it, nor is what a sweep wrote.

    Args:
        folder: the results folder.
        keep_records: leave the journal out, which is to be continued.
    """

    def ours() -> Iterator[Path]:
        names = (folder / name for name in ("results.json", "results.html", "junit.xml"))
        failures = (path for path in folder.glob("failures/*.yaml") if not path.name.startswith(SWEEP_PREFIX))
        journal = () if keep_records else (folder / JOURNAL,)
        yield from (path for path in (*names, *failures, *journal) if path.is_file() and _is_ours(path))

    return _earlier(folder, "run", ours(), JOURNAL, "results.json")


def earlier_sweep(folder: Path, *, keep_journal: bool = False) -> Earlier:
    """What an earlier sweep left here: its failures, ``sweep.json``, ``sweep.html`` and its journal.

    Args:
        folder: the results folder.
        keep_journal: leave the journal out, which is to be continued.
    """

    def ours() -> Iterator[Path]:
        yield from (folder / name for name in ("sweep.json", "sweep.html"))
        yield from (path for path in folder.glob(f"failures/{SWEEP_PREFIX}*.yaml") if path.is_file() and _is_ours(path))
        if not keep_journal:
            yield folder / SWEEP_JOURNAL

    return _earlier(folder, "sweep", ours(), SWEEP_JOURNAL, "sweep.json")


def prepare_folder(folder: str | Path) -> Path:
    """Make sure that a run or a sweep can write its results here; what the folder holds stays.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    folder = Path(folder)
    mend = "choose another folder with --results"
    try:
        (folder / "failures").mkdir(parents=True, exist_ok=True)
        for place in (folder, folder / "failures"):
            probe = place / f".probe.{secrets.token_hex(4)}{TEMPORARY}"
            try:
                probe.write_bytes(bytes(65536))
            finally:
                probe.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        obstacle = error.filename or folder
        raise UsageError(f"cannot use {folder} for results: {obstacle} is not a folder", mend) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot use {folder} for results: {reason(error)}", mend) from None
    return folder


def prepare_failures(folder: Path) -> Path:
    """The folder that holds a results folder's failures, made where it is missing.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        (folder / "failures").mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot use {folder} for results: {reason(error)}", "choose another folder") from None
    return folder / "failures"


def write_run(folder: Path, results: Mapping[str, Any], items: Iterable[ItemRecord], page: str = "") -> list[Path]:
    """Write a run's failures, ``junit.xml``, ``results.html`` and ``results.json``, the last one last.

    Where ``results.json`` stands, everything that it names stands too.

    Args:
        folder: the results folder.
        results: the results document.
        items: the records that it was made from.
        page: what ``results.html`` holds (:func:`dmlcts.reports.views.html.page`); "" for none.

    Returns:
        ``results.json``, ``results.html``, ``junit.xml`` and, if any failure was written, the folder ``failures``.

    Raises:
        UsageError: one of them cannot be written.
    """
    items = list(items)
    records = sorted((failure for item in items for failure in item.failures), key=lambda failure: failure.test)
    failures = {failure.file: failure for failure in reversed(records) if failure.file}  # one case, however many tests
    for name, failure in sorted(failures.items()):
        document = failure_document(failure, results["suite"]["version"])
        write_text(folder / "failures" / name, dump_yaml(document))
    write_bytes(folder / "junit.xml", junit_xml(within(items, results["selection"]), results))
    if page:
        write_text(folder / "results.html", page)
    write_json(folder / "results.json", results)
    written = [folder / "results.json", *([folder / "results.html"] if page else []), folder / "junit.xml"]
    return [*written, folder / "failures"] if failures else written
