"""What a lane of a sweep holds: memory for its tensors, looked over without allocating, and one tensor at a time.

A station has several lanes and one device; see :mod:`dmlcts.suites.sweeping.blocks.station`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, Region
from dmlcts.specs.oracle.blocks import PIECE
from dmlcts.suites.cases.memory import Bytes, aligned_memory
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.sweeping.blocks.targets import Block, Target, sample

Array = NDArray[Any]

_PLACE = Placement()


@dataclass
class Lane:
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
        self.steps = np.arange(PIECE, dtype=np.uint64).astype(self.data_type.bits_dtype)
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
        np.add(self.steps[:count], self.data_type.bits_dtype.type(first), out=bits)
        return self._pristine[:count]


@dataclass(frozen=True)
class Tensor:
    """One tensor's worth of a block: consecutive patterns from ``first`` on, or given values."""

    start: int
    count: int
    first: int
    values: Array | None = None
    bound: int = 0


@dataclass(frozen=True)
class Halt:
    """Why a tensor did not come back; ``lost`` says whether it took the implementation's process with it."""

    outcome: str
    text: str
    lost: bool = False


class Clock:
    """Adds the time between laps to the stages."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Count the time since the last lap for a stage."""
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._last
        self._last = now


def tensors_of(target: Target, block: Block, size: int) -> Iterator[Tensor]:
    """The tensors of a block."""
    if target.kind == "bounds":
        for bound in range(block.start, block.start + block.count):
            yield Tensor(bound, 1 << 16, 0, None, bound)
        return
    values = sample(target, block.start, block.count).array(block.count) if target.kind == "sample" else None
    for start in range(0, block.count, size):
        count = min(size, block.count - start)
        part = None if values is None else values[start : start + count]
        yield Tensor(block.start + start, count, block.start + start, part)


def fill_input(memory: Lane, tensor: Tensor, x: Array) -> None:
    """Write a tensor's inputs into ``x``, which lies in the lane's memory."""
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        if tensor.values is not None:
            x[start:stop] = tensor.values[start:stop]
            continue
        bits = x[start:stop].view(memory.data_type.bits_dtype)
        np.add(memory.steps[: stop - start], memory.data_type.bits_dtype.type(tensor.first + start), out=bits)


def count_differences(x: Array, pristine: Array, data_type: DataType) -> int:
    """How many elements differ in their bits."""
    bits = data_type.bits_dtype
    if np.array_equal(x.view(bits), pristine.view(bits)):
        return 0
    return int(np.count_nonzero(x.view(bits) != pristine.view(bits)))


_MINUS_INFINITY_FLOAT16 = 0xFC00
_POISONS: dict[int, int] = {1: 0xA7, 2: 0x3A5B, 4: 0x3F35_A5A7, 8: 0x3FE6_B4B4_E5A5_A5A7}


def poison_for(target: Target, tensor: Tensor) -> int:
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
