"""A worker pool of processes on this machine, each with a device of its own.

By default the implementation stands in a further process beside each of them, and
:mod:`dmlcts.suites.sweeping.blocks.sweep_judge` handles what it does to itself. A worker that dies or hangs all the
same in the middle of a block, as it may where one process was asked for, is replaced, and the block is given to another
one; where it takes down a second worker, that is what the implementation does with it.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.interpreter import spawn_context
from dmlcts.backends.processors import usable_processors
from dmlcts.reports.documents.records import FailureRecord
from dmlcts.specs import DmlctsError
from dmlcts.suites.isolation.custody import held
from dmlcts.suites.sweeping.blocks.streaming import MOST_THREADS
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.totals import Totals, lost
from dmlcts.suites.sweeping.worker_pools.workers import PREPARED, Description, Job, Orders, Worker, together

_ATTEMPTS = 2
_OPENING_SECONDS = 600.0  # what opening devices again, after they were lost, may take of a block's time
_MOST_BY_DEFAULT = 4  # some 250 MB each with the implementation's process: together about 1 GiB


class WorkerFailed(DmlctsError):  # noqa: N818  # it says what happened
    """A worker process could not do what it was asked, for a reason that is not the implementation's."""


def _serve(pipe: Connection, orders: Orders) -> None:
    """What a worker process runs: one answer to each request, until it is asked to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that conducts
    worker: Worker | None = None
    while (request := _asked(pipe)) is not None:
        verb, arguments = request
        try:
            worker = worker or Worker(orders)
            pipe.send(("done", getattr(worker, verb)(*arguments)))
        except Exception as error:  # whatever it is, the conductor must hear of it
            kind = "unavailable" if type(error).__name__ == "BackendUnavailable" else "failed"
            text = str(error) if isinstance(error, DmlctsError) else f"{type(error).__name__}: {error}"
            pipe.send((kind, text))
    if worker is not None:
        worker.close()


def _asked(pipe: Connection) -> Any:
    """The next request; ``None``, which ends the worker, also where the conductor is gone."""
    try:
        return pipe.recv()
    except (EOFError, ConnectionError):
        return None


@dataclass
class _Seat:
    """A worker process, what it is doing, and what it has been given to do next."""

    process: Any
    pipe: Connection
    jobs: deque[tuple[Target, list[Block]]] = field(default_factory=deque)
    since: float = 0.0


def _answer(answer: tuple[str, Any]) -> Any:
    match answer:
        case ("done", result):
            return result
        case ("unavailable", text):
            raise BackendUnavailable(text)
    raise WorkerFailed(f"a worker failed: {answer[1]}")


class Processes:
    """A worker pool of processes.

    Args:
        orders: what every worker must know.
        size: how many; 0 for one a core, up to four, where the device says that this helps, else one.
    """

    def __init__(self, orders: Orders, size: int = 0) -> None:
        if size > 1 and not orders.threads:
            orders = replace(orders, threads=max(1, min(MOST_THREADS, usable_processors() // size)))
        self._orders = orders
        # a process of the implementation's own is ended by its worker, which tries the block's tensor once more
        self._timeout = orders.timeout if orders.isolation == "none" else 2 * orders.timeout + _OPENING_SECONDS
        self._context = spawn_context()
        self._seats: list[_Seat] = []
        self._custody = contextlib.ExitStack()
        self._custody.enter_context(held())
        try:
            self._seats += [self._hired() for _ in range(size or 1)]  # all open their devices before any judges
            self._description: Description = self._ask_all("describe")[0]
        except BaseException:
            self.close()
            raise
        if not size:
            size = min(usable_processors(), _MOST_BY_DEFAULT) if self._description.independent else 1
        self.size = size

    def _hired(self) -> _Seat:
        mine, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._orders), daemon=True)
        process.start()
        theirs.close()
        return _Seat(process, mine)

    def _ask_all(self, verb: str, *arguments: Any) -> list[Any]:
        for seat in self._seats:
            seat.pipe.send((verb, arguments))
        return [self._heard(seat, verb) for seat in self._seats]

    def _ask(self, seat: _Seat, verb: str, *arguments: Any) -> Any:
        seat.pipe.send((verb, arguments))
        return self._heard(seat, verb)

    @staticmethod
    def _heard(seat: _Seat, verb: str) -> Any:
        try:
            return _answer(seat.pipe.recv())
        except (EOFError, ConnectionError):
            raise WorkerFailed(
                f"the worker process died ({_exit(seat)}) before it could {verb}; run the backend by itself to see why"
            ) from None

    def describe(self) -> Description:
        """What the first worker says of its device."""
        return self._description

    def prepare(self, targets: Sequence[Target]) -> None:
        """Let every worker make ready what the first targets need."""
        self._ask_all("prepare", tuple(targets[:PREPARED]))

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        """Judge all blocks, each as it is finished."""
        while len(self._seats) < self.size:
            self._seats.append(self._hired())
        queue = together(jobs, self._description.at_once)
        again: list[tuple[Target, list[Block]]] = []
        attempts: dict[Block, int] = {}
        ahead = 2 if self._description.at_once > 1 else 1  # so that a device with streams need not wait for the next
        while True:
            for seat in self._seats:
                self._given(seat, again, queue, ahead)
            busy = [seat for seat in self._seats if seat.jobs]
            if not busy:
                return
            ready = set(wait([seat.pipe for seat in busy], timeout=1.0))
            for index, seat in enumerate(self._seats):
                if not seat.jobs:
                    continue
                target, blocks = seat.jobs[0]
                late = seat.pipe not in ready and time.monotonic() - seat.since > self._timeout * len(blocks)
                if seat.pipe not in ready and not late:
                    continue
                try:
                    if late:
                        raise EOFError
                    answer = _answer(seat.pipe.recv())
                except (EOFError, ConnectionError):
                    loss = ("timeout", f"no answer in {self._timeout:g} s") if late else ("crash", _exit(seat))
                    self._dismissed(seat)
                    self._seats[index] = self._hired()
                    again += [*seat.jobs][1:]
                    for block in blocks:
                        attempts[block] = attempts.get(block, 0) + 1
                        if attempts[block] < _ATTEMPTS:
                            again.append((target, [block]))  # alone: the one that failed is then reported by itself
                        else:
                            yield block, lost(block.count, target.elements_in(block), block.start, *loss)
                else:
                    seat.jobs.popleft()
                    seat.since = time.monotonic()
                    self._given(seat, again, queue, ahead)  # before anything is written down: it need not wait for that
                    yield from zip(blocks, answer, strict=True)

    @staticmethod
    def _given(
        seat: _Seat, again: list[tuple[Target, list[Block]]], queue: Iterator[tuple[Target, list[Block]]], ahead: int
    ) -> None:
        """Give a worker as much to do as it may have before it."""
        while len(seat.jobs) < ahead and (job := again.pop() if again else next(queue, None)) is not None:
            if not seat.jobs:
                seat.since = time.monotonic()
            seat.jobs.append(job)
            seat.pipe.send(("judge_several", job))

    def explain(self, target: Target, totals: Totals) -> list[FailureRecord]:
        """The failures of a target, found by a worker that is idle."""
        free = next((seat for seat in self._seats if not seat.jobs and seat.process.is_alive()), None)
        if free is None:
            free = self._hired()
            self._seats.append(free)
        failures: list[FailureRecord] = self._ask(free, "explain", target, totals)
        return failures

    def close(self) -> None:
        """Let idle workers close their devices, end the others and what is left of implementations; once is enough."""
        for seat in self._seats:
            if not seat.jobs and seat.process.is_alive():
                seat.pipe.send(None)
        for seat in self._seats:
            if not seat.jobs:
                seat.process.join(5)
            self._dismissed(seat)
        self._seats.clear()
        self._custody.close()

    @staticmethod
    def _dismissed(seat: _Seat) -> None:
        if seat.process.is_alive():
            seat.process.terminate()
            seat.process.join(2)
            if seat.process.is_alive():
                seat.process.kill()
                seat.process.join()
        seat.pipe.close()


def _exit(seat: _Seat) -> str:
    """How the process ended, in words."""
    seat.process.join(5)
    code = seat.process.exitcode
    if code is not None and code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"
