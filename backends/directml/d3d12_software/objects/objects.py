"""What the COM objects of the software D3D12 adapter share."""

from __future__ import annotations

from dmlcts.backends.directml.abi.com_object import ComObject
from dmlcts.backends.directml.abi.d3d12 import ID3D12DeviceChild


class UnsupportedByAdapter(Exception):  # noqa: N818 - it is what happened
    """DirectML asked for something of D3D12 that the software adapter does not have."""


class DeviceChild(ComObject):
    """An object made by a device, which it can name.

    Args:
        device: the device; not counted, for it outlives what it makes here.
    """

    interface = ID3D12DeviceChild

    def __init__(self, device: ComObject) -> None:
        super().__init__(device.faults, device.convention)
        self.device = device

    def GetDevice(self, iid: int, out: int | None) -> int:
        """Give out a reference to the device."""
        return self.device.QueryInterface(iid, out)

    def SetName(self, name: int | None) -> int:
        """Take a name for debugging, and forget it."""
        return 0


def handed_out(made: ComObject, iid: int, out: int | None) -> int:
    """Give ``made`` to the caller that asked for it by ``iid``; the maker's own reference is given up."""
    hresult = made.QueryInterface(iid, out)
    made.Release()
    return hresult
