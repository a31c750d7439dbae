"""A whole sweep: plan, blocks, journal, totals, failures, record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.reports.outcomes import Verdict
from dmlcts.reports.records import FailureRecord
from dmlcts.reports.writing import prepare_folder
from dmlcts.specs import DataType, UsageError
from dmlcts.suites.settings import Settings
from dmlcts.suites.sweeping.journal import Journal
from dmlcts.suites.sweeping.targets import Block, Plan, plan
from dmlcts.suites.sweeping.totals import Totals
from dmlcts.suites.sweeping.workers import Crew, Description, Job, claims, level_of

Told = Callable[[Block, Totals], None]


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
            settings.tables, level_of(description), operators=chosen, data_types=types, profile=profile,
            seed=settings.seed,
            claims=lambda operator, data_type: claims(description, operator, data_type.name),
        )  # fmt: skip
        if not made.targets:
            raise UsageError(
                "nothing is swept: the feature level obliges none of the selected operators and types",
                "select others, or raise --feature-level",
            )
        return cls(settings, profile, description, made)

    @property
    def header(self) -> dict[str, Any]:
        """What a resumed sweep must share."""
        return {
            "plan": self.plan.digest,
            "backend": self.settings.backend,
            "options": [list(pair) for pair in self.settings.options],
            "feature_level": self.description.level,
            "strict": self.settings.strict,
            "seed": self.settings.seed,
        }

    def count(self, block: Block, totals: Totals) -> bool:
        """Add a block, unless it is already in; gives whether it was added."""
        if block.id in self.done:
            return False
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


def conduct(sweep: Sweep, crew: Crew, told: Told, *, resume: bool = False, explained: bool = True) -> None:
    """Judge every block that is not in yet, until done or interrupted; then find out about what is wrong.

    Args:
        sweep: what to do; its totals, failures and times are filled in.
        crew: who does it.
        told: is given every block as it comes in.
        resume: go on with the journal in the results folder.
        explained: bring failures down to their smallest cases.

    Raises:
        UsageError: the folder cannot be used, or holds another sweep.
    """
    folder = sweep.settings.results
    if resume:
        journal, done = Journal.resume(folder, sweep.header)
        sweep.restore(done)
    prepare(folder, keep=resume)
    if not resume:
        journal = Journal.begin(folder, sweep.header)
    began = time.perf_counter()
    try:
        with contextlib.closing(journal):
            for block, totals in crew.judge(sweep.pending()):
                if sweep.count(block, totals):
                    journal.finished(block, totals)
                    told(block, totals)
    except KeyboardInterrupt:
        sweep.interrupted = True
    sweep.seconds = time.perf_counter() - began
    if explained:
        for number, totals in sweep.totals.items():
            if not totals.clean:
                sweep.failures[number] = crew.explain(sweep.plan.targets[number], totals)
    sweep.finished = datetime.now(UTC)


def prepare(folder: Path, *, keep: bool) -> None:
    """Make sure that the folder can be written; an earlier sweep's record goes, its journal only if not kept."""
    prepare_folder(folder)
    for name in ("sweep.json", "sweep.html", *(() if keep else ("sweep-journal.jsonl",))):
        (folder / name).unlink(missing_ok=True)
