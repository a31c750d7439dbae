"""A plain implementation with streams, made to be broken: each step of a stream is a method that a mutant overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.backends import DeviceInfo
from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


class Streaming(Reference):
    """Right, and its kernels have streams."""

    opened = 0

    @property
    def info(self) -> DeviceInfo:
        """With streams."""
        return DeviceInfo(
            name=type(self).__name__, feature_level=self.level, library="mutant of numpy", details={"streams": True}
        )

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel with streams."""
        super().create(operator)
        return StreamingKernel(self, operator)

    # -- streams, step by step ---------------------------------------------------------------------

    def opening(self) -> None:
        """A stream is opened."""

    def filled(self, bits: Array, first: int) -> None:
        """Write consecutive patterns."""
        bits[...] = np.arange(first, first + bits.size, dtype=np.uint64).astype(bits.dtype)

    def moved(self, bits: Array, step: int) -> None:
        """Add to every element."""
        bits += bits.dtype.type(step)

    def poisoned(self, words: Array, poison: int) -> None:
        """Fill the output."""
        words[...] = poison

    def ran(self, kernel: Kernel, memory: Array, bindings: Mapping[str, Region]) -> None:
        """Run the kernel in the stream."""
        kernel.dispatch(memory, bindings)

    def brought(self, window: Array) -> Any:
        """What comes back."""
        return window.copy()


class StreamingKernel(Kernel):
    """A kernel with streams."""

    device: Streaming

    def stream(self, memory: Array, bindings: Mapping[str, Region], slots: int) -> Stream:
        """Open a stream."""
        type(self.device).opened += 1
        self.device.opening()
        return Stream(self, memory.copy(), dict(bindings), slots)


class Stream:
    """A stream of a :class:`Streaming`, which does at once what it is asked for."""

    def __init__(self, kernel: StreamingKernel, memory: Array, bindings: dict[str, Region], slots: int) -> None:
        self._kernel, self._memory, self._bindings = kernel, memory, bindings
        self._slots: list[Any] = [None] * slots
        source, target = bindings["InputTensor"], bindings["OutputTensor"]
        bits = kernel.operator.input.data_type.bits_dtype
        self._input = memory[source.offset : source.end].view(bits)
        self._output = memory[target.offset : target.end].view(np.uint32)

    def fill(self, first: int) -> None:
        """Consecutive patterns."""
        self._kernel.device.filled(self._input, first)

    def submit(self, slot: int, window: Region, *, step: int = 0, poison: int | None = None, run: bool = True) -> None:
        """Prepare, run, bring back."""
        device = self._kernel.device
        assert self._slots[slot] is None, "the slot is taken"
        device.moved(self._input, step)
        if poison is not None:
            device.poisoned(self._output, poison)
        if run:
            device.ran(self._kernel, self._memory, self._bindings)
        self._slots[slot] = device.brought(self._memory[window.offset : window.end])

    def wait(self, slot: int) -> Any:
        """It is there."""
        return self._slots[slot]

    def release(self, slot: int) -> None:
        """Not looked at any more: what looks at it all the same sees garbage."""
        if isinstance(self._slots[slot], np.ndarray):
            self._slots[slot].fill(0xEE)
        self._slots[slot] = None

    def close(self) -> None:
        """Nothing is held."""
