"""Implementations that compute nothing: they answer with what stands in the memory that they are given.

Each descends from :class:`Reads`, which reads all of the memory and writes what its :meth:`answer` makes of the output.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.mutants.reference import Array, Reference

Bits = NDArray[Any]


class Right(Reference):
    """The control: it computes."""

    level = "6.4"


class Reads(Right):
    """Reads everything and computes nothing."""

    def dispatch(self, operator: Any, memory: Array, bindings: Any) -> None:
        """Put an answer where something stands."""
        output = operator.output
        view = self.view(memory, bindings[operator.output_name], output)
        previous_bits = np.ascontiguousarray(view).reshape(-1).view(output.data_type.bits_dtype)
        inputs = [
            np.ascontiguousarray(self.view(memory, bindings[name], tensor)).reshape(-1)
            for name, tensor in operator.inputs.items()
        ]
        input_bits = np.stack(
            [
                np.broadcast_to(array.view(f"u{array.itemsize}"), previous_bits.shape).astype(np.uint64)
                for array in inputs
            ]
        )
        answer = self.answer(repr(operator.attributes), memory, input_bits, previous_bits.copy())
        view[...] = answer.astype(previous_bits.dtype).view(view.dtype).reshape(view.shape)

    def dispatch_exact(self, operator: Any, table: Any, memory: Array, bindings: Any) -> None:
        """The same of every operator."""
        self.dispatch(operator, memory, bindings)

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """Bits for the output.

        Args:
            asked: the attributes.
            memory: all of it.
            input_bits: the bits of the inputs' elements, a row an input.
            previous_bits: what stands in the output.
        """
        raise NotImplementedError


class Inverts(Reads):
    """Gives the complement of what stands there."""

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """Every bit turned over."""
        return ~previous_bits


class InvertsLowestBits(Reads):
    """Gives a truth value: the lowest bit of what stands there, turned over."""

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """0 or 1."""
        return ~previous_bits & 1


class KeepsATable(Reads):
    """Gives, for each input, the complement of what the bits were most often that stood in its outputs so far."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, bytes], Bits] = {}

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """By the table; an input that it has not met comes into it."""
        width = 8 * previous_bits.itemsize
        answers = np.empty_like(previous_bits)
        bits = (previous_bits[:, None] >> np.arange(width, dtype=previous_bits.dtype)) & 1
        for place, column in enumerate(np.ascontiguousarray(input_bits.T)):
            key = (asked, column.tobytes())
            count = self.counts.setdefault(key, np.zeros(width, np.int64))
            count += 2 * bits[place].astype(np.int64) - 1
            answers[place] = sum(1 << bit for bit in range(width) if count[bit] < 0)
        return answers


class InvertsTheDispatchBefore(Reads):
    """Gives the complement of what stood in the output of the dispatch before, where that had as many elements."""

    def __init__(self) -> None:
        self.before: Bits | None = None

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """What it found last, or else what it finds."""
        last, self.before = self.before, previous_bits
        return ~(
            last
            if last is not None and last.shape == previous_bits.shape and last.dtype == previous_bits.dtype
            else previous_bits
        )


class TakesTheGuardsForAMask(Reads):
    """Gives what stands there, changed by the bytes at the beginning of the memory: guards."""

    def answer(self, asked: str, memory: Array, input_bits: Bits, previous_bits: Bits) -> Bits:
        """As if the guards held the mask."""
        return previous_bits ^ np.resize(memory[:256].view(previous_bits.dtype), previous_bits.shape)


class LeavesTheLast(Right):
    """Computes, but leaves the last of more than four elements as it was."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """All but one."""
        view = self.view(memory, region, tensor)
        last = (*(size - 1 for size in tensor.sizes),)
        left = view[last]
        view[...] = values
        if values.size > 4:
            view[last] = left


class WritesLowBytes(Right):
    """Computes, but of more than four elements leaves all bytes other than the lowest as they were."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """A byte of each element."""
        view = self.view(memory, region, tensor)
        if values.size > 4:
            bits = np.ascontiguousarray(values).view(tensor.data_type.bits_dtype)
            stood = np.ascontiguousarray(view).view(bits.dtype)
            values = ((bits & 0xFF) | (stood & ~bits.dtype.type(0xFF))).view(view.dtype)
        view[...] = values
