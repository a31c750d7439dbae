"""DXGI: the adapters of a Windows machine. Source: dxgi.h and dxgi1_2.h to dxgi1_4.h of the Windows SDK."""

from __future__ import annotations

import ctypes
from typing import ClassVar

from dmlcts.backends.directml.abi.com import HRESULT, PTR, SIZE, U32, Interface, IUnknown, Method
from dmlcts.backends.directml.abi.d3d12 import LUID

U16 = ctypes.c_uint16

# What CheckInterfaceSupport is asked to learn the driver's version.
IDXGI_DEVICE = "54ec77fa-1377-44e6-8c32-88fd5f44c84c"


class DXGI_ADAPTER_DESC1(ctypes.Structure):
    """An adapter; the description is UTF-16, ended by a zero."""

    _fields_: ClassVar = [
        ("Description", U16 * 128),
        ("VendorId", U32),
        ("DeviceId", U32),
        ("SubSysId", U32),
        ("Revision", U32),
        ("DedicatedVideoMemory", SIZE),
        ("DedicatedSystemMemory", SIZE),
        ("SharedSystemMemory", SIZE),
        ("AdapterLuid", LUID),
        ("Flags", U32),
    ]


IDXGIObject = Interface(
    "IDXGIObject",
    "aec22fb8-76f3-4639-9be0-28eb43a67a2e",
    IUnknown,
    [
        Method("SetPrivateData"),
        Method("SetPrivateDataInterface"),
        Method("GetPrivateData"),
        Method("GetParent"),
    ],
)

IDXGIAdapter = Interface(
    "IDXGIAdapter",
    "2411e7e1-12ac-4ccf-bd14-9798e8534dc0",
    IDXGIObject,
    [Method("EnumOutputs"), Method("GetDesc"), Method("CheckInterfaceSupport", HRESULT, PTR, PTR)],
)

IDXGIAdapter1 = Interface(
    "IDXGIAdapter1",
    "29038f61-3839-4626-91fd-086879011a05",
    IDXGIAdapter,
    [Method("GetDesc1", HRESULT, PTR)],
)

IDXGIFactory = Interface(
    "IDXGIFactory",
    "7b7166ec-21c7-44ae-b21a-c9ae321ae369",
    IDXGIObject,
    [
        Method("EnumAdapters"),
        Method("MakeWindowAssociation"),
        Method("GetWindowAssociation"),
        Method("CreateSwapChain"),
        Method("CreateSoftwareAdapter"),
    ],
)

IDXGIFactory1 = Interface(
    "IDXGIFactory1",
    "770aae78-f26f-4dba-a829-253c83d1b387",
    IDXGIFactory,
    [Method("EnumAdapters1", HRESULT, U32, PTR), Method("IsCurrent")],
)

IDXGIFactory2 = Interface(
    "IDXGIFactory2",
    "50c83a1c-e072-4c48-87b0-3630fa36a6d0",
    IDXGIFactory1,
    [
        Method("IsWindowedStereoEnabled"),
        Method("CreateSwapChainForHwnd"),
        Method("CreateSwapChainForCoreWindow"),
        Method("GetSharedResourceAdapterLuid"),
        Method("RegisterStereoStatusWindow"),
        Method("RegisterStereoStatusEvent"),
        Method("UnregisterStereoStatus"),
        Method("RegisterOcclusionStatusWindow"),
        Method("RegisterOcclusionStatusEvent"),
        Method("UnregisterOcclusionStatus"),
        Method("CreateSwapChainForComposition"),
    ],
)

IDXGIFactory3 = Interface(
    "IDXGIFactory3", "25483823-cd46-4c7d-86ca-47aa95b837bd", IDXGIFactory2, [Method("GetCreationFlags")]
)

IDXGIFactory4 = Interface(
    "IDXGIFactory4",
    "1bc6ea02-ef36-464f-bf0c-21ca39e5168a",
    IDXGIFactory3,
    [Method("EnumAdapterByLuid"), Method("EnumWarpAdapter", HRESULT, PTR, PTR)],
)

NUMBERS = ()
STRUCTURES = (DXGI_ADAPTER_DESC1,)
INTERFACES = (
    IDXGIObject,
    IDXGIAdapter,
    IDXGIAdapter1,
    IDXGIFactory,
    IDXGIFactory1,
    IDXGIFactory2,
    IDXGIFactory3,
    IDXGIFactory4,
)
