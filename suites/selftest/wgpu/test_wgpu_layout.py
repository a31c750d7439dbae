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
    Place,
    Window,
    chunks,
    coalesced,
    reads_what_it_writes,
    source_is_flat,
    target_is_flat,
)
from dmlcts.specs import DataType, Region, TensorDesc

F32 = DataType.FLOAT32


def _strides(axes: tuple[Axis, ...]) -> list[list[int]]:
    """The strides of two sources and of the target."""
    return [[axis.sources[0] for axis in axes], [axis.sources[1] for axis in axes], [axis.target for axis in axes]]


def _visited(axes: tuple[Axis, ...], bases: list[int]) -> Counter[tuple[int, ...]]:
    """The places, in elements, of the two sources and of the target that are visited together."""
    return Counter(
        tuple(
            base + sum(index * stride for index, stride in zip(at, strides, strict=True))
            for base, strides in zip(bases, _strides(axes), strict=True)
        )
        for at in itertools.product(*(range(axis.size) for axis in axes))
    )


@pytest.mark.parametrize(
    "sizes, source, target, expected",
    [
        ([2, 3, 4], None, None, (Axis(24, (1,), 1),)),
        ([1, 1], None, None, ()),
        ([2, 3], [3, 1], [4, 1], (Axis(2, (3,), 4), Axis(3, (1,), 1))),
        ([2, 3], None, [1, 2], (Axis(3, (1,), 2), Axis(2, (3,), 1))),
        ([4, 5, 6], [0, 6, 1], None, (Axis(4, (0,), 30), Axis(30, (1,), 1))),
        ([5, 1, 7], [7, 99, 1], [7, 3, 1], (Axis(35, (1,), 1),)),
    ],
)
def test_dimensions_that_run_on_become_one(
    sizes: list[int], source: list[int] | None, target: list[int] | None, expected: tuple[Axis, ...]
) -> None:
    assert coalesced([TensorDesc(F32, sizes, source)], TensorDesc(F32, sizes, target)) == expected


def test_flat_and_not_flat() -> None:
    assert target_is_flat((Axis(2, (9,), 3), Axis(3, (1,), 1)))
    assert not source_is_flat((Axis(2, (9,), 3), Axis(3, (1,), 1)))
    assert not target_is_flat((Axis(2, (9,), 4), Axis(3, (1,), 1)))
    assert source_is_flat(())
    assert target_is_flat(())


def test_what_may_run_in_place_without_a_copy() -> None:
    assert reads_what_it_writes((Axis(2, (4,), 4), Axis(3, (1,), 1)))
    assert not reads_what_it_writes((Axis(3, (1,), 2), Axis(2, (3,), 1)))
    assert not reads_what_it_writes((Axis(2, (2,), 2), Axis(3, (1,), 1)))


def test_every_source_is_heard() -> None:
    packed, column, row = (TensorDesc(F32, [2, 3], strides) for strides in (None, [1, 2], [0, 1]))
    assert coalesced([packed, packed], packed) == (Axis(6, (1, 1), 1),)
    axes = coalesced([packed, column, row], packed)
    assert axes == (Axis(2, (3, 1, 0), 3), Axis(3, (1, 2, 1), 1))
    assert [source_is_flat(axes, number) for number in range(3)] == [True, False, False]
    assert [reads_what_it_writes(axes, number) for number in range(3)] == [True, False, False]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    orders=st.lists(st.permutations(range(4)), min_size=3, max_size=3),
    gaps=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=3, max_size=3),
    broadcast=st.lists(st.sets(st.integers(0, 3)), min_size=2, max_size=2),
    data_types=st.lists(st.sampled_from([DataType.INT8, DataType.INT16, F32, DataType.INT64]), min_size=3, max_size=3),
    starts=st.lists(st.integers(0, 20), min_size=3, max_size=3),
    binding=st.sampled_from([64, 96, 256, 1 << 20]),
    most=st.sampled_from([1, 3, 50, 1 << 30]),
)
def test_chunks_cover_every_element_once_within_the_limits(
    sizes: list[int],
    orders: list[list[int]],
    gaps: list[list[int]],
    broadcast: list[set[int]],
    data_types: list[DataType],
    starts: list[int],
    binding: int,
    most: int,
) -> None:
    """Two sources and the target, each with strides and a type of its own."""
    tensors = []
    for order, gap, data_type, zero in zip(orders, gaps, data_types, (*broadcast, set()), strict=True):
        strides, step = [0] * len(sizes), 1
        for axis in [axis for axis in order if axis < len(sizes)]:
            strides[axis] = 0 if axis in zero else step
            step = step * sizes[axis] + gap[axis]
        tensors.append(TensorDesc(data_type, sizes, strides))
    axes = coalesced(tensors[:-1], tensors[-1])
    places = [Place(16 * start, data_type.itemsize) for start, data_type in zip(starts, data_types, strict=True)]
    memory = 16 * 21 + max(-(-tensor.total_size_in_bytes // 16) * 16 for tensor in tensors)
    visited: Counter[tuple[int, ...]] = Counter()
    for chunk in chunks(axes, places[:-1], places[-1], memory, Limits(binding, 32, most)):
        windows = (*chunk.sources, chunk.target)
        assert chunk.count <= most
        for place, window, strides in zip(places, windows, _strides(chunk.axes), strict=True):
            assert window.region.size <= binding
            assert window.region.offset % 32 == window.region.size % 16 == 0
            assert window.region.end <= memory
            span = sum((axis.size - 1) * stride for axis, stride in zip(chunk.axes, strides, strict=True))
            assert (window.base + span + 1) * place.itemsize <= window.region.size
        bases = [
            window.region.offset // place.itemsize + window.base for window, place in zip(windows, places, strict=True)
        ]
        visited += _visited(chunk.axes, bases)
    assert visited == _visited(axes, [place.start // place.itemsize for place in places])
    assert visited.total() == math.prod(sizes)


def test_a_memory_that_fits_is_bound_whole() -> None:
    (chunk,) = chunks((Axis(8, (1,), 1),), [Place(32, 4)], Place(96, 4), 4096, Limits(4096, 32))
    whole = Region(0, 4096)
    assert (chunk.sources, chunk.target) == ((Window(whole, 8),), Window(whole, 24))
