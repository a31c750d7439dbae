"""The memory and the bindings of a dispatch, found usable before anything runs: what backends without validation share.

The rules are DirectML's own for ``DML_BUFFER_BINDING``: offsets are multiples of 16, the range lies inside the
buffer and holds the tensor's total size, and two bindings of which one is written are disjoint or the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import ExecutionFailed
from dmlcts.specs import Region, TensorDesc

_BYTES = np.dtype(np.uint8)
_address, _first = ctypes.addressof, ctypes.c_char.from_buffer


def check_memory(memory: NDArray[np.uint8]) -> None:
    """Refuse what is no memory of the contract.

    Raises:
        ExecutionFailed: it is not one contiguous, writable, 1-D ``uint8`` array.
    """
    if not isinstance(memory, np.ndarray) or memory.dtype != _BYTES or memory.ndim != 1:
        raise ExecutionFailed("the memory is not a numpy array of uint8 with one dimension")
    if not memory.flags.carray:  # bytes are always aligned
        raise ExecutionFailed("the memory is not contiguous and writable")


def address_of(memory: NDArray[np.uint8]) -> int:
    """Where a memory begins that :func:`check_memory` took; of one without bytes 0."""
    return _address(_first(memory.data)) if memory.size else 0  # far faster than numpy


def check_bindings(
    memory: NDArray[np.uint8],
    bindings: Mapping[str, Region],
    tensors: Mapping[str, TensorDesc],
    alignment: int,
    *,
    output: str,
    may_alias: Collection[str],
) -> None:
    """Refuse bindings that cannot be used.

    Args:
        memory: 1-D ``uint8``, as :func:`check_memory` takes it.
        bindings: a region for each tensor, in bytes of the memory. Inputs may share memory in any way.
        tensors: the tensors by the same names.
        alignment: what offsets must be multiples of, in bytes.
        output: the name of the tensor that is written.
        may_alias: the names of the inputs whose region the output may be bound to.

    Raises:
        ExecutionFailed: the bindings cannot be used.
    """
    if bindings.keys() != tensors.keys():
        raise ExecutionFailed(f"the bindings are {sorted(bindings)}, not {sorted(tensors)}")
    room = memory.size
    for name, tensor in tensors.items():
        region, needed = bindings[name], tensor.total_size_in_bytes
        offset = region.offset
        if offset >= 0 and offset % alignment == 0 and needed <= region.size <= room - offset:
            continue  # nearly every region
        place = f"{name} is bound at byte {region.offset}, {region.size} bytes long"
        if region.offset < 0 or region.offset % alignment:
            raise ExecutionFailed(f"{place}: the offset is no multiple of {alignment} from 0 up")
        if region.size < needed:
            raise ExecutionFailed(f"{place}: the tensor needs {needed} bytes")
        if region.end > room:
            raise ExecutionFailed(f"{place}: the memory has only {room} bytes")
    written = bindings[output]
    begin = written.offset
    end = begin + written.size
    for name, read in bindings.items():
        offset = read.offset
        if offset < end and begin < offset + read.size and name != output:
            if read != written:
                raise ExecutionFailed(f"the bindings overlap without being the same: {read} and {written}")
            if name not in may_alias:
                raise ExecutionFailed(f"the operator does not support in-place execution on {name}")
