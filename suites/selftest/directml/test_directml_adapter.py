"""The software adapter's D3D12 objects, called through COM as DirectML calls them; the shader only takes notes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.abi import d3d12, dxcore
from dmlcts.backends.directml.abi.com import PTR, Pointer
from dmlcts.backends.directml.abi.com_object import Faults, live_objects
from dmlcts.backends.directml.abi.hresults import E_INVALIDARG, unsigned
from dmlcts.backends.directml.d3d12_software.codegen.shader import View
from dmlcts.backends.directml.d3d12_software.objects import root_signature
from dmlcts.backends.directml.d3d12_software.objects.buffers import NO_VIEW, Buffer
from dmlcts.backends.directml.d3d12_software.objects.command_list import CommandList
from dmlcts.backends.directml.d3d12_software.objects.device import (
    ADAPTER_LUID,
    ADAPTER_NAME,
    SoftwareDevice,
    SoftwareDXCoreFactory,
)
from dmlcts.backends.directml.d3d12_software.objects.objects import UnsupportedByAdapter

CONTAINER = b"a container"


class Notes:
    """Stands in for compiler and shader: remembers what was compiled and dispatched."""

    def __init__(self) -> None:
        self.compiled: list[bytes] = []
        self.dispatched: list[tuple[tuple[int, int, int], tuple[int, ...], list[View]]] = []

    def compile(self, container: bytes) -> Notes:
        self.compiled.append(container)
        return self

    def dispatch(self, groups: tuple[int, int, int], constants: bytes, views: Sequence[View]) -> None:
        self.dispatched.append((groups, struct.unpack(f"<{len(constants) // 4}I", constants), list(views)))


class World:
    """A device with its interface pointer, and what the tests need of it."""

    def __init__(self) -> None:
        self.faults, self.notes = Faults(), Notes()
        compiler: Any = self.notes
        self.object = SoftwareDevice(self.faults, compiler)
        self.device = self.object.pointer()
        self.held: list[Pointer] = []

    def signature(self, views: int = 2, constants: int = 4) -> Pointer:
        desc, kept = _signature_desc(views, constants)
        content = root_signature.serialized_root_signature(ctypes.addressof(desc))
        del kept
        made = self.device.make("CreateRootSignature", d3d12.ID3D12RootSignature, 0, content, len(content))
        self.held.append(made)
        return made

    def pipeline(self, signature: Pointer) -> Pointer:
        content = ctypes.create_string_buffer(CONTAINER, len(CONTAINER))
        code = d3d12.D3D12_SHADER_BYTECODE(ctypes.addressof(content), len(CONTAINER))
        desc = d3d12.D3D12_COMPUTE_PIPELINE_STATE_DESC(pRootSignature=signature.address, CS=code)
        made = self.device.make("CreateComputePipelineState", d3d12.ID3D12PipelineState, ctypes.byref(desc))
        self.held.append(made)
        return made

    def buffer(self, size: int) -> tuple[Buffer, np.ndarray[Any, Any]]:
        memory = np.zeros(size, np.uint8)
        made = Buffer(self.object, memory.ctypes.data, size)
        self.held.append(Pointer(d3d12.ID3D12Resource, made.address))
        return made, memory

    def commands(self) -> tuple[CommandList, Pointer]:
        made = CommandList(self.object)
        self.held.append(Pointer(d3d12.ID3D12GraphicsCommandList, made.address))
        return made, self.held[-1]

    def view(self, buffer: Buffer | None, index: int = 0, **members: int) -> View:
        elements = {"FirstElement": 0, "NumElements": 4, "StructureByteStride": 4, "Flags": 0}
        elements |= {name: value for name, value in members.items() if name in elements}
        desc = d3d12.D3D12_UNORDERED_ACCESS_VIEW_DESC(
            Format=members.get("Format", 0), ViewDimension=members.get("ViewDimension", 1)
        )
        for name, value in elements.items():
            setattr(desc.Buffer, name, value)
        handle = self.object.heap.handle(index)
        address = buffer.address if buffer else None
        self.device.call("CreateUnorderedAccessView", address, None, ctypes.byref(desc), handle)
        return self.object.heap.table(handle, 1)[0]


def _signature_desc(views: int, constants: int, **changes: int) -> tuple[Any, list[Any]]:
    kind = changes.get("RangeType", d3d12.D3D12_DESCRIPTOR_RANGE_TYPE.D3D12_DESCRIPTOR_RANGE_TYPE_UAV)
    ranges = (d3d12.D3D12_DESCRIPTOR_RANGE1 * 1)(
        d3d12.D3D12_DESCRIPTOR_RANGE1(kind, views, changes.get("BaseShaderRegister", 0), 0, 0, 0)
    )
    parameters = (d3d12.D3D12_ROOT_PARAMETER1 * 2)()
    parameters[0].ParameterType = changes.get("ParameterType", 0)
    parameters[0].DescriptorTable = d3d12.D3D12_ROOT_DESCRIPTOR_TABLE1(1, ctypes.addressof(ranges))
    parameters[1].ParameterType = 1
    parameters[1].Constants = d3d12.D3D12_ROOT_CONSTANTS(0, changes.get("RegisterSpace", 0), constants)
    inner = d3d12.D3D12_ROOT_SIGNATURE_DESC1(2, ctypes.addressof(parameters), changes.get("NumStaticSamplers", 0))
    return d3d12.D3D12_VERSIONED_ROOT_SIGNATURE_DESC(changes.get("Version", 2), inner), [ranges, parameters]


@pytest.fixture
def world() -> Iterator[World]:
    before = live_objects()
    made = World()
    yield made
    for held in reversed(made.held):
        held.release()
    made.device.release()
    made.object.Release()
    assert not made.faults, made.faults.take()
    assert live_objects() == before


def _fault(world: World) -> str:
    fault = world.faults.take()
    assert isinstance(fault, UnsupportedByAdapter), fault
    return str(fault)


# What the device says of itself.


def test_features_are_those_that_directml_needs(world: World) -> None:
    model = d3d12.D3D12_FEATURE_DATA_SHADER_MODEL(0x66)
    world.device.check("CheckFeatureSupport", d3d12.D3D12_FEATURE.D3D12_FEATURE_SHADER_MODEL, ctypes.byref(model), 4)
    assert model.HighestShaderModel == 0x62
    options = d3d12.D3D12_FEATURE_DATA_D3D12_OPTIONS4()
    feature = d3d12.D3D12_FEATURE.D3D12_FEATURE_D3D12_OPTIONS4
    world.device.check("CheckFeatureSupport", feature, ctypes.byref(options), ctypes.sizeof(options))
    assert options.Native16BitShaderOpsSupported == 1


@pytest.mark.parametrize("asked, answer", [((0x1000, 0xB000, 0xC000, 0xC100), 0xC000), ((0xB000,), 0xB000)])
def test_the_highest_level_asked_for_that_is_known_is_answered(
    asked: tuple[int, ...], answer: int, world: World
) -> None:
    levels = (ctypes.c_int32 * len(asked))(*asked)
    data = d3d12.D3D12_FEATURE_DATA_FEATURE_LEVELS(len(asked), ctypes.addressof(levels))
    feature = d3d12.D3D12_FEATURE.D3D12_FEATURE_FEATURE_LEVELS
    world.device.check("CheckFeatureSupport", feature, ctypes.byref(data), ctypes.sizeof(data))
    assert data.MaxSupportedFeatureLevel == answer


@pytest.mark.parametrize("feature, size", [(99, 4), (7, 8)])
def test_unknown_features_and_sizes_are_refused(feature: int, size: int, world: World) -> None:
    data = ctypes.create_string_buffer(64)
    assert unsigned(world.device.call("CheckFeatureSupport", feature, data, size)) == E_INVALIDARG


def test_the_adapter_is_found_by_its_number_and_states_its_name(world: World) -> None:
    factory = Pointer(dxcore.IDXCoreAdapterFactory, SoftwareDXCoreFactory(world.faults).address)
    luid = world.device.call("GetAdapterLuid")
    assert (luid.LowPart, luid.HighPart) == ADAPTER_LUID
    adapter = factory.make("GetAdapterByLuid", dxcore.IDXCoreAdapter, ctypes.byref(luid))
    number = dxcore.DXCoreAdapterProperty.DriverDescription
    assert adapter.call("IsValid")
    assert adapter.call("IsPropertySupported", number)
    size = ctypes.c_size_t()
    adapter.check("GetPropertySize", number, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    adapter.check("GetProperty", number, size.value, text)
    assert text.value.decode() == ADAPTER_NAME
    assert unsigned(adapter.call("GetProperty", number, size.value - 1, text)) == E_INVALIDARG
    assert unsigned(adapter.call("GetProperty", 99, 64, text)) == E_INVALIDARG
    made = PTR(1)
    other = d3d12.LUID(1, 2)
    refused = factory.call("GetAdapterByLuid", ctypes.byref(other), dxcore.IDXCoreAdapter.iid, ctypes.byref(made))
    assert (unsigned(refused), made.value) == (E_INVALIDARG, None)
    adapter.release()
    factory.release()


# Root signatures.


def test_a_root_signature_comes_back_from_its_container(world: World) -> None:
    desc, _ = _signature_desc(3, 38)
    content = root_signature.serialized_root_signature(ctypes.addressof(desc))
    made = root_signature.RootSignature(world.object, content)
    table, constants = made.parameters
    assert (table.kind, table.register, table.count) == ("table", 0, 3)
    assert (constants.kind, constants.register, constants.count) == ("constants", 0, 38)
    assert (made.table_size, made.constant_count) == (3, 38)
    made.Release()


def test_a_root_signature_of_version_1_0_is_read(world: World) -> None:
    head = struct.pack("<6I", 1, 1, 24, 0, 0, 0) + struct.pack("<3I", 0, 0, 36)
    content = root_signature.contained(head + struct.pack("<2I", 1, 44) + struct.pack("<5I", 1, 7, 0, 0, 0))
    made = root_signature.RootSignature(world.object, content)
    assert made.table_size == 7
    made.Release()


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"Version": 1}, "version 1"),
        ({"NumStaticSamplers": 1}, "samplers"),
        ({"ParameterType": 2}, "root parameter 0 of type 2"),
    ],
)
def test_a_root_signature_that_cannot_be_written_is_refused_by_what_it_is(changes: dict[str, int], words: str) -> None:
    desc, _ = _signature_desc(2, 4, **changes)
    with pytest.raises(UnsupportedByAdapter, match=words):
        root_signature.serialized_root_signature(ctypes.addressof(desc))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"RangeType": 0}, "descriptors of type 0"),
        ({"BaseShaderRegister": 1}, "register=1"),
        ({"RegisterSpace": 3}, "space=3"),
    ],
)
def test_a_root_signature_that_no_shader_here_can_use_is_refused(
    changes: dict[str, int], words: str, world: World
) -> None:
    desc, _ = _signature_desc(2, 4, **changes)
    content = root_signature.serialized_root_signature(ctypes.addressof(desc))
    with pytest.raises(UnsupportedByAdapter, match=words):
        root_signature.RootSignature(world.object, content)


@pytest.mark.parametrize("length", [0, 10, 24, 40])
def test_a_root_signature_that_ends_too_soon_is_refused(length: int, world: World) -> None:
    desc, _ = _signature_desc(2, 4)
    content = root_signature.serialized_root_signature(ctypes.addressof(desc))[44 : 44 + length]
    with pytest.raises(UnsupportedByAdapter, match="ends too soon"):
        root_signature.RootSignature(world.object, root_signature.contained(content))


def test_the_library_gets_a_root_signature_as_a_blob(world: World) -> None:
    desc, _ = _signature_desc(2, 4)
    out = PTR()
    assert root_signature.serialize(world.faults, ctypes.addressof(desc), ctypes.addressof(out)) == 0
    blob = Pointer(d3d12.ID3DBlob, out.value or 0)
    content = ctypes.string_at(blob.call("GetBufferPointer"), blob.call("GetBufferSize"))
    assert content == root_signature.serialized_root_signature(ctypes.addressof(desc))
    blob.release()
    assert root_signature.serialize(world.faults, None, ctypes.addressof(out)) == E_INVALIDARG
    assert out.value is None


# Views.


def test_a_structured_view_is_a_stretch_of_the_buffer(world: World) -> None:
    buffer, memory = world.buffer(64)
    view = world.view(buffer, FirstElement=3, NumElements=5, StructureByteStride=8)
    assert view == View(memory.ctypes.data + 24, 40, "structured", 8, 0)


@pytest.mark.parametrize("number, size", [(62, 1), (64, 1), (57, 2), (41, 4), (2, 16)])
def test_a_typed_view_has_elements_of_its_format(number: int, size: int, world: World) -> None:
    buffer, memory = world.buffer(256)
    view = world.view(buffer, Format=number, FirstElement=2, NumElements=3, StructureByteStride=0)
    assert view == View(memory.ctypes.data + 2 * size, 3 * size, "typed", size, number)


def test_no_resource_and_no_view_are_views_of_nothing(world: World) -> None:
    assert world.view(None).size == 0
    assert world.object.heap.table(world.object.heap.handle(7), 1) == [NO_VIEW]


@pytest.mark.parametrize(
    "members, words",
    [
        ({"NumElements": 17}, "bytes 0 to 68 of a buffer of 64"),
        ({"FirstElement": 1 << 60}, "of a buffer of 64"),
        ({"ViewDimension": 4}, "dimension 4"),
        ({"Flags": 1}, "flags 1"),
    ],
)
def test_a_view_that_cannot_be_had_is_a_fault_that_names_it(members: dict[str, int], words: str, world: World) -> None:
    buffer, _ = world.buffer(64)
    world.view(buffer, **members)
    assert words in _fault(world)


def test_an_unknown_format_is_named(world: World) -> None:
    buffer, _ = world.buffer(64)
    world.view(buffer, Format=87)
    assert "87" in str(world.faults.take())


def test_a_buffer_describes_itself_as_d3d12_does(world: World) -> None:
    buffer, memory = world.buffer(100)
    pointer = buffer.pointer()
    desc = pointer.call("GetDesc")
    assert (desc.Dimension, desc.Width, desc.Height, desc.Layout, desc.Flags) == (1, 100, 1, 1, 4)
    assert pointer.call("GetGPUVirtualAddress") == memory.ctypes.data
    heap, flags = d3d12.D3D12_HEAP_PROPERTIES(), ctypes.c_int32(-1)
    pointer.check("GetHeapProperties", ctypes.byref(heap), ctypes.byref(flags))
    assert (heap.Type, heap.VisibleNodeMask, flags.value) == (1, 1, 0)
    same = pointer.make("GetDevice", d3d12.ID3D12Device)
    assert same.address == world.device.address
    same.release()
    pointer.release()


# Command lists.


def test_a_dispatch_takes_the_state_at_its_recording(world: World) -> None:
    signature = world.signature()
    pipeline = world.pipeline(signature)
    commands, pointer = world.commands()
    buffer, _ = world.buffer(64)
    pointer.call("SetPipelineState", pipeline.address)
    pointer.call("SetComputeRootSignature", signature.address)
    pointer.call("SetComputeRootDescriptorTable", 0, world.object.heap.handle(4))
    pointer.call("SetComputeRoot32BitConstants", 1, 2, (ctypes.c_uint32 * 2)(5, 6), 1)
    pointer.call("Dispatch", 3, 2, 1)
    pointer.call("SetComputeRoot32BitConstant", 1, 9, 3)
    pointer.call("Dispatch", 1, 1, 1)
    views = [world.view(buffer, 4), world.view(buffer, 5, FirstElement=2, NumElements=1)]
    assert world.notes.dispatched == []
    commands.execute(world.object.heap)
    assert world.notes.dispatched == [((3, 2, 1), (0, 5, 6, 0), views), ((1, 1, 1), (0, 5, 6, 9), views)]
    assert world.notes.compiled == [CONTAINER]
    commands.execute(world.object.heap)
    assert len(world.notes.dispatched) == 2


def test_a_container_seen_before_is_not_compiled_again(world: World) -> None:
    signature = world.signature()
    world.pipeline(signature)
    world.pipeline(signature)
    assert world.notes.compiled == [CONTAINER]


def test_copies_are_carried_out_in_order(world: World) -> None:
    commands, pointer = world.commands()
    (source, content), (target, copy) = world.buffer(16), world.buffer(16)
    content[:] = range(16)
    pointer.call("CopyBufferRegion", target.address, 4, source.address, 0, 8)
    pointer.call("CopyBufferRegion", target.address, 0, target.address, 8, 4)
    pointer.call("ResourceBarrier", 0, None)
    commands.execute(world.object.heap)
    assert copy.tolist() == [4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0]


def test_a_copy_past_the_end_is_refused(world: World) -> None:
    commands, pointer = world.commands()
    (source, _), (target, copy) = world.buffer(16), world.buffer(8)
    copy[:] = 7
    pointer.call("CopyBufferRegion", target.address, 4, source.address, 0, 8)
    with pytest.raises(UnsupportedByAdapter, match="8 bytes at 4 of a buffer of 8"):
        commands.execute(world.object.heap)
    assert set(copy) == {7}


@pytest.mark.parametrize(
    "calls, words",
    [
        ([("Dispatch", 1, 1, 1)], "without a pipeline state"),
        ([("SetComputeRootDescriptorTable", 0, 0)], "root parameter 0 set as table"),
        ([("SIGNATURE",), ("SetComputeRootDescriptorTable", 1, 0)], "root parameter 1 set as table"),
        ([("SIGNATURE",), ("SetComputeRoot32BitConstant", 1, 0, 4)], "root constant 4 of 4"),
        ([("SIGNATURE",), ("SetComputeRoot32BitConstants", 1, 2, None, 3)], "2 root constants from 3 on, of 4"),
        ([("SetPipelineState", "DEVICE")], "SoftwareDevice as a pipeline state"),
        ([("SetComputeRootSignature", "DEVICE")], "SoftwareDevice as a root signature"),
    ],
)
def test_wrong_commands_are_faults_that_name_them(calls: list[tuple[Any, ...]], words: str, world: World) -> None:
    _, pointer = world.commands()
    for name, *arguments in calls:
        if name == "SIGNATURE":
            pointer.call("SetComputeRootSignature", world.signature().address)
        else:
            pointer.call(name, *[world.device.address if each == "DEVICE" else each for each in arguments])
    assert words in _fault(world)


def test_what_the_adapter_does_not_have_is_named(world: World) -> None:
    _, pointer = world.commands()
    prototype = ctypes.CFUNCTYPE(None, PTR, ctypes.c_uint32)
    table = PTR.from_address(pointer.address).value or 0
    slot = d3d12.ID3D12GraphicsCommandList.slots["BeginQuery"]
    prototype(PTR.from_address(table + 8 * slot).value or 0)(pointer.address, 1)
    assert str(world.faults.take()) == (
        f"ID3D12GraphicsCommandList::BeginQuery (slot {slot}) was called, which CommandList does not implement"
    )
