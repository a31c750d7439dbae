"""Whole lives of kernels, many in one message: each is made, dispatched once on its part of one memory, and closed.

What is done with kernels that live longer comes step by step, in the same messages. Here is the suite's side; the
worker's is in :mod:`.worker_lives`.

The worker counts in the shared memory which step of which life it begins, so that a loss of the process is blamed on
its step, and the limit on the time holds for each step. Where the system can forbid access, a life sees its own part
of the memory alone: a write elsewhere ends the process with a signal, as it does where a life has its own memory.

A backend that takes batches is given the steps of a message with one call, each dispatch on a copy of its part. A loss
is then blamed on none of them, and each is judged alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import BackendUnavailable
from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.description_data import write_attributes
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.remote_errors import RemoteError
from dmlcts.suites.isolation.streams import Hosting

Bytes = NDArray[np.uint8]

STEPS = ("create", "dispatch", "close")
_MOST_LIVES = 1024  # of one message
_MOST_SENT = 48 << 10  # bytes of one message, which a pipe holds: a worker that reads no more must not stop the suite
_MOST_KNOWN = 4096  # forms that a worker keeps
_NUMBER = 11  # bytes that a number takes in a message, at most for tensors of such sizes
STATES = 64  # where in the steps' memory the state of each life stands, behind the count
IN_BATCH = 8  # where it says whether the backend has many steps at once
_SECONDS_A_MEBIBYTE = 0.05
CAME_BACK, RAISED = 1, 2
ACTS = ("life", "create", "dispatch", "dispatch unseen", "close", "end", "refuse")


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
            use by turns, and put back what that left; "dispatch unseen", which puts nothing back; "close"; "refuse",
            which makes and closes a kernel that has to be refused; "end", which closes what is open. Behind a step that
            raised, and one that refused nothing, nothing is done up to the next "end".
        kernel: the number of the kernel that a step is about.
    """

    operator: OperatorDesc
    form: Hashable
    regions: Mapping[str, Region]
    start: int
    size: int
    act: str = "life"
    kernel: int = 0

    @classmethod
    def made(cls, operator: OperatorDesc, act: str = "life", kernel: int = 0) -> Life:
        """One that makes a kernel and dispatches nothing."""
        return cls(operator, tuple(operator.tensors.items()), {}, 0, 0, act, kernel)


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
            flat += (ACTS.index(life.act), life.kernel, kind[0], form, life.start)
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
            self._steps = host.memory.take(STATES + _MOST_LIVES)
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
            if self._steps[IN_BATCH]:
                return _lost_in_batch(lost, count)
            return self._until(lost, min(max(int(counted[0]) - 1, 0) // len(STEPS), count - 1))
        except (KeyboardInterrupt, BackendUnavailable):
            raise
        except Exception as error:  # it may not know what it was sent, so it is left behind
            return self._until(host.garbled(f"a message was not understood: {error}"), 0)

    def _until(self, lost: WorkerLost, number: int) -> list[BaseException | None]:
        """What the lives ended in, of which one lost the process."""
        assert self._steps is not None  # noqa: S101  # it has been used
        states = self._steps[STATES : STATES + number].tolist()
        return [*(None if state == CAME_BACK else Unanswered() for state in states), lost]

    def _ended(self, answer: dict[str, Any], count: int) -> list[BaseException | None]:
        """What the worker says that the lives ended in."""
        host = self._device.host
        done, errors, lost = answer.get("done"), answer.get("errors"), answer.get("lost")
        if isinstance(lost, dict):
            return _lost_in_batch(raised(host.reported, lost), count)
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


def _lost_in_batch(error: Exception | None, count: int) -> list[BaseException | None]:
    """What some lives ended in of which any may have lost the device, since the backend had them at once."""
    if isinstance(error, WorkerLost | RemoteError):
        error.placed = False
    return [*[Unanswered()] * (count - 1), error]


def was_placed(error: BaseException | None) -> bool:
    """Whether the life that ended in an error is to blame for it; not where a loss was seen late, or in a batch."""
    return not isinstance(error, WorkerLost | RemoteError) or error.placed


def raised(function: Callable[..., object], *arguments: Any) -> Exception | None:
    """What a function raises."""
    try:
        function(*arguments)
    except Exception as error:  # the caller looks at it
        return error
    return None
