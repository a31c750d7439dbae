"""What the selftests of the wgpu backend share: the adapter's device, and a dispatch with what it left."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.wgpu.device import WgpuBackend, WgpuDevice
from dmlcts.specs import DataType, Region, TensorDesc
from dmlcts.suites.selftest.descriptions import described

CLIP, ROUND, THRESHOLD = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD"
INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]


def open_or_skip(**options: str) -> WgpuDevice:
    """The adapter's device with these options; skips the test where there is none.

    The environment's ``DMLCTS_WGPU_ADAPTER`` says which adapter, where the options do not.
    """
    try:
        return WgpuBackend().open(**{"adapter": os.environ.get("DMLCTS_WGPU_ADAPTER", ""), **options})
    except BackendUnavailable as error:
        pytest.skip(str(error))


def up(size: int) -> int:
    """``size`` rounded up to a multiple of 16."""
    return -(-size // 16) * 16


def view(memory: NDArray[np.uint8], region: Region, tensor: TensorDesc) -> NDArray[Any]:
    """The tensor's elements in ``memory``."""
    item = tensor.data_type.itemsize
    flat = memory[region.offset : region.offset + tensor.minimum_size_in_bytes].view(tensor.data_type.numpy)
    return as_strided(flat, tensor.sizes, [stride * item for stride in tensor.element_strides])


@dataclass(frozen=True)
class Ran:
    """One dispatch: the input elements, the output elements, and the bytes that were to stay as they were."""

    x: NDArray[Any]
    y: NDArray[Any]
    expected_elsewhere: bytes
    elsewhere: bytes


def run(
    device: WgpuDevice,
    name: str,
    data_type: DataType,
    x: NDArray[Any] | Sequence[float],
    *,
    sizes: Sequence[int] | None = None,
    source_strides: Sequence[int] | None = None,
    target_strides: Sequence[int] | None = None,
    in_place: bool = False,
    front: int = 32,
    fill: int | None = None,
    **attributes: Any,
) -> Ran:
    """Dispatch once on a memory whose other bytes are random, or ``fill``.

    Args:
        x: the values of the input's places, repeated as often as it takes; every place is filled, gaps too.
        sizes: the sizes; one dimension of ``len(x)`` where left out.
        front: bytes before the first tensor.
    """
    values = np.asarray(x, data_type.numpy)
    shape = tuple(sizes) if sizes is not None else (values.size,)
    source = TensorDesc(data_type, shape, source_strides)
    target = TensorDesc(data_type, shape, target_strides)
    room = max(source.total_size_in_bytes, target.total_size_in_bytes)
    read = Region(front, room if in_place else source.total_size_in_bytes)
    written = read if in_place else Region(up(read.end) + 16, target.total_size_in_bytes)
    size = up(written.end) + 48
    memory = (
        np.random.default_rng(7).integers(0, 256, size, np.uint8) if fill is None else np.full(size, fill, np.uint8)
    )
    places = memory[read.offset : read.offset + source.minimum_size_in_bytes].view(data_type.numpy)
    places[:] = np.resize(values, places.size)
    taken = view(memory, read, source).copy()
    before = memory.copy()
    with_kernel = device.create(described(name, source, target, **attributes))
    with_kernel.dispatch(memory, {"InputTensor": read, "OutputTensor": written})
    with_kernel.close()
    got = view(memory, written, target).copy()
    for bytes_ in (memory, before):
        view(bytes_, written, target)[...] = 0
    return Ran(taken, got, before.tobytes(), memory.tobytes())


def clipped(x: NDArray[Any], low: int, high: int) -> NDArray[Any]:
    """max(low, min(x, high)) of integers."""
    limits = np.iinfo(x.dtype)
    return np.maximum(x.dtype.type(max(low, limits.min)), np.minimum(x, x.dtype.type(min(high, limits.max))))


def of_python(x: NDArray[Any], scale: int, bias: int) -> NDArray[Any]:
    """x * scale + bias of integers that wrap, computed by Python."""
    bits = 8 * x.dtype.itemsize
    wrapped = [(int(number) * scale + bias) % (1 << bits) for number in x.reshape(-1)]
    return np.array(wrapped, f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


def permuted_strides(sizes: Sequence[int], order: Sequence[int], step: int = 1, gap: int = 0) -> list[int]:
    """Strides of a layout whose dimensions run in ``order``, outermost first, ``gap`` places after each row."""
    strides = [0] * len(sizes)
    for axis in reversed(order):
        strides[axis] = step
        step = step * sizes[axis] + gap
    return strides
