"""The software D3D12 adapter as the backend's host: memory is bound where it lies, and execution is a call."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import ExecutionFailed
from dmlcts.backends.directml.abi.com import NATIVE, Convention
from dmlcts.backends.directml.abi.com_object import Faults
from dmlcts.backends.directml.abi.host import AdapterInfo
from dmlcts.backends.directml.abi.hresults import E_FAIL
from dmlcts.backends.directml.d3d12_software.codegen.shader import WrongBinding, compiler_of
from dmlcts.backends.directml.d3d12_software.objects import shim
from dmlcts.backends.directml.d3d12_software.objects.buffers import Buffer
from dmlcts.backends.directml.d3d12_software.objects.command_list import CommandList
from dmlcts.backends.directml.d3d12_software.objects.device import ADAPTER_NAME, SoftwareDevice, SoftwareDXCoreFactory
from dmlcts.backends.directml.d3d12_software.objects.objects import handed_out
from dmlcts.backends.directml.d3d12_software.objects.root_signature import serialize
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.backends.directml.windows.bridge import Bridge

# Views of elements of up to eight bytes begin at multiples of it.
_ALIGNMENT = 16


class SoftwareHost:
    """The software adapter.

    Args:
        personality: what its arithmetic does where D3D leaves that open.
        cache: the folder for compiled shaders and the two small libraries.
        bridge: what connects a library of Windows'; None for one of this system's.

    Raises:
        BackendUnavailable: the two libraries cannot be compiled or loaded.
    """

    def __init__(self, personality: Personality, cache: Path, bridge: Bridge | None = None) -> None:
        self.faults = Faults()
        if bridge is None:
            convention = NATIVE
            _entry_points.load(cache)
            _entry_points.faults = self.faults
        else:
            convention = bridge.convention
            points = _windows_entry_points.setdefault(bridge, EntryPoints(convention))
            points.provide_to(bridge)
            points.faults = self.faults
        self._device = SoftwareDevice(self.faults, compiler_of(personality, cache / "shaders"), convention)
        self._list = CommandList(self._device)
        self._buffer = Buffer(self._device, 0, 0)
        self._copy: NDArray[np.uint8] | None = None
        self.device = self._device.address
        self.command_list = self._list.address
        self.info = AdapterInfo(
            name=ADAPTER_NAME,
            driver="none: shaders run on the processor",
            details=MappingProxyType({"personality": personality.describe()}),
        )

    def descriptors(self, count: int) -> tuple[int, int]:
        """The first handles of the heap, which has no end."""
        return self._device.heap.first, self._device.heap.first

    def prepare_list(self) -> None:
        """Nothing to do: there is only one descriptor heap."""

    def bind(self, memory: NDArray[np.uint8]) -> int:
        """Make ``memory`` itself the resource; memory at an odd address is copied, and back again."""
        start = memory.ctypes.data
        self._copy = None
        if start % _ALIGNMENT:
            self._copy = aligned(memory.size)
            self._copy[:] = memory
            start = self._copy.ctypes.data
        self._buffer.place(start, memory.size)
        return self._buffer.address

    def scratch(self, size: int) -> HostScratch:
        """Zeroed memory of its own."""
        return HostScratch(self._device, size)

    def execute(self) -> None:
        """Carry out what was recorded; views do not outlast it, for the memory that they show may be gone next time.

        Raises:
            ExecutionFailed: a shader was dispatched with views of another kind than it declares, which Direct3D
                leaves undefined.
        """
        try:
            self._list.execute(self._device.heap)
        except WrongBinding as error:
            raise ExecutionFailed(f"the library dispatches a shader whose binding is undefined: {error}") from error
        finally:
            self._device.heap.views.clear()

    def read_back(self, memory: NDArray[np.uint8]) -> None:
        """Nothing to do where ``memory`` is the resource."""
        if self._copy is not None:
            memory[:] = self._copy
            self._copy = None

    def abandon(self) -> None:
        """Forget what was recorded."""
        self._list.restart()
        self._copy = None

    def removed_reason(self) -> int:
        """The adapter is never lost."""
        return 0

    def close(self) -> None:
        """Give up the objects; those that the library still refers to stay until it lets go of them."""
        for held in (self._list, self._buffer, self._device):
            held.Release()


class HostScratch:
    """Zeroed memory as a resource.

    Args:
        device: the device.
        size: bytes.
    """

    def __init__(self, device: SoftwareDevice, size: int) -> None:
        self._memory = aligned(size)
        self._buffer = Buffer(device, self._memory.ctypes.data, size)
        self.address = self._buffer.address
        self.size = size

    def close(self) -> None:
        """Release it."""
        self._buffer.Release()


def aligned(size: int, alignment: int = 4096) -> NDArray[np.uint8]:
    """Zeros whose address is a multiple of ``alignment``."""
    raw = np.zeros(size + alignment, np.uint8)
    skip = -raw.ctypes.data % alignment
    return raw[skip : skip + size]


class EntryPoints:
    """The two functions that a library imports; they serve the process for as long as it lives.

    Both are stateless but for where exceptions go: to the host that was opened last.

    Args:
        convention: of the library.
    """

    def __init__(self, convention: Convention) -> None:
        self.faults = Faults()
        self._convention = convention
        self._kept: list[Any] = []

    def load(self, cache: Path) -> None:
        """Put them where a library of this system looks for them."""
        if self._kept:
            return
        folder = shim.compiled(cache)
        for name, function in (("libd3d12.so", self._serialize), ("libdxcore.so", self._factory)):
            callback = shim.Forward(function)
            library = shim.load(folder / name)
            library.dmlcts_set_target(callback)
            self._kept += (library, callback)

    def provide_to(self, bridge: Bridge) -> None:
        """Put them where a library of Windows' looks for them."""
        if self._kept:
            return
        functions = {
            "D3D12SerializeVersionedRootSignature": self._serialize,
            "DXCoreCreateAdapterFactory": self._factory,
        }
        for name, function in functions.items():
            callback = shim.Forward(function)
            bridge.provide(name, ctypes.cast(callback, ctypes.c_void_p).value or 0)
            self._kept.append(callback)

    def _serialize(self, desc: int | None, out: int, errors: int | None) -> int:
        try:
            if errors:
                ctypes.c_void_p.from_address(errors).value = None
            return _signed(serialize(self.faults, desc, out, self._convention))
        except BaseException as error:
            self.faults.keep(error)
            return _signed(E_FAIL)

    def _factory(self, iid: int, out: int, _: int | None) -> int:
        try:
            return _signed(handed_out(SoftwareDXCoreFactory(self.faults, self._convention), iid, out))
        except BaseException as error:
            self.faults.keep(error)
            return _signed(E_FAIL)


def _signed(hresult: int) -> int:
    return hresult - (1 << 32) if hresult & 0x80000000 else hresult


_entry_points = EntryPoints(NATIVE)
_windows_entry_points: dict[Bridge, EntryPoints] = {}
