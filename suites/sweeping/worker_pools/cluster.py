"""A worker pool on several machines: the workers of a Dask scheduler (extra ``cluster``), each with its own device.

A block is a task. Dask gives the blocks of a worker that is lost to another one; a block that comes back twice
is counted once, since totals are merged by the block's id.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.specs import UsageError
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.totals import Totals, lost
from dmlcts.suites.sweeping.worker_pools.processes import WorkerFailed
from dmlcts.suites.sweeping.worker_pools.schedulers import check_scheduler
from dmlcts.suites.sweeping.worker_pools.workers import Description, Job, Orders, Worker

_AHEAD = 3
_CONNECT_SECONDS = 5


def _at_work(orders: Orders, verb: str, *arguments: Any) -> Any:
    """What a task runs: the Dask worker opens its device once and keeps it; one task at a time uses it."""
    from distributed import get_worker

    place = vars(get_worker()).setdefault("dmlcts_devices", {})
    worker, lock = place.setdefault(orders, (Worker(orders), threading.Lock()))
    with lock:
        return getattr(worker, verb)(*arguments)


class Cluster:
    """A worker pool of Dask workers.

    Args:
        orders: what every worker must know; the backend must be installed where the workers are. Within twice the
            seconds that a block may take, some block must come back.
        address: the scheduler's, as in ``tcp://192.0.2.1:8786``.

    Raises:
        UsageError: ``distributed`` is not installed, no scheduler answers, something else does, or it has no workers.
    """

    def __init__(self, orders: Orders, address: str) -> None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise UsageError(
                "--scheduler needs Dask's distributed, which is not installed", "pip install 'dmlcts[cluster]'"
            ) from None
        self._orders = orders
        self._timeout = 2 * orders.timeout
        self._sweep = uuid.uuid4().hex[:12]
        check_scheduler(address, _CONNECT_SECONDS)
        try:
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise UsageError(f"no scheduler answers at {address}: {reason}", "start `dask scheduler` there") from None
        self.size = len(self._client.ncores())
        if not self.size:
            self._client.close()
            raise UsageError(f"the scheduler at {address} has no workers", f"start `dask worker {address}`")
        self._description: Description = self._ask("describe")

    def _ask(self, verb: str, *arguments: Any) -> Any:
        future = self._client.submit(_at_work, self._orders, verb, *arguments, pure=False)
        return future.result(timeout=self._timeout)

    def describe(self) -> Description:
        """What one of the workers says of its device."""
        return self._description

    def prepare(self, targets: Sequence[Target]) -> None:
        """Nothing: workers come and go."""

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        """Judge all blocks, each as it is finished, a few for each worker ahead of it.

        Raises:
            WorkerFailed: no worker answered in time.
        """
        waiting = iter(jobs)
        flying: dict[str, tuple[Target, Block, Any]] = {}
        landed: queue.SimpleQueue[str] = queue.SimpleQueue()
        try:
            while True:
                while len(flying) < _AHEAD * max(1, self.size) and (job := next(waiting, None)) is not None:
                    target, block = job
                    name = f"dmlcts-{self._sweep}-{block.id}"
                    future = self._client.submit(_at_work, self._orders, "judge", target, block, key=name, pure=False)
                    flying[name] = target, block, future
                    future.add_done_callback(lambda done: landed.put(done.key))
                if not flying:
                    return
                try:
                    target, block, future = flying.pop(landed.get(timeout=self._timeout))
                except queue.Empty:
                    raise WorkerFailed(
                        f"no block came back in {self._timeout:g} s; see what the workers do, then go on with --resume"
                    ) from None
                yield block, self._landed(target, block, future)
                self.size = len(self._client.ncores()) or self.size
        finally:
            for _, _, future in flying.values():
                future.cancel()

    def _landed(self, target: Target, block: Block, future: Any) -> Totals:
        from distributed import KilledWorker

        try:
            totals: Totals = future.result()
        except KilledWorker as killed:
            message = f"it took down every worker that tried it: {killed}"
            totals = lost(block.count, target.elements_in(block), block.start, "crash", message)
        return totals

    def explain(self, target: Target, totals: Totals) -> list[FailureRecord]:
        """The failures of a target, found by any worker."""
        failures: list[FailureRecord] = self._ask("explain", target, totals)
        return failures

    def close(self) -> None:
        """Leave the scheduler; the workers stay."""
        self._client.close()
