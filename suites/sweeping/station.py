"""A station: one open device with its kernels, that judges blocks; several tensors may be in flight on it.

Each lane is a thread with a memory and a judge of its own. It generates a tensor's inputs, waits for the device,
dispatches, and judges while the next lane's tensor is on the device. Where the device stands in a process of its own,
the memory is shared with it, and no code of the implementation runs beside the judge.

A tensor whose process is lost, or takes longer than a block may, is tried once more in a fresh process; where that is
lost as well, it is what the implementation does with this tensor, and the rest of its block is left out.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count as counting
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.specs.oracle.blocks import PIECE, BlockJudge
from dmlcts.suites.arena import Arena, Bytes, aligned_memory
from dmlcts.suites.bench import Bench, Mishap, Refusal
from dmlcts.suites.cases import Placement
from dmlcts.suites.sweeping.targets import Block, Target, described, sample, with_bound
from dmlcts.suites.sweeping.totals import CLASSES, Totals, classes_between, classes_of

Array = NDArray[Any]

TENSOR_ELEMENTS = (1 << 17, 1 << 19, 1 << 21, 1 << 22)
"""Tensor sizes that are tried; the one with the best rate is taken."""
_TRIALS = 2
_WORTH_COMPILING = 1 << 26  # numba takes a second, in which numpy judges hundreds of millions of elements
_PLACE = Placement()
_ATTEMPTS = 2
_LEAST_SECONDS = 0.1


@dataclass
class _Lane:
    """Memory for tensors of up to ``size`` elements, made ready and looked over without allocating.

    Attributes:
        allocate: gives a memory of so many bytes.
        memory: guards, input, gap, output, guards.
        guards: the slices of it that nothing may change, with their bytes.
    """

    data_type: DataType
    size: int
    allocate: Callable[[int], Bytes]

    def __post_init__(self) -> None:
        self.region_bytes = self.size * self.data_type.itemsize
        padded = -(-self.region_bytes // 16) * 16
        self.read = _PLACE.front
        self.write = self.read + padded + _PLACE.gap
        self.memory = aligned_memory(self.write + padded + _PLACE.tail, self.allocate)
        self._pristine = np.empty(PIECE, self.data_type.numpy)
        self._steps = np.arange(PIECE, dtype=np.uint64).astype(self.data_type.bits_dtype)
        self._mask = np.empty(PIECE, bool)
        self._guards: dict[int, list[tuple[slice, Array]]] = {}

    def bindings(self, tensor_bytes: int) -> dict[str, Region]:
        """The regions of the two tensors."""
        return {"InputTensor": Region(self.read, tensor_bytes), "OutputTensor": Region(self.write, tensor_bytes)}

    def elements(self, offset: int, count: int) -> Array:
        """``count`` elements of the memory from byte ``offset`` on."""
        return self.memory[offset : offset + count * self.data_type.itemsize].view(self.data_type.numpy)

    def guard(self, tensor_bytes: int) -> None:
        """Remember what stands around tensors of this size."""
        if tensor_bytes in self._guards:
            return
        zones = (
            slice(0, self.read),
            slice(self.read + tensor_bytes, min(self.read + tensor_bytes + 4096, self.write)),
            slice(max(self.read + tensor_bytes, self.write - 4096), self.write),
            slice(self.write + tensor_bytes, min(self.write + tensor_bytes + 4096, self.memory.size)),
        )
        self._guards = {tensor_bytes: [(zone, self.memory[zone].copy()) for zone in zones]}

    def strays(self, tensor_bytes: int) -> int:
        """How many guard bytes changed; they are put right again."""
        changed = 0
        for zone, bytes_before in self._guards[tensor_bytes]:
            if not np.array_equal(self.memory[zone], bytes_before):
                changed += int(np.count_nonzero(self.memory[zone] != bytes_before))
                self.memory[zone] = bytes_before
        return changed

    def piece(self, first: int, count: int) -> Array:
        """Consecutive patterns from ``first`` on, in scratch memory."""
        bits = self._pristine[:count].view(self.data_type.bits_dtype)
        np.add(self._steps[:count], self.data_type.bits_dtype.type(first), out=bits)
        return self._pristine[:count]


@dataclass(frozen=True)
class _Tensor:
    """One tensor's worth of a block: consecutive patterns from ``first`` on, or given values."""

    start: int
    count: int
    first: int
    values: Array | None = None
    bound: int = 0


@dataclass(frozen=True)
class _Halt:
    """Why a tensor did not come back; ``lost`` says whether it took the implementation's process with it."""

    outcome: str
    text: str
    lost: bool = False


class Station:
    """An open device that judges blocks.

    Args:
        bench: the device.
        lanes: how many tensors may be in flight.
        tensor_elements: elements of a tensor; ``None`` to try which size is quickest.
        compiled: use the compiled first comparison where it can be had.
        timeout: seconds that a block may take in a process of the implementation's own; ``None`` for the bench's own
            limit of each call.
    """

    def __init__(
        self, bench: Bench, *, lanes: int = 1, tensor_elements: int | None = None, compiled: bool = True,
        timeout: float | None = None,
    ) -> None:  # fmt: skip
        self.bench = bench
        self.lanes = lanes
        self._wanted = tensor_elements
        self._compiled = compiled
        self._timeout = timeout
        self._deadline = math.inf
        self._chosen: dict[tuple[str, DataType], int] = {}
        self._device = threading.Lock()
        self._pool = ThreadPoolExecutor(lanes) if lanes > 1 else None
        self._memories: dict[int, _Lane] = {}
        self._judges: dict[tuple[int, OperatorDesc], BlockJudge] = {}
        self._kernels: dict[OperatorDesc, Any] = {}

    def finish(self) -> None:
        """Close kernels and lanes; the device stays open."""
        self._drop_kernels()
        self._end_lanes()

    def close(self) -> None:
        """Close kernels, lanes and the device."""
        self._drop_kernels()
        self.bench.close()
        self._end_lanes()  # last: on Linux a process ends with the thread that started it

    def _end_lanes(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def judge(self, target: Target, block: Block) -> Totals:
        """Generate, dispatch and judge a block; whatever the implementation does ends up in the totals."""
        self._begin_block()
        size = self._tensor_size(target, block)
        tensors = list(_tensors(target, block, size))
        shares: Iterator[int] = counting()
        totals = [Totals() for _ in range(self.lanes)]
        operators = {
            count: described(self.bench.tables, target, self.bench.level, count)
            for count in {tensor.count for tensor in tensors}
        }

        gone = threading.Event()

        def work(lane: int) -> None:
            while (index := next(shares)) < len(tensors):  # next() of a count is atomic
                tensor = tensors[index]
                operator = with_bound(operators[tensor.count], target, tensor.bound)
                if gone.is_set():
                    totals[lane].unjudged += tensor.count
                elif not self._tensor(lane, target, tensor, operator, totals[lane], size):
                    gone.set()

        if self._pool is None:
            work(0)
        else:
            list(self._pool.map(work, range(self.lanes)))
        whole = totals[0]
        for one in totals[1:]:
            whole.add(one)
        whole.blocks, whole.failing = 1, int(not whole.clean)
        return whole

    # One tensor ------------------------------------------------------------------------------------------

    def _tensor(
        self, lane: int, target: Target, tensor: _Tensor, operator: OperatorDesc, totals: Totals, size: int
    ) -> bool:
        """Judge a tensor; whether the block goes on: not where it lost the implementation's process, again."""
        clock = _Clock(totals.seconds)
        memory = self._memory(lane, target.data_type, size)
        judge = self._judge(lane, operator, target.elements >= _WORTH_COMPILING)
        poison = _poison(target, tensor)
        tensor_bytes = operator.output.total_size_in_bytes
        x = memory.elements(memory.read, tensor.count)
        output = memory.elements(memory.write, tensor.count)
        memory.guard(tensor_bytes)
        for _ in range(_ATTEMPTS):
            _fill(memory, tensor, x)
            output.view(target.data_type.bits_dtype).fill(poison)
            clock.lap("generate")
            halt = self._dispatched(operator, memory, memory.bindings(tensor_bytes), clock)
            totals.dispatches += 1
            if halt is None or not halt.lost:
                break
            memory.strays(tensor_bytes)  # puts right what the lost process left there
        if halt is not None:
            totals.stopped += 1
            totals.unjudged += tensor.count
            totals.note(tensor.start, tensor.count, halt.outcome, halt.text)
            return not halt.lost
        kept: list[Array] = []
        changed = memory.strays(tensor_bytes)
        altered = 0
        for start in range(0, tensor.count, PIECE):
            stop = min(start + PIECE, tensor.count)
            if tensor.values is None and judge.certifies(
                tensor.first + start, x[start:stop], output[start:stop], poison
            ):
                totals.elements += stop - start
                totals.exact += stop - start
                continue
            pristine = (
                memory.piece(tensor.first + start, stop - start) if tensor.values is None
                else tensor.values[start:stop]
            )  # fmt: skip
            altered += _differences(x[start:stop], pristine, target.data_type)
            judged = judge.judge(pristine, output[start:stop], poison)
            totals.elements += judged.elements
            totals.exact += judged.exact
            totals.equal += judged.equal
            totals.other += judged.other
            if judged.wrong.size:
                got = output[start:stop][judged.wrong]
                totals.blame(pristine[judged.wrong], got, target.data_type, tensor.start, tensor.count)
                held = judged.wrong[got.view(target.data_type.bits_dtype) == poison]
                if held.size:
                    kept.append(held + start)
            if judged.poison.size:
                kept.append(judged.poison + start)
        if tensor.values is None:
            totals.count_classes(classes_between(tensor.first, tensor.count, target.data_type))
        else:
            counts = np.bincount(classes_of(tensor.values), minlength=len(CLASSES))
            totals.count_classes({name: int(number) for name, number in zip(CLASSES, counts, strict=True)})
        if changed:
            totals.strays += 1
            totals.note(tensor.start, tensor.count, "fail", f"{changed} bytes around the tensors changed")
        if altered:
            totals.altered += 1
            totals.note(tensor.start, tensor.count, "fail", f"{altered} input elements changed")
        clock.lap("judge")
        if kept:
            self._look_for_unwritten(
                operator, memory, tensor, output, np.concatenate(kept), poison, totals, clock
            )  # fmt: skip
        return True

    def _look_for_unwritten(
        self, operator: OperatorDesc, memory: _Lane, tensor: _Tensor, output: Array, kept: Array, poison: int,
        totals: Totals, clock: _Clock,
    ) -> None:  # fmt: skip
        """Dispatch again with the poison's complement: an element that holds that now was never written."""
        bits = output.view(operator.input.data_type.bits_dtype)
        other = poison ^ ((1 << (8 * operator.input.data_type.itemsize)) - 1)
        bits.fill(other)
        _fill(memory, tensor, memory.elements(memory.read, tensor.count))
        tensor_bytes = operator.output.total_size_in_bytes
        clock.lap("generate")
        halt = self._dispatched(operator, memory, memory.bindings(tensor_bytes), clock)
        if halt is None:
            unwritten = int(np.count_nonzero(bits[kept] == other))
            totals.unwritten += unwritten
            if unwritten:
                totals.note(tensor.start, tensor.count, "fail", f"{unwritten} output elements were not written")
        else:
            totals.stopped += 1
            totals.note(tensor.start, tensor.count, halt.outcome, halt.text)
        memory.strays(tensor_bytes)
        clock.lap("judge")

    def _begin_block(self) -> None:
        if self._timeout is not None:
            self._deadline = time.monotonic() + self._timeout

    def _dispatched(
        self, operator: OperatorDesc, memory: _Lane, bindings: dict[str, Region], clock: _Clock
    ) -> _Halt | None:
        """Dispatch; ``None`` where it came back."""
        with self._device:
            clock.lap("wait")
            losses = self.bench.losses
            kernel = self._kernel(operator)
            if isinstance(kernel, Refusal):
                clock.lap("device")
                return _Halt("fail", f"refused: {kernel.text}")
            if not isinstance(kernel, Mishap):
                left = max(_LEAST_SECONDS, self._deadline - time.monotonic())
                with self.bench.limited(left):
                    mishap = self.bench.dispatch(kernel, Arena(memory.memory, memory.memory, bindings, memory.memory))
                if mishap is None:
                    clock.lap("device")
                    return None
                kernel = mishap
            self._kernels.clear()  # a device that was lost is a new one now
            lost = self.bench.isolated and self.bench.losses > losses and kernel.outcome != "device_lost"
            if lost:
                self._begin_block()  # the second attempt gets as much time as the first
            clock.lap("device")
            return _Halt(kernel.outcome, kernel.text, lost)

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

    def _judge(self, lane: int, operator: OperatorDesc, compiled: bool) -> BlockJudge:
        key = (lane, operator)
        judge = self._judges.get(key)
        if judge is None:
            if len(self._judges) >= 4 * self.lanes:
                self._judges.clear()
            judge = self._judges[key] = BlockJudge(self.bench.oracle(operator), compiled=self._compiled and compiled)
        return judge

    def _memory(self, lane: int, data_type: DataType, size: int) -> _Lane:
        memory = self._memories.get(lane)
        if memory is None or memory.data_type is not data_type or memory.size != size:
            with self._device:  # shared memory is handed out to one at a time
                memory = self._memories[lane] = _Lane(data_type, size, self.bench.allocate)
        return memory

    def _tensor_size(self, target: Target, block: Block) -> int:
        """Elements of a tensor: as told, or the size of the trial that was quickest for each element."""
        if target.kind == "bounds":
            return 1 << 16
        most = block.count
        if self._wanted is not None:
            return min(self._wanted, most)
        key = (target.operator, target.data_type)
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
        middle = 0x3F << (8 * target.data_type.itemsize - 8)  # numbers of ordinary size
        operator = described(self.bench.tables, target, self.bench.level, size)
        for number in range(_TRIALS + 1):
            started = time.perf_counter()
            if not self._tensor(0, target, _Tensor(middle, size, middle), operator, Totals(), size):
                return math.inf  # the block will say what happened
            if number:
                best = min(best, (time.perf_counter() - started) / size)
        return best


class _Clock:
    """Adds the time between laps to the stages."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now


def _tensors(target: Target, block: Block, size: int) -> Iterator[_Tensor]:
    """The tensors of a block."""
    if target.kind == "bounds":
        for bound in range(block.start, block.start + block.count):
            yield _Tensor(bound, 1 << 16, 0, None, bound)
        return
    values = sample(target, block.start, block.count).array(block.count) if target.kind == "sample" else None
    for start in range(0, block.count, size):
        count = min(size, block.count - start)
        part = None if values is None else values[start : start + count]
        yield _Tensor(block.start + start, count, block.start + start, part)


def _fill(memory: _Lane, tensor: _Tensor, x: Array) -> None:
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        if tensor.values is not None:
            x[start:stop] = tensor.values[start:stop]
            continue
        bits = x[start:stop].view(memory.data_type.bits_dtype)
        np.add(memory._steps[: stop - start], memory.data_type.bits_dtype.type(tensor.first + start), out=bits)


def _differences(x: Array, pristine: Array, data_type: DataType) -> int:
    """How many elements differ in their bits."""
    bits = data_type.bits_dtype
    if np.array_equal(x.view(bits), pristine.view(bits)):
        return 0
    return int(np.count_nonzero(x.view(bits) != pristine.view(bits)))


_MINUS_INFINITY_FLOAT16 = 0xFC00
_POISONS: dict[int, int] = {1: 0xA7, 2: 0x3A5B, 4: 0x3F35_A5A7, 8: 0x3FE6_B4B4_E5A5_A5A7}


def _poison(target: Target, tensor: _Tensor) -> int:
    """A pattern that few outputs equal: no integer for floats, and not among the inputs of the tensor.

    Where an output does equal it, a second dispatch with another one tells.
    """
    if target.kind == "bounds":
        return _MINUS_INFINITY_FLOAT16  # all outputs are finite there
    width = 8 * target.data_type.itemsize
    poison = _POISONS[target.data_type.itemsize]
    if tensor.first <= poison < tensor.first + tensor.count and tensor.count < 1 << (width - 2):
        poison ^= 1 << (width - 1)
    return poison
