"""What a slot of a sweep holds: memory for its tensors, looked over without allocating, and one tensor at a time.

The judge of a device has several slots; see :mod:`dmlcts.suites.sweeping.blocks.sweep_judge`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.specs.oracle.blocks import PIECE
from dmlcts.suites.cases.memory import Bytes, aligned_memory
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.sweeping.blocks.operands import sampled
from dmlcts.suites.sweeping.blocks.targets import Block, Target, sample

Array = NDArray[Any]

_PLACE = Placement()
_GUARDED = 4096
"""Bytes that are looked at beside a tensor: more would take longer than the dispatch."""


@dataclass
class TensorMemory:
    """Memory for tensors of up to ``size`` elements, made ready and looked over without allocating.

    Attributes:
        types: the data types of the tensors by name, the inputs in the struct's order and then the output.
        size: the most elements of a tensor.
        allocate: gives a memory of so many bytes.
        memory: guards, inputs, output, guards, and a gap between any two tensors.
        guards: the slices of it that nothing may change, with their bytes.
    """

    types: tuple[tuple[str, DataType], ...]
    size: int
    allocate: Callable[[int], Bytes]

    def __post_init__(self) -> None:
        (_, self.data_type), *_ = self.types
        self.places: dict[str, int] = {}
        place = _PLACE.front
        for name, data_type in self.types:
            self.places[name] = place
            place += -(-self.size * data_type.itemsize // 16) * 16 + _PLACE.gap
        self.memory = aligned_memory(place - _PLACE.gap + _PLACE.tail, self.allocate)
        self._pristine = np.empty(PIECE, self.data_type.numpy)
        self.steps = np.arange(PIECE, dtype=np.uint64).astype(self.data_type.bits_dtype)
        self._guards: dict[tuple[int, ...], list[tuple[slice, Array]]] = {}

    def bindings(self, operator: OperatorDesc) -> dict[str, Region]:
        """The regions of the tensors."""
        return {name: Region(place, operator.tensors[name].total_size_in_bytes) for name, place in self.places.items()}

    def elements(self, name: str, count: int) -> Array:
        """The first ``count`` elements of a tensor's memory."""
        place, data_type = self.places[name], dict(self.types)[name]
        return self.memory[place : place + count * data_type.itemsize].view(data_type.numpy)

    @property
    def output(self) -> str:
        """The name of the output tensor."""
        return self.types[-1][0]

    def guard(self, operator: OperatorDesc) -> None:
        """Remember what stands around tensors of these sizes."""
        sizes = self._sizes(operator)
        if sizes in self._guards:
            return
        ends = [0, *(place + size for place, size in zip(self.places.values(), sizes, strict=True))]
        starts = [*self.places.values(), self.memory.size]
        zones = [slice(0, starts[0]), slice(ends[-1], min(ends[-1] + _GUARDED, starts[-1]))]
        for end, start in zip(ends[1:-1], starts[1:-1], strict=True):
            zones += [slice(end, min(end + _GUARDED, start)), slice(max(end, start - _GUARDED), start)]
        self._guards = {sizes: [(zone, self.memory[zone].copy()) for zone in zones]}

    def _sizes(self, operator: OperatorDesc) -> tuple[int, ...]:
        return tuple(operator.tensors[name].total_size_in_bytes for name in self.places)

    def strays(self, operator: OperatorDesc) -> int:
        """How many guard bytes changed; they are put right again."""
        changed = 0
        for zone, bytes_before in self._guards[self._sizes(operator)]:
            if self.memory[zone].tobytes() != bytes_before.tobytes():  # few bytes: copied sooner than compared in place
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
    """One tensor's worth of a block: consecutive patterns from ``first`` on, or given values.

    Attributes:
        start: its place in the target.
        count: its elements.
        first: the first pattern, or combination of patterns.
        values: the values of an only input, where they are given.
        bound: which bound it has, where the target varies one.
        several: the values of several inputs by name, where they are given.
    """

    start: int
    count: int
    first: int
    values: Array | None = None
    bound: int = 0
    several: Mapping[str, Array] | None = None


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


def tensors_of(target: Target, block: Block, size: int, subject: Subject) -> Iterator[Tensor]:
    """The tensors of a block."""
    if target.inputs:
        arrays = sampled(subject, target, block.start, block.count) if target.kind == "sample" else None
        for start in range(0, block.count, size):
            count, first = min(size, block.count - start), block.start + start
            cut = None if arrays is None else {name: array[start : start + count] for name, array in arrays.items()}
            yield Tensor(first, count, first, several=cut)
        return
    if target.kind == "bounds":
        for bound in range(block.start, block.start + block.count):
            yield Tensor(bound, 1 << 16, 0, None, bound)
        return
    values = sample(target, block.start, block.count).array(block.count) if target.kind == "sample" else None
    for start in range(0, block.count, size):
        count = min(size, block.count - start)
        part = None if values is None else values[start : start + count]
        yield Tensor(block.start + start, count, block.start + start, part)


_MINUS_INFINITY_FLOAT16 = 0xFC00
_POISONS: dict[int, int] = {1: 0xA7, 2: 0x3A5B, 4: 0x3F35_A5A7, 8: 0x3FE6_B4B4_E5A5_A5A7}


def poison_for(target: Target, tensor: Tensor) -> int:
    """A pattern that few outputs equal: no integer for floats, and not among the inputs of the tensor.

    It is one for all elements of a tensor and follows from no result, so it reveals nothing about any. Where an output
    does equal it, a second dispatch with another pattern decides.

    The pattern is an unsigned integer of the output type's width.
    """
    if target.kind == "bounds":
        return _MINUS_INFINITY_FLOAT16  # all outputs are finite there
    width = 8 * target.output_type.itemsize
    poison = _POISONS[target.output_type.itemsize]
    if not target.inputs and tensor.first <= poison < tensor.first + tensor.count and tensor.count < 1 << (width - 2):
        poison ^= 1 << (width - 1)
    return poison
