"""The benchmark: what judging costs, beside yardsticks that are measured in the same minutes on the same machine.

Every figure is the best of several rounds; in each round every figure is measured once, so that what else the
machine does falls on all of them alike.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.blocks import PIECE, BlockJudge
from dmlcts.specs.oracle.compiled import available
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.benchmarks.memory_use import MemoryWatch
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.targets import Plan, resized
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.worker_pools.processes import Processes
from dmlcts.suites.sweeping.worker_pools.workers import Orders

JUDGING_BAR = 800e6
SWEEP_BAR = 600e6
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
_COPIED = 1 << 26  # elements: 256 MiB
_BARE = 1 << 24
_JUDGED = 1 << 24
_POISON = 0x3F35_A5A7
_FIRST = 0x3F00_0000  # two binades on either side of 1, where numbers have fractions


@dataclass
class Figure:
    """One measured rate.

    Attributes:
        name: what was measured, short.
        what: the same for a reader.
        rate: elements a second, the best round's.
        threads: how many threads or processes worked.
        bar: what it must reach, elements a second, or 0.
        details: whatever else belongs to it.
    """

    name: str
    what: str
    rate: float
    threads: int
    bar: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _in_threads(works: Sequence[Callable[[], object]]) -> float:
    """Seconds until all have run, each in a thread of its own."""
    if len(works) == 1:
        return _seconds(works[0])
    gate = threading.Barrier(len(works) + 1)

    def waiting(work: Callable[[], object]) -> None:
        gate.wait()
        work()

    threads = [threading.Thread(target=waiting, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    started = time.perf_counter()
    gate.wait()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


class _Yardsticks:
    """What numpy does without judging: the memory's speed, np.rint, a comparison of bits."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        bits = np.random.Generator(np.random.PCG64(1)).integers(0, 1 << 32, _BARE, np.uint32)
        self._x = bits.view(np.float32)
        self._y = np.empty_like(self._x)
        self._same = bits.copy()
        self._mask = np.empty(_BARE, bool)
        self._source = np.ones(_COPIED, np.float32)
        self._target = np.zeros(_COPIED, np.float32)
        for _, _, _, measured in self.figures():
            measured()  # touches the memory: a first round would make every share of the yardsticks too large

    def figures(self) -> Iterator[tuple[str, str, int, Callable[[], float]]]:
        """Name, description, elements and measurement of each."""
        yield "copy", "copying FLOAT32 from memory to memory, 256 MiB, all threads", _COPIED, self._copy
        yield "rint", "bare np.rint, one thread, 2^24 random patterns, no output allocated", _BARE, self._rint
        yield "compare", "comparing the bits of two arrays, one thread, 2^24 elements", _BARE, self._compare

    def _copy(self) -> float:
        step = _COPIED // self.threads
        parts = [slice(start, start + step) for start in range(0, step * self.threads, step)]
        return _in_threads([partial(np.copyto, self._target[part], self._source[part]) for part in parts])

    def _rint(self) -> float:
        with np.errstate(all="ignore"):
            return _seconds(lambda: np.rint(self._x, out=self._y))

    def _compare(self) -> float:
        bits = self._x.view(np.uint32)
        return _seconds(lambda: np.count_nonzero(np.not_equal(bits, self._same, out=self._mask)))


class _Judging:
    """Judging alone: inputs and outputs stand in memory, each thread has its share of them."""

    def __init__(self, name: str, attributes: dict[str, Any], threads: int, *, compiled: bool) -> None:
        tables = load_tables()
        table = tables.operator(name)
        tensor = TensorDesc(DataType.FLOAT32, (1, 1, 1, _JUDGED))
        operator = OperatorDesc(table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
        oracle = VectorOracle(tables.law(table), operator)
        self._x = (np.arange(_JUDGED, dtype=np.uint32) + np.uint32(_FIRST)).view(np.float32)
        self._y = np.concatenate(
            [oracle.expected(self._x[start : start + PIECE]) for start in range(0, _JUDGED, PIECE)]
        )
        self._shares = [slice(_JUDGED * i // threads, _JUDGED * (i + 1) // threads) for i in range(threads)]
        self._judges = [BlockJudge(oracle, compiled=compiled) for _ in range(threads)]
        self._share(0)  # compiles, and touches the memory

    def _share(self, index: int) -> None:
        share = self._shares[index]
        judged = self._judges[index].judge(self._x[share], self._y[share], _POISON)
        if judged.wrong.size:
            raise AssertionError("the oracle disagrees with itself")

    def seconds(self) -> float:
        """One judging of all elements."""
        return _in_threads([partial(self._share, index) for index in range(len(self._judges))])


def yardsticks_and_judging(rounds: int, threads: int, report: Callable[[str], None]) -> list[Figure]:
    """The yardsticks and judging alone, interleaved.

    Args:
        rounds: how often each is measured; the best counts.
        threads: for all that runs in several.
        report: called with a line on what is going on.
    """
    yard = _Yardsticks(threads)
    figures: list[Figure] = []
    works: list[tuple[Figure, int, Callable[[], float]]] = []
    for name, what, elements, measured in yard.figures():
        works.append((Figure(name, what, 0.0, threads if name == "copy" else 1), elements, measured))
    kinds = [("numpy", False), *([("compiled", True)] if available() else [])]
    for kind, compiled in kinds:
        report(f"preparing to judge with {kind}")
        for mode in MODES:
            judging = _Judging("ROUND", {"RoundingMode": mode}, threads, compiled=compiled)
            what = f"judging alone, ROUND {mode}, {kind}"
            works.append((Figure(f"judge-{mode}-{kind}", what, 0.0, threads, JUDGING_BAR), _JUDGED, judging.seconds))
        judging = _Judging("CLIP", {"ScaleBias": None, "Min": -1.5, "Max": 2.5}, threads, compiled=compiled)
        what = f"judging alone, CLIP [-1.5, 2.5], {kind}"
        works.append((Figure(f"judge-CLIP-{kind}", what, 0.0, threads, JUDGING_BAR), _JUDGED, judging.seconds))
    for number in range(rounds):
        report(f"yardsticks and judging, round {number + 1} of {rounds}")
        for figure, elements, measured in works:
            figure.rate = max(figure.rate, elements / measured())
    figures += [figure for figure, _, _ in works]
    return figures


def sweep_name(operator: str, data_type: str, *, compiled: bool) -> str:
    """The short name of a sweep's figure; without numba nothing is compiled."""
    return f"sweep-{operator}-{data_type}-{'compiled' if compiled and available() else 'numpy'}"


def swept(
    backend: str,
    options: Sequence[str],
    operator: str,
    data_type: str,
    report: Callable[[str], None],
    *,
    workers: int = 0,
    share: int = 1,
    targets: int = 0,
    compiled: bool = True,
    bar: float = 0.0,
    isolation: str = "process",
    slot_count: int = 0,
    tensor_elements: int = 0,
    threads: int = 0,
    streams: bool = True,
) -> Figure:
    """The end-to-end rate of a sweep: generating, dispatching, judging and writing it all down.

    Args:
        backend: the implementation, as ``--backend`` names it.
        options: its options.
        operator: the operator.
        data_type: the type.
        report: called with a line on what is going on.
        workers: processes; 0 for what a sweep takes by default.
        share: sweep only one in so many of the inputs; 1 for all.
        targets: only the first so many targets, 0 for all.
        compiled: use the compiled comparison.
        bar: what it must reach.
        isolation: "process", or "none" for one process with the judge.
        slot_count: tensors on a device at once, 0 for the usual.
        tensor_elements: elements of a tensor, likewise.
        threads: threads that judge what comes back from a stream, likewise.
        streams: use streams where the backend has them.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read(
            backend=backend, options=options, results=str(Path(folder)), operators=[operator], data_types=[data_type]
        )
        orders = Orders(
            backend,
            tuple(options),
            str(Path(folder)),
            compiled=compiled,
            isolation=isolation,
            slot_count=slot_count,
            tensor_elements=tensor_elements,
            threads=threads,
            streams=streams,
        )
        processes = Processes(orders, workers)
        try:
            sweep = Sweep.planned(settings, processes.describe())
            chosen = sweep.plan.targets[: targets or None]
            sweep.plan = Plan(tuple(resized(target, max(1, target.size // share)) for target in chosen))
            report(f"sweeping {operator} {data_type}: {sweep.plan.elements:,} elements")
            with held(sweep) as journal, MemoryWatch() as memory:
                conduct(sweep, processes, lambda block, totals: None, journal, explained=False)
        finally:
            processes.close()
    if sweep.interrupted:
        raise KeyboardInterrupt  # a part of a sweep is no figure
    stages: dict[str, float] = {}
    for totals in sweep.totals.values():
        for stage, seconds in totals.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    how = "compiled" if compiled and available() else "numpy"
    part = "" if share == 1 else f", 1/{share} of its inputs"
    part += ", in one process with it" if isolation == "none" else ""
    return Figure(
        sweep_name(operator, data_type, compiled=compiled),
        f"sweep of {operator} {data_type} through {backend}, {how}{part}",
        sweep.elements / sweep.seconds,
        processes.size,
        bar,
        {
            "elements": sweep.elements,
            "seconds": round(sweep.seconds, 3),
            "stages": {stage: round(seconds, 3) for stage, seconds in stages.items()},
            "memory": memory.most,
            "wrong": sum(totals.wrong for totals in sweep.totals.values()),
        },
    )
