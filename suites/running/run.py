"""A run's state: the bench, the folder that it holds, its journal, and the records that have come in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from dmlcts.backends import DeviceInfo
from dmlcts.backends.interpreter import keep_children_safe
from dmlcts.reports.documents.journal import NAME, SCHEMA, Collection, Journal, JournalContent, read_journal
from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.results import describe_device, suite_identity
from dmlcts.reports.documents.waivers import WaiverError
from dmlcts.reports.views.run_folder import Earlier, earlier_run, prepare_folder
from dmlcts.specs import DmlctsError, FeatureLevel, UsageError
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.disclosure import disclose
from dmlcts.suites.options.option import OptionTable
from dmlcts.suites.options.table import OPTIONS
from dmlcts.suites.running.options import Settings

_OTHER_NOUNS = {
    "specs": "the spec tables",
    "suite": "the suite's version",
    "device": "the device",
    "level": "the level that is judged",
    "plan": "what is swept",
}

_ABSENT = object()


def key_of(test: str) -> str:
    """A test's name, whichever folder pytest was started in: its module and what follows."""
    module, separator, rest = test.partition("::")
    return module.replace("\\", "/").rsplit("/", 1)[-1] + separator + rest


def _words(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def difference(
    record: Mapping[str, Any], other: Mapping[str, Any], ignored: tuple[str, ...] = (), table: OptionTable = OPTIONS
) -> str:
    """What two headers differ in, in words, the first thing only; "" where they are of the same run."""
    return next(_differences(record, other, ignored, table), "")


def all_differences(
    record: Mapping[str, Any], other: Mapping[str, Any], ignored: tuple[str, ...] = (), table: OptionTable = OPTIONS
) -> str:
    """Everything that two headers differ in, in words: "the seed: 5 there, 0 here"; "" where there is nothing."""
    parts = list(_differences(record, other, ignored, table))
    number = f"{len(parts)} points: " if len(parts) > 1 else ""
    return number + "; ".join(parts)


def _differences(
    record: Mapping[str, Any], other: Mapping[str, Any], ignored: tuple[str, ...], table: OptionTable
) -> Iterator[str]:
    nouns = {row.name: row.noun for row in table.journal} | _OTHER_NOUNS
    for name, noun in nouns.items():
        if name in ignored or record.get(name) == other.get(name):
            continue
        mine, yours = record.get(name), other.get(name)
        if isinstance(mine, dict) and isinstance(yours, dict):
            for part in dict.fromkeys((*mine, *yours)):
                if mine.get(part, _ABSENT) != yours.get(part, _ABSENT):
                    yield f"{noun} ({part}): {_words(mine.get(part))} there, {_words(yours.get(part))} here"
        else:
            yield f"{noun}: {_words(mine)} there, {_words(yours)} here"


class NoVerdict(DmlctsError):  # noqa: N818  # it says what happened
    """A run without a verdict, through nothing that was asked for.

    Args:
        cause: what happened.
        mend: how to go on.
    """

    def __init__(self, cause: str, mend: str) -> None:
        super().__init__(f"{cause}; {mend}")
        self.cause = cause
        self.mend = mend


class Run:
    """A run in its folder.

    Args:
        settings: the options.
        bench: an open bench; by default it is opened when it is first needed.
        resume: continue what the folder's journal says was begun.
        clock: gives the time of day.

    Attributes:
        records: what the finished tests found, those of an earlier part of the run included.
        info: what the device says of itself, once it was opened.
        level: the level that is judged, once the device was opened.
        interrupted: whether it was stopped before its end.
        error: what kept the run from being recorded, or ``None``.
        complaint: what is wrong with its waivers, now that it has run, or ``None``.
        collection: how many tests there are.
        watchers: are given each record that comes in.
        short: whether its summary is to be a short one.
        interrupted_by_user: whether somebody pressed Ctrl-C.
    """

    def __init__(
        self,
        settings: Settings,
        bench: Bench | None = None,
        *,
        resume: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.started = clock()
        self.records: list[ItemRecord] = []
        self.interrupted = False
        self.verdict: Verdict | None = None
        self.info: DeviceInfo | None = None
        self.level: FeatureLevel | None = None
        self.error: DmlctsError | None = None
        self.complaint: WaiverError | None = None
        self.collection: Collection | None = None
        self.watchers: list[Callable[[ItemRecord], None]] = []
        self.short = False
        self.interrupted_by_user = False
        self._recorded: set[str] = set()
        self._resume = resume
        self._earlier: JournalContent | None = None
        self._last_written = self.started
        self._finished: datetime | None = None
        self._bench = bench
        self._lock: FolderLock | None = None
        self._journal: Journal | None = None
        self._replaced = Earlier((), "")

    @property
    def replaces(self) -> str:
        """Which earlier run's files go with the first record, in words; "" for none, or where it is continued."""
        return "" if self._resume else self._replaced.words

    @property
    def bench(self) -> Bench:
        """The open bench."""
        if self._bench is None:
            self._bench = self.settings.open()
        self.info, self.level = self._bench.info, self._bench.level
        return self._bench

    @property
    def done(self) -> set[str]:
        """The tests that need not run again."""
        return set(self._recorded)

    def is_left(self, test: str) -> bool:
        """Whether the test of this key (:func:`key_of`) is still to run."""
        return test not in self._recorded

    def prepare(self) -> None:
        """Take hold of the results folder and make sure that it can be written, before anything is judged.

        What it holds stays until the first record is there.

        Raises:
            UsageError: it cannot be used, or another run holds it.
            DocumentError: the run is to be resumed, and there is no journal to resume from.
        """
        if self._lock is not None:
            return
        folder = self.settings.results
        if self._resume:
            self._earlier = read_journal(folder)
        else:
            with contextlib.suppress(OSError, ValueError):  # prepare_folder says what is wrong
                folder.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(folder) if folder.is_dir() else None
        try:
            prepare_folder(folder)
            self._replaced = earlier_run(folder, keep_records=self._resume)
            self._lock = lock or FolderLock(folder)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        if self._resume:
            self._earlier = read_journal(folder)  # again, now that nobody else can write it

    def header(self) -> dict[str, Any]:
        """What the run is: what has to be the same for its parts to belong together, and when it began."""
        disclose(self.bench)
        bench = self.bench
        return {
            "schema": SCHEMA,
            **self.settings.described(),
            "level": str(bench.level),
            "device": describe_device(bench.info),
            "suite": suite_identity(),
            "specs": dict(sorted(self.settings.tables.digests.items())),
            "started": self.started.astimezone(UTC).isoformat(),
        }

    def begin(self) -> None:
        """Open the journal: a new one, or the one that is to be continued.

        Raises:
            UsageError: it cannot be written, or belongs to a run of another kind; the message names the difference.
        """
        if self._journal is not None:
            return
        keep_children_safe()  # pytest-xdist starts its processes after this
        self.prepare()
        path = self.settings.results / NAME
        header = self.header()
        if self._earlier is None:
            self._journal = Journal(path, replaces=self._replaced.files)
            self._journal.begin("run", header)
            return
        differs = difference(self._earlier.header, header, table=self.settings.table)
        if differs:
            raise UsageError(
                f"{path} is of a run that differs in {differs}", "resume with the same, or begin a new run"
            )
        self._last_written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        self._journal = Journal(path, keep=self._earlier.whole, replaces=self._replaced.files)
        self.records = list(self._earlier.records)
        self._recorded = {key_of(record.test) for record in self.records}
        self.collection = self._earlier.collection
        with contextlib.suppress(ValueError, TypeError):  # a broken date costs the duration, nothing else
            self.started = datetime.fromisoformat(self._earlier.header["started"])

    def collected(self, collection: Collection) -> None:
        """Note how many tests there are.

        Raises:
            UsageError: a resumed run had another number, or the journal cannot be written.
        """
        self.begin()
        assert self._journal is not None  # noqa: S101  # begin() opened it
        if self.collection is None:
            self._journal.begin("collected", {"items": collection.items, "total": collection.total})
            self.collection = collection
        elif self.collection != collection:
            raise UsageError(
                f"{self.settings.results} is of a run of {self.collection.items} tests, here are {collection.items}",
                "resume with the same selection (-k and -m included)",
            )

    def add(self, record: ItemRecord) -> None:
        """Keep what a test found, in the journal first; a test that is recorded is so once.

        Raises:
            UsageError: the journal cannot be written.
        """
        self.begin()
        assert self._journal is not None  # noqa: S101  # begin() opened it
        key = key_of(record.test)
        if key in self._recorded:
            return
        self._journal.append("item", record.to_json())
        self.records.append(record)
        self._recorded.add(key)
        for watcher in self.watchers:
            watcher(record)

    def settle(self) -> None:
        """Remove what is left of an earlier run: the results are about to be written.

        Raises:
            UsageError: it cannot be removed.
        """
        self.prepare()
        if self._journal is None:
            self._replaced.remove()
        else:
            self._journal.settle()

    @property
    def complete(self) -> bool:
        """Whether every test that was collected has been recorded."""
        return self.collection is not None and len(self._recorded) >= self.collection.items

    @property
    def finished(self) -> datetime:
        """When its last test was judged: now, unless a resumed run found nothing left to judge."""
        if self._finished is not None:
            return self._finished
        if self._earlier is None or len(self.records) > len(self._earlier.records):
            return self.clock()
        return self._earlier.finished or self._last_written

    @property
    def already(self) -> str:
        """How much of a resumed run was done before, in words."""
        done = len(self._recorded)
        if self.collection is None:
            return f"{done} tests of {self.settings.results} were done before"
        left = self.collection.items - done
        text = f"{done} of {self.collection.items} tests of {self.settings.results} were done before"
        return f"{text}; {f'{left} are left' if left > 0 else 'none is left'}"

    def end(self) -> None:
        """Close the bench, and note that the run ended, where it did.

        Raises:
            UsageError: the journal cannot be written.
        """
        _ = self.info or self.bench.info  # with pytest-xdist nothing was judged in this process
        with contextlib.suppress(Exception):  # nor on that device
            self.close_bench()  # nothing of the implementation runs any more when the results are written
        ended = self._earlier is not None and self._earlier.ended
        if self._journal is not None and self.complete and not self.interrupted and not ended:
            self._finished = self.finished
            finished = self._finished.astimezone(UTC).isoformat()
            self._journal.append("end", {"items": len(self._recorded), "finished": finished})

    def close(self) -> None:
        """Close the bench where it was opened, and give the folder free."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self.close_bench()

    def close_bench(self) -> None:
        """Close the bench where it was opened."""
        if self._bench is not None:
            self._bench.close()
            self._bench = None
