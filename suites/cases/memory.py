"""The memory that a case is dispatched on: guards, poison, and what became of them.

Stray writes are detected by :meth:`Arena.strays`: it compares all bytes outside the output with what stood there.

The *poison* is what an output holds before its dispatch. It must reveal nothing of what is right: an implementation
that reads it, and computes nothing, would hold every clause. :class:`Masks` draws what changes the expected outputs.
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dmlcts.specs import Region, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import repeated

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

_BASE_ALIGNMENT = 4096
_FEW_BYTES = 1 << 16  # so many are copied sooner than an array operation begins
_BLOCK = 1 << 16  # numbers compared at once, so that what that leaves stays in the cache
_PATTERN_BYTES = (1 << 20) + 7  # odd, so that the pattern's repetition never falls in step with a tensor's
_TURN_BYTES = 104_729  # a prime: by so much the pattern is turned from one dispatch of a relation to the next
_STOCK_BYTES = 1 << 16
_MASK_ELEMENTS = 64  # elements by which steady masks know a dispatch
_INNER_BITS = np.uint64(0x7E7E_7E7E_7E7E_7E7E)
_HIGHEST_BITS = np.uint64(0x8080_8080_8080_8080)
_ONE = np.uint64(1)


@lru_cache(maxsize=1)
def _pattern() -> Bytes:
    pattern = np.random.Generator(np.random.PCG64(0xD317)).integers(1, 255, _PATTERN_BYTES, np.uint8)
    pattern.setflags(write=False)
    return pattern


def private_memory(size: int) -> Bytes:
    """``size`` bytes of this process alone, the first one at a page boundary, of any content."""
    raw = np.empty(size + _BASE_ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _BASE_ALIGNMENT
    return raw[start : start + size]


def aligned_memory(
    size: int,
    allocate: Callable[[int], Bytes] = private_memory,
    turn: int = 0,
    written: Iterable[tuple[int, int]] = (),
) -> Bytes:
    """``size`` bytes whose first one stands at a page boundary, filled with a fixed pseudo-random pattern.

    Args:
        size: how many.
        allocate: gives so many bytes at a page boundary.
        turn: memories of unlike turns hold unlike bytes at the same places.
        written: where stretches begin and end that the caller fills, and that may hold anything.
    """
    memory = allocate(size)
    begin = 0
    for start, end in (*sorted(written), (size, size)):
        _fill(memory[: max(start, begin)], begin, turn)
        begin = max(begin, end)
    return memory


def _fill(memory: Bytes, begin: int, turn: int) -> None:
    """Let the memory hold the pattern of its turn from ``begin`` on."""
    pattern = _pattern()
    offset = (begin + turn * _TURN_BYTES) % pattern.size
    while begin < memory.size:
        part = pattern[offset : offset + memory.size - begin]
        memory[begin : begin + part.size] = part
        begin, offset = begin + part.size, 0


class Masks:
    """Draws masks: what the bytes of expected outputs are changed by before a dispatch, for each dispatch another.

    They come from a source outside the seed, so that nothing of them follows from what an implementation is given.
    Every byte of a mask has one of its bits 1 to 6 set: no byte stands where it is expected, and what is written in
    part shows in each part. The other two bits of a byte are even chances by themselves. So the poison of a truth value
    (0 or 1) and of a sign reveals nothing, and of any other byte thousands of dispatches reveal bits 1 to 6 at most.
    A mask repeats after 64 KiB: whoever knows nothing of what is right knows no more of it for that.

    Args:
        key: what all masks follow from; ``None`` for random bytes of the system.
        steady: let the mask of a dispatch follow from its inputs, so that one that is done again comes out the same,
            and one element after another may show what an implementation makes of its output.
    """

    def __init__(self, key: int | None = None, *, steady: bool = False) -> None:
        self._generator = np.random.SFC64(int.from_bytes(secrets.token_bytes(32), "little") if key is None else key)
        self._steady = steady
        self._stock = np.zeros(0, np.uint64)

    def mask(self, size: int, inputs: Array) -> Mask:
        """The mask of one dispatch.

        Args:
            size: how many bytes its outputs have.
            inputs: 1-D, elements that it is given.
        """
        place = zlib.crc32(inputs[:_MASK_ELEMENTS].tobytes()) % (_STOCK_BYTES // 8) if self._steady else 0
        return Mask(self._taken(-(-min(size, _STOCK_BYTES) // 8), place))

    def _taken(self, words: int, place: int) -> NDArray[np.uint64]:
        if self._stock.size < place + words:
            self._stock = _drawn(self._generator, _STOCK_BYTES // 8 * (1 + self._steady))
            self._stock.setflags(write=False)
        taken = self._stock[place : place + words]
        if not self._steady:
            self._stock = self._stock[words:]
        return taken


@dataclass(frozen=True)
class Mask:
    """The mask of one dispatch.

    Attributes:
        words: its bytes, 64-bit; those of many outputs repeat.
    """

    words: NDArray[np.uint64]

    def over(self, values: Array, out: Array | None = None) -> Array:
        """The values changed by the mask; changed once more they are what they were.

        Args:
            values: 1-D, contiguous: the outputs, or a piece of many that begins where the mask does.
            out: 1-D, contiguous, of the values' type, where they go; by default a new array.
        """
        bits = np.dtype(f"u{values.dtype.itemsize}")
        source, mask = values.view(bits), self.words.view(bits)
        changed = np.empty(values.size, bits) if out is None else out.view(bits)
        if values.size <= mask.size:
            np.bitwise_xor(source, mask[: values.size], out=changed)
            return changed.view(values.dtype)
        whole, rows = values.size // mask.size * mask.size, (-1, mask.size)
        np.bitwise_xor(source[:whole].reshape(rows), mask, out=changed[:whole].reshape(rows))
        np.bitwise_xor(source[whole:], mask[: values.size - whole], out=changed[whole:])
        return changed.view(values.dtype)


def _drawn(generator: np.random.SFC64, words: int) -> NDArray[np.uint64]:
    drawn: NDArray[np.uint64] = generator.random_raw(words)
    without = drawn & _INNER_BITS
    without += _INNER_BITS
    np.invert(without, out=without)
    without &= _HIGHEST_BITS  # of each byte without one of its bits 1 to 6
    without >>= _ONE
    return drawn ^ without


def drawn_masks() -> Masks:
    """The masks of this process, which nobody can foresee."""
    return _masks_of(os.getpid())  # a forked process has others


@lru_cache(maxsize=1)
def _masks_of(process: int) -> Masks:
    return Masks()


@lru_cache(maxsize=1)
def steady_masks() -> Masks:
    """Masks that are the same in every process: for a case that was found wrong and is judged again for the report."""
    return Masks(0xD317, steady=True)


def _same(now: Bytes, before: Bytes) -> bool:
    """Whether two stretches of equal length hold the same."""
    if now.size <= _FEW_BYTES:
        return now.tobytes() == before.tobytes()
    whole = now.size // 4 * 4  # four bytes at a time; tensors and guards end on them
    current, other = now[:whole].view(np.uint32), before[:whole].view(np.uint32)
    return now[whole:].tobytes() == before[whole:].tobytes() and all(
        bool((current[start : start + _BLOCK] == other[start : start + _BLOCK]).all())
        for start in range(0, current.size, _BLOCK)
    )


def elements(memory: Bytes, region: Region, tensor: TensorDesc) -> Array:
    """A view of the tensor's elements in ``memory``, in the tensor's shape."""
    item = tensor.data_type.itemsize
    strides = tuple(stride * item for stride in tensor.element_strides)
    return np.ndarray(tensor.sizes, tensor.data_type.numpy, memory, region.offset, strides)


def distinct_elements(memory: Bytes, region: Region, tensor: TensorDesc) -> Array:
    """Like :func:`elements`, without the repetitions that strides of zero make."""
    view = elements(memory, region, tensor)
    return view[tuple(slice(None) if stride else slice(0, 1) for stride in tensor.element_strides)]


def _logical(memory: Bytes, region: Region, tensor: TensorDesc, count: int) -> Array:
    """A tensor's elements, 1-D, or its only one ``count`` times; a view where they are packed, or there is one."""
    flat_elements = np.ascontiguousarray(elements(memory, region, tensor)).reshape(-1)
    return flat_elements if flat_elements.size != 1 or count == 1 else np.broadcast_to(flat_elements, count)


def period_of(case: Case) -> int:
    """After how many elements all inputs repeat, apart from those of one element; 0 where nobody knows."""
    wide = {name: tensor for name, tensor in case.operator.inputs.items() if tensor.element_count > 1}
    periods = {case.values[name].period for name in wide}
    many_times = any(
        not stride and size > 1
        for tensor in wide.values()
        for stride, size in zip(tensor.element_strides, tensor.sizes, strict=True)
    )
    return 0 if len(periods) != 1 or many_times else periods.pop()


@dataclass(frozen=True)
class Arena:
    """A memory made ready for one dispatch.

    Attributes:
        memory: the bytes that the implementation is given.
        before: a copy of them.
        bindings: the regions by tensor name.
        inputs: the logical elements of each input by tensor name, 1-D in row-major order; a tensor of one element is
            repeated for every element of the output. They are views of ``before`` where the tensor is packed.
    """

    memory: Bytes
    before: Bytes
    bindings: Mapping[str, Region]
    inputs: dict[str, Array]

    @property
    def x(self) -> Array:
        """The logical elements of the first input."""
        return next(iter(self.inputs.values()))

    @classmethod
    def prepare(
        cls,
        case: Case,
        allocate: Callable[[int], Bytes] = private_memory,
        turn: int = 0,
        *,
        poisoned: bool = False,
    ) -> Arena:
        """Lay out and fill the memory of ``case``; guards, gaps and the output hold a fixed pattern.

        Args:
            case: what will be dispatched.
            allocate: gives so many bytes at a page boundary.
            turn: dispatches of unlike turns find unlike bytes in their outputs.
            poisoned: whether the caller fills all output elements, so that they may hold anything until then.
        """
        operator = case.operator
        bindings, size = case.placement.regions(operator)
        large = (
            []
            if size <= _FEW_BYTES
            else [
                (bindings[name].offset, bindings[name].offset + tensor.element_count * tensor.data_type.itemsize)
                for name, tensor in operator.tensors.items()
                if tensor.strides is None and (name in case.values or (poisoned and name == operator.output_name))
            ]
        )
        memory = aligned_memory(size, allocate, turn, large)
        for name, values in case.values.items():
            stored = distinct_elements(memory, bindings[name], operator.tensors[name])
            if stored.flags.c_contiguous:
                values.fill(stored.reshape(-1))
            else:
                stored[...] = values.array(stored.size).reshape(stored.shape)
        count = operator.output.element_count
        inputs = {name: _logical(memory, bindings[name], operator.tensors[name], count) for name in case.values}
        return cls(memory, memory, bindings, inputs)

    def fill_output(self, case: Case, poison: Array, start: int = 0) -> None:
        """Let output elements hold what they must not hold after the dispatch; in place they hold the input.

        Args:
            case: the case that the arena was prepared for.
            poison: 1-D, of the output's type, what the elements hold before; fewer than all of a packed tensor's.
            start: the first element that it is for.
        """
        if case.placement.in_place:
            return
        target = case.operator.output
        view = elements(self.memory, self.bindings[case.operator.output_name], target)
        if poison.size < target.element_count:
            view.reshape(-1)[start : start + poison.size] = poison
        else:
            view[...] = poison.reshape(target.sizes)

    def mask_output(self, case: Case, mask: Mask, outputs: Array, piece: int) -> None:
        """Let output elements hold what a mask makes of the expected ones.

        Args:
            case: the case that the arena was prepared for; out of place.
            mask: the mask.
            outputs: one acceptable output for each element; where they are fewer, they repeat.
            piece: how many elements of a packed output are masked at once.
        """
        target = case.operator.output
        view, count = elements(self.memory, self.bindings[case.operator.output_name], target), target.element_count
        if target.strides is not None:
            whole = outputs if outputs.size == count else repeated(outputs, count)
            view[...] = mask.over(whole).reshape(target.sizes)
            return
        flat, period = view.reshape(-1), outputs.size
        wound = outputs if period == count else repeated(outputs, min(period + piece, count))
        for start in range(0, count, piece):
            end, first = min(start + piece, count), start % period
            mask.over(wound[first : first + end - start], flat[start:end])

    def poisoned(self, case: Case, poison: Array | None = None) -> Arena:
        """The arena as it is to be dispatched on, with a copy of its memory.

        Args:
            case: the case that the arena was prepared for.
            poison: as :meth:`fill_output` takes it; ``None`` leaves what the elements hold.
        """
        if poison is not None:
            self.fill_output(case, poison)
        before = self.memory.copy()
        count = case.operator.output.element_count
        inputs = {
            name: _logical(before, self.bindings[name], case.operator.tensors[name], count)
            if np.may_share_memory(array, self.memory)
            else array  # the dispatch may change what stands in the memory
            for name, array in self.inputs.items()
        }
        return Arena(self.memory, before, self.bindings, inputs)

    def output(self, case: Case) -> Array:
        """The logical output elements, 1-D in row-major order (a copy where strides ask for one)."""
        target = case.operator.output
        view = elements(self.memory, self.bindings[case.operator.output_name], target)
        return np.ascontiguousarray(view).reshape(-1)

    def poison(self, case: Case) -> Array:
        """What the output elements held before the dispatch, 1-D in row-major order."""
        target = case.operator.output
        return np.ascontiguousarray(elements(self.before, self.bindings[case.operator.output_name], target)).reshape(-1)

    def strays(self, case: Case) -> tuple[list[int], list[int]]:
        """Offsets of bytes changed outside the output's total size: inside inputs it does not alias, and elsewhere."""
        target = self.bindings[case.operator.output_name]
        end = target.offset + case.operator.output.total_size_in_bytes
        if _same(self.memory[: target.offset], self.before[: target.offset]) and _same(
            self.memory[end:], self.before[end:]
        ):
            return [], []
        changed = np.flatnonzero(self.memory != self.before)
        changed = changed[(changed < target.offset) | (changed >= end)]
        within = np.zeros(changed.shape, bool)
        for name, tensor in case.operator.inputs.items():
            start = self.bindings[name].offset  # in place it is the output's, whose bytes are no strays
            within |= (changed >= start) & (changed < start + tensor.total_size_in_bytes)
        return changed[within].tolist(), changed[~within].tolist()

    def padding_changed(self, case: Case) -> bool | None:
        """Whether bytes inside the output's total size that hold no element changed; ``None`` if there are none."""
        tensor, region = case.operator.output, self.bindings[case.operator.output_name]
        holds = np.zeros(tensor.total_size_in_bytes, bool)
        item = tensor.data_type.itemsize
        strides = (*(stride * item for stride in tensor.element_strides), 1)
        as_strided(holds, (*tensor.sizes, item), strides)[...] = True
        if holds.all():
            return None
        span = slice(region.offset, region.offset + tensor.total_size_in_bytes)
        return bool((self.memory[span] != self.before[span])[~holds].any())
