"""Blocks judged in a stream where the backend has them, and the ordinary way wherever that leaves a doubt.

A stream only ever shows that blocks are right. What looks wrong there is dispatched again the ordinary way, with
uploaded inputs, and what that finds is reported. Where it finds nothing, the prepared inputs are checked: a fill
that lies is the backend's fault and no operator's, and ends the streaming; else the wrong outputs came once, and count.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dmlcts.specs import OperatorDesc
from dmlcts.specs.oracle.blocks import BlockJudge
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.streams import StreamEnded
from dmlcts.suites.console.printing import complain
from dmlcts.suites.sweeping.blocks.target_streams import Batch, TargetStream
from dmlcts.suites.sweeping.blocks.targets import Block, Target, described
from dmlcts.suites.sweeping.blocks.totals import Totals

TENSOR_ELEMENTS = 1 << 23
MOST_THREADS = 8
AT_ONCE = 16
"""Blocks of a batch: so many are judged before the inputs are read back, and before any of them is reported."""
_LEAST_ELEMENTS = 1 << 26
_MOST_ENDINGS = 3
_LOOKED_INTO = 16  # the preparation of one batch in so many is looked into


@dataclass(frozen=True)
class Ways:
    """What streaming needs from its sweep judge.

    Attributes:
        ordinary: judges a block with uploaded inputs.
        judges: makes a judge of a description's outputs.
        forget: drops kernels of a device that was lost.
    """

    ordinary: Callable[[Target, Block], Totals]
    judges: Callable[[OperatorDesc, Target], BlockJudge]
    forget: Callable[[], None]


class Streaming:
    """Judges batches of blocks.

    Args:
        bench: the device.
        ways: what the sweep judge does besides.
        slots: tensors on their way at once, those being judged among them; 0 for what suits the threads.
        threads: threads that judge.
        tensor_elements: elements of a tensor; 0 for the usual.
        least: targets of fewer elements are not worth a stream; 0 for the usual.
        report: called with a sentence on what is odd about the backend's streams.
    """

    def __init__(
        self,
        bench: Bench,
        ways: Ways,
        *,
        slots: int = 0,
        threads: int = 1,
        tensor_elements: int = 0,
        least: int = 0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._bench = bench
        self._ways = ways
        self._slots = slots or 2 + max(1, threads // 2)
        self._threads = threads
        self._tensor_elements = tensor_elements or TENSOR_ELEMENTS
        self._least = least or _LEAST_ELEMENTS
        self._report = report or (lambda text: complain(f"dmlcts: {text}"))
        self._endings = 0
        self._pool: ThreadPoolExecutor | None = None
        self._target_stream: TargetStream | None = None
        self._refused: set[str] = set()
        self._ended: tuple[str, StreamEnded] | None = None
        self.seconds: dict[str, float] = {}

    def prepare(self, target: Target) -> None:
        """Open the stream of a target, unless there is one; the target's first block hears of what goes wrong."""
        if self._target_stream is None and self._ended is None:
            try:
                self._opened(target, [next(target.blocks(0))])
            except StreamEnded as ended:
                self._ended = target.key, ended

    def judge(self, target: Target, blocks: Sequence[Block]) -> list[Totals]:
        """The totals of each block."""
        try:
            if self._ended is not None and self._ended[0] == target.key:
                (_, ended), self._ended = self._ended, None
                self._drop()  # another target's: this one's had not begun
                raise ended
            pipeline = self._opened(target, blocks)
            if pipeline is None:
                return self._ordinarily(target, blocks)
            if self._is_looked_into(target, blocks[0]):
                lie = pipeline.prepared_amiss(pipeline.parts(blocks)[:1])
                if lie:
                    self._ground(lie)
                    return self._ordinarily(target, blocks)
            batch = pipeline.judge(blocks)
        except StreamEnded as ended:
            return self._after(ended, target, blocks)
        if not batch.amiss and not any(batch.doubtful):
            return batch.totals
        return self._decided(target, blocks, batch)

    def close(self) -> None:
        """Close the stream, and let the threads go."""
        self._drop()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    # Streams come and go ---------------------------------------------------------------------------------

    def _opened(self, target: Target, blocks: Sequence[Block]) -> TargetStream | None:
        """The stream of the target; ``None`` where there is none, or none is worth it."""
        size = min(self._tensor_elements, *(block.count for block in blocks))
        fits = not any(block.count % size for block in blocks) and size * target.data_type.itemsize % 16 == 0
        if target.kind != "patterns" or target.inputs or not fits or target.key in self._refused:
            return None
        offered = bool(self._bench.info.details.get("streams")) and self._endings < _MOST_ENDINGS
        if target.elements < self._least or not offered:
            return None
        pipeline = self._target_stream
        if pipeline is not None and (pipeline.target != target or pipeline.size != size):
            self._drop()
            pipeline = None
        if pipeline is None:
            pipeline = self._target_stream = self._made(target, size)
            if pipeline.stream is None:
                self._refused.add(target.key)
                self._drop()
                return None
        pipeline.reached = 0
        return pipeline

    def _made(self, target: Target, size: int) -> TargetStream:
        operator = described(self._bench.tables, target, self._bench.level, size)
        self._pool = self._pool or ThreadPoolExecutor(self._threads)
        return TargetStream(
            self._bench,
            target,
            operator,
            lambda: self._ways.judges(operator, target),
            slots=self._slots,
            pool=self._pool,
            threads=self._threads,
        )

    def _drop(self) -> None:
        pipeline, self._target_stream = self._target_stream, None
        if pipeline is not None:
            if pipeline.stream is not None:
                for name, spent in pipeline.stream.seconds.items():
                    self.seconds[name] = self.seconds.get(name, 0.0) + spent
            with contextlib.suppress(StreamEnded):
                pipeline.close()

    def _ground(self, why: str) -> None:
        """No more streams on this device."""
        self._drop()
        self._endings = _MOST_ENDINGS
        self._report(
            f"the backend's stream does not prepare what was requested: {why}; inputs are uploaded from here on"
        )

    # What is decided the ordinary way ----------------------------------------------------------------------

    def _ordinarily(self, target: Target, blocks: Sequence[Block]) -> list[Totals]:
        return [self._ways.ordinary(target, block) for block in blocks]

    def _is_looked_into(self, target: Target, block: Block) -> bool:
        """Whether what is prepared for this block is read back before anything runs on it: the first, and some."""
        drawn = zlib.crc32(f"{target.key} {target.seed} {block.start}".encode())
        return block.start == 0 or drawn % _LOOKED_INTO == 0

    def _after(self, ended: StreamEnded, target: Target, blocks: Sequence[Block]) -> list[Totals]:
        """The totals of a batch whose stream ended early."""
        reached = self._target_stream.reached if self._target_stream is not None else 0
        self._drop()
        self._ways.forget()
        self._endings += 1
        totals = self._ordinarily(target, blocks)
        reached_totals, mishap = totals[reached], ended.mishap
        if mishap.outcome == "device_lost" and reached_totals.clean:
            reached_totals.stopped += 1
            reached_totals.failing = 1
            reached_totals.note(blocks[reached].start, blocks[reached].count, mishap.outcome, mishap.text)
        elif not ended.lost:
            self._report(f"a stream of the backend ended early: {mishap.text}; its blocks' inputs were uploaded")
        return totals

    def _decided(self, target: Target, blocks: Sequence[Block], batch: Batch) -> list[Totals]:
        """The totals of a batch in which something looked wrong."""
        block_totals: list[Totals] = []
        for block, totals, doubtful in zip(blocks, batch.totals, batch.doubtful, strict=True):
            block_totals.append(self._ways.ordinary(target, block) if doubtful or batch.amiss else totals)
        numbers = [
            number
            for number, (totals, now) in enumerate(zip(batch.totals, block_totals, strict=True))
            if now.clean and not totals.clean
        ]
        if not numbers and not (batch.amiss and all(totals.clean for totals in block_totals)):
            self._drop()  # what the device's memory holds by now is not what the next batch should begin with
            return block_totals
        try:
            self._drop()
            pipeline = self._opened(target, blocks)
            lie = "" if pipeline is None else pipeline.prepared_amiss(pipeline.parts(blocks))
        except StreamEnded as ended:
            lie = ended.mishap.text
        if lie:
            self._ground(lie)
            return block_totals
        for number in numbers:
            block_totals[number] = batch.totals[number]
        if not numbers:
            last = block_totals[-1]
            last.altered += 1
            last.failing = 1
            last.note(blocks[-1].start, blocks[-1].count, "fail", f"after dispatches in a stream {batch.amiss}")
        self._drop()
        return block_totals
