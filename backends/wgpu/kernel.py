"""A checked operator with its shader, and how it is run on a memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import ExecutionFailed, NotSupported
from dmlcts.backends.wgpu.layout import Chunk, Place, chunks, coalesced, reads_what_it_writes
from dmlcts.backends.wgpu.open_device import Compiled, OpenDevice, Work
from dmlcts.backends.wgpu.programs import Program
from dmlcts.backends.wgpu.resources import PARAMETER_WORDS, Resources, rounded_up
from dmlcts.backends.wgpu.shaders import GROUP, rows_of_axis
from dmlcts.backends.wgpu.stream import WgpuStream
from dmlcts.specs import OperatorDesc, Region

_PLANS = 4


@dataclass(frozen=True)
class Dispatch:
    """One dispatch, ready to be encoded: what it runs, with which parameters, in how many workgroups."""

    chunk: Chunk
    compiled: Compiled
    parameters: bytes
    columns: int
    rows: int

    def windows(self, buffers: Sequence[str], base: int = 0) -> tuple[Region, list[tuple[str, Region]]]:
        """The window that is written, and those that are read with the names of their buffers.

        Args:
            buffers: which buffer each input is read from.
            base: where the memory begins in these buffers, in bytes.
        """
        target, *sources = [
            Region(base + window.region.offset, window.region.size)
            for window in (self.chunk.target, *self.chunk.sources)
        ]
        return target, list(zip(buffers, sources, strict=True))

    def encode(self, compute: Any, group: Any) -> None:
        """Encode it in a compute pass, with the bind group of its windows."""
        compute.set_pipeline(self.compiled.pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(self.columns, self.rows)


@dataclass(frozen=True)
class Prepared:
    """What a kernel does on a memory of a certain size, with certain bindings.

    Attributes:
        dispatches: one after another.
        buffers: which buffer each input is read from.
        snapshot: the region that the snapshot has to hold before; ``None`` where it is not read.
    """

    dispatches: tuple[Dispatch, ...]
    buffers: tuple[str, ...]
    snapshot: Region | None


class WgpuKernel:
    """An operator that is ready to run; ``create`` of :class:`~dmlcts.backends.wgpu.device.WgpuDevice` makes it.

    Args:
        device: what it runs on.
        operator: the checked description.
        program: what is computed.
        output: the name of the output tensor.
        may_alias: the inputs whose region the output may be bound to.
        alignment: what offsets must be multiples of, in bytes.
    """

    def __init__(
        self,
        device: OpenDevice,
        operator: OperatorDesc,
        program: Program,
        output: str,
        may_alias: Collection[str],
        alignment: int,
    ) -> None:
        self._device = device
        self._tensors = operator.tensors
        self._program = program
        self._output = output
        self._may_alias = may_alias
        self._alignment = alignment
        self._closed = False
        sources, target = [operator.tensors[name] for name in program.inputs], operator.tensors[output]
        self._axes = coalesced(sources, target)
        # Which inputs may be read from the target's memory while it is written.
        self._follows = {
            name: reads_what_it_writes(self._axes, number) and source.data_type is target.data_type
            for number, (name, source) in enumerate(zip(program.inputs, sources, strict=True))
        }
        self._plans: dict[tuple[int, ...], list[Dispatch]] = {}
        device.compiled(program, self._axes)

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the operator once on the adapter; the whole memory goes there and comes back.

        Args:
            memory: 1-D ``uint8``, contiguous, writable.
            bindings: a region for each tensor; the output's is disjoint from the others, or the same as that of an
                input that it may take the place of.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or wgpu refuses the work.
            DeviceLost: the adapter is gone.
            MemoryError: the memory is beyond what a buffer of the adapter can hold, or the adapter is full.
        """
        with self._device.turn, Work(self._device, "running the shader"):
            self._run(memory, self.prepared(memory, bindings))

    def prepared(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> Prepared:
        """What :meth:`dispatch` does on the adapter, once memory and bindings have been found usable.

        Whoever asks has the device's turn.

        Args:
            memory: 1-D ``uint8``, contiguous, writable.
            bindings: a region for each tensor.

        Raises:
            ExecutionFailed: the kernel is closed, or memory or bindings cannot be used.
            DeviceLost: the adapter is gone.
        """
        self._check(memory, bindings, self._may_alias)
        written = bindings[self._output]
        buffers = tuple(
            "snapshot" if bindings[name] == written and not follows else "memory"
            for name, follows in self._follows.items()
        )
        planned = self._planned(bindings, rounded_up(memory.size))
        return Prepared(tuple(planned), buffers, written if "snapshot" in buffers else None)

    def stream(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region], slots: int) -> WgpuStream:
        """Overlapping dispatches on a memory that stays on the device; see ``Stream`` of the contract.

        Args:
            memory: what it holds at first: 1-D ``uint8``, contiguous, writable.
            bindings: a region for each tensor, apart from each other.
            slots: how many submissions may be on their way back.

        Raises:
            NotSupported: several inputs, strides, or more than one binding holds.
            ExecutionFailed, DeviceLost, MemoryError: as in :meth:`dispatch`.
        """
        self._check(memory, bindings, ())
        if len(self._program.inputs) != 1 or len(self._axes) != 1 or self._axes[0].sources != (1,):
            raise NotSupported("the wgpu backend streams operators of one packed input")
        planned = self._planned(bindings, rounded_up(memory.size))
        if len(planned) != 1:
            raise NotSupported("the tensors do not fit into one binding of the adapter")
        (source,) = self._program.inputs
        read, written = (
            Region(bindings[name].offset, self._tensors[name].total_size_in_bytes) for name in (source, self._output)
        )
        return WgpuStream(
            self._device,
            partial(_encode, planned[0], ["memory"]),
            memory,
            read,
            written,
            self._tensors[source].data_type.itemsize,
            slots,
        )

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True

    def _check(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region], may_alias: Collection[str]) -> None:
        """Refuse what cannot be used; the output may be bound to the region of some inputs."""
        self._device.check_open()
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        check_bindings(memory, bindings, self._tensors, self._alignment, output=self._output, may_alias=may_alias)

    def _run(self, memory: NDArray[np.uint8], prepared: Prepared) -> None:
        resources, size = self._device.resources, rounded_up(memory.size)
        resources.upload(memory)
        if prepared.snapshot is not None:
            resources.take_snapshots([prepared.snapshot], size)
        encoder = self._encoded(prepared.dispatches[0], prepared.buffers)
        for dispatch in prepared.dispatches[1:]:
            self._device.handle.queue.submit([encoder.finish()])
            encoder = self._encoded(dispatch, prepared.buffers)
        resources.read_back(encoder, memory)

    def _planned(self, bindings: Mapping[str, Region], size: int) -> list[Dispatch]:
        """The dispatches for these offsets in a memory of ``size`` bytes; the latest few plans are kept."""
        names = (*self._program.inputs, self._output)
        starts = [bindings[name].offset for name in names]
        key = (*starts, size)
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            places = [
                Place(start, self._tensors[name].data_type.itemsize) for name, start in zip(names, starts, strict=True)
            ]
            cut = chunks(self._axes, places[:-1], places[-1], size, self._device.binding_limits)
            self._plans[key] = [self._plan(chunk) for chunk in cut]
        return self._plans[key]

    def _plan(self, chunk: Chunk) -> Dispatch:
        compiled = self._device.compiled(self._program, chunk.axes)
        elements_per_word = self._program.target.elements_per_word
        count, lead = chunk.count, chunk.target.base % elements_per_word
        invocations = -(-(lead + count) // elements_per_word) if compiled.shader.whole_words else count
        columns, rows = self._device.groups(invocations)
        # In the order of the shader's struct, whose members begin at multiples of their sizes.
        bases = [chunk.target.base, *(window.base for window in chunk.sources)]
        words = [count, columns * GROUP, len(chunk.axes), lead, *bases, *[0] * (12 - len(bases))]
        words += [word for pair in self._program.constants for word in pair]
        padding = [0] * (4 * rows_of_axis(len(chunk.sources)) - 2 - len(chunk.sources))
        for axis in chunk.axes:
            words += [axis.size, axis.target, *axis.sources, *padding]
        parameters = np.zeros(PARAMETER_WORDS, np.uint32)
        parameters[: len(words)] = words
        return Dispatch(chunk, compiled, parameters.tobytes(), columns, rows)

    def _encoded(self, dispatch: Dispatch, buffers: Sequence[str]) -> Any:
        """An encoder that holds ``dispatch``, whose parameters are written first."""
        encoder = self._device.handle.create_command_encoder()
        _encode(dispatch, buffers, self._device.resources, encoder)
        return encoder


def _encode(dispatch: Dispatch, buffers: Sequence[str], resources: Resources, encoder: Any) -> None:
    """Encode ``dispatch`` on these resources, whose parameters are written first."""
    resources.write_parameters(dispatch.parameters)
    compute = encoder.begin_compute_pass()
    dispatch.encode(compute, resources.group(dispatch.compiled.layout, *dispatch.windows(buffers)))
    compute.end()
