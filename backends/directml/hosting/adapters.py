"""Opening D3D12 on a machine that has one: Windows through DXGI, WSL2 through DXCore."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.com import HRESULT, PTR, ComError, Pointer, check, guid, taken
from dmlcts.backends.directml.abi.d3d12 import D3D_FEATURE_LEVEL, ID3D12Device
from dmlcts.backends.directml.abi.dxcore import (
    DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
    DXCoreAdapterProperty,
    IDXCoreAdapter,
    IDXCoreAdapterFactory,
    IDXCoreAdapterList,
)
from dmlcts.backends.directml.abi.dxgi import (
    DXGI_ADAPTER_DESC1,
    IDXGI_DEVICE,
    IDXGIAdapter1,
    IDXGIFactory1,
    IDXGIFactory4,
)
from dmlcts.backends.directml.abi.host import AdapterInfo
from dmlcts.backends.directml.abi.hresults import DXGI_ERROR_NOT_FOUND
from dmlcts.backends.directml.hosting.native import NativeHost
from dmlcts.backends.directml.loading.library import WSL_FOLDER
from dmlcts.specs import UsageError

WARP = "WARP"
_LEVELS = (D3D_FEATURE_LEVEL.D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL.D3D_FEATURE_LEVEL_1_0_CORE)
_libraries: list[Any] = []


@dataclass
class Adapter:
    """An adapter that was found.

    Args:
        pointer: the ``IDXGIAdapter1`` or ``IDXCoreAdapter``.
        name: its description.
        driver: its driver's version.
    """

    pointer: Pointer
    name: str
    driver: str


def open_host(wanted: str) -> NativeHost:
    """A device on the adapter that ``wanted`` names: an index, a part of its name, "WARP", or "" for the first.

    Raises:
        UsageError: no adapter is meant by it; the message lists those there are.
        BackendUnavailable: this machine has no D3D12, or no adapter.
    """
    try:
        adapters = _windows_adapters(wanted) if sys.platform == "win32" else _wsl_adapters()
    except ComError as error:
        raise BackendUnavailable(f"the adapters of this machine cannot be listed: {error}") from error
    try:
        adapter = choose(adapters, wanted)
        device = _device(adapter.pointer)
    except ComError as error:
        raise BackendUnavailable(f"{adapter.name} has no D3D12 device: {error}", "choose another adapter") from error
    finally:
        for each in adapters:
            each.pointer.release()
    details = {"adapters": ", ".join(each.name for each in adapters)}
    return NativeHost(device, AdapterInfo(adapter.name, adapter.driver, MappingProxyType(details)))


def choose(adapters: list[Adapter], wanted: str) -> Adapter:
    """The adapter that ``wanted`` means, by index or by a part of its name.

    Raises:
        UsageError: none, or several.
        BackendUnavailable: there are no adapters at all.
    """
    if not adapters:
        raise BackendUnavailable("this machine has no D3D12 adapter", "write -o adapter=WARP on Windows")
    known = "; ".join(f"{index} {adapter.name}" for index, adapter in enumerate(adapters))
    if wanted.upper() in ("", WARP):
        return adapters[0]
    if wanted.isdecimal():
        if int(wanted) >= len(adapters):
            raise UsageError(f"adapter={wanted}: there is no such index", f"the adapters are {known}")
        return adapters[int(wanted)]
    meant = [adapter for adapter in adapters if wanted.lower() in adapter.name.lower()]
    if len(meant) != 1:
        cause = f"adapter={wanted} is in the names of {len(meant)} adapters"
        raise UsageError(cause, f"the adapters are {known}; an index will do as well")
    return meant[0]


def _function(library: str, name: str, *arguments: Any) -> Any:
    """A function of a system library, which stays loaded, and is visible to those loaded after it."""
    try:
        if sys.platform == "win32":
            handle = ctypes.CDLL(library)
        else:
            handle = ctypes.CDLL(str(WSL_FOLDER / library), mode=ctypes.RTLD_GLOBAL)
        function = getattr(handle, name)
    except (OSError, AttributeError) as error:
        raise BackendUnavailable(f"{library} cannot be used: {error}") from error
    _libraries.append(handle)
    function.argtypes = arguments
    function.restype = HRESULT
    return function


def _device(adapter: Pointer) -> Pointer:
    library = "d3d12.dll" if sys.platform == "win32" else "libd3d12.so"
    create = _function(library, "D3D12CreateDevice", PTR, ctypes.c_int32, PTR, PTR)
    for level in _LEVELS:
        made = PTR()
        hresult = create(adapter.address, level.value, ID3D12Device.iid, ctypes.byref(made))
        if not hresult & 0x80000000:
            break
    check("D3D12CreateDevice", hresult)
    return taken("D3D12CreateDevice", ID3D12Device, made)


# Windows.


def _windows_adapters(wanted: str) -> list[Adapter]:
    create = _function("dxgi.dll", "CreateDXGIFactory1", PTR, PTR)
    made = PTR()
    check("CreateDXGIFactory1", create(IDXGIFactory1.iid, ctypes.byref(made)))
    with taken("CreateDXGIFactory1", IDXGIFactory1, made) as factory:
        return dxgi_adapters(factory, warp=wanted.upper() == WARP)


def dxgi_adapters(factory: Pointer, *, warp: bool) -> list[Adapter]:
    """The adapters that an ``IDXGIFactory1`` lists, or only WARP, which it lists last if at all."""
    if warp:
        with factory.query(IDXGIFactory4) as newer:
            return [_dxgi_adapter(newer.make("EnumWarpAdapter", IDXGIAdapter1))]
    adapters: list[Adapter] = []
    while True:
        made = PTR()
        hresult = factory.call("EnumAdapters1", len(adapters), ctypes.byref(made))
        if hresult & 0xFFFFFFFF == DXGI_ERROR_NOT_FOUND:
            return adapters
        check("IDXGIFactory1::EnumAdapters1", hresult)
        adapters.append(_dxgi_adapter(taken("IDXGIFactory1::EnumAdapters1", IDXGIAdapter1, made)))


def _dxgi_adapter(pointer: Pointer) -> Adapter:
    desc = DXGI_ADAPTER_DESC1()
    pointer.check("GetDesc1", ctypes.byref(desc))
    name = bytes(desc.Description).decode("utf-16-le", "replace").split("\0", 1)[0]
    version = ctypes.c_int64()
    if pointer.call("CheckInterfaceSupport", guid(IDXGI_DEVICE), ctypes.byref(version)) & 0x80000000:
        return Adapter(pointer, name, "unknown")
    return Adapter(pointer, name, version_text(version.value))


# WSL2.


def _wsl_adapters() -> list[Adapter]:
    create = _function("libdxcore.so", "DXCoreCreateAdapterFactory", PTR, PTR)
    made = PTR()
    check("DXCoreCreateAdapterFactory", create(IDXCoreAdapterFactory.iid, ctypes.byref(made)))
    with taken("DXCoreCreateAdapterFactory", IDXCoreAdapterFactory, made) as factory:
        return dxcore_adapters(factory)


def dxcore_adapters(factory: Pointer) -> list[Adapter]:
    """The adapters of an ``IDXCoreAdapterFactory`` that can carry DirectML."""
    attribute = guid(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE)
    with factory.make("CreateAdapterList", IDXCoreAdapterList, 1, attribute) as listed:
        count = listed.call("GetAdapterCount")
        return [_dxcore_adapter(listed.make("GetAdapter", IDXCoreAdapter, index)) for index in range(count)]


def _dxcore_adapter(pointer: Pointer) -> Adapter:
    size = ctypes.c_size_t()
    description = DXCoreAdapterProperty.DriverDescription.value
    pointer.check("GetPropertySize", description, ctypes.byref(size))
    text = ctypes.create_string_buffer(max(1, size.value))
    pointer.check("GetProperty", description, size.value, text)
    version = ctypes.c_int64()
    pointer.check("GetProperty", DXCoreAdapterProperty.DriverVersion.value, 8, ctypes.byref(version))
    return Adapter(pointer, text.value.decode("utf-8", "replace"), version_text(version.value))


def version_text(number: int) -> str:
    """A driver's version, four numbers of 16 bits, as "31.0.101.4502"."""
    bits = number & 0xFFFFFFFFFFFFFFFF
    return ".".join(str(bits >> shift & 0xFFFF) for shift in (48, 32, 16, 0))
