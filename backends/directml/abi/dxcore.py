"""DXCore: how DirectML on Linux looks up the adapter under a D3D12 device.

Source: dxcore_interface.h of Microsoft's DirectX-Headers.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import ClassVar

from dmlcts.backends.directml.abi.com import HRESULT, PTR, SIZE, U32, Interface, IUnknown, Method

_BOOLEAN = ctypes.c_bool


class DXCoreAdapterProperty(IntEnum):
    """What ``IDXCoreAdapter::GetProperty`` is asked."""

    InstanceLuid = 0
    DriverVersion = 1
    DriverDescription = 2
    HardwareID = 3
    IsHardware = 11
    IsIntegrated = 12


class DXCoreHardwareID(ctypes.Structure):
    """Who made an adapter, and which it is."""

    _fields_: ClassVar = [("vendorID", U32), ("deviceID", U32), ("subSysID", U32), ("revision", U32)]


IDXCoreAdapter = Interface(
    "IDXCoreAdapter",
    "f0db4c7f-fe5a-42a2-bd62-f2a6cf6fc83e",
    IUnknown,
    [
        Method("IsValid", _BOOLEAN),
        Method("IsAttributeSupported", _BOOLEAN, PTR),
        Method("IsPropertySupported", _BOOLEAN, U32),
        Method("GetProperty", HRESULT, U32, SIZE, PTR),
        Method("GetPropertySize", HRESULT, U32, PTR),
        Method("IsQueryStateSupported"),
        Method("QueryState"),
        Method("IsSetStateSupported"),
        Method("SetState"),
        Method("GetFactory", HRESULT, PTR, PTR),
    ],
)

IDXCoreAdapterList = Interface(
    "IDXCoreAdapterList",
    "526c7776-40e9-459b-b711-f32ad76dfc28",
    IUnknown,
    [
        Method("GetAdapter", HRESULT, U32, PTR, PTR),
        Method("GetAdapterCount", U32),
        Method("IsStale"),
        Method("GetFactory"),
        Method("Sort"),
        Method("IsAdapterPreferenceSupported"),
    ],
)

IDXCoreAdapterFactory = Interface(
    "IDXCoreAdapterFactory",
    "78ee5945-c36e-4b13-a669-005dd11c0f06",
    IUnknown,
    [
        Method("CreateAdapterList", HRESULT, U32, PTR, PTR, PTR),
        Method("GetAdapterByLuid", HRESULT, PTR, PTR, PTR),
        Method("IsNotificationTypeSupported"),
        Method("RegisterEventNotification"),
        Method("UnregisterEventNotification"),
    ],
)

# What an adapter must support to carry DirectML.
DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE = "248e2800-a793-4724-abaa-23a6de1be090"

NUMBERS = (DXCoreAdapterProperty,)
STRUCTURES = (DXCoreHardwareID,)
INTERFACES = (IDXCoreAdapter, IDXCoreAdapterList, IDXCoreAdapterFactory)
