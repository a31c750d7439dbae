"""The folder that a run or a sweep leaves: cleared before, written after, whole or not at all.

:func:`prepare_folder` finds out before a run, not after it, that the results folder cannot be used.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
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


def prepare_folder(folder: str | Path, *, keep_records: bool = False) -> Path:
    """Make sure that a run can write its results here, and clear away what an earlier one left.

    Failures, ``results.json``, ``results.html``, ``junit.xml`` and, unless ``keep_records``, the journal of an
    earlier run are removed, so that a run that is killed cannot be mistaken for the one before; files that this
    project did not write stay, and so does what a sweep wrote.

    Raises:
        UsageError: the folder cannot be made or written.
    """

    def earlier(place: Path) -> Iterable[Path]:
        yield from (place / name for name in ("results.json", "results.html", "junit.xml"))
        yield from (path for path in place.glob("failures/*.yaml") if not path.name.startswith(SWEEP_PREFIX))
        if not keep_records:
            yield place / JOURNAL

    return _prepared(Path(folder), lambda place: (path for path in earlier(place) if path.is_file() and _is_ours(path)))


def prepare_sweep_folder(folder: str | Path, *, keep_journal: bool = False) -> Path:
    """Make sure that a sweep can write its record here, and clear away what an earlier one left.

    Its failures, ``sweep.json``, ``sweep.html`` and, unless ``keep_journal``, its journal are removed; files that
    this project did not write stay, and so does what a run wrote.

    Raises:
        UsageError: the folder cannot be made or written.
    """

    def earlier(place: Path) -> Iterable[Path]:
        yield from (place / name for name in ("sweep.json", "sweep.html"))
        yield from (path for path in place.glob(f"failures/{SWEEP_PREFIX}*.yaml") if path.is_file() and _is_ours(path))
        if not keep_journal:
            yield place / SWEEP_JOURNAL

    return _prepared(Path(folder), earlier)


def _prepared(folder: Path, earlier: Callable[[Path], Iterable[Path]]) -> Path:
    """The folder, made, tried and rid of what ``earlier`` finds in it."""
    mend = "choose another folder with --results"
    try:
        (folder / "failures").mkdir(parents=True, exist_ok=True)
        for place in (folder, folder / "failures"):
            probe = place / f".probe.{secrets.token_hex(4)}{TEMPORARY}"
            try:
                probe.write_bytes(bytes(65536))
            finally:
                probe.unlink(missing_ok=True)
        leftovers = [*folder.glob(f".*{TEMPORARY}"), *folder.glob(f"failures/.*{TEMPORARY}")]
        for path in [*leftovers, *(path for path in earlier(folder) if path.is_file())]:
            path.unlink(missing_ok=True)
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
    told = sorted((failure for item in items for failure in item.failures), key=lambda failure: failure.test)
    failures = {failure.file: failure for failure in reversed(told) if failure.file}  # one case, however many tests
    for name, failure in sorted(failures.items()):
        document = failure_document(failure, results["suite"]["version"])
        write_text(folder / "failures" / name, dump_yaml(document))
    write_bytes(folder / "junit.xml", junit_xml(within(items, results["selection"]), results))
    if page:
        write_text(folder / "results.html", page)
    write_json(folder / "results.json", results)
    written = [folder / "results.json", *([folder / "results.html"] if page else []), folder / "junit.xml"]
    return [*written, folder / "failures"] if failures else written
