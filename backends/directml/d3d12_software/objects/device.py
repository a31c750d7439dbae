"""The device of the software D3D12 adapter, and the DXCore adapter under whose name DirectML looks it up."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.backends.directml.abi.com import NATIVE, PTR, Convention
from dmlcts.backends.directml.abi.com_object import ComObject, Faults, implementation
from dmlcts.backends.directml.abi.d3d12 import (
    D3D12_COMPUTE_PIPELINE_STATE_DESC,
    D3D12_FEATURE,
    D3D12_FEATURE_DATA_D3D12_OPTIONS,
    D3D12_FEATURE_DATA_D3D12_OPTIONS1,
    D3D12_FEATURE_DATA_D3D12_OPTIONS4,
    D3D12_FEATURE_DATA_FEATURE_LEVELS,
    D3D12_FEATURE_DATA_SHADER_MODEL,
    D3D_FEATURE_LEVEL,
    D3D_SHADER_MODEL,
    LUID,
    ID3D12Device,
)
from dmlcts.backends.directml.abi.dxcore import (
    DXCoreAdapterProperty,
    DXCoreHardwareID,
    IDXCoreAdapter,
    IDXCoreAdapterFactory,
)
from dmlcts.backends.directml.abi.hresults import E_INVALIDARG
from dmlcts.backends.directml.d3d12_software.codegen.shader import Shader, ShaderCompiler
from dmlcts.backends.directml.d3d12_software.objects.buffers import DescriptorHeap, buffer_view
from dmlcts.backends.directml.d3d12_software.objects.command_list import PipelineState
from dmlcts.backends.directml.d3d12_software.objects.objects import UnsupportedByAdapter, handed_out
from dmlcts.backends.directml.d3d12_software.objects.root_signature import RootSignature

ADAPTER_NAME = "dmlcts software D3D12 adapter"
ADAPTER_LUID = (0x444D4C43, 0x5453)
DRIVER_VERSION = 1
# Microsoft's own vendor number with a device number of no product.
_HARDWARE = (0x1414, 0xFFFE, 0, 0)


class SoftwareDevice(ComObject):
    """A D3D12 device that runs compute shaders on the processor.

    Args:
        faults: where exceptions go.
        compiler: makes shaders of containers.
        convention: of the library that is to call it and all that it makes.
    """

    interface = ID3D12Device

    def __init__(self, faults: Faults, compiler: ShaderCompiler, convention: Convention = NATIVE) -> None:
        super().__init__(faults, convention)
        self._compiler = compiler
        self._shaders: dict[bytes, Shader] = {}
        self.heap = DescriptorHeap(1 << 20)

    def SetName(self, name: int | None) -> int:
        """Take a name for debugging, and forget it."""
        return 0

    def GetNodeCount(self) -> int:
        """One."""
        return 1

    def CheckFeatureSupport(self, feature: int, data: int | None, size: int) -> int:
        """What the adapter can do; E_INVALIDARG for what it does not know, as D3D12 answers."""
        answer = _FEATURES.get(feature)
        if answer is None or not data:
            return E_INVALIDARG
        structure, fill = answer
        if size != ctypes.sizeof(structure):
            return E_INVALIDARG
        return fill(structure.from_address(data))

    def GetDescriptorHandleIncrementSize(self, kind: int) -> int:
        """The distance of neighbouring descriptor handles."""
        return DescriptorHeap.INCREMENT

    def CreateRootSignature(self, mask: int, content: int, size: int, iid: int, out: int | None) -> int:
        """Make a root signature of its serialized form."""
        made = RootSignature(self, ctypes.string_at(content, size))
        return handed_out(made, iid, out)

    def CreateComputePipelineState(self, desc: int, iid: int, out: int | None) -> int:
        """Compile a compute shader.

        Raises:
            UnsupportedByAdapter: the root signature is none of this adapter.
        """
        wanted = D3D12_COMPUTE_PIPELINE_STATE_DESC.from_address(desc)
        signature = implementation(wanted.pRootSignature or 0)
        if not isinstance(signature, RootSignature):
            raise UnsupportedByAdapter(f"a {type(signature).__name__} as a root signature")
        container = ctypes.string_at(wanted.CS.pShaderBytecode, wanted.CS.BytecodeLength)
        shader = self._shaders.get(container)
        if shader is None:
            shader = self._shaders[container] = self._compiler.compile(container)
        return handed_out(PipelineState(self, signature, shader), iid, out)

    def CreateUnorderedAccessView(
        self, resource: int | None, counter: int | None, desc: int | None, handle: int
    ) -> None:
        """Put a view into a descriptor heap."""
        self.heap.views[handle] = buffer_view(resource, desc)

    def MakeResident(self, count: int, objects: int | None) -> int:
        """Nothing to do: everything is always in memory."""
        return 0

    def Evict(self, count: int, objects: int | None) -> int:
        """Nothing to do: everything is always in memory."""
        return 0

    def GetDeviceRemovedReason(self) -> int:
        """The adapter is never lost."""
        return 0

    def GetAdapterLuid(self) -> LUID:
        """The number under which DXCore knows the adapter."""
        return LUID(*ADAPTER_LUID)


# What the adapter can do.


def _feature_levels(data: D3D12_FEATURE_DATA_FEATURE_LEVELS) -> int:
    asked = (ctypes.c_int32 * data.NumFeatureLevels).from_address(data.pFeatureLevelsRequested)
    known = [level for level in asked if level <= D3D_FEATURE_LEVEL.D3D_FEATURE_LEVEL_12_0]
    if not known:
        return E_INVALIDARG
    data.MaxSupportedFeatureLevel = max(known)
    return 0


def _shader_model(data: D3D12_FEATURE_DATA_SHADER_MODEL) -> int:
    data.HighestShaderModel = min(data.HighestShaderModel, D3D_SHADER_MODEL.D3D_SHADER_MODEL_6_2)
    return 0


def _options(data: D3D12_FEATURE_DATA_D3D12_OPTIONS) -> int:
    ctypes.memset(ctypes.addressof(data), 0, ctypes.sizeof(data))
    data.DoublePrecisionFloatShaderOps = 1
    data.ResourceBindingTier = 3
    data.TypedUAVLoadAdditionalFormats = 1
    data.MaxGPUVirtualAddressBitsPerResource = 40
    data.ResourceHeapTier = 2
    return 0


def _options1(data: D3D12_FEATURE_DATA_D3D12_OPTIONS1) -> int:
    ctypes.memset(ctypes.addressof(data), 0, ctypes.sizeof(data))
    return 0


def _options4(data: D3D12_FEATURE_DATA_D3D12_OPTIONS4) -> int:
    ctypes.memset(ctypes.addressof(data), 0, ctypes.sizeof(data))
    data.Native16BitShaderOpsSupported = 1
    return 0


_FEATURES: Mapping[int, tuple[Any, Callable[[Any], int]]] = {
    D3D12_FEATURE.D3D12_FEATURE_FEATURE_LEVELS.value: (D3D12_FEATURE_DATA_FEATURE_LEVELS, _feature_levels),
    D3D12_FEATURE.D3D12_FEATURE_SHADER_MODEL.value: (D3D12_FEATURE_DATA_SHADER_MODEL, _shader_model),
    D3D12_FEATURE.D3D12_FEATURE_D3D12_OPTIONS.value: (D3D12_FEATURE_DATA_D3D12_OPTIONS, _options),
    D3D12_FEATURE.D3D12_FEATURE_D3D12_OPTIONS1.value: (D3D12_FEATURE_DATA_D3D12_OPTIONS1, _options1),
    D3D12_FEATURE.D3D12_FEATURE_D3D12_OPTIONS4.value: (D3D12_FEATURE_DATA_D3D12_OPTIONS4, _options4),
}


# DXCore.

_PROPERTIES = {
    DXCoreAdapterProperty.InstanceLuid.value: bytes(LUID(*ADAPTER_LUID)),
    DXCoreAdapterProperty.DriverVersion.value: DRIVER_VERSION.to_bytes(8, "little"),
    DXCoreAdapterProperty.DriverDescription.value: ADAPTER_NAME.encode() + b"\0",
    DXCoreAdapterProperty.HardwareID.value: bytes(DXCoreHardwareID(*_HARDWARE)),
    DXCoreAdapterProperty.IsHardware.value: b"\0",
    DXCoreAdapterProperty.IsIntegrated.value: b"\0",
}


class SoftwareDXCoreAdapter(ComObject):
    """The adapter as DXCore shows it."""

    interface = IDXCoreAdapter

    def IsValid(self) -> bool:
        """Always."""
        return True

    def IsAttributeSupported(self, attribute: int | None) -> bool:
        """No particular attribute is claimed."""
        return False

    def IsPropertySupported(self, number: int) -> bool:
        """Whether the property has an answer."""
        return number in _PROPERTIES

    def GetPropertySize(self, number: int, out: int) -> int:
        """The bytes of a property."""
        data = _PROPERTIES.get(number)
        if data is None:
            return E_INVALIDARG
        ctypes.c_size_t.from_address(out).value = len(data)
        return 0

    def GetProperty(self, number: int, size: int, out: int) -> int:
        """A property."""
        data = _PROPERTIES.get(number)
        if data is None or size < len(data):
            return E_INVALIDARG
        ctypes.memmove(out, data, len(data))
        return 0


class SoftwareDXCoreFactory(ComObject):
    """Finds the one adapter there is."""

    interface = IDXCoreAdapterFactory

    def GetAdapterByLuid(self, luid: int, iid: int, out: int | None) -> int:
        """The adapter, if it is the one asked for."""
        if ctypes.string_at(luid, 8) != bytes(LUID(*ADAPTER_LUID)):
            if out:
                PTR.from_address(out).value = None
            return E_INVALIDARG
        return handed_out(SoftwareDXCoreAdapter(self.faults, self.convention), iid, out)
