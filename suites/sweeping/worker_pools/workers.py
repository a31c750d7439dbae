"""Who does the work: a worker opens the backend once and judges whatever blocks it is handed.

The backend stands in a process of its own beside each worker's, unless one process was asked for: what judges must
not run in a process in which code of the implementation has run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dmlcts.backends.processors import usable_processors
from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.results import describe_device, environment
from dmlcts.specs import FeatureLevel
from dmlcts.specs.oracle.compiled import prepare
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.disclosure import disclose
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.explaining import explain
from dmlcts.suites.sweeping.blocks.streaming import AT_ONCE, MOST_THREADS
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.totals import Totals

Job = tuple[Target, Block]

DEFAULT_SECONDS = 600.0
PREPARED = 4
"""So many targets are made ready before the sweep begins, in a fraction of a second each."""


@dataclass(frozen=True)
class Orders:
    """What a worker must know; picklable, for it may stand on another machine.

    Attributes:
        backend: as the user named it.
        options: the strings that ``-o`` gave.
        results: the results folder, for the replay command.
        level: the level to judge at, "" for the one that the device claims.
        strict: leave no latitude.
        extra_tables: folders or files of further tables.
        slot_count: tensors on one device at once; 0 to decide by the device.
        tensor_elements: elements of a tensor; 0 to try.
        compiled: use the compiled comparison where numba is installed.
        isolation: "process" for the implementation in a process of its own, "none" for one process with the judge.
        timeout: seconds that a block may take.
        streams: judge in streams where the backend has them.
        threads: that judge what comes back from a stream; 0 for as many as there are processors, up to some.
    """

    backend: str
    options: tuple[str, ...] = ()
    results: str = "results"
    level: str = ""
    strict: bool = False
    extra_tables: tuple[str, ...] = ()
    slot_count: int = 0
    tensor_elements: int = 0
    compiled: bool = True
    isolation: str = "process"
    timeout: float = DEFAULT_SECONDS
    streams: bool = True
    threads: int = 0

    def settings(self) -> Settings:
        """The same as a run's options."""
        return Settings.read(
            backend=self.backend,
            options=self.options,
            results=self.results,
            feature_level=self.level or None,
            strict=self.strict,
            extra_tables=self.extra_tables,
            isolation=self.isolation,
            timeout=self.timeout,
        )


@dataclass(frozen=True)
class Description:
    """What a worker says of its device.

    Attributes:
        device: :func:`describe_device` of it.
        level: the level that is judged.
        claimed: operators with the names of the types that the device claims, where fewer than its level obliges.
        independent: whether several processes, each with a device of its own, get more done than one.
        isolation: "process" where the implementation has a process of its own, "none" where it shares the judge's.
        environment: the worker's machine and software.
        at_once: blocks of a target that a worker is best given together: their tensors are on the device at once.
    """

    device: dict[str, Any]
    level: str
    claimed: dict[str, tuple[str, ...]]
    independent: bool
    environment: dict[str, Any]
    isolation: str = "process"
    at_once: int = 1


class Worker:
    """Opens the backend when it is first needed.

    Args:
        orders: what to judge and how.
        bench: an open device to use instead of opening the backend, for trials.
    """

    def __init__(self, orders: Orders, bench: Bench | None = None) -> None:
        self._orders = orders
        self._settings = orders.settings()
        self._bench = bench
        self._sweep_judge: SweepJudge | None = None

    @property
    def bench(self) -> Bench:
        """The open device."""
        if self._bench is None:
            self._bench = self._settings.open()
        return self._bench

    @property
    def independent(self) -> bool:
        """Whether several such devices work side by side, each in a process of its own."""
        return bool(self.bench.info.details.get("independent"))

    @property
    def sweep_judge(self) -> SweepJudge:
        """The device with its kernels and slots."""
        if self._sweep_judge is None:
            beside = 2 if self.bench.isolated else 1  # one is judged while another is on the device
            slots = self._orders.slot_count or (beside if self.independent else min(4, usable_processors() + 1))
            self._sweep_judge = SweepJudge(
                self.bench,
                slots=slots,
                tensor_elements=self._orders.tensor_elements or None,
                compiled=self._orders.compiled,
                timeout=self._orders.timeout,
                streams=self._streams,
            )
        return self._sweep_judge

    @property
    def _streams(self) -> dict[str, Any] | None:
        """How streams are used; ``None`` where they are not."""
        orders = self._orders
        if not orders.streams or not self.bench.info.details.get("streams"):
            return None
        threads = orders.threads or min(MOST_THREADS, usable_processors())
        return {"slots": orders.slot_count, "threads": threads, "tensor_elements": orders.tensor_elements}

    def describe(self) -> Description:
        """What there is to know before planning; the device as a run names it, since a certification holds both."""
        disclose(self.bench)
        if self._orders.compiled:
            prepare()  # takes a second, which is none of the sweep's
        info = self.bench.info
        claimed = {
            name: tuple(data_type.name for data_type in types) for name, types in (info.data_types or {}).items()
        }
        return Description(
            describe_device(info),
            str(self.bench.level),
            claimed,
            self.independent,
            environment(),
            "process" if self.bench.isolated else "none",
            1 if self._streams is None else AT_ONCE,
        )

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make ready what takes a moment and is no judging: comparisons are compiled."""
        for target in targets:
            self.sweep_judge.prepare(target)

    def judge(self, target: Target, block: Block) -> Totals:
        """Generate, dispatch and judge a block."""
        return self.judge_several(target, [block])[0]

    def judge_several(self, target: Target, blocks: Sequence[Block]) -> list[Totals]:
        """The same of some blocks of a target."""
        return self.sweep_judge.judge_several(target, blocks)

    def explain(self, target: Target, totals: Totals) -> list[FailureRecord]:
        """The failures of a target, on a device that has run nothing else."""
        bench = self.bench.fresh()
        try:
            return explain(bench, target, totals, self._settings)
        finally:
            bench.close()

    def close(self) -> None:
        """Close the device."""
        if self._sweep_judge is not None:
            self._sweep_judge.close()
        elif self._bench is not None:
            self._bench.close()


class WorkerPool(Protocol):
    """One or more workers, wherever they stand."""

    size: int

    def describe(self) -> Description:
        """What one worker says of its device."""

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make ready what the first of these targets need, where that takes a moment."""

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        """Judge all blocks, each as it is finished, in any order."""

    def explain(self, target: Target, totals: Totals) -> list[FailureRecord]:
        """The failures of a target."""

    def close(self) -> None:
        """Let the workers go."""


class Alone:
    """A worker pool of one worker in this process: for trials and tests."""

    size = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def describe(self) -> Description:
        """What the worker says of its device."""
        return self._worker.describe()

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make ready what the first targets need."""
        self._worker.prepare(targets[:PREPARED])

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        """Judge the blocks in turn."""
        for target, blocks in together(jobs, self._worker.describe().at_once):
            yield from zip(blocks, self._worker.judge_several(target, blocks), strict=True)

    def explain(self, target: Target, totals: Totals) -> list[FailureRecord]:
        """The failures of a target."""
        return self._worker.explain(target, totals)

    def close(self) -> None:
        """Close the device."""
        self._worker.close()


def together(jobs: Iterable[Job], most: int) -> Iterator[tuple[Target, list[Block]]]:
    """Jobs grouped by target: those that follow each other on one, at most ``most`` in a group."""
    for _, run in itertools.groupby(jobs, key=lambda job: job[1].target):
        while some := list(itertools.islice(run, most)):
            yield some[0][0], [block for _, block in some]


def claims(description: Description, operator: str, data_type: str) -> bool:
    """Whether the device claims an operator on a type."""
    return operator not in description.claimed or data_type in description.claimed[operator]


def level_of(description: Description) -> FeatureLevel:
    """The level that is judged."""
    return FeatureLevel.parse(description.level)
