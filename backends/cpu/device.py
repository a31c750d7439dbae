"""The processor as a device: descriptions checked, layouts flattened, programs run over blocks.

Blocks are small enough for the second pass over one to find it in the cache, and large enough for the Python around
it not to matter.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Hashable, Mapping, Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import address_of, check_bindings, check_memory
from dmlcts.backends.contract import DeviceInfo, ExecutionFailed, InvalidArgument
from dmlcts.backends.cpu.activations import followed
from dmlcts.backends.cpu.layouts import Layout, blocks
from dmlcts.backends.cpu.programs import PROGRAMS, Array, Program
from dmlcts.backends.cpu.programs.float16 import TABLE_ELEMENTS
from dmlcts.backends.descriptions import checked_table
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables

BLOCK_ELEMENTS = 1 << 17
_MOST_PROGRAMS = 1 << 10
_MOST_LAYOUTS = 1 << 12


class CpuBackend:
    """Runs the operators on this machine's processor with numpy; always available."""

    name = "cpu"

    def open(self, *, feature_level: str | FeatureLevel = "6.4") -> CpuDevice:
        """Open the processor.

        Args:
            feature_level: the level to claim; what it does not list is refused.

        Raises:
            UsageError: there is no such level.
        """
        return CpuDevice(FeatureLevel.parse(feature_level))


class CpuDevice:
    """The processor; a context manager.

    Args:
        level: the feature level that is claimed.
        tables: the spec tables; the built-in ones unless given.
    """

    def __init__(self, level: FeatureLevel, tables: Tables | None = None) -> None:
        self._level = level
        self._tables = tables or load_tables()
        self._closed = False
        self._programs: dict[Hashable, tuple[Program, tuple[str, ...]]] = {}
        self._layouts: dict[Hashable, Layout] = {}
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
        table = checked_table(operator, self._level, self._tables, zero_output_strides=False)
        output = table.output
        # Programs depend on nothing else; a table of all FLOAT16 pays for many elements alone.
        key = (operator.kind, *[tensor.element_count >= TABLE_ELEMENTS for tensor in operator.tensors.values()])
        made = self._programs.get(key)
        if made is None:
            if table.operator not in PROGRAMS:
                raise InvalidArgument(f"the cpu backend has no {table.operator}")
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            inputs = tuple(name for name in table.inputs if name in operator.tensors)
            made = self._programs[key] = (followed(PROGRAMS[table.operator](operator), operator), inputs)
        program, inputs = made
        alignment = self._tables.limits["offset_alignment"]
        layout = self._layout([operator.tensors[name] for name in inputs], operator.tensors[output])
        return CpuKernel(operator, program, inputs, output, table.tensors[output].may_alias, alignment, layout)

    def _layout(self, read: Sequence[TensorDesc], target: TensorDesc) -> Layout:
        """How the tensors are visited; many descriptions have the same sizes and strides."""
        key = tuple([(tensor.data_type.itemsize, tensor.sizes, tensor.strides) for tensor in (target, *read)])
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = Layout.of(read, target)
        return layout

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
    """A checked operator; ``create`` of :class:`CpuDevice` makes it.

    Args:
        operator: the description.
        program: what computes a block of it.
        inputs: the names of its input tensors, in the order in which the program takes them.
        output: the name of its output tensor.
        may_alias: the inputs whose region the output may be bound to.
        alignment: what offsets must be multiples of, in bytes.
        layout: how the elements are visited; ``None`` to find it.
    """

    def __init__(
        self,
        operator: OperatorDesc,
        program: Program,
        inputs: Sequence[str],
        output: str,
        may_alias: Collection[str],
        alignment: int,
        layout: Layout | None = None,
    ) -> None:
        tensors = operator.tensors
        self._tensors = tensors
        self._program = program
        self._output = output
        self._may_alias = may_alias
        self._alignment = alignment
        self._closed = False
        self._kind = tensors[output].data_type.numpy
        layout = self._layout = layout or Layout.of([tensors[name] for name in inputs], tensors[output])
        self._sources = [
            (name, tensors[name].data_type.numpy, steps, in_step)
            for name, (steps, in_step) in zip(inputs, layout.sources, strict=True)
        ]

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the operator once; only the output's elements are written.

        Args:
            memory: 1-D ``uint8``, contiguous, writable, its first byte at a multiple of 16.
            bindings: a region for each tensor; the output's is disjoint from the others, or the same as that of an
                input that it may take the place of.

        Raises:
            ExecutionFailed: the kernel is closed, or memory or bindings cannot be used.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        if address_of(memory) % self._alignment:
            raise ExecutionFailed(f"the memory does not begin at a multiple of {self._alignment} bytes")
        check_bindings(memory, bindings, self._tensors, self._alignment, output=self._output, may_alias=self._may_alias)
        shape = self._layout.shape
        place = bindings[self._output].offset
        target: Array = np.ndarray(shape, self._kind, memory, place, self._layout.target)
        sources = []
        for name, kind, steps, in_step in self._sources:
            offset = bindings[name].offset
            source: Array = np.ndarray(shape, kind, memory, offset, steps)
            # A region that begins where the output's does is the same one.
            sources.append(source if in_step or offset != place else source.copy())
        with np.errstate(all="ignore"):
            if target.size <= BLOCK_ELEMENTS:
                self._program(sources, target, np.empty(shape, self._kind))
                return
            scratch = np.empty(BLOCK_ELEMENTS, self._kind)
            for block in blocks(shape, BLOCK_ELEMENTS):
                written = target[block]
                read = [source[block] for source in sources]
                self._program(read, written, scratch[: written.size].reshape(written.shape))

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True
