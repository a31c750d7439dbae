"""One trivial case for each operator and type, and what to mend where it goes wrong: ``dmlcts backends --check``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dmlcts.backends import DeviceInfo
from dmlcts.backends.registry import RUNNERS
from dmlcts.specs import DataType, FeatureLevel, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import DeviceGone, Mishap, Refusal
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.running.options import Settings

_ELEMENTS = 16
_MOST_LOSSES = 3
_MOST_DIMENSIONS = 8
_MOST_DISPATCHES = 100
_MOST_SECONDS = 0.25
_PATIENCE = ("patience", "4")  # seconds that a runner has to say hello here, unless -o patience gives it others
_ALL = "it was lost so often that the rest was left out"
_MENDS: Mapping[str, str] = {
    "fail": "compute what `dmlcts spec show {operator}` says; `dmlcts run --operator {operator}` shows more",
    "refused": "accept it, or claim less: `data_types` or `only` in the info, the claims in a runner's hello",
    "not_supported": "nothing, where the runtime has no such operator; else express it in create()",
    "crash": "see its last words above, or run it under your debugger with --isolation none",
    "timeout": "wait for the device no longer than a call may take, or give it longer with --dispatch-timeout",
    "device_lost": "see why the device is lost on so small a tensor; the next call gets a fresh one",
    "resource_error": "free what a kernel holds in its close(), and take no more than the memory that is given",
}


@dataclass(frozen=True)
class Tried:
    """What became of the trivial case of one operator and type.

    Attributes:
        operator: its short name.
        data_type: the type.
        outcome: "pass", "refused", "not_supported" or the outcome of the case.
        message: what is wrong, in one line or several; "" where nothing is.
    """

    operator: str
    data_type: DataType
    outcome: str
    message: str = ""

    @property
    def right(self) -> bool:
        """Whether it computed what it should."""
        return self.outcome == "pass"

    @property
    def mend(self) -> str:
        """What would help."""
        return _MENDS.get(self.outcome, "").replace("{operator}", self.operator)


@dataclass(frozen=True)
class Trial:
    """The result of trying a backend.

    Attributes:
        info: what the device says of itself.
        opening: seconds until the device was open, its process included.
        tried: each operator and type that the device claims.
        unclaimed: the operators, by short name, with the types that its level obliges and it does not claim.
        dispatch: seconds that a dispatch of a few elements takes, in the middle; ``None`` where none came back.
        accepts: the operator, by short name, of which a description that is forbidden was accepted; "" where it was
            refused, or where nothing works.
    """

    info: DeviceInfo
    opening: float
    tried: tuple[Tried, ...]
    unclaimed: Mapping[str, tuple[DataType, ...]]
    dispatch: float | None
    accepts: str = ""

    @property
    def works(self) -> bool:
        """Whether something was right, and nothing wrong; what the backend cannot express is neither."""
        return any(attempt.right for attempt in self.tried) and not self.wrong

    @property
    def wrong(self) -> tuple[Tried, ...]:
        """What has to be mended."""
        return tuple(attempt for attempt in self.tried if not attempt.right and attempt.outcome != "not_supported")


def try_backend(settings: Settings) -> Trial:
    """Open the backend in a process of its own and try every operator and type that is selected.

    Raises:
        UsageError: no such backend, or an option it does not take.
        BackendUnavailable: it cannot run here.
        ContractError: it breaks the backend contract.
    """
    if settings.backend.partition(":")[0] in RUNNERS:
        settings = replace(settings, options=tuple(dict([_PATIENCE, *settings.options]).items()))
    begun = time.monotonic()
    bench = settings.open()
    opening = time.monotonic() - begun
    try:
        unclaimed: dict[str, tuple[DataType, ...]] = {}
        wanted = []
        for table, data_type in _required_tables(settings, bench.level):
            claimed = (bench.info.data_types or {}).get(table.operator)
            if claimed is None or data_type in claimed:
                wanted.append((table, data_type))
            else:
                unclaimed[table.short_name] = (*unclaimed.get(table.short_name, ()), data_type)
        tried = tuple(_tried(bench, wanted))
        right = [pair for pair, attempt in zip(wanted, tried, strict=False) if attempt.right]
        if not right:
            return Trial(bench.info, opening, tried, unclaimed, None)
        accepts = right[0][0].short_name if _accepts_forbidden(bench, right[0]) else ""
        return Trial(bench.info, opening, tried, unclaimed, _dispatch_seconds(bench, right[0]), accepts)
    finally:
        bench.close()


def _required_tables(settings: Settings, level: FeatureLevel) -> Iterator[tuple[OperatorTable, DataType]]:
    """What the level obliges an implementation to take, of what is selected."""
    for table in settings.tables.operators.values():
        listed = {data_type for support in table.support_at(level) for data_type in support.data_types}
        for data_type in DataType:
            if data_type in listed and settings.selects_operator(table) and settings.selects_data_type(data_type):
                yield table, data_type


def _case(bench: Bench, table: OperatorTable, data_type: DataType) -> Case:
    subject = Subject.on(table, data_type, bench.level)
    attributes = subject.revealing()
    return subject.case(subject.values_clause(attributes), subject.distinct(_ELEMENTS), attributes)


def _tried(bench: Bench, wanted: list[tuple[OperatorTable, DataType]]) -> Iterator[Tried]:
    """What became of each; where the device was lost too often, the rest is not tried."""
    for table, data_type in wanted:
        if bench.losses >= _MOST_LOSSES:
            yield Tried(table.short_name, data_type, "crash", _ALL)
            return
        try:
            with np.errstate(all="ignore"):
                judgement = judge_case(bench, _case(bench, table, data_type))
        except DeviceGone as gone:
            yield Tried(table.short_name, data_type, "device_lost", str(gone))
            return
        if judgement.unsupported is not None:
            yield Tried(table.short_name, data_type, "not_supported", judgement.unsupported)
        elif judgement.findings:
            finding = judgement.findings[0]
            refused = finding.outcome == "fail" and not judgement.executions
            details = [text for label, text in finding.details if label == "said"]
            message = "\n".join([finding.title, *details])
            yield Tried(table.short_name, data_type, "refused" if refused else finding.outcome, message)
        else:
            yield Tried(table.short_name, data_type, "refused" if judgement.refused else "pass")


def _accepts_forbidden(bench: Bench, pair: tuple[OperatorTable, DataType]) -> bool:
    """Whether tensors of more dimensions than any page permits are accepted."""
    operator = _case(bench, *pair).operator
    sizes = (1,) * (_MOST_DIMENSIONS + 1)
    tensors = {name: TensorDesc(tensor.data_type, sizes) for name, tensor in operator.tensors.items()}
    kernel = bench.create(replace(operator, tensors=tensors))
    if isinstance(kernel, (Refusal, Mishap)):
        return False
    bench.closed(kernel)
    return True


def _dispatch_seconds(bench: Bench, pair: tuple[OperatorTable, DataType]) -> float | None:
    """Seconds of a dispatch, the median of some; ``None`` where it does not come back any more."""
    case = _case(bench, *pair)
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return None
    arena = bench.prepare(case)
    taken: list[float] = []
    while len(taken) < _MOST_DISPATCHES and sum(taken) < _MOST_SECONDS:
        begun = time.perf_counter()
        if bench.dispatch(kernel, arena) is not None:
            return None
        taken.append(time.perf_counter() - begun)
    bench.closed(kernel)
    return statistics.median(taken)
