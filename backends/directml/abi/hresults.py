"""HRESULTs: the numbers that DirectML and the layers below it return, with their names in Microsoft's headers."""

from __future__ import annotations

from types import MappingProxyType

S_OK = 0x00000000
S_FALSE = 0x00000001
E_NOTIMPL = 0x80004001
E_NOINTERFACE = 0x80004002
E_POINTER = 0x80004003
E_ABORT = 0x80004004
E_FAIL = 0x80004005
E_UNEXPECTED = 0x8000FFFF
E_ACCESSDENIED = 0x80070005
E_HANDLE = 0x80070006
E_OUTOFMEMORY = 0x8007000E
E_INVALIDARG = 0x80070057
DXGI_ERROR_INVALID_CALL = 0x887A0001
DXGI_ERROR_NOT_FOUND = 0x887A0002
DXGI_ERROR_UNSUPPORTED = 0x887A0004
DXGI_ERROR_DEVICE_REMOVED = 0x887A0005
DXGI_ERROR_DEVICE_HUNG = 0x887A0006
DXGI_ERROR_DEVICE_RESET = 0x887A0007
DXGI_ERROR_DRIVER_INTERNAL_ERROR = 0x887A0020
DXGI_ERROR_SDK_COMPONENT_MISSING = 0x887A002D
D3D12_ERROR_ADAPTER_NOT_FOUND = 0x887E0001
D3D12_ERROR_DRIVER_VERSION_MISMATCH = 0x887E0002

_NAMES = MappingProxyType(
    {number: name for name, number in dict(globals()).items() if isinstance(number, int) and name.isupper()}
)

# After these the device takes no more work.
DEVICE_LOST = frozenset(
    {
        DXGI_ERROR_DEVICE_REMOVED,
        DXGI_ERROR_DEVICE_HUNG,
        DXGI_ERROR_DEVICE_RESET,
        DXGI_ERROR_DRIVER_INTERNAL_ERROR,
    }
)


def unsigned(hresult: int) -> int:
    """``hresult``, which C declares as a signed 32-bit number, as its unsigned bit pattern."""
    return hresult & 0xFFFFFFFF


def failed(hresult: int) -> bool:
    """Whether ``hresult`` is a failure: its highest bit is set."""
    return bool(hresult & 0x80000000)


def name_of(hresult: int) -> str:
    """``hresult`` by name and number, as "E_INVALIDARG (0x80070057)", or the number alone."""
    number = unsigned(hresult)
    known = _NAMES.get(number)
    return f"{known} (0x{number:08x})" if known else f"0x{number:08x}"
