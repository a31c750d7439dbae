"""Layouts: elements may be visited in any order, so every layout is first made as flat as it can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from dmlcts.specs import TensorDesc


@dataclass(frozen=True, eq=False)
class Layout:
    """How the elements of some inputs and of an output are visited together.

    Attributes:
        shape: along how many elements in each dimension; at least one dimension.
        target: the output's strides, in bytes.
        sources: of each input the strides, in bytes, and whether the operator may run element by element where the
            input begins where the output does: each element is read from the very place it is written to, and nothing
            else is written there before.
    """

    shape: tuple[int, ...]
    target: tuple[int, ...]
    sources: tuple[tuple[tuple[int, ...], bool], ...]

    @classmethod
    def of(cls, inputs: Sequence[TensorDesc], output: TensorDesc) -> Layout:
        """The layout of tensors whose elements go together."""
        shape, strides = coalesced(inputs, output)
        disjoint = is_disjoint(shape, strides[-1])
        target = _steps(output, strides[-1])
        read = [_steps(tensor, tensor_strides) for tensor, tensor_strides in zip(inputs, strides, strict=False)]
        return cls(shape, target, tuple([(steps, disjoint and steps == target) for steps in read]))


def _steps(tensor: TensorDesc, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in bytes."""
    size = tensor.data_type.itemsize
    return tuple([stride * size for stride in strides])


def coalesced(inputs: Sequence[TensorDesc], output: TensorDesc) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The fewest dimensions, largest output stride first, that visit the same elements together.

    A tensor that has one element along a dimension where the output has more gives it to all of them.

    Returns:
        Sizes, and the strides of each tensor, in elements, the output last; at least one dimension.
    """
    tensors = (output, *inputs)
    whole = output.sizes
    if all(tensor.strides is None and tensor.sizes == whole for tensor in tensors):
        return (output.element_count,), [(1,)] * len(tensors)
    columns = [tensor.element_strides if tensor.sizes == whole else _spread(tensor) for tensor in tensors]
    axes = [axis for axis in zip(whole, *columns, strict=True) if axis[0] > 1]
    axes.sort(key=_STEPS, reverse=True)
    merged: list[tuple[int, ...]] = []
    for axis in axes:
        size, *steps = axis
        if merged and merged[-1][1:] == tuple([size * step for step in steps]):
            merged[-1] = (merged[-1][0] * size, *steps)
        else:
            merged.append(axis)
    sizes, written, *read = zip(*merged or [(1,) * (1 + len(tensors))], strict=True)
    return sizes, [*read, written]


_STEPS = itemgetter(slice(1, None))


def _spread(tensor: TensorDesc) -> tuple[int, ...]:
    """The strides of a tensor, 0 along dimensions of one element."""
    return tuple([step if size > 1 else 0 for size, step in zip(tensor.sizes, tensor.element_strides, strict=True)])


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
