"""A sweep that is stopped after its first block, and goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.targets import Block
from dmlcts.suites.sweeping.blocks.totals import Totals
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.record import publish
from dmlcts.suites.sweeping.worker_pools.workers import Alone, Job, Orders, Worker


class _Impatient(Alone):
    """A worker pool interrupted by Ctrl-C after a number of blocks."""

    def __init__(self, worker: Worker, most: int, judged: list[Block]) -> None:
        super().__init__(worker)
        self._most = most
        self._judged = judged

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        """As ever, until it is enough."""
        for number, (block, totals) in enumerate(super().judge(jobs)):
            if number == self._most:
                raise KeyboardInterrupt
            self._judged.append(block)
            yield block, totals


@dataclass(frozen=True)
class Stopped:
    """What two sittings of one sweep left.

    Attributes:
        first: the record of the one that was stopped.
        second: the record of the one that went on.
        judged: the blocks of both, in the order in which they were judged.
    """

    first: dict[str, Any]
    second: dict[str, Any]
    judged: list[Block]

    def ends_as(self, whole: dict[str, Any]) -> None:
        """Assert that both sittings together say what a sweep in one sitting says, but for the time it took."""
        assert self.first["interrupted"]
        assert len(self.judged) == len(set(self.judged)) > 1
        for record in (self.second, whole):
            for row in record["sweeps"]:
                row.pop("seconds")
        for part in ("sweeps", "clauses", "verdict"):
            assert self.second[part] == whole[part]
        assert whole["verdict"] == "NOT_CONFORMANT"


def stopped(
    folder: Path, bench: Callable[[], Bench], between: Callable[[], None] = lambda: None, **selection: Any
) -> Stopped:
    """Sweep in two sittings, the first of one block.

    Args:
        folder: the results folder of both.
        bench: makes the implementation of a sitting.
        between: is called between the two.
        selection: what is swept, as `Settings.read` takes it.
    """
    judged: list[Block] = []

    def sitting(most: int, *, resume: bool) -> dict[str, Any]:
        impatient_worker = _Impatient(Worker(Orders("cpu", compiled=False), bench()), most, judged)
        sweep = Sweep.planned(
            Settings.read(backend="cpu", results=str(folder), **selection), impatient_worker.describe()
        )
        with held(sweep, resume=resume) as journal:
            conduct(sweep, impatient_worker, lambda block, totals: None, journal)
            publish(sweep, 1)
        return load_sweep(folder)

    first = sitting(1, resume=False)
    between()
    return Stopped(first, sitting(99, resume=True), judged)
