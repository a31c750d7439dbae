"""Layouts: elements may be visited in any order, so every layout is first made as flat as it can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dmlcts.specs import TensorDesc


def coalesced(inputs: Sequence[TensorDesc], output: TensorDesc) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The fewest dimensions, largest output stride first, that visit the same elements together.

    A tensor that has one element along a dimension where the output has more gives it to all of them.

    Returns:
        Sizes, and the strides of each tensor, in elements, the output last; at least one dimension.
    """
    tensors = (output, *inputs)
    axes = []
    for axis, size in enumerate(output.sizes):
        if size > 1:
            axes.append((size, *(one.element_strides[axis] if one.sizes[axis] > 1 else 0 for one in tensors)))
    axes.sort(key=lambda axis: axis[1:], reverse=True)
    merged: list[tuple[int, ...]] = []
    for size, *steps in axes:
        if merged and all(outer == size * step for outer, step in zip(merged[-1][1:], steps, strict=True)):
            merged[-1] = (merged[-1][0] * size, *steps)
        else:
            merged.append((size, *steps))
    sizes, written, *read = zip(*merged or [(1,) * (1 + len(tensors))], strict=True)
    return sizes, [*read, written]


def is_disjoint(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two elements share a place, judged by each stride reaching past all smaller ones.

    ``strides`` descend. Some layouts that interleave without touching are reported as sharing.
    """
    reach = 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def blocks(sizes: tuple[int, ...], most: int) -> Iterator[tuple[int | slice, ...]]:
    """Indices of blocks that hold at most ``most`` elements each and cover ``sizes`` once."""
    axis = 0
    while math.prod(sizes[axis + 1 :]) > most:
        axis += 1
    step = most // math.prod(sizes[axis + 1 :])
    for outer in np.ndindex(sizes[:axis]):
        for start in range(0, sizes[axis], step):
            yield (*outer, slice(start, start + step))
