"""A whole sweep: plan, blocks, journal, totals, failures, record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.results import suite_identity
from dmlcts.reports.views.run_folder import earlier_sweep, prepare_folder
from dmlcts.specs import DataType, DmlctsError, UsageError
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.accounting import unaccounted
from dmlcts.suites.sweeping.blocks.targets import Block, Plan, plan
from dmlcts.suites.sweeping.blocks.totals import Totals
from dmlcts.suites.sweeping.journal import SCHEMA, Journal
from dmlcts.suites.sweeping.worker_pools.workers import Description, Job, WorkerPool, claims, level_of

Report = Callable[[Block, Totals], None]
_MOST_NAMED = 4


def _few(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


class Unaccounted(DmlctsError):  # noqa: N818  # it says what is so
    """A worker's answer about a block does not account for all of the block's elements."""


@dataclass
class Sweep:
    """A sweep, under way or finished.

    Attributes:
        settings: the options.
        profile: "quick" or "full".
        description: the device that is judged.
        plan: what is swept.
        totals: by the target's number.
        done: ids of the blocks that are in the totals.
        resumed: how many elements were judged before this sitting.
        failures: by the target's number.
        interrupted: whether it was stopped before its end.
        started: when this sitting began.
        finished: when it ended.
        seconds: how long this sitting judged.
    """

    settings: Settings
    profile: str
    description: Description
    plan: Plan
    totals: dict[int, Totals] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    resumed: int = 0
    failures: dict[int, list[FailureRecord]] = field(default_factory=dict)
    interrupted: bool = False
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    finished: datetime | None = None
    seconds: float = 0.0
    verdict: Verdict | None = None

    @classmethod
    def planned(cls, settings: Settings, description: Description, profile: str = "quick") -> Sweep:
        """The sweep of a selection, on a device.

        Raises:
            UsageError: nothing of the selection is obliged at the level, or claimed.
        """
        chosen = [table for table in settings.tables.operators.values() if settings.selects_operator(table)]
        types = [data_type for data_type in DataType if settings.selects_data_type(data_type)]
        made = plan(
            settings.tables,
            level_of(description),
            operators=chosen,
            data_types=types,
            profile=profile,
            seed=settings.seed,
            claims=lambda operator, data_type: claims(description, operator, data_type.name),
        )
        if not made.targets and made.open:
            raise UsageError(
                f"nothing is swept: the tables leave every value open for {_few(made.open)}",
                "select operators or types for which they say what is right; `dmlcts spec show` lists the latitudes",
            )
        if not made.targets:
            raise UsageError(
                "nothing is swept: the feature level obliges none of the selected operators and types",
                "select others, or raise --feature-level",
            )
        return cls(settings, profile, description, made)

    @property
    def header(self) -> dict[str, Any]:
        """What a resumed sweep must share."""
        settings = self.settings
        return {
            "schema": SCHEMA,
            "backend": settings.backend,
            "options": dict(settings.options),
            "operators": list(settings.operators),
            "data_types": list(settings.data_types),
            "profile": self.profile,
            "seed": settings.seed,
            "strict": settings.strict,
            "isolation": self.description.isolation,
            "level": self.description.level,
            "device": self.description.device,
            "suite": suite_identity(),
            "specs": dict(sorted(settings.tables.digests.items())),
            "plan": self.plan.digest,
        }

    def count(self, block: Block, totals: Totals) -> bool:
        """Add a block, unless it is already in; gives whether it was added.

        Raises:
            Unaccounted: the totals do not account for all of its elements.
        """
        if block.id in self.done:
            return False
        fault = unaccounted(totals, self.plan.targets[block.target], block)
        if fault:
            raise Unaccounted(f"what a worker answered about the block {block.id} does not account for it: {fault}")
        self.done.add(block.id)
        self.totals.setdefault(block.target, Totals()).add(totals)
        return True

    def pending(self) -> Iterator[Job]:
        """The blocks that are not in yet."""
        for block in self.plan.blocks():
            if block.id not in self.done:
                yield self.plan.targets[block.target], block

    @property
    def elements(self) -> int:
        """How many elements are in."""
        return sum(totals.elements for totals in self.totals.values())

    def restore(self, done: dict[str, Totals]) -> None:
        """Take over the blocks of an earlier sitting."""
        for block in self.plan.blocks():
            if block.id in done:
                self.count(block, done[block.id])
        self.resumed = self.elements


@contextlib.contextmanager
def held(
    sweep: Sweep, *, resume: bool = False, print_line: Callable[[str], None] = lambda line: None
) -> Iterator[Journal]:
    """Hold the sweep's results folder, until its record is written; gives the journal.

    What an earlier sweep left there stays until the first block is judged.

    Args:
        sweep: whose folder it is; the blocks of an earlier sitting are counted in where it goes on.
        resume: go on with the journal in the folder.
        print_line: is given the line that names what the sweep replaces.

    Raises:
        UsageError: the folder cannot be used, is another run's or sweep's at present, or holds a sweep that differs.
        DocumentError: the journal is damaged.
    """
    folder = sweep.settings.results
    if not resume:
        with contextlib.suppress(OSError, ValueError):  # what makes it ready says what is wrong
            folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if folder.is_dir():
            stack.callback(FolderLock(folder).release)
        if not resume:
            prepare_folder(folder)
        replaced = earlier_sweep(folder, keep_journal=resume)
        if resume:
            journal, done = Journal.resume(folder, sweep.header, sweep.plan, replaced.files)
            stack.callback(journal.close)
            prepare_folder(folder)  # a journal that is refused leaves all as it was
            sweep.restore(done)
        else:
            journal = Journal.begin(folder, sweep.header, replaced.files)
            stack.callback(journal.close)
            if replaced.words:
                print_line(f"dmlcts: replaces {replaced.words} in {folder}, with its first block")
        yield journal


def conduct(sweep: Sweep, pool: WorkerPool, report: Report, journal: Journal, *, explained: bool = True) -> None:
    """Judge every block that is not in yet, until done or interrupted; then find out about what is wrong.

    An interruption before any block is in leaves the folder as it was.

    Args:
        sweep: what to do; its totals, failures and times are filled in.
        pool: who does it.
        report: is given every block as it comes in.
        journal: where every block is written down as it comes in.
        explained: bring failures down to their smallest cases.

    Raises:
        UsageError: the journal cannot be written; what was judged until then stands in it.
        Unaccounted: a worker's answer cannot be.
        KeyboardInterrupt: it was stopped with nothing judged.
    """
    began = time.perf_counter()
    try:
        pool.prepare(sweep.plan.targets)
        began = time.perf_counter()
        for block, totals in pool.judge(sweep.pending()):
            if sweep.count(block, totals):
                journal.finished(block, totals)
                report(block, totals)
    except KeyboardInterrupt:
        if not sweep.done:
            raise
        sweep.interrupted = True
    journal.settle()
    sweep.seconds = time.perf_counter() - began
    if explained:
        _explain(sweep, pool)
    sweep.finished = datetime.now(UTC)


def _explain(sweep: Sweep, pool: WorkerPool) -> None:
    try:
        for number, totals in sweep.totals.items():
            if not totals.clean:
                sweep.failures[number] = pool.explain(sweep.plan.targets[number], totals)
    except KeyboardInterrupt:
        sweep.interrupted = True
