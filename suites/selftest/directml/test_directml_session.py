"""What a session passes to DirectML, seen by a DirectML that only takes notes and wants every kind of resource."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.directml.abi import dml
from dmlcts.backends.directml.abi.com import ComError, Interface, Pointer
from dmlcts.backends.directml.abi.com_object import ComObject, Faults, live_objects
from dmlcts.backends.directml.abi.hresults import E_OUTOFMEMORY
from dmlcts.backends.directml.session import Bindings, Session, properties

NONE, BUFFER = dml.DML_BINDING_TYPE.DML_BINDING_TYPE_NONE, dml.DML_BINDING_TYPE.DML_BINDING_TYPE_BUFFER
WANTED = {"compiled": (3, 512, 256), "initializer": (2, 128, 0)}


class Library(ComObject):
    """An ``IDMLDevice1`` that makes the objects below and keeps one list of all that is said to them."""

    interface = dml.IDMLDevice1

    def __init__(self, faults: Faults) -> None:
        super().__init__(faults)
        self.notes: list[Any] = []
        self.names: dict[int, str] = {}
        self.fail_at = ""

    def made(self, kind: type[Noted], out: int) -> int:
        made = kind(self)
        ctypes.c_void_p.from_address(out).value = made.address
        self.names[made.address] = kind.__name__.lower()
        return 0

    def CreateCommandRecorder(self, iid: int, out: int) -> int:
        return self.made(Recorder, out)

    def CreateOperatorInitializer(self, count: int, operators: int | None, iid: int, out: int) -> int:
        assert count == 0
        return self.made(Initializer, out)

    def CreateBindingTable(self, desc: int, iid: int, out: int) -> int:
        self.table(desc)
        return self.made(Table, out)

    def table(self, desc: int) -> None:
        dml_binding_table_desc = dml.DML_BINDING_TABLE_DESC.from_address(desc)
        handles = dml_binding_table_desc.CPUDescriptorHandle, dml_binding_table_desc.GPUDescriptorHandle
        self.notes.append(
            (
                "table for",
                self.names[dml_binding_table_desc.Dispatchable],
                dml_binding_table_desc.SizeInDescriptors,
                handles,
            )
        )


class Noted(ComObject):
    """What the library makes."""

    interface: Interface = dml.IDMLObject

    def __init__(self, library: Library) -> None:
        super().__init__(library.faults)
        self.library = library

    def note(self, *text: Any) -> None:
        self.library.notes.append(text)


class Compiled(Noted):
    interface = dml.IDMLCompiledOperator

    def GetBindingProperties(self) -> dml.DML_BINDING_PROPERTIES:
        return dml.DML_BINDING_PROPERTIES(*WANTED["compiled"])


class Initializer(Noted):
    interface = dml.IDMLOperatorInitializer

    def GetBindingProperties(self) -> dml.DML_BINDING_PROPERTIES:
        return dml.DML_BINDING_PROPERTIES(*WANTED["initializer"])

    def Reset(self, count: int, operators: int) -> int:
        addresses = (ctypes.c_void_p * count).from_address(operators)
        self.note("initialize", [self.library.names[address] for address in addresses])
        return 0


class Recorder(Noted):
    interface = dml.IDMLCommandRecorder

    def RecordDispatch(self, commands: int, dispatchable: int, table: int) -> None:
        self.note("record", commands, self.library.names[dispatchable])


class Table(Noted):
    interface = dml.IDMLBindingTable

    def Reset(self, desc: int) -> int:
        self.library.table(desc)
        return 0

    def BindInputs(self, count: int, bindings: int) -> None:
        self.note("inputs", self._read(count, bindings))

    def BindOutputs(self, count: int, bindings: int) -> None:
        self.note("outputs", self._read(count, bindings))

    def BindTemporaryResource(self, binding: int) -> None:
        self.note("temporary", self._read(1, binding))

    def BindPersistentResource(self, binding: int) -> None:
        self.note("persistent", self._read(1, binding))

    @staticmethod
    def _read(count: int, bindings: int) -> list[tuple[int, int, int]]:
        assert bindings
        result = []
        for desc in (dml.DML_BINDING_DESC * count).from_address(bindings):
            assert desc.Type == BUFFER
            buffer = dml.DML_BUFFER_BINDING.from_address(desc.Desc)
            result.append((buffer.Buffer, buffer.Offset, buffer.SizeInBytes))
        return result


class Scratch:
    """A resource for the library's own use, with a number for an address."""

    def __init__(self, host: Host, size: int) -> None:
        host.made += 1
        self.address, self.size, self.host = 1000 + host.made, size, host
        host.open.add(self.address)

    def close(self) -> None:
        self.host.open.remove(self.address)


class Host:
    """Executes nothing."""

    info: Any = None
    faults = Faults()
    device = 1
    command_list = 77

    def __init__(self, library: Library) -> None:
        self.library = library
        self.made, self.open = 0, set[int]()
        self.fail = False

    def descriptors(self, count: int) -> tuple[int, int]:
        return 10, 20

    def prepare_list(self) -> None:
        self.library.notes.append(("prepare",))

    def bind(self, memory: np.ndarray[Any, Any]) -> int:
        return 500

    def scratch(self, size: int) -> Scratch:
        return Scratch(self, size)

    def execute(self) -> None:
        self.library.notes.append(("execute", sorted(self.open)))
        if self.fail:
            raise ComError("ID3D12GraphicsCommandList::Close", E_OUTOFMEMORY)

    def read_back(self, memory: np.ndarray[Any, Any]) -> None: ...

    def abandon(self) -> None: ...

    def removed_reason(self) -> int:
        return 0

    def close(self) -> None: ...


class Stage:
    """A session with the library that takes notes, and a compiled operator of it."""

    def __init__(self) -> None:
        self.library = Library(Faults())
        self.host = Host(self.library)
        self.session = Session(Pointer(dml.IDMLDevice1, self.library.address), self.host)
        out = ctypes.c_void_p()
        self.library.made(Compiled, ctypes.addressof(out))
        self.compiled = Pointer(dml.IDMLCompiledOperator, out.value or 0)


@pytest.fixture
def stage() -> Iterator[Stage]:
    before = live_objects()
    made = Stage()
    yield made
    made.compiled.release()
    made.session.close()
    assert made.library.faults.take() is None
    assert live_objects() == before


def test_the_initializer_gets_its_resources_and_fills_the_persistent_one(stage: Stage) -> None:
    persistent = stage.session.initialize(stage.compiled)
    assert persistent is not None
    assert persistent.size == 256
    assert stage.library.notes == [
        ("initialize", ["compiled"]),
        ("table for", "initializer", 2, (10, 20)),
        ("temporary", [(1002, 0, 128)]),
        ("outputs", [(1001, 0, 256)]),
        ("prepare",),
        ("record", 77, "initializer"),
        ("execute", [1001, 1002]),
    ]
    assert stage.host.open == {1001}
    persistent.close()


def test_an_operator_gets_its_resources_for_every_dispatch(stage: Stage) -> None:
    persistent = stage.session.initialize(stage.compiled)
    stage.library.notes.clear()
    inputs, outputs = Bindings(2), Bindings(1)
    inputs.put(0, 500, 16, 32)
    inputs.put(1, 500, 64, 48)
    outputs.put(0, 500, 128, 32)
    for number in (3, 4):
        stage.session.dispatch(stage.compiled, properties(stage.compiled), inputs, outputs, persistent)
        assert stage.library.notes == [
            ("table for", "compiled", 3, (10, 20)),
            ("inputs", [(500, 16, 32), (500, 64, 48)]),
            ("outputs", [(500, 128, 32)]),
            ("temporary", [(1000 + number, 0, 512)]),
            ("persistent", [(1001, 0, 256)]),
            ("prepare",),
            ("record", 77, "compiled"),
            ("execute", [1001, 1000 + number]),
        ]
        stage.library.notes.clear()
    assert stage.host.open == {1001}
    assert persistent is not None
    persistent.close()


def test_an_operator_that_wants_nothing_is_given_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WANTED, "compiled", (2, 0, 0))
    monkeypatch.setitem(WANTED, "initializer", (0, 0, 0))
    assert stage.session.initialize(stage.compiled) is None
    stage.session.dispatch(stage.compiled, properties(stage.compiled), Bindings(1), Bindings(1), None)
    text = [note[0] for note in stage.library.notes]
    assert text.count("record") == text.count("execute") == 2
    assert not {"temporary", "persistent"} & set(text)
    assert stage.host.made == 0


def test_a_failed_execution_gives_all_resources_back(stage: Stage) -> None:
    stage.host.fail = True
    with pytest.raises(ComError, match="E_OUTOFMEMORY"):
        stage.session.initialize(stage.compiled)
    assert stage.host.made == 2
    assert stage.host.open == set()
