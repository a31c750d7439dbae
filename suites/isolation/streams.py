"""Streams over a worker process: submissions there, what they bring back in memory that both sides see.

In the worker each submission has a thread, which waits for the device and copies what came back into the slot's shared
memory. These begin when the first is asked for: an implementation that is waited for may take no further work. Nothing
of the implementation runs on the suite's side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import ExecutionFailed, NotSupported
from dmlcts.specs import Region
from dmlcts.suites.isolation.memory import Lease, SharedMemory, WorkerMemory

Bytes = NDArray[np.uint8]

_MOST_SLOTS = 64
_MOST_SECONDS = 1e9


class Hosting(Protocol):
    """What keeps the worker process; a call raises what is reported."""

    generation: int
    memory: SharedMemory

    @property
    def numbers(self) -> Iterator[int]:
        """Numbers that nothing has yet."""

    @property
    def alive(self) -> bool:
        """Whether there is a process."""

    def call(
        self, do: str, limit: float | None = None, begun: Callable[[], int] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """The answer."""


class IsolatedStream:
    """A stream of a kernel in the worker process; gone where the process is.

    Args:
        host: keeps the process that the kernel lives in.
        number: the stream's number there.

    Attributes:
        seconds: what the worker's threads spent "waiting" for the device and "copying".
    """

    def __init__(self, host: Hosting, number: int) -> None:
        self._host = host
        self._generation = host.generation
        self._memory = host.memory
        self._number = number
        self._slots: dict[int, Bytes] = {}
        self._closed = False
        self.seconds = {"waiting": 0.0, "copying": 0.0}

    def _call(self, do: str, **fields: Any) -> dict[str, Any]:
        if self._generation != self._host.generation or not self._host.alive:
            raise ExecutionFailed("the stream went with its process")
        return self._host.call(do, None, stream=self._number, **fields)

    def fill(self, first: int) -> None:
        """As :meth:`dmlcts.backends.contract.Stream.fill`."""
        self._call("fill", first=first)

    def submit(self, slot: int, window: Region, *, step: int = 0, poison: int | None = None, run: bool = True) -> None:
        """As :meth:`dmlcts.backends.contract.Stream.submit`."""
        held = self._slots.get(slot)
        if held is None or held.size != window.size:
            self._slots.pop(slot, None)
            held = self._slots[slot] = self._memory.take(window.size)
        self._call(
            "submit",
            slot=slot,
            window=[window.offset, window.size],
            step=step,
            poison=-1 if poison is None else poison,
            run=run,
            drop=self._dropped(),
            **_named(self._lease(slot)),
        )

    def _dropped(self) -> list[int]:
        drop, self._memory.dropped = self._memory.dropped, []
        return drop

    def _lease(self, slot: int) -> Lease:
        lease = self._memory.lease_of(self._slots[slot])
        assert lease is not None  # noqa: S101  # take() gave it
        return lease

    def wait(self, slot: int) -> Bytes:
        """As :meth:`dmlcts.backends.contract.Stream.wait`.

        Raises:
            ExecutionFailed: the implementation wrote beside the memory.
        """
        answer = self._call("collect", slot=slot)
        for name in self.seconds:
            spent = answer.get(name)
            self.seconds[name] += spent if isinstance(spent, float) and 0 <= spent < _MOST_SECONDS else 0.0
        lease = self._lease(slot)
        broken = lease.segment.broken(lease.size)
        if broken:
            raise ExecutionFailed(broken)
        values = self._slots[slot].view()
        values.flags.writeable = False
        return values

    def release(self, slot: int) -> None:
        """As :meth:`dmlcts.backends.contract.Stream.release`; in the worker the slot has been free since."""

    def close(self) -> None:
        """As :meth:`dmlcts.backends.contract.Stream.close`."""
        if not self._closed:
            self._closed = True
            self._slots.clear()
            self._call("end")


def opened(host: Hosting, kernel: int, memory: Bytes, bindings: Mapping[str, Region], slots: int) -> IsolatedStream:
    """Open a stream of a kernel of the running process.

    Args:
        host: keeps the process.
        kernel: the kernel's number there.
        memory: what the device's memory holds at first; one that the process sees as well.
        bindings: the tensors' regions of it.
        slots: how many submissions may be on their way back.

    Raises:
        NotSupported: the backend has no streams, or not of this kernel.
    """
    lease = host.memory.lease_of(memory)
    if lease is None:
        raise NotSupported("a stream begins with a memory that the process sees as well")
    number = next(host.numbers)
    regions = {name: [region.offset, region.size] for name, region in bindings.items()}
    host.call("stream", None, kernel=kernel, stream=number, bindings=regions, slots=slots, **_named(lease))
    return IsolatedStream(host, number)


def _named(lease: Lease) -> dict[str, Any]:
    """A lease as the worker gets it."""
    return {"token": lease.segment.token, "pages": lease.segment.pages, "size": lease.size}


class WorkerStreams:
    """The worker's side of all streams.

    Args:
        memory: what the two processes share.
    """

    def __init__(self, memory: WorkerMemory) -> None:
        self._memory = memory
        self._streams: dict[int, Any] = {}
        self._coming: dict[tuple[int, int], Future[dict[str, Any]]] = {}
        self._pool = ThreadPoolExecutor(_MOST_SLOTS, "slot")
        self._submitting = ThreadPoolExecutor(1, "submitting")  # in the order in which it is asked

    def open(
        self, kernel: Any, stream: int, bindings: dict[str, list[int]], slots: int, token: int, pages: int, size: int
    ) -> dict[str, Any]:
        """Open a stream of a kernel.

        Raises:
            NotSupported: the kernel has no streams.
        """
        maker: Callable[..., Any] | None = getattr(kernel, "stream", None)
        if maker is None:
            raise NotSupported("the backend's kernels have no streams")
        regions = {name: Region(*region) for name, region in bindings.items()}
        self._streams[stream] = maker(self._memory.memory(token, pages, size), regions, slots)
        return {"stream": stream}

    def fill(self, stream: int, first: int) -> dict[str, Any]:
        """Fill the input."""
        self._submitting.submit(self._streams[stream].fill, first).result()
        return {}

    def submit(
        self,
        stream: int,
        slot: int,
        window: list[int],
        step: int,
        poison: int,
        run: bool,
        drop: list[int],
        token: int,
        pages: int,
        size: int,
    ) -> dict[str, Any]:
        """Submit; what comes back is brought into the shared memory as soon as it is there.

        On an H100 a sweep with one process reached 2.6 G/s so, and 2.0 G/s where threads began to wait when the first
        result was asked for; with four processes 4.1 G/s either way.
        """
        self._memory.drop(drop)
        target, source = self._memory.memory(token, pages, size), self._streams[stream]
        region, filled = Region(*window), None if poison < 0 else poison

        def submit() -> None:
            source.submit(slot, region, step=step, poison=filled, run=run)

        submitted = self._submitting.submit(submit)  # it may take as long as what is on the device

        def bring() -> dict[str, Any]:
            submitted.result()
            started = time.perf_counter()
            wait = source.wait(slot)
            waited = time.perf_counter()
            np.copyto(target, wait)
            copied = time.perf_counter()
            source.release(slot)
            return {"waiting": waited - started, "copying": copied - waited}

        self._coming[stream, slot] = self._pool.submit(bring)
        return {}

    def collect(self, stream: int, slot: int) -> dict[str, Any]:
        """Wait until what was submitted there is in the shared memory."""
        return self._coming.pop((stream, slot)).result()

    def end(self, stream: int) -> dict[str, Any]:
        """Close a stream."""
        for key in [key for key in self._coming if key[0] == stream]:
            self._coming.pop(key).exception()
        self._streams.pop(stream).close()
        return {}
