"""What the engine costs a case, and a quick run beside the same dispatches made bare.

All is processor time, of this process. The engine's share is measured with an implementation that does nothing: cases
of IDENTITY in place are right without. A quick run is measured on the cpu backend, whose dispatches are numpy: in a
second run of the same process every call of it is noted with its bytes and done again, without the suite.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.backends import DeviceInfo
from dmlcts.backends.cpu.device import CpuDevice
from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.specs import DataType, OperatorDesc, Region, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import Named, pytest_arguments
from dmlcts.suites.running.run import Run

_CASES = 2048
_ELEMENTS = 16
_ROUNDS = 5
_TRIES = 1
_MOST_BYTES = 32 << 20  # of noted calls that wait to be done again
_ENTRY = "from dmlcts.suites.benchmarks.engine_cost import main; main()"

Clock = Callable[[], float]
Bytes = NDArray[np.uint8]


class _IdleKernel:
    """A kernel that does nothing."""

    def dispatch(self, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Leave the memory as it is."""

    def close(self) -> None:
        """Nothing is held."""


class Idle:
    """A backend and its device, whose kernels do nothing: right for IDENTITY in place, at no cost."""

    name = "idle"

    def open(self) -> Idle:
        """The device."""
        return self

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""

    @property
    def info(self) -> DeviceInfo:
        """What the device says of itself."""
        return DeviceInfo(name="idle", feature_level="6.4")

    def create(self, operator: OperatorDesc) -> _IdleKernel:
        """A kernel that does nothing."""
        return _IdleKernel()


def best(work: Callable[[], object], rounds: int, clock: Clock = time.process_time) -> float:
    """The fewest seconds that some work took, of several rounds."""
    taken = []
    for _ in range(rounds):
        started = clock()
        work()
        taken.append(clock() - started)
    return min(taken)


def small_cases(bench: Bench, count: int) -> list[Case]:
    """So many cases of IDENTITY in place, each on other elements."""
    subject = Subject.on(bench.tables.operator("IDENTITY"), DataType.FLOAT32, bench.level)
    values, attributes = subject.distinct(count + _ELEMENTS), subject.attributes()
    (array,) = values.arrays.values()
    clause, (place, *_) = subject.values_clause(attributes), subject.in_place
    return [
        subject.case(clause, array[number : number + _ELEMENTS], attributes, placement=place) for number in range(count)
    ]


def case_cost(count: int = _CASES, rounds: int = _ROUNDS, clock: Clock = time.process_time) -> dict[str, Any]:
    """What judging a small case takes where its dispatch costs nothing.

    Args:
        count: cases that are judged at once.
        rounds: how often; the best counts.
        clock: seconds of processor time.

    Returns:
        ``cases``; ``case_microseconds`` and, of bare np.rint on the elements of each, ``bare_microseconds``; the
        ``ratio`` of the two.

    Raises:
        ConformanceFailure: the cases are not right, so that the figure would be another one.
    """
    bench = Bench("idle", Idle(), {}, load_tables())
    try:
        cases = small_cases(bench, count)
        judging = best(lambda: Judge(bench).all(cases), rounds, clock)
    finally:
        bench.close()
    arrays = [np.arange(number, number + _ELEMENTS, dtype=np.float32) for number in range(count)]
    output = np.empty(_ELEMENTS, np.float32)

    def rounded() -> None:
        for array in arrays:
            np.rint(array, out=output)

    bare = best(rounded, rounds, clock)
    return {"cases": count, **_beside("case_microseconds", judging / count, "bare_microseconds", bare / count, 1e6)}


def _beside(name: str, spent: float, bare_name: str, bare: float, unit: float = 1.0) -> dict[str, float]:
    """Two figures in a unit, and how often the second goes into the first: 0 where a clock sees nothing of it."""
    return {
        name: round(spent * unit, 3),
        bare_name: round(bare * unit, 3),
        "ratio": round(spent / bare, 3) if bare else 0.0,
    }


class Noted:
    """Calls of a device, noted and done again.

    Args:
        rounds: how often they are done again; the best counts.
        clock: seconds of processor time.

    Attributes:
        seconds: what all calls took that were done again.
        dispatches: how many of them were dispatches.
    """

    def __init__(self, rounds: int = _ROUNDS, clock: Clock = time.process_time) -> None:
        self.seconds = 0.0
        self.dispatches = 0
        self._rounds, self._clock = rounds, clock
        self._calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._held = 0

    def create(self, device: Any, operator: OperatorDesc) -> None:
        """Note that a kernel is asked for."""
        self._calls.append((device, (operator,)))

    def dispatch(self, kernel: Any, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Note a dispatch that is about to be done."""
        self.dispatches += 1
        self._calls.append((kernel, (memory.copy(), bindings)))
        self._held += memory.nbytes
        if self._held >= _MOST_BYTES:
            self.settle()

    def settle(self) -> None:
        """Do again what was noted since the last time, and add what that took."""
        calls, self._calls, self._held = self._calls, [], 0
        taken = []
        for _ in range(self._rounds if calls else 0):
            fresh = [
                (call, (arguments[0].copy(), *arguments[1:]) if isinstance(arguments[0], np.ndarray) else arguments)
                for call, arguments in calls
            ]
            started = self._clock()
            for call, arguments in fresh:
                with contextlib.suppress(Exception):  # a description that was refused is so again
                    call(*arguments)
            taken.append(self._clock() - started)
        self.seconds += min(taken, default=0.0)


class _NotedKernel:
    """A kernel of the cpu backend whose dispatches are noted."""

    def __init__(self, inner: Any, noted: Noted) -> None:
        self._inner, self._noted = inner, noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def dispatch(self, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Note it and do it."""
        self._noted.dispatch(self._inner.dispatch, memory, bindings)
        self._inner.dispatch(memory, bindings)


@contextlib.contextmanager
def noting(noted: Noted) -> Iterator[None]:
    """Inside, what devices of the cpu backend are asked for is noted."""
    create: Callable[..., Any] = CpuDevice.create

    def create_noted(self: CpuDevice, operator: OperatorDesc) -> Any:
        noted.create(lambda description: create(self, description), operator)
        return _NotedKernel(create(self, operator), noted)

    changed: Any = CpuDevice
    changed.create = create_noted
    try:
        yield
    finally:
        changed.create = create


def _quick_run(operator: str) -> None:
    """A quick run of an operator on cpu, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read(backend="cpu", results=folder, operators=[operator])
        run = Run(settings)
        run.prepare()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                pytest.main(pytest_arguments(settings), plugins=[Named(run)])
        finally:
            run.close()


def quick_beside_bare(operator: str) -> dict[str, Any]:
    """A quick run of an operator on cpu, and its calls of the backend alone; once, in this process."""
    load_tables()
    spent = best(lambda: _quick_run(operator), 1)
    noted = Noted()
    with noting(noted):
        _quick_run(operator)
    noted.settle()
    return {"operator": operator, "seconds": spent, "bare_seconds": noted.seconds, "dispatches": noted.dispatches}


def least_of(tries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The least of what several measurements of an operator's quick run took, and the ratio."""
    first = tries[0]
    spent, bare = (min(attempt[name] for attempt in tries) for name in ("seconds", "bare_seconds"))
    return {
        "operator": first["operator"],
        "dispatches": first["dispatches"],
        **_beside("seconds", spent, "bare_seconds", bare),
    }


def _apart(words: Sequence[str]) -> Any:
    """What this module measures in a process of its own: runs fill caches, and keep what is freed."""
    ended = subprocess.run(  # noqa: S603  # our own
        own_python("-c", _ENTRY, *words), stdout=subprocess.PIPE, check=False, env=safe_environment()
    )
    if ended.returncode:
        cause = f"measuring the engine ended with exit code {ended.returncode}"
        raise UsageError(cause, "see what it said, or measure with --engine none")
    return json.loads(ended.stdout)


def chosen_operators(words: str) -> list[str] | None:
    """The short names of operators that somebody named, separated by commas; ``None`` for "none".

    Raises:
        UsageError: there is no such operator.
    """
    if words == "none":
        return None
    tables = load_tables()
    if words == "all":
        return [table.short_name for table in tables.operators.values()]
    return [tables.operator(word.strip()).short_name for word in words.split(",")]


def engine_cost(operators: Sequence[str], report: Callable[[str], None]) -> dict[str, Any]:
    """What the engine costs: a case, and quick runs of some operators.

    Args:
        operators: whose quick runs are measured.
        report: called with a line on what is going on.

    Returns:
        The member ``engine`` of a ``dmlcts-bench/1`` document.

    Raises:
        UsageError: a run did not end with figures.
    """
    report("what the engine takes for a case")
    cost = {"case": _apart([]), "operators": []}
    for operator in operators:
        report(f"a quick run of {operator} on cpu beside its dispatches alone")
        cost["operators"].append(least_of([_apart([operator]) for _ in range(_TRIES)]))
    return cost


def main() -> None:
    """Measure what the command line names: an operator's quick run, or a case."""
    words = sys.argv[1:]
    print_line(json.dumps(quick_beside_bare(*words) if words else case_cost()))
