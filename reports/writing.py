"""Files on disk: whole or not at all.

Every file is written beside its place under a temporary name and then moved there, so a full disk or a
Ctrl-C never leaves half a document. :func:`prepare_folder` finds out before a run, not after it, that the
results folder cannot be used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from dmlcts.reports.html import PAGE_MARK
from dmlcts.reports.journal import NAME as JOURNAL
from dmlcts.reports.junit import SUITES_NAME, junit_xml
from dmlcts.reports.records import FailureRecord, ItemRecord
from dmlcts.reports.selecting import within
from dmlcts.reports.validation import FAILURE_FORMAT
from dmlcts.specs import UsageError

SWEEP_JOURNAL = "sweep-journal.jsonl"
SWEEP_TEST = "sweep::"
"""What the test of a failure begins with that a sweep found."""
_SWEEP_FILES = "sweep-"
_TEMPORARY = ".dmlcts-tmp"
_ONLY_QUOTED = re.compile("[\r\x85\u2028\u2029\ufeff]")  # YAML reads these as line breaks or not at all
# YAML versions differ on some of these, and the project's own reader refuses them without quotes.
_LIKE_A_NUMBER = re.compile(r"[-+.]*(\d[\w.:+-]*|inf\w*|nan)|[yn]", re.IGNORECASE)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        mend = "free some space or choose another folder with --results"
        raise UsageError(f"cannot write {path}: {_reason(error)}", mend) from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all; lone surrogates are written as their escapes.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document, indented, keys in the order given.

    Raises:
        UsageError: it cannot be written; what stood there before is untouched.
    """
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


class _Dumper(yaml.SafeDumper):
    """Block style; texts of several lines as they are, lists of plain values on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    exact = not _ONLY_QUOTED.search(text)
    style = ("|" if "\n" in text else None) if exact else '"'
    if _LIKE_A_NUMBER.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, members: list[Any]) -> yaml.Node:
    flat = not any(isinstance(member, list | dict) for member in members)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", members, flow_style=flat)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)


def dump_yaml(document: Mapping[str, Any]) -> str:
    """The document as readable YAML; ``yaml.safe_load`` gives it back."""
    layout: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 110}
    text: str = yaml.dump(dict(document), Dumper=_Dumper, default_flow_style=False, **layout)
    return text


def named(failure: FailureRecord) -> FailureRecord:
    """The failure with the name of its file: readable, and the same in every run, or sweep, that finds it."""
    digest = hashlib.sha256(json.dumps([failure.title, failure.case], sort_keys=True).encode())
    short = failure.operator.removeprefix("ELEMENT_WISE_").lower().replace("_", "-")
    subject = failure.clause or failure.outcome.value
    words = (subject, short, failure.data_type.lower(), digest.hexdigest()[:8])
    prefix = _SWEEP_FILES if failure.test.startswith(SWEEP_TEST) else ""
    return dataclasses.replace(failure, file=prefix + "-".join(word for word in words if word) + ".yaml")


def failure_document(failure: FailureRecord, suite_version: str) -> dict[str, Any]:
    """The failure as the document that ``failures/*.yaml`` holds (``dmlcts/failure/1``)."""
    whole = failure.to_json()
    members = ("title", "clause", "operator", "data_type", "outcome", "test")
    return {
        "format": FAILURE_FORMAT,
        **{name: whole[name] for name in members},
        "suite_version": suite_version,
        "text": whole["text"],
        "details": whole["details"],
        "case": whole["case"],
    }


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
        yield from (path for path in place.glob("failures/*.yaml") if not path.name.startswith(_SWEEP_FILES))
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
        yield from (path for path in place.glob(f"failures/{_SWEEP_FILES}*.yaml") if path.is_file() and _is_ours(path))
        if not keep_journal:
            yield place / SWEEP_JOURNAL

    return _prepared(Path(folder), earlier)


def _prepared(folder: Path, earlier: Callable[[Path], Iterable[Path]]) -> Path:
    """The folder, made, tried and rid of what ``earlier`` finds in it."""
    mend = "choose another folder with --results"
    try:
        (folder / "failures").mkdir(parents=True, exist_ok=True)
        for place in (folder, folder / "failures"):
            probe = place / f".probe.{secrets.token_hex(4)}{_TEMPORARY}"
            try:
                probe.write_bytes(bytes(65536))
            finally:
                probe.unlink(missing_ok=True)
        leftovers = [*folder.glob(f".*{_TEMPORARY}"), *folder.glob(f"failures/.*{_TEMPORARY}")]
        for path in [*leftovers, *(path for path in earlier(folder) if path.is_file())]:
            path.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        obstacle = error.filename or folder
        raise UsageError(f"cannot use {folder} for results: {obstacle} is not a folder", mend) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot use {folder} for results: {_reason(error)}", mend) from None
    return folder


def prepare_failures(folder: Path) -> Path:
    """The folder that holds a results folder's failures, made where it is missing.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        (folder / "failures").mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot use {folder} for results: {_reason(error)}", "choose another folder") from None
    return folder / "failures"


def write_run(folder: Path, results: Mapping[str, Any], items: Iterable[ItemRecord], page: str = "") -> list[Path]:
    """Write a run's failures, ``junit.xml``, ``results.html`` and ``results.json``, the last one last.

    Where ``results.json`` stands, everything that it names stands too.

    Args:
        folder: the results folder.
        results: the results document.
        items: the records that it was made from.
        page: what ``results.html`` holds (:func:`dmlcts.reports.html.page`); "" for none.

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
