"""Root signatures of the software D3D12 adapter: which tables and constants a shader is given.

They are kept in the form that D3D12 uses, a container with an ``RTS0`` part, because some shaders of DirectML bring
theirs along in their own container. Source: DxilRootSignature.h of DirectXShaderCompiler.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.backends.directml.abi.com import NATIVE, PTR, Convention
from dmlcts.backends.directml.abi.com_object import ComObject, Faults
from dmlcts.backends.directml.abi.d3d12 import (
    D3D12_DESCRIPTOR_RANGE1,
    D3D12_DESCRIPTOR_RANGE_TYPE,
    D3D12_ROOT_PARAMETER1,
    D3D12_ROOT_PARAMETER_TYPE,
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC,
    D3D_ROOT_SIGNATURE_VERSION,
    ID3D12RootSignature,
    ID3DBlob,
)
from dmlcts.backends.directml.abi.hresults import E_INVALIDARG
from dmlcts.backends.directml.d3d12_software.objects.objects import DeviceChild, UnsupportedByAdapter
from dmlcts.backends.directml.d3d12_software.shaders.container import parts

_TABLE = D3D12_ROOT_PARAMETER_TYPE.D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE.value
_CONSTANTS = D3D12_ROOT_PARAMETER_TYPE.D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS.value
_UAV = D3D12_DESCRIPTOR_RANGE_TYPE.D3D12_DESCRIPTOR_RANGE_TYPE_UAV.value
_VERSION_1_0 = D3D_ROOT_SIGNATURE_VERSION.D3D_ROOT_SIGNATURE_VERSION_1_0.value
_VERSION_1_1 = D3D_ROOT_SIGNATURE_VERSION.D3D_ROOT_SIGNATURE_VERSION_1_1.value

_PART = b"RTS0"
_CONTAINER = struct.Struct("<4s16sHHIII4sI")  # a header, one offset, and the header of the one part
_HEADER = struct.Struct("<6I")  # version, parameters and their place, samplers and their place, flags
_PARAMETER = struct.Struct("<3I")  # type, visibility, place
_RANGES = struct.Struct("<2I")  # how many, place
_CONSTANT = struct.Struct("<3I")  # register, space, count
_RANGE_1_1 = struct.Struct("<6I")  # type, count, register, space, flags, offset in the table
_RANGE_1_0 = struct.Struct("<5I")  # the same without flags


@dataclass(frozen=True)
class RootParameter:
    """A parameter: a table of ``count`` unordered access views, or ``count`` 32-bit constants.

    Args:
        kind: "table" or "constants".
        register: the first register it fills.
        count: how many.
        space: the register space.
    """

    kind: str
    register: int
    count: int
    space: int = 0


class RootSignature(DeviceChild):
    """A root signature.

    Args:
        device: the device.
        container: a container with an ``RTS0`` part.

    Raises:
        BadContainer: it is no container.
        UnsupportedByAdapter: it holds anything but one table of unordered access views and one set of constants,
            from register 0 of space 0 on.
    """

    interface = ID3D12RootSignature

    def __init__(self, device: ComObject, container: bytes) -> None:
        content = dict(parts(container)).get(_PART.decode())
        if content is None:
            raise UnsupportedByAdapter("a container without a root signature where one is due")
        try:
            self.parameters = tuple(_read(content))
        except struct.error as error:
            raise UnsupportedByAdapter(f"a root signature of {len(content)} bytes that ends too soon") from error
        self.table_size = self._only("table")
        self.constant_count = self._only("constants")
        super().__init__(device)

    def _only(self, kind: str) -> int:
        parameters = [parameter for parameter in self.parameters if parameter.kind == kind]
        if len(parameters) > 1 or any(parameter.register or parameter.space for parameter in parameters):
            raise UnsupportedByAdapter(f"a root signature with the parameters {list(self.parameters)}")
        return parameters[0].count if parameters else 0


class Blob(ComObject):
    """Bytes for the library to read."""

    interface = ID3DBlob

    def __init__(self, faults: Faults, content: bytes, convention: Convention = NATIVE) -> None:
        super().__init__(faults, convention)
        self._content = ctypes.create_string_buffer(content, len(content))

    def GetBufferPointer(self) -> int:
        """Where the bytes lie."""
        return ctypes.addressof(self._content)

    def GetBufferSize(self) -> int:
        """How many they are."""
        return len(self._content)


# Reading.


def _read(content: bytes) -> Iterator[RootParameter]:
    version, count, place, samplers, _, _ = _HEADER.unpack_from(content)
    if version not in (_VERSION_1_0, _VERSION_1_1):
        raise UnsupportedByAdapter(f"a root signature of version {version}")
    if samplers:
        raise UnsupportedByAdapter("a root signature with samplers")
    for index in range(count):
        kind, _, inner = _PARAMETER.unpack_from(content, place + index * _PARAMETER.size)
        if kind == _CONSTANTS:
            register, space, values = _CONSTANT.unpack_from(content, inner)
            yield RootParameter("constants", register, values, space)
        elif kind == _TABLE:
            yield _read_table(content, inner, index, _RANGE_1_1 if version == _VERSION_1_1 else _RANGE_1_0)
        else:
            raise UnsupportedByAdapter(f"root parameter {index} of type {kind}")


def _read_table(content: bytes, place: int, index: int, form: struct.Struct) -> RootParameter:
    count, ranges = _RANGES.unpack_from(content, place)
    if count != 1:
        raise UnsupportedByAdapter(f"root parameter {index} with {count} descriptor ranges")
    kind, views, register, space = form.unpack_from(content, ranges)[:4]
    if kind != _UAV:
        raise UnsupportedByAdapter(f"root parameter {index} with descriptors of type {kind}")
    return RootParameter("table", register, views, space)


# Writing.


def serialize(faults: Faults, desc: int | None, out: int, convention: Convention = NATIVE) -> int:
    """``D3D12SerializeVersionedRootSignature``: the signature at ``desc``, as a blob for ``out``.

    Returns:
        An HRESULT.

    Raises:
        UnsupportedByAdapter: the signature holds anything but tables of unordered access views and constants.
    """
    place = PTR.from_address(out)
    place.value = None
    if not desc:
        return E_INVALIDARG
    place.value = Blob(faults, serialized_root_signature(desc), convention).address
    return 0


def serialized_root_signature(address: int) -> bytes:
    """The ``D3D12_VERSIONED_ROOT_SIGNATURE_DESC`` at ``address`` as a container.

    Raises:
        UnsupportedByAdapter: it holds anything but tables of unordered access views and constants.
    """
    signature = D3D12_VERSIONED_ROOT_SIGNATURE_DESC.from_address(address)
    if signature.Version != _VERSION_1_1:
        raise UnsupportedByAdapter(f"a root signature of version {signature.Version}")
    desc = signature.Desc_1_1
    if desc.NumStaticSamplers:
        raise UnsupportedByAdapter("a root signature with samplers")
    parameters = (D3D12_ROOT_PARAMETER1 * desc.NumParameters).from_address(desc.pParameters)
    place = _HEADER.size + len(parameters) * _PARAMETER.size
    listed, inner = b"", b""
    for index, parameter in enumerate(parameters):
        listed += _PARAMETER.pack(parameter.ParameterType, parameter.ShaderVisibility, place + len(inner))
        inner += _written(index, parameter, place + len(inner))
    header = _HEADER.pack(_VERSION_1_1, len(parameters), _HEADER.size, 0, 0, desc.Flags)
    return contained(header + listed + inner)


def _written(index: int, parameter: D3D12_ROOT_PARAMETER1, place: int) -> bytes:
    if parameter.ParameterType == _CONSTANTS:
        constants = parameter.Constants
        return _CONSTANT.pack(constants.ShaderRegister, constants.RegisterSpace, constants.Num32BitValues)
    if parameter.ParameterType != _TABLE:
        raise UnsupportedByAdapter(f"root parameter {index} of type {parameter.ParameterType}")
    table = parameter.DescriptorTable
    ranges = (D3D12_DESCRIPTOR_RANGE1 * table.NumDescriptorRanges).from_address(table.pDescriptorRanges)
    written = b"".join(
        _RANGE_1_1.pack(*(getattr(each, field[0]) for field in D3D12_DESCRIPTOR_RANGE1._fields_)) for each in ranges
    )
    return _RANGES.pack(len(ranges), place + _RANGES.size) + written


def contained(content: bytes) -> bytes:
    """A container with ``content`` as its root signature; its checksum is left out, for nobody checks it."""
    start = _CONTAINER.size - 8
    total = _CONTAINER.size + len(content)
    return _CONTAINER.pack(b"DXBC", bytes(16), 1, 0, total, 1, start, _PART, len(content)) + content
