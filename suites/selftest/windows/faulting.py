"""A right implementation that goes through code of Windows' for every operator; for one type that code has a fault.

The code is a library made up byte by byte: it looks at a mark and either goes on to what was asked for, or does its
fault. ``Faulting`` computes as ``cpu`` does and calls that code beside it; ``FaultingDirectML`` is Windows' own
DirectML.dll with that code in place of its ``CreateOperator``.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from dmlcts.backends.cpu import CpuBackend
from dmlcts.backends.directml.abi.dml import IDMLDevice1
from dmlcts.backends.directml.backend import DirectMLBackend
from dmlcts.backends.directml.windows.bridge import Bridge, bridge
from dmlcts.backends.directml.windows.image import parsed
from dmlcts.backends.directml.windows.library import WindowsLibrary
from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.selftest.windows.pe_files import CODE, DATA, Made

NAME = "made-up.dll"
MARK, ON, TERMINATE = DATA, DATA + 8, DATA + 16
PLANTED = CODE + 15
"""Where the fault begins: what stands before it takes fifteen bytes."""
RETURN = b"\xb8\x01\x00\x00\x00\xc3"  # mov eax, 1; ret
FAULTS = {
    "none": RETURN,
    "reads nowhere": b"\x31\xc0\x48\x8b\x00",  # xor eax, eax; mov rax, [rax]
    "writes into its code": b"\x48\x8d\x05\xf9\xff\xff\xff\x88\x00",  # lea rax, [rip - 7]; mov [rax], al
    "jumps nowhere": b"\x31\xc0\xff\xd0",  # xor eax, eax; call rax
    "knows no such instruction": b"\x0f\x0b",  # ud2
    "divides by zero": b"\x31\xc9\x31\xd2\xf7\xf1",  # xor ecx, ecx; xor edx, edx; div ecx
    "fails fast": b"\xb9\x07\x00\x00\x00\xcd\x29",  # mov ecx, 7; int 0x29, as abort() does there
    "breaks": b"\xcc",  # int3
    "calls itself": b"\xe8\xfb\xff\xff\xff",  # call to itself
    "ends the process": b"\x48\x83\xec\x28\xba\x03\x00\x00\x00\xff\x15"  # sub rsp, 40; mov edx, 3; call [TERMINATE]
    + struct.pack("<i", TERMINATE - (PLANTED + 15)),
    "never ends": b"\xeb\xfe",  # jmp to itself
}


class Code:
    """The made-up library in this process.

    Args:
        connection: what connects it.
        fault: a key of ``FAULTS``.
        on: the function that it goes on to where its mark is not set; 0 for one that returns 1.
    """

    def __init__(self, connection: Bridge, fault: str, on: int = 0) -> None:
        code = b"\x80\x3d" + struct.pack("<iB", MARK - (CODE + 7), 0)  # cmp byte [MARK], 0
        code += b"\x75\x06"  # jne PLANTED
        code += b"\xff\x25" + struct.pack("<i", ON - PLANTED)  # jmp [ON]
        made = Made(entry=0, code=(code + FAULTS[fault]).ljust(0x100, b"\xcc") + RETURN)
        self.base = WindowsLibrary(connection, parsed(made.content()), NAME).base
        self.address = self.base + CODE
        terminate = connection.system_function("TerminateProcess") or 0
        for place, value in ((ON, on or self.base + CODE + 0x100), (TERMINATE, terminate)):
            ctypes.c_uint64.from_address(self.base + place).value = value

    def mark(self, wanted: bool) -> None:
        """Whether the next call does the fault."""
        ctypes.c_uint8.from_address(self.base + MARK).value = wanted


class _Kernel:
    def __init__(self, device: _Device, operator: OperatorDesc) -> None:
        self._device, self._right = device, device.right.create(operator)
        self._marked = operator.tensors["InputTensor"].data_type is device.on

    def dispatch(self, memory: Any, bindings: dict[str, Region]) -> None:
        self._device.code.mark(self._marked)
        if self._device.call() != 1:
            raise RuntimeError("the made-up library computes wrongly")
        self._right.dispatch(memory, bindings)

    def close(self) -> None:
        self._right.close()


class _Device:
    def __init__(self, fault: str, on: DataType) -> None:
        self.right, self.on = CpuBackend().open(), on
        self.info = self.right.info
        connection = bridge(cache_folder())
        self.code = Code(connection, fault)
        self.call = ctypes.CFUNCTYPE(ctypes.c_int)(connection.callable_here(self.code.address))

    def create(self, operator: OperatorDesc) -> _Kernel:
        return _Kernel(self, operator)

    def close(self) -> None:
        self.right.close()

    def __enter__(self) -> _Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Faulting:
    """``cpu`` with a call of the made-up library in every dispatch; on type ``on`` it has the fault."""

    name = "faulting"

    def open(self, *, fault: str = "none", on: str = "INT8") -> _Device:
        return _Device(fault, DataType[on])


class FaultingDirectML(DirectMLBackend):
    """Windows' DirectML, the function that makes its operators replaced by the made-up library."""

    def open(self, *, fault: str = "none", on: str = "INT8") -> Any:  # type: ignore[override]
        device = super().open(library="windows")
        connection = bridge(cache_folder())
        table = ctypes.c_uint64.from_address(device.session.device.address).value
        slot = ctypes.c_uint64.from_address(table + 8 * IDMLDevice1.slots["CreateOperator"])
        code = Code(connection, fault, slot.value)
        page = ctypes.addressof(slot) // 4096 * 4096
        connection.protect(page, 4096, readable=True, writable=True, executable=False)
        slot.value = code.address
        connection.protect(page, 4096, readable=True, writable=False, executable=False)
        create = device.create

        def marked(operator: OperatorDesc) -> Any:
            code.mark(operator.tensors["InputTensor"].data_type is DataType[on])
            return create(operator)

        device.create = marked  # type: ignore[method-assign]
        return device
