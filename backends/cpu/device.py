"""The processor as a device: descriptions checked, layouts flattened, programs run over blocks.

Blocks are small enough for the second pass over one to find it in the cache, and large enough for the Python around
it not to matter.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import NAMES, check_bindings, check_memory
from dmlcts.backends.contract import DeviceInfo, ExecutionFailed, InvalidArgument
from dmlcts.backends.cpu.programs import PROGRAMS, Array
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import Violation, violations

Layout = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

BLOCK_ELEMENTS = 1 << 17


class CpuBackend:
    """Runs the operators on this machine's processor with numpy; always available."""

    name = "cpu"

    def open(self, *, feature_level: str | FeatureLevel = "5.0") -> CpuDevice:
        """Open the processor.

        Args:
            feature_level: the level to claim; what it does not list is refused.

        Raises:
            UsageError: there is no such level.
        """
        return CpuDevice(FeatureLevel.parse(feature_level))


class CpuDevice:
    """The processor, claiming ``level``; a context manager."""

    def __init__(self, level: FeatureLevel) -> None:
        self._level = level
        self._tables = load_tables()
        self._closed = False
        lacking = {name: frozenset[DataType]() for name in self._tables.operators if name not in PROGRAMS}
        self.info = DeviceInfo(
            name="cpu",
            feature_level=level,
            adapter=platform.machine(),
            library="numpy",
            version=np.__version__,
            data_types=lacking or None,
            details={"independent": True},  # a sweep may open one in each process
        )

    def create(self, operator: OperatorDesc) -> CpuKernel:
        """Check ``operator`` against the rules of the claimed level and make it ready to run.

        Raises:
            InvalidArgument: it breaks rules; the message gives each clause and what is wrong.
            ExecutionFailed: the device is closed.
        """
        if self._closed:
            raise ExecutionFailed("the device is closed")
        if sorted(operator.tensors) != sorted(NAMES):
            raise InvalidArgument(f"the tensors are {sorted(operator.tensors)}, not {sorted(NAMES)}")
        try:
            table = self._tables.operator(operator.name)
        except UsageError as error:
            raise InvalidArgument(error.cause) from None
        if table.operator not in PROGRAMS:
            raise InvalidArgument(f"the cpu backend has no {table.operator}")
        _check_strides(operator)
        found = (*violations(operator, self._level, self._tables), *_zero_output_strides(operator))
        if found:
            raise InvalidArgument("; ".join(f"{violation.clause}: {violation.text}" for violation in found))
        _check_attribute_names(operator, table)
        return CpuKernel(operator, table, self._tables.limits["offset_alignment"])

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class CpuKernel:
    """A checked operator; ``create`` of :class:`CpuDevice` makes it."""

    def __init__(self, operator: OperatorDesc, table: OperatorTable, alignment: int) -> None:
        self._tensors = operator.tensors
        self._in_place = table.in_place
        self._alignment = alignment
        self._closed = False
        self._data_type = operator.input.data_type
        self._shape, self._input_strides, self._output_strides = _coalesced(operator.input, operator.output)
        # Element by element is right in place only where each element is read from the very place it is
        # written to, and nothing else is written there before.
        self._elementwise_in_place = self._input_strides == self._output_strides and _is_disjoint(
            self._shape, self._output_strides
        )
        self._program = PROGRAMS[table.operator](operator)

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the operator once; only the output's elements are written.

        Args:
            memory: 1-D ``uint8``, contiguous, writable, its first byte at a multiple of 16.
            bindings: a region for "InputTensor" and one for "OutputTensor", disjoint or the same.

        Raises:
            ExecutionFailed: the kernel is closed, or memory or bindings cannot be used.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        if memory.ctypes.data % self._alignment:
            raise ExecutionFailed(f"the memory does not begin at a multiple of {self._alignment} bytes")
        read, written_to = check_bindings(memory, bindings, self._tensors, self._alignment, in_place=self._in_place)
        source = self._view(memory, read, self._input_strides)
        target = self._view(memory, written_to, self._output_strides)
        if read == written_to and not self._elementwise_in_place:
            source = source.copy()
        scratch = np.empty(min(target.size, BLOCK_ELEMENTS), self._data_type.numpy)
        with np.errstate(all="ignore"):
            for block in _blocks(self._shape):
                written = target[block]
                self._program(source[block], written, scratch[: written.size].reshape(written.shape))

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True

    def _view(self, memory: NDArray[np.uint8], region: Region, strides: tuple[int, ...]) -> Array:
        dtype = self._data_type.numpy
        steps = tuple(stride * dtype.itemsize for stride in strides)
        return np.ndarray(self._shape, dtype, buffer=memory, offset=region.offset, strides=steps)


# Descriptions.


def _check_strides(operator: OperatorDesc) -> None:
    """Refuse what DirectML's own description cannot even say: no clause is about it."""
    for name, tensor in operator.tensors.items():
        if any(stride < 0 for stride in tensor.element_strides):
            strides = list(tensor.element_strides)
            raise InvalidArgument(f"{name} has strides {strides}, which are unsigned in DirectML")


def _zero_output_strides(operator: OperatorDesc) -> list[Violation]:
    """What this backend refuses beyond the shared rules, because it has no meaning to execute."""
    steps = zip(operator.output.sizes, operator.output.element_strides, strict=True)
    if not any(size > 1 and stride == 0 for size, stride in steps):
        return []
    text = "OutputTensor has a stride of zero, so several elements would be written to one place"
    return [Violation("tensor.strides.zero-output", text)]


def _check_attribute_names(operator: OperatorDesc, table: OperatorTable) -> None:
    known = [attribute.name for attribute in table.attributes]
    for name in operator.attributes:
        if name not in known:
            raise InvalidArgument(f"{table.operator} has no attribute {name}; it has {', '.join(known)}")


# Layouts: elements may be visited in any order, so every layout is first made as flat as it can be.


def _coalesced(source: TensorDesc, target: TensorDesc) -> Layout:
    """The fewest dimensions, largest output stride first, that visit the same pairs of elements.

    Returns:
        Sizes, input strides and output strides, in elements; at least one dimension.
    """
    axes = sorted(
        (
            axis
            for axis in zip(source.sizes, source.element_strides, target.element_strides, strict=True)
            if axis[0] > 1
        ),
        key=lambda axis: (axis[2], axis[1]),
        reverse=True,
    )
    merged: list[tuple[int, int, int]] = []
    for size, read, written in axes:
        if merged and merged[-1][1] == size * read and merged[-1][2] == size * written:
            merged[-1] = (merged[-1][0] * size, read, written)
        else:
            merged.append((size, read, written))
    sizes, reads, writes = zip(*merged or [(1, 1, 1)], strict=True)
    return sizes, reads, writes


def _is_disjoint(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two elements share a place, judged by each stride reaching past all smaller ones.

    ``strides`` descend. Some layouts that interleave without touching are reported as sharing.
    """
    reach = 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def _blocks(sizes: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    """Indices of blocks that hold at most ``BLOCK_ELEMENTS`` elements each and cover ``sizes`` once."""
    axis = 0
    while math.prod(sizes[axis + 1 :]) > BLOCK_ELEMENTS:
        axis += 1
    step = BLOCK_ELEMENTS // math.prod(sizes[axis + 1 :])
    for outer in np.ndindex(sizes[:axis]):
        for start in range(0, sizes[axis], step):
            yield (*outer, slice(start, start + step))
