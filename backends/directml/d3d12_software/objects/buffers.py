"""Buffers of the software D3D12 adapter, which are host memory, and the views of them in descriptor heaps."""

from __future__ import annotations

import ctypes
import struct

from dmlcts.backends.directml.abi.com_object import ComObject, implementation
from dmlcts.backends.directml.abi.d3d12 import (
    D3D12_HEAP_PROPERTIES,
    D3D12_HEAP_TYPE,
    D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DIMENSION,
    D3D12_RESOURCE_FLAGS,
    D3D12_TEXTURE_LAYOUT,
    D3D12_UAV_DIMENSION,
    D3D12_UNORDERED_ACCESS_VIEW_DESC,
    ID3D12Resource,
)
from dmlcts.backends.directml.d3d12_software.codegen.shader import View
from dmlcts.backends.directml.d3d12_software.objects.objects import DeviceChild, UnsupportedByAdapter
from dmlcts.backends.directml.d3d12_software.shaders.ir import size_of
from dmlcts.backends.directml.d3d12_software.shaders.resources import typed_format

# As D3D12 aligns buffers.
BUFFER_ALIGNMENT = 65536
_VIEW = struct.Struct("<iiQIIQi4x")

if _VIEW.size != ctypes.sizeof(D3D12_UNORDERED_ACCESS_VIEW_DESC):
    raise ImportError("D3D12_UNORDERED_ACCESS_VIEW_DESC does not lie as on a 64-bit machine")


class Buffer(DeviceChild):
    """A buffer in host memory that somebody else owns.

    Args:
        device: the device.
        start: the address where the memory begins.
        size: its bytes.
    """

    interface = ID3D12Resource

    def __init__(self, device: ComObject, start: int, size: int) -> None:
        super().__init__(device)
        self._desc = D3D12_RESOURCE_DESC(
            Dimension=D3D12_RESOURCE_DIMENSION.D3D12_RESOURCE_DIMENSION_BUFFER,
            Alignment=BUFFER_ALIGNMENT,
            Height=1,
            DepthOrArraySize=1,
            MipLevels=1,
            SampleDesc=(1, 0),
            Layout=D3D12_TEXTURE_LAYOUT.D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            Flags=D3D12_RESOURCE_FLAGS.D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        )
        self.place(start, size)

    def place(self, start: int, size: int) -> None:
        """Move the buffer to other memory; what was recorded before must not be executed after."""
        self.start = start
        self.size = size
        self._desc.Width = size

    def GetDesc(self) -> D3D12_RESOURCE_DESC:
        """The buffer as D3D12 describes it."""
        return self._desc

    def GetGPUVirtualAddress(self) -> int:
        """The host address, which is the device's too."""
        return self.start

    def GetHeapProperties(self, properties: int | None, flags: int | None) -> int:
        """A default heap."""
        if properties:
            heap_properties = D3D12_HEAP_PROPERTIES.from_address(properties)
            ctypes.memset(properties, 0, ctypes.sizeof(heap_properties))
            heap_properties.Type = D3D12_HEAP_TYPE.D3D12_HEAP_TYPE_DEFAULT
            heap_properties.CreationNodeMask = heap_properties.VisibleNodeMask = 1
        if flags:
            ctypes.c_int32.from_address(flags).value = 0
        return 0


class DescriptorHeap:
    """Places for views, by handle; the handles of the processor and of the device are the same numbers.

    Args:
        first: the handle of the first place.
    """

    INCREMENT = 32

    def __init__(self, first: int) -> None:
        self.first = first
        self.views: dict[int, View] = {}

    def handle(self, index: int) -> int:
        """The handle of the place number ``index``."""
        return self.first + index * self.INCREMENT

    def table(self, handle: int, count: int) -> list[View]:
        """The ``count`` views from ``handle`` on; places never written hold views of nothing."""
        step = self.INCREMENT
        return [self.views.get(place, NO_VIEW) for place in range(handle, handle + count * step, step)]


NO_VIEW = View(address=0, size=0, kind="structured", stride=4, format=0)


def buffer_view(resource: int | None, desc: int | None) -> View:
    """The view that ``CreateUnorderedAccessView`` describes, as what shaders need of it.

    Raises:
        UnsupportedByAdapter: it is of no buffer, raw, or reaches past the buffer.
        UnsupportedShader: it has a format that is not known.
    """
    if not desc:
        raise UnsupportedByAdapter("an unordered access view without a description")
    form, dimension, first, count, stride, _, flags = _VIEW.unpack(ctypes.string_at(desc, _VIEW.size))
    if dimension != D3D12_UAV_DIMENSION.D3D12_UAV_DIMENSION_BUFFER or flags:
        raise UnsupportedByAdapter(f"an unordered access view of dimension {dimension} with flags {flags}")
    kind = "typed" if form else "structured"
    if form:
        element = typed_format(form)
        stride = element.components * size_of(element.kind)
    if not resource:
        return View(address=0, size=0, kind=kind, stride=stride, format=form)
    buffer = implementation(resource)
    if not isinstance(buffer, Buffer):
        raise UnsupportedByAdapter(f"an unordered access view of a {type(buffer).__name__}")
    begin, size = first * stride, count * stride
    if begin + size > buffer.size:
        text = f"an unordered access view of bytes {begin} to {begin + size} of a buffer of {buffer.size}"
        raise UnsupportedByAdapter(text)
    return View(address=buffer.start + begin, size=size, kind=kind, stride=stride, format=form)
