"""The bench: the implementation under test on its device, and what one dispatch on it does.

Whatever the implementation does ends here as a value, never as an exception that tears down the run:
a dispatch gives an :class:`Execution`, a refusal a :class:`Refusal` (an :class:`Unsupported` where the backend
says that it cannot express the description), anything else a :class:`Mishap`.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import BackendUnavailable, DeviceInfo
from dmlcts.backends.contract import ContractError, describe, error_kind, words_of
from dmlcts.backends.registry import open_device
from dmlcts.specs import DataType, DmlctsError, FeatureLevel, OperatorDesc, Region
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.histories import Histories
from dmlcts.suites.cases.memory import Arena, Bytes, Masks, drawn_masks, private_memory, steady_masks
from dmlcts.suites.cases.oracles import Oracle, Oracles
from dmlcts.suites.cases.outcomes import DeviceGone, Execution, Mishap, Outcome, Refusal, Unsupported, mishap_of
from dmlcts.suites.isolation import floating_point
from dmlcts.suites.isolation.floating_point import calling
from dmlcts.suites.isolation.lives import Lives, Unanswered
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.proxy import IsolatedDevice
from dmlcts.suites.isolation.remote_errors import RemoteError

Array = NDArray[Any]
Bindings = Mapping[str, Region]

_LEAST_HURRY = 0.25
_MOST_AT_ONCE, _MOST_PADDING = 4 << 20, 1 << 16
_MOST_HISTORY, _MOST_REMEMBERED = 1024, 1 << 15


class Bench:
    """An open device, with what the suite must know to judge it.

    Args:
        backend: the backend object.
        options: the strings that ``-o`` gave, passed to ``open``.
        tables: the spec tables.
        level: the feature level to judge at; ``None`` means the one the device claims.
        strict: leave no latitude.
        device: an open device of the backend; by default one is opened.

    Attributes:
        info: what the device says of itself.
        losses: how often the implementation's process or device was lost.
        hazards: what :mod:`dmlcts.suites.judging.losses` found out; ``None`` until it was asked.
        faults: what :mod:`dmlcts.suites.attribution.faults` knows already; ``None`` until it was asked.
        plans: those of :mod:`dmlcts.suites.batches.plans`; ``None`` until one was asked for.
        attempted: an operator, and the outcome of an earlier try at making it; ``None`` for none.
        lacking: the clause for whose sake a description cannot be expressed, by the case's clauses, in one test.
        packed: whether operators can be expressed on packed tensors, by kind, dimensions and about how many elements.
        inexpressible: operators that cannot be expressed in any layout, by kind and dimensions, with what the backend
            said.
        history: the cases that were judged on the device, the last one last; those that are long ago are forgotten.
        histories: what ran before each dispatch.
        watch: is called with every case that was dispatched and what ran before it; ``None`` while nobody looks.
        unexplained: cases that lost the process there and did not do so again; the next test reports them.
        stopping_anyway: operators, types and outcomes of which a process is lost without silent points as well.
        masks: what expected outputs are changed by to be an output's poison.
    """

    def __init__(
        self,
        name: str,
        backend: Any,
        options: Mapping[str, str],
        tables: Tables,
        level: FeatureLevel | None = None,
        *,
        strict: bool = False,
        device: Any = None,
    ) -> None:
        self.name = name
        self.backend = backend
        self.options = dict(options)
        self.tables = tables
        self.strict = strict
        self._stack = contextlib.ExitStack()
        self.losses = 0
        self.hazards: Any = None
        self.faults: Any = None
        self.plans: Any = None
        self.attempted: tuple[OperatorDesc, Refusal | Mishap | None] | None = None
        self.lacking: dict[tuple[OperatorDesc, str, str | None], str] = {}
        self.packed: dict[Hashable, bool] = {}
        self.inexpressible: dict[Hashable, str] = {}
        self.unexplained: list[tuple[Case, Mishap]] = []
        self.stopping_anyway: set[tuple[str, DataType, str]] = set()
        self.masks: Masks = drawn_masks()
        self.watch: Callable[[Case, str], None] | None = None
        self.history: deque[Case] = deque(maxlen=_MOST_HISTORY)
        self.histories = Histories()
        self._oracles = Oracles(tables, strict=strict)
        self._device: Any = None
        self.info: DeviceInfo = self._open(device)
        self.level = level or FeatureLevel.parse(self.info.feature_level)

    def _open(self, device: Any = None) -> DeviceInfo:
        with calling():
            device = open_device(self.backend, self.options) if device is None else device
            self._device = device
            if hasattr(device, "close"):
                self._stack.callback(device.close)
            try:
                return describe(device.info).among(table.operator for table in self.tables.operators.values())
            except BaseException as error:
                with contextlib.suppress(Exception):  # what is wrong with its info is the error to report
                    self._stack.close()
                if isinstance(error, (DmlctsError, KeyboardInterrupt)):
                    raise
                cause = f"reading the device's info failed: {type(error).__name__}: {words_of(error)}"
                raise ContractError(cause, "give plain values, as backends/README.md shows") from error

    def fresh(self) -> Bench:
        """Another bench on a device that has run nothing yet, of a new backend object where one can be made."""
        backend, device = self.backend, None
        with calling():
            if isinstance(self._device, IsolatedDevice):
                device = self._device.fresh()
            else:
                with contextlib.suppress(TypeError):  # a class that wants arguments: the object at hand has to do
                    backend = type(self.backend)()
        other = Bench(self.name, backend, self.options, self.tables, self.level, strict=self.strict, device=device)
        other.masks = self.masks
        return other

    def close(self) -> None:
        """Close the device; a device that fails to close is reported as the backend's own error."""
        with calling():
            self._stack.close()

    def reopen(self) -> None:
        """Begin on another device: a lost one, or what a fault left in it, must not poison the cases that follow."""
        if isinstance(self._device, IsolatedDevice):
            self._device.restart()
        with contextlib.suppress(Exception):  # a lost device may well fail to close; it is abandoned either way
            self.close()
        self._stack = contextlib.ExitStack()
        self.histories = Histories()
        self.history.clear()
        self._open()

    def claims(self, operator: OperatorDesc) -> bool:
        """Whether the device claims this operator on this data type (it may claim fewer than its level)."""
        if self.info.data_types is None:
            return True
        table = self.tables.operator(operator.name)
        claimed = self.info.data_types.get(table.operator)
        return claimed is None or operator.data_type in claimed

    def obliged(self, operator: OperatorDesc) -> bool:
        """Whether the level obliges the implementation to accept ``operator``, and it claims to."""
        return self.claims(operator) and not violations(operator, self.level, self.tables)

    def oracle(self, operator: OperatorDesc) -> Oracle:
        """The oracle for ``operator``; one for all descriptions that differ in sizes and layouts alone."""
        return self._oracles.of(operator)

    def vector_oracle(self, operator: OperatorDesc) -> VectorOracle:
        """The oracle for an ``operator`` of one input, of the output's type."""
        return VectorOracle(self.tables.law(self.tables.operator(operator.name)), operator, strict=self.strict)

    def create(self, operator: OperatorDesc) -> Any | Refusal | Mishap:
        """A kernel, or why there is none."""
        try:
            with calling():
                kernel = self._device.create(operator)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the implementation's exceptions are findings, not the suite's
            return self._not_made(operator, error)
        self.histories.made(kernel, operator)
        return kernel

    def tried(self, operator: OperatorDesc) -> Refusal | Mishap | None:
        """Make a kernel and close it again; ``None`` where both went well."""
        kernel = self.create(operator)
        return kernel if isinstance(kernel, (Refusal, Mishap)) else self.closed(kernel)

    def _not_made(self, operator: OperatorDesc, error: BaseException) -> Refusal | Mishap:
        """The outcome of a creation that raised ``error``."""
        kind = error_kind(error)
        if kind == "not_supported" and not violations(operator, self.level, self.tables):
            return Unsupported(words_of(error), False)
        if kind in ("invalid_argument", "not_supported"):
            return Refusal(words_of(error), self.obliged(operator))
        return self.recovered(error)

    def recovered(self, error: BaseException) -> Mishap:
        """What the implementation did by raising ``error``; a device or process that was lost by it is another now.

        Raises:
            DeviceGone: the device was lost and cannot be opened again.
        """
        if isinstance(error, floating_point.ArithmeticChanged):  # no verdict follows from what the suite computes now
            raise error
        if isinstance(error, BackendUnavailable):  # the process that took a lost one's place cannot open the device
            raise DeviceGone(f"the device was lost and does not come back: {error}") from error
        mishap = mishap_of(error)
        if isinstance(error, WorkerLost):
            self.losses, self.histories = self.losses + 1, Histories()  # the next call starts another process
        if mishap.outcome == "device_lost":
            self.losses += 1
            try:
                self.reopen()
            except BackendUnavailable as gone:
                raise DeviceGone(f"the device was lost and does not come back: {gone}") from error
        return mishap

    @property
    def isolated(self) -> bool:
        """Whether the implementation runs in a process of its own."""
        return isinstance(self._device, IsolatedDevice)

    def hurried(self) -> contextlib.AbstractContextManager[None]:
        """Inside, an isolated implementation gets a fraction of its time: for what is known to hang."""
        usual = self._device.host.timeout if isinstance(self._device, IsolatedDevice) else 0.0
        return self.limited(max(_LEAST_HURRY, usual / 10))

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Inside, a call of an isolated implementation may take so long, and no longer than otherwise."""
        if not isinstance(self._device, IsolatedDevice):
            yield
            return
        host = self._device.host
        usual, host.timeout = host.timeout, min(host.timeout, seconds)
        try:
            yield
        finally:
            host.timeout = usual

    def steadily(self) -> contextlib.AbstractContextManager[None]:
        """Inside, a case that is judged again finds the same poison: for what is already known to be wrong.

        What is reported of it must not depend on what was drawn, even where an implementation reads its output.
        """
        return self._with("masks", steady_masks())

    def anew(self) -> contextlib.AbstractContextManager[None]:
        """Inside, every dispatch finds another poison, even within :meth:`steadily`."""
        return self._with("masks", drawn_masks())

    def unwatched(self) -> contextlib.AbstractContextManager[None]:
        """Inside, dispatches are not watched: for those that a judge may need, or not, by chance."""
        return self._with("watch", None)

    @contextlib.contextmanager
    def _with(self, name: str, value: object) -> Iterator[None]:
        usual = getattr(self, name)
        setattr(self, name, value)
        try:
            yield
        finally:
            setattr(self, name, usual)

    def remember(self, case: Case) -> None:
        """Note that a case is judged now; one with many listed values is not kept, since a thousand are."""
        if case.values.bytes_listed <= _MOST_REMEMBERED:
            self.history.append(case)

    def allocate(self, size: int) -> Bytes:
        """A writable memory of ``size`` bytes at a page boundary, where the device takes it without copying."""
        return self._device.allocate(size) if isinstance(self._device, IsolatedDevice) else private_memory(size)

    def prepare(self, case: Case, turn: int = 0, *, poisoned: bool = False) -> Arena:
        """The arena of ``case``, in a memory that the device takes without copying; see :meth:`Arena.prepare`."""
        return Arena.prepare(case, self.allocate, turn, poisoned=poisoned)

    def dispatch(self, kernel: Any, arena: Arena) -> Mishap | None:
        """Run ``kernel`` on the arena's memory; ``None`` where it came back."""
        with np.errstate(all="ignore"):
            return self._sent(kernel, arena.memory, arena.bindings)

    def _sent(self, kernel: Any, memory: Bytes, bindings: Bindings) -> Mishap | None:
        try:
            with calling():
                kernel.dispatch(memory, dict(bindings))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # as in create
            return self.recovered(error)
        return None

    def run(self, case: Case, poison: Array | None = None, turn: int = 0) -> Outcome:
        """Create the case's kernel, dispatch it once, and look at all of the memory afterwards.

        Args:
            case: what to run.
            poison: 1-D, what the output elements hold before the dispatch; ``None`` for a fixed pattern.
            turn: of unlike turns that pattern holds unlike bytes.
        """
        if self.at_once(case):
            return self.live(case, self.prepare(case, turn), poison)
        kernel = self.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return kernel
        outcome: Outcome = self.run_on(kernel, case, self.prepare(case, turn), poison)
        return self.closed(kernel) or outcome

    def at_once(self, case: Case) -> bool:
        """Whether :meth:`live` serves the case: an isolated implementation, and a small memory."""
        return self.lives is not None and case.placement.regions(case.operator)[1] <= _MOST_AT_ONCE

    def live(self, case: Case, arena: Arena, poison: Array | None = None) -> Outcome:
        """Make the case's kernel, dispatch it once on a prepared arena, close it, and look at the memory afterwards.

        Args:
            case: one that :meth:`at_once` takes.
            arena: its memory, as :meth:`prepare` gives it.
            poison: as in :meth:`run`; ``None`` for what the arena holds.
        """
        arena = arena.poisoned(case, poison)
        try:
            with calling():
                self._device.live(case.operator, arena.memory, dict(arena.bindings))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._stopped(case.operator, error)
        return self._looked_at(case, arena, self.histories.lived(case.operator))

    def _stopped(self, operator: OperatorDesc, error: BaseException) -> Refusal | Mishap:
        """The outcome of a kernel's whole life that raised ``error``."""
        if isinstance(error, RemoteError) and error.step == "create":
            return self._not_made(operator, error)
        return self.recovered(error)

    @property
    def lives(self) -> Lives | None:
        """What asks for many lives of kernels at once; ``None`` where the implementation shares this process."""
        return self._device.lives if isinstance(self._device, IsolatedDevice) else None

    def came_of(self, operator: OperatorDesc, error: BaseException | None) -> str | Refusal | Mishap | None:
        """The outcome of a life: what ran before a dispatch that came back, ``None`` where nobody knows."""
        if error is None:
            return self.histories.lived(operator)
        try:
            return None if isinstance(error, Unanswered) else self._stopped(operator, error)
        except DeviceGone:  # whoever asks next finds out
            return None

    def lived(self, operator: OperatorDesc, memory: Bytes, regions: Bindings) -> str | Refusal | Mishap:
        """Make a kernel, dispatch it once on the whole of a memory and close it, in this process.

        numpy's warnings are the caller's to switch off, for many lives at once.

        Returns:
            What ran before the dispatch, where all went well; nobody has looked at the memory yet.
        """
        kernel = self.create(operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return kernel
        outcome = self.dispatched(kernel, operator, memory, regions)
        return self.closed(kernel) or outcome

    def dispatched(self, kernel: Any, operator: OperatorDesc, memory: Bytes, regions: Bindings) -> str | Mishap:
        """Dispatch an existing kernel on the whole of a memory, in this process; as :meth:`lived`."""
        return self._sent(kernel, memory, regions) or self.histories.dispatched(kernel, operator)

    def seen(self, case: Case, arena: Arena) -> Execution:
        """What a dispatch left in the memory of an arena."""
        within, outside = arena.strays(case)
        target = case.operator.output
        looked = target.strides is not None and target.total_size_in_bytes <= _MOST_PADDING
        padding = arena.padding_changed(case) if looked else None
        held, left = arena.poison(case), arena.output(case)
        return Execution(arena.inputs, left, held, tuple(within), tuple(outside), padding)

    def closed(self, kernel: Any) -> Mishap | None:
        """Close ``kernel`` where it can be closed; a mishap where that fails."""
        self.histories.closed(kernel)
        closer = getattr(kernel, "close", None)
        if closer is None:
            return None
        try:
            with calling():
                closer()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return replace(self.recovered(error), refusing=False)  # it is no way to refuse anything
        return None

    def forget(self) -> None:
        """Count what ran before as another test's: what a dispatch had before it must not depend on their order."""
        self.histories = Histories()
        self.lacking.clear()

    def run_unjudged(self, kernel: Any, case: Case) -> Mishap | None:
        """Dispatch an existing kernel on a case's memory without looking at its result; it is not watched."""
        mishap = self.dispatch(kernel, self.prepare(case))
        if mishap is None:
            self.histories.dispatched(kernel, case.operator)
        return mishap

    def left_by(self, kernel: Any, operator: OperatorDesc, case: Case) -> Array | None:
        """The output of a kernel that is dispatched on a case's memory, 1-D in row-major order; it is not watched.

        Args:
            kernel: an existing kernel.
            operator: its description, on the tensors of the case.
            case: the case.

        Returns:
            ``None`` where the dispatch did not come back.
        """
        arena = self.prepare(case)
        if self.dispatch(kernel, arena) is not None:
            return None
        self.histories.dispatched(kernel, operator)
        return arena.output(case)

    def run_on(self, kernel: Any, case: Case, arena: Arena, poison: Array | None = None) -> Execution | Mishap:
        """Dispatch an existing kernel on a prepared arena; without ``poison`` its output holds what it does."""
        arena = arena.poisoned(case, poison)
        if (mishap := self.dispatch(kernel, arena)) is not None:
            return mishap
        return self._looked_at(case, arena, self.histories.dispatched(kernel, case.operator))

    def _looked_at(self, case: Case, arena: Arena, history: str) -> Execution:
        """What a dispatch that came back left in the memory; whoever watches is called with it."""
        if self.watch is not None:
            self.watch(case, history)
        return self.seen(case, arena)
