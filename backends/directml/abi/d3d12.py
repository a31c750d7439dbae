"""Direct3D 12: the structures, numbers and interfaces that DirectML and its host use.

Source: d3d12.h and d3dcommon.h of Microsoft's DirectX-Headers. Structures lie as on 64-bit machines.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag
from typing import ClassVar

from dmlcts.backends.directml.abi.com import BOOL, HRESULT, PTR, SIZE, U32, U64, Interface, IUnknown, Method

U16 = ctypes.c_uint16
I32 = ctypes.c_int32


# Numbers.


class D3D_FEATURE_LEVEL(IntEnum):
    """What a device can do."""

    D3D_FEATURE_LEVEL_1_0_CORE = 0x1000
    D3D_FEATURE_LEVEL_11_0 = 0xB000
    D3D_FEATURE_LEVEL_12_0 = 0xC000


class D3D12_FEATURE(IntEnum):
    """What ``ID3D12Device::CheckFeatureSupport`` is asked."""

    D3D12_FEATURE_D3D12_OPTIONS = 0
    D3D12_FEATURE_FEATURE_LEVELS = 2
    D3D12_FEATURE_SHADER_MODEL = 7
    D3D12_FEATURE_D3D12_OPTIONS1 = 8
    D3D12_FEATURE_D3D12_OPTIONS4 = 23


class D3D_SHADER_MODEL(IntEnum):
    """Versions of shader code."""

    D3D_SHADER_MODEL_6_0 = 0x60
    D3D_SHADER_MODEL_6_2 = 0x62
    D3D_SHADER_MODEL_6_6 = 0x66


class D3D12_COMMAND_LIST_TYPE(IntEnum):
    """What a command list or queue takes."""

    D3D12_COMMAND_LIST_TYPE_DIRECT = 0
    D3D12_COMMAND_LIST_TYPE_COMPUTE = 2


class D3D12_DESCRIPTOR_HEAP_TYPE(IntEnum):
    """What a descriptor heap holds."""

    D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV = 0


class D3D12_DESCRIPTOR_HEAP_FLAGS(IntFlag):
    """Who sees a descriptor heap."""

    D3D12_DESCRIPTOR_HEAP_FLAG_NONE = 0
    D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE = 1


class D3D12_HEAP_TYPE(IntEnum):
    """Where memory lies."""

    D3D12_HEAP_TYPE_DEFAULT = 1
    D3D12_HEAP_TYPE_UPLOAD = 2
    D3D12_HEAP_TYPE_READBACK = 3
    D3D12_HEAP_TYPE_CUSTOM = 4


class D3D12_RESOURCE_DIMENSION(IntEnum):
    """Buffers and textures."""

    D3D12_RESOURCE_DIMENSION_BUFFER = 1


class D3D12_TEXTURE_LAYOUT(IntEnum):
    """How a resource's elements lie."""

    D3D12_TEXTURE_LAYOUT_ROW_MAJOR = 1


class D3D12_RESOURCE_FLAGS(IntFlag):
    """What a resource may be used for."""

    D3D12_RESOURCE_FLAG_NONE = 0
    D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS = 0x4


class D3D12_RESOURCE_STATES(IntFlag):
    """What a resource is being used for."""

    D3D12_RESOURCE_STATE_COMMON = 0
    D3D12_RESOURCE_STATE_UNORDERED_ACCESS = 0x8
    D3D12_RESOURCE_STATE_COPY_DEST = 0x400
    D3D12_RESOURCE_STATE_COPY_SOURCE = 0x800
    D3D12_RESOURCE_STATE_GENERIC_READ = 0xAC3


class D3D12_RESOURCE_BARRIER_TYPE(IntEnum):
    """What a barrier waits for."""

    D3D12_RESOURCE_BARRIER_TYPE_TRANSITION = 0
    D3D12_RESOURCE_BARRIER_TYPE_ALIASING = 1
    D3D12_RESOURCE_BARRIER_TYPE_UAV = 2


class D3D12_UAV_DIMENSION(IntEnum):
    """What an unordered access view looks at."""

    D3D12_UAV_DIMENSION_BUFFER = 1


class D3D12_BUFFER_UAV_FLAGS(IntFlag):
    """How a buffer is viewed."""

    D3D12_BUFFER_UAV_FLAG_NONE = 0
    D3D12_BUFFER_UAV_FLAG_RAW = 1


class DXGI_FORMAT(IntEnum):
    """The formats of typed views; UNKNOWN for structured ones."""

    DXGI_FORMAT_UNKNOWN = 0
    DXGI_FORMAT_R32_TYPELESS = 39
    DXGI_FORMAT_R8_UINT = 62
    DXGI_FORMAT_R8_SINT = 64


class D3D_ROOT_SIGNATURE_VERSION(IntEnum):
    """Versions of root signatures."""

    D3D_ROOT_SIGNATURE_VERSION_1_0 = 1
    D3D_ROOT_SIGNATURE_VERSION_1_1 = 2


class D3D12_ROOT_PARAMETER_TYPE(IntEnum):
    """What a parameter of a root signature is."""

    D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE = 0
    D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS = 1


class D3D12_DESCRIPTOR_RANGE_TYPE(IntEnum):
    """What the descriptors of a range are."""

    D3D12_DESCRIPTOR_RANGE_TYPE_SRV = 0
    D3D12_DESCRIPTOR_RANGE_TYPE_UAV = 1


NUMBERS = (
    D3D_FEATURE_LEVEL,
    D3D12_FEATURE,
    D3D_SHADER_MODEL,
    D3D12_COMMAND_LIST_TYPE,
    D3D12_DESCRIPTOR_HEAP_TYPE,
    D3D12_DESCRIPTOR_HEAP_FLAGS,
    D3D12_HEAP_TYPE,
    D3D12_RESOURCE_DIMENSION,
    D3D12_TEXTURE_LAYOUT,
    D3D12_RESOURCE_FLAGS,
    D3D12_RESOURCE_STATES,
    D3D12_RESOURCE_BARRIER_TYPE,
    D3D12_UAV_DIMENSION,
    D3D12_BUFFER_UAV_FLAGS,
    DXGI_FORMAT,
    D3D_ROOT_SIGNATURE_VERSION,
    D3D12_ROOT_PARAMETER_TYPE,
    D3D12_DESCRIPTOR_RANGE_TYPE,
)


# Structures.


class LUID(ctypes.Structure):
    """A number that names an adapter while the machine runs."""

    _fields_: ClassVar = [("LowPart", U32), ("HighPart", I32)]


class D3D12_CPU_DESCRIPTOR_HANDLE(ctypes.Structure):
    """A place in a descriptor heap."""

    _fields_: ClassVar = [("ptr", SIZE)]


class D3D12_GPU_DESCRIPTOR_HANDLE(ctypes.Structure):
    """A place in a descriptor heap that shaders see."""

    _fields_: ClassVar = [("ptr", U64)]


class DXGI_SAMPLE_DESC(ctypes.Structure):
    """Multisampling; 1 and 0 for buffers."""

    _fields_: ClassVar = [("Count", U32), ("Quality", U32)]


class D3D12_RESOURCE_DESC(ctypes.Structure):
    """A resource."""

    _fields_: ClassVar = [
        ("Dimension", I32),
        ("Alignment", U64),
        ("Width", U64),
        ("Height", U32),
        ("DepthOrArraySize", U16),
        ("MipLevels", U16),
        ("Format", I32),
        ("SampleDesc", DXGI_SAMPLE_DESC),
        ("Layout", I32),
        ("Flags", I32),
    ]


class D3D12_HEAP_PROPERTIES(ctypes.Structure):
    """Where a resource's memory lies."""

    _fields_: ClassVar = [
        ("Type", I32),
        ("CPUPageProperty", I32),
        ("MemoryPoolPreference", I32),
        ("CreationNodeMask", U32),
        ("VisibleNodeMask", U32),
    ]


class D3D12_RANGE(ctypes.Structure):
    """Bytes from ``Begin`` up to, not including, ``End``."""

    _fields_: ClassVar = [("Begin", SIZE), ("End", SIZE)]


class D3D12_BUFFER_UAV(ctypes.Structure):
    """A view of a buffer's elements."""

    _fields_: ClassVar = [
        ("FirstElement", U64),
        ("NumElements", U32),
        ("StructureByteStride", U32),
        ("CounterOffsetInBytes", U64),
        ("Flags", I32),
    ]


class D3D12_UNORDERED_ACCESS_VIEW_DESC(ctypes.Structure):
    """A view that reads and writes (d3d12.h); of its union only the buffer, which is its largest member."""

    _fields_: ClassVar = [("Format", I32), ("ViewDimension", I32), ("Buffer", D3D12_BUFFER_UAV)]


class D3D12_SHADER_BYTECODE(ctypes.Structure):
    """A shader container."""

    _fields_: ClassVar = [("pShaderBytecode", PTR), ("BytecodeLength", SIZE)]


class D3D12_CACHED_PIPELINE_STATE(ctypes.Structure):
    """A pipeline state compiled before."""

    _fields_: ClassVar = [("pCachedBlob", PTR), ("CachedBlobSizeInBytes", SIZE)]


class D3D12_COMPUTE_PIPELINE_STATE_DESC(ctypes.Structure):
    """A compute shader with its root signature."""

    _fields_: ClassVar = [
        ("pRootSignature", PTR),
        ("CS", D3D12_SHADER_BYTECODE),
        ("NodeMask", U32),
        ("CachedPSO", D3D12_CACHED_PIPELINE_STATE),
        ("Flags", I32),
    ]


class D3D12_DESCRIPTOR_HEAP_DESC(ctypes.Structure):
    """A descriptor heap."""

    _fields_: ClassVar = [("Type", I32), ("NumDescriptors", U32), ("Flags", I32), ("NodeMask", U32)]


class D3D12_COMMAND_QUEUE_DESC(ctypes.Structure):
    """A command queue."""

    _fields_: ClassVar = [("Type", I32), ("Priority", I32), ("Flags", I32), ("NodeMask", U32)]


class D3D12_RESOURCE_TRANSITION_BARRIER(ctypes.Structure):
    """A change of a resource's state."""

    _fields_: ClassVar = [("pResource", PTR), ("Subresource", U32), ("StateBefore", I32), ("StateAfter", I32)]


class D3D12_RESOURCE_BARRIER(ctypes.Structure):
    """A barrier; of its union only the transition, which is its largest member."""

    _fields_: ClassVar = [("Type", I32), ("Flags", I32), ("Transition", D3D12_RESOURCE_TRANSITION_BARRIER)]


class D3D12_FEATURE_DATA_FEATURE_LEVELS(ctypes.Structure):
    """The highest of the levels asked for."""

    _fields_: ClassVar = [
        ("NumFeatureLevels", U32),
        ("pFeatureLevelsRequested", PTR),
        ("MaxSupportedFeatureLevel", I32),
    ]


class D3D12_FEATURE_DATA_SHADER_MODEL(ctypes.Structure):
    """The highest shader model, not above the one asked for."""

    _fields_: ClassVar = [("HighestShaderModel", I32)]


class D3D12_FEATURE_DATA_D3D12_OPTIONS(ctypes.Structure):
    """First set of optional features."""

    _fields_: ClassVar = [
        ("DoublePrecisionFloatShaderOps", BOOL),
        ("OutputMergerLogicOp", BOOL),
        ("MinPrecisionSupport", I32),
        ("TiledResourcesTier", I32),
        ("ResourceBindingTier", I32),
        ("PSSpecifiedStencilRefSupported", BOOL),
        ("TypedUAVLoadAdditionalFormats", BOOL),
        ("ROVsSupported", BOOL),
        ("ConservativeRasterizationTier", I32),
        ("MaxGPUVirtualAddressBitsPerResource", U32),
        ("StandardSwizzle64KBSupported", BOOL),
        ("CrossNodeSharingTier", I32),
        ("CrossAdapterRowMajorTextureSupported", BOOL),
        ("VPAndRTArrayIndexFromAnyShaderFeedingRasterizerSupportedWithoutGSEmulation", BOOL),
        ("ResourceHeapTier", I32),
    ]


class D3D12_FEATURE_DATA_D3D12_OPTIONS1(ctypes.Structure):
    """Optional features of waves and 64-bit integers."""

    _fields_: ClassVar = [
        ("WaveOps", BOOL),
        ("WaveLaneCountMin", U32),
        ("WaveLaneCountMax", U32),
        ("TotalLaneCount", U32),
        ("ExpandedComputeResourceStates", BOOL),
        ("Int64ShaderOps", BOOL),
    ]


class D3D12_FEATURE_DATA_D3D12_OPTIONS4(ctypes.Structure):
    """Optional features, native 16-bit arithmetic among them."""

    _fields_: ClassVar = [
        ("MSAA64KBAlignedTextureSupported", BOOL),
        ("SharedResourceCompatibilityTier", I32),
        ("Native16BitShaderOpsSupported", BOOL),
    ]


class D3D12_ROOT_DESCRIPTOR_TABLE1(ctypes.Structure):
    """A parameter that is a table of descriptors."""

    _fields_: ClassVar = [("NumDescriptorRanges", U32), ("pDescriptorRanges", PTR)]


class D3D12_ROOT_CONSTANTS(ctypes.Structure):
    """A parameter that is 32-bit constants."""

    _fields_: ClassVar = [("ShaderRegister", U32), ("RegisterSpace", U32), ("Num32BitValues", U32)]


class _RootParameterUnion(ctypes.Union):
    _fields_: ClassVar = [("DescriptorTable", D3D12_ROOT_DESCRIPTOR_TABLE1), ("Constants", D3D12_ROOT_CONSTANTS)]


class D3D12_ROOT_PARAMETER1(ctypes.Structure):
    """A parameter of a root signature of version 1.1."""

    _anonymous_ = ("u",)
    _fields_: ClassVar = [("ParameterType", I32), ("u", _RootParameterUnion), ("ShaderVisibility", I32)]


class D3D12_DESCRIPTOR_RANGE1(ctypes.Structure):
    """A range of a descriptor table."""

    _fields_: ClassVar = [
        ("RangeType", I32),
        ("NumDescriptors", U32),
        ("BaseShaderRegister", U32),
        ("RegisterSpace", U32),
        ("Flags", I32),
        ("OffsetInDescriptorsFromTableStart", U32),
    ]


class D3D12_ROOT_SIGNATURE_DESC1(ctypes.Structure):
    """A root signature of version 1.1."""

    _fields_: ClassVar = [
        ("NumParameters", U32),
        ("pParameters", PTR),
        ("NumStaticSamplers", U32),
        ("pStaticSamplers", PTR),
        ("Flags", I32),
    ]


class D3D12_VERSIONED_ROOT_SIGNATURE_DESC(ctypes.Structure):
    """A root signature with its version; only 1.1 is declared."""

    _fields_: ClassVar = [("Version", I32), ("Desc_1_1", D3D12_ROOT_SIGNATURE_DESC1)]


STRUCTURES = (
    LUID,
    D3D12_CPU_DESCRIPTOR_HANDLE,
    D3D12_GPU_DESCRIPTOR_HANDLE,
    DXGI_SAMPLE_DESC,
    D3D12_RESOURCE_DESC,
    D3D12_HEAP_PROPERTIES,
    D3D12_RANGE,
    D3D12_BUFFER_UAV,
    D3D12_UNORDERED_ACCESS_VIEW_DESC,
    D3D12_SHADER_BYTECODE,
    D3D12_CACHED_PIPELINE_STATE,
    D3D12_COMPUTE_PIPELINE_STATE_DESC,
    D3D12_DESCRIPTOR_HEAP_DESC,
    D3D12_COMMAND_QUEUE_DESC,
    D3D12_RESOURCE_TRANSITION_BARRIER,
    D3D12_RESOURCE_BARRIER,
    D3D12_FEATURE_DATA_FEATURE_LEVELS,
    D3D12_FEATURE_DATA_SHADER_MODEL,
    D3D12_FEATURE_DATA_D3D12_OPTIONS,
    D3D12_FEATURE_DATA_D3D12_OPTIONS1,
    D3D12_FEATURE_DATA_D3D12_OPTIONS4,
    D3D12_ROOT_DESCRIPTOR_TABLE1,
    D3D12_ROOT_CONSTANTS,
    D3D12_ROOT_PARAMETER1,
    D3D12_DESCRIPTOR_RANGE1,
    D3D12_ROOT_SIGNATURE_DESC1,
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
)


# Interfaces. A method without a signature is one that nobody here calls or implements.

ID3DBlob = Interface(
    "ID3DBlob",
    "8ba5fb08-5195-40e2-ac58-0d989c3a0102",
    IUnknown,
    [Method("GetBufferPointer", PTR), Method("GetBufferSize", SIZE)],
)

ID3D12Object = Interface(
    "ID3D12Object",
    "c4fec28f-7966-4e95-9f94-f431cb56c3b8",
    IUnknown,
    [
        Method("GetPrivateData", HRESULT, PTR, PTR, PTR),
        Method("SetPrivateData", HRESULT, PTR, U32, PTR),
        Method("SetPrivateDataInterface", HRESULT, PTR, PTR),
        Method("SetName", HRESULT, PTR),
    ],
)

ID3D12DeviceChild = Interface(
    "ID3D12DeviceChild",
    "905db94b-a00c-4140-9df5-2b64ca9ea357",
    ID3D12Object,
    [Method("GetDevice", HRESULT, PTR, PTR)],
)

ID3D12Pageable = Interface("ID3D12Pageable", "63ee58fb-1268-4835-86da-f008ce62f0d6", ID3D12DeviceChild)

ID3D12RootSignature = Interface("ID3D12RootSignature", "c54a6b66-72df-4ee8-8be5-a946a1429214", ID3D12DeviceChild)

ID3D12PipelineState = Interface(
    "ID3D12PipelineState",
    "765a30f3-f624-4c6f-a828-ace948622445",
    ID3D12Pageable,
    [Method("GetCachedBlob", HRESULT, PTR)],
)

ID3D12DescriptorHeap = Interface(
    "ID3D12DescriptorHeap",
    "8efb471d-616c-4f49-90f7-127bb763fa51",
    ID3D12Pageable,
    [
        Method("GetDesc"),
        Method("GetCPUDescriptorHandleForHeapStart", D3D12_CPU_DESCRIPTOR_HANDLE),
        Method("GetGPUDescriptorHandleForHeapStart", D3D12_GPU_DESCRIPTOR_HANDLE),
    ],
)

ID3D12Resource = Interface(
    "ID3D12Resource",
    "696442be-a72e-4059-bc79-5b5c98040fad",
    ID3D12Pageable,
    [
        Method("Map", HRESULT, U32, PTR, PTR),
        Method("Unmap", None, U32, PTR),
        Method("GetDesc", D3D12_RESOURCE_DESC),
        Method("GetGPUVirtualAddress", U64),
        Method("WriteToSubresource"),
        Method("ReadFromSubresource"),
        Method("GetHeapProperties", HRESULT, PTR, PTR),
    ],
)

ID3D12CommandAllocator = Interface(
    "ID3D12CommandAllocator",
    "6102dee4-af59-4b09-b999-b44d73f09b24",
    ID3D12Pageable,
    [Method("Reset", HRESULT)],
)

ID3D12Fence = Interface(
    "ID3D12Fence",
    "0a753dcf-c4d8-4b91-adf6-be5a60d95a76",
    ID3D12Pageable,
    [
        Method("GetCompletedValue", U64),
        Method("SetEventOnCompletion", HRESULT, U64, PTR),
        Method("Signal", HRESULT, U64),
    ],
)

ID3D12CommandList = Interface(
    "ID3D12CommandList",
    "7116d91c-e7e4-47ce-b8c6-ec8168f437e5",
    ID3D12DeviceChild,
    [Method("GetType", I32)],
)

ID3D12GraphicsCommandList = Interface(
    "ID3D12GraphicsCommandList",
    "5b160d0f-ac1b-4185-8ba8-b3ae42a5a455",
    ID3D12CommandList,
    [
        Method("Close", HRESULT),
        Method("Reset", HRESULT, PTR, PTR),
        Method("ClearState"),
        Method("DrawInstanced"),
        Method("DrawIndexedInstanced"),
        Method("Dispatch", None, U32, U32, U32),
        Method("CopyBufferRegion", None, PTR, U64, PTR, U64, U64),
        Method("CopyTextureRegion"),
        Method("CopyResource"),
        Method("CopyTiles"),
        Method("ResolveSubresource"),
        Method("IASetPrimitiveTopology"),
        Method("RSSetViewports"),
        Method("RSSetScissorRects"),
        Method("OMSetBlendFactor"),
        Method("OMSetStencilRef"),
        Method("SetPipelineState", None, PTR),
        Method("ResourceBarrier", None, U32, PTR),
        Method("ExecuteBundle"),
        Method("SetDescriptorHeaps", None, U32, PTR),
        Method("SetComputeRootSignature", None, PTR),
        Method("SetGraphicsRootSignature"),
        Method("SetComputeRootDescriptorTable", None, U32, U64),
        Method("SetGraphicsRootDescriptorTable"),
        Method("SetComputeRoot32BitConstant", None, U32, U32, U32),
        Method("SetGraphicsRoot32BitConstant"),
        Method("SetComputeRoot32BitConstants", None, U32, U32, PTR, U32),
        Method("SetGraphicsRoot32BitConstants"),
        Method("SetComputeRootConstantBufferView"),
        Method("SetGraphicsRootConstantBufferView"),
        Method("SetComputeRootShaderResourceView"),
        Method("SetGraphicsRootShaderResourceView"),
        Method("SetComputeRootUnorderedAccessView"),
        Method("SetGraphicsRootUnorderedAccessView"),
        Method("IASetIndexBuffer"),
        Method("IASetVertexBuffers"),
        Method("SOSetTargets"),
        Method("OMSetRenderTargets"),
        Method("ClearDepthStencilView"),
        Method("ClearRenderTargetView"),
        Method("ClearUnorderedAccessViewUint"),
        Method("ClearUnorderedAccessViewFloat"),
        Method("DiscardResource"),
        Method("BeginQuery"),
        Method("EndQuery"),
        Method("ResolveQueryData"),
        Method("SetPredication"),
        Method("SetMarker"),
        Method("BeginEvent"),
        Method("EndEvent"),
        Method("ExecuteIndirect"),
    ],
)

ID3D12CommandQueue = Interface(
    "ID3D12CommandQueue",
    "0ec870a6-5d7e-4c22-8cfc-5baae07616ed",
    ID3D12Pageable,
    [
        Method("UpdateTileMappings"),
        Method("CopyTileMappings"),
        Method("ExecuteCommandLists", None, U32, PTR),
        Method("SetMarker"),
        Method("BeginEvent"),
        Method("EndEvent"),
        Method("Signal", HRESULT, PTR, U64),
        Method("Wait"),
        Method("GetTimestampFrequency"),
        Method("GetClockCalibration"),
        Method("GetDesc"),
    ],
)

ID3D12Device = Interface(
    "ID3D12Device",
    "189819f1-1db6-4b57-be54-1821339b85f7",
    ID3D12Object,
    [
        Method("GetNodeCount", U32),
        Method("CreateCommandQueue", HRESULT, PTR, PTR, PTR),
        Method("CreateCommandAllocator", HRESULT, I32, PTR, PTR),
        Method("CreateGraphicsPipelineState"),
        Method("CreateComputePipelineState", HRESULT, PTR, PTR, PTR),
        Method("CreateCommandList", HRESULT, U32, I32, PTR, PTR, PTR, PTR),
        Method("CheckFeatureSupport", HRESULT, I32, PTR, U32),
        Method("CreateDescriptorHeap", HRESULT, PTR, PTR, PTR),
        Method("GetDescriptorHandleIncrementSize", U32, I32),
        Method("CreateRootSignature", HRESULT, U32, PTR, SIZE, PTR, PTR),
        Method("CreateConstantBufferView"),
        Method("CreateShaderResourceView"),
        Method("CreateUnorderedAccessView", None, PTR, PTR, PTR, SIZE),
        Method("CreateRenderTargetView"),
        Method("CreateDepthStencilView"),
        Method("CreateSampler"),
        Method("CopyDescriptors"),
        Method("CopyDescriptorsSimple"),
        Method("GetResourceAllocationInfo"),
        Method("GetCustomHeapProperties"),
        Method("CreateCommittedResource", HRESULT, PTR, I32, PTR, I32, PTR, PTR, PTR),
        Method("CreateHeap"),
        Method("CreatePlacedResource"),
        Method("CreateReservedResource"),
        Method("CreateSharedHandle"),
        Method("OpenSharedHandle"),
        Method("OpenSharedHandleByName"),
        Method("MakeResident", HRESULT, U32, PTR),
        Method("Evict", HRESULT, U32, PTR),
        Method("CreateFence", HRESULT, U64, I32, PTR, PTR),
        Method("GetDeviceRemovedReason", HRESULT),
        Method("GetCopyableFootprints"),
        Method("CreateQueryHeap"),
        Method("SetStablePowerState"),
        Method("CreateCommandSignature"),
        Method("GetResourceTiling"),
        Method("GetAdapterLuid", LUID),
    ],
)

INTERFACES = (
    ID3DBlob,
    ID3D12Object,
    ID3D12DeviceChild,
    ID3D12Pageable,
    ID3D12RootSignature,
    ID3D12PipelineState,
    ID3D12DescriptorHeap,
    ID3D12Resource,
    ID3D12CommandAllocator,
    ID3D12Fence,
    ID3D12CommandList,
    ID3D12GraphicsCommandList,
    ID3D12CommandQueue,
    ID3D12Device,
)
