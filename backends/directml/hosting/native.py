"""A real D3D12 device as the backend's host: a queue, a list, and buffers to carry memory there and back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.directml.abi.com import PTR, ComError, Interface, Pointer
from dmlcts.backends.directml.abi.com_object import Faults
from dmlcts.backends.directml.abi.d3d12 import (
    D3D12_COMMAND_LIST_TYPE,
    D3D12_COMMAND_QUEUE_DESC,
    D3D12_DESCRIPTOR_HEAP_DESC,
    D3D12_DESCRIPTOR_HEAP_FLAGS,
    D3D12_DESCRIPTOR_HEAP_TYPE,
    D3D12_HEAP_PROPERTIES,
    D3D12_HEAP_TYPE,
    D3D12_RANGE,
    D3D12_RESOURCE_BARRIER,
    D3D12_RESOURCE_BARRIER_TYPE,
    D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DIMENSION,
    D3D12_RESOURCE_FLAGS,
    D3D12_RESOURCE_STATES,
    D3D12_RESOURCE_TRANSITION_BARRIER,
    D3D12_TEXTURE_LAYOUT,
    ID3D12CommandAllocator,
    ID3D12CommandQueue,
    ID3D12DescriptorHeap,
    ID3D12Fence,
    ID3D12GraphicsCommandList,
    ID3D12Resource,
)
from dmlcts.backends.directml.abi.host import AdapterInfo
from dmlcts.backends.directml.abi.hresults import DXGI_ERROR_DEVICE_REMOVED, unsigned

_COMPUTE = D3D12_COMMAND_LIST_TYPE.D3D12_COMMAND_LIST_TYPE_COMPUTE.value
_VIEWS = D3D12_DESCRIPTOR_HEAP_TYPE.D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV.value
_STATE = D3D12_RESOURCE_STATES
_KIND = D3D12_HEAP_TYPE
_ALL_SUBRESOURCES = 0xFFFFFFFF
# What a fence holds when its device is lost.
_LOST = (1 << 64) - 1
_DESCRIPTORS = 64


class NativeHost:
    """A D3D12 device.

    Args:
        device: an ``ID3D12Device``, taken over.
        info: what to say of its adapter.

    Raises:
        ComError: the device refuses one of the objects.
    """

    def __init__(self, device: Pointer, info: AdapterInfo) -> None:
        self.faults = Faults()
        self.info = info
        self._held = [device]
        self._buffers: _Buffers | None = None
        self._carrying = False
        try:
            self._device = device
            self._queue = self._keep("CreateCommandQueue", ID3D12CommandQueue, _ref(D3D12_COMMAND_QUEUE_DESC(_COMPUTE)))
            self._allocator = self._keep("CreateCommandAllocator", ID3D12CommandAllocator, _COMPUTE)
            self._list = self._keep(
                "CreateCommandList", ID3D12GraphicsCommandList, 0, _COMPUTE, self._allocator.address, None
            )
            self._fence = self._keep("CreateFence", ID3D12Fence, 0, 0)
            self._finished = 0
            self._make_heap(_DESCRIPTORS)
        except BaseException:
            self.close()
            raise
        self.device = device.address
        self.command_list = self._list.address

    def _keep(self, method: str, interface: Interface, *arguments: Any) -> Pointer:
        made = self._device.make(method, interface, *arguments)
        self._held.append(made)
        return made

    # Descriptors.

    def _make_heap(self, count: int) -> None:
        visible = D3D12_DESCRIPTOR_HEAP_FLAGS.D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE.value
        desc = D3D12_DESCRIPTOR_HEAP_DESC(_VIEWS, count, visible, 0)
        self._heap = self._keep("CreateDescriptorHeap", ID3D12DescriptorHeap, _ref(desc))
        self._heap_size = count
        start = self._heap.call("GetCPUDescriptorHandleForHeapStart")
        seen = self._heap.call("GetGPUDescriptorHandleForHeapStart")
        self._handles = int(start.ptr), int(seen.ptr)

    def descriptors(self, count: int) -> tuple[int, int]:
        """The handles of the heap's start; a heap that is too small is replaced."""
        if count > self._heap_size:
            self._held.remove(self._heap)
            self._heap.release()
            self._make_heap(count)
        return self._handles

    def prepare_list(self) -> None:
        """Set the descriptor heap, which DirectML leaves to its host."""
        heaps = PTR(self._heap.address)
        self._list.call("SetDescriptorHeaps", 1, _ref(heaps))

    # Memory.

    def bind(self, memory: NDArray[np.uint8]) -> int:
        """Write ``memory`` to an upload buffer, and record its copy into one in the device's memory."""
        size = memory.size
        if self._buffers is None or self._buffers.size != size:
            if self._buffers is not None:
                self._buffers.close()
                self._buffers = None
            self._buffers = _Buffers(self, size)
        buffers = self._buffers
        with _mapped(buffers.upload, D3D12_RANGE(0, 0), None) as address:
            ctypes.memmove(address, memory.ctypes.data, size)
        self._list.call("CopyBufferRegion", buffers.default.address, 0, buffers.upload.address, 0, size)
        self._transition(_STATE.D3D12_RESOURCE_STATE_COPY_DEST, _STATE.D3D12_RESOURCE_STATE_UNORDERED_ACCESS)
        self._carrying = True
        return buffers.default.address

    def read_back(self, memory: NDArray[np.uint8]) -> None:
        """Put what :meth:`execute` carried back into ``memory``."""
        assert self._buffers is not None  # noqa: S101 - bind comes first
        size = memory.size
        with _mapped(self._buffers.readback, D3D12_RANGE(0, size), D3D12_RANGE(0, 0)) as address:
            ctypes.memmove(memory.ctypes.data, address, size)

    def _transition(self, before: D3D12_RESOURCE_STATES, after: D3D12_RESOURCE_STATES) -> None:
        assert self._buffers is not None  # noqa: S101 - only called with them there
        change = D3D12_RESOURCE_TRANSITION_BARRIER(self._buffers.default.address, _ALL_SUBRESOURCES, before, after)
        kind = D3D12_RESOURCE_BARRIER_TYPE.D3D12_RESOURCE_BARRIER_TYPE_TRANSITION
        self._list.call("ResourceBarrier", 1, _ref(D3D12_RESOURCE_BARRIER(kind, 0, change)))

    def buffer(self, size: int, kind: D3D12_HEAP_TYPE) -> Pointer:
        """A buffer of ``size`` bytes in a heap of ``kind``."""
        writable = kind is _KIND.D3D12_HEAP_TYPE_DEFAULT
        flags = D3D12_RESOURCE_FLAGS
        state = {
            _KIND.D3D12_HEAP_TYPE_DEFAULT: _STATE.D3D12_RESOURCE_STATE_COMMON,
            _KIND.D3D12_HEAP_TYPE_UPLOAD: _STATE.D3D12_RESOURCE_STATE_GENERIC_READ,
            _KIND.D3D12_HEAP_TYPE_READBACK: _STATE.D3D12_RESOURCE_STATE_COPY_DEST,
        }[kind]
        desc = D3D12_RESOURCE_DESC(
            Dimension=D3D12_RESOURCE_DIMENSION.D3D12_RESOURCE_DIMENSION_BUFFER,
            Width=size,
            Height=1,
            DepthOrArraySize=1,
            MipLevels=1,
            SampleDesc=(1, 0),
            Layout=D3D12_TEXTURE_LAYOUT.D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            Flags=flags.D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS if writable else flags.D3D12_RESOURCE_FLAG_NONE,
        )
        heap = D3D12_HEAP_PROPERTIES(Type=kind, CreationNodeMask=1, VisibleNodeMask=1)
        arguments = (_ref(heap), 0, _ref(desc), state.value, None)
        return self._device.make("CreateCommittedResource", ID3D12Resource, *arguments)

    def scratch(self, size: int) -> NativeScratch:
        """A buffer in the device's memory."""
        return NativeScratch(self.buffer(size, _KIND.D3D12_HEAP_TYPE_DEFAULT), size)

    # Execution.

    def execute(self) -> None:
        """Execute the list, with the copy to the readback buffer where memory is bound, and wait.

        Raises:
            ComError: a call failed, or the device was removed.
        """
        if self._carrying:
            self._carrying = False
            buffers = self._buffers
            assert buffers is not None  # noqa: S101 - carrying says so
            self._transition(_STATE.D3D12_RESOURCE_STATE_UNORDERED_ACCESS, _STATE.D3D12_RESOURCE_STATE_COPY_SOURCE)
            self._list.call("CopyBufferRegion", buffers.readback.address, 0, buffers.default.address, 0, buffers.size)
        self._list.check("Close")
        lists = PTR(self._list.address)
        self._queue.call("ExecuteCommandLists", 1, _ref(lists))
        self._finished += 1
        self._queue.check("Signal", self._fence.address, self._finished)
        if self._fence.call("GetCompletedValue") < self._finished:
            # Without an event the call returns when the value is reached.
            self._fence.check("SetEventOnCompletion", self._finished, None)
        if self._fence.call("GetCompletedValue") == _LOST:
            raise ComError("ID3D12Fence::GetCompletedValue", self.removed_reason() or DXGI_ERROR_DEVICE_REMOVED)
        self._reopen()

    def _reopen(self) -> None:
        self._allocator.check("Reset")
        self._list.check("Reset", self._allocator.address, None)

    def abandon(self) -> None:
        """Close the list, whether it was open or not, and open it anew."""
        self._carrying = False
        self._list.call("Close")
        self._reopen()

    def removed_reason(self) -> int:
        """Why the device is lost; 0 while it is not."""
        return unsigned(self._device.call("GetDeviceRemovedReason"))

    def close(self) -> None:
        """Release everything; calling it again does nothing."""
        if self._buffers is not None:
            self._buffers.close()
            self._buffers = None
        while self._held:
            self._held.pop().release()


class NativeScratch:
    """A buffer in the device's memory.

    Args:
        buffer: taken over.
        size: its bytes.
    """

    def __init__(self, buffer: Pointer, size: int) -> None:
        self._buffer = buffer
        self.address = buffer.address
        self.size = size

    def close(self) -> None:
        """Release it."""
        self._buffer.release()


class _Buffers:
    """The three buffers that carry a memory of ``size`` bytes to the device and back."""

    def __init__(self, host: NativeHost, size: int) -> None:
        self.size = size
        self._made: list[Pointer] = []
        try:
            for kind in (_KIND.D3D12_HEAP_TYPE_DEFAULT, _KIND.D3D12_HEAP_TYPE_UPLOAD, _KIND.D3D12_HEAP_TYPE_READBACK):
                self._made.append(host.buffer(size, kind))
        except BaseException:
            self.close()
            raise
        self.default, self.upload, self.readback = self._made

    def close(self) -> None:
        for buffer in self._made:
            buffer.release()


class _mapped:  # noqa: N801 - used as a statement
    """The address of a buffer's bytes, for as long as the context lasts."""

    def __init__(self, buffer: Pointer, read: D3D12_RANGE, written: D3D12_RANGE | None) -> None:
        self._buffer, self._read, self._written = buffer, read, written

    def __enter__(self) -> int:
        address = PTR()
        self._buffer.check("Map", 0, _ref(self._read), _ref(address))
        return address.value or 0

    def __exit__(self, *_: object) -> None:
        self._buffer.call("Unmap", 0, None if self._written is None else _ref(self._written))


def _ref(value: Any) -> Any:
    return ctypes.byref(value)
