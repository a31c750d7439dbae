"""Which elements a dispatch visits, and through which windows of the memory.

A storage binding may be smaller than the memory, so work is cut into chunks whose sources and target each fit
into one binding. Chunks are boxes of the index space; each is one dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dmlcts.specs import Region, TensorDesc


@dataclass(frozen=True)
class Axis:
    """One dimension: its size, and how far apart neighbours stand in each source and in the target, in elements."""

    size: int
    sources: tuple[int, ...]
    target: int


Axes = tuple[Axis, ...]


def coalesced(sources: Sequence[TensorDesc], target: TensorDesc) -> Axes:
    """The fewest dimensions, the target's strides descending, that visit the same elements together.

    A source may have size 1 where the target has more: then its element is taken for all of them.
    Sizes of one are dropped, and dimensions that run on in every tensor become one; so the last dimension of
    plain tensors is the only one. Tensors of one element have none. Sizes and strides are in elements.
    """
    strides = [
        [stride if size > 1 else 0 for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True)]
        for tensor in sources
    ]
    axes = sorted(
        (
            Axis(size, tuple(of[dimension] for of in strides), target.element_strides[dimension])
            for dimension, size in enumerate(target.sizes)
            if size > 1
        ),
        key=lambda axis: (axis.target, axis.sources),
        reverse=True,
    )
    merged: list[Axis] = []
    for axis in axes:
        last = merged[-1] if merged else None
        whole = tuple(axis.size * stride for stride in axis.sources)
        if last and last.sources == whole and last.target == axis.size * axis.target:
            merged[-1] = Axis(last.size * axis.size, axis.sources, axis.target)
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


def source_is_flat(axes: Axes, source: int = 0) -> bool:
    """Whether the source of that number is read from one end to the other."""
    return is_packed([axis.size for axis in axes], [axis.sources[source] for axis in axes])


def target_is_flat(axes: Axes) -> bool:
    """Whether the target is written from one end to the other."""
    return is_packed([axis.size for axis in axes], [axis.target for axis in axes])


def reads_what_it_writes(axes: Axes, source: int = 0) -> bool:
    """Whether on the target's memory each element of that source is read where it is written, and none share a place.

    Some layouts that interleave without sharing are taken for ones that share.
    """
    reach = 0
    for axis in reversed(axes):
        if axis.sources[source] != axis.target or axis.target <= reach:
            return False
        reach += (axis.size - 1) * axis.target
    return True


@dataclass(frozen=True)
class Place:
    """Where a tensor, or a chunk's part of it, begins: its first byte in the memory, and the bytes of an element."""

    start: int
    itemsize: int


@dataclass(frozen=True)
class Window:
    """What is bound for one tensor: the bytes of the memory, and the first element, counted in elements from there."""

    region: Region
    base: int


@dataclass(frozen=True)
class Chunk:
    """One dispatch: a box of elements, and where it stands."""

    axes: Axes
    sources: tuple[Window, ...]
    target: Window

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


def chunks(axes: Axes, sources: Sequence[Place], target: Place, memory: int, limits: Limits) -> Iterator[Chunk]:
    """Cut the work into chunks.

    Args:
        axes: what :func:`coalesced` gives.
        sources: where the sources begin.
        target: where the target begins.
        memory: bytes of the memory, a multiple of 16. It is bound whole wherever that is possible, so that
            what a shader writes astray is seen.
        limits: what one binding can hold.
    """
    few = math.prod(axis.size for axis in axes) <= limits.elements
    places = (*sources, target)
    if memory <= limits.binding and few:
        whole = Region(0, memory)
        windows = [Window(whole, place.start // place.itemsize) for place in places]
        yield Chunk(axes, tuple(windows[:-1]), windows[-1])
        return
    strides = [*([axis.sources[number] for axis in axes] for number in range(len(sources)))]
    strides.append([axis.target for axis in axes])
    windows = [
        _window(place, _span([axis.size for axis in axes], of), memory, limits)
        for place, of in zip(places, strides, strict=True)
    ]
    fits = max(window.region.size for window in windows) <= limits.binding
    if fits and few:
        yield Chunk(axes, tuple(windows[:-1]), windows[-1])
        return
    cut = max(range(len(axes)), key=lambda index: _extent(axes[index], places, fits))
    axis = axes[cut]
    first, rest = axis.size // 2, axis.size - axis.size // 2
    for size, begin in ((first, 0), (rest, first)):
        part = (*axes[:cut], *((Axis(size, axis.sources, axis.target),) if size > 1 else ()), *axes[cut + 1 :])
        moved = [
            Place(place.start + begin * stride * place.itemsize, place.itemsize)
            for place, stride in zip(places, (*axis.sources, axis.target), strict=True)
        ]
        yield from chunks(part, moved[:-1], moved[-1], memory, limits)


def _span(sizes: Sequence[int], strides: Sequence[int]) -> int:
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def _extent(axis: Axis, places: Sequence[Place], fits: bool) -> int:
    """How much there is to gain from halving ``axis``: of the bytes it spans, or where all fits of its length."""
    if fits:
        return axis.size
    steps = [place.itemsize * stride for place, stride in zip(places, (*axis.sources, axis.target), strict=True)]
    return (axis.size - 1) * max(steps)


def _window(place: Place, elements: int, memory: int, limits: Limits) -> Window:
    offset = place.start // limits.alignment * limits.alignment
    end = min(memory, -(-(place.start + elements * place.itemsize) // 16) * 16)
    return Window(Region(offset, end - offset), (place.start - offset) // place.itemsize)
