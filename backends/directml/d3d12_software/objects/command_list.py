"""Command lists of the software D3D12 adapter: they remember what to do, and do it when executed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from dmlcts.backends.directml.abi.com_object import ComObject, implementation
from dmlcts.backends.directml.abi.d3d12 import D3D12_COMMAND_LIST_TYPE, ID3D12GraphicsCommandList, ID3D12PipelineState
from dmlcts.backends.directml.d3d12_software.codegen.shader import Shader
from dmlcts.backends.directml.d3d12_software.objects.buffers import Buffer, DescriptorHeap
from dmlcts.backends.directml.d3d12_software.objects.objects import DeviceChild, UnsupportedByAdapter
from dmlcts.backends.directml.d3d12_software.objects.root_signature import RootSignature


class PipelineState(DeviceChild):
    """A compute shader made ready to run.

    Args:
        device: the device.
        signature: its root signature.
        shader: the compiled shader.
    """

    interface = ID3D12PipelineState

    def __init__(self, device: ComObject, signature: RootSignature, shader: Shader) -> None:
        super().__init__(device)
        self.signature = signature
        self.shader = shader


@dataclass(frozen=True)
class _Dispatch:
    pipeline: PipelineState
    signature: RootSignature
    constants: bytes
    table: int
    groups: tuple[int, int, int]

    def execute(self, heap: DescriptorHeap) -> None:
        views = heap.table(self.table, self.signature.table_size)
        self.pipeline.shader.dispatch(self.groups, self.constants, views)


@dataclass(frozen=True)
class _Copy:
    target: Buffer
    target_offset: int
    source: Buffer
    source_offset: int
    size: int

    def execute(self, heap: DescriptorHeap) -> None:
        for buffer, offset in ((self.target, self.target_offset), (self.source, self.source_offset)):
            if offset + self.size > buffer.size:
                text = f"a copy of {self.size} bytes at {offset} of a buffer of {buffer.size}"
                raise UnsupportedByAdapter(text)
        ctypes.memmove(self.target.start + self.target_offset, self.source.start + self.source_offset, self.size)


class CommandList(DeviceChild):
    """A list of commands, executed in order, each finished before the next begins.

    That order makes every barrier a matter of course.
    """

    interface = ID3D12GraphicsCommandList

    def __init__(self, device: ComObject) -> None:
        super().__init__(device)
        self.restart()

    def restart(self) -> None:
        """Forget all commands and all state."""
        self._commands: list[_Dispatch | _Copy] = []
        self._pipeline: PipelineState | None = None
        self._signature: RootSignature | None = None
        self._constants = bytearray()
        self._first_view = 0

    def execute(self, heap: DescriptorHeap) -> None:
        """Carry out the commands and forget them.

        Raises:
            UnsupportedByAdapter: one cannot be carried out.
        """
        commands = self._commands
        self.restart()
        for command in commands:
            command.execute(heap)

    def __len__(self) -> int:
        return len(self._commands)

    def GetType(self) -> int:
        """A compute list."""
        return D3D12_COMMAND_LIST_TYPE.D3D12_COMMAND_LIST_TYPE_COMPUTE.value

    def SetPipelineState(self, pipeline: int) -> None:
        """Use a shader from here on.

        Raises:
            UnsupportedByAdapter: it is no compute shader of this adapter.
        """
        pipeline_state = implementation(pipeline)
        if not isinstance(pipeline_state, PipelineState):
            raise UnsupportedByAdapter(f"a {type(pipeline_state).__name__} as a pipeline state")
        self._pipeline = pipeline_state

    def SetComputeRootSignature(self, signature: int) -> None:
        """Use a root signature from here on; its constants begin as zero.

        Raises:
            UnsupportedByAdapter: it is no root signature of this adapter.
        """
        root_signature = implementation(signature)
        if not isinstance(root_signature, RootSignature):
            raise UnsupportedByAdapter(f"a {type(root_signature).__name__} as a root signature")
        if root_signature is not self._signature:
            self._signature = root_signature
            self._constants = bytearray(4 * root_signature.constant_count)
            self._first_view = 0

    def SetComputeRootDescriptorTable(self, index: int, handle: int) -> None:
        """Let the table begin at ``handle``."""
        self._parameter(index, "table")
        self._first_view = handle

    def SetComputeRoot32BitConstants(self, index: int, count: int, source: int, offset: int) -> None:
        """Set ``count`` constants from number ``offset`` on.

        Raises:
            UnsupportedByAdapter: the root signature has fewer constants.
        """
        self._parameter(index, "constants")
        if 4 * (offset + count) > len(self._constants):
            raise UnsupportedByAdapter(f"{count} root constants from {offset} on, of {len(self._constants) // 4}")
        self._constants[4 * offset : 4 * (offset + count)] = ctypes.string_at(source, 4 * count)

    def SetComputeRoot32BitConstant(self, index: int, value: int, offset: int) -> None:
        """Set the constant number ``offset``.

        Raises:
            UnsupportedByAdapter: the root signature has fewer constants.
        """
        self._parameter(index, "constants")
        if 4 * (offset + 1) > len(self._constants):
            raise UnsupportedByAdapter(f"root constant {offset} of {len(self._constants) // 4}")
        self._constants[4 * offset : 4 * (offset + 1)] = value.to_bytes(4, "little")

    def _parameter(self, index: int, kind: str) -> None:
        parameters = self._signature.parameters if self._signature else ()
        if index >= len(parameters) or parameters[index].kind != kind:
            raise UnsupportedByAdapter(f"root parameter {index} set as {kind}, which it is not")

    def Dispatch(self, x: int, y: int, z: int) -> None:
        """Run the shader on a grid of thread groups.

        Raises:
            UnsupportedByAdapter: no pipeline state or no root signature was set.
        """
        if self._pipeline is None or self._signature is None:
            raise UnsupportedByAdapter("a dispatch without a pipeline state or a root signature")
        constants = bytes(self._constants)
        self._commands.append(_Dispatch(self._pipeline, self._signature, constants, self._first_view, (x, y, z)))

    def ResourceBarrier(self, count: int, barriers: int) -> None:
        """Nothing to do: commands are executed one after the other, on memory without caches."""

    def CopyBufferRegion(self, target: int, target_offset: int, source: int, source_offset: int, size: int) -> None:
        """Copy bytes from buffer to buffer."""
        self._commands.append(_Copy(_buffer(target), target_offset, _buffer(source), source_offset, size))


def _buffer(address: int) -> Buffer:
    buffer = implementation(address)
    if not isinstance(buffer, Buffer):
        raise UnsupportedByAdapter(f"a copy with a {type(buffer).__name__}")
    return buffer
