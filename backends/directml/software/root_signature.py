"""Root signatures of the software D3D12 adapter: which tables and constants a shader is given."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

from dmlcts.backends.directml.com import PTR, ComObject, Faults
from dmlcts.backends.directml.d3d12 import (
    D3D12_DESCRIPTOR_RANGE1,
    D3D12_DESCRIPTOR_RANGE_TYPE,
    D3D12_ROOT_PARAMETER1,
    D3D12_ROOT_PARAMETER_TYPE,
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
    D3D_ROOT_SIGNATURE_VERSION,
    ID3D12RootSignature,
    ID3DBlob,
)
from dmlcts.backends.directml.hresults import E_INVALIDARG
from dmlcts.backends.directml.software.objects import DeviceChild, UnsupportedByAdapter

_PARAMETER = struct.Struct("<III")
_KINDS = ("table", "constants")


@dataclass(frozen=True)
class RootParameter:
    """A parameter: a table of ``count`` unordered access views, or ``count`` 32-bit constants.

    Args:
        kind: "table" or "constants".
        register: the first register it fills.
        count: how many.
    """

    kind: str
    register: int
    count: int


class RootSignature(DeviceChild):
    """A root signature.

    Args:
        device: the device.
        serialized: what :func:`serialized_root_signature` made.

    Raises:
        UnsupportedByAdapter: it has two parameters of a kind.
    """

    interface = ID3D12RootSignature

    def __init__(self, device: ComObject, serialized: bytes) -> None:
        self.parameters = tuple(
            RootParameter(_KINDS[kind], register, count) for kind, register, count in _PARAMETER.iter_unpack(serialized)
        )
        self.table_size = self._only("table")
        self.constant_count = self._only("constants")
        super().__init__(device)

    def _only(self, kind: str) -> int:
        found = [parameter for parameter in self.parameters if parameter.kind == kind]
        if len(found) > 1 or any(parameter.register for parameter in found):
            raise UnsupportedByAdapter(f"a root signature with the parameters {list(self.parameters)}")
        return found[0].count if found else 0


class Blob(ComObject):
    """Bytes for the library to read."""

    interface = ID3DBlob

    def __init__(self, faults: Faults, content: bytes) -> None:
        super().__init__(faults)
        self._content = ctypes.create_string_buffer(content, len(content))

    def GetBufferPointer(self) -> int:
        """Where the bytes lie."""
        return ctypes.addressof(self._content)

    def GetBufferSize(self) -> int:
        """How many they are."""
        return len(self._content)


def serialize(faults: Faults, desc: int | None, out: int) -> int:
    """``D3D12SerializeVersionedRootSignature``: the signature at ``desc``, as a blob for ``out``.

    The form is the adapter's own; only :class:`RootSignature` reads it.

    Returns:
        An HRESULT.

    Raises:
        UnsupportedByAdapter: the signature holds anything but tables of unordered access views and constants.
    """
    place = PTR.from_address(out)
    place.value = None
    if not desc:
        return E_INVALIDARG
    place.value = Blob(faults, serialized_root_signature(desc)).address
    return 0


def serialized_root_signature(address: int) -> bytes:
    """The ``D3D12_VERSIONED_ROOT_SIGNATURE_DESC`` at ``address`` in the adapter's own form.

    Raises:
        UnsupportedByAdapter: it holds anything but tables of unordered access views and constants.
    """
    signature = D3D12_VERSIONED_ROOT_SIGNATURE_DESC.from_address(address)
    if signature.Version != D3D_ROOT_SIGNATURE_VERSION.D3D_ROOT_SIGNATURE_VERSION_1_1:
        raise UnsupportedByAdapter(f"a root signature of version {signature.Version}")
    desc = signature.Desc_1_1
    if desc.NumStaticSamplers:
        raise UnsupportedByAdapter("a root signature with samplers")
    parameters = (D3D12_ROOT_PARAMETER1 * desc.NumParameters).from_address(desc.pParameters)
    return b"".join(_serialized(index, parameter) for index, parameter in enumerate(parameters))


def _serialized(index: int, parameter: D3D12_ROOT_PARAMETER1) -> bytes:
    kind = parameter.ParameterType
    if kind == D3D12_ROOT_PARAMETER_TYPE.D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS:
        constants = parameter.Constants
        if constants.RegisterSpace:
            raise UnsupportedByAdapter(f"root parameter {index} in register space {constants.RegisterSpace}")
        return _PARAMETER.pack(_KINDS.index("constants"), constants.ShaderRegister, constants.Num32BitValues)
    if kind != D3D12_ROOT_PARAMETER_TYPE.D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE:
        raise UnsupportedByAdapter(f"root parameter {index} of type {kind}")
    table = parameter.DescriptorTable
    ranges = (D3D12_DESCRIPTOR_RANGE1 * table.NumDescriptorRanges).from_address(table.pDescriptorRanges)
    if len(ranges) != 1:
        raise UnsupportedByAdapter(f"root parameter {index} with {len(ranges)} descriptor ranges")
    only = ranges[0]
    if only.RangeType != D3D12_DESCRIPTOR_RANGE_TYPE.D3D12_DESCRIPTOR_RANGE_TYPE_UAV or only.RegisterSpace:
        text = f"root parameter {index} with descriptors of type {only.RangeType} in space {only.RegisterSpace}"
        raise UnsupportedByAdapter(text)
    return _PARAMETER.pack(_KINDS.index("table"), only.BaseShaderRegister, only.NumDescriptors)
