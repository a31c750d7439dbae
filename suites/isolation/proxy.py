"""The backend contract over a worker process: a backend whose devices and kernels live in another process."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import BackendUnavailable, DeviceInfo
from dmlcts.backends.contract import InvalidArgument, NotSupported
from dmlcts.specs import OperatorDesc, Region, UsageError
from dmlcts.specs.description_data import write_operator
from dmlcts.suites.isolation.descriptions import read_info
from dmlcts.suites.isolation.lives import Lives
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.memory import Lease, SharedMemory
from dmlcts.suites.isolation.process import MOST_STEPS, Clock, WorkerProcess
from dmlcts.suites.isolation.remote_errors import RemoteError, RemoteExecutionFailedError, raise_reported
from dmlcts.suites.isolation.streams import IsolatedStream, opened
from dmlcts.suites.options.table import DEFAULT_TIMEOUT

Bytes = NDArray[np.uint8]

_LEAST_OPENING = 120.0
_MOST_OPENINGS = 3
_SECONDS_A_MEBIBYTE = 0.05


class Host:
    """Keeps a worker process running: starts it when it is needed, and again after it was lost.

    Args:
        backend: what ``--backend`` says.
        timeout: seconds that a call may take; calls on large memories get more, in proportion.
        increase_limit: bytes by which the process may grow after its device was opened; ``None`` for the usual.
        clock: gives seconds; never goes back.
        start: makes a worker process.
        memory: what the two processes share; ``None`` for a new one.

    Attributes:
        generation: counts the processes; a device or kernel of an earlier one is gone.
    """

    def __init__(
        self,
        backend: str,
        timeout: float = DEFAULT_TIMEOUT,
        increase_limit: int | None = None,
        clock: Clock = time.monotonic,
        start: Callable[..., WorkerProcess] = WorkerProcess,
        memory: SharedMemory | None = None,
    ) -> None:
        self.backend = backend
        self.timeout = timeout
        self.generation = 0
        self.numbers = itertools.count(1)
        self.memory = memory or SharedMemory()
        self._memory_increase = increase_limit
        self._clock = clock
        self._start = start
        self._process: WorkerProcess | None = None
        self._spare: WorkerProcess | None = None
        self._users = 0

    @property
    def alive(self) -> bool:
        """Whether a worker process is there to be asked."""
        return self._process is not None

    def running(self) -> WorkerProcess:
        """The worker process, started where there is none."""
        if self._process is None:
            self._process = self._spare or self._made()
            self._spare = self._made() if self.generation else None  # who lost one is likely to lose another
            self.generation += 1
        return self._process

    def _made(self) -> WorkerProcess:
        return self._start(self.memory.file, self.memory.name, self._memory_increase, self._clock)

    def call(
        self, do: str, limit: float | None = None, begun: Callable[[], int] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Ask the worker; an error that it reports is raised here. The arguments are those of the process's own call.

        Raises:
            WorkerLost: it crashed, hung, ran out of memory or answered garbage.
        """
        process = self.running()
        try:
            reply = process.call(do, self.timeout if limit is None else limit, begun, **fields)
        except BaseException as error:
            resized = self.memory.mended()  # whatever else was lost: what the suite looks into must be there
            cut = process.broke(resized) if resized and isinstance(error, WorkerLost) else None
            self.abandon()
            if cut is not None:  # its own process looks into that memory as well
                raise cut from error
            raise
        resized = self.memory.mended()
        if resized:
            lost = process.broke(resized)
            self.abandon()
            raise lost
        if "error" in reply:
            self.reported(reply["error"])
        answer: dict[str, Any] = reply["answer"]
        return answer

    def reported(self, error: Mapping[str, Any]) -> None:
        """Raise an error that the worker reported."""
        if not all(isinstance(error.get(key), str) for key in ("kind", "text", "said")):
            raise self.garbled("an error without kind and text")
        if error["kind"] in ("grown", "lost"):
            process = self.running()
            lost = process.resources(error["text"]) if error["kind"] == "grown" else process.left(error)
            self.abandon()
            raise lost
        raise_reported(error)

    def garbled(self, message: str) -> WorkerLost:
        """Stop the worker, whose reply cannot be; gives what to raise."""
        lost = self.running().garbled(message)
        self.abandon()
        return lost

    def abandon(self) -> None:
        """Stop the worker process; the next call starts another."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def join(self) -> None:
        """Count one more device."""
        self._users += 1

    def leave(self) -> None:
        """Count one device less, and stop the worker after the last."""
        self._users -= 1
        if self._users == 0:
            self.abandon()
            if self._spare is not None:
                self._spare.stop()
                self._spare = None
            self.memory.close()


def _dispatch_on(
    host: Host,
    lease: Lease,
    bindings: Mapping[str, Region],
    do: str,
    begun: Callable[[], int] | None = None,
    **fields: Any,
) -> None:
    """Ask for something that dispatches once on a memory, and look at what lies around that afterwards."""
    segment = lease.segment
    drop, host.memory.dropped = host.memory.dropped, []
    limit = host.timeout + math.ceil(lease.size / (1 << 20)) * _SECONDS_A_MEBIBYTE
    fields |= {name: getattr(segment, name) for name in ("token", "pages")}
    fields |= {"bindings": {name: [region.offset, region.size] for name, region in bindings.items()}}
    answer = host.call(do, limit, begun, size=lease.size, drop=drop, **fields)
    if answer != {"size": lease.size}:
        raise host.garbled("another memory than the one that was given")
    broken = segment.broken(lease.size)
    if broken:
        raise RemoteExecutionFailedError(broken, broken, "dispatch")


class IsolatedKernel:
    """A kernel in the worker process; made again where the process was lost in between."""

    def __init__(self, device: IsolatedDevice, operator: OperatorDesc) -> None:
        self._device = device
        self._operator = write_operator(operator)
        self._number = 0
        self._generation = 0
        self._closed = False
        self._create()

    def _create(self) -> None:
        host = self._device.host
        device = self._device.number()
        self._number = next(host.numbers)
        answer = host.call("create", device=device, kernel=self._number, operator=self._operator)
        if answer != {"kernel": self._number}:
            raise host.garbled("another kernel than the one that was asked for")
        self._generation = host.generation

    def dispatch(self, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Run once, as :meth:`dmlcts.backends.contract.Kernel.dispatch`.

        Raises:
            WorkerLost: the process crashed, hung, ran out of memory or answered garbage.
        """
        host = self._device.host
        lease = host.memory.lease_of(memory)
        if lease is not None:
            self._dispatch(lease, bindings)
            return
        shared = host.memory.take(memory.size)
        shared[:] = memory
        lease = host.memory.lease_of(shared)
        assert lease is not None  # noqa: S101  # it has just been taken
        try:
            self._dispatch(lease, bindings)
        finally:
            memory[:] = shared

    def _dispatch(self, lease: Lease, bindings: Mapping[str, Region]) -> None:
        host = self._device.host
        if self._generation != host.generation or not host.alive:
            self._again()
        _dispatch_on(host, lease, bindings, "dispatch", kernel=self._number)

    def stream(self, memory: Bytes, bindings: Mapping[str, Region], slots: int) -> IsolatedStream:
        """As :meth:`dmlcts.backends.contract.StreamingKernel.stream`; ``memory`` is one that ``allocate`` gave.

        Raises:
            WorkerLost: the process crashed, hung, ran out of memory or answered garbage.
        """
        host = self._device.host
        if self._generation != host.generation or not host.alive:
            self._again()
        return opened(host, self._number, memory, bindings, slots)

    def _again(self) -> None:
        """Make the kernel in the process that took the place of a lost one."""
        try:
            self._create()
        except (InvalidArgument, NotSupported) as error:
            message = f"refused when it was made again in a fresh process, where it had been accepted: {error}"
            raise RemoteExecutionFailedError(message, message) from error

    def close(self) -> None:
        """Close the kernel; calling it again does nothing."""
        host = self._device.host
        if not self._closed and self._generation == host.generation and host.alive:
            host.call("release", kernel=self._number)
        self._closed = True


class IsolatedDevice:
    """A device in the worker process.

    Attributes:
        lives: asks for many whole lives of kernels at once.
    """

    def __init__(self, host: Host, options: Mapping[str, Any]) -> None:
        self.host = host
        self.name = host.backend
        self._options = dict(options)
        self._number = 0
        self._generation = 0
        self._closed = False
        self.lives = Lives(self)
        self._steps: Bytes | None = None  # the memory whose first byte counts the steps of a kernel's whole life
        host.join()
        try:
            self.info = self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> DeviceInfo:
        host = self.host
        self._number = next(host.numbers)
        limit = max(_LEAST_OPENING, host.timeout)
        try:
            answer = host.call(
                "open", limit, device=self._number, backend=host.backend, options=self._options, path=sys.path
            )
        except WorkerLost as lost:
            cause = f"the process of {host.backend!r} was lost while it opened the device: {lost}"
            raise BackendUnavailable(cause, "try --isolation none to see more of it") from lost
        except RemoteError as error:
            raise UsageError(f"opening {host.backend!r} failed: {error.message}") from error
        if answer.get("device") != self._number or not isinstance(answer.get("info"), dict):
            raise host.garbled("another device than the one that was asked for")
        self.name = str(answer.get("name") or host.backend)
        self._generation = host.generation
        return read_info(answer["info"])

    def number(self) -> int:
        """The device's number in the running process, opened there where it is not yet."""
        for attempt in range(_MOST_OPENINGS):
            if self._generation == self.host.generation and self.host.alive:
                break
            try:
                self._open()
            except BackendUnavailable:
                if attempt == _MOST_OPENINGS - 1:
                    raise
        return self._number

    def create(self, operator: OperatorDesc) -> IsolatedKernel:
        """Make ``operator`` ready, as :meth:`dmlcts.backends.contract.Device.create`.

        Raises:
            WorkerLost: the process crashed, hung, ran out of memory or answered garbage.
        """
        return IsolatedKernel(self, operator)

    def live(self, operator: OperatorDesc, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Make ``operator`` ready, run it once and close it, in one message instead of three.

        Args:
            operator: what is made.
            memory: one that :meth:`allocate` gave, whole.
            bindings: as :meth:`dmlcts.backends.contract.Kernel.dispatch` takes them.

        Raises:
            WorkerLost: the process crashed, hung, ran out of memory or answered garbage.
            RemoteError: what a step raised, by its ``step``; the further steps were left out, but that a kernel
                whose dispatch failed was closed, unless the device was lost.
        """
        host = self.host
        lease = host.memory.lease_of(memory)
        assert lease is not None  # noqa: S101  # the caller's memory is the device's own
        if self._steps is None:
            self._steps = host.memory.take(1)
        steps, counted = host.memory.lease_of(self._steps), self._steps
        assert steps is not None  # noqa: S101  # as above
        counted[0] = 0
        _dispatch_on(
            host,
            lease,
            bindings,
            "live",
            begun=lambda: min(int(counted[0]), MOST_STEPS),
            device=self.number(),
            operator=write_operator(operator),
            steps=[steps.segment.token, steps.segment.pages],
        )

    def allocate(self, size: int) -> Bytes:
        """A memory that the process sees as well, so that a dispatch on it need not copy."""
        return self.host.memory.take(size)

    def fresh(self) -> IsolatedDevice:
        """Another device of a new backend object in the same process."""
        return IsolatedDevice(self.host, self._options)

    def restart(self) -> None:
        """Leave the process behind: what it holds must not reach the cases that follow."""
        self.host.abandon()

    def close(self) -> None:
        """Close the device; calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._generation and self._generation == self.host.generation and self.host.alive:
                with contextlib.suppress(WorkerLost):  # it is going away anyway
                    self.host.call("close", device=self._number)
        finally:
            self.host.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IsolatedBackend:
    """The backend that ``--backend`` names, in a worker process.

    Args:
        backend: what ``--backend`` says.
        timeout: seconds that a call may take.
        increase_limit: bytes by which the process may grow after its device was opened; ``None`` for the usual.
        clock: gives seconds; never goes back.
    """

    def __init__(
        self,
        backend: str,
        timeout: float = DEFAULT_TIMEOUT,
        increase_limit: int | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.name = backend
        self._timeout = timeout
        self._memory_increase = increase_limit
        self._clock = clock

    def open(self, **options: Any) -> IsolatedDevice:
        """Start the process and open the device there.

        Raises:
            BackendUnavailable: it cannot run here.
            UsageError: no such backend, or an option that it does not take.
            ContractError: it breaks the contract.
        """
        return IsolatedDevice(Host(self.name, self._timeout, self._memory_increase, self._clock), options)
