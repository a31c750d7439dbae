"""The stream of a target: consecutive patterns judged as they come back, several tensors on their way at once.

The inputs are made on the device: the first ones are filled in, and then every element is moved on by what lies
between one tensor and the next. So whatever a dispatch does to an input, or a fill does wrong, stays there until the
suite reads the inputs back, which it does with the last tensor of every batch of blocks. The outputs, and the guards
beside them, come back from every tensor, and threads judge them where they lie.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.specs.oracle.blocks import PIECE, BlockJudge
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.cases.streams import BenchStream
from dmlcts.suites.sweeping.blocks.classes import classes_between
from dmlcts.suites.sweeping.blocks.pieces import judge_pieces
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.tensor_memory import Tensor, TensorMemory, poison_for
from dmlcts.suites.sweeping.blocks.totals import Totals

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

_SHARES = 4
"""Into so many shares a tensor is cut: a thread is at one long enough for Python's part not to count."""


@dataclass
class Batch:
    """What came of some blocks of a target.

    Attributes:
        totals: of each block.
        doubtful: for each block, whether the ordinary way has to decide: something is wrong, or equals the poison.
        amiss: what the inputs or guards hold at the end that they must not, in words; "" for nothing.
    """

    totals: list[Totals]
    doubtful: list[bool]
    amiss: str = ""


@dataclass
class _Part:
    """One submission: a tensor of a block, or only the inputs and guards as the one before left them.

    Attributes:
        block: the number of the block in the batch.
        first: the tensor's first pattern.
        poison: what the output held before; ``None`` where only the inputs are brought back.
        slot: where it comes back.
        judged: what threads judge of it.
        checked: what threads look at of the inputs.
    """

    block: int
    first: int
    poison: int | None
    slot: int = -1
    judged: list[Future[tuple[Totals, int, int]]] = field(default_factory=list)
    checked: list[Future[str]] = field(default_factory=list)

    @property
    def futures(self) -> list[Future[Any]]:
        """What threads are at."""
        return [*self.judged, *self.checked]


class TargetStream:
    """A stream of one target with its judges.

    Args:
        bench: the device.
        target: every pattern of one type, through one input.
        operator: its description with the elements of a tensor.
        judges: makes a judge; each thread needs its own.
        slots: how many tensors are on their way at once.
        pool: the threads that judge.
        threads: how many these are.

    Attributes:
        stream: what it flies with; ``None`` where the backend has none for it.
        reached: the block, by its number in the batch, that was on its way last.
    """

    def __init__(
        self,
        bench: Bench,
        target: Target,
        operator: OperatorDesc,
        judges: Callable[[], BlockJudge],
        *,
        slots: int,
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> None:
        self.target = target
        self.size = operator.output.element_count
        self._bench = bench
        self._pool = pool
        self._slots = slots
        self._threads = threads
        self._data_type: DataType = target.data_type
        self._modulus = 1 << (8 * self._data_type.itemsize)
        types = tuple((name, operator.tensors[name].data_type) for name in (operator.input_name, operator.output_name))
        slot = TensorMemory(types, self.size, bench.allocate)
        bindings = slot.bindings(operator)
        self._source, self._target = bindings[operator.input_name], bindings[operator.output_name]
        between, end = (
            self._source.end,
            slot.memory.size,
        )  # of whole words: no byte is between a tensor and its guards
        self._outputs = Region(between, end - between)
        self._inputs = Region(0, self._target.offset)
        self._guards = {
            self._source.offset: slot.memory[: self._source.offset].copy(),
            self._target.offset: slot.memory[between : self._target.offset].copy(),
            end: slot.memory[self._target.end :].copy(),
        }
        self._judge = judges()
        self._judges: queue.SimpleQueue[BlockJudge] = queue.SimpleQueue()
        for judge in (self._judge, *(judges() for _ in range(threads - 1))):
            self._judges.put(judge)
        self._steps = np.arange(PIECE, dtype=np.uint64).astype(self._data_type.bits_dtype)
        self._at: int | None = None
        self._running: deque[_Part] = deque()
        self.reached = 0
        self._kernel: Any = bench.create(operator)
        self.stream: BenchStream | None = None
        if not isinstance(self._kernel, (Refusal, Mishap)):
            self.stream = BenchStream.of(bench, self._kernel, slot.memory, bindings, slots)
        if self.stream is not None:
            self.stream.before_recovery = self._settle

    def close(self) -> None:
        """Close the stream and its kernel."""
        self._settle()
        if self.stream is not None:
            self.stream.close()
        if not isinstance(self._kernel, (Refusal, Mishap)):
            self._bench.closed(self._kernel)

    def parts(self, blocks: Sequence[Block]) -> list[_Part]:
        """The tensors of some blocks; every other one has another poison."""
        all_parts = [
            _Part(number, first, poison_for(self.target, Tensor(first, self.size, first)))
            for number, block in enumerate(blocks)
            for first in range(block.start, block.start + block.count, self.size)
        ]
        for part in all_parts[1::2]:
            assert part.poison is not None  # noqa: S101  # made above
            part.poison ^= 1 << (8 * self._data_type.itemsize - 1)
        return all_parts

    def judge(self, blocks: Sequence[Block]) -> Batch:
        """Judge some blocks.

        Raises:
            StreamEnded: the stream ended early; :attr:`reached` is the block at which it ended.
        """
        assert self.stream is not None  # noqa: S101  # who has none does not fly
        parts = self.parts(blocks)
        parts.append(_Part(len(blocks) - 1, parts[-1].first, None))
        batch = Batch([Totals(blocks=1) for _ in blocks], [False] * len(blocks))
        free, flying, waiting = deque(range(self._slots)), deque[_Part](), iter(parts)
        self._running.clear()
        left = len(parts)
        try:
            while left:
                self._send(waiting, free, flying, batch)
                if flying:
                    part = flying.popleft()
                    self.reached = part.block
                    with _timed(batch.totals[part.block], "device"):
                        data = self.stream.wait(part.slot)
                    self._send(waiting, free, flying, batch)  # first of all: the device has nothing else to do
                    self._running.append(part)
                    self._hand_out(part, data, batch)
                while self._running and (not flying or all(future.done() for future in self._running[0].futures)):
                    part = self._running[0]
                    with _timed(batch.totals[part.block], "wait"):
                        self._take_in(part, batch)
                    self._running.popleft()
                    self.stream.release(part.slot)
                    free.append(part.slot)
                    left -= 1
                    self._send(waiting, free, flying, batch)
        finally:
            self._settle()
        for block, totals in zip(blocks, batch.totals, strict=True):
            totals.count_classes(classes_between(block.start, block.count, self._data_type))
            totals.failing = int(not totals.clean)
        batch.doubtful = [doubt or not totals.clean for doubt, totals in zip(batch.doubtful, batch.totals, strict=True)]
        return batch

    def _send(self, waiting: Iterator[_Part], free: deque[int], flying: deque[_Part], batch: Batch) -> None:
        """Submit as much as there are slots for."""
        while free and (part := next(waiting, None)) is not None:
            part.slot = free.popleft()
            self.reached = part.block
            with _timed(batch.totals[part.block], "generate"):
                self._submit(part)
            flying.append(part)

    def _submit(self, part: _Part, *, run: bool = True) -> None:
        assert self.stream is not None  # noqa: S101  # as above
        if part.poison is None:
            self.stream.submit(part.slot, self._inputs, run=False)
            return
        if self._at is None:
            self.stream.fill(part.first)
            self._at = part.first
        step = (part.first - self._at) % self._modulus
        poison = part.poison * (0xFFFF_FFFF // (self._modulus - 1))
        self.stream.submit(part.slot, self._outputs, step=step, poison=poison, run=run)
        self._at = part.first

    def _hand_out(self, part: _Part, data: Bytes, batch: Batch) -> None:
        """Let threads look at what came back."""
        totals = batch.totals[part.block]
        step = -(-self.size // _SHARES)
        if part.poison is None:
            for start in range(0, self.size, step):
                part.checked.append(self._pool.submit(self._inputs_amiss, part.first, data, start, step))
            changed = self._changed_guards(data, self._inputs)
            batch.amiss = f"{changed} bytes of guards are not as they were" if changed else ""
            return
        totals.dispatches += 1
        output = self._output(data)
        for start in range(0, self.size, step):
            part.judged.append(self._pool.submit(self._judged, part, output[start : start + step], start))
        changed = self._changed_guards(data, self._outputs)
        if changed:
            totals.strays += 1
            totals.note(part.first, self.size, "fail", f"{changed} bytes around the tensors changed")

    def _output(self, data: Bytes) -> Array:
        begin = self._target.offset - self._outputs.offset
        return data[begin : begin + self._target.size].view(self._data_type.numpy)

    def _take_in(self, part: _Part, batch: Batch) -> None:
        for future in part.judged:
            totals, certified, kept = future.result()
            whole = batch.totals[part.block]
            whole.elements += certified
            whole.exact += certified
            whole.add(totals)
            batch.doubtful[part.block] |= bool(kept)
        for check in part.checked:
            batch.amiss = batch.amiss or check.result()

    def _judged(self, part: _Part, output: Array, start: int) -> tuple[Totals, int, int]:
        """Totals of what was looked at closely, how many were right at once, how many equal the poison."""
        assert part.poison is not None  # noqa: S101  # outputs have one
        totals = Totals()
        with _timed(totals, "judge"):
            if self._judge.certifies_alone(part.first + start, output, part.poison):
                return totals, output.size, 0
            judge = self._judges.get()
            try:
                tensor = Tensor(part.first, self.size, part.first)
                kept = judge_pieces(judge, self._steps, output, self.target, tensor, start, totals, part.poison)
            finally:
                self._judges.put(judge)
            return totals, 0, sum(places.size for places in kept)

    def _changed_guards(self, data: Bytes, window: Region) -> int:
        changed = 0
        for end, pristine in self._guards.items():
            begin = end - pristine.size - window.offset
            if begin >= 0 and end <= window.end:
                now = data[begin : begin + pristine.size]
                changed += 0 if now.tobytes() == pristine.tobytes() else int(np.count_nonzero(now != pristine))
        return changed

    def _inputs_amiss(self, first: int, data: Bytes, begin: int, count: int) -> str:
        """Which elements of the input are not the patterns from ``first`` on, in words; "" where all of them are.

        Args:
            first: the first element's.
            data: the memory up to the output.
            begin: look from this element on.
            count: at so many.
        """
        bits = self._data_type.bits_dtype
        x = data[self._source.offset : self._source.end].view(bits)
        end = min(begin + count, self.size)
        if self._judge.are_consecutive(first + begin, x[begin:end]):
            return ""
        for start in range(begin, end, PIECE):
            due = self._steps[: min(PIECE, end - start)] + bits.type((first + start) % self._modulus)
            wrong = np.flatnonzero(x[start : start + due.size] != due)
            if wrong.size:
                place = int(wrong[0])
                width = 2 + 2 * self._data_type.itemsize
                return (
                    f"the input holds {int(x[start + place]):#0{width}x} where {int(due[place]):#0{width}x} is due, "
                    f"at element {start + place} of the tensor from {first:#x} on"
                )
        return ""

    def prepared_amiss(self, parts: Sequence[_Part]) -> str:
        """What a stream prepares wrong for these tensors, one after the other, while no kernel runs; "" for nothing."""
        for part in parts:
            message = self._prepared_amiss(part)
            if message:
                return message
        return ""

    def _prepared_amiss(self, part: _Part) -> str:
        assert self.stream is not None  # noqa: S101  # as above
        seen, inputs = _Part(part.block, part.first, part.poison, 0), _Part(part.block, part.first, None, 0)
        self._submit(seen, run=False)
        output = self._output(self.stream.wait(0)).view(self._data_type.bits_dtype)
        filled = bool((output == self._data_type.bits_dtype.type(part.poison)).all())
        del output
        self.stream.release(0)
        self._submit(inputs)
        data = self.stream.wait(0)
        step = -(-self.size // _SHARES)
        inputs.checked += [
            self._pool.submit(self._inputs_amiss, part.first, data, start, step) for start in range(0, self.size, step)
        ]
        self._running.append(inputs)
        self._settle()
        self.stream.release(0)
        message = next((text for text in (future.result() for future in inputs.checked) if text), "")
        if not message and not filled:
            message = f"the output is not filled with {part.poison:#x} before the tensor from {part.first:#x} on"
        return message

    def _settle(self) -> None:
        """Let the threads end: what they look at is about to go away."""
        for part in self._running:
            wait(part.futures)
        self._running.clear()


@contextlib.contextmanager
def _timed(totals: Totals, stage: str) -> Iterator[None]:
    """Count the time inside for a stage."""
    began = time.perf_counter()
    yield
    totals.seconds[stage] = totals.seconds.get(stage, 0.0) + time.perf_counter() - began
