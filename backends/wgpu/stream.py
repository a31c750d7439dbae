"""A stream: one kernel on a memory that stays on the device, with outputs of several dispatches on their way back.

Each submission moves the input on, fills the output with a pattern, runs the kernel's own dispatch on the whole memory,
as it is always bound, and copies a part of the memory into a buffer that the processor maps. As soon as a mapping is
asked for, wgpu waits for all that was submitted, and takes no further work until that is done. So mappings are asked
for when the first of them is waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import ExecutionFailed, NotSupported
from dmlcts.backends.wgpu.faults import faults_translated
from dmlcts.backends.wgpu.open_device import OpenDevice, Work
from dmlcts.backends.wgpu.resources import Resources, rounded_up
from dmlcts.backends.wgpu.shaders import GROUP, rendered
from dmlcts.specs import Region

_PARAMETERS = 9
_WORDS = (1 << 32) - 1

Encode = Callable[[Resources, Any], None]
"""Encodes a kernel's dispatch on the memory of these resources."""


@dataclass
class _Slot:
    """The way back of one submission: a buffer, how much is on its way in it, and whether that is mapped."""

    buffer: Any = None
    promise: Any = None
    size: int = 0
    submitted: bool = False
    mapped: bool = False


class WgpuStream:
    """Overlapping dispatches of a kernel; ``stream`` of :class:`~dmlcts.backends.wgpu.kernel.WgpuKernel` makes it.

    Args:
        device: what it runs on.
        encode: encodes the kernel's dispatch.
        memory: what the device's memory holds at first, 1-D ``uint8``.
        source: the input's region.
        target: the output's region, apart from the input's.
        itemsize: bytes of an element of the input: 1, 2 or 4.
        slots: how many submissions may be on their way back.

    Raises:
        NotSupported: regions that are no whole words, or a memory larger than a binding may be.
        ExecutionFailed: wgpu refuses the work.
        DeviceLost: the adapter is gone.
        MemoryError: the adapter cannot hold so much.
    """

    def __init__(
        self,
        device: OpenDevice,
        encode: Encode,
        memory: NDArray[np.uint8],
        source: Region,
        target: Region,
        itemsize: int,
        slots: int,
    ) -> None:
        if itemsize > 4 or source.size % 4 or target.size % 4 or memory.size > device.binding_limits.binding:
            raise NotSupported("the wgpu backend streams whole words of up to 32-bit elements within one binding")
        self._device = device
        self._encode = encode
        self._source, self._target, self._itemsize = source, target, itemsize
        self._slots = [_Slot() for _ in range(slots)]
        self._mapping = threading.Lock()  # another thread may submit, or wait for another slot
        self._closed = False
        words = max(source.size, target.size) // 4
        self._columns, self._rows = device.groups(words)
        with faults_translated("making a stream"):
            usage = device.wgpu.BufferUsage
            self._readable = usage.COPY_DST | usage.MAP_READ
            self._resources = Resources(device.wgpu, device.handle, device.resources.largest)
            self._resources.upload(memory)
            self._size = rounded_up(memory.size)
            self._parameters = device.handle.create_buffer(size=64, usage=usage.UNIFORM | usage.COPY_DST)
            self._pipeline, layout = device.patterns(itemsize)
            memory_buffer = self._resources.buffer("memory", self._size)
            self._memory = memory_buffer
            bound = {"buffer": self._parameters, "offset": 0, "size": 64}
            whole = {"buffer": memory_buffer, "offset": 0, "size": self._size}
            self._group = device.handle.create_bind_group(
                layout=layout, entries=[{"binding": 0, "resource": bound}, {"binding": 1, "resource": whole}]
            )

    def fill(self, first: int) -> None:
        """Write consecutive patterns into the input, from ``first`` on, wrapping; whatever it held is gone."""
        self._prepared(first, kept=False, poison=None)
        with self._translating("filling the input"):
            encoder = self._device.handle.create_command_encoder()
            self._prepare(encoder)
            self._device.handle.queue.submit([encoder.finish()])

    def submit(self, slot: int, window: Region, *, step: int = 0, poison: int | None = None, run: bool = True) -> None:
        """Move the input on, fill the output, run the kernel, and begin to bring a window of the memory back.

        Args:
            slot: which way back to take; nothing may be on its way in it.
            window: the bytes of the memory to bring back; offset and size are multiples of 16.
            step: is added to each element of the input, wrapping.
            poison: a word that the output is filled with; ``None`` leaves it as it is.
            run: whether the kernel runs.

        Raises:
            ExecutionFailed: the slot is not free.
        """
        held = self._slots[slot]
        if held.submitted or held.mapped:
            raise ExecutionFailed(f"slot {slot} of the stream is not free")
        self._prepared(step, kept=True, poison=poison)
        with self._translating("running the shader"):
            if held.buffer is None or held.buffer.size < window.size:
                if held.buffer is not None:
                    held.buffer.destroy()
                held.buffer = self._device.handle.create_buffer(size=window.size, usage=self._readable)
            encoder = self._device.handle.create_command_encoder()
            if step or poison is not None:
                self._prepare(encoder)
            if run:
                self._encode(self._resources, encoder)
            encoder.copy_buffer_to_buffer(self._memory, window.offset, held.buffer, 0, window.size)
            self._device.handle.queue.submit([encoder.finish()])
            with self._mapping:
                held.size, held.submitted = window.size, True

    def wait(self, slot: int) -> NDArray[np.uint8]:
        """What a submission brought back: read-only bytes that stay until the slot is released.

        Raises:
            ExecutionFailed: nothing was submitted in the slot.
        """
        held = self._slots[slot]
        if not held.submitted:
            raise ExecutionFailed(f"nothing is on its way in slot {slot} of the stream")
        with self._translating("bringing the output back"):
            with self._mapping:
                if held.promise is None:
                    self._map()
                promise, held.promise, held.submitted = held.promise, None, False
            promise.sync_wait()
            held.mapped = True
            return np.frombuffer(held.buffer.read_mapped(0, held.size, copy=False), np.uint8)

    def _map(self) -> None:
        """Ask for all that is on its way: wgpu waits for all of it together."""
        for held in self._slots:
            if held.submitted and held.promise is None:
                held.promise = held.buffer.map_async(self._device.wgpu.MapMode.READ, 0, held.size)

    def release(self, slot: int) -> None:
        """Give a slot back; the bytes that :meth:`wait` gave must not be looked at any more."""
        held = self._slots[slot]
        if held.mapped:
            held.mapped = False
            with self._translating("giving memory back"):
                held.buffer.unmap()

    def close(self) -> None:
        """Free the memory and the ways back; calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        for number, held in enumerate(self._slots):
            self.release(number)
            if held.buffer is not None:
                held.buffer.destroy()  # wgpu keeps what is on its way until it has come
        self._resources.close()
        self._parameters.destroy()

    def _translating(self, doing: str) -> Any:
        self._device.check_open()
        if self._closed and doing != "giving memory back":
            raise ExecutionFailed("the stream is closed")
        return Work(self._device, doing)

    def _prepared(self, first: int, *, kept: bool, poison: int | None) -> None:
        """Write the parameters of the next preparation."""
        with self._translating("writing parameters"):
            source, target = self._source, self._target
            filled = 0 if poison is None else target.size // 4
            words = [
                source.offset // 4,
                source.size // 4,
                target.offset // 4,
                filled,
                self._columns * GROUP,
                _WORDS * kept,
                first & _WORDS,
                int(not kept),
                (poison or 0) & _WORDS,
            ]
            self._device.handle.queue.write_buffer(self._parameters, 0, np.array(words, np.uint32))

    def _prepare(self, encoder: Any) -> None:
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self._pipeline)
        compute.set_bind_group(0, self._group)
        compute.dispatch_workgroups(self._columns, self._rows)
        compute.end()


def patterns_source(itemsize: int) -> str:
    """The WGSL text that writes patterns of so many bytes: 1, 2 or 4."""
    bits = 8 * itemsize
    return rendered("patterns", bits=bits, elements_per_word=32 // bits, mask=f"{(1 << bits) - 1:#x}", group=GROUP)
