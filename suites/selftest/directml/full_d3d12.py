"""A whole D3D12 device in host memory: the software adapter with queues, heaps, fences and mapping besides.

The backend needs these of a real device only. Here they stand in for one, so that the way to it is driven with
the real library although there is no such device; nothing is promised of their completeness.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dmlcts.backends.directml.abi import d3d12
from dmlcts.backends.directml.abi.com import PTR
from dmlcts.backends.directml.abi.com_object import ComObject, implementation
from dmlcts.backends.directml.abi.hresults import DXGI_ERROR_DEVICE_REMOVED, E_FAIL
from dmlcts.backends.directml.d3d12_software.objects.buffers import Buffer, DescriptorHeap
from dmlcts.backends.directml.d3d12_software.objects.command_list import CommandList
from dmlcts.backends.directml.d3d12_software.objects.device import SoftwareDevice
from dmlcts.backends.directml.d3d12_software.objects.objects import DeviceChild, handed_out

LOST = (1 << 64) - 1


class FullDevice(SoftwareDevice):
    """Adds what DirectML leaves to its host; ``calls`` says what was asked, ``lost`` takes the device away."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls: list[str] = []
        self.lost = False

    def GetDeviceRemovedReason(self) -> int:
        return DXGI_ERROR_DEVICE_REMOVED if self.lost else 0

    def CreateCommandQueue(self, desc: int, iid: int, out: int) -> int:
        wanted = d3d12.D3D12_COMMAND_QUEUE_DESC.from_address(desc)
        assert wanted.Type == d3d12.D3D12_COMMAND_LIST_TYPE.D3D12_COMMAND_LIST_TYPE_COMPUTE
        return self._made("queue", Queue(self), iid, out)

    def CreateCommandAllocator(self, kind: int, iid: int, out: int) -> int:
        return self._made("allocator", Allocator(self), iid, out)

    def CreateCommandList(self, mask: int, kind: int, allocator: int, state: int | None, iid: int, out: int) -> int:
        assert isinstance(implementation(allocator), Allocator)
        return self._made("list", RecordedList(self), iid, out)

    def CreateFence(self, value: int, flags: int, iid: int, out: int) -> int:
        return self._made("fence", Fence(self, value), iid, out)

    def CreateDescriptorHeap(self, desc: int, iid: int, out: int) -> int:
        wanted = d3d12.D3D12_DESCRIPTOR_HEAP_DESC.from_address(desc)
        assert wanted.Flags == d3d12.D3D12_DESCRIPTOR_HEAP_FLAGS.D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
        return self._made(f"heap of {wanted.NumDescriptors}", Heap(self), iid, out)

    def CreateCommittedResource(
        self, heap: int, flags: int, desc: int, state: int, clear: int | None, iid: int, out: int
    ) -> int:
        kind = d3d12.D3D12_HEAP_TYPE(d3d12.D3D12_HEAP_PROPERTIES.from_address(heap).Type)
        size = d3d12.D3D12_RESOURCE_DESC.from_address(desc).Width
        return self._made(f"{kind.name.rpartition('_')[2]} buffer of {size}", OwnBuffer(self, size, state), iid, out)

    def _made(self, what: str, made: ComObject, iid: int, out: int) -> int:
        self.calls.append(what)
        return handed_out(made, iid, out)


class OwnBuffer(Buffer):
    """A buffer with memory of its own and the state it was created in."""

    def __init__(self, device: ComObject, size: int, state: int) -> None:
        self.memory = np.full(size + 64, 0xA5, np.uint8)
        self.skip = -self.memory.ctypes.data % 64
        self.state = state
        super().__init__(device, self.memory.ctypes.data + self.skip, size)

    def Map(self, subresource: int, read: int | None, out: int) -> int:
        PTR.from_address(out).value = self.start
        return 0

    def Unmap(self, subresource: int, written: int | None) -> None:
        pass


class Heap(DeviceChild):
    """The device's one heap of views."""

    interface = d3d12.ID3D12DescriptorHeap

    def GetCPUDescriptorHandleForHeapStart(self) -> d3d12.D3D12_CPU_DESCRIPTOR_HANDLE:
        return d3d12.D3D12_CPU_DESCRIPTOR_HANDLE(self._heap.first)

    def GetGPUDescriptorHandleForHeapStart(self) -> d3d12.D3D12_GPU_DESCRIPTOR_HANDLE:
        return d3d12.D3D12_GPU_DESCRIPTOR_HANDLE(self._heap.first)

    @property
    def _heap(self) -> DescriptorHeap:
        assert isinstance(self.device, FullDevice)
        return self.device.heap


class RecordedList(CommandList):
    """A list that must be closed to be executed, and reset to be recorded again; it watches the states of buffers."""

    STATES: ClassVar = d3d12.D3D12_RESOURCE_STATES

    def __init__(self, device: ComObject) -> None:
        super().__init__(device)
        self.open = True
        self.heaps = 0

    def SetDescriptorHeaps(self, count: int, heaps: int) -> None:
        assert isinstance(implementation(PTR.from_address(heaps).value or 0), Heap)
        self.heaps = count

    def Dispatch(self, x: int, y: int, z: int) -> None:
        assert self.heaps == 1, "DirectML leaves the descriptor heap to its host"
        super().Dispatch(x, y, z)

    def CopyBufferRegion(self, target: int, target_at: int, source: int, source_at: int, size: int) -> None:
        to, of = implementation(target), implementation(source)
        assert isinstance(to, OwnBuffer)
        assert isinstance(of, OwnBuffer)
        if to.state == self.STATES.D3D12_RESOURCE_STATE_COMMON:  # promoted by its first use
            to.state = self.STATES.D3D12_RESOURCE_STATE_COPY_DEST
        assert to.state == self.STATES.D3D12_RESOURCE_STATE_COPY_DEST
        assert of.state in (
            self.STATES.D3D12_RESOURCE_STATE_COPY_SOURCE,
            self.STATES.D3D12_RESOURCE_STATE_GENERIC_READ,
        )
        super().CopyBufferRegion(target, target_at, source, source_at, size)

    def ResourceBarrier(self, count: int, barriers: int) -> None:
        for barrier in (d3d12.D3D12_RESOURCE_BARRIER * count).from_address(barriers):
            if barrier.Type == d3d12.D3D12_RESOURCE_BARRIER_TYPE.D3D12_RESOURCE_BARRIER_TYPE_TRANSITION:
                buffer = implementation(barrier.Transition.pResource)
                assert isinstance(buffer, OwnBuffer)
                assert buffer.state == barrier.Transition.StateBefore
                buffer.state = barrier.Transition.StateAfter
                self._changed.append(buffer)

    def restart(self) -> None:
        super().restart()
        self._changed: list[OwnBuffer] = []

    def Close(self) -> int:
        if not self.open:
            return E_FAIL
        self.open = False
        return 0

    def Reset(self, allocator: int, state: int | None) -> int:
        assert not self.open
        self.open, self.heaps = True, 0
        self.restart()
        return 0

    def decay(self) -> None:
        """Buffers return to the common state when a list has been executed."""
        for buffer in self._changed:
            buffer.state = self.STATES.D3D12_RESOURCE_STATE_COMMON


class Allocator(DeviceChild):
    """Nothing but its resets."""

    interface = d3d12.ID3D12CommandAllocator

    def Reset(self) -> int:
        return 0


class Queue(DeviceChild):
    """Executes at once."""

    interface = d3d12.ID3D12CommandQueue

    def ExecuteCommandLists(self, count: int, lists: int) -> None:
        device = self.device
        assert isinstance(device, FullDevice)
        for address in (PTR * count).from_address(lists):
            recorded = implementation(address)
            assert isinstance(recorded, RecordedList)
            assert not recorded.open
            if not device.lost:
                recorded.decay()
                recorded.execute(device.heap)

    def Signal(self, fence: int, value: int) -> int:
        result = implementation(fence)
        assert isinstance(result, Fence)
        result.pending = value
        return 0


class Fence(DeviceChild):
    """Reaches a value when it is waited for, so that forgetting to wait is noticed."""

    interface = d3d12.ID3D12Fence

    def __init__(self, device: ComObject, value: int) -> None:
        super().__init__(device)
        self.value = self.pending = value

    def GetCompletedValue(self) -> int:
        assert isinstance(self.device, FullDevice)
        return LOST if self.device.lost else self.value

    def SetEventOnCompletion(self, value: int, event: int | None) -> int:
        assert value == self.pending
        self.value = value
        return 0
