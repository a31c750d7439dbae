"""The device's buffers: uploaded to, read back from, and kept for the next dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.wgpu.faults import DeviceMemoryError
from dmlcts.specs import Region

_SMALLEST = 1 << 16
_KEPT = 1 << 26  # buffers up to this many bytes are kept whatever is asked for
_BIND_GROUPS = 64
PARAMETER_WORDS = 120  # 24 before the axes, of which each of eight takes up to 12
_SLOT = 512  # bytes from one dispatch's parameters to the next one's: a multiple of every adapter's alignment
_SLICE = 1 << 26  # wgpu holds a copy of what is written to a buffer until it is submitted


def rounded_up(size: int, multiple: int = 16) -> int:
    """``size``, rounded up to a multiple."""
    return -(-size // multiple) * multiple


class Resources:
    """The buffers of one device: the memory, a copy of it where reading must not see what is written, the way back.

    Args:
        wgpu: the module.
        device: wgpu's device.
        largest: bytes that a buffer may have at most.

    Attributes:
        largest: the same, as a multiple of 16.
    """

    def __init__(self, wgpu: Any, device: Any, largest: int) -> None:
        self._wgpu = wgpu
        self._device = device
        self.largest = largest // 16 * 16
        usage = wgpu.BufferUsage
        self._usages = {
            "memory": usage.STORAGE | usage.COPY_SRC | usage.COPY_DST,
            "snapshot": usage.STORAGE | usage.COPY_DST,
            "readback": usage.COPY_DST | usage.MAP_READ,
            "parameters": usage.UNIFORM | usage.COPY_DST,
        }
        self._buffers: dict[str, Any] = {}
        self._groups: dict[tuple[tuple[str, Region], ...], Any] = {}
        self._parameters = device.create_buffer(size=4 * PARAMETER_WORDS, usage=usage.UNIFORM | usage.COPY_DST)
        self._written = b""

    def check(self, size: int) -> None:
        """Raise ``DeviceMemoryError`` where no buffer can have ``size`` bytes."""
        if size > self.largest:
            limit = f"the adapter's largest buffer has {self.largest} bytes"
            raise DeviceMemoryError(f"a memory of {size} bytes is asked for; {limit}")

    def buffer(self, name: str, size: int) -> Any:
        """The buffer called ``name``, with ``size`` bytes at least; what it holds is not kept when it grows."""
        old_buffer = self._buffers.get(name)
        if (
            old_buffer is not None
            and old_buffer.size >= size
            and (old_buffer.size <= _KEPT or old_buffer.size <= 4 * size)
        ):
            return old_buffer
        self.check(size)
        if old_buffer is not None:
            self._forget(name)
        wanted = max(_SMALLEST, 1 << (size - 1).bit_length()) if size <= _KEPT else size
        made = self._device.create_buffer(size=min(wanted, self.largest), usage=self._usages[name])
        self._buffers[name] = made
        return made

    def upload(self, memory: NDArray[np.uint8]) -> None:
        """Write ``memory`` into the device's; the bytes up to the next multiple of 16 become 0."""
        buffer = self.buffer("memory", rounded_up(memory.size))
        queue, whole = self._device.queue, memory.size // 16 * 16
        for start in range(0, whole, _SLICE):
            queue.write_buffer(buffer, start, memory, start, min(_SLICE, whole - start))
            if whole - start > _SLICE:
                queue.submit([])
        if whole < memory.size:
            tail = np.zeros(16, np.uint8)
            tail[: memory.size - whole] = memory[whole:]
            queue.write_buffer(buffer, whole, tail)

    def take_snapshots(self, regions: Sequence[Region], size: int) -> None:
        """Copy regions of the memory, of ``size`` bytes, to the same places in the snapshot."""
        snapshot, memory = self.buffer("snapshot", size), self._buffers["memory"]
        encoder = self._device.create_command_encoder()
        for region in regions:
            encoder.copy_buffer_to_buffer(memory, region.offset, snapshot, region.offset, rounded_up(region.size))
        self._device.queue.submit([encoder.finish()])

    def write_parameters(self, written: bytes) -> None:
        """Give the next dispatch its parameters."""
        if written != self._written:
            self._device.queue.write_buffer(self._parameters, 0, written)
            self._written = written

    def write_all_parameters(self, written: Sequence[bytes]) -> None:
        """Give the dispatches of a batch their parameters, to each its own."""
        slots = b"".join(parameters.ljust(_SLOT, b"\0") for parameters in written)
        self._device.queue.write_buffer(self.buffer("parameters", len(slots)), 0, slots)

    def group_in_batch(self, layout: Any, place: int, target: Region, sources: Sequence[tuple[str, Region]]) -> Any:
        """As :meth:`group`, with the parameters of a dispatch of a batch.

        Args:
            layout: the bind group layout.
            place: which of the parameters that :meth:`write_all_parameters` was given.
            target: the target's window.
            sources: the name of each source's buffer, and its window.
        """
        entries = [_entry(0, self._buffers["parameters"], Region(_SLOT * place, 4 * PARAMETER_WORDS))]
        return self._device.create_bind_group(layout=layout, entries=[*entries, *self._entries(target, sources)])

    def _entries(self, target: Region, sources: Sequence[tuple[str, Region]]) -> list[dict[str, Any]]:
        windows = ("memory", target), *sources
        return [_entry(binding, self._buffers[name], window) for binding, (name, window) in enumerate(windows, start=1)]

    def group(self, layout: Any, target: Region, sources: Sequence[tuple[str, Region]]) -> Any:
        """The bind group of a window of the memory to write, and of windows of named buffers to read.

        Args:
            layout: the bind group layout: parameters, target, sources.
            target: the target's window.
            sources: the name of each source's buffer, and its window.
        """
        windows = ("memory", target), *sources
        bind_group = self._groups.get(windows)
        if bind_group is None:
            if len(self._groups) >= _BIND_GROUPS:
                del self._groups[next(iter(self._groups))]
            entries = [_entry(0, self._parameters, Region(0, 4 * PARAMETER_WORDS))]
            entries += self._entries(target, sources)
            bind_group = self._groups[windows] = self._device.create_bind_group(layout=layout, entries=entries)
        return bind_group

    def read_back(self, encoder: Any, memory: NDArray[np.uint8]) -> None:
        """Submit ``encoder``, wait, and fill ``memory`` with the device's."""
        size = rounded_up(memory.size)
        readback = self.buffer("readback", size)
        encoder.copy_buffer_to_buffer(self._buffers["memory"], 0, readback, 0, size)
        self._device.queue.submit([encoder.finish()])
        try:
            readback.map_sync(self._wgpu.MapMode.READ, 0, size)
            np.copyto(memory, np.frombuffer(readback.read_mapped(0, size, copy=False), np.uint8)[: memory.size])
            readback.unmap()
        except BaseException:
            # To submit work with a mapped buffer would abort the process: a half-mapped one is abandoned.
            self._forget("readback")
            raise

    def close(self) -> None:
        """Free the buffers."""
        self._groups.clear()
        for name in tuple(self._buffers):
            self._forget(name)
        self._parameters.destroy()

    def _forget(self, name: str) -> None:
        """Destroy a buffer, and whatever refers to it: to submit work with a destroyed one aborts the process."""
        self._groups.clear()
        self._buffers.pop(name).destroy()


def _entry(binding: int, buffer: Any, region: Region) -> dict[str, Any]:
    return {"binding": binding, "resource": {"buffer": buffer, "offset": region.offset, "size": region.size}}
