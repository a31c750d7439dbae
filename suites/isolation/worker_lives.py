"""Whole lives of kernels, many in one message, as the worker goes through them; see :mod:`.lives`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import ContractError, error_kind
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.description_data import DataReader, read_attributes
from dmlcts.suites.isolation.backend_batch import BackendBatch, Bytes, Due, ends_program
from dmlcts.suites.isolation.framing import MOST_BYTES
from dmlcts.suites.isolation.lives import ACTS, CAME_BACK, IN_BATCH, RAISED, STATES, STEPS
from dmlcts.suites.isolation.memory import Window, WorkerMemory

_MOST_IN_BATCH = 64  # dispatches, for which the limit on the time of one call has to do
_SECONDS_A_LOOK = 0.002  # at the memory that the process holds: who takes gigabytes takes longer than that
_ENDING = ("device_lost", "lost", "unavailable", "grown")  # kinds of errors after which nothing more is tried


def whole_life(device: Any, operator: OperatorDesc, at: Callable[[str], None], dispatch: Callable[[Any], None]) -> None:
    """Make an operator ready, run it once and close it.

    A kernel is closed whatever the outcome of its dispatch, unless the device is lost; what closing raises counts
    before what the dispatch raised.

    Args:
        device: the backend's.
        operator: what is made.
        at: is given each step that begins, and at the end the one that raised an exception.
        dispatch: runs the kernel that it is given.
    """
    at("create")
    kernel = device.create(operator)
    at("dispatch")
    try:
        dispatch(kernel)
    except BaseException as error:
        if error_kind(error) != "device_lost":
            at("close")
            close(kernel)
            at("dispatch")
        raise
    at("close")
    close(kernel)


def close(kernel: Any) -> None:
    """Close a kernel, where it can be closed."""
    closer = getattr(kernel, "close", None)
    if closer is not None:
        closer()


class _LostInBatch(Exception):  # noqa: N818  # it says what happened
    """A batch lost the device, or grew too much: any of its steps may be to blame.

    Attributes:
        described: what it was lost by, in words.
    """

    def __init__(self, described: dict[str, Any]) -> None:
        super().__init__(described["text"])
        self.described = described


def _grown_error(text: str) -> dict[str, Any]:
    return {"kind": "grown", "text": text, "said": text}


class WorkerLives:
    """The worker's side.

    Args:
        memory: what it shares with the suite.
        described: puts an exception into words.
        grown: says what is wrong with the memory that the process holds, "" for nothing.
    """

    def __init__(
        self, memory: WorkerMemory, described: Callable[[BaseException], dict[str, Any]], grown: Callable[[], str]
    ) -> None:
        self._memory = memory
        self._described = described
        self._grown = grown
        self._kinds: list[tuple[str, Mapping[str, Any]]] = []
        self._forms: list[tuple[int, dict[str, TensorDesc], dict[str, Region]]] = []
        self._kernels: dict[int, Any] = {}
        self._stopped = False
        self._answers_batches = True

    def run(
        self,
        device: Any,
        drop: list[int],
        memory: list[int],
        steps: list[int],
        work: int,
        lives: list[int],
        *,
        batching: bool = False,
        **new: Any,
    ) -> dict[str, Any]:
        """Go through the lives; says how many were, and which ended in an error."""
        self._learn(**new)
        self._memory.drop(drop)
        window = Window(self._memory.segment(*memory)) if memory else None
        counts = self._memory.memory(*steps)
        errors: list[list[Any]] = []
        message, number, last = 0, -1, len(lives) // 5 - 1
        looked = time.perf_counter()
        dues = [
            Due(ACTS[act], kernel, self._kinds[kind], self._forms[form], start)
            for act, kernel, kind, form, start in _in_fives(lives)
        ]
        try:
            with np.errstate(all="ignore"):
                for number, error in enumerate(self._errors(device, dues, window, work, counts, batching=batching)):
                    now = time.perf_counter()
                    if now - looked > _SECONDS_A_LOOK or number == last or error:
                        looked, grown = now, self._grown()
                        if grown:
                            error = _grown_error(grown)
                    counts[STATES + number] = RAISED if error else CAME_BACK
                    if error:
                        errors.append([number, error])
                        message += sum(12 * len(str(text)) for text in error.values())  # as JSON, at most
                        if error["kind"] in _ENDING or message > MOST_BYTES // 2:
                            break
        except _LostInBatch as lost:
            return {"done": len(dues), "errors": [], "lost": lost.described}
        finally:
            if window is not None:
                window.shut()
        return {"done": number + 1, "errors": errors}

    def _errors(
        self, device: Any, dues: Sequence[Due], window: Window | None, work: int, counts: Bytes, *, batching: bool
    ) -> Iterator[dict[str, Any] | None]:
        """What each life or step ended in, which is done when it is asked for; those of a batch at once.

        Raises:
            _LostInBatch: a batch lost the device.
        """
        counted = counts[:8].view(np.uint64)
        begin = 0
        while begin < len(dues):
            end = begin + 1
            known: list[dict[str, Any] | None] = []
            if batching and self._answers_batches and window is not None:
                end = max(end, self._end_of_batch(dues, begin))
                if end - begin > 1:
                    counted[0] = len(STEPS) * begin + 1
                    known = self._batched(device, dues[begin:end], window, counts)
            yield from known
            for number in range(begin + len(known), end):
                yield self._lived(device, dues[number], window, work, counted, number)
            begin = end

    def _end_of_batch(self, dues: Sequence[Due], first: int) -> int:
        """Where the lives and whole programs end that come in one batch; at its begin where a program is under way."""
        end, dispatches = first, 0
        if self._kernels or self._stopped:
            return first
        for number in range(first, len(dues)):
            act = dues[number].act
            dispatches += act.startswith("dispatch") or act == "life"
            if dispatches > _MOST_IN_BATCH and end > first:
                break
            if act in ("life", "end"):
                end = number + 1
        return end

    def _batched(self, device: Any, dues: Sequence[Due], window: Window, counts: Bytes) -> list[dict[str, Any] | None]:
        """What some lives and steps ended in, all done with one call; the others are to be done by themselves.

        Raises:
            _LostInBatch: the call lost the device.
        """
        batch = BackendBatch(dues, window)
        counts[IN_BATCH] = 1
        try:
            outcomes = list(device.batch(batch.steps))
        except BaseException as error:  # as in _lived
            described = self._described(error)
            if described["kind"] in ("device_lost", "lost"):
                raise _LostInBatch(described) from error
            return []
        finally:
            counts[IN_BATCH] = 0
        grown = self._grown()
        if grown:
            raise _LostInBatch(_grown_error(grown))
        if len(outcomes) != len(batch.steps) or not all(isinstance(each, Exception | None) for each in outcomes):
            self._answers_batches = False
            cause = f"batch gave {len(outcomes)} outcomes for {len(batch.steps)} steps"
            broken = ContractError(f"the device's {cause}", "let it give an exception, or None, for each step")
            return [self._described(broken) | {"step": "dispatch"}]
        return batch.ended(outcomes, self._described)

    def _lived(
        self, device: Any, due: Due, window: Window | None, work: int, counted: NDArray[np.uint64], number: int
    ) -> dict[str, Any] | None:
        size, tensors, regions = due.form
        operator = OperatorDesc(due.kind[0], tensors, due.kind[1])
        step = STEPS[0]
        raised: dict[str, Any] | None = None

        def at(what: str) -> None:
            nonlocal step
            counted[0] = len(STEPS) * number + 1 + STEPS.index(what)
            step = what

        def dispatch(kernel: Any, start: int = due.start) -> None:
            if window is not None:
                kernel.dispatch(window.part(start, size), dict(regions))

        def by_turns(kernel: Any) -> None:
            assert window is not None  # noqa: S101  # the suite sends a memory with every dispatch
            part = window.part(work, size)
            window.read(due.start, part)
            dispatch(kernel, work)
            if due.act == "dispatch":
                window.write(due.start, part)

        try:
            if due.act == "life":
                whole_life(device, operator, at, dispatch)
            else:
                self._stepped(device, due, operator, at, by_turns)
        except BaseException as error:  # the implementation's exceptions are findings, not the worker's
            raised = self._described(error) | {"step": step}
        finally:
            if window is not None:
                window.shut()
        self._stopped = due.act not in ("life", "end") and (self._stopped or ends_program(due.act, raised))
        return raised

    def _stepped(
        self, device: Any, due: Due, operator: OperatorDesc, at: Callable[[str], None], by_turns: Callable[[Any], None]
    ) -> None:
        """One step of a kernel that lives on."""
        if due.act == "end":
            at("close")
            while self._kernels:
                close(self._kernels.popitem()[1])
        elif self._stopped:
            return
        elif due.act == "create":
            at("create")
            self._kernels[due.kernel] = device.create(operator)
        elif due.act == "close":
            at("close")
            close(self._kernels.pop(due.kernel))
        elif due.act == "refuse":
            at("create")
            kernel = device.create(operator)
            at("close")
            close(kernel)
        else:
            at("dispatch")
            by_turns(self._kernels[due.kernel])

    def _learn(self, forget: bool, kinds: list[Any], forms: list[Any]) -> None:
        """Keep the kinds and forms that the suite speaks of by their numbers from now on."""
        if forget:
            self._kinds, self._forms = [], []
        self._kinds += [
            (name, read_attributes(DataReader({"attributes": written}, "operator"))) for name, written in kinds
        ]
        for size, written in forms:
            tensors = {
                name: TensorDesc(DataType[item], sizes, strides, total)
                for name, item, sizes, strides, total, _ in written
            }
            self._forms.append((size, tensors, {name: Region(*region) for name, *_, region in written if region}))


def _in_fives(numbers: list[int]) -> Iterator[tuple[int, int, int, int, int]]:
    return zip(*(numbers[place::5] for place in range(5)), strict=True)
