"""A checked operator with its shader, and how it is run on a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import DeviceLost, ExecutionFailed
from dmlcts.backends.wgpu.faults import faults_translated
from dmlcts.backends.wgpu.layout import Chunk, chunks, coalesced, reads_what_it_writes
from dmlcts.backends.wgpu.programs import Program
from dmlcts.backends.wgpu.resources import PARAMETER_WORDS, rounded_up
from dmlcts.backends.wgpu.shaders import GROUP
from dmlcts.specs import OperatorDesc, Region

if TYPE_CHECKING:
    from dmlcts.backends.wgpu.device import WgpuDevice

_PLANS = 4


@dataclass(frozen=True)
class Dispatch:
    """One dispatch, ready to be encoded: what it runs, with which parameters, in how many workgroups."""

    chunk: Chunk
    pipeline: Any
    parameters: bytes
    columns: int
    rows: int


class WgpuKernel:
    """An operator that is ready to run; ``create`` of :class:`WgpuDevice` makes it."""

    def __init__(
        self, device: WgpuDevice, operator: OperatorDesc, program: Program, in_place: bool, alignment: int
    ) -> None:
        self._device = device
        self._tensors = operator.tensors
        self._program = program
        self._in_place = in_place
        self._alignment = alignment
        self._closed = False
        self._axes = coalesced(operator.input, operator.output)
        self._aliases = reads_what_it_writes(self._axes)
        self._itemsize = operator.input.data_type.itemsize
        self._plans: dict[tuple[int, int, int], list[Dispatch]] = {}
        device.compiled(program, self._axes)

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the operator once on the adapter; the whole memory goes there and comes back.

        Args:
            memory: 1-D ``uint8``, contiguous, writable.
            bindings: a region for "InputTensor" and one for "OutputTensor", disjoint or the same.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or wgpu refuses the work.
            DeviceLost: the adapter is gone.
            MemoryError: the memory is beyond what a buffer of the adapter can hold, or the adapter is full.
        """
        self._device.check_open()
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        may_alias = ("InputTensor",) if self._in_place else ()
        check_bindings(memory, bindings, self._tensors, self._alignment, output="OutputTensor", may_alias=may_alias)
        try:
            with self._device.turn, faults_translated("running the shader"):
                self._run(memory, bindings["InputTensor"], bindings["OutputTensor"])
        except DeviceLost as lost:
            self._device.lose(str(lost))
            raise

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True

    def _run(self, memory: NDArray[np.uint8], read: Region, written: Region) -> None:
        resources, size = self._device.resources, rounded_up(memory.size)
        planned = self._planned(read.offset, written.offset, size)
        resources.upload(memory)
        source_name = "memory"
        if read == written and not self._aliases:
            source_name = "snapshot"
            resources.take_snapshot(read, size)
        encoder = self._encoded(planned[0], source_name)
        for dispatch in planned[1:]:
            self._device.handle.queue.submit([encoder.finish()])
            encoder = self._encoded(dispatch, source_name)
        resources.read_back(encoder, memory)

    def _planned(self, source: int, target: int, size: int) -> list[Dispatch]:
        """The dispatches for these offsets in a memory of ``size`` bytes; the latest few plans are kept."""
        key = source, target, size
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            cut = chunks(self._axes, self._itemsize, source, target, size, self._device.binding_limits)
            self._plans[key] = [self._plan(chunk) for chunk in cut]
        return self._plans[key]

    def _plan(self, chunk: Chunk) -> Dispatch:
        compiled = self._device.compiled(self._program, chunk.axes)
        lanes = self._program.element.lanes
        count, lead = chunk.count, chunk.target_base % lanes
        invocations = -(-(lead + count) // lanes) if compiled.shader.whole_words else count
        columns, rows = self._device.groups(invocations)
        # In the order of the shader's struct, whose axes begin at a multiple of 16 bytes.
        words = [count, columns * GROUP, len(chunk.axes), lead, chunk.source_base, chunk.target_base]
        words += [word for pair in self._program.constants for word in pair]
        words += [0, 0]
        for axis in chunk.axes:
            words += [axis.size, axis.source, axis.target, 0]
        parameters = np.zeros(PARAMETER_WORDS, np.uint32)
        parameters[: len(words)] = words
        return Dispatch(chunk, compiled.pipeline, parameters.tobytes(), columns, rows)

    def _encoded(self, dispatch: Dispatch, source_name: str) -> Any:
        """An encoder that holds ``dispatch``, whose parameters are written first."""
        resources = self._device.resources
        resources.write_parameters(dispatch.parameters)
        encoder = self._device.handle.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(dispatch.pipeline)
        compute.set_bind_group(0, resources.group(source_name, dispatch.chunk.source, dispatch.chunk.target))
        compute.dispatch_workgroups(dispatch.columns, dispatch.rows)
        compute.end()
        return encoder
