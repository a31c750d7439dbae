"""Whole lives of kernels, many in one message: each is made, dispatched once on its part of one memory, and closed.

What is done with kernels that live longer comes step by step, in the same messages.

The worker counts in the shared memory which step of which life it begins, so that a loss of the process is blamed on
its step, and the limit on the time holds for each step. Where the system can forbid access, a life sees its own part
of the memory alone: a write elsewhere ends the process with a signal, as it does where a life has its own memory.

A backend that takes batches is given the steps of a message with one call, each dispatch on a copy of its part. A loss
is then blamed on none of them, and each is judged alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.contract import ContractError, error_kind
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.description_data import DataReader, read_attributes, write_attributes
from dmlcts.suites.isolation.backend_batch import BackendBatch, Due
from dmlcts.suites.isolation.framing import MOST_BYTES
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.memory import Window, WorkerMemory
from dmlcts.suites.isolation.streams import Hosting

Bytes = NDArray[np.uint8]

STEPS = ("create", "dispatch", "close")
_MOST_LIVES = 1024  # of one message
_MOST_SENT = 48 << 10  # bytes of one message, which a pipe holds: a worker that reads no more must not stop the suite
_MOST_KNOWN = 4096  # forms that a worker keeps
_NUMBER = 11  # bytes that a number takes in a message, at most for tensors of such sizes
_STATES = 64  # where in the steps' memory the state of each life stands, behind the count
_IN_BATCH = 8  # where it says whether the backend has many steps at once
_MOST_IN_BATCH = 64  # dispatches, for which the limit on the time of one call has to do
_SECONDS_A_MEBIBYTE = 0.05
_SECONDS_A_LOOK = 0.002  # at the memory that the process holds: who takes gigabytes takes longer than that
_CAME_BACK, _RAISED = 1, 2
_ACTS = ("life", "create", "dispatch", "dispatch unseen", "close", "end")
_ENDING = ("device_lost", "lost", "unavailable", "grown")  # kinds of errors after which nothing more is tried


class Life(NamedTuple):
    """One life of a kernel, or one step of a longer one.

    Attributes:
        operator: what is made.
        form: equal for lives whose tensors are equal but for their types, and whose regions and sizes are equal.
        regions: the regions by tensor name, in bytes of its part of the memory; none for a kernel that is made and
            closed without a dispatch.
        start: where its part begins, at a page boundary.
        size: bytes of its part.
        act: "life", or what is done: "create"; "dispatch" on what its part holds, in a memory that all such dispatches
            use by turns, and put back what that left; "dispatch unseen", which puts nothing back; "close"; "end", which
            closes what is open. Behind a step that raised nothing is done up to the next "end".
        kernel: the number of the kernel that a step is about.
    """

    operator: OperatorDesc
    form: Hashable
    regions: Mapping[str, Region]
    start: int
    size: int
    act: str = "life"
    kernel: int = 0


class Unanswered(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """A life ended with an error that went with the process."""


class _Known:
    """What one worker process was sent: kinds of operators and forms, by their numbers."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, tuple[int, int]] = {}
        self._types: dict[Hashable, int] = {}
        self._forms: dict[tuple[Hashable, int], int] = {}

    def fields(self, lives: Sequence[Life]) -> tuple[dict[str, Any], int]:
        """The fields of a message on the first lives, and on how many: as many as it holds."""
        forget = len(self._forms) + len(self._kinds) > _MOST_KNOWN
        if forget:
            self._kinds, self._types, self._forms = {}, {}, {}
        kinds: list[Any] = []
        forms: list[Any] = []
        flat: list[int] = []
        sent = 0
        for number, life in enumerate(lives[:_MOST_LIVES]):
            if sent > _MOST_SENT:
                return {"forget": forget, "kinds": kinds, "forms": forms, "lives": flat}, number
            operator = life.operator
            kind = self._kinds.get(operator.kind)
            if kind is None:
                written = [operator.name, write_attributes(operator)]
                types = self._types.setdefault(operator.kind[1], len(self._types))
                kind = self._kinds[operator.kind] = (len(self._kinds), types)
                kinds.append(written)
                sent += 2 * len(str(written))
            form = self._forms.get((life.form, kind[1]))
            if form is None:
                form = self._forms[life.form, kind[1]] = len(self._forms)
                tensors: list[list[Any]] = [
                    [
                        name,
                        tensor.data_type.name,
                        tensor.sizes,
                        tensor.strides,
                        tensor.total_size_in_bytes,
                        [life.regions[name].offset, life.regions[name].size] if life.regions else None,
                    ]
                    for name, tensor in operator.tensors.items()
                ]
                forms.append([life.size, tensors])
                sent += sum(len(name) + _NUMBER * (2 * len(sizes) + 6) for name, _, sizes, *_ in tensors)
            flat += (_ACTS.index(life.act), life.kernel, kind[0], form, life.start)
            sent += 5 * _NUMBER
        return {"forget": forget, "kinds": kinds, "forms": forms, "lives": flat}, min(len(lives), _MOST_LIVES)


class LivesHost(Hosting, Protocol):
    """What keeps the worker process, and raises what it reports of many lives."""

    timeout: float

    def reported(self, error: Mapping[str, Any]) -> None:
        """Raise what the worker reports."""

    def garbled(self, text: str) -> WorkerLost:
        """The loss of a process that answers what nobody asked."""


class NumberedDevice(Protocol):
    """A device of the running process."""

    @property
    def host(self) -> LivesHost:
        """What keeps the process."""

    def number(self) -> int:
        """The device's number there; it is opened where it is not yet."""


class Lives:
    """The suite's side, of one device."""

    def __init__(self, device: NumberedDevice) -> None:
        self._device = device
        self._known = _Known()
        self._generation = 0
        self._steps: Bytes | None = None

    def run(self, memory: Bytes | None, lives: Sequence[Life], work: int = 0) -> list[BaseException | None]:
        """Ask for the lives in their order, until one is the last that the process, or a message, can take.

        Args:
            memory: one that the device allocated, whole; ``None`` where nothing is dispatched.
            lives: on parts of it that share no page.
            work: where the part begins that steps use by turns.

        Returns:
            For the first lives, at least one, in what they ended: ``None`` where the dispatch came back and the
            kernel was closed. :class:`WorkerLost` and what says that the device is gone come last.

        Raises:
            BackendUnavailable: the device cannot be opened.
        """
        host = self._device.host
        device = self._device.number()
        if self._generation != host.generation:
            self._known, self._generation = _Known(), host.generation
        fields, count = self._known.fields(lives)
        if self._steps is None:
            self._steps = host.memory.take(_STATES + _MOST_LIVES)
        steps = host.memory.lease_of(self._steps)
        lease = steps if memory is None else host.memory.lease_of(memory)
        assert lease is not None and steps is not None  # noqa: PT018, S101  # the memories are the device's own
        self._steps[:] = 0
        counted = self._steps[:8].view(np.uint64)
        most = len(STEPS) * count
        largest = max(life.size for life in lives[:count])
        drop, host.memory.dropped = host.memory.dropped, []
        try:
            answer = host.call(
                "lives",
                host.timeout + math.ceil(largest / (1 << 20)) * _SECONDS_A_MEBIBYTE,
                lambda: min(int(counted[0]), most),
                device=device,
                drop=drop,
                memory=[] if memory is None else [lease.segment.token, lease.segment.pages],
                steps=[steps.segment.token, steps.segment.pages, self._steps.size],
                work=work,
                **fields,
            )
            return self._ended(answer, count)
        except WorkerLost as lost:
            if self._steps[_IN_BATCH]:
                return [*[Unanswered()] * (count - 1), _unplaced(lost)]
            return self._until(lost, min(max(int(counted[0]) - 1, 0) // len(STEPS), count - 1))
        except (KeyboardInterrupt, BackendUnavailable):
            raise
        except Exception as error:  # it may not know what it was sent, so it is left behind
            return self._until(host.garbled(f"a message was not understood: {error}"), 0)

    def _until(self, lost: WorkerLost, number: int) -> list[BaseException | None]:
        """What the lives ended in, of which one lost the process."""
        assert self._steps is not None  # noqa: S101  # it has been used
        states = self._steps[_STATES : _STATES + number].tolist()
        return [*(None if state == _CAME_BACK else Unanswered() for state in states), lost]

    def _ended(self, answer: dict[str, Any], count: int) -> list[BaseException | None]:
        """What the worker says that the lives ended in."""
        host = self._device.host
        done, errors, lost = answer.get("done"), answer.get("errors"), answer.get("lost")
        if isinstance(lost, dict):
            return [*[Unanswered()] * (count - 1), _unplaced(raised(host.reported, lost))]
        if not isinstance(done, int) or not 0 < done <= count or not isinstance(errors, list):
            raise host.garbled("the end of other lives than those that were asked for")
        base_exceptions: list[BaseException | None] = [None] * done
        for entry in errors:
            match entry:
                case [int() as number, dict() as reported] if 0 <= number < done:
                    base_exceptions[number] = raised(host.reported, reported)
                case _:
                    raise host.garbled("the end of other lives than those that were asked for")
        return base_exceptions


def _unplaced(error: BaseException | None) -> BaseException | None:
    """An error by which the device was lost in a batch: any of the steps may be to blame."""
    if error is not None:
        error.placed = False  # type: ignore[attr-defined]
    return error


def was_placed(error: BaseException | None) -> bool:
    """Whether the life that ended in an error is to blame for it; not where a loss was seen late, or in a batch."""
    return bool(getattr(error, "placed", True))


def raised(function: Callable[..., object], *arguments: Any) -> Exception | None:
    """What a function raises."""
    try:
        function(*arguments)
    except Exception as error:  # the caller looks at it
        return error
    return None


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
        self._batching = True

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
        counted = counts[:8].view(np.uint64)
        errors: list[list[Any]] = []
        message, number, last = 0, -1, len(lives) // 5 - 1
        looked = time.perf_counter()
        dues = [
            Due(_ACTS[act], kernel, self._kinds[kind], self._forms[form], start)
            for act, kernel, kind, form, start in _in_fives(lives)
        ]
        known: list[dict[str, Any] | None] = []  # what those from one on ended in, of a batch
        begin = end = 0
        try:
            for number, due in enumerate(dues):
                if batching and self._batching and window is not None and number >= end:
                    begin, end = number, max(number + 1, self._whole(dues, number))
                    counted[0] = len(STEPS) * begin + 1
                    known, lost = self._batched(device, dues[begin:end], window, counts)
                    if lost is not None:
                        return {"done": len(dues), "errors": [], "lost": lost}
                place = number - begin
                error = known[place] if place < len(known) else self._lived(device, due, window, work, counted, number)
                now = time.perf_counter()
                if now - looked > _SECONDS_A_LOOK or number == last or error:
                    looked, grown = now, self._grown()
                    if grown:
                        error = {"kind": "grown", "text": grown, "said": grown}
                counts[_STATES + number] = _RAISED if error else _CAME_BACK
                if error:
                    errors.append([number, error])
                    message += sum(12 * len(str(text)) for text in error.values())  # as JSON, at most
                    if error["kind"] in _ENDING or message > MOST_BYTES // 2:
                        break
        finally:
            if window is not None:
                window.close()
        return {"done": number + 1, "errors": errors}

    def _whole(self, dues: Sequence[Due], first: int) -> int:
        """How far the lives and whole programs of a batch reach that begin with one; no further where one is open."""
        end, dispatches = first, 0
        if self._kernels or self._stopped:
            return first
        for number in range(first, len(dues)):
            act = dues[number].act
            dispatches += act not in ("create", "close", "end")
            if dispatches > _MOST_IN_BATCH and end > first:
                break
            if act in ("life", "end"):
                end = number + 1
        return end

    def _batched(
        self, device: Any, dues: Sequence[Due], window: Window, counts: Bytes
    ) -> tuple[list[dict[str, Any] | None], dict[str, Any] | None]:
        """What each of some lives and steps ended in, all done with one call, and how the device was lost by it.

        Where the call fails as a whole, none are given: each is done by itself.
        """
        if len(dues) < 2:
            return [], None
        batch = BackendBatch(dues, window)
        counts[_IN_BATCH] = 1
        try:
            with np.errstate(all="ignore"):
                outcomes = list(device.batch(batch.steps))
        except BaseException as error:  # as in _lived
            described = self._described(error)
            return [], described if described["kind"] in ("device_lost", "lost") else None
        finally:
            counts[_IN_BATCH] = 0
        grown = self._grown()
        if grown:
            return [], {"kind": "grown", "text": grown, "said": grown}
        if len(outcomes) != len(batch.steps) or not all(isinstance(each, Exception | None) for each in outcomes):
            self._batching = False  # the others are done alone
            cause = f"batch gave {len(outcomes)} outcomes for {len(batch.steps)} steps"
            broken = ContractError(f"the device's {cause}", "let it give an exception, or None, for each step")
            return [self._described(broken) | {"step": "dispatch"}], None
        return batch.ended(outcomes, self._described), None

    def _lived(
        self, device: Any, due: Due, window: Window | None, work: int, counted: NDArray[np.uint64], number: int
    ) -> dict[str, Any] | None:
        size, tensors, regions = due.form
        operator = OperatorDesc(due.kind[0], tensors, due.kind[1])
        step = STEPS[0]

        def at(what: str) -> None:
            nonlocal step
            counted[0] = len(STEPS) * number + 1 + STEPS.index(what)
            step = what

        def dispatch(kernel: Any, start: int = due.start) -> None:
            if window is not None:
                with np.errstate(all="ignore"):
                    kernel.dispatch(window.part(start, size), dict(regions))

        def by_turns(kernel: Any) -> None:
            assert window is not None  # noqa: S101  # the suite sends a memory with every dispatch
            part = window.part(due.start, size).copy()
            window.shut()
            window.part(work, size)[:] = part
            dispatch(kernel, work)
            if due.act == "dispatch":
                part[:] = window.part(work, size)
                window.shut()
                window.part(due.start, size)[:] = part

        try:
            if due.act == "life":
                whole_life(device, operator, at, dispatch)
            else:
                self._stepped(device, due, operator, at, by_turns)
        except BaseException as error:  # the implementation's exceptions are findings, not the worker's
            self._stopped = due.act not in ("life", "end")
            return self._described(error) | {"step": step}
        finally:
            if window is not None:
                window.shut()
        return None

    def _stepped(
        self, device: Any, due: Due, operator: OperatorDesc, at: Callable[[str], None], by_turns: Callable[[Any], None]
    ) -> None:
        """One step of a kernel that lives on."""
        if due.act == "end":
            self._stopped = False
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
