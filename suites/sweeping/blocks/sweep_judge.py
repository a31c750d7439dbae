"""The judge of a device: one open device with its kernels, and the blocks that it judges, several tensors at once.

Each slot is a thread with a memory and a judge of its own. It generates a tensor's inputs, waits for the device,
dispatches, and judges while the next slot's tensor is on the device. Where the device stands in a process of its own,
the memory is shared with it, and no code of the implementation runs beside the judge.

A tensor whose process is lost, or takes longer than a block may, is tried once more in a fresh process; where that is
lost as well, it is what the implementation does with this tensor, and the rest of its block is left out.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import count as counting
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.specs.oracle.blocks import BlockJudge
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.measuring.dispatches import gauge_of
from dmlcts.suites.sweeping.blocks.operands import SeveralJudge, singles_of
from dmlcts.suites.sweeping.blocks.pieces import fill_inputs, judge_tensor
from dmlcts.suites.sweeping.blocks.streaming import Streaming, Ways
from dmlcts.suites.sweeping.blocks.targets import Block, Target, described, subject_of, with_bound
from dmlcts.suites.sweeping.blocks.tensor_memory import (
    Clock,
    Halt,
    Tensor,
    TensorMemory,
    poison_for,
    tensors_of,
)
from dmlcts.suites.sweeping.blocks.totals import Totals

Array = NDArray[Any]

TENSOR_ELEMENTS = (1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22)
"""Tensor sizes that are tried; the one with the best rate is taken."""
_TRIALS = 2
_WORTH_COMPILING = 1 << 26  # numba takes a second, in which numpy judges hundreds of millions of elements
_ATTEMPTS = 2
_LEAST_SECONDS = 0.1


class SweepJudge:
    """An open device that judges blocks.

    Args:
        bench: the device.
        slots: how many tensors may be on the device at once.
        tensor_elements: elements of a tensor; ``None`` to try which size is quickest.
        compiled: use the compiled first comparison where it can be had.
        timeout: seconds that a block may take in a process of the implementation's own; ``None`` for the bench's own
            limit of each call.
        streams: arguments of :class:`Streaming`, where backends may be asked for streams; else none are.
    """

    def __init__(
        self,
        bench: Bench,
        *,
        slots: int = 1,
        tensor_elements: int | None = None,
        compiled: bool = True,
        timeout: float | None = None,
        streams: dict[str, Any] | None = None,
    ) -> None:
        self.bench = bench
        self.slot_count = slots
        self._wanted = tensor_elements
        self._compiled = compiled
        self._timeout = timeout
        self._deadline = math.inf
        self._chosen: dict[tuple[str, Signature | DataType], int] = {}
        self._device = threading.Lock()
        self._pool = ThreadPoolExecutor(slots) if slots > 1 else None
        self._memories: dict[int, TensorMemory] = {}
        self._judges: dict[tuple[int, OperatorDesc], BlockJudge | SeveralJudge] = {}
        self._kernels: dict[OperatorDesc, Any] = {}
        ways = Ways(self.judge, self._new_judge, self._kernels.clear)
        self.streaming = None if streams is None else Streaming(bench, ways, **streams)

    def finish(self) -> None:
        """Close kernels and slots; the device stays open."""
        self._end_streams()
        self._drop_kernels()
        self._end_slots()

    def close(self) -> None:
        """Close kernels, slots and the device."""
        self._end_streams()
        self._drop_kernels()
        self.bench.close()
        self._end_slots()  # last: on Linux a process ends with the thread that started it

    def _end_slots(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _end_streams(self) -> None:
        if self.streaming is not None:
            self.streaming.close()

    def prepare(self, target: Target) -> None:
        """Compile the comparison for a target, where it is worth that and can be; open a stream for the first one."""
        if target.kind == "patterns" and not target.inputs and self._compiled and target.elements >= _WORTH_COMPILING:
            judge = self._new_judge(described(self.bench.tables, target, self.bench.level, 1), target)
            judge.prepare(alone=self.streaming is not None)
        if self.streaming is not None:
            with self._limited():
                self.streaming.prepare(target)

    def judge_several(self, target: Target, blocks: Sequence[Block]) -> list[Totals]:
        """Judge some blocks of a target, in a stream where the backend has them."""
        if self.streaming is None:
            return [self.judge(target, block) for block in blocks]
        with self._limited():
            return self.streaming.judge(target, blocks)

    def _limited(self) -> AbstractContextManager[None]:
        """The time that each call to a stream may take."""
        return self.bench.limited(math.inf if self._timeout is None else self._timeout)

    def judge(self, target: Target, block: Block) -> Totals:
        """Generate, dispatch and judge a block; whatever the implementation does ends up in the totals."""
        self._begin_block()
        size = self._tensor_size(target, block)
        subject = subject_of(self.bench.tables, target, self.bench.level)
        tensors = list(tensors_of(target, block, size, subject))
        shares: Iterator[int] = counting()
        totals = [Totals() for _ in range(self.slot_count)]
        operators = {
            count: described(self.bench.tables, target, self.bench.level, count)
            for count in {tensor.count for tensor in tensors}
        }

        gone = threading.Event()

        def work(slot: int) -> None:
            while (index := next(shares)) < len(tensors):  # next() of a count is atomic
                tensor = tensors[index]
                operator = with_bound(operators[tensor.count], target, tensor.bound)
                if gone.is_set():
                    totals[slot].unjudged += tensor.count
                elif not self._tensor(slot, target, tensor, operator, totals[slot], size):
                    gone.set()

        if self._pool is None:
            work(0)
        else:
            list(self._pool.map(work, range(self.slot_count)))
        whole = totals[0]
        for part in totals[1:]:
            whole.add(part)
        whole.blocks, whole.failing = 1, int(not whole.clean)
        return whole

    # One tensor ------------------------------------------------------------------------------------------

    def _tensor(
        self, slot: int, target: Target, tensor: Tensor, operator: OperatorDesc, totals: Totals, size: int
    ) -> bool:
        """Judge a tensor; whether the block goes on: not where it lost the implementation's process, again."""
        clock = Clock(totals.seconds)
        memory = self._memory(slot, operator, size)
        poison = poison_for(target, tensor)
        output = memory.elements(memory.output, tensor.count)
        memory.guard(operator)
        for _ in range(_ATTEMPTS):
            fill_inputs(memory, operator, target, tensor)
            output.view(target.output_type.bits_dtype).fill(poison)
            clock.lap("generate")
            halt = self._dispatched(operator, memory, memory.bindings(operator), clock)
            totals.dispatches += 1
            if halt is None or not halt.lost:
                break
            memory.strays(operator)  # puts right what the lost process left there
        if halt is not None:
            totals.stopped += 1
            totals.unjudged += tensor.count
            totals.note(tensor.start, tensor.count, halt.outcome, halt.text)
            return not halt.lost
        changed = memory.strays(operator)
        judge = self._judge(slot, operator, target)
        altered, kept = judge_tensor(judge, memory, target, tensor, totals, poison)
        if changed:
            totals.strays += 1
            totals.note(tensor.start, tensor.count, "fail", f"{changed} bytes around the tensors changed")
        if altered:
            totals.altered += 1
            totals.note(tensor.start, tensor.count, "fail", f"{altered} input elements changed")
        clock.lap("judge")
        if kept:
            self._look_for_unwritten(operator, memory, target, tensor, np.concatenate(kept), poison, totals, clock)
        return True

    def _look_for_unwritten(
        self,
        operator: OperatorDesc,
        memory: TensorMemory,
        target: Target,
        tensor: Tensor,
        kept: Array,
        poison: int,
        totals: Totals,
        clock: Clock,
    ) -> None:
        """Dispatch again with the poison's complement: an element that holds that now was never written."""
        bits = memory.elements(memory.output, tensor.count).view(target.output_type.bits_dtype)
        other = poison ^ ((1 << (8 * target.output_type.itemsize)) - 1)
        bits.fill(other)
        fill_inputs(memory, operator, target, tensor)
        clock.lap("generate")
        halt = self._dispatched(operator, memory, memory.bindings(operator), clock)
        if halt is None:
            unwritten = int(np.count_nonzero(bits[kept] == other))
            totals.unwritten += unwritten
            if unwritten:
                totals.note(tensor.start, tensor.count, "fail", f"{unwritten} output elements were not written")
        else:
            totals.stopped += 1
            totals.note(tensor.start, tensor.count, halt.outcome, halt.text)
        memory.strays(operator)
        clock.lap("judge")

    def _begin_block(self) -> None:
        if self._timeout is not None:
            self._deadline = time.monotonic() + self._timeout

    def _dispatched(
        self, operator: OperatorDesc, memory: TensorMemory, bindings: dict[str, Region], clock: Clock
    ) -> Halt | None:
        """Dispatch; ``None`` where it came back."""
        with self._device:
            clock.lap("wait")
            losses = self.bench.losses
            kernel = self._kernel(operator)
            if isinstance(kernel, Refusal):
                clock.lap("device")
                return Halt("fail", f"refused: {kernel.text}")
            if not isinstance(kernel, Mishap):
                left = max(_LEAST_SECONDS, self._deadline - time.monotonic())
                with self.bench.limited(left):
                    mishap = self.bench.dispatch(kernel, Arena(memory.memory, memory.memory, bindings, {}))
                if mishap is None:
                    clock.lap("device")
                    return None
                kernel = mishap
            self._kernels.clear()  # a device that was lost is a new one now
            lost = self.bench.isolated and self.bench.losses > losses and kernel.outcome != "device_lost"
            if lost:
                self._begin_block()  # the second attempt gets as much time as the first
            clock.lap("device")
            return Halt(kernel.outcome, kernel.text, lost)

    # What lives as long as a target --------------------------------------------------------------------

    def _kernel(self, operator: OperatorDesc) -> Any:
        kernel = self._kernels.get(operator)
        if kernel is None:
            if len(self._kernels) >= 4:
                self._drop_kernels()
            kernel = self.bench.create(operator)
            if not isinstance(kernel, (Refusal, Mishap)):
                self._kernels[operator] = kernel
        return kernel

    def _drop_kernels(self) -> None:
        for kernel in self._kernels.values():
            self.bench.closed(kernel)
        self._kernels.clear()

    def _judge(self, slot: int, operator: OperatorDesc, target: Target) -> BlockJudge | SeveralJudge:
        key = (slot, operator)
        judge = self._judges.get(key)
        if judge is None:
            if len(self._judges) >= 4 * self.slot_count:
                self._judges.clear()
            if target.inputs:
                judge = SeveralJudge(
                    self.bench.oracle(operator),
                    singles_of(operator, target),
                    gauge_of(self.bench.tables, operator, strict=self.bench.strict),
                )
            else:
                judge = self._new_judge(operator, target)
            self._judges[key] = judge
        return judge

    def _new_judge(self, operator: OperatorDesc, target: Target) -> BlockJudge:
        compiled = self._compiled and target.elements >= _WORTH_COMPILING
        return BlockJudge(self.bench.vector_oracle(operator), compiled=compiled)

    def _memory(self, slot: int, operator: OperatorDesc, size: int) -> TensorMemory:
        memory = self._memories.get(slot)
        last = operator.output_name
        names = (*(name for name in operator.tensors if name != last), last)
        types = tuple((name, operator.tensors[name].data_type) for name in names)
        if memory is None or memory.types != types or memory.size != size:
            with self._device:  # shared memory is handed out to one at a time
                memory = self._memories[slot] = TensorMemory(types, size, self.bench.allocate)
        return memory

    def _tensor_size(self, target: Target, block: Block) -> int:
        """Elements of a tensor: as set, or the size of the trial that was quickest for each element."""
        if target.kind == "bounds":
            return 1 << 16
        most = block.count
        if self._wanted is not None:
            return min(self._wanted, most)
        key = (target.operator, target.signature or target.data_type)
        if key not in self._chosen:
            candidates = [size for size in TENSOR_ELEMENTS if size <= most] or [most]
            if target.kind == "patterns" and len(candidates) > 1:
                candidates = [self._quickest(target, candidates)]
            self._chosen[key] = candidates[0]
        return min(self._chosen[key], most)

    def _quickest(self, target: Target, sizes: list[int]) -> int:
        """The size whose trial was quickest; the first where the implementation's process is lost in a trial."""
        seconds = []
        for size in sizes:
            spent = self._trial(target, size)
            if spent == math.inf:
                return sizes[0]
            seconds.append((spent, size))
        return min(seconds)[1]

    def _trial(self, target: Target, size: int) -> float:
        """Seconds an element takes in tensors of ``size`` elements, the better of two; infinity where it is lost."""
        best = math.inf
        middle = 0 if target.inputs else 0x3F << (8 * target.data_type.itemsize - 8)  # numbers of ordinary size
        operator = described(self.bench.tables, target, self.bench.level, size)
        for number in range(_TRIALS + 1):
            started = time.perf_counter()
            if not self._tensor(0, target, Tensor(middle, size, middle), operator, Totals(), size):
                return math.inf  # the block will say what happened
            if number:
                best = min(best, (time.perf_counter() - started) / size)
        return best
