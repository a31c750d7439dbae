"""Which elements a dispatch visits, and through which windows of the memory.

A storage binding may be smaller than the memory, so work is cut into chunks whose source and target each fit
into one binding. Chunks are boxes of the index space; each is one dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dmlcts.specs import Region, TensorDesc


@dataclass(frozen=True)
class Axis:
    """One dimension: its size, and how far apart neighbours stand in source and target, in elements."""

    size: int
    source: int
    target: int


Axes = tuple[Axis, ...]


def coalesced(source: TensorDesc, target: TensorDesc) -> Axes:
    """The fewest dimensions, the target's strides descending, that visit the same pairs of elements.

    Sizes of one are dropped, and dimensions that run on in both tensors become one; so the last dimension of
    a plain tensor is the only one. A tensor of one element has none.
    """
    axes = sorted(
        (
            Axis(*axis)
            for axis in zip(source.sizes, source.element_strides, target.element_strides, strict=True)
            if axis[0] > 1
        ),
        key=lambda axis: (axis.target, axis.source),
        reverse=True,
    )
    merged: list[Axis] = []
    for axis in axes:
        last = merged[-1] if merged else None
        if last and last.source == axis.size * axis.source and last.target == axis.size * axis.target:
            merged[-1] = Axis(last.size * axis.size, axis.source, axis.target)
        else:
            merged.append(axis)
    return tuple(merged)


def is_packed(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements, numbered in row-major order, stand one after the other."""
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if stride != step:
            return False
        step *= size
    return True


def source_is_flat(axes: Axes) -> bool:
    """Whether the source is read from one end to the other."""
    return is_packed([axis.size for axis in axes], [axis.source for axis in axes])


def target_is_flat(axes: Axes) -> bool:
    """Whether the target is written from one end to the other."""
    return is_packed([axis.size for axis in axes], [axis.target for axis in axes])


def reads_what_it_writes(axes: Axes) -> bool:
    """Whether in place each element is read from the place it is written to, and no two share a place.

    Some layouts that interleave without sharing are taken for ones that share.
    """
    reach = 0
    for axis in reversed(axes):
        if axis.source != axis.target or axis.target <= reach:
            return False
        reach += (axis.size - 1) * axis.target
    return True


@dataclass(frozen=True)
class Chunk:
    """One dispatch: a box of elements, and where it stands.

    Attributes:
        axes: its dimensions.
        source, target: the bytes of the memory to bind.
        source_base, target_base: its first element, in elements from the binding's beginning.
    """

    axes: Axes
    source: Region
    target: Region
    source_base: int
    target_base: int

    @property
    def count(self) -> int:
        """How many elements it has."""
        return math.prod(axis.size for axis in self.axes)


@dataclass(frozen=True)
class Limits:
    """What one binding can hold: ``binding`` bytes, beginning at multiples of ``alignment``; both of 16."""

    binding: int
    alignment: int
    elements: int = 1 << 30


def chunks(axes: Axes, itemsize: int, source: int, target: int, memory: int, limits: Limits) -> Iterator[Chunk]:
    """Cut the work into chunks.

    Args:
        axes: what :func:`coalesced` gives.
        itemsize: bytes of an element.
        source: the source's first byte in the memory.
        target: the target's first byte.
        memory: bytes of the memory, a multiple of 16. It is bound whole wherever that is possible, so that
            what a shader writes astray is seen.
        limits: what one binding can hold.
    """
    if memory <= limits.binding and math.prod(axis.size for axis in axes) <= limits.elements:
        whole = Region(0, memory)
        yield Chunk(axes, whole, whole, source // itemsize, target // itemsize)
        return
    reads, writes = (_span([axis.size for axis in axes], strides) * itemsize for strides in _strides(axes))
    source_window, target_window = _window(source, reads, memory, limits), _window(target, writes, memory, limits)
    fits = max(source_window.size, target_window.size) <= limits.binding
    if fits and math.prod(axis.size for axis in axes) <= limits.elements:
        source_base, target_base = source - source_window.offset, target - target_window.offset
        yield Chunk(axes, source_window, target_window, source_base // itemsize, target_base // itemsize)
        return
    cut = max(range(len(axes)), key=lambda index: _extent(axes[index], fits))
    axis = axes[cut]
    first, rest = axis.size // 2, axis.size - axis.size // 2
    for size, start in ((first, 0), (rest, first)):
        part = (*axes[:cut], *((Axis(size, axis.source, axis.target),) if size > 1 else ()), *axes[cut + 1 :])
        at = source + start * axis.source * itemsize, target + start * axis.target * itemsize
        yield from chunks(part, itemsize, *at, memory, limits)


def _strides(axes: Axes) -> tuple[list[int], list[int]]:
    return [axis.source for axis in axes], [axis.target for axis in axes]


def _span(sizes: Sequence[int], strides: Sequence[int]) -> int:
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def _extent(axis: Axis, fits: bool) -> int:
    """How much there is to gain from halving ``axis``: of what it spans, or where all fits of its length."""
    return axis.size if fits else (axis.size - 1) * max(axis.source, axis.target)


def _window(first: int, size: int, memory: int, limits: Limits) -> Region:
    offset = first // limits.alignment * limits.alignment
    end = min(memory, -(-(first + size) // 16) * 16)
    return Region(offset, end - offset)
