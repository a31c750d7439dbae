"""Joining the shards of a run into what the whole run would have written; anything else is refused by name."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.journal import NAME, Collection, Journal, JournalContent, read_journal
from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, suite_identity
from dmlcts.reports.documents.waivers import Waivers
from dmlcts.reports.documents.wording import is_typed_in_results
from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.reports.views.run_folder import Earlier, earlier_run, prepare_folder, write_run
from dmlcts.specs import DataType, FeatureLevel, UsageError
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables
from dmlcts.suites.options.value import read_shard
from dmlcts.suites.running.combinations_covered import combinations_members
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.results_page import results_page
from dmlcts.suites.running.run import difference, key_of

_MEND = "merge the folders of all shards of one run, each once"


def _part(content: JournalContent) -> tuple[int, int]:
    try:
        part = read_shard(str(content.header.get("shard")))
    except UsageError as error:
        raise UsageError(f"{content.path} is no shard's", "run the parts with --shard I/N") from error
    if not content.ended or content.collection is None:
        raise UsageError(f"{content.path} is of a run that did not end", "continue it with `dmlcts run --resume`")
    return part


def _checked(contents: Sequence[JournalContent]) -> None:
    """Refuse parts that do not make up one run."""
    first = contents[0]
    known: dict[int, Path] = {}
    parts = 0
    for content in contents:
        part, count = _part(content)
        differs = difference(first.header, content.header, ignored=("shard",))
        if differs:
            raise UsageError(f"{first.path} and {content.path} are of runs that differ in {differs}", _MEND)
        if parts and count != parts:
            raise UsageError(f"{content.path} is one of {count} shards, {first.path} one of {parts}", _MEND)
        if part in known:
            raise UsageError(f"{known[part]} and {content.path} are both shard {part}/{count}", _MEND)
        known[part], parts = content.path, count
    missing = [str(part) for part in range(1, parts + 1) if part not in known]
    if missing:
        raise UsageError(f"shard {', '.join(missing)} of {parts} is missing beside {first.path}", _MEND)
    owner: dict[str, Path] = {}
    for content in contents:
        counted = content.collection
        assert counted is not None and first.collection is not None  # noqa: PT018, S101  # _part() looked
        if counted.total != first.collection.total:
            raise UsageError(
                f"{content.path} is of {counted.total} tests in all, {first.path} of {first.collection.total}", _MEND
            )
        for record in content.records:
            key = key_of(record.test)
            if key in owner:
                raise UsageError(f"{owner[key]} and {content.path} both hold {record.test}", _MEND)
            owner[key] = content.path
        held = len(content.records)
        if held != counted.items:
            raise UsageError(f"{content.path} holds {held} of its {counted.items} tests", _MEND)
    total = first.collection.total if first.collection is not None else 0
    if len(owner) != total:
        raise UsageError(f"the shards hold {len(owner)} of {total} tests", _MEND)


def _same_suite(content: JournalContent) -> None:
    mine = suite_identity()
    if content.header.get("suite") != mine:
        theirs = content.header.get("suite")
        raise UsageError(
            f"{content.path} is of the suite {theirs}, this is {mine}", "merge with the version that ran the shards"
        )


def moved_record(record: ItemRecord, folder: Path) -> ItemRecord:
    """The record with its replay commands pointing into the joined folder.

    Args:
        record: of a shard.
        folder: the joined one, as it is named where the shards are merged.
    """

    def reported(text: str, name: str) -> str:
        place = (folder / "failures" / name).as_posix()
        file = re.escape(name)
        return re.sub(rf"(dmlcts replay )(?:'[^']*{file}'|\S*{file})", lambda match: match[1] + place, text)

    failures = tuple(
        replace(
            failure,
            text=reported(failure.text, failure.file),
            replay=failure.replay if is_typed_in_results(failure.replay) else reported(failure.replay, failure.file),
        )
        if failure.file
        else failure
        for failure in record.failures
    )
    return replace(record, failures=failures)


def _unsupported(device: dict[str, Any]) -> set[tuple[str, str]]:
    claimed = device.get("data_types") or {}
    return {
        (operator, data_type.name)
        for operator, types in claimed.items()
        for data_type in DataType
        if data_type.name not in types
    }


def merge(
    parts: Sequence[str], results: str, report: Callable[[str], None], waivers: Waivers | None = None
) -> dict[str, Any]:
    """Join the shards whose results folders are given.

    Args:
        parts: the folders, in any order.
        results: the folder that is written.
        report: is given the lines that a user reads.
        waivers: which failures somebody answers for; those of the shards are not taken over.

    Returns:
        The joined results document.

    Raises:
        DocumentError: a folder holds no journal, or a broken one.
        UsageError: the parts do not make up one run, or the folder cannot be written; the message names file and
            reason.
        WaiverError: a waiver is for another device, or about nothing.
        TableError: the run's further tables are broken.
    """
    contents = [read_journal(part) for part in parts]
    _checked(contents)
    folder = Path(results)
    for content in contents:
        _same_suite(content)
        if folder.resolve() == content.path.parent.resolve():
            raise UsageError(f"{folder} is a shard's own folder", "choose another with -o")
    header = contents[0].header
    settings = Settings.of(header | {"shard": None}, results, str(contents[0].path))
    if dict(sorted(settings.tables.digests.items())) != header.get("specs"):
        raise UsageError(f"{contents[0].path} is of other spec tables than those here", "merge where the shards ran")
    level = FeatureLevel.parse(header["level"])
    begun = [_time(content.header.get("started")) for content in contents]
    info = RunInfo(
        settings.backend,
        header["device"],
        str(level),
        settings.profile,
        settings.seed,
        settings.strict,
        settings.selection,
        min(begun),
        datetime.now(UTC),
    )
    records = sorted((record for content in contents for record in content.records), key=lambda record: record.test)
    records = [moved_record(record, folder) for record in records]
    run_waivers = waivers or Waivers()
    run_waivers.check_device(header["device"])
    applied = grouped_by_fault(run_waivers.apply(records))
    document = build_results(
        applied, settings.obliged(level), info, settings.tables, unsupported=_unsupported(dict(header["device"]))
    )
    document |= combinations_members(records, settings, level)
    document |= run_waivers.reported(document)
    document = explained(document, settings.tables)
    run_waivers.check_matched(document)
    with contextlib.suppress(OSError, ValueError):  # prepare_folder says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock(folder) if folder.is_dir() else None
    try:
        prepare_folder(folder)
        replaced = earlier_run(folder)
        if replaced.words:
            report(f"replaces {replaced.words} in {folder}")
        _write_journal(folder, header | {"shard": None}, records, replaced)
        written = write_run(folder, document, applied, results_page(document, settings.tables))
    finally:
        if lock is not None:
            lock.release()
    report(f"{many(len(parts), 'shard')}, {many(len(records), 'test')}")
    for path in written:
        report(f"  {path}")
    return document


def tables_of(part: str) -> Tables:
    """The tables that a shard rests on: those here, and the further ones that it names.

    Raises:
        DocumentError, UsageError, TableError: as :func:`merge`.
    """
    content = read_journal(part)
    return Settings.of(content.header | {"shard": None}, part, str(content.path)).tables


def _write_journal(folder: Path, header: dict[str, Any], records: Sequence[ItemRecord], replaced: Earlier) -> None:
    journal = Journal(folder / NAME, replaces=replaced.files)
    try:
        journal.begin("run", header)
        counted = Collection(len(records), len(records))
        journal.begin("collected", {"items": counted.items, "total": counted.total})
        for record in records:
            journal.append("item", record.to_json())
        journal.append("end", {"items": counted.items})
    finally:
        journal.close()


def _time(written: object) -> datetime:
    try:
        return datetime.fromisoformat(str(written)).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.now(UTC)
