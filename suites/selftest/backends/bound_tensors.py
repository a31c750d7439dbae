"""Kernels dispatched on a memory of guards and poison: each tensor's elements put where its strides say, and read back.

For any backend: what goes through here is the public contract alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc

Array = NDArray[Any]
GUARD = 64
POISON = 0xA5


def aligned(size: int) -> NDArray[np.uint8]:
    """Poisoned bytes that begin at a multiple of 16."""
    raw = np.full(size + 15, POISON, np.uint8)
    start = -raw.ctypes.data % 16
    return raw[start : start + size]


def elements_of(memory: NDArray[np.uint8], region: Region, tensor: TensorDesc) -> Array:
    """The tensor's elements in the memory, as a view of its sizes."""
    steps = [stride * tensor.data_type.itemsize for stride in tensor.element_strides]
    first = memory[region.offset : region.offset + tensor.data_type.itemsize].view(tensor.data_type.numpy)
    return as_strided(first, tensor.sizes, steps)


def placed(operator: OperatorDesc, same: Mapping[str, str]) -> tuple[NDArray[np.uint8], dict[str, Region]]:
    """A memory with room for every tensor between guards, and their regions.

    Args:
        operator: the description.
        same: tensors to the tensor whose region they share.
    """
    regions: dict[str, Region] = {}
    end = GUARD
    for name in operator.tensors:
        if name not in same:
            sharing = [name, *(other for other, owner in same.items() if owner == name)]
            size = max(operator.tensors[text].total_size_in_bytes for text in sharing)
            regions |= dict.fromkeys(sharing, Region(end, size))
            end = (end + size + GUARD + 15) // 16 * 16
    return aligned(end), {name: regions[name] for name in operator.tensors}


def dispatched(
    kernel: Any, operator: OperatorDesc, values: Mapping[str, Array], output: str, same: Mapping[str, str] | None = None
) -> Array:
    """The output's elements after one dispatch; nothing else of the memory may have changed.

    Args:
        kernel: what a device's ``create`` made of ``operator``.
        operator: the description.
        values: the elements of each input, of its type and sizes; an input that shares a region comes after its owner.
        output: the name of the output tensor.
        same: tensors to the tensor whose region they share, the output among them where it runs in place.
    """
    memory, regions = placed(operator, same or {})
    for name, value in values.items():
        elements_of(memory, regions[name], operator.tensors[name])[...] = value
    before = memory.copy()
    kernel.dispatch(memory, regions)
    result = elements_of(memory, regions[output], operator.tensors[output])
    results = result.copy()
    result[...] = elements_of(before, regions[output], operator.tensors[output])
    changed = np.flatnonzero(memory != before)
    assert not changed.size, f"bytes {changed[:9]} changed, which are no elements of {output}"
    return results


def of_sizes(
    name: str,
    types: Mapping[str, DataType],
    sizes: tuple[int, ...],
    strides: Mapping[str, tuple[int, ...]] | None = None,
    **attributes: Any,
) -> OperatorDesc:
    """A description of tensors of equal sizes; those without strides are packed."""
    laid = strides or {}
    tensors = {member: TensorDesc(kind, sizes, laid.get(member)) for member, kind in types.items()}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, attributes)
