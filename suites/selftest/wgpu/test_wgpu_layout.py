"""How the wgpu backend cuts work into dispatches: every element once, each within what a binding can hold."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.backends.wgpu.layout import (
    Axis,
    Limits,
    chunks,
    coalesced,
    reads_what_it_writes,
    source_is_flat,
    target_is_flat,
)  # fmt: skip
from dmlcts.specs import DataType, TensorDesc

F32 = DataType.FLOAT32


def _pairs(axes: tuple[Axis, ...], source: int = 0, target: int = 0) -> Counter[tuple[int, int]]:
    """The places that are read and written, in elements."""
    return Counter(
        (
            source + sum(index * axis.source for index, axis in zip(at, axes, strict=True)),
            target + sum(index * axis.target for index, axis in zip(at, axes, strict=True)),
        )
        for at in itertools.product(*(range(axis.size) for axis in axes))
    )


@pytest.mark.parametrize(
    "sizes, source, target, expected",
    [
        ([2, 3, 4], None, None, (Axis(24, 1, 1),)),
        ([1, 1], None, None, ()),
        ([2, 3], [3, 1], [4, 1], (Axis(2, 3, 4), Axis(3, 1, 1))),
        ([2, 3], None, [1, 2], (Axis(3, 1, 2), Axis(2, 3, 1))),
        ([4, 5, 6], [0, 6, 1], None, (Axis(4, 0, 30), Axis(30, 1, 1))),
        ([5, 1, 7], [7, 99, 1], [7, 3, 1], (Axis(35, 1, 1),)),
    ],
)
def test_dimensions_that_run_on_become_one(
    sizes: list[int], source: list[int] | None, target: list[int] | None, expected: tuple[Axis, ...]
) -> None:
    assert coalesced(TensorDesc(F32, sizes, source), TensorDesc(F32, sizes, target)) == expected


def test_flat_and_not_flat() -> None:
    assert target_is_flat((Axis(2, 9, 3), Axis(3, 1, 1)))
    assert not source_is_flat((Axis(2, 9, 3), Axis(3, 1, 1)))
    assert not target_is_flat((Axis(2, 9, 4), Axis(3, 1, 1)))
    assert source_is_flat(())
    assert target_is_flat(())


def test_what_may_run_in_place_without_a_copy() -> None:
    assert reads_what_it_writes((Axis(2, 4, 4), Axis(3, 1, 1)))
    assert not reads_what_it_writes((Axis(3, 1, 2), Axis(2, 3, 1)))
    assert not reads_what_it_writes((Axis(2, 2, 2), Axis(3, 1, 1)))


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    order=st.permutations(range(4)),
    gaps=st.lists(st.integers(0, 9), min_size=4, max_size=4),
    broadcast=st.sets(st.integers(0, 3)),
    itemsize=st.sampled_from([1, 2, 4, 8]),
    source=st.integers(0, 20),
    target=st.integers(0, 20),
    binding=st.sampled_from([64, 96, 256, 1 << 20]),
    most=st.sampled_from([1, 3, 50, 1 << 30]),
)
def test_chunks_cover_every_element_once_within_the_limits(
    sizes: list[int], order: list[int], gaps: list[int], broadcast: set[int], itemsize: int,
    source: int, target: int, binding: int, most: int,
) -> None:  # fmt: skip
    data_type = {1: DataType.INT8, 2: DataType.INT16, 4: DataType.INT32, 8: DataType.INT64}[itemsize]
    strides, step = [0] * len(sizes), 1
    for axis in [axis for axis in order if axis < len(sizes)]:
        strides[axis] = step
        step = step * sizes[axis] + gaps[axis]
    read = [0 if axis in broadcast else stride for axis, stride in enumerate(strides)]
    tensors = TensorDesc(data_type, sizes, read), TensorDesc(data_type, sizes, strides)
    axes = coalesced(*tensors)
    starts = 16 * source, 16 * target
    memory = 16 * 21 + max(-(-tensor.total_size_in_bytes // 16) * 16 for tensor in tensors)
    limits = Limits(binding, 32, most)
    visited: Counter[tuple[int, int]] = Counter()
    for chunk in chunks(axes, itemsize, *starts, memory, limits):
        for window in (chunk.source, chunk.target):
            assert window.size <= binding
            assert window.offset % 32 == window.size % 16 == 0
            assert window.end <= memory
        assert chunk.count <= most
        bases = (
            chunk.source.offset // itemsize + chunk.source_base,
            chunk.target.offset // itemsize + chunk.target_base,
        )
        visited += _pairs(chunk.axes, *bases)
        spans = [sum((axis.size - 1) * stride for axis, stride in zip(chunk.axes, of, strict=True)) for of in (
            [axis.source for axis in chunk.axes], [axis.target for axis in chunk.axes])]  # fmt: skip
        assert (chunk.source_base + spans[0] + 1) * itemsize <= chunk.source.size
        assert (chunk.target_base + spans[1] + 1) * itemsize <= chunk.target.size
    assert visited == _pairs(axes, *(start // itemsize for start in starts))
    assert visited.total() == math.prod(sizes)


def test_a_memory_that_fits_is_bound_whole() -> None:
    (chunk,) = chunks((Axis(8, 1, 1),), 4, 32, 96, 4096, Limits(4096, 32))
    assert (chunk.source.size, chunk.target.size, chunk.source_base, chunk.target_base) == (4096, 4096, 8, 24)
